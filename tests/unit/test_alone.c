// SPDX-License-Identifier: Apache-2.0
//
// Calls that several devices have no memory for. What fits on the host's cores fits on
// several devices, with the same bits; how much that is, is found by giving less and
// less. What certainly does not is refused before it starts.
#define _POSIX_C_SOURCE 200809L
#include "api/alone.h"

#include <stdlib.h>
#include <string.h>

#include "api/testing.h"
#include "test.h"

enum { MANY = 40000, BYTES = MANY * 8, STEP = 20000, MOST = 10 * BYTES };

// As many numbers as it is given.
static const char *const sources[] = {
    // a, b and c are there at once, in parts and whole
    "entry main (xs: []i64): []i64 =\n"
    "  let a = scan (+) 0 xs\n"
    "  let b = scan i64.max 3 (map (\\i -> a[i * 7 % length xs]) (indices xs))\n"
    "  let c = map (\\i -> a[i * 5 % length xs] + b[i * 3 % length xs]) (indices xs)\n"
    "  in map2 (+) b c",
    "entry main (xs: []i64): []i64 =\n"
    "  map2 (+) xs (i64.sort (map (\\x -> (x * 7919) % 1013) xs))",
    "entry main (xs: []i64): []i64 =\n"
    "  loop ys = xs for k < 4 do\n"
    "    map (\\i -> ys[i] + ys[i * 3 % length ys] + k) (indices ys)",
    "entry main (xs: []i64): []i64 =\n"
    "  scatter (map (+ 1) xs) (map (\\x -> x * 7 % 50000 - 5) xs) (map (* 3) xs)",
};

typedef struct World {
    WeftContext *context;
    WeftProgram *program;
    WeftValue *arg;
} World;

static World open_world(const char *devices, const char *source) {
    WeftOptions options = {
        .struct_size = sizeof options, .devices = devices, .threads = 2};
    static int64_t xs[MANY];
    int64_t shape = MANY;
    World w = {0};
    for (int64_t i = 0; i < MANY; i++) xs[i] = (i * 31) % 997;
    CHECK(weft_context_new(&options, &w.context) == WEFT_STATUS_OK);
    if (weft_program_from_source(w.context, "test", source, strlen(source),
                                 &w.program) != WEFT_STATUS_OK)
        abort();
    CHECK(weft_value_new(w.context, WEFT_I64, 1, &shape, xs, &w.arg) == WEFT_STATUS_OK);
    return w;
}

static void close_world(World w) {
    weft_value_free(w.arg);
    weft_program_free(w.program);
    CHECK(weft_testing_context_free(w.context) == 0);
}

// With so much memory for the call. What it gives is kept.
static WeftStatus call(World w, size_t room, int64_t *kept) {
    Mem *mem = &w.context->mem;
    size_t ceiling = room == 0 ? 0 : atomic_load(&mem->used) + room;
    mem->limit = w.context->options.memory_ceiling = ceiling;
    WeftValue *result;
    const void *found;
    WeftStatus status = weft_call(w.program, 0, &w.arg, 1, &result, 1);
    mem->limit = w.context->options.memory_ceiling = 0;
    if (status != WEFT_STATUS_OK) return status;
    CHECK(weft_value_data(result, &found) == WEFT_STATUS_OK);
    memcpy(kept, found, BYTES);
    weft_value_free(result);
    return status;
}

static uint64_t sent_so_far(World w) {
    uint64_t sent = 0;
    for (uint32_t i = 0; i < w.context->place_count; i++)
        if (w.context->places[i].device != NULL)
            sent += w.context->places[i].device->counts.write_bytes;
    return sent;
}

// The least memory with which it runs; all that is more does, too.
static size_t least_room(World w, const int64_t *right) {
    static int64_t kept[MANY];
    size_t room = MOST;
    for (; room > 0; room -= STEP) {
        w.program->entries[0].too_much = 0; // nothing is learned
        if (call(w, room, kept) != WEFT_STATUS_OK) break;
        CHECK(memcmp(kept, right, BYTES) == 0);
    }
    return room + STEP;
}

// Beside what programs and tasks take, which is not arrays.
static void check_rooms(const char *devices) {
    enum { SLACK = 2 * STEP };
    static int64_t right[MANY], kept[MANY];
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        World one = open_world("cpu", sources[i]);
        CHECK(call(one, 0, right) == WEFT_STATUS_OK);
        size_t least = least_room(one, right);
        close_world(one);
        World several = open_world(devices, sources[i]);
        CHECK(call(several, 0, kept) == WEFT_STATUS_OK);
        CHECK(memcmp(kept, right, BYTES) == 0);
        CHECK(!api_alone_is_on(several.program));
        size_t found = least_room(several, right);
        if (found > least + SLACK)
            printf("%s, source %zu: %zu, not %zu\n", devices, i, found, least);
        CHECK(found <= least + SLACK);
        // with memory enough nothing is alone, and all is as before
        CHECK(call(several, 0, kept) == WEFT_STATUS_OK);
        CHECK(memcmp(kept, right, BYTES) == 0);
        CHECK(!api_alone_is_on(several.program));
        close_world(several);
    }
}

// What was tried in vain once is not tried again where as much is needed; there is no
// plan of what the array tells, and what it does not know is no reason.
static void check_learned(void) {
    static int64_t right[MANY], kept[MANY];
    World w = open_world("cpu:0,cpu:1", sources[0]);
    CHECK(call(w, 0, right) == WEFT_STATUS_OK);
    size_t least = least_room(w, right);
    w.program->entries[0].too_much = 0;
    CHECK(call(w, least, kept) == WEFT_STATUS_OK);
    CHECK(api_alone_is_on(w.program));
    uint64_t before = sent_so_far(w);
    CHECK(call(w, least, kept) == WEFT_STATUS_OK);
    CHECK(api_alone_is_on(w.program));
    CHECK(sent_so_far(w) == before);
    CHECK(memcmp(kept, right, BYTES) == 0);
    w.program->entries[0].too_much = 1; // as though any call had been tried
    CHECK(call(w, MOST, kept) == WEFT_STATUS_OK);
    CHECK(api_alone_is_on(w.program));
    CHECK(sent_so_far(w) == before);
    CHECK(call(w, 0, kept) == WEFT_STATUS_OK);
    CHECK(!api_alone_is_on(w.program));
    CHECK(sent_so_far(w) > before);
    close_world(w);
}

// Eight arrays' worth that are looked at twice.
static void check_refused(const char *devices) {
    static const char source[] =
        "def busy (x: i64): i64 = loop x for i < 100 do (x * 31 + i) % 1009\n"
        "entry main (xs: []i64): []i64 =\n"
        "  let t = map (\\x -> map (\\i -> busy (x + i)) (iota 8)) xs\n"
        "  let at i j = t[i * 7 % length xs, j * 3 % 8]\n"
        "  in map (\\i -> at i 1 + at (i * 5) 2 + t[i, 3]) (indices xs)";
    static int64_t kept[MANY];
    World w = open_world(devices, source);
    CHECK(call(w, 0, kept) == WEFT_STATUS_OK);
    uint64_t before = sent_so_far(w), made = w.context->heap.made_bytes;
    CHECK(call(w, 4 * BYTES, kept) == WEFT_STATUS_MEMORY);
    CHECK(strstr(weft_message(w.context), "needs at least") != NULL);
    CHECK(strstr(weft_message(w.context), "2.56 MB of line 3") != NULL);
    CHECK(sent_so_far(w) == before && w.context->heap.made_bytes == made);
    close_world(w);
}

int main(void) {
    setenv("WEFT_SPLIT", "0", 1);
    check_rooms("cpu:0,cpu:1");
    check_rooms("cpu*2");
    check_rooms("cpu,cpu:1");
    check_learned();
    check_refused("cpu:0,cpu:1");
    check_refused("cpu*2");
    unsetenv("WEFT_SPLIT");
    check_rooms("cpu:0,cpu:1");
    return test_done();
}
