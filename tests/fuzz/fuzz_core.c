// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a core program: what the reader accepts must print, read back to the
// same text, and go through the verifier without a crash.
#include <string.h>

#include "core/core.h"
#include "fuzz.h"

static void read_core(Cx *cx, const Source *source) {
    CoreProgram *program = core_read(cx, cx->arena, source);
    if (program == NULL) {
        if (cx->diags.error_count == 0) abort();
        return;
    }
    StrBuf report = strbuf(cx->arena), first = strbuf(cx->arena);
    core_verify(program, &report);
    core_print(program, &first);
    const Source *printed = sources_add(&cx->sources, STR("printed"), strbuf_done(&first),
                                        false);
    CoreProgram *again = core_read(cx, cx->arena, printed);
    if (again == NULL) abort();
    StrBuf second = strbuf(cx->arena);
    core_print(again, &second);
    if (!str_eq(strbuf_done(&first), strbuf_done(&second))) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_with_cx(data, size, read_core);
    return 0;
}
