// SPDX-License-Identifier: Apache-2.0
//
// What runs beside: errands in lines with promised arrays, against a model, with random
// operations; how often threads sleep meanwhile; and a program on two places, all of it
// in parts, with each allocation failing.
#define _POSIX_C_SOURCE 200809L
#include "rt/queue.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "api/ahead.h"
#include "api/api.h"
#include "api/places.h"
#include "api/testing.h"
#include "base/clock.h"
#include "rt/array.h"
#include "test.h"
#include "weft.h"

// Under ThreadSanitizer no errand is short, so how often threads sleep, and which place
// takes what, says nothing.
#ifdef __SANITIZE_THREAD__
enum { IS_SLOW = 1 };
#else
enum { IS_SLOW = 0 };
#endif

static uint64_t state = 1;

static uint32_t below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

// ---- turns --------------------------------------------------------------------------

enum { THREADS = 4, ROUNDS = 2000 };

typedef struct Counter {
    RtTurn turn;
    int64_t count; // of whoever has the turn
    int inside;
} Counter;

static bool is_told(const void *data) {
    (void)data;
    return true;
}

static void *count_up(void *data) {
    Counter *c = data;
    rt_turn_take(&c->turn);
    for (int i = 0; i < ROUNDS; i++) {
        c->inside++;
        sched_yield(); // others would come in now
        if (c->inside == 1) c->count++;
        c->inside--;
        if (i % 3 == 0) rt_turn_yield(&c->turn);
        if (i % 64 == 0) rt_turn_wait(&c->turn, is_told, c, 0);
        if (i % 64 == 1) rt_turn_watch(&c->turn, is_told, c);
        if (i % 7 != 0) continue;
        rt_turn_tell(&c->turn);
        rt_turn_give(&c->turn);
        rt_turn_take(&c->turn);
    }
    rt_turn_give(&c->turn);
    return NULL;
}

static void test_turns(uint64_t spin_ns) {
    Counter c = {.count = 0};
    pthread_t threads[THREADS];
    CHECK(rt_turn_init(&c.turn));
    rt_turn_spin(&c.turn, spin_ns);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, count_up, &c) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK(c.count == THREADS * ROUNDS);
    rt_turn_free(&c.turn);
}

// ---- errands ------------------------------------------------------------------------

enum { LINES = 3, NEEDS = 3, MOST = 40, OPERATIONS = 6000 };

// Makes an array whose elements are its seed and the sum of what it needs.
typedef struct Maker {
    RtErrand errand;
    RtHeap *heap;
    RtArray *needs[NEEDS];
    uint32_t need_count;
    RtArray *promised;
    int64_t seed;
    uint64_t work;  // for so long, ns
    int comes_back; // so often, before it is done
} Maker;

static bool is_ready(const RtErrand *errand) {
    const Maker *m = (const Maker *)errand;
    for (uint32_t i = 0; i < m->need_count; i++)
        if (m->needs[i]->maker != NULL) return false;
    return true;
}

static bool is_made(const void *data) {
    const RtArray *a = data;
    return a->maker == NULL;
}

static int64_t sum_of(const RtArray *a) {
    int64_t sum = 0;
    for (int64_t i = 0; i < a->shape[0]; i++)
        sum += ((const int64_t *)(void *)a->data)[i];
    return sum;
}

static void free_maker(Maker *m) {
    for (uint32_t i = 0; i < m->need_count; i++) rt_release(m->heap, m->needs[i]);
    rt_release(m->heap, m->promised);
    free(m);
}

static bool make(RtErrand *errand) {
    Maker *m = (Maker *)errand;
    if (m->comes_back-- > 0) return false;
    int64_t shape = 1 + m->seed % 5, sum = m->seed;
    for (uint32_t i = 0; i < m->need_count; i++) sum += sum_of(m->needs[i]);
    RtArray *made = rt_new(m->heap, SCALAR_I64, 1, &shape);
    int64_t *elements = (int64_t *)(void *)made->data;
    rt_turn_give(m->heap->turn); // as a kernel would
    for (uint64_t since = clock_ns(); m->work > 0 && clock_ns() - since < m->work;) {
    }
    for (int64_t i = 0; i < shape; i++) elements[i] = i == 0 ? sum : 0;
    rt_turn_take(m->heap->turn);
    rt_keep_promise(m->heap, m->promised, made);
    free_maker(m);
    return true;
}

// What there is to gain changes from one time that it is asked for to the next. All who
// ask have the turn.
static double change_mind(const RtErrand *errand, unsigned line) {
    static unsigned asked;
    (void)errand;
    return (asked++ + line) % 3 == 0;
}

typedef struct Known {
    RtArray *array;
    int64_t sum, length;
} Known;

typedef struct Model {
    RtQueue *queue;
    RtHeap heap;
    Known known[MOST];
    uint32_t count;
    bool holds;
    bool is_shared; // two of three lines, with the host
} Model;

static void wait(const Model *m, bool (*is_due)(const void *data), const void *data,
                 int ms) {
    if (m->is_shared) rt_queue_wait(m->queue, is_due, data, ms, NULL);
    else rt_turn_wait(rt_queue_turn(m->queue), is_due, data, ms);
}

static void add(Model *m) {
    Maker *maker = calloc(1, sizeof *maker);
    maker->errand =
        (RtErrand){.is_ready = is_ready, .run = make, .is_common = below(8) == 0};
    static const double seconds[] = {0, 1e-6, 1e-5, 4e-4, 1};
    maker->errand.seconds = seconds[below(sizeof seconds / sizeof *seconds)];
    maker->errand.gain = below(2) ? change_mind : NULL;
    maker->heap = &m->heap;
    maker->seed = below(1000);
    maker->comes_back = below(10) == 0;
    Known *known = &m->known[m->count];
    known->length = 1 + maker->seed % 5;
    known->sum = maker->seed;
    maker->need_count = m->count == 0 ? 0 : below(NEEDS + 1);
    for (uint32_t i = 0; i < maker->need_count; i++) {
        const Known *from = &m->known[below(m->count)];
        maker->needs[i] = rt_retain(from->array);
        known->sum += from->sum;
    }
    known->array = rt_promise(&m->heap, SCALAR_I64, 1, &maker->errand);
    maker->promised = rt_retain(known->array);
    m->count++;
    rt_queue_add(m->queue, &maker->errand, below(LINES));
}

static void let_all_go(Model *m) {
    RtErrand *back;
    rt_queue_hold(m->queue, RT_NO_ERRAND);
    m->holds = false;
    while ((back = rt_queue_back(m->queue)) != NULL)
        rt_queue_add(m->queue, back, below(LINES));
}

static void await(Model *m, const Known *known) {
    while (let_all_go(m), known->array->maker != NULL) wait(m, is_told, NULL, 1000);
    CHECK(known->array->shape[0] == known->length &&
          sum_of(known->array) == known->sum);
}

static void forget(Model *m, uint32_t i) {
    rt_release(&m->heap, m->known[i].array);
    m->known[i] = m->known[--m->count];
}

// Moves what waits in one line to another.
static void move(Model *m) {
    RtErrand *waiting;
    unsigned from = below(LINES), to = below(LINES);
    uint64_t first = rt_queue_first(m->queue) + below(4);
    uint64_t last = RT_NO_ERRAND;
    for (int i = 0; i < 5 && (waiting = rt_queue_withdraw(m->queue, from, first));
         i++) {
        CHECK(waiting->number >= first && waiting->number > last);
        last = waiting->number;
        rt_queue_add(m->queue, waiting, to);
        first = last + 1;
    }
}

static void hold(Model *m) {
    uint64_t first = rt_queue_first(m->queue);
    if (m->holds || first == RT_NO_ERRAND) return;
    rt_queue_hold(m->queue, first);
    m->holds = true;
}

static void test_errands(bool is_shared) {
    Mem mem = {0};
    Model m = {.is_shared = is_shared};
    rt_heap_init(&m.heap, &mem);
    m.queue = rt_queue_new(&mem, LINES);
    CHECK(m.queue != NULL);
    m.heap.turn = rt_queue_turn(m.queue);
    rt_turn_take(m.heap.turn);
    for (unsigned line = 1; line < LINES && is_shared; line++)
        rt_queue_share(m.queue, line);
    if (is_shared) rt_turn_spin(m.heap.turn, 10000);
    for (int i = 0; i < OPERATIONS; i++) {
        uint32_t what = below(16);
        if (what < 7 && m.count < MOST) add(&m);
        else if (what < 10 && m.count > 0) await(&m, &m.known[below(m.count)]);
        else if (what < 13 && m.count > 0) forget(&m, below(m.count));
        else if (what == 13) move(&m);
        else if (what == 14) hold(&m);
        else rt_turn_yield(m.heap.turn), rt_queue_look(m.queue);
    }
    while (m.count > 0) {
        await(&m, &m.known[0]);
        forget(&m, 0);
    }
    while (let_all_go(&m), rt_queue_count(m.queue) > 0) wait(&m, is_told, NULL, 1000);
    CHECK(rt_queue_busy(m.queue) == 0 && rt_queue_first(m.queue) == RT_NO_ERRAND);
    CHECK(m.heap.live == NULL);
    rt_turn_give(m.heap.turn);
    rt_queue_free(m.queue);
    mem_trim(&mem);
    CHECK(mem.used == 0);
}

// ---- who sleeps ---------------------------------------------------------------------

// How often a thread of this process went to sleep so far.
static long sleeps(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

// Errands of which each needs what the one before it makes, in the second line of
// three.
typedef struct Chain {
    int length;
    unsigned shared;    // so many lines, from the second one down
    double first, rest; // seconds that they say they take; 0: unknown
    uint64_t spin;      // how long one who waits looks before it sleeps, ns
    long most;          // sleeps
} Chain;

static void add_chain(Model *m, const Chain *chain, RtArray **last_out) {
    RtArray *last = NULL;
    for (int i = 0; i < chain->length; i++) {
        double seconds = i == 0 ? chain->first : chain->rest;
        Maker *maker = calloc(1, sizeof *maker);
        *maker =
            (Maker){.errand = {.is_ready = is_ready, .run = make, .seconds = seconds},
                    .heap = &m->heap,
                    .seed = 5,
                    .work = seconds == 0 ? 1000000 : (uint64_t)(seconds * 1e9),
                    .need_count = last != NULL};
        maker->needs[0] = last;
        last = rt_promise(&m->heap, SCALAR_I64, 1, &maker->errand);
        maker->promised = rt_retain(last);
        rt_queue_add(m->queue, &maker->errand, 1);
    }
    *last_out = last;
}

// How often threads sleep meanwhile.
static long sleeps_of(const Chain *chain) {
    Mem mem = {0};
    RtArray *last;
    Model m = {.is_shared = chain->shared > 0};
    rt_heap_init(&m.heap, &mem);
    m.queue = rt_queue_new(&mem, LINES);
    m.heap.turn = rt_queue_turn(m.queue);
    rt_turn_spin(m.heap.turn, chain->spin);
    rt_turn_take(m.heap.turn);
    for (unsigned i = 0; i < chain->shared; i++) rt_queue_share(m.queue, 1 - i);
    add_chain(&m, chain, &last);
    long before = sleeps();
    while (last->maker != NULL) wait(&m, is_made, last, -1);
    long slept = sleeps() - before;
    CHECK(sum_of(last) == 5 * chain->length);
    rt_release(&m.heap, last);
    rt_turn_give(m.heap.turn);
    rt_queue_free(m.queue);
    return slept;
}

// Nobody else has anything to do meanwhile. Short errands of a line that is shared are
// all the host's; long ones are run by who ran the first. Where others are at work that
// holds in one of a few rounds.
static void test_sleeps(void) {
    static const Chain chains[] = {
        {4000, 0, 1e-6, 1e-6, 0, 400},
        {4000, 1, 1e-6, 1e-6, 0, 40},
        {100, 2, 0, 2e-4, 20000, 25},
        {100, 2, 1e-6, 2e-4, 20000, 25},
    };
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        long slept = chains[i].most;
        for (int round = 0; round < (IS_SLOW ? 1 : 20) && slept >= chains[i].most;
             round++)
            slept = sleeps_of(&chains[i]);
        CHECK(IS_SLOW || slept < chains[i].most);
    }
}

// ---- programs -----------------------------------------------------------------------

static const char text[] =
    "entry main (n: i64): ([]i64, i64) =\n"
    "  let (a, b) = loop (a, b) = (iota n, map (* 3) (iota n)) for _i < 4 do\n"
    "    (map2 (+) (scan (+) 0 b) a, map (+ i64.sum a) b)\n"
    "  let ks = filter (\\x -> x % 2 == 0) (map (* 3) b)\n"
    "  in (map2 (-) a b, i64.sum (map2 (\\k j -> (k + j) % 7) ks (scan (+) 0 ks)))\n";

static void expect(int64_t n, int64_t *elements, int64_t *total) {
    int64_t a[64], b[64];
    for (int64_t i = 0; i < n; i++) a[i] = i, b[i] = 3 * i;
    for (int64_t turn = 0; turn < 4; turn++) {
        int64_t sum = 0, before = 0;
        for (int64_t i = 0; i < n; i++) sum += a[i];
        for (int64_t i = 0; i < n; i++) {
            before += b[i];
            a[i] += before;
            b[i] += sum;
        }
    }
    int64_t kept = 0;
    *total = 0;
    for (int64_t i = 0; i < n; i++) {
        elements[i] = a[i] - b[i];
        if (b[i] % 2 != 0) continue;
        kept += 3 * b[i];
        *total += (3 * b[i] + kept) % 7;
    }
}

static WeftStatus run(WeftContext *context, WeftProgram *program, int64_t n) {
    WeftValue *arg, *results[2];
    const void *first, *second;
    int64_t elements[64], total;
    WeftStatus status = weft_value_new(context, WEFT_I64, 0, NULL, &n, &arg);
    if (status != WEFT_STATUS_OK) return status;
    status = weft_call(program, 0, &arg, 1, results, 2);
    weft_value_free(arg);
    if (status != WEFT_STATUS_OK) return status;
    expect(n, elements, &total);
    if (weft_value_data(results[0], &first) == WEFT_STATUS_OK &&
        weft_value_data(results[1], &second) == WEFT_STATUS_OK) {
        CHECK(memcmp(first, elements, (size_t)n * sizeof *elements) == 0);
        CHECK(*(const int64_t *)second == total);
    }
    weft_value_free(results[0]);
    weft_value_free(results[1]);
    return status;
}

// The program on two places. False: there is no compiler.
static bool open_program(const char *devices, const char *source,
                         WeftContext **context_out, WeftProgram **program_out) {
    WeftOptions options = {.struct_size = sizeof options,
                           .devices = devices,
                           .engine = WEFT_ENGINE_NATIVE,
                           .threads = 2};
    CHECK(weft_context_new(&options, context_out) == WEFT_STATUS_OK);
    if (weft_program_from_source(*context_out, "test", source, strlen(source),
                                 program_out) == WEFT_STATUS_OK)
        return true;
    SKIP("%s", weft_message(*context_out));
    weft_context_free(*context_out);
    return false;
}

// Runs with the k-th allocation failing, until there are not as many. What lacks memory
// is tried again, so most runs are right all the same.
static void test_allocations(void) {
    WeftContext *context;
    WeftProgram *program;
    if (!open_program("cpu*2", text, &context, &program)) return;
    bool is_over = false;
    int right = 0;
    for (uint64_t k = 1; !is_over; k++) {
        uint64_t before = weft_testing_allocations(context);
        weft_testing_fail_allocation(context, k);
        WeftStatus status = run(context, program, 40);
        is_over = weft_testing_allocations(context) < before + k;
        weft_testing_fail_allocation(context, 0);
        CHECK(status == WEFT_STATUS_OK || (!is_over && status == WEFT_STATUS_MEMORY));
        right += status == WEFT_STATUS_OK;
        CHECK(run(context, program, (int64_t)(k % 50)) == WEFT_STATUS_OK);
    }
    CHECK(right > 5);
    weft_program_free(program);
    CHECK(weft_testing_context_free(context) == 0);
}

static int64_t steps(int64_t x) {
    for (int j = 0; j < 2000; j++) x = (x * 5 + 1) % 1009;
    return x;
}

// A scalar that one place is long about, as it is then about what else needs it, and
// that the other's kernel needs at once.
static void test_scalar(void) {
    static const char slow[] =
        "def steps (x: i64) = loop x for _j < 2000 do (x * 5 + 1) % 1009\n"
        "entry main (n: i64): (i64, []i64) =\n"
        "  let s = i64.sum (map steps (iota n))\n"
        "  let t = i64.sum (map (\\i -> steps (i + s)) (iota n))\n"
        "  in (t, map (+ s) (iota 8))\n";
    WeftContext *context;
    WeftProgram *program;
    WeftValue *arg, *results[2];
    const void *found;
    int64_t n = 5000, sum = 0, total = 0;
    for (int64_t i = 0; i < n; i++) sum += steps(i);
    for (int64_t i = 0; i < n; i++) total += steps(i + sum);
    if (!open_program("cpu*2", slow, &context, &program)) return;
    CHECK(weft_value_new(context, WEFT_I64, 0, NULL, &n, &arg) == WEFT_STATUS_OK);
    for (int round = 0; round < 3; round++) {
        CHECK(weft_call(program, 0, &arg, 1, results, 2) == WEFT_STATUS_OK);
        CHECK(weft_value_data(results[0], &found) == WEFT_STATUS_OK);
        CHECK(*(const int64_t *)found == total);
        CHECK(weft_value_data(results[1], &found) == WEFT_STATUS_OK);
        for (int64_t i = 0; i < 8; i++) CHECK(((const int64_t *)found)[i] == i + sum);
        weft_value_free(results[0]);
        weft_value_free(results[1]);
    }
    weft_value_free(arg);
    weft_program_free(program);
    weft_context_free(context);
}

// Calls of which each takes what the last one made stay where that is: hardly any go to
// the other place, which sleeps. A branch that might trace keeps the loop on the host.
static void test_chain(void) {
    static const char chain[] =
        "entry main (n: i64): []i64 =\n"
        "  loop xs = iota 4000 for i < n do\n"
        "    let xs = if i == n - 100000 then #[trace] xs else xs\n"
        "    in scan (+) 0 (map (\\x -> x % 1000) xs)\n";
    WeftContext *context;
    WeftProgram *program;
    WeftValue *arg, *result;
    const void *found;
    static int64_t expected[4000];
    int64_t n = 2000;
    for (int64_t i = 0; i < 4000; i++) expected[i] = i;
    for (int64_t turn = 0; turn < n; turn++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < 4000; i++) expected[i] = sum += expected[i] % 1000;
    }
    if (!open_program("cpu*2", chain, &context, &program)) return;
    CHECK(weft_value_new(context, WEFT_I64, 0, NULL, &n, &arg) == WEFT_STATUS_OK);
    bool stays = IS_SLOW;
    for (int round = 0; round < 8 && (round < 2 || !stays); round++) {
        const ApiPlace *places = context->places;
        double first = places[0].given, second = places[1].given;
        long before = sleeps();
        CHECK(weft_call(program, 0, &arg, 1, &result, 1) == WEFT_STATUS_OK);
        bool sleeps_little = sleeps() - before < n / 4;
        first = places[0].given - first;
        second = places[1].given - second;
        // Sent to and fro, they would be halves.
        bool is_one_place = first < 0.8 * second || second < 0.8 * first;
        stays = stays || (round > 0 && sleeps_little && is_one_place);
        CHECK(weft_value_data(result, &found) == WEFT_STATUS_OK);
        CHECK(memcmp(found, expected, sizeof expected) == 0);
        weft_value_free(result);
    }
    CHECK(stays);
    weft_value_free(arg);
    weft_program_free(program);
    weft_context_free(context);
}

// What lines 4 and 6 make fits one after the other: 8 bytes for each element
// at a time, below a ceiling of 12. But the latter waits for nothing, and keeps what it
// has.
static void test_order(void) {
    static const char two[] =
        "def steps (x: i64) = loop x for _j < 20000 do (x * 5 + 1) % 1009\n"
        "entry main (n: i64): (i64, []i64) =\n"
        "  let s = i64.sum (map steps (iota 2000))\n"
        "  let xs = scan (+) s (iota n)\n"
        "  let product = i64.sum (map2 (*) xs (reverse xs))\n"
        "  in (product, scan (+) 0 (iota n))\n";
    WeftContext *context;
    WeftProgram *program;
    int64_t sizes[] = {10, 4000000};
    if (!open_program("cpu*2", two, &context, &program)) return;
    for (int i = 0; i < 2; i++) {
        WeftValue *arg, *results[2] = {NULL, NULL};
        const void *found;
        int64_t n = sizes[i];
        CHECK(weft_value_new(context, WEFT_I64, 0, NULL, &n, &arg) == WEFT_STATUS_OK);
        if (i == 1) context->mem.limit = context->mem.used + 12 * (size_t)n;
        WeftStatus status = weft_call(program, 0, &arg, 1, results, 2);
        CHECK(status == WEFT_STATUS_OK);
        if (status == WEFT_STATUS_OK) {
            CHECK(weft_value_data(results[1], &found) == WEFT_STATUS_OK);
            CHECK(((const int64_t *)found)[n - 1] == n * (n - 1) / 2);
        }
        ApiEdges edges;
        CHECK(api_ahead_edges(program, &edges));
        if (i == 1) CHECK(edges.most_ahead == 1);
        weft_value_free(results[0]);
        weft_value_free(results[1]);
        weft_value_free(arg);
    }
    weft_program_free(program);
    weft_context_free(context);
}

// When an event of that kind began on a place's row first, or ended last; clock_ns.
static uint64_t when(WeftContext *context, RtEventKind kind, bool is_end) {
    uint64_t at = 0;
    for (uint32_t p = 0; p < context->place_count; p++) {
        size_t count;
        uint64_t dropped, busy;
        uint32_t row = api_place_row(context, &context->places[p]);
        const RtEvent *on = rt_events_on(context->events, row, &count, &dropped, &busy);
        for (size_t i = 0; i < count; i++) {
            if (on[i].kind != kind) continue;
            if (is_end && on[i].end > at) at = on[i].end;
            if (!is_end && (at == 0 || on[i].begin < at)) at = on[i].begin;
        }
    }
    return at;
}

// A result that is there comes to the host while the other is made.
static void test_results(void) {
    static const char two[] =
        "def steps (x: i64) = loop x for _j < 2000 do (x * 5 + 1) % 1009\n"
        "entry main (n: i64): ([]i64, []i64) =\n"
        "  (map (+ 1) (iota (n + 8)), map steps (iota n))\n";
    WeftContext *context;
    WeftProgram *program;
    WeftValue *arg, *results[2];
    const void *found;
    int64_t n = 20000;
    if (!open_program("cpu:0,cpu:1", two, &context, &program)) return;
    CHECK(weft_value_new(context, WEFT_I64, 0, NULL, &n, &arg) == WEFT_STATUS_OK);
    CHECK(weft_record(context, WEFT_RECORD_EVENTS) == WEFT_STATUS_OK);
    CHECK(weft_call(program, 0, &arg, 1, results, 2) == WEFT_STATUS_OK);
    uint64_t read = when(context, RT_EVENT_TRANSFER, false);
    CHECK(read > 0 && read < when(context, RT_EVENT_KERNEL, true));
    CHECK(weft_value_data(results[0], &found) == WEFT_STATUS_OK);
    CHECK(((const int64_t *)found)[n] == n + 1);
    CHECK(weft_value_data(results[1], &found) == WEFT_STATUS_OK);
    CHECK(((const int64_t *)found)[n - 1] == steps(n - 1));
    weft_value_free(results[0]);
    weft_value_free(results[1]);
    weft_value_free(arg);
    weft_program_free(program);
    weft_context_free(context);
}

int main(void) {
    test_turns(0);
    test_turns(20000);
    if (test_failed > 0)
        return test_done(); // what waits for a turn might wait for ever
    test_sleeps();
    setenv("WEFT_SPLIT", "none", 1);
    test_scalar();
    test_results();
    test_chain();
    test_order();
    setenv("WEFT_SPLIT", "0", 1); // however small
    test_errands(false);
    test_errands(true);
    test_allocations();
    return test_done();
}
