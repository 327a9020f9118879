// SPDX-License-Identifier: Apache-2.0
//
// The coherent store: where elements are, what moves, what is freed when memory is
// short; and random operations on arrays over three memories against a model.
#define _POSIX_C_SOURCE 200809L
#include "rt/store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "test.h"

typedef struct World {
    Mem mem;
    Arena arena;
    RtHeap heap;
    Device *devices[2];
} World;

// The second device stands for one with memory beside the host's.
static void open_world(World *w) {
    *w = (World){0};
    arena_init(&w->arena, &w->mem);
    rt_heap_init(&w->heap, &w->mem);
    for (int i = 0; i < 2; i++) {
        Str why;
        Status status = dev_open(&w->mem, &w->arena, i == 0 ? "cpu:0" : "cpu:1",
                                 &w->devices[i], &why);
        if (status != STATUS_OK) abort();
    }
    w->devices[1]->kind = DEVICE_OPENCL;
}

static void close_world(World *w) {
    rt_heap_free(&w->heap);
    for (int i = 0; i < 2; i++) {
        CHECK(w->devices[i]->counts.used == 0);
        w->devices[i]->kind = DEVICE_CPU;
        dev_close(w->devices[i]);
    }
    arena_free(&w->arena);
    CHECK(w->mem.used == 0);
}

static RtArray *make(World *w, int64_t n, uint8_t first) {
    RtArray *a = rt_new(&w->heap, SCALAR_U8, 1, &n);
    for (int64_t i = 0; i < n; i++) a->data[i] = (char)(first + i);
    return a;
}

static bool holds(RtArray *a, int64_t n, uint8_t first) {
    for (int64_t i = 0; i < n; i++)
        if ((uint8_t)a->data[i] != (uint8_t)(first + i)) return false;
    return true;
}

// ---- states -------------------------------------------------------------------------

static void check_copies(void) {
    World w;
    open_world(&w);
    uint64_t at, again;
    RtArray *a = make(&w, 100, 7);
    CHECK(rt_bytes_to_send(a, w.devices[0]) == 100);
    CHECK(rt_send(&w.heap, a, w.devices[0], &at) == STATUS_OK);
    CHECK(rt_bytes_to_send(a, w.devices[0]) == 0);
    CHECK(rt_bytes_to_send(a, NULL) == 0);
    CHECK(rt_send(&w.heap, a, w.devices[0], &again) == STATUS_OK && again == at);
    CHECK(w.devices[0]->counts.write_bytes == 100); // once
    CHECK(!rt_is_unshared(a)); // the host must not overwrite what has copies

    // a view is its part of the copy
    int64_t shape = 10, stride = 1;
    RtArray *view = rt_view(&w.heap, a, a->data + 20, 1, &shape, &stride);
    CHECK(rt_send(&w.heap, view, w.devices[0], &again) == STATUS_OK);
    CHECK(again == at + 20 && w.devices[0]->counts.writes == 1);
    // what others see is not taken
    Status status;
    RtArray *own = rt_own_on(&w.heap, a, true, w.devices[0], &again, &status);
    CHECK(own != a && again != at && own->is_away && !a->is_away);
    CHECK(w.devices[0]->counts.writes == 1); // copied on the device
    rt_release(&w.heap, own);
    rt_release(&w.heap, view);
    // now it is ours
    own = rt_own_on(&w.heap, a, true, w.devices[0], &again, &status);
    CHECK(own == a && again == at && a->is_away && a->data == NULL);
    CHECK(rt_bytes_to_send(a, NULL) == 100);
    uint8_t changed = 99;
    CHECK(dev_write(w.devices[0], at + 3, &changed, 1) == STATUS_OK);
    CHECK(rt_fetch(&w.heap, a) == STATUS_OK);
    CHECK((uint8_t)a->data[3] == 99 && (uint8_t)a->data[4] == 11);
    rt_release(&w.heap, own);
    // from device to device by way of the host
    CHECK(rt_send(&w.heap, a, w.devices[1], &at) == STATUS_OK);
    CHECK(w.devices[1]->counts.write_bytes == 100);
    rt_release(&w.heap, a);
    close_world(&w);
}

static bool was_released;

static void note_release(void *data) {
    (void)data;
    was_released = true;
}

static void check_lent(void) {
    World w;
    open_world(&w);
    char bytes[8] = "abcdefg";
    int64_t n = 8, stride = 1;
    uint64_t at;
    Status status;
    RtArray *a = rt_lent(&w.heap, SCALAR_U8, 1, &n, &stride, bytes,
                         (RtLender){note_release, NULL});
    RtArray *own = rt_own_on(&w.heap, a, true, w.devices[1], &at, &status);
    CHECK(own != NULL && own != a && !a->is_away); // a lender's elements stay
    CHECK(rt_send(&w.heap, a, w.devices[1], &at) == STATUS_OK);
    rt_release(&w.heap, a);
    CHECK(was_released);
    rt_release(&w.heap, own);
    close_world(&w);
}

// ---- memory that runs short ---------------------------------------------------------

static void check_relief(void) {
    World w;
    open_world(&w);
    Device *device = w.devices[1];
    device->limit = 250;
    uint64_t at;
    Status status;
    RtArray *a = make(&w, 100, 1), *b = make(&w, 100, 2), *c = make(&w, 100, 3);
    CHECK(rt_send(&w.heap, a, device, &at) == STATUS_OK);
    CHECK(rt_send(&w.heap, b, device, &at) == STATUS_OK);
    CHECK(rt_send(&w.heap, c, device, &at) == STATUS_OK); // a copy was dropped
    CHECK(device->counts.used == 200 && device->counts.reads == 0);
    // nothing can be dropped of what is there alone: it comes home
    rt_release(&w.heap, b);
    RtArray *own = rt_own_on(&w.heap, c, true, device, &at, &status);
    CHECK(own == c && c->is_away);
    rt_release(&w.heap, own);
    RtArray *new =
        rt_new_on(&w.heap, device, SCALAR_U8, 1, &(int64_t){200}, &at, &status);
    CHECK(new != NULL && !c->is_away &&holds(c, 100, 3));
    CHECK(device->counts.read_bytes == 100);
    // what is pinned stays, and then there is no room
    new->pins++;
    CHECK(rt_send(&w.heap, a, device, &at) == STATUS_MEMORY);
    CHECK(new->is_away && device->counts.used == 200);
    new->pins--;
    CHECK(rt_send(&w.heap, a, device, &at) == STATUS_OK && !new->is_away);
    CHECK(rt_new_on(&w.heap, device, SCALAR_U8, 1, &(int64_t){251}, &at, &status) ==
          NULL);
    CHECK(status == STATUS_MEMORY);
    rt_release(&w.heap, new);
    rt_release(&w.heap, a);
    rt_release(&w.heap, c);
    close_world(&w);
}

// The memory of cpu:I is the host's own: under one ceiling, copies there are dropped
// for the host, and host memory of what nobody looks at for them.
static void check_ceiling(void) {
    World w;
    open_world(&w);
    uint64_t at;
    enum { BIG = 1 << 20 };
    RtArray *a = make(&w, BIG, 1);
    CHECK(rt_send(&w.heap, a, w.devices[0], &at) == STATUS_OK);
    w.mem.limit = w.mem.used + BIG / 2;
    RtArray *b = rt_new_on(&w.heap, w.devices[0], SCALAR_U8, 1, &(int64_t){BIG}, &at,
                           &(Status){STATUS_OK});
    CHECK(b != NULL && a->copies == NULL && !a->is_away);
    CHECK(rt_fetch(&w.heap, b) == STATUS_MEMORY && b->is_away);
    rt_release(&w.heap, b);
    CHECK(rt_send(&w.heap, a, w.devices[0], &at) == STATUS_OK);
    rt_settle(&w.heap); // somebody may look at a
    b = rt_new_on(&w.heap, w.devices[0], SCALAR_U8, 1, &(int64_t){BIG}, &at,
                  &(Status){STATUS_OK});
    CHECK(b != NULL && !a->is_away && a->copies == NULL);
    rt_release(&w.heap, b);
    rt_release(&w.heap, a);
    close_world(&w);
}

// Two of 100 bytes, each on a device alone: 1 to 200.
static void make_parts(World *w, RtValue *parts_out) {
    for (int i = 0; i < 2; i++) {
        uint64_t at;
        Status status;
        RtArray *part = make(w, 100, (uint8_t)(1 + 100 * i));
        parts_out[i].array =
            rt_own_on(&w->heap, part, true, w->devices[i], &at, &status);
        rt_release(&w->heap, part);
    }
}

// Of what lies in parts only what is not there travels; the host takes the parts first
// where they have no room beside the whole; a device that fails keeps none.
static void check_join(void) {
    World w;
    open_world(&w);
    uint64_t at;
    RtValue parts[2];
    make_parts(&w, parts);
    RtArray *a = rt_join(&w.heap, SCALAR_U8, 1, &(int64_t){200}, parts, 2);
    CHECK(a->is_away && rt_bytes_to_send(a, w.devices[0]) == 100);
    CHECK(rt_bytes_to_send(a, NULL) == 200 && !rt_is_unshared(a));
    for (int i = 0; i < 2; i++) rt_release(&w.heap, parts[i].array);
    uint64_t before = w.devices[0]->counts.write_bytes;
    CHECK(rt_send(&w.heap, a, w.devices[0], &at) == STATUS_OK && a->is_away);
    CHECK(w.devices[0]->counts.write_bytes == before + 100);
    CHECK(w.devices[0]->counts.read_bytes == 0);
    before = w.devices[1]->counts.write_bytes;
    w.devices[1]->limit = 250;
    CHECK(rt_send(&w.heap, a, w.devices[1], &at) == STATUS_OK);
    CHECK(holds(a, 200, 1) && w.devices[1]->counts.write_bytes == before + 200);
    rt_release(&w.heap, a);
    close_world(&w);
}

// A part that nobody has joined yet comes from where its own parts are; one that a
// device has as a whole, from there.
static void check_parts_of_parts(void) {
    World w;
    open_world(&w);
    uint64_t at;
    RtValue parts[2];
    make_parts(&w, parts);
    RtArray *inner = rt_join(&w.heap, SCALAR_U8, 1, &(int64_t){200}, parts, 2);
    for (int i = 0; i < 2; i++) rt_release(&w.heap, parts[i].array);
    parts[0].array = inner;
    parts[1].array = make(&w, 50, 201);
    RtArray *a = rt_join(&w.heap, SCALAR_U8, 1, &(int64_t){250}, parts, 2);
    const DeviceCounts *counts = &w.devices[0]->counts;
    uint64_t before = counts->write_bytes;
    CHECK(rt_bytes_to_send(a, w.devices[0]) == 150);
    CHECK(rt_send(&w.heap, a, w.devices[0], &at) == STATUS_OK);
    CHECK(counts->write_bytes == before + 150 && counts->read_bytes == 0);
    CHECK(rt_fetch(&w.heap, a) == STATUS_OK && holds(a, 250, 1));
    rt_release(&w.heap, a);
    CHECK(rt_send(&w.heap, inner, w.devices[0], &at) == STATUS_OK);
    a = rt_join(&w.heap, SCALAR_U8, 1, &(int64_t){250}, parts, 2);
    before = counts->write_bytes;
    CHECK(rt_send(&w.heap, a, w.devices[0], &at) == STATUS_OK);
    CHECK(counts->write_bytes == before + 50);
    rt_release(&w.heap, a);
    for (int i = 0; i < 2; i++) rt_release(&w.heap, parts[i].array);
    close_world(&w);
}

// ---- devices that fail --------------------------------------------------------------

static DeviceOps failing;
static bool is_dead;

static Status fail_read(Device *device, void *to, uint64_t from, size_t bytes) {
    if (is_dead) return STATUS_IO;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    (void)device;
    return STATUS_OK;
}

static void check_leave(void) {
    World w;
    open_world(&w);
    uint64_t at;
    Status status;
    Device *device = w.devices[1];
    failing = *device->ops;
    failing.read = fail_read;
    device->ops = &failing;
    RtArray *a = make(&w, 10, 1), *b = make(&w, 10, 2);
    CHECK(rt_send(&w.heap, a, device, &at) == STATUS_OK);
    RtArray *own = rt_own_on(&w.heap, b, true, device, &at, &status);
    rt_release(&w.heap, own);
    CHECK(rt_leave(&w.heap, device)); // all is home
    CHECK(!b->is_away && holds(b, 10, 2) && holds(a, 10, 1));
    CHECK(rt_send(&w.heap, a, device, &at) == STATUS_IO); // none comes there any more
    device->is_left = false;
    own = rt_own_on(&w.heap, b, true, device, &at, &status);
    rt_release(&w.heap, own);
    is_dead = true;
    CHECK(rt_fetch(&w.heap, b) == STATUS_IO && b->is_away);
    CHECK(!rt_leave(&w.heap, device)); // b is lost
    CHECK(rt_fetch(&w.heap, b) == STATUS_IO);
    CHECK(device->counts.used == 0);
    rt_release(&w.heap, a);
    rt_release(&w.heap, b);
    close_world(&w);
}

// ---- on the way ---------------------------------------------------------------------

// Elements travel to and from the first device until somebody else has had the turn.
typedef struct Travel {
    World w;
    RtTurn turn;
    RtArray *a;
    atomic_int begun, seen, reads;
    // What the other does meanwhile: the last five while elements are sent early.
    bool is_fetched, is_gone, is_sent, is_copied, is_short, is_joined, is_left;
    bool is_broken;      // writing fails
    bool is_right;       // as far as the other saw
    atomic_bool is_late; // who had to wait for the other gave up
} Travel;

static Travel *travel;
static const DeviceOps *plain;
static DeviceOps slow;

static void pause_until(atomic_int *count, int least) {
    for (int ms = 0; atomic_load(count) < least && ms < 10000; ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (atomic_load(count) < least) atomic_store(&travel->is_late, true);
}

static void be_slow(void) {
    pause_until(&travel->seen, atomic_fetch_add(&travel->begun, 1) + 1);
}

static Status slow_write(Device *device, uint64_t to, const void *from, size_t bytes) {
    be_slow();
    if (travel->is_broken) return STATUS_IO;
    if (travel->is_left) return STATUS_OK; // to what is freed by now
    return plain->write(device, to, from, bytes);
}

static Status slow_read(Device *device, void *to, uint64_t from, size_t bytes) {
    atomic_fetch_add(&travel->reads, 1);
    be_slow();
    return plain->read(device, to, from, bytes);
}

enum { MANY = 1 << 17 };

// Who needs what is coming waits for it, and sends nothing again.
static bool send_again(Travel *t) {
    uint64_t at;
    Device *device = t->w.devices[0];
    uint64_t writes = device->counts.writes;
    return rt_send(&t->w.heap, t->a, device, &at) == STATUS_OK &&
           device->counts.writes == writes && !t->a->copies->is_coming;
}

// So does who overwrites it: a copy of its own, made of that on the device.
static bool copy_it(Travel *t) {
    uint64_t at;
    Status status;
    Device *device = t->w.devices[0];
    uint64_t writes = device->counts.writes;
    RtArray *own = rt_own_on(&t->w.heap, t->a, true, device, &at, &status);
    bool is_right = own != NULL && own != t->a && device->counts.writes == writes &&
                    memcmp((void *)(uintptr_t)at, t->a->data, MANY) == 0;
    rt_release(&t->w.heap, own);
    return is_right;
}

// Who needs its room waits until it has come, and lets it go.
static bool take_room(Travel *t) {
    uint64_t at;
    Device *device = t->w.devices[0];
    size_t bytes = device->limit;
    if (rt_alloc_on(&t->w.heap, device, bytes, &at) != STATUS_OK) return false;
    dev_free(device, at, bytes);
    return t->a->copies == NULL;
}

// Who sends a whole that it is a part of is told that it does not come.
static bool join_it(Travel *t) {
    uint64_t at;
    int64_t shape = 2 * MANY;
    RtValue parts[] = {{.array = t->a}, {.array = t->a}};
    RtArray *whole = rt_join(&t->w.heap, SCALAR_U8, 1, &shape, parts, 2);
    Status status = rt_send(&t->w.heap, whole, t->w.devices[0], &at);
    rt_release(&t->w.heap, whole);
    return status == STATUS_IO && t->a->copies == NULL;
}

// What is on its way is gone with the device, and nothing comes there again.
static bool leave_it(Travel *t) {
    uint64_t at;
    Device *device = t->w.devices[0];
    return rt_leave(&t->w.heap, device) && device->counts.used == 0 &&
           rt_send(&t->w.heap, t->a, device, &at) == STATUS_IO;
}

static void *meet(void *data) {
    Travel *t = data;
    pause_until(&t->begun, 1);
    rt_turn_take(&t->turn);
    atomic_fetch_add(&t->seen, 9); // it waits for nobody
    if (t->is_fetched) {
        t->is_right = t->a->is_away && // as long as not all is there
                      rt_fetch(&t->w.heap, t->a) == STATUS_OK && !t->a->is_away &&
                      holds(t->a, MANY, 1);
    }
    if (t->is_sent) t->is_right = send_again(t);
    if (t->is_copied) t->is_right = copy_it(t);
    if (t->is_short) t->is_right = take_room(t);
    if (t->is_joined) t->is_right = join_it(t);
    if (t->is_left) t->is_right = leave_it(t);
    if (t->is_gone) rt_release(&t->w.heap, t->a);
    rt_turn_give(&t->turn);
    return NULL;
}

static void open_travel(Travel *t) {
    open_world(&t->w);
    t->a = make(&t->w, MANY, 1);
    t->is_fetched = t->is_gone = t->is_sent = t->is_copied = t->is_short = false;
    t->is_joined = t->is_left = t->is_broken = false;
    t->is_right = true;
    atomic_store(&t->is_late, false);
    if (!rt_turn_init(&t->turn)) abort();
    t->w.heap.turn = &t->turn;
    travel = t;
    plain = t->w.devices[0]->ops;
    slow = *plain;
    slow.write = slow_write;
    slow.read = slow_read;
}

// Begins what travels from now on in this thread, with another that waits for it.
static void begin_travel(Travel *t, pthread_t *other_out) {
    t->w.devices[0]->ops = &slow;
    atomic_store(&t->begun, 0);
    atomic_store(&t->seen, 0);
    atomic_store(&t->reads, 0);
    if (!thread_start(other_out, meet, t)) abort();
    rt_turn_take(&t->turn);
}

static void end_travel(Travel *t, pthread_t other) {
    rt_turn_give(&t->turn);
    pthread_join(other, NULL);
    CHECK(t->is_right && !atomic_load(&t->is_late));
    t->w.devices[0]->ops = plain;
}

static void check_travel(void) {
    static Travel t;
    uint64_t at;
    Status status;
    pthread_t other;
    open_travel(&t);
    Device *device = t.w.devices[0];
    // to the device, while others go on
    begin_travel(&t, &other);
    CHECK(rt_send(&t.w.heap, t.a, device, &at) == STATUS_OK);
    end_travel(&t, other);
    // from there: who wants the array meanwhile waits for it
    RtArray *own = rt_own_on(&t.w.heap, t.a, true, device, &at, &status);
    rt_release(&t.w.heap, own);
    CHECK(own == t.a && t.a->is_away);
    t.is_fetched = true;
    begin_travel(&t, &other);
    CHECK(rt_fetch(&t.w.heap, t.a) == STATUS_OK && holds(t.a, MANY, 1));
    end_travel(&t, other);
    CHECK(atomic_load(&t.reads) == 1);
    t.is_fetched = false;
    // early, while the call that needs it begins
    bool *const meanwhile[] = {&t.is_sent, &t.is_copied, &t.is_short};
    for (int i = 0; i < 3; i++) {
        rt_drop_copies(&t.w.heap, t.a);
        *meanwhile[i] = true;
        device->limit = t.is_short ? 2 * t.a->memory_size : 0;
        begin_travel(&t, &other);
        CHECK(rt_send_early(&t.w.heap, t.a, device) == RT_EARLY_SENT);
        end_travel(&t, other);
        *meanwhile[i] = false;
    }
    device->limit = 0;
    // which does not come
    rt_drop_copies(&t.w.heap, t.a);
    t.is_joined = t.is_broken = true;
    begin_travel(&t, &other);
    CHECK(rt_send_early(&t.w.heap, t.a, device) == RT_EARLY_FAILED);
    end_travel(&t, other);
    t.is_joined = t.is_broken = false;
    t.is_left = true;
    begin_travel(&t, &other);
    CHECK(rt_send_early(&t.w.heap, t.a, device) == RT_EARLY_FAILED);
    end_travel(&t, other);
    t.is_left = device->is_left = false;
    CHECK(t.a->copies == NULL && t.a->pins == 0);
    // for a call that comes to its end elsewhere
    rt_drop_copies(&t.w.heap, t.a);
    t.is_gone = true;
    begin_travel(&t, &other);
    CHECK(rt_send_early(&t.w.heap, t.a, device) == RT_EARLY_SENT);
    end_travel(&t, other);
    rt_turn_free(&t.turn);
    close_world(&t.w);
}

// What is sent early makes no room, and leaves half of it.
static void check_early(void) {
    World w;
    open_world(&w);
    uint64_t at;
    Device *device = w.devices[1];
    RtArray *a = make(&w, 100, 1), *b = make(&w, 100, 2), *c = make(&w, 100, 3);
    device->limit = 500;
    CHECK(rt_send_early(&w.heap, a, device) == RT_EARLY_SENT);
    CHECK(rt_send_early(&w.heap, b, device) == RT_EARLY_SENT);
    CHECK(rt_send_early(&w.heap, b, device) == RT_EARLY_NOTHING); // it is there
    CHECK(rt_send_early(&w.heap, c, device) == RT_EARLY_NOTHING);
    CHECK(device->counts.used == 200);
    uint64_t bytes = device->counts.write_bytes;
    CHECK(rt_send(&w.heap, b, device, &at) == STATUS_OK);
    CHECK(device->counts.write_bytes == bytes);
    // who needs the room has it
    device->limit = 300;
    RtArray *d = make(&w, 300, 4);
    CHECK(rt_send(&w.heap, d, device, &at) == STATUS_OK && holds(a, 100, 1));
    CHECK(device->counts.used == 300);
    RtArray *all[] = {a, b, c, d};
    for (int i = 0; i < 4; i++) rt_release(&w.heap, all[i]);
    close_world(&w);
}

// ---- against a model ----------------------------------------------------------------

enum { ARRAYS = 6, LENGTH = 64, MOST = 4 * LENGTH };

typedef struct Model {
    RtArray *array; // NULL: none
    size_t length;  // more than LENGTH: it was joined
    uint8_t elements[MOST];
} Model;

// What was joined may be too much for a device with little memory.
static bool is_too_long(const Model *m, Status status) {
    return status == STATUS_MEMORY && m->length > LENGTH;
}

static bool is_right(World *w, Model *m, int place) {
    uint8_t seen[MOST];
    uint64_t at;
    if (place == 2) {
        if (rt_fetch(&w->heap, m->array) != STATUS_OK) return false;
        return memcmp(m->array->data, m->elements, m->length) == 0;
    }
    Status status = rt_send(&w->heap, m->array, w->devices[place], &at);
    if (status != STATUS_OK) return is_too_long(m, status);
    dev_read(w->devices[place], seen, at, m->length);
    return memcmp(seen, m->elements, m->length) == 0;
}

static bool overwrite(World *w, Model *m, int place, bool may_take) {
    uint64_t at;
    Status status;
    RtArray *own =
        rt_own_on(&w->heap, m->array, may_take, w->devices[place], &at, &status);
    if (own == NULL) return is_too_long(m, status);
    for (size_t i = 0; i < m->length; i++) m->elements[i] = (uint8_t)rand();
    dev_write(w->devices[place], at, m->elements, m->length);
    rt_release(&w->heap, m->array);
    m->array = own;
    return true;
}

static bool join(World *w, Model *whole, const Model *a, const Model *b) {
    RtValue parts[] = {{.array = a->array}, {.array = b->array}};
    whole->length = a->length + b->length;
    whole->array =
        rt_join(&w->heap, SCALAR_U8, 1, &(int64_t){(int64_t)whole->length}, parts, 2);
    memcpy(whole->elements, a->elements, a->length);
    memcpy(whole->elements + a->length, b->elements, b->length);
    return whole->array != NULL;
}

static bool step(World *w, Model *models) {
    Model *m = &models[rand() % ARRAYS];
    const Model *a = &models[rand() % ARRAYS], *b = &models[rand() % ARRAYS];
    bool has_both = a->array != NULL && b->array != NULL;
    if (m->array == NULL && has_both && a->length + b->length <= MOST)
        return join(w, m, a, b);
    if (m->array == NULL) {
        m->array = make(w, LENGTH, 5);
        m->length = LENGTH;
        for (int i = 0; i < LENGTH; i++) m->elements[i] = (uint8_t)(5 + i);
        return true;
    }
    switch (rand() % 8) {
    case 0:
        rt_release(&w->heap, m->array);
        m->array = NULL;
        return true;
    case 1:
    case 2: return overwrite(w, m, rand() % 2, rand() % 4 != 0);
    case 3: // on the host, which must find it unshared
        if (rt_fetch(&w->heap, m->array) != STATUS_OK) return false;
        if (rt_is_unshared(m->array)) m->array->data[1] = (char)(m->elements[1] = 77);
        return true;
    default: return is_right(w, m, rand() % 3);
    }
}

static void check_model(unsigned seed) {
    World w;
    Model models[ARRAYS] = {0};
    open_world(&w);
    srand(seed);
    w.devices[1]->limit = seed % 2 == 0 ? 2 * LENGTH : 7 * LENGTH;
    bool good = true;
    for (int i = 0; i < 400 && good; i++) good = step(&w, models);
    CHECK(good);
    for (int i = 0; i < ARRAYS; i++) {
        if (models[i].array == NULL) continue;
        CHECK(is_right(&w, &models[i], 2));
        rt_release(&w.heap, models[i].array);
    }
    close_world(&w);
}

int main(void) {
    check_copies();
    check_lent();
    check_relief();
    check_ceiling();
    check_join();
    check_parts_of_parts();
    check_leave();
    check_early();
    check_travel();
    for (unsigned seed = 1; seed <= 200; seed++) check_model(seed);
    return test_done();
}
