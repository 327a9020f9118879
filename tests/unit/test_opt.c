// SPDX-License-Identifier: Apache-2.0
//
// The passes: programs before and after, from tests/core. A section names the passes to
// run, in order; what they leave is printed and compared. The verifier runs after each.
// Whatever section: the whole pipeline must run on the program, too.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>

#include "cases.h"
#include "opt/opt.h"

static CoreProgram *read_case(const Case *c) {
    Source *source = sources_add(&c->cx->sources, STR("case"), c->program, false);
    return core_read(c->cx, c->arena, source);
}

static Str print_all(const CoreProgram *p) {
    StrBuf out = strbuf(p->arena);
    core_print(p, &out);
    return case_trim(strbuf_done(&out));
}

// Takes the next word off the text.
static Str next_word(Str *text) {
    *text = case_trim(*text);
    size_t len = 0;
    while (len < text->len && text->ptr[len] != ' ') len++;
    Str word = {text->ptr, len};
    *text = (Str){text->ptr + len, text->len - len};
    return word;
}

static bool verify(const Case *c, const CoreProgram *p) {
    StrBuf faults = strbuf(c->arena);
    bool ok = core_verify(p, &faults);
    case_check(c, ok, strbuf_done(&faults));
    return ok;
}

// Runs the passes named in the section.
static void run_passes(const Case *c) {
    CoreProgram *p = read_case(c);
    Str names = c->section;
    case_check(c, p != NULL, STR("a program that cannot be read"));
    if (p == NULL || !verify(c, p)) return;
    while (names.len > 0) {
        OptPass pass;
        Str name = next_word(&names);
        if (str_eq(name, STR("stage0"))) {
            OptOptions options = {.verify = true, .stage0_only = true, .stop_after = -1};
            StrBuf report = strbuf(c->arena);
            bool ok = opt_run(p, &options, &report);
            case_check(c, ok, strbuf_done(&report));
        } else if (opt_find(name, &pass)) {
            Str before = print_all(p);
            bool changed = opt_passes[pass].run(p);
            if (!changed) case_check(c, str_eq(before, print_all(p)), STR("changed"));
            case_check(c, !opt_passes[pass].run(p) || pass == OPT_INLINE,
                       STR("a second run changes it again"));
        } else {
            case_check(c, false, STR("no such pass"));
        }
        if (!verify(c, p)) return;
    }
    case_check(c, str_eq(print_all(p), c->expected), print_all(p));
}

static void count_pass(void *data, const OptPassInfo *pass, CoreProgram *program) {
    (void)program;
    if (pass->run != NULL) ++*(int *)data;
}

static void run_pipeline(const Case *c) {
    CoreProgram *p = read_case(c);
    if (p == NULL) return;
    int passes = 0;
    bool was_stage0 = p->is_stage0;
    OptOptions options = {
        .verify = true, .stop_after = -1, .after = count_pass, .data = &passes};
    StrBuf report = strbuf(c->arena);
    bool ok = opt_run(p, &options, &report);
    case_check(c, ok, strbuf_done(&report));
    CHECK(passes == (was_stage0 ? 1 : OPT_COUNT) && p->is_stage0);
    // What came out is read again, and then nothing is left to be done.
    Str text = str_copy(c->arena, print_all(p));
    Source *source = sources_add(&c->cx->sources, STR("again"), text, false);
    CoreProgram *again = core_read(c->cx, c->arena, source);
    CHECK(again != NULL);
    if (again == NULL) return;
    CHECK(opt_run(again, &options, &report));
    case_check(c, str_eq(print_all(again), text), print_all(again));
}

static void run_case(const Case *c) {
    if (str_eq(c->section, STR("print"))) run_pipeline(c);
    if (str_eq(c->section, STR("print")) || str_eq(c->section, STR("faults")) ||
        str_eq(c->section, STR("error")))
        return;
    run_passes(c);
    Case again = *c;
    run_pipeline(&again);
}

static void test_table(void) {
    OptPass pass = OPT_COUNT;
    CHECK(opt_find(STR("contract"), &pass) && pass == OPT_CONTRACT);
    CHECK(!opt_find(STR("contrac"), &pass));
    for (int i = 0; i < OPT_COUNT; i++) CHECK(opt_passes[i].run != NULL);
    for (int i = 1; i < OPT_COUNT; i++)
        CHECK(opt_passes[i - 1].is_stage0 || !opt_passes[i].is_stage0);
}

int main(void) {
    Mem mem = {0};
    jmp_buf out_of_memory;
    mem.recover = &out_of_memory;
    if (setjmp(out_of_memory) != 0) return 1;
    test_table();
    case_run_folder(&mem, WEFT_SOURCE_DIR "/tests/core", ".core", run_case);
    CHECK(mem.used == 0);
    return test_done();
}
