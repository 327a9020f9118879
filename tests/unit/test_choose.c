// SPDX-License-Identifier: Apache-2.0
//
// Which operators are cut in a call, of those that could be: as plans of two devices
// say, with what earlier calls took, and without; what is tried, kept and taken back;
// and what stays whole does not travel.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/ahead_task.h"
#include "api/api.h"
#include "api/choice.h"
#include "api/places.h"
#include "api/testing.h"
#include "plan/plan.h"
#include "test.h"

typedef struct World {
    WeftContext *context;
    WeftProgram *program;
    Arena arena;
    PlanDevice devices[2];
    PlanArg args[1];
} World;

// Much to do for each element, and none of them needs another.
static const char heavy[] =
    "entry main (n: i64) = map (\\x -> loop x for i < 1000 do (x * 31 + i) % 1009) "
    "(iota n)";
// Each turn needs all that the one before has made.
#define TURNS                                                                          \
    "loop xs = iota n for _i < 50 do\n"                                                \
    "    map (\\i -> xs[i] * 3 + xs[n - 1 - i] * 5 - i) (iota n)\n"
static const char turns[] = "entry main (n: i64) = " TURNS;
// What is much, and then that.
static const char both[] =
    "entry main (n: i64) =\n"
    "  let ys = map (\\x -> loop x for i < 100 do (x * 31 + i) % 1009) (iota n)\n"
    "  let zs = " TURNS "  in (ys, zs)";

static World open_world(const char *devices, const char *text) {
    World w = {0};
    WeftOptions options = {
        .struct_size = sizeof options, .devices = devices, .threads = 1};
    if (weft_context_new(&options, &w.context) != WEFT_STATUS_OK) abort();
    if (weft_program_from_source(w.context, "choose.weft", text, strlen(text),
                                 &w.program) != WEFT_STATUS_OK) {
        fputs(weft_render(w.context, 0), stdout);
        abort();
    }
    arena_init(&w.arena, &w.context->mem);
    w.devices[0] = (PlanDevice){.address = "cpu:0", .rate = 2e9, .one = 2e9};
    w.devices[1] = (PlanDevice){.address = "cpu:1", .rate = 2e9, .one = 2e9};
    return w;
}

static void close_world(World *w) {
    arena_free(&w->arena);
    weft_program_free(w->program);
    CHECK(weft_testing_context_free(w->context) == 0);
}

static PlanInput input_of(World *w, int64_t n) {
    stack_measure(&w->program->cx.stack);
    w->args[0] = (PlanArg){.is_known = true, .bits = (uint64_t)n};
    return (PlanInput){.program = w->program->core,
                       .entry = w->program->entries[0].fun,
                       .decisions = &w->program->decisions,
                       .devices = w->devices,
                       .device_count = 2,
                       .args = w->args,
                       .arena = &w->arena};
}

static uint32_t count_parts(const Plan *plan) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->tasks.len; i++)
        count += plan->tasks.data[i].piece != NULL;
    return count;
}

static void test_plans(void) {
    World w = open_world("cpu:0,cpu:1", heavy);
    PlanInput in = input_of(&w, 100000);
    CHECK(!plan_choose(&in)); // it is as it was
    CHECK(count_parts(plan_make(&in)) == 2);
    // with so few elements it is whole anyway, by their number
    in = input_of(&w, 3);
    CHECK(!plan_choose(&in) && count_parts(plan_make(&in)) == 0);
    // much slower devices are better left out
    in = input_of(&w, 100000);
    w.devices[1].rate = w.devices[1].one = 1e8;
    CHECK(plan_choose(&in) && count_parts(plan_make(&in)) == 0);
    CHECK(!plan_choose(&in));
    // but for those of which nobody knows how fast they are
    w.devices[1].is_vague = true;
    CHECK(plan_choose(&in) && count_parts(plan_make(&in)) == 2);
    close_world(&w);

    w = open_world("cpu:0,cpu:1", turns);
    in = input_of(&w, 100000);
    CHECK(count_parts(plan_make(&in)) > 0);
    double in_parts = plan_make(&in)->seconds;
    CHECK(plan_choose(&in) && count_parts(plan_make(&in)) == 0);
    CHECK(plan_make(&in)->seconds < 0.8 * in_parts);
    const FissionSwitch *at = fission_switch(in.decisions, 0);
    CHECK(at->whole < 0.8 * at->in_parts && *at->from == INT64_MAX);
    // each turn reads what it is given from memory, and writes as much
    in = input_of(&w, 10000000);
    in.vector_bytes = 64;
    CHECK(plan_make(&in)->tasks.data[0].work > 50 * 2 * 8e7 / 10);
    in = input_of(&w, 100000);
    // nothing travels where there is one memory
    w.devices[0].is_host = w.devices[1].is_host = true;
    CHECK(plan_choose(&in) && count_parts(plan_make(&in)) > 0);
    close_world(&w);

    // of two rows one is cut
    w = open_world("cpu:0,cpu:1", both);
    in = input_of(&w, 50000);
    CHECK(in.decisions->rows.len == 2 && in.decisions->entries.len == 1);
    CHECK(plan_choose(&in) && count_parts(plan_make(&in)) == 2);
    CHECK(*fission_switch(in.decisions, 0)->from == 1);
    CHECK(*in.decisions->rows.data[0].at.from == in.decisions->rows.data[0].at.least);
    CHECK(*in.decisions->rows.data[1].at.from == INT64_MAX);
    close_world(&w);
}

// On the second device all takes very long; nothing is known of what is whole.
static double parts_took(const void *data, const PlanTask *task, uint32_t device) {
    (void)data;
    return task->piece == NULL ? 0 : device == 0 ? 0.01 : 5;
}

// What is whole takes as long as the two parts together.
static double evenly_took(const void *data, const PlanTask *task, uint32_t device) {
    (void)data, (void)device;
    return task->piece == NULL ? 0.02 : 0.01;
}

static void test_took(void) {
    World w = open_world("cpu:0,cpu:1", heavy);
    PlanInput in = input_of(&w, 100000);
    in.took = parts_took;
    CHECK(plan_choose(&in) && count_parts(plan_make(&in)) == 0);
    in.took = evenly_took;
    CHECK(plan_choose(&in) && count_parts(plan_make(&in)) == 2);
    const Plan *plan = plan_make(&in);
    CHECK(plan->tasks.data[0].end - plan->tasks.data[0].begin == 0.01);
    CHECK(plan->paces[0] > 0 && plan->paces[0] != 1);
    // that tells how fast those are of which nobody knew
    w.devices[1].is_vague = true;
    in.took = parts_took;
    CHECK(plan_choose(&in) && count_parts(plan_make(&in)) == 0);
    close_world(&w);
}

// Nothing is known of parts; what is whole took a tenth of what its work tells.
static double whole_took(const void *data, const PlanTask *task, uint32_t device) {
    (void)device;
    return task->piece == NULL ? *(const double *)data : 0;
}

// Parts that have not run are thought as fast as what has run whole.
static void test_took_whole(void) {
    World w = open_world("cpu:0,cpu:1", heavy);
    PlanInput in = input_of(&w, 100000);
    w.devices[1].rate = w.devices[1].one = 1e8;
    CHECK(plan_choose(&in) && count_parts(plan_make(&in)) == 0);
    double took = plan_make(&in)->seconds / 10;
    w.devices[1].rate = w.devices[1].one = 2e9;
    in.took = whole_took;
    in.data = &took;
    CHECK(plan_choose(&in) && count_parts(plan_make(&in)) == 2);
    close_world(&w);
}

// ---- calls --------------------------------------------------------------------------

static uint64_t call(World *w, int64_t n) {
    WeftValue *arg, *result;
    uint64_t bytes = 0;
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)n);
    for (uint32_t i = 0; i < w->context->place_count; i++)
        bytes -= w->context->places[i].device->counts.write_bytes;
    CHECK(weft_value_read(w->program, 0, 0, "n", text, strlen(text), &arg) ==
          WEFT_STATUS_OK);
    CHECK(weft_call(w->program, 0, &arg, 1, &result, 1) == WEFT_STATUS_OK);
    for (uint32_t i = 0; i < w->context->place_count; i++)
        bytes += w->context->places[i].device->counts.write_bytes;
    weft_value_free(arg);
    weft_value_free(result);
    return bytes;
}

// The first call at a place tells little, if others know more.
static void test_first_calls(void) {
    World w = open_world("cpu:0,cpu:1@0.5", heavy);
    call(&w, 100000);
    KernelAt none[2] = {{0}}, at[2] = {{.seconds = 0.01}, {.seconds = 0.5}};
    const EngineKernel kernel = {.at = at};
    CHECK(api_kernel_seconds(w.context, &(EngineKernel){.at = none}, 0) == 0);
    at[0].calls = at[1].calls = 1; // each is as good as the other
    CHECK(api_kernel_seconds(w.context, &kernel, 0) == 0.01);
    CHECK(api_kernel_seconds(w.context, &kernel, 1) == 0.5);
    at[0].calls = 2; // the other has half the speed
    CHECK(api_kernel_seconds(w.context, &kernel, 1) == 0.02);
    at[1].calls = 2; // that much longer is half believed
    CHECK(api_kernel_seconds(w.context, &kernel, 1) == 0.26);
    at[1].seconds = 0.015;
    CHECK(api_kernel_seconds(w.context, &kernel, 1) == 0.015);
    CHECK(api_kernel_seconds(w.context, &kernel, 0) == (0.01 + 0.0075) / 2);
    at[1] = (KernelAt){0};
    CHECK(api_kernel_seconds(w.context, &kernel, 1) == 0.02);
    close_world(&w);
}

// A slow place sleeps until its work would be done; what others took of its core it has
// slept already, but keeps no more than a little of that for later.
static void test_owing(void) {
    CHECK(api_kernel_owes(0, 0.5, 1e7, 1e7) == 1e7);
    CHECK(api_kernel_owes(5, 0.25, 1e7, 1.5e7) == 2.5e7 + 5);
    CHECK(api_kernel_owes(1e6, 0.5, 1e7, 2e7) == 1e6);
    CHECK(api_kernel_owes(0, 0.5, 1e7, 9e7) == -1e5);
}

// How many calls elsewhere it takes until one there is thought to take less than that.
static int count_until(const World *w, EngineKernel *kernel, double seconds) {
    int count = 0;
    while (api_kernel_seconds(w->context, kernel, 1) >= seconds && count < 1000) {
        api_kernel_note(w->context, kernel, 0, 0.01);
        count++;
    }
    return count;
}

// A call on cores that took longer than it should is forgotten, the later the more
// often it is found true.
static void test_forgetting(void) {
    World w = open_world("cpu:0,cpu:1@0.5", heavy);
    call(&w, 100000);
    KernelAt at[3] = {{0}};
    EngineKernel kernel = {.at = at};
    for (int i = 0; i < 2; i++) api_kernel_note(w.context, &kernel, 0, 0.01);
    for (int i = 0; i < 3; i++) api_kernel_note(w.context, &kernel, 1, 0.34);
    CHECK(api_kernel_seconds(w.context, &kernel, 1) == 0.18); // 0.02 if undisturbed
    CHECK(count_until(&w, &kernel, 0.041) == 12); // 0.16 is halved three times
    api_kernel_note(w.context, &kernel, 1, 0.34);
    CHECK(count_until(&w, &kernel, 0.041) == 24);
    api_kernel_note(w.context, &kernel, 1, 0.34); // half after eight now, then sixteen
    CHECK(count_until(&w, &kernel, 0.041) == 47);
    api_kernel_note(w.context, &kernel, 1, 0.02);
    api_kernel_note(w.context, &kernel, 1, 0.34);
    CHECK(count_until(&w, &kernel, 0.041) == 12);
    close_world(&w);
}

// Seconds that the task is thought to take there.
static double book(ApiTask *task, uint32_t place) {
    api_ahead_book(task, place);
    double seconds = task->seconds;
    api_ahead_unbook(task);
    return seconds;
}

// What another task will make travels to where that is not made, and so do the parts of
// what is joined.
static void test_promised(void) {
    World w = open_world("cpu:0,cpu:1@0.5", heavy);
    call(&w, 100000);
    size_t bytes[2] = {8000000, 4000000};
    KernelAt at[3] = {{.made = bytes}, {.made = bytes + 1}};
    EngineKernel kernel = {.at = at};
    ApiTask makers[2], join = {.context = w.context, .arg_count = 2};
    RtArray arrays[2] = {{.rank = 1}, {.rank = 1}}, whole = {.rank = 1};
    RtArray *promised[2] = {&arrays[0], &arrays[1]};
    RtValue parts[2] = {{.array = &arrays[0]}, {.array = &arrays[1]}},
            arg = {.rank = 1};
    for (unsigned i = 0; i < 2; i++) {
        makers[i] = (ApiTask){.context = w.context,
                              .errand = {.line = i},
                              .run = {.kernel = &kernel},
                              .promised = &promised[i]};
        arrays[i].maker = &makers[i].errand;
    }
    join.run.offer.args = parts;
    whole.maker = &join.errand;
    ApiTask task = {.context = w.context, .booked = API_NOWHERE, .arg_count = 1};
    task.run.offer.args = &arg;
    arg.array = &arrays[0];
    CHECK(fabs(book(&task, 1) - book(&task, 0) - (1e-3 + 1e-5)) < 1e-9);
    arg.array = &arrays[1];
    CHECK(fabs(book(&task, 0) - book(&task, 1) - (0.5e-3 + 1e-5)) < 1e-9);
    arg.array = &whole; // which is joined in line 0
    CHECK(fabs(book(&task, 1) - book(&task, 0) - (0.5e-3 + 1e-5)) < 1e-9);
    close_world(&w);
}

static void test_calls(void) {
    World w = open_world("cpu:0,cpu:1", turns);
    const ApiEntry *entry = &w.program->entries[0];
    CHECK(entry->choice == NULL);
    CHECK(call(&w, 20000) <= 8 * 20000); // it is brought once, and stays
    CHECK(entry->choice != NULL && entry->choice->calls == 1);
    CHECK(call(&w, 20000) <= 8 * 20000 && call(&w, 23000) <= 8 * 23000);
    CHECK(entry->choice->calls == 3);
    // other sizes are planned for anew: so few are not cut, by their number
    CHECK(call(&w, 2) <= 8 * 2 && entry->choice->calls == 1);
    CHECK(call(&w, 20000) <= 8 * 20000 && entry->choice->calls == 1);
    close_world(&w);
    // with all cut that can be, each turn brings all to the devices
    setenv("WEFT_SPLIT", "1", 1);
    w = open_world("cpu:0,cpu:1", turns);
    CHECK(call(&w, 20000) >= 50 * 8 * 20000ull);
    CHECK(w.program->entries[0].choice == NULL);
    unsetenv("WEFT_SPLIT");
    close_world(&w);
}

// What is tried is kept if it is better, and never tried again if it is not.
static void test_trials(void) {
    World w = open_world("cpu:0,cpu:1", heavy);
    ApiEntry *entry = &w.program->entries[0];
    call(&w, 100000);
    ApiChoice *choice = entry->choice;
    int64_t *from = fission_switch(&w.program->decisions, 0)->from;
    int64_t cut = *from;
    CHECK(choice->trials == 0 && cut < INT64_MAX && choice->now.least > 0);
    for (int worse = 0; worse < 2; worse++) {
        choice->now.least = 1;
        choice->other = choice->now;
        choice->other.from = arena_copy(&w.arena, from, sizeof *from);
        choice->now = (ApiSetting){.from = arena_new(&w.arena, int64_t)};
        choice->now.from[0] = *from = INT64_MAX;
        choice->trials = API_TRIALS;
        choice->is_rejected = false;
        w.program->engine->entry = entry->fun;
        api_chosen_took(w.program, entry, 9); // which waited for kernels
        api_chosen_took(w.program, entry, worse ? 1.5 : 0.5);
        CHECK(*from == INT64_MAX && choice->trials == 1);
        api_chosen_took(w.program, entry, 2);
        CHECK(choice->trials == 0 && choice->is_rejected == worse);
        CHECK(*from == (worse ? cut : INT64_MAX));
        CHECK(choice->now.least == (worse ? 1 : 0.5));
        CHECK((w.program->engine->entry == NULL) == worse); // it needs other kernels
        *from = cut;
    }
    // the second call that takes more than twice as long is the last one
    choice->other.least = 1;
    choice->now.least = 0;
    choice->trials = API_TRIALS;
    choice->is_rejected = false;
    api_chosen_took(w.program, entry, 9);
    CHECK(choice->trials == API_TRIALS - 1 && !choice->is_rejected);
    api_chosen_took(w.program, entry, 2.5);
    CHECK(choice->trials == 0 && choice->is_rejected);
    close_world(&w);
}

static bool is_right(World *w, int64_t n) {
    WeftValue *arg, *result;
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)n);
    CHECK(weft_value_read(w->program, 0, 0, "n", text, strlen(text), &arg) ==
          WEFT_STATUS_OK);
    CHECK(weft_call(w->program, 0, &arg, 1, &result, 1) == WEFT_STATUS_OK);
    const int64_t *xs = result->leaves[0].array->data;
    bool ok = result->leaves[0].array->shape[0] == n;
    for (int64_t i = 0; i < n && ok; i++) {
        int64_t x = i;
        for (int64_t k = 0; k < 1000; k++) x = (x * 31 + k) % 1009;
        ok = xs[i] == x;
    }
    weft_value_free(arg);
    weft_value_free(result);
    return ok;
}

// How many kernels of the program have run at that place.
static uint32_t count_runs(const World *w, uint32_t place) {
    const ApiEngine *engine = w->program->engine;
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine->count; i++)
        count += engine->kernels[i].at[place].calls;
    return count;
}

// After 31 calls all are tried again, and kept if that is better, as it is here.
static void try_again(World *w, uint32_t other) {
    ApiChoice *choice = w->program->entries[0].choice;
    uint32_t before = count_runs(w, other);
    choice->now.least = 1e9;
    for (int i = 0; i < API_TRIALS; i++) CHECK(is_right(w, 2000));
    CHECK(choice->trials == 0 && !choice->now.is_alone);
    for (int i = 0; i < 12 && count_runs(w, other) == before; i++)
        CHECK(is_right(w, 2000)); // of one call the others may have taken all
    CHECK(count_runs(w, other) > before);
}

// A place is tried alone in the calls from the 16th on; what is better then stays,
// until the 32nd, or sizes are others.
static void try_alone(const char *devices, uint32_t place, bool better) {
    World w = open_world(devices, heavy);
    CHECK(w.context->alone == &w.context->places[place]);
    ApiEntry *entry = &w.program->entries[0];
    for (int i = 0; i < 15; i++) CHECK(is_right(&w, 2000));
    ApiChoice *choice = entry->choice;
    CHECK(count_runs(&w, 0) > 0 && count_runs(&w, 1) > 0 && count_runs(&w, 2) == 0);
    CHECK(!choice->now.is_alone && choice->trials == 0);
    choice->now.least = better ? 1e9 : 1e-9;
    uint32_t other = place == 1 ? 0 : 1, before = count_runs(&w, other);
    for (int i = 0; i < API_TRIALS; i++) CHECK(is_right(&w, 2000));
    // of those that take too long two are enough; of few calls one may take all
    CHECK(!better || count_runs(&w, other) == before);
    CHECK(choice->trials == 0 && choice->now.is_alone == better);
    uint32_t tried = count_runs(&w, place);
    for (int i = 0; i < 13; i++) CHECK(is_right(&w, 2000));
    CHECK(!better || count_runs(&w, place) == tried + 13);
    CHECK(!better || count_runs(&w, other) == before);
    if (better) try_again(&w, other);
    before = count_runs(&w, other);
    CHECK(is_right(&w, 5000) && !choice->now.is_alone);
    for (int i = 0; i < 12 && count_runs(&w, other) == before; i++)
        CHECK(is_right(&w, 5000)); // of one call the others may have taken all
    CHECK(count_runs(&w, other) > before);
    close_world(&w);
}

static void test_alone(void) {
    for (int better = 0; better < 2; better++) {
        try_alone("cpu*2", 2, better); // all cores
        try_alone("cpu:0@0.9,cpu:1", 1, better);
        try_alone("cpu:0,cpu:1", 0, better);
        try_alone("cpu:0@0.5,cpu", 1, better); // the host's
    }
    static const char *const one[] = {"cpu*1", "cpu"};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        World w = open_world(one[i], heavy);
        for (int k = 0; k < 18; k++) CHECK(is_right(&w, 2000));
        CHECK(w.context->alone == NULL && w.program->engine->alone == NULL);
        close_world(&w);
    }
}

int main(void) {
    test_plans();
    test_took();
    test_took_whole();
    test_first_calls();
    test_owing();
    test_forgetting();
    test_promised();
    test_calls();
    test_trials();
    test_alone();
    return test_done();
}
