// SPDX-License-Identifier: Apache-2.0
//
// The tasks that a program's entries become, for weft dump --stage=task.
#include "task/task.h"
#include "api/engine.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

bool api_task_print(WeftProgram *program, int after, StrBuf *out, StrBuf *faults) {
    CoreProgram *core = program->core;
    Arena *arena = &program->arena;
    TaskForm form = after < 0 ? TASK_FORM_COUNT - 1 : (TaskForm)after;
    core->notes = &program->notes;
    opt_outline(core);
    opt_forget_notes(core);
    api_lap(program->context, "outline", core);
    uint32_t count = core->funs.len;
    TaskProgram **made = arena_array(arena, TaskProgram *, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!core->funs.data[i]->is_entry) continue;
        const FlowFun *flow = flow_make(core, core->funs.data[i], arena);
        if (flow != NULL) made[i] = task_make(flow, form, arena);
        opt_forget_notes(core);
    }
    core->notes = NULL;
    arena_free(&program->notes);
    api_lap(program->context, "tasks", NULL);
    for (uint32_t i = 0; i < count && faults != NULL; i++)
        if (made[i] != NULL && !task_check(made[i], arena, faults)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (made[i] != NULL) task_print(made[i], out);
        else if (core->funs.data[i]->is_entry)
            strbuf_cstr(out, "-- an entry that is nested too deeply\n");
    api_lap(program->context, "print", NULL);
    return true;
}
