// SPDX-License-Identifier: Apache-2.0
//
// The tasks that a program's entries become, for weft dump --stage=task.
#include "task/task.h"
#include "api/engine.h"
#include "opt/opt.h"
#include "opt/passes.h"

void api_task_print(WeftProgram *program, int after, StrBuf *out) {
    CoreProgram *core = program->core;
    TaskForm form = after < 0 ? TASK_FORM_COUNT - 1 : (TaskForm)after;
    opt_outline(core);
    api_lap(program->context, "outline", core);
    for (uint32_t i = 0; i < core->funs.len; i++) {
        if (!core->funs.data[i]->is_entry) continue;
        const FlowFun *flow = flow_make(core, core->funs.data[i], &program->arena);
        if (flow != NULL) task_print(task_make(flow, form, &program->arena), out);
        else strbuf_cstr(out, "-- an entry that is nested too deeply\n");
    }
    api_lap(program->context, "tasks", NULL);
}
