// SPDX-License-Identifier: Apache-2.0
//
// The kernels of a program as code for the devices that it is launched on: written in
// the dialect of each, built by its driver. They are built in groups when an entry that
// needs them is called first, since drivers are slow: a program of many entries starts
// with what one needs, and what a change does not touch comes from the cache.
#include "api/engine.h"

// ---- groups -------------------------------------------------------------------------

enum { GROUP_SIZE = 1024 }; // in values

void api_launches_plan(ApiEngine *engine) {
    Arena *arena = &engine->program->arena;
    LaunchGroup *group = NULL;
    uint32_t size = 0;
    if (!api_has_launched(engine->program->context)) return;
    engine->launch_groups = arena_array(arena, LaunchGroup, engine->count);
    for (uint32_t i = 0; i < engine->count; i++) {
        EngineKernel *kernel = &engine->kernels[i];
        size += kernel->launched_loop->values.len;
        if (group == NULL || size > GROUP_SIZE) {
            group = &engine->launch_groups[engine->launch_group_count++];
            group->first = i;
            size = kernel->launched_loop->values.len;
        }
        kernel->launched = group;
        kernel->launched_exec.number = group->count++;
    }
}

// ---- code ---------------------------------------------------------------------------

const LoopPlan *api_launches_of(ApiEngine *engine, EngineKernel *kernel) {
    Arena *arena = &engine->program->arena;
    if (kernel->launched_exec.plan == NULL) {
        loop_plan(kernel->launched_loop, arena, &kernel->plan);
        exec_kernel_plan(&kernel->launched_exec, &kernel->plan, arena);
    }
    return &kernel->plan;
}

void api_launches_write(ApiEngine *engine, uint32_t first, uint32_t count,
                        const Dialect *dialect, bool for_people, StrBuf *out,
                        StrBuf *tables_out) {
    Arena *arena = &engine->program->arena;
    LoopKernel **loops = arena_array(arena, LoopKernel *, count);
    LoopPlan *plans = arena_array(arena, LoopPlan, count);
    EmitChecks *checks = arena_array(arena, EmitChecks, count);
    EngineKernel *kernels = engine->kernels + first;
    for (uint32_t i = 0; i < count; i++) {
        loops[i] = kernels[i].launched_loop;
        plans[i] = *api_launches_of(engine, &kernels[i]);
    }
    emit_launches(dialect, loops, plans, count, for_people, &engine->program->workspace,
                  out, tables_out, checks);
    for (uint32_t i = 0; i < count; i++) { // which lie where the text does
        size_t bytes = checks[i].len * sizeof *checks[i].data;
        checks[i].data = arena_copy(arena, checks[i].data, bytes);
        kernels[i].launch_checks = checks[i];
        kernels[i].launched_exec.launch_checks = checks[i].data;
    }
}

// What has no code goes without the device, if there is another.
static WeftStatus build_for(ApiEngine *engine, const LaunchGroup *group,
                            ApiPlace *place, void **code_out) {
    WeftProgram *program = engine->program;
    WeftContext *context = program->context;
    Device *device = place->device;
    StrBuf text = strbuf(&program->notes), tables = strbuf(&program->notes);
    bool is_cuda = device->kind == DEVICE_CUDA;
    api_lap(context, NULL, NULL);
    api_launches_write(engine, group->first, group->count,
                       is_cuda ? &emit_cuda : &emit_opencl, false, &text, &tables);
    api_lap(context, is_cuda ? "emit CUDA" : "emit OpenCL", NULL);
    Status status = dev_build(device, strbuf_done(&text), strbuf_done(&tables),
                              &context->cancel, code_out);
    arena_free(&program->notes);
    api_lap(context, "build for devices", NULL);
    if (status == STATUS_OK || (status == STATUS_IO && api_leave_place(context, place)))
        return WEFT_STATUS_OK;
    Str why = dev_why(device, &context->scratch);
    return api_fail(context, (WeftStatus)status,
                    "device %s cannot run this program: %.*s", place->address,
                    STR_ARG(why));
}

// For the devices that have not yet got the group's code.
static WeftStatus build(ApiEngine *engine, LaunchGroup *group) {
    WeftContext *context = engine->program->context;
    WeftStatus status = WEFT_STATUS_OK;
    if (group->codes == NULL)
        group->codes =
            arena_array(&engine->program->arena, void *, context->place_count);
    for (uint32_t i = 0; i < context->place_count && status == WEFT_STATUS_OK; i++) {
        ApiPlace *place = &context->places[i];
        if (group->codes[i] == NULL && api_is_launched(place) && !place->is_lost)
            status = build_for(engine, group, place, &group->codes[i]);
    }
    return status;
}

static void want(EngineKernel *kernel) {
    if (kernel->launched != NULL) kernel->launched->is_wanted = true;
}

WeftStatus api_launches_enter(ApiEngine *engine, const CoreFun *entry) {
    WeftStatus status = WEFT_STATUS_OK;
    if (engine->launch_group_count == 0) return status;
    api_builds_reach(engine, entry, want);
    for (uint32_t i = 0; i < engine->launch_group_count; i++)
        if (engine->launch_groups[i].is_wanted && status == WEFT_STATUS_OK)
            status = build(engine, &engine->launch_groups[i]);
    return status;
}

void api_launches_free(ApiEngine *engine) {
    WeftContext *context = engine->program->context;
    for (uint32_t i = 0; i < engine->launch_group_count; i++) {
        void **codes = engine->launch_groups[i].codes;
        for (uint32_t k = 0; k < context->place_count && codes != NULL; k++)
            if (context->places[k].device != NULL)
                dev_unload(context->places[k].device, codes[k]);
    }
    engine->launch_group_count = 0;
}
