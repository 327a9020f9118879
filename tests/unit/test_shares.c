// SPDX-License-Identifier: Apache-2.0
//
// Shares of devices: on devices and work that are made up they come to where nobody
// waits; real calls, and turns of one call, are cut by what was learned before; and
// answers are the same whatever the shares are.
#define _POSIX_C_SOURCE 200809L
#include "api/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/places.h"
#include "api/testing.h"
#include "fission/fission.h"
#include "test.h"

// ---- devices that are made up -------------------------------------------------------

enum { MOST = 4 };

typedef struct World {
    Mem mem;
    Arena arena;
    FissionLog log;
    ApiShares *shares;
    uint32_t parts;
    uint32_t absent; // which operators stay whole, as bits
} World;

static void open_world(World *w, const uint32_t *weights, uint32_t parts,
                       uint32_t operators) {
    *w = (World){.parts = parts};
    arena_init(&w->arena, &w->mem);
    uint32_t row = fission_new_row(
        &w->log, &w->arena, (FissionRow){.devices = parts, .chunks = 1}, weights);
    w->log.rows.data[row].operators = operators;
    w->shares = api_shares_new(&w->arena, &w->log);
}

static double bound_of(const World *w, uint32_t part) {
    if (part == 0) return 0;
    if (part == w->parts) return 1;
    return (double)w->log.rows.data[0].bounds[part - 1] / FISSION_WHOLE;
}

// Work before x: even, or with most of it in the middle.
static double even(double x) {
    return x;
}

static double hill(double x) {
    return x * x * (3 - 2 * x);
}

// Most of it at the beginning, as of a picture whose rest is sky.
static double slope(double x) {
    return 1 - pow(1 - x, 6);
}

// A part as it is cut now took so long there.
static void note(ApiShares *shares, FissionPiece piece, uint32_t device,
                 double seconds) {
    ApiCut cut = api_shares_cut(shares, &piece);
    api_shares_note(shares, &piece, cut, device, seconds);
}

static double predict(const ApiShares *shares, FissionPiece piece, uint32_t device) {
    return api_shares_predict(shares, &piece, api_shares_cut(shares, &piece), device);
}

// One run of all operators. Returns which share of the time devices were idle.
static double run_once(World *w, double (*work)(double), const double *speeds) {
    double most = 0, sum = 0;
    double seconds[MOST];
    for (uint32_t p = 0; p < w->parts; p++) {
        seconds[p] = (work(bound_of(w, p + 1)) - work(bound_of(w, p))) / speeds[p];
        most = fmax(most, seconds[p]);
        sum += seconds[p];
    }
    uint32_t operators = w->log.rows.data[0].operators;
    for (uint32_t op = 0; op < operators; op++)
        for (uint32_t p = 0; p < w->parts && (w->absent >> op & 1) == 0; p++)
            note(w->shares,
                 (FissionPiece){.op = op, .part = p, .device = p, .is_timed = true}, p,
                 seconds[p]);
    api_shares_move(w->shares);
    return 1 - sum / most / w->parts;
}

static const uint32_t equal[MOST] = {1, 1, 1, 1};

// Of the operators those stay whole, which a condition in the program says.
static void check_without(double (*work)(double), uint32_t parts, uint32_t operators,
                          uint32_t absent, const double *speeds) {
    World w;
    double idle = 1;
    open_world(&w, equal, parts, operators);
    w.absent = absent;
    for (int i = 0; i < 12; i++) {
        idle = run_once(&w, work, speeds);
        for (uint32_t p = 0; p < parts; p++)
            CHECK(bound_of(&w, p) < bound_of(&w, p + 1));
    }
    CHECK(idle < 0.05);
    arena_free(&w.arena);
}

static void check_learning(double (*work)(double), uint32_t parts, uint32_t operators,
                           const double *speeds) {
    check_without(work, parts, operators, 0, speeds);
}

static void test_learning(void) {
    check_without(even, 2, 2, 2, (double[]){1, 0.33});
    check_without(even, 3, 4, 5, (double[]){1, 10, 3});
    check_learning(even, 2, 1, (double[]){1, 1});
    check_learning(even, 2, 2, (double[]){1, 0.33});
    check_learning(even, 3, 1, (double[]){1, 10, 3});
    check_learning(hill, 2, 3, (double[]){1, 1});
    check_learning(hill, 2, 1, (double[]){1, 0.33});
    check_learning(hill, 4, 1, (double[]){1, 2, 0.5, 3});
    // Uneven work on devices that are as fast as was thought is shared at once, nearly.
    World w;
    open_world(&w, (uint32_t[]){3, 1}, 2, 1);
    run_once(&w, hill, (double[]){3, 1});
    CHECK(run_once(&w, hill, (double[]){3, 1}) < 0.1);
    // Too short to tell; even enough to leave.
    double bound = bound_of(&w, 1);
    run_once(&w, even, (double[]){1e6, 1e6});
    run_once(&w, even, (double[]){bound, 0.99 * (1 - bound)});
    CHECK(bound_of(&w, 1) == bound);
    // What counts are all operators of a row together.
    World two;
    open_world(&two, equal, 2, 2);
    for (uint32_t op = 0; op < 2; op++)
        for (uint32_t p = 0; p < 2; p++)
            note(two.shares,
                 (FissionPiece){.op = op, .part = p, .device = p, .is_timed = true}, p,
                 op == p ? 3 : 1);
    api_shares_move(two.shares);
    CHECK(bound_of(&two, 1) == 0.5);
    arena_free(&two.arena);
    // Nobody gets nothing.
    for (int i = 0; i < 50; i++) run_once(&w, even, (double[]){1, 1e-9});
    CHECK(bound_of(&w, 1) < 1);
    arena_free(&w.arena);
}

// ---- chunks -------------------------------------------------------------------------

static double edge_of(const World *w, uint32_t part) {
    const FissionRow *row = &w->log.rows.data[0];
    if (part == 0) return 0;
    if (part == fission_parts(row)) return 1;
    return (double)row->bounds[part - 1] / FISSION_WHOLE;
}

// What is left of one operator, whose chunks devices run in turns of virtual time.
typedef struct Chunks {
    World *w;
    double (*work)(double);
    const double *speeds;
    double at[MOST];                 // when a device is free
    uint32_t begin[MOST], end[MOST]; // chunks that wait there
    uint32_t taken;
} Chunks;

static FissionPiece chunk_of(const Chunks *c, uint32_t part) {
    uint32_t chunks = c->w->log.rows.data[0].chunks;
    return (FissionPiece){
        .part = part, .device = part / chunks, .is_chunk = true, .is_timed = true};
}

// When it would be done there, as is thought after what waits before it.
static double end_of(const Chunks *c, uint32_t device, uint32_t from, uint32_t part) {
    double end = c->at[device];
    for (uint32_t p = from; p <= part; p++)
        end += predict(c->w->shares, chunk_of(c, p), device);
    return end;
}

// The chunk that an idle device runs next; false: none.
static bool find_chunk(Chunks *c, uint32_t device, uint32_t *part_out) {
    uint32_t victim = MOST;
    double most = 0;
    for (uint32_t v = 0; v < c->w->parts; v++) {
        uint32_t last = c->end[v] - 1;
        if (v == device || c->begin[v] == c->end[v]) continue;
        double gain = end_of(c, v, c->begin[v], last) - end_of(c, device, last, last);
        if (gain <= most) continue;
        most = gain;
        victim = v;
    }
    if (c->begin[device] < c->end[device]) {
        *part_out = c->begin[device]++;
        return true;
    }
    if (victim == MOST) return false;
    c->taken++;
    *part_out = --c->end[victim];
    return true;
}

// The device that is free first and has something to run; MOST: none.
static uint32_t find_device(const Chunks *c, const bool *is_done) {
    uint32_t first = MOST;
    for (uint32_t d = 0; d < c->w->parts; d++)
        if (!is_done[d] && (first == MOST || c->at[d] < c->at[first])) first = d;
    return first;
}

// One run of an operator in chunks. Returns which share of the time devices were idle.
static double run_chunks(World *w, double (*work)(double), const double *speeds,
                         uint32_t *taken_out) {
    Chunks c = {.w = w, .work = work, .speeds = speeds};
    uint32_t chunks = w->log.rows.data[0].chunks, device, part;
    double edges[MOST * 4 + 1], most = 0, sum = 0;
    bool is_done[MOST] = {false};
    for (uint32_t p = 0; p <= w->parts * chunks; p++) edges[p] = edge_of(w, p);
    for (uint32_t d = 0; d < w->parts; d++) {
        c.begin[d] = d * chunks;
        c.end[d] = (d + 1) * chunks;
    }
    while ((device = find_device(&c, is_done)) < MOST) {
        is_done[device] = !find_chunk(&c, device, &part);
        if (is_done[device]) continue;
        double seconds = (work(edges[part + 1]) - work(edges[part])) / speeds[device];
        c.at[device] += seconds;
        note(w->shares, chunk_of(&c, part), device, seconds);
    }
    api_shares_move(w->shares);
    for (uint32_t d = 0; d < w->parts; d++) {
        most = fmax(most, c.at[d]);
        sum += c.at[d];
    }
    *taken_out = c.taken;
    return 1 - sum / most / w->parts;
}

// From shares by these weights on: how much is idle at first, when nothing is known,
// and in the end; and how many chunks are taken over at first.
static void check_chunks(double (*work)(double), const uint32_t *weights,
                         uint32_t parts, const double *speeds, double most_idle,
                         uint32_t wanted) {
    World w = {.parts = parts};
    uint32_t taken;
    arena_init(&w.arena, &w.mem);
    FissionRow like = {.devices = parts, .chunks = 4, .is_uneven = work != even};
    uint32_t row = fission_new_row(&w.log, &w.arena, like, weights);
    w.log.rows.data[row].operators = 1;
    w.shares = api_shares_new(&w.arena, &w.log);
    CHECK(run_chunks(&w, work, speeds, &taken) < most_idle);
    CHECK(taken == wanted);
    double idle = 1;
    for (int i = 0; i < 12; i++) idle = run_chunks(&w, work, speeds, &taken);
    CHECK(idle < 0.05);
    CHECK(taken == 0);
    // what was last so large is so large again, for small changes
    for (uint32_t p = 3; p + 1 < parts * 4; p += 4)
        CHECK(w.log.rows.data[row].bounds[p] % (FISSION_WHOLE / 240) == 0);
    arena_free(&w.arena);
}

// Without chunks 33, 52, 0, 22 and 61 % would be idle at first.
static void test_chunks(void) {
    check_chunks(even, equal, 2, (double[]){1, 0.33}, 0.01, 2);
    check_chunks(even, equal, 3, (double[]){1, 10, 3}, 0.07, 4);
    check_chunks(hill, equal, 2, (double[]){1, 1}, 0.01, 0);
    check_chunks(hill, (uint32_t[]){3, 1}, 2, (double[]){3, 1}, 0.23, 0);
    check_chunks(hill, equal, 4, (double[]){1, 2, 0.5, 3}, 0.13, 3);
    check_chunks(slope, (uint32_t[]){3, 1}, 2, (double[]){1, 0.33}, 0.5, 2);
}

// Of work that is uneven a chunk that another device has taken over is as little as it
// was there: devices that take equally long keep their shares.
static void test_little(void) {
    static const double seconds[] = {0.1, 0.1, 0.1, 0.1, 0.37, 0.02, 0.01, 0.0001};
    World w = {.parts = 2};
    arena_init(&w.arena, &w.mem);
    FissionRow like = {.devices = 2, .chunks = 4, .is_uneven = true};
    uint32_t row = fission_new_row(&w.log, &w.arena, like, equal);
    w.log.rows.data[row].operators = 1;
    w.shares = api_shares_new(&w.arena, &w.log);
    int64_t before = w.log.rows.data[row].bounds[3];
    for (uint32_t p = 0; p < 8; p++) {
        FissionPiece piece = {
            .part = p, .device = p / 4, .is_chunk = true, .is_timed = true};
        note(w.shares, piece, p == 7 ? 0 : p / 4, seconds[p]);
    }
    api_shares_move(w.shares);
    CHECK(w.log.rows.data[row].bounds[3] == before);
    arena_free(&w.arena);
}

// Calls that were made before the bounds moved end when others are made already. What
// they took belongs to how they were cut, and moves nothing again.
static void test_late(void) {
    World w;
    open_world(&w, equal, 2, 1);
    FissionPiece parts[] = {{.part = 0, .is_timed = true},
                            {.part = 1, .device = 1, .is_timed = true}};
    ApiCut first[] = {api_shares_cut(w.shares, &parts[0]),
                      api_shares_cut(w.shares, &parts[1])};
    for (int turn = 0; turn < 8; turn++)
        for (uint32_t p = 0; p < 2; p++) {
            api_shares_note(w.shares, &parts[p], first[p], p, p == 0 ? 1.1 : 0.9);
            api_shares_move(w.shares); // as a loop does in each turn
        }
    CHECK(bound_of(&w, 1) < 0.5 && bound_of(&w, 1) > 0.45);
    CHECK(fabs(predict(w.shares, parts[0], 0) - 2.2 * bound_of(&w, 1)) < 1e-9);
    ApiCut now = api_shares_cut(w.shares, &parts[0]);
    CHECK(now.share == bound_of(&w, 1) && now.version != first[0].version);
    // One part as they are cut now and one as they were do not make a whole.
    double bound = bound_of(&w, 1);
    note(w.shares, parts[0], 0, 3);
    api_shares_note(w.shares, &parts[1], first[1], 1, 0.9);
    api_shares_move(w.shares);
    CHECK(bound_of(&w, 1) == bound);
    note(w.shares, parts[1], 1, 0.9);
    api_shares_move(w.shares);
    CHECK(bound_of(&w, 1) < bound);
    arena_free(&w.arena);
}

// Bounds stay while the parts of one row are being made.
static void test_moving(void) {
    World w;
    open_world(&w, equal, 2, 1);
    FissionPiece parts[] = {{.part = 0, .is_timed = true},
                            {.part = 1, .device = 1, .is_timed = true}};
    for (int turn = 0; turn < 3; turn++)
        for (uint32_t p = 0; p < 2; p++) {
            note(w.shares, parts[p], p, p == 0 ? 3 : 1);
            CHECK(bound_of(&w, 1) == 0.5);
        }
    api_shares_move(w.shares);
    double bound = bound_of(&w, 1);
    CHECK(bound < 0.4 && bound > 0.2);
    api_shares_move(w.shares);
    CHECK(bound_of(&w, 1) == bound);
    arena_free(&w.arena);
}

// What a part would take is known from the nearest that has run, and how fast devices
// are from those that one took from another.
static void test_predictions(void) {
    World w;
    open_world(&w, equal, 2, 1);
    FissionPiece first = {.part = 0, .is_timed = true};
    FissionPiece second = {.part = 1, .device = 1, .is_timed = true};
    CHECK(predict(w.shares, first, 0) == 0);
    note(w.shares, first, 0, 3);
    CHECK(predict(w.shares, first, 0) == 3);
    CHECK(predict(w.shares, second, 1) == 3);
    CHECK(api_shares_has_run(w.shares, &second, 0));
    CHECK(!api_shares_has_run(w.shares, &second, 1));
    note(w.shares, second, 1, 3);
    CHECK(predict(w.shares, second, 1) == 3);
    note(w.shares, second, 0, 0.75); // four times as fast; half of that way
    CHECK(fabs(predict(w.shares, second, 1) - 1.5) < 1e-9);
    arena_free(&w.arena);
}

// ---- real ones ----------------------------------------------------------------------

enum { N = 20001 }; // more than what one kernel does alone, loop and all

static const char text[] =
    "def busy (k: i64) (x: i64): i64 = loop x for i < k do (x * 31 + i) % 1009\n"
    "entry main (k: i64) (turns: i64) (xs: []i64): []i64 =\n"
    "  loop xs for t < turns do\n"
    "    let ys = map (busy k) xs\n"
    "    in map2 (\\y i -> y + i + t + i64.sum ys % 7) (filter (>= 0) (map (+ 1) ys))\n"
    "         (indices ys)\n";

typedef struct Call {
    WeftContext *context;
    WeftProgram *program;
    int64_t results[N];
} Call;

static void open_call(Call *c, const char *devices) {
    WeftOptions options = {
        .struct_size = sizeof options, .devices = devices, .threads = 1};
    if (weft_context_new(&options, &c->context) != WEFT_STATUS_OK) abort();
    if (weft_program_from_source(c->context, "shares.weft", text, sizeof text - 1,
                                 &c->program) != WEFT_STATUS_OK) {
        fputs(weft_render(c->context, 0), stdout);
        abort();
    }
}

static void close_call(Call *c) {
    weft_program_free(c->program);
    CHECK(weft_testing_context_free(c->context) == 0);
}

static void call(Call *c, int64_t k, int64_t turns) {
    static int64_t xs[N];
    int64_t shape = N;
    const void *data;
    WeftValue *args[3], *result;
    for (int64_t i = 0; i < N; i++) xs[i] = i * i % 1000;
    weft_value_new(c->context, WEFT_I64, 0, NULL, &k, &args[0]);
    weft_value_new(c->context, WEFT_I64, 0, NULL, &turns, &args[1]);
    weft_value_new(c->context, WEFT_I64, 1, &shape, xs, &args[2]);
    if (weft_call(c->program, 0, args, 3, &result, 1) != WEFT_STATUS_OK ||
        weft_value_data(result, &data) != WEFT_STATUS_OK)
        abort();
    memcpy(c->results, data, sizeof c->results);
    for (int i = 0; i < 3; i++) weft_value_free(args[i]);
    weft_value_free(result);
}

static void set_bounds(const Call *c, int64_t first, int64_t second) {
    for (uint32_t i = 0; i < c->program->decisions.rows.len; i++) {
        c->program->decisions.rows.data[i].bounds[0] = first;
        c->program->decisions.rows.data[i].bounds[1] = second;
    }
}

static void test_same(void) {
    Call whole, parts;
    setenv("WEFT_SPLIT", "none", 1);
    open_call(&whole, "cpu");
    call(&whole, 3, 5);
    setenv("WEFT_SPLIT", "0", 1);
    open_call(&parts, "cpu*3");
    CHECK(parts.program->decisions.rows.len > 0);
    srand(7);
    for (int i = 0; i < 40; i++) {
        int64_t a = rand() % (FISSION_WHOLE + 1), b = rand() % (FISSION_WHOLE + 1);
        if (i < 4) a = i % 2 * FISSION_WHOLE, b = i / 2 * FISSION_WHOLE;
        set_bounds(&parts, a < b ? a : b, a < b ? b : a);
        call(&parts, 3, 5);
        CHECK(memcmp(parts.results, whole.results, sizeof whole.results) == 0);
    }
    unsetenv("WEFT_SPLIT");
    close_call(&whole);
    close_call(&parts);
}

// Of what the devices of a context gave to the host, as yet.
static double share_read(const Call *c) {
    double first = (double)c->context->places[0].device->counts.read_bytes;
    return first / (first + (double)c->context->places[1].device->counts.read_bytes);
}

// One call of many turns from halves on: the slower device gets less before it ends.
static void test_turns(void) {
    bool has_learned = false;
    for (int i = 0; i < 10 && !has_learned; i++) {
        Call c;
        open_call(&c, "cpu:0,cpu:1@0.2");
        for (uint32_t r = 0; r < c.program->decisions.rows.len; r++)
            c.program->decisions.rows.data[r].bounds[0] = FISSION_WHOLE / 2;
        call(&c, 50, 12);
        has_learned = share_read(&c) > 0.7; // with halves 0.64
        close_call(&c);
    }
    CHECK(has_learned);
}

int main(void) {
    test_learning();
    test_chunks();
    test_little();
    test_late();
    test_moving();
    test_predictions();
    test_same();
    test_turns();
    return test_done();
}
