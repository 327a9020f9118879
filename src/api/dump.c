// SPDX-License-Identifier: Apache-2.0
//
// A program as the compiler sees it at some stage, for weft dump.
#include <string.h>

#include "api/api.h"
#include "loop/passes.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "syntax/syntax.h"
#include "task/task.h"

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

static bool find_pass(ApiStage stage, const char *name, int *after_out) {
    OptPass pass;
    LoopPass loop_pass;
    if (stage == API_STAGE_TASK) {
        TaskForm form;
        if (!task_form_find(str_of(name), &form)) return false;
        *after_out = (int)form;
        return true;
    }
    *after_out = API_AFTER_LOWER;
    if (strcmp(name, "lower") == 0) return true;
    bool is_loop = stage >= API_STAGE_LOOP;
    bool found = is_loop ? loop_pass_find(str_of(name), &loop_pass)
                         : opt_find(str_of(name), &pass);
    if (found) *after_out = is_loop ? (int)loop_pass : (int)pass;
    return found;
}

WeftStatus api_dump(WeftContext *context, const char *path, const char *stage,
                    const char *after, const char **text_out) {
    static const char *const names[] = {"ast",    "typed", "core",   "task", "loop",
                                        "lifted", "c",     "opencl", "cuda"};
    DumpCall call = {.path = path, .stage = API_STAGE_RUN, .after = API_AFTER_ALL};
    for (int i = 0; i < API_STAGE_RUN; i++)
        if (strcmp(stage, names[i]) == 0) call.stage = (ApiStage)i;
    if (call.stage == API_STAGE_RUN)
        return api_guard(context, API_STARTS, refuse, "stage of that name");
    if (after != NULL && !find_pass(call.stage, after, &call.after))
        return api_guard(context, API_STARTS, refuse, "pass of that name");
    WeftStatus status = api_guard(context, API_STARTS, dump_file, &call);
    if (status != WEFT_STATUS_OK) return status;
    weft_program_free(call.program);
    *text_out = call.text;
    return WEFT_STATUS_OK;
}
