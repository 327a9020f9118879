// SPDX-License-Identifier: Apache-2.0
//
// The pipeline: the rows of passes.def, run in order. The program counts as past stage
// 0 once the last row of stage 0 has run; a program that is past it skips those rows.
#include "opt/passes.h"

#include "opt/opt.h"
#include "opt/rewrite.h"

const OptPassInfo opt_passes[OPT_COUNT] = {
#define PASS(name, fun, stage0, on, summary) {#fun, summary, stage0, on, opt_##fun},
#include "opt/passes.def"
#undef PASS
};

bool opt_find(Str name, OptPass *pass_out) {
    for (int i = 0; i < OPT_COUNT; i++) {
        if (!str_eq(name, str_of(opt_passes[i].name))) continue;
        *pass_out = (OptPass)i;
        return true;
    }
    return false;
}

static bool is_last_of_stage0(int pass) {
    return opt_passes[pass].is_stage0 &&
           (pass + 1 == OPT_COUNT || !opt_passes[pass + 1].is_stage0);
}

static bool verify(const CoreProgram *program, const char *after, StrBuf *report) {
    StrBuf faults = strbuf(program->arena);
    if (core_verify(program, &faults)) return true;
    strbuf_printf(report, "after %s:\n", after);
    strbuf_str(report, strbuf_done(&faults));
    return false;
}

bool opt_run(CoreProgram *program, const OptOptions *options, StrBuf *report) {
    bool skip_stage0 = program->is_stage0;
    if (options->verify && !verify(program, "reading or lowering", report))
        return false;
    for (int i = 0; i < OPT_COUNT; i++) {
        const OptPassInfo *pass = &opt_passes[i];
        bool is_off = !pass->is_on && options->stop_after != i;
        bool skipped = pass->is_stage0 ? skip_stage0 : is_off || options->stage0_only;
        if (!skipped) {
            pass->run(program);
            opt_forget_notes(program);
            if (is_last_of_stage0(i)) program->is_stage0 = true;
            if (options->verify && !verify(program, pass->name, report)) return false;
            if (options->after != NULL) options->after(options->data, pass, program);
        }
        if (options->stop_after == i) break;
    }
    return true;
}
