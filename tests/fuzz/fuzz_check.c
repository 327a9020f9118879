// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a program: parsed, printed, checked, lowered, taken through the passes
// with the verifier on. Nothing may crash; what the checker accepts must verify.
#include "check/check.h"
#include "fuzz.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "syntax/syntax.h"

static void compile(Cx *cx, const Source *source) {
    Ast *ast = syntax_parse(cx, source);
    StrBuf out = strbuf(cx->arena);
    syntax_print(cx, ast, &out);
    if (cx->diags.error_count != 0) return;
    TProgram *typed = check_program(cx, ast, STR("fuzz"), NULL);
    if (typed == NULL) {
        if (cx->diags.error_count == 0) abort();
        return;
    }
    CoreProgram *core = lower_program(cx, cx->arena, typed);
    if (core == NULL) {
        if (cx->diags.error_count == 0) abort();
        return;
    }
    StrBuf report = strbuf(cx->arena);
    OptOptions options = {.verify = true, .stop_after = -1};
    if (!opt_run(core, &options, &report)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_with_cx(data, size, compile);
    return 0;
}
