// SPDX-License-Identifier: Apache-2.0
//
// weft doctor: what this machine has, what is missing and how to get it.
// doctor_examine.c looks, doctor_selftest.c tries.
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/doctor.h"

const char help_doctor[] =
    "Usage: weft doctor [OPTION...]\n"
    "\n"
    "Says what this machine has, what is missing, what that is for and how to get it,\n"
    "and whether programs run. Nothing is changed or installed.\n"
    "\n"
    "Options:\n"
    "  -s, --selftest  run small programs whose answers are known, too\n"
    "  -j, --json      print it in JSON\n"
    "  -h, --help      print this\n"
    "\n"
    "Example:\n"
    "  weft doctor --selftest\n"
    "\n"
    "Exit status: 0; 1 if Weft cannot run here or its self-test fails; 2 for wrong "
    "usage.\n";

static const char *const verdicts[] = {"ok", "missing", "wrong"};

static void print_text(const Findings *findings) {
    printf("weft %s\n", weft_version());
    for (size_t i = 0; i < findings->len; i++) {
        const Finding *f = &findings->data[i];
        printf("%-8s %-10s %s\n", verdicts[f->verdict], f->name, f->found);
        if (f->verdict == DOCTOR_OK) continue;
        if (f->use != NULL) printf("%19s for: %s\n", "", f->use);
        if (f->remedy != NULL) printf("%19s get: %s\n", "", f->remedy);
    }
}

static void print_field(const char *name, const char *text) {
    printf(", \"%s\": ", name);
    if (text == NULL) fputs("null", stdout);
    else cli_json_text(stdout, text);
}

static void print_json(const Findings *findings, const SelfTest *selftest) {
    fputs("{\"weft\": ", stdout);
    cli_json_text(stdout, weft_version());
    fputs(",\n \"checks\": [", stdout);
    for (size_t i = 0; i < findings->len; i++) {
        const Finding *f = &findings->data[i];
        printf("%s\n  {\"verdict\": \"%s\"", i > 0 ? "," : "", verdicts[f->verdict]);
        print_field("name", f->name);
        print_field("found", f->found);
        print_field("use", f->use);
        print_field("remedy", f->remedy);
        putchar('}');
    }
    putchar(']');
    if (selftest != NULL)
        printf(",\n \"selftest\": {\"passed\": %zu, \"failed\": %zu}", selftest->passed,
               selftest->failed);
    puts("}");
}

int verb_doctor(int argc, char **argv) {
    static const struct option names[] = {{"selftest", no_argument, NULL, 's'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    bool tests = false, is_json = false;
    for (int option; (option = cli_option("doctor", argc, argv, "sjh", names)) != -1;) {
        tests |= option == 's';
        is_json |= option == 'j';
    }
    if (optind < argc)
        return cli_usage("doctor", "`%s` is one word too many", argv[optind]);
    Findings findings = {0};
    doctor_examine(&findings);
    if (!is_json) print_text(&findings);
    SelfTest selftest = {0};
    if (tests) selftest = doctor_selftest();
    if (is_json) print_json(&findings, tests ? &selftest : NULL);
    else if (tests)
        printf("self-test: %zu passed, %zu failed\n", selftest.passed, selftest.failed);
    size_t count[3] = {0};
    for (size_t i = 0; i < findings.len; i++) {
        count[findings.data[i].verdict]++;
        free(findings.data[i].found);
    }
    free(findings.data);
    bool runs = count[DOCTOR_WRONG] == 0 && selftest.failed == 0;
    if (!is_json && runs)
        printf("Weft runs here%s\n", count[DOCTOR_MISSING] > 0
                                         ? "; what is missing it can do without."
                                         : ".");
    else if (!is_json) puts("Weft does not run here as it should.");
    return cli_finish(runs ? EXIT_FINE : EXIT_ERROR);
}
