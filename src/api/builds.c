// SPDX-License-Identifier: Apache-2.0
//
// The builds of an engine: its kernels in groups, each compiled as one C file, several
// at once. Compilers go on by themselves and are looked at by the thread that calls, so
// there is nothing to lock.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#include "api/engine.h"
#include "base/clock.h"

// ---- groups -------------------------------------------------------------------------

// Of values, some 40 bytes of C each, which a compiler takes half a millisecond for.
enum { GROUP_SIZE = 512 };

// The same kernels are grouped alike on every machine, since code is cached by group.
void api_builds_plan(ApiEngine *engine) {
    Arena *arena = &engine->program->arena;
    engine->groups = arena_array(arena, EngineGroup, engine->count);
    EngineGroup *group = NULL;
    for (uint32_t i = 0; i < engine->count; i++) {
        uint32_t size = engine->kernels[i].loop->values.len;
        bool is_full = group != NULL && group->size > GROUP_SIZE / 4 &&
                       group->size + size > GROUP_SIZE;
        if (group == NULL || is_full) {
            group = &engine->groups[engine->group_count++];
            group->first = i;
        }
        group->count++;
        group->size += size;
        engine->kernels[i].group = group;
    }
}

typedef struct Wants {
    const WeftProgram *program;
    bool *funs; // by number
} Wants;

static void want_callee(const Wants *wants, const CoreStm *stm) {
    if (stm->op != OP_CALL) return;
    wants->funs[stm->attrs[0]] = true;
    uint32_t otherwise = wants->program->core->funs.data[stm->attrs[0]]->otherwise;
    if (otherwise != 0) wants->funs[otherwise - 1] = true;
}

// What is not cut in calls like this one needs no kernels for its parts.
static void want_callees(const Wants *wants, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        uint32_t only = FISSION_EITHER;
        want_callee(wants, stm);
        if (stm->op == OP_IF)
            only = fission_only_arm(&wants->program->decisions, stm->args[0]);
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (only == FISSION_EITHER || only == k)
                want_callees(wants, stm->bodies[k]);
    }
}

void api_builds_reach(ApiEngine *engine, const CoreFun *entry,
                      void (*want)(EngineKernel *kernel)) {
    const CoreProgram *core = engine->program->core;
    uint64_t number;
    Wants wants = {engine->program, arena_array(&engine->program->context->scratch,
                                                bool, core->funs.len)};
    for (uint32_t i = core->funs.len; i-- > 0;) { // callees come before callers
        const CoreFun *fun = core->funs.data[i];
        if (fun != entry && !wants.funs[i]) continue;
        if (fun->kernel == CORE_NO_KERNEL) want_callees(&wants, fun->body);
        else if (map_get(&engine->by_fun, (uint64_t)(uintptr_t)fun, &number))
            want(&engine->kernels[number - 1]);
    }
}

static void want_group(EngineKernel *kernel) {
    if (kernel->group->state == GROUP_IDLE) kernel->group->state = GROUP_WAITS;
}

// ---- one of them --------------------------------------------------------------------

void api_builds_write(ApiEngine *engine, uint32_t first, uint32_t count,
                      bool for_people, Arena *kept, Arena *scratch, StrBuf *out) {
    LoopKernel **loops = arena_array(out->arena, LoopKernel *, count);
    EmitChecks *checks = arena_array(out->arena, EmitChecks, count);
    for (uint32_t i = 0; i < count; i++) loops[i] = engine->kernels[first + i].loop;
    emit_kernels(&emit_c, loops, count, for_people, scratch, out, checks);
    for (uint32_t i = 0; i < count; i++) {
        EmitChecks *of_kernel = &engine->kernels[first + i].checks;
        *of_kernel = (EmitChecks){.len = checks[i].len, .cap = checks[i].len};
        of_kernel->data =
            arena_copy(kept, checks[i].data, checks[i].len * sizeof *checks[i].data);
        engine->kernels[first + i].exec.checks = of_kernel->data;
    }
}

typedef struct Writing {
    ApiEngine *engine;
    EngineGroup **groups;
} Writing;

// While a text becomes longer it lies where the last one did.
static void write_group(void *data, uint32_t item, const ApiRooms *rooms) {
    const Writing *writing = data;
    EngineGroup *group = writing->groups[item];
    StrBuf text = strbuf(rooms->notes);
    api_builds_write(writing->engine, group->first, group->count, false, rooms->kept,
                     rooms->scratch, &text);
    group->text = str_copy(rooms->kept, strbuf_done(&text));
}

void api_builds_want(ApiEngine *engine, const CoreFun *entry) {
    WeftContext *context = engine->program->context;
    EngineGroup **groups =
        arena_array(&context->scratch, EngineGroup *, engine->group_count);
    uint32_t count = 0;
    uint64_t values = 0; // a microsecond each
    api_builds_reach(engine, entry, want_group);
    for (uint32_t i = 0; i < engine->group_count; i++) {
        EngineGroup *group = &engine->groups[i];
        if (group->state != GROUP_WAITS || group->text.len > 0) continue;
        groups[count++] = group;
        values += group->size;
    }
    api_lap(context, NULL, NULL);
    if (api_hands(engine, values, count, write_group, &(Writing){engine, groups}))
        api_lap(context, "emit", NULL);
}

static const char *name_kernel(Arena *arena, uint32_t number) {
    StrBuf name = strbuf(arena);
    strbuf_printf(&name, "weft_kernel_%u", number);
    return str_terminated(arena, strbuf_done(&name));
}

static void link_kernels(ApiEngine *engine, EngineGroup *group) {
    for (uint32_t i = 0; i < group->count; i++) {
        const char *name = name_kernel(&engine->program->arena, i);
        void *address = native_symbol(group->build.library, name);
        engine->kernels[group->first + i].exec.run = (Kernel *)(uintptr_t)address;
        if (address == NULL) group->state = GROUP_FAILED;
    }
    if (group->state == GROUP_FAILED) group->build.why = STR("the code lacks a kernel");
}

// Compilers that are at work at once have rows of their own.
static void record(const ApiEngine *engine, const EngineGroup *group) {
    RtEvents *events = engine->program->context->events;
    if (events == NULL || group->began < rt_events_began(events)) return;
    char row[48];
    int length = snprintf(row, sizeof row, "compiler");
    if (group->compiler > 0)
        length += snprintf(row + length, sizeof row - (size_t)length, " %u",
                           group->compiler + 1);
    if (engine->program->owner > 1)
        snprintf(row + length, sizeof row - (size_t)length, " of program %u",
                 engine->program->owner);
    rt_event(events, rt_events_row(events, row), RT_EVENT_BUILD,
             group->build.was_cached ? "load" : "compile C", group->began, clock_ns(),
             0, 0, 0);
}

static void take(ApiEngine *engine, EngineGroup *group, NativeState state) {
    WeftContext *context = engine->program->context;
    if (state == NATIVE_BUILDS) {
        group->state = GROUP_BUILDS;
        return;
    }
    group->state = state == NATIVE_READY ? GROUP_READY : GROUP_FAILED;
    record(engine, group);
    if (state == NATIVE_READY) link_kernels(engine, group);
    if (group->state == GROUP_READY || engine->must || engine->has_warned) return;
    engine->has_warned = true;
    api_warn(context, "%.*s: what it was to compile is interpreted, which is slower",
             STR_ARG(group->build.why));
}

static void start(ApiEngine *engine, EngineGroup *group, unsigned compiler) {
    WeftProgram *program = engine->program;
    Arena *arena = &program->arena;
    group->state = GROUP_FAILED; // in case memory runs out
    group->build.why = STR("out of memory");
    if (group->text.len == 0) {
        ApiRooms rooms = {arena, &program->workspace, &program->notes};
        api_lap(program->context, NULL, NULL);
        write_group(&(Writing){engine, &group}, 0, &rooms);
        arena_free(&program->notes);
        api_lap(program->context, "emit", NULL);
    }
    group->build = (NativeBuild){.compiler = &engine->compiler,
                                 .source = group->text,
                                 .arena = arena,
                                 .symbol = name_kernel(arena, group->count - 1),
                                 .why = STR("out of memory")};
    group->began = clock_ns();
    group->compiler = compiler;
    take(engine, group, native_start(&group->build));
}

// ---- all of them --------------------------------------------------------------------

// The next one to start: this one, or the largest.
static EngineGroup *find_next(ApiEngine *engine, EngineGroup *first) {
    if (first != NULL && first->state == GROUP_WAITS) return first;
    EngineGroup *next = NULL;
    for (uint32_t i = 0; i < engine->group_count; i++) {
        EngineGroup *group = &engine->groups[i];
        if (group->state != GROUP_WAITS) continue;
        if (next == NULL || group->size > next->size) next = group;
    }
    return next;
}

void api_builds_poll(ApiEngine *engine, EngineGroup *first) {
    enum { MOST_COMPILERS = 8 };
    bool is_busy[MOST_COMPILERS] = {false};
    for (uint32_t i = 0; i < engine->group_count; i++) {
        EngineGroup *group = &engine->groups[i];
        if (group->state != GROUP_BUILDS) continue;
        take(engine, group, native_poll(&group->build));
        is_busy[group->compiler] = group->state == GROUP_BUILDS;
    }
    if (first != NULL && first->state == GROUP_IDLE) first->state = GROUP_WAITS;
    for (unsigned k = 0; k < MOST_COMPILERS; k++) {
        EngineGroup *next;
        while (!is_busy[k] && (next = find_next(engine, first)) != NULL) {
            if (k > 0 && k >= api_engine_threads(engine)) return;
            start(engine, next, k);
            is_busy[k] = next->state == GROUP_BUILDS;
        }
    }
}

// Whether there is nothing to wait for: for this group or, if it is NULL, for all that
// are wanted, unless one has failed.
static bool is_over(const ApiEngine *engine, const EngineGroup *group) {
    bool is_built = true;
    if (group != NULL)
        return group->state == GROUP_READY || group->state == GROUP_FAILED;
    for (uint32_t i = 0; i < engine->group_count; i++) {
        GroupState state = engine->groups[i].state;
        if (state == GROUP_FAILED) return true;
        if (state == GROUP_WAITS || state == GROUP_BUILDS) is_built = false;
    }
    return is_built;
}

static void tell_waiting(const ApiEngine *engine) {
    if (!api_is_progress_due(engine->program->context)) return;
    double wanted = 0, built = 0;
    for (uint32_t i = 0; i < engine->group_count; i++) {
        const EngineGroup *group = &engine->groups[i];
        if (group->state != GROUP_IDLE) wanted += group->size;
        if (group->state == GROUP_READY) built += group->size;
    }
    api_progress(engine->program->context,
                 &(WeftProgress){.activity = "compiling", .fraction = built / wanted});
}

WeftStatus api_builds_wait(ApiEngine *engine, EngineGroup *group) {
    WeftContext *context = engine->program->context;
    RtSpan span = rt_span_open(context->events);
    bool has_waited = false;
    for (;;) {
        api_builds_poll(engine, group);
        if (is_over(engine, group)) break;
        if (atomic_load(&context->cancel)) return WEFT_STATUS_CANCELLED;
        tell_waiting(engine);
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
        has_waited = true;
    }
    if (has_waited)
        rt_span_close(context->events, span,
                      &(RtEvent){.kind = RT_EVENT_BUILD, .name = "wait for the build"});
    return WEFT_STATUS_OK;
}

void api_builds_free(ApiEngine *engine) {
    for (uint32_t i = 0; i < engine->group_count; i++) {
        native_stop(&engine->groups[i].build);
        native_unload(engine->groups[i].build.library);
    }
}
