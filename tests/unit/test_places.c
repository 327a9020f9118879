// SPDX-License-Identifier: Apache-2.0
//
// Devices that fail: every allocation, transfer, copy, launch and build of a run on an
// OpenCL device is made to fail, one after the other. Alone the device's failure is an
// error with a message; beside another the answer is right all the same. Nothing leaks.
// And what moves: no more than must cross, and while a device computes.
#define _POSIX_C_SOURCE 200809L
#include "api/plans.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/ahead.h"
#include "api/testing.h"
#include "dev/kinds.h"
#include "devices.h"
#include "loop/loop.h"
#include "loop/machine.h"
#include "test.h"

// ---- a device that fails ------------------------------------------------------------

typedef enum Point { ALLOC, WRITE, READ, COPY, BUILD, LAUNCH, POINTS } Point;
enum { ONCE = 1, ALWAYS = INT_MAX };

static const DeviceOps *real;
static DeviceOps broken;
static Point at;
static int left;                             // until it fails; 0: it has
static int times;                            // that it fails then
static atomic_bool is_launched;              // the device is at work
static atomic_int launches, writes, fetched; // so far
static atomic_int sent;                      // of the writes, during launches

// A launch, or a write, that is not over before something has happened.
typedef struct Hold {
    int launch, write; // 0: none
    atomic_int *until;
    bool outlasts; // what is sent during the launch comes later
    bool is_met;   // reads wait until it has begun
} Hold;

static Hold hold;
static atomic_bool is_late; // what was waited for did not come

static void pause_a_while(void) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

enum { PATIENCE = 10000 }; // milliseconds

// Waits until it is that many.
static void wait_until(atomic_int *count, int least) {
    int ms = 0;
    while (atomic_load(count) < least && ms++ < PATIENCE) pause_a_while();
    if (ms > PATIENCE) atomic_store(&is_late, true);
}

static void hold_write(void) {
    int ms = 0;
    while (atomic_load(&is_launched) && ms++ < PATIENCE) pause_a_while();
    if (ms > PATIENCE) atomic_store(&is_late, true);
}

static bool fails(Device *device, Point point) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool is_due = point == at && left >= 0 && left <= 1 && times > 0;
    if (is_due) times--;
    if (point == at && left > 0) left--;
    pthread_mutex_unlock(&lock);
    if (is_due) dev_fail(device, STATUS_IO, "it was told to fail");
    return is_due;
}

static Status fail_alloc(Device *d, size_t bytes, uint64_t *address_out) {
    return fails(d, ALLOC) ? STATUS_MEMORY : real->alloc(d, bytes, address_out);
}

// What is freed is overwritten: nobody may want it any more.
static void spoil(Device *d, uint64_t address, size_t bytes) {
    static char junk[1 << 12];
    size_t most = bytes < sizeof junk ? bytes : sizeof junk;
    memset(junk, 0xA5, sizeof junk);
    if (most > 0) real->write(d, address, junk, most);
    real->free(d, address, bytes);
}

static Status fail_write(Device *d, uint64_t to, const void *from, size_t bytes) {
    bool is_early = atomic_load(&is_launched);
    atomic_fetch_add(&sent, is_early);
    if (is_early && hold.outlasts) hold_write();
    if (atomic_fetch_add(&writes, 1) + 1 == hold.write) wait_until(hold.until, 1);
    return fails(d, WRITE) ? STATUS_IO : real->write(d, to, from, bytes);
}

static Status fail_read(Device *d, void *to, uint64_t from, size_t bytes) {
    atomic_fetch_add(&fetched, 1);
    if (hold.is_met) wait_until(&launches, hold.launch);
    if (hold.is_met) wait_until(&writes, hold.write);
    return fails(d, READ) ? STATUS_IO : real->read(d, to, from, bytes);
}

static Status fail_copy(Device *d, uint64_t to, uint64_t from, size_t bytes) {
    return fails(d, COPY) ? STATUS_IO : real->copy(d, to, from, bytes);
}

static Status fail_build(Device *d, Str source, Str tables, const atomic_bool *cancel,
                         void **code_out) {
    return fails(d, BUILD) ? STATUS_IO
                           : real->build(d, source, tables, cancel, code_out);
}

// As the launch's own, in `data`.
static void tell_held(void *data, bool begins) {
    const DeviceIdle *idle = data;
    if (begins) atomic_store(&is_launched, true);
    idle->tell(idle->data, begins);
    if (begins) wait_until(hold.until, 1);
    else atomic_store(&is_launched, false);
}

static LaunchEnd fail_launch(Device *d, const DeviceLaunch *launch, GpuFault *fault) {
    if (fails(d, LAUNCH)) return LAUNCH_BROKEN;
    DeviceLaunch held = *launch;
    DeviceIdle idle = {tell_held, (void *)(uintptr_t)launch->idle};
    held.is_sure = launch->is_sure && hold.launch == 0;
    if (atomic_fetch_add(&launches, 1) + 1 == hold.launch) held.idle = &idle;
    return real->launch(d, &held, fault);
}

// ---- runs ---------------------------------------------------------------------------

static const char scans[] =
    "entry main (n: i64) (ys: *[]i64): ([]i64, i64) =\n"
    "  let xs = scan (+) 0 (map (\\i -> i * i % 7) (iota n))\n"
    "  let sum = i64.sum (map2 (*) xs ys[0:n])\n"
    "  let zs = loop zs = ys for i < 2 do zs with [i] = zs[i + 1]\n"
    "  in (map2 (+) xs zs, sum)\n";

// The same, where the device sums up in several launches.
static const char sums[] =
    "entry main (n: i64) (ys: *[]i64): ([]i64, i64) =\n"
    "  let xs = scan (+) 0 (map (\\i -> i * i % 7) (iota n))\n"
    "  let us = scan (+) 0 (map2 (*) xs ys[0:n])\n"
    "  let zs = loop zs = ys for i < 2 do zs with [i] = zs[i + 1]\n"
    "  in (map2 (+) xs zs, us[n / 4] + us[n - 1])\n";

// Neighbours' halos travel; histograms of parts are joined.
static const char halos[] =
    "entry main (n: i64) (ys: *[]i64): ([]i64, i64) =\n"
    "  let xs = map (\\y -> y * y % 7) ys\n"
    "  let zs = map3 (\\a b c -> a + b * 10 + c * 100) xs[:n - 2] xs[1:n - 1] xs[2:n]\n"
    "  let bins = hist (+) 0 8 (map (% 8) ys) xs\n"
    "  in (zs, i64.sum (map2 (*) bins (indices bins)))\n";

// What the second operator needs, as much again, travels while the first is at work.
static const char turns[] =
    "entry main (n: i64) (ys: *[]i64) (zs: []i64): ([]i64, i64) =\n"
    "  let f (y: i64) = loop y for i < 200 do y * 5 % 7\n"
    "  let sum = i64.sum (map f ys) + i64.sum (map f zs)\n"
    "  in (map (+ sum) (iota n), sum)\n";

// The first result is ready before the second one is begun.
static const char halves[] =
    "entry main (n: i64) (ys: *[]i64) (zs: []i64): ([]i64, []i64) =\n"
    "  let f (y: i64) = loop y for i < 200 do y * 5 % 7\n"
    "  in (map f ys[:n], map f zs[:n])\n";

// A kernel that has begun to overwrite its argument takes more memory.
static const char takes[] = "entry main (n: i64) (ys: *[]i64): ([]i64, i64) =\n"
                            "  let xs = loop xs = scan (+) 0 ys for k < 2 do\n"
                            "    let xs = xs with [k] = xs[k] * 3 + 1\n"
                            "    in xs with [k] = i64.sum (scan (+) 0 xs)\n"
                            "  in (xs, xs[n - 1])\n";

static const char *text = scans;

static atomic_int warnings;

static void note(void *data, WeftSeverity severity, const char *line) {
    (void)data, (void)line;
    warnings += severity == WEFT_SEVERITY_WARNING;
}

static WeftStatus prepare(const char *devices, WeftContext **context_out,
                          WeftProgram **program_out) {
    WeftOptions options = {
        .struct_size = sizeof options, .devices = devices, .threads = 2, .log = note};
    warnings = 0;
    *program_out = NULL;
    CHECK(weft_context_new(&options, context_out) == WEFT_STATUS_OK);
    WeftContext *context = *context_out;
    if (api_places_open(context) != WEFT_STATUS_OK) abort();
    for (uint32_t i = 0; i < context->place_count; i++) {
        if (!api_is_launched(&context->places[i])) continue;
        Device *device = context->places[i].device;
        real = device->ops;
        broken = *real;
        broken.alloc = fail_alloc;
        broken.free = spoil;
        broken.write = fail_write;
        broken.read = fail_read;
        broken.copy = fail_copy;
        broken.build = fail_build;
        broken.launch = fail_launch;
        device->ops = &broken;
        break;
    }
    return weft_program_from_source(context, "test", text, strlen(text), program_out);
}

enum { N = 5000 };

static bool is_right_scan(const int64_t *found, int64_t sum) {
    int64_t xs = 0, total = 0, quarter = 0;
    for (int64_t i = 0; i < N; i++) {
        xs += i * i % 7;
        total += xs * (3 * i);
        if (text == sums && i == N / 4) quarter = total;
        int64_t z = i < 2 ? 3 * (i + 1) : 3 * i;
        if (found[i] != xs + z) return false;
    }
    return sum == total + quarter;
}

static bool is_right_halo(const int64_t *found, int64_t sum) {
    int64_t xs[N], total = 0;
    for (int64_t i = 0; i < N; i++) {
        xs[i] = 9 * i * i % 7;
        total += xs[i] * (3 * i % 8);
    }
    for (int64_t i = 0; i + 2 < N; i++)
        if (found[i] != xs[i] + xs[i + 1] * 10 + xs[i + 2] * 100) return false;
    return sum == total;
}

static bool is_right_taken(const int64_t *found, int64_t last) {
    int64_t xs[N];
    for (int64_t i = 0; i < N; i++) xs[i] = 3 * (i * (i + 1) / 2);
    for (int64_t k = 0; k < 2; k++) {
        int64_t sum = 0;
        xs[k] = xs[k] * 3 + 1;
        for (int64_t i = 0; i < N; i++) sum += xs[i] * (N - i);
        xs[k] = sum;
    }
    return memcmp(found, xs, sizeof xs) == 0 && last == xs[N - 1];
}

static int64_t turn(int64_t y) {
    for (int k = 0; k < 200; k++) y = y * 5 % 7;
    return y;
}

static bool is_right_turn(const int64_t *found, int64_t sum) {
    int64_t total = 0;
    for (int64_t i = 0; i < N; i++) total += 2 * turn(3 * i);
    for (int64_t i = 0; i < N; i++)
        if (found[i] != i + total) return false;
    return sum == total;
}

static bool is_right_half(const int64_t *found, const int64_t *others) {
    for (int64_t i = 0; i < N; i++)
        if (found[i] != turn(3 * i) || others[i] != found[i]) return false;
    return true;
}

static bool is_right(WeftValue *const results[2]) {
    const void *first, *second;
    if (weft_value_data(results[0], &first) != WEFT_STATUS_OK ||
        weft_value_data(results[1], &second) != WEFT_STATUS_OK)
        return false;
    int64_t sum = *(const int64_t *)second;
    if (text == scans || text == sums) return is_right_scan(first, sum);
    if (text == halves) return is_right_half(first, second);
    if (text == takes) return is_right_taken(first, sum);
    return text == halos ? is_right_halo(first, sum) : is_right_turn(first, sum);
}

static uint64_t fail_at; // this allocation of a call fails; 0: none does

static WeftStatus run(WeftContext *context, WeftProgram *program, bool *right_out) {
    static int64_t ys[N];
    WeftValue *args[3], *results[2];
    size_t arg_count = weft_entry_parameter_count(program, 0);
    int64_t n = N, shape = N;
    for (int64_t i = 0; i < N; i++) ys[i] = 3 * i;
    CHECK(weft_value_new(context, WEFT_I64, 0, NULL, &n, &args[0]) == WEFT_STATUS_OK);
    for (size_t i = 1; i < arg_count; i++)
        CHECK(weft_value_new(context, WEFT_I64, 1, &shape, ys, &args[i]) ==
              WEFT_STATUS_OK);
    uint64_t before = weft_testing_allocations(context);
    weft_testing_fail_allocation(context, fail_at);
    WeftStatus status = weft_call(program, 0, args, arg_count, results, 2);
    weft_testing_fail_allocation(context, 0);
    if (weft_testing_allocations(context) < before + fail_at) fail_at = 0;
    *right_out = status == WEFT_STATUS_OK && is_right(results);
    for (size_t i = 0; i < arg_count; i++) weft_value_free(args[i]);
    for (int i = 0; i < 2 && status == WEFT_STATUS_OK; i++) weft_value_free(results[i]);
    return status;
}

// Returns whether the n-th did fail.
static bool check_failure(const char *devices, Point point, int n, int count) {
    WeftContext *context;
    WeftProgram *program;
    bool right, is_alone = strchr(devices, ',') == NULL;
    at = point;
    left = n;
    times = count;
    WeftStatus status = prepare(devices, &context, &program);
    bool has_failed = left == 0;
    CHECK(status == WEFT_STATUS_OK);
    CHECK(point != BUILD || !has_failed); // code is built for the entry that is called
    status = run(context, program, &right);
    has_failed = left == 0;
    CHECK(right == (status == WEFT_STATUS_OK));
    if (status == WEFT_STATUS_IO) {
        CHECK(strstr(weft_message(context), "device opencl:0 ") != NULL);
        CHECK(strstr(weft_message(context), "it was told to fail") != NULL);
    }
    if (!right) CHECK(strlen(weft_message(context)) > 0);
    if (!has_failed || !is_alone) CHECK(right);
    if (!has_failed) CHECK(warnings == 0);
    // What is read ahead of need is read again.
    if (has_failed && !is_alone && point != ALLOC && (count > 1 || point != READ))
        CHECK(warnings == 1);
    if (point != BUILD || !has_failed || !is_alone) {
        left = -1; // it works again, or is not used any more
        run(context, program, &right);
        CHECK(right);
    }
    weft_program_free(program);
    CHECK(weft_testing_context_free(context) == 0);
    return has_failed;
}

// Each call of the first of the devices in turn, once or from then on. What is `never`
// called has nothing to try.
static void check_failures(const char *devices, Point never) {
    for (int point = 0; point < POINTS; point++)
        for (int over = 0; over < 2; over++) {
            int n = 1;
            while (check_failure(devices, (Point)point, n, over == 1 ? ALWAYS : ONCE))
                n++;
            CHECK((Point)point == never || n > 1);
        }
}

// Memory that a kernel lacks for a while, having overwritten its argument.
static void check_taken(void) {
    text = takes;
    for (int count = 2; count <= 6; count++)
        for (int n = 1; check_failure("opencl:0", ALLOC, n, count);) n++;
}

// The same with each allocation of a call in turn, on two devices with memory of their
// own. What lacks memory is tried again, so some calls are right all the same.
static void check_allocations(void) {
    WeftContext *context;
    WeftProgram *program;
    bool right;
    left = -1;
    CHECK(prepare("cpu:0,cpu:1", &context, &program) == WEFT_STATUS_OK);
    run(context, program, &right);
    CHECK(right);
    uint64_t k = 1, refused = 0;
    for (bool has_failed = true; has_failed; k++) {
        fail_at = k;
        WeftStatus status = run(context, program, &right);
        has_failed = fail_at != 0;
        CHECK(right || (has_failed && status == WEFT_STATUS_MEMORY));
        refused += !right;
        fail_at = 0;
        run(context, program, &right);
        CHECK(right);
    }
    CHECK(refused > 0 && refused < k / 8); // the host itself had none
    weft_program_free(program);
    CHECK(weft_testing_context_free(context) == 0);
}

// ---- what moves ---------------------------------------------------------------------

typedef struct Moved {
    uint64_t to, from; // bytes: to and from all devices
    uint64_t made;     // bytes of arrays on the host
    size_t peak;       // most bytes on the first device
    double planned;    // to all devices
    uint64_t taken;    // chunks that places took over from each other
    ApiEdges edges;    // of tasks
} Moved;

static Moved moved_so_far(const WeftContext *context) {
    const Device *first = context->places[0].device;
    Moved moved = {.made = context->heap.made_bytes,
                   .peak = first != NULL ? first->counts.peak : 0};
    for (uint32_t i = 0; i < context->place_count; i++) {
        const Device *device = context->places[i].device;
        moved.taken += context->places[i].taken;
        if (device == NULL) continue; // nothing can
        moved.to += device->counts.write_bytes;
        moved.from += device->counts.read_bytes;
    }
    return moved;
}

static double planned; // bytes to all devices, of the call that comes next

static WeftStatus note_plan(const ApiPlanning *planning) {
    PlanInput in = api_plan_input(planning);
    api_plan_devices(planning->program, &in);
    const Plan *plan = plan_make(&in);
    planned = 0;
    for (uint32_t i = 0; i < plan->steps.len; i++) {
        const PlanStep *step = &plan->steps.data[i];
        if (step->kind != PLAN_SEND || step->device >= plan->in.device_count) continue;
        planned += step->bytes * plan->tasks.data[step->task].turns;
    }
    return WEFT_STATUS_OK;
}

// Calls that entry of the program, of which half is for each of two devices, with an
// array of MANY numbers, which are more than a few blocks of a sum. What it gives
// begins with 3; all of it, or the first of so many, is kept.
enum { MANY = 40000, MOST = 2 * MANY };

static bool is_half_full; // the memory below the ceiling is, when the call begins

static void fill_half(WeftContext *context, WeftValue **ballast) {
    CHECK(weft_value_random(context, "[2000000]i64", 1, ballast) == WEFT_STATUS_OK);
    context->mem.limit = 2 * atomic_load(&context->mem.used);
}

static Moved call_on(const char *devices, const char *source, int64_t *kept) {
    WeftOptions options = {
        .struct_size = sizeof options, .devices = devices, .threads = 2};
    WeftContext *context;
    WeftProgram *program = NULL;
    WeftValue *arg, *result, *ballast = NULL;
    static int64_t xs[MANY];
    const void *found;
    int64_t shape = MANY;
    for (int64_t i = 0; i < MANY; i++) xs[i] = i;
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    if (weft_program_from_source(context, "test", source, strlen(source), &program) !=
        WEFT_STATUS_OK)
        abort();
    CHECK(weft_value_new(context, WEFT_I64, 1, &shape, xs, &arg) == WEFT_STATUS_OK);
    if (is_half_full) fill_half(context, &ballast);
    CHECK(api_plan(context, program, &program->entries[0], &arg, note_plan, NULL) ==
          WEFT_STATUS_OK);
    Moved before = moved_so_far(context);
    if (weft_call(program, 0, &arg, 1, &result, 1) != WEFT_STATUS_OK) abort();
    Moved after = moved_so_far(context);
    CHECK(weft_value_data(result, &found) == WEFT_STATUS_OK);
    int64_t count = weft_value_rank(result) > 0 ? weft_value_shape(result)[0] : 1;
    memset(kept, 0, MOST * sizeof *kept);
    memcpy(kept, found, (size_t)count * sizeof *kept);
    CHECK(kept[0] == 3);
    ApiEdges edges = {0};
    bool has_lines = context->place_count > 1 || api_has_launched(context);
    CHECK(api_ahead_edges(program, &edges) == has_lines);
    weft_value_free(arg);
    weft_value_free(result);
    weft_value_free(ballast);
    weft_program_free(program);
    CHECK(weft_testing_context_free(context) == 0);
    return (Moved){after.to - before.to,
                   after.from - before.from,
                   after.made - before.made,
                   after.peak,
                   planned,
                   after.taken - before.taken,
                   edges};
}

// It gives what one device does.
static Moved move_on(const char *devices, const char *source) {
    static int64_t right[MOST], kept[MOST];
    Moved moved = call_on(devices, source, kept);
    call_on("cpu", source, right);
    CHECK(memcmp(kept, right, sizeof kept) == 0);
    return moved;
}

static const char two[] = "cpu:0,cpu:1"; // each with memory of its own

// Each gets as much as the plan says.
static Moved move(const char *source) {
    Moved moved = move_on(two, source);
    CHECK((double)moved.to == moved.planned);
    return moved;
}

static void check_moves(void) {
    const uint64_t bytes = MANY * sizeof(int64_t), shares = 2 * sizeof(int64_t);
    setenv("WEFT_SPLIT", "0", 1);
    // each device gets its part; what they make is read straight into the whole
    Moved moved = move("entry main (xs: []i64): []i64 = map (\\x -> x * x + 3) xs");
    CHECK(moved.to == bytes && moved.from == bytes && moved.made == bytes + shares);
    // what one operator makes in parts the next takes in parts
    moved = move("entry main (xs: []i64): []i64 =\n"
                 "  let ys = map (\\x -> loop y = x for i < 9 do y * 7 % 11) xs\n"
                 "  in map2 (\\i y -> i + y + 3) (indices ys) (map (% 5) ys)");
    CHECK(moved.to == bytes && moved.from == bytes && moved.made == bytes + shares);
    // of what neighbours both see, each gets its part and what is next to it
    moved = move("entry main (xs: []i64): []i64 =\n"
                 "  let n = length xs\n"
                 "  in map3 (\\x y z -> x + y + z) xs[:n - 2] xs[1:n - 1] xs[2:]");
    CHECK(moved.to == bytes + 16 && moved.from == bytes - 16);
    CHECK(moved.made == bytes - 16 + shares);
    // the sum of one part goes to the next
    moved = move("entry main (xs: []i64): []i64 = scan (+) 0 (map (+ 3) xs)");
    CHECK(moved.to == bytes && moved.from == bytes + 8);
    CHECK(moved.made == bytes + 8 + shares);
    // each fills bins of its own
    moved = move("entry main (xs: []i64): []i64 =\n"
                 "  hist (+) 0 4 (map (% 4) xs) (map (\\x -> i64.bool (x < 12)) xs)");
    CHECK(moved.to == bytes + 32 && moved.from == 64);
    // a sum of each block
    moved = move("entry main (xs: []i64): i64 =\n"
                 "  i64.f64 (f64.sum (map (\\x -> f64.i64 (i64.bool (x < 3))) xs))");
    CHECK(moved.to == bytes + 16 && moved.from == 24);
    // what is kept of each part
    moved = move("entry main (xs: []i64): []i64 = filter (>= 3) xs");
    CHECK(moved.to == bytes && moved.from == bytes - 24);
    // of a whole that one device needs, what the other one has crosses; then what it
    // makes of it goes back
    moved =
        move("entry main (xs: []i64): []i64 =\n"
             "  let ys = map (\\x -> f64.i64 (loop y = x for i < 9 do y * 7 % 11)) xs\n"
             "  let zs = scan (+) 0 ys\n"
             "  in map2 (\\y z -> i64.f64 y + i64.f64 z + 3) ys zs");
    CHECK(moved.to == 2 * bytes && moved.from == 5 * bytes / 2);
    // ... and where both need it, each gets the other's half
    moved = move("entry main (xs: []i64): []i64 =\n"
                 "  let ys = map (\\x -> (loop y = x for i < 9 do y * 7 % 11) + 3) xs\n"
                 "  in map (\\i -> ys[i * 7 % 40000] + ys[i] - 3) (iota 40000)");
    CHECK(moved.to == 2 * bytes && moved.from == 2 * bytes);
    // an argument that several take in parts, once
    moved = move("entry main (xs: []i64): i64 =\n"
                 "  let f (x: i64) = loop y = x for i < 9 do y * 7 % 11\n"
                 "  let s = i64.minimum (map f xs)\n"
                 "  in i64.minimum (map (\\x -> f (x * 3 + s)) xs) + 3");
    CHECK(moved.to == bytes && moved.made <= shares);
    // ... and nobody needs the whole, so that it pays, too
    setenv("WEFT_SPLIT", "1", 1);
    moved =
        move("entry main (xs: []i64): i64 =\n"
             "  i64.minimum (map (\\x -> loop y = x for i < 9 do y * 7 % 11) xs) + 3");
    CHECK(moved.to == bytes && moved.from == 0 && moved.made == shares);
    // what is little work pays where its arguments are in parts already
    moved = move("entry main (xs: []i64): []i64 =\n"
                 "  let ys = map (\\x -> loop y = x for i < 9 do y * 7 % 11) xs\n"
                 "  let least = i64.minimum ys\n"
                 "  in map (\\y -> y * 5 + y * y * 2 + y + 3 - least) ys");
    CHECK(moved.to == bytes && moved.from == bytes);
    unsetenv("WEFT_SPLIT");
}

// Two chains of four tasks, and one that takes the ends of both.
static const char chains[] =
    "entry main (xs: []i64): []i64 =\n"
    "  let a = scan (+) 0 xs |> scan i64.max 0 |> scan i64.min 0 |> scan (+) 0\n"
    "  let b = scan i64.max 0 xs |> scan (+) 0 |> scan i64.max 0 |> scan i64.min 0\n"
    "  in map2 (\\x y -> x + y + 3) a b";

// Which run their tasks themselves; of cores at full speed the host runs some.
static const char slow[] = "cpu:0@0.5,cpu:1@0.5";

// Of eight edges one crosses devices (none, if one chain is done before the other is
// put somewhere; two, if a device is late), and nobody waits but for that.
static void check_waits(void) {
    const char *const devices[] = {slow, two};
    setenv("WEFT_SPLIT", "none", 1);
    for (int i = 0; i < 2; i++) {
        ApiEdges edges = move_on(devices[i], chains).edges;
        CHECK(edges.all == 8 && edges.crossing <= 2 && edges.waits <= edges.crossing);
    }
    unsetenv("WEFT_SPLIT");
}

// The host runs ahead while memory is plenty; beyond half of a ceiling it waits for
// each call.
static void check_limit(void) {
    setenv("WEFT_SPLIT", "none", 1);
    CHECK(move_on(slow, chains).edges.most_ahead > 1);
    is_half_full = true;
    CHECK(move_on(slow, chains).edges.most_ahead == 1);
    is_half_full = false;
    unsetenv("WEFT_SPLIT");
}

// Wholes are promised: nobody waits for parts before somebody needs what they make up.
static void check_wholes(void) {
    static const char source[] =
        "def busy (k: i64) (x: i64): i64 = loop y = x for i < 99 do (y * k + i) % "
        "1009\n"
        "entry main (xs: []i64): []i64 =\n"
        "  let n = length xs\n"
        "  let a = map (busy 31) xs\n"
        "  let b = map (busy 37) xs\n"
        "  let c = map (busy 41) xs\n"
        "  let sum i = a[i * 7 % n] + b[i * 5 % n] + c[i * 3 % n]\n"
        "  in map (\\i -> if i == 0 then 3 else sum i) (indices xs)";
    static const char *const devices[] = {slow, "cpu*2"};
    setenv("WEFT_SPLIT", "0", 1);
    for (int i = 0; i < 2; i++) CHECK(move_on(devices[i], source).edges.most_ahead > 3);
    CHECK(move(source).edges.most_ahead > 2); // of these the host runs some
    unsetenv("WEFT_SPLIT");
}

// What a device has is reshaped there, if that is the device's of two or the only one.
static void check_reshaped(void) {
    static const char source[] = "entry main (xs: []i64): []i64 =\n"
                                 "  i64.sort (flatten (tabulate_2d 200 200 (\\i j -> "
                                 "(xs[7 * i + j] * 5) % 11 + 3)))";
    const uint64_t bytes = MANY * sizeof(int64_t);
    setenv("WEFT_SPLIT", "none", 1);
    Moved moved = move_on("cpu:0", source);
    CHECK(moved.to == bytes && moved.from == bytes);
    CHECK((double)moved.to == moved.planned);
    moved = move(source);
    CHECK(moved.to == bytes && moved.from == bytes);
    unsetenv("WEFT_SPLIT");
}

// Sorts in parts, of which each looks for its places on its device, and the first has
// the values of both in the end, the second where they were. Sorts have no chunks; what
// devices take over of others moves as it comes.
static void check_sorts(const char *devices) {
    static const char *const sources[] = {
        "entry main (xs: []i64): []i64 = [3] ++ i64.sort xs",
        "entry main (xs: []i64): []i64 =\n"
        "  let key (x: i64, _y: i64) = x % 1000\n"
        "  in map (.1) (i64.sort_by_key key (zip xs (map (+ 3) xs)))",
        "entry main (xs: []i64): []i64 =\n"
        "  merge (<=) (map (+ 3) xs) (map (* 2) xs)[2:]"};
    setenv("WEFT_SPLIT", "0", 1);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        Moved moved = move_on(devices, sources[i]);
        CHECK(moved.taken == 0 || i > 0);
        CHECK(moved.taken > 0 || (double)moved.to == moved.planned);
    }
    unsetenv("WEFT_SPLIT");
}

// What has been made on a device is used there, whichever is asked for first.
static void check_affinity(void) {
    const uint64_t bytes = MANY * sizeof(int64_t);
    static const char *const uses[] = {"(us, vs)", "(vs, us)"};
    setenv("WEFT_SPLIT", "none", 1);
    for (int i = 0; i < 2; i++) {
        char source[512];
        snprintf(source, sizeof source,
                 "entry main (xs: []i64): []i64 =\n"
                 "  let us = scan (+) 3 xs\n"
                 "  let vs = scan i64.max 3 xs\n"
                 "  let s = us[0] + vs[0] - 3\n"
                 "  let (as, bs) = %s\n"
                 "  let cs = scan i64.min s as\n"
                 "  let ds = scan (+) s bs\n"
                 "  in [3, cs[9] + ds[9]]",
                 uses[i]);
        Moved moved = move_on(two, source);
        CHECK(moved.to == 2 * bytes); // xs to either
    }
    unsetenv("WEFT_SPLIT");
}

// ---- what travels while a device computes -------------------------------------------

// A call on one device alone in which that launch takes until then, and what is sent
// meanwhile until the launch has ended if it `outlasts` it. Who waits for what would
// never come gives up after a while.
static void call_held(const char *source, int launch, atomic_int *until,
                      bool outlasts) {
    WeftContext *context;
    WeftProgram *program;
    bool right;
    left = -1;
    text = source;
    CHECK(prepare("opencl:0", &context, &program) == WEFT_STATUS_OK);
    run(context, program, &right); // code is built
    CHECK(right);
    atomic_store(&launches, 0);
    atomic_store(&sent, 0);
    atomic_store(&fetched, 0);
    hold = (Hold){.launch = launch, .until = until, .outlasts = outlasts};
    run(context, program, &right);
    hold = (Hold){0};
    CHECK(right && !atomic_exchange(&is_late, false));
    weft_program_free(program);
    CHECK(weft_testing_context_free(context) == 0);
}

// What later tasks need is sent during the first launch, which does not wait until it
// has come; and what is ready is read before the second one has ended.
static void check_travel(void) {
    call_held(turns, 1, &sent, false);
    call_held(turns, 1, &sent, true);
    call_held(halves, 2, &fetched, false);
}

// A device is left, since another could not read there, while it is at work, or is
// given arguments: what the call makes is void. It is seen where that is so.
static void check_left_at(const char *source, int launch, int write) {
    WeftContext *context;
    WeftProgram *program;
    bool right;
    text = source;
    at = READ;
    left = 1;
    times = ONCE;
    CHECK(prepare("opencl:0,cpu", &context, &program) == WEFT_STATUS_OK);
    atomic_store(&launches, 0);
    atomic_store(&writes, 0);
    hold = (Hold){.launch = launch, .write = write, .until = &warnings, .is_met = true};
    run(context, program, &right);
    hold = (Hold){0};
    CHECK(right && !atomic_exchange(&is_late, false));
    weft_program_free(program);
    CHECK(weft_testing_context_free(context) == 0);
}

static void check_left(void) {
    check_left_at(scans, 0, 1);
    for (int launch = 4; launch <= 5; launch++) check_left_at(sums, launch, 0);
}

// Whether some loop goes over several elements at a time.
static bool has_lanes(const LoopKernel *loop, Arena *arena) {
    StrBuf text = strbuf(arena);
    loop_print(loop, &text);
    strbuf_char(&text, '\0');
    return strstr(strbuf_done(&text).ptr, "for.parallel[") != NULL;
}

// Cores have lanes beside a device that has none.
static void check_lanes(void) {
    static const char map[] = "entry main (xs: []i64) = map (\\x -> x * x + 3) xs";
    WeftOptions options = {.struct_size = sizeof options, .devices = "cpu,opencl:0"};
    WeftContext *context;
    WeftProgram *program;
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    if (weft_program_from_source(context, "test", map, strlen(map), &program) !=
        WEFT_STATUS_OK)
        abort();
    const EngineKernel *kernel = &program->engine->kernels[0];
    CHECK(has_lanes(kernel->loop, &context->scratch) == (machine_vector_bytes() > 0));
    CHECK(!has_lanes(kernel->launched_loop, &context->scratch));
    weft_program_free(program);
    CHECK(weft_testing_context_free(context) == 0);
}

// On a device that has no room for the whole: each part goes there once, and what is
// made of it comes back.
static void check_stream(bool has_two) {
    const uint64_t bytes = MANY * sizeof(int64_t);
    const char *small = "opencl:0@192K";
    Moved moved = move_on(small, "entry main (xs: []i64): []i64 =\n"
                                 "  map (\\x -> x * x + 3) xs");
    CHECK(moved.to == bytes && moved.from == bytes && moved.peak <= 192 << 10);
    moved = move_on(small, "entry main (xs: []i64): i64 =\n"
                           "  3 + i64.minimum (map (\\x -> x * 7 % 1000) xs)");
    CHECK(moved.to == bytes && moved.from < 1000 && moved.peak <= 192 << 10);
    // two of them take what they have room for
    if (has_two) {
        moved =
            move_on("opencl:0@192K,opencl:1@140K", "entry main (xs: []i64): []i64 =\n"
                                                   "  map (\\x -> x * x + 3) xs");
        CHECK(moved.to == bytes && moved.from == bytes && moved.peak <= 192 << 10);
    }
    // with enough it is one transfer, of one more than that
    moved = move_on("opencl:0@1M", "entry main (xs: []i64): []i64 =\n"
                                   "  map (\\x -> x * x + 3) xs");
    CHECK(moved.to == bytes && moved.peak >= 2 * bytes);
    // of what fails once, each part has its turn
    for (int point = 0; point < POINTS; point++)
        for (int n = 1; check_failure("opencl:0@128K", (Point)point, n, ONCE);) n += 9;
    // bins that the next part goes on from
    moved = move_on(small, "entry main (xs: []i64): []i64 =\n"
                           "  hist i64.max 3 4 (map (% 4) xs) (map (% 4) xs)");
    CHECK(moved.to < bytes + 4096 && moved.peak <= 192 << 10);
}

// Where all share the host's memory, parts are made where they belong.
static void check_shared(void) {
    const uint64_t bytes = MANY * sizeof(int64_t), shares = 2 * sizeof(int64_t);
    setenv("WEFT_SPLIT", "0", 1);
    Moved moved =
        move_on("cpu*2", "entry main (xs: []i64): []i64 = map (\\x -> x * x + 3) xs");
    CHECK(moved.to == 0 && moved.from == 0 && moved.made == bytes + shares);
    // what is indexed anywhere is seen by all
    moved = move_on("cpu*2", "entry main (xs: []i64): []i64 =\n"
                             "  map (\\i -> xs[(i * 7) % length xs] - xs[0] + 3)\n"
                             "      (indices xs)");
    CHECK(moved.made == bytes + shares);
    // neighbours of what lies in parts, which are joined by nobody
    moved = move_on("cpu*2",
                    "entry main (xs: []i64): []i64 =\n"
                    "  let ys = map (\\x -> loop y = x for i < 9 do y * 7 % 11) xs\n"
                    "  let n = length ys\n"
                    "  in map3 (\\x y z -> x + y + z + 3 - (ys[0] + ys[1] + ys[2]))\n"
                    "       ys[:n - 2] ys[1:n - 1] ys[2:]");
    CHECK(moved.made == 2 * bytes - 16 + shares);
    // an array of rows
    moved = move_on("cpu*2", "entry main (xs: []i64): []i64 =\n"
                             "  flatten (map (\\x -> [x + 3, x]) xs)");
    CHECK(moved.made == 2 * bytes + shares);
    // where long rows have code of their own, which is in one arm of a branch
    moved = move_on(
        "cpu*2",
        "entry main (xs: []i64): []i64 =\n"
        "  let d = length xs / 1000\n"
        "  let ms = tabulate d (\\c -> tabulate_2d 25 d (\\i j ->\n"
        "             f64.i64 xs[(c * 25 + i) * d + j]))\n"
        "  let dots m = map (\\r -> map (\\s -> f64.sum (map2 (*) r s)) m) m\n"
        "  in map (\\x -> i64.f64 x - 20537) (flatten (flatten (map dots ms)))");
    CHECK(moved.made == bytes + 2 * (bytes / 8 * 5) + 2 * shares);
    // what has memory of its own is read straight to there
    moved = move_on("cpu*1,cpu:1",
                    "entry main (xs: []i64): []i64 = map (\\x -> x * x + 3) xs");
    CHECK(moved.to == bytes / 2 && moved.from == bytes / 2);
    CHECK(moved.made == bytes + shares);
    // nobody knows how much is kept of each part before it is made
    moved = move_on("cpu*2", "entry main (xs: []i64): []i64 = filter (>= 3) xs");
    CHECK(moved.made == 2 * (bytes - 24) + shares);
    unsetenv("WEFT_SPLIT");
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 0);
    check_moves();
    check_affinity();
    check_waits();
    check_limit();
    check_wholes();
    check_reshaped();
    check_sorts(two);
    check_shared();
    setenv("WEFT_SPLIT", "0", 1);
    text = halos;
    check_allocations();
    text = scans;
    check_allocations();
    unsetenv("WEFT_SPLIT");
    if (!can_open("opencl:0")) return test_done();
    bool has_two = can_open("opencl:0,opencl:1");
    check_lanes();
    check_travel();
    check_left();
    if (test_failed > 0) return test_done(); // by others who wait in vain
    check_sorts("cpu:0,opencl:0");
    check_stream(has_two);
    check_taken();
    text = scans;
    check_failures("opencl:0", POINTS);
    check_failures("opencl:0,cpu", COPY);
    // The same with a part of each operator on either.
    setenv("WEFT_SPLIT", "0", 1);
    check_failures("opencl:0,cpu", COPY);
    text = turns;
    for (int over = 0; over < 2; over++)
        for (int n = 1;
             check_failure("opencl:0,cpu", WRITE, n, over == 1 ? ALWAYS : ONCE);)
            n++;
    text = halos;
    check_failures(has_two ? "opencl:0,opencl:1" : "opencl:0,cpu", COPY);
    return test_done();
}
