// SPDX-License-Identifier: Apache-2.0
//
// A program as the compiler sees it at some stage, for weft dump.
#include <string.h>

#include "api/api.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "syntax/syntax.h"

typedef struct DumpCall {
    const char *path;
    ApiStage stage;
    int after;
    WeftProgram *program;
    const char *text;
} DumpCall;

static WeftStatus dump_file(WeftContext *context, void *data) {
    DumpCall *call = data;
    StrBuf text = strbuf(&context->report);
    WeftStatus status = api_compile_file(context, &(ApiCompile){.path = call->path,
                                                                .stage = call->stage,
                                                                .after = call->after,
                                                                .dump = &text,
                                                                .out = &call->program});
    strbuf_char(&text, '\0');
    call->text = strbuf_done(&text).ptr;
    return status;
}

static WeftStatus refuse(WeftContext *context, void *data) {
    return api_fail(context, WEFT_STATUS_USAGE, "there is no %s", (const char *)data);
}

WeftStatus api_dump(WeftContext *context, const char *path, const char *stage,
                    const char *after, const char **text_out) {
    static const char *const names[] = {"ast",  "typed", "core", "loop",
                                        "c",    "opencl", "cuda"};
    DumpCall call = {.path = path, .stage = API_STAGE_RUN, .after = API_AFTER_ALL};
    for (int i = 0; i < API_STAGE_RUN; i++)
        if (strcmp(stage, names[i]) == 0) call.stage = (ApiStage)i;
    if (call.stage == API_STAGE_RUN)
        return api_guard(context, API_STARTS, refuse, "stage of that name");
    OptPass pass;
    if (after != NULL && strcmp(after, "lower") == 0) call.after = API_AFTER_LOWER;
    else if (after != NULL && opt_find(str_of(after), &pass)) call.after = (int)pass;
    else if (after != NULL)
        return api_guard(context, API_STARTS, refuse, "pass of that name");
    WeftStatus status = api_guard(context, API_STARTS, dump_file, &call);
    if (status != WEFT_STATUS_OK) return status;
    weft_program_free(call.program);
    *text_out = call.text;
    return WEFT_STATUS_OK;
}
