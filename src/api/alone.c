// SPDX-License-Identifier: Apache-2.0
//
// Calls that have the host's cores alone, since memory is little (alone.h).
#include "api/alone.h"

#include "api/stream.h"
#include "rt/store.h"

bool api_alone_is_for(const WeftProgram *program) {
    const WeftContext *context = program->context;
    return program->engine != NULL && context->place_count > 1 &&
           api_has_cores(context) && !api_is_streamed(program);
}

bool api_alone_is_on(const WeftProgram *program) {
    return program->engine != NULL && program->engine->short_entry != NULL;
}

void api_alone_begin(WeftProgram *program, const ApiEntry *entry) {
    WeftContext *context = program->context;
    ApiEngine *engine = program->engine;
    FissionLog *log = &program->decisions;
    uint32_t count = fission_switches(log);
    int64_t *whole = arena_array(&context->scratch, int64_t, count + 1);
    if (engine->cut_before == NULL)
        engine->cut_before = arena_array(&program->arena, int64_t, count + 1);
    for (uint32_t i = 0; i < count; i++) whole[i] = INT64_MAX;
    fission_read_switches(log, engine->cut_before);
    fission_write_switches(log, entry->fun, whole);
    rt_drop_spare(&context->heap, NULL);
    engine->alone_before = engine->alone;
    engine->alone = &context->places[context->place_count]; // all cores
    engine->short_entry = entry->fun;
    engine->entry = NULL; // other kernels may be needed
}

void api_alone_end(WeftProgram *program) {
    ApiEngine *engine = program->engine;
    if (!api_alone_is_on(program)) return;
    fission_write_switches(&program->decisions, engine->short_entry,
                           engine->cut_before);
    engine->alone = engine->alone_before;
    engine->short_entry = NULL;
    engine->entry = NULL;
}

bool api_alone_again(WeftProgram *program, ApiEntry *entry) {
    if (!api_alone_is_for(program) || api_alone_is_on(program)) return false;
    if (program->engine->has_traced) return false;
    double needed = program->engine->needed;
    if (entry->too_much == 0 || needed < entry->too_much) entry->too_much = needed;
    api_alone_begin(program, entry);
    return true;
}
