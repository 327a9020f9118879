// SPDX-License-Identifier: Apache-2.0
//
// The weft command: finds the verb and hands over. Each verb is a file of its own.
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

const Verb verbs[] = {
#define VERB(name, summary) {#name, summary, help_##name, verb_##name},
#include "cli/verbs.def"
#undef VERB
};
const size_t verb_count = sizeof verbs / sizeof verbs[0];

const Verb *cli_find_verb(const char *name) {
    for (size_t i = 0; i < verb_count; i++)
        if (strcmp(verbs[i].name, name) == 0) return &verbs[i];
    return NULL;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); // a closed pipe is an error of write, not our end,
    signal(SIGXFSZ, SIG_IGN); // and so is a file over the limit
    cli_catch_interrupts();
    const char *name = argc < 2 ? "" : argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0) name = "version";
    const Verb *verb = cli_find_verb(name);
    if (verb != NULL) return verb->run(argc - 1, argv + 1);
    if (argc < 2) {
        fputs("weft: say what to do: weft VERB ...\nhint: weft help lists the verbs\n",
              stderr);
        return EXIT_USAGE;
    }
    const char *known[sizeof verbs / sizeof verbs[0]];
    for (size_t i = 0; i < verb_count; i++) known[i] = verbs[i].name;
    const char *near = cli_suggest(name, known, verb_count);
    fprintf(stderr, "weft: there is no verb `%s`\n", name);
    if (near != NULL) fprintf(stderr, "hint: did you mean `weft %s`?\n", near);
    else fputs("hint: weft help lists the verbs\n", stderr);
    return EXIT_USAGE;
}
