// SPDX-License-Identifier: Apache-2.0
//
// Devices by their addresses, what all have in common, the cores as devices, and the
// books of a device's memory against a plain model.
#include <string.h>

#include "dev/dev.h"
#include "dev/heap.h"
#include "test.h"

static Mem mem;
static Arena arena;

static Device *open_device(const char *address) {
    Device *device = NULL;
    Str why;
    CHECK(dev_open(&mem, &arena, address, &device, &why) == STATUS_OK);
    return device;
}

static bool has(Str text, const char *part) {
    return strstr(str_terminated(&arena, text), part) != NULL;
}

// ---- addresses ----------------------------------------------------------------------

static void test_addresses(void) {
    static const char *const wrong[] = {
        "",       "c",        "cpu0",      "cpu:",    "cpu:x",  "cpu:-1",
        "cpu:0x", "cpu: 1",   "cpu:1:2",   "CPU",     "opencl", "opencl:",
        "cuda",   "cuda:1.0", "cpu:12345", "opencl0", "gpu:0",  "opencl:99999999999",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Device *device = NULL;
        Str why;
        CHECK(dev_open(&mem, &arena, wrong[i], &device, &why) == STATUS_USAGE);
        CHECK(device == NULL && has(why, wrong[i]) && has(why, "opencl:0"));
    }
    static const char *const right[] = {"cpu", "cpu:0", "cpu:1", "cpu:9999"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        Device *device = open_device(right[i]);
        CHECK(device->kind == DEVICE_CPU && strcmp(device->address, right[i]) == 0);
        CHECK(!dev_has_launches(device));
        dev_unload(device, NULL);
        dev_close(device);
    }
    dev_close(NULL);
}

// A long address full of bytes of all kinds is repeated in part only.
static void test_odd_address(void) {
    char address[4096];
    memset(address, '\xff', sizeof address);
    address[sizeof address - 1] = '\0';
    Device *device = NULL;
    Str why;
    CHECK(dev_open(&mem, &arena, address, &device, &why) == STATUS_USAGE);
    CHECK(why.len < DEVICE_WHY);
}

static void test_list(void) {
    DeviceInfo *infos, first;
    uint32_t count = dev_list(&arena, &infos);
    dev_processor(&arena, &first);
    CHECK(count >= 1 && infos[0].kind == DEVICE_CPU && infos[0].cannot == NULL);
    CHECK(strcmp(infos[0].address, "cpu") == 0 && infos[0].is_processor);
    CHECK(infos[0].driver == NULL && infos[0].cores >= 1);
    CHECK(infos[0].memory > 1 << 20 && infos[0].name[0] != '\0');
    CHECK(strcmp(first.name, infos[0].name) == 0 && first.memory == infos[0].memory);
    for (uint32_t i = 1; i < count; i++) {
        CHECK(infos[i].kind != DEVICE_CPU);
        CHECK(infos[i].name != NULL || infos[i].cannot != NULL);
        CHECK(infos[i].kind >= infos[i - 1].kind);
    }
}

// ---- memory -------------------------------------------------------------------------

static bool is_filled(const void *bytes, size_t count, int with) {
    const unsigned char *b = bytes;
    for (size_t i = 0; i < count; i++)
        if (b[i] != with) return false;
    return true;
}

static void test_memory(void) {
    enum { SIZE = 1000 };
    unsigned char in[SIZE], out[SIZE];
    for (int i = 0; i < SIZE; i++) in[i] = (unsigned char)(i * 7);
    Device *device = open_device("cpu:3"), *other = open_device("cpu:4");
    uint64_t a = 0, b = 0, c = 0;
    CHECK(dev_alloc(device, SIZE, &a) == STATUS_OK && a != 0 && a % 64 == 0);
    CHECK(dev_read(device, out, a, SIZE) == STATUS_OK && is_filled(out, SIZE, 0xA5));
    CHECK(dev_write(device, a, in, SIZE) == STATUS_OK);
    CHECK(dev_alloc(device, SIZE, &b) == STATUS_OK && b != a);
    CHECK(dev_alloc(other, SIZE, &c) == STATUS_OK && c != a && c != b);
    CHECK(dev_copy(device, b + 10, a + 10, SIZE - 20) == STATUS_OK);
    CHECK(dev_read(device, out, b, SIZE) == STATUS_OK);
    CHECK(memcmp(out + 10, in + 10, SIZE - 20) == 0);
    CHECK(is_filled(out, 10, 0xA5) && is_filled(out + SIZE - 10, 10, 0xA5));
    CHECK(dev_read(other, out, c, SIZE) == STATUS_OK && is_filled(out, SIZE, 0xA5));
    DeviceCounts counts = device->counts;
    CHECK(counts.writes == 1 && counts.write_bytes == SIZE);
    CHECK(counts.reads == 2 && counts.read_bytes == 2 * SIZE);
    CHECK(counts.used == 2 * SIZE && counts.peak == 2 * SIZE);
    CHECK(dev_write(device, a, NULL, 0) == STATUS_OK && device->counts.writes == 1);
    dev_free(device, a, SIZE);
    CHECK(device->counts.used == SIZE && device->counts.peak == 2 * SIZE);
    CHECK(dev_alloc(device, 0, &a) == STATUS_OK && a != 0);
    dev_free(device, a, 0);
    dev_free(device, b, SIZE);
    dev_free(other, c, SIZE);
    dev_close(device);
    dev_close(other);
}

static void test_limits(void) {
    Device *device = open_device("cpu:0");
    uint64_t a, b = 7;
    device->limit = 100;
    CHECK(dev_alloc(device, 60, &a) == STATUS_OK);
    CHECK(dev_alloc(device, 41, &b) == STATUS_MEMORY && b == 7);
    CHECK(strstr(device->why, "cpu:0") != NULL && strstr(device->why, "100") != NULL);
    CHECK(dev_alloc(device, SIZE_MAX, &b) == STATUS_MEMORY);
    CHECK(dev_alloc(device, 40, &b) == STATUS_OK);
    dev_free(device, a, 60);
    dev_free(device, b, 40);
    device->limit = 0;
    mem.fail_at = mem.calls + 1;
    CHECK(dev_alloc(device, 40, &b) == STATUS_MEMORY && device->why[0] != '\0');
    CHECK(dev_alloc(device, SIZE_MAX / 2, &b) == STATUS_MEMORY);
    CHECK(device->counts.used == 0);
    dev_close(device);
    Str why;
    mem.fail_at = mem.calls + 1;
    CHECK(dev_open(&mem, &arena, "cpu:0", &device, &why) == STATUS_MEMORY);
    CHECK(has(why, "memory"));
}

// ---- the books of a heap ------------------------------------------------------------

enum { CELLS = 2000, BLOCKS = 300 }; // cells of 64 bytes

typedef struct Model {
    Heap heap;
    unsigned char is_taken[CELLS];
    struct {
        uint64_t start, bytes;
    } blocks[BLOCKS];
    uint32_t count, cells;
} Model;

static uint32_t next_random(void) {
    static uint32_t state = 12345;
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static bool take_cells(Model *model, uint64_t start, uint64_t bytes, int taken) {
    bool is_right = start % 64 == 0;
    for (uint64_t i = start / 64; i * 64 < start + heap_size(bytes); i++) {
        if (i >= model->cells || model->is_taken[i] == taken) return false;
        model->is_taken[i] = (unsigned char)taken;
    }
    return is_right;
}

// The longest run of free cells.
static uint32_t longest_gap(const Model *model) {
    uint32_t longest = 0, run = 0;
    for (uint32_t i = 0; i < model->cells; i++) {
        run = model->is_taken[i] ? 0 : run + 1;
        if (run > longest) longest = run;
    }
    return longest;
}

static void take_or_give(Model *model) {
    uint64_t start, bytes = next_random() % (64 * 40);
    if (model->count < BLOCKS && next_random() % 5 < 3) {
        if (heap_take(&model->heap, bytes, &start)) {
            CHECK(take_cells(model, start, bytes, 1));
            model->blocks[model->count].start = start;
            model->blocks[model->count++].bytes = bytes;
        } else {
            CHECK(longest_gap(model) < heap_size(bytes) / 64);
        }
    } else if (model->count > 0) {
        uint32_t which = next_random() % model->count;
        start = model->blocks[which].start;
        bytes = model->blocks[which].bytes;
        model->blocks[which] = model->blocks[--model->count];
        CHECK(take_cells(model, start, bytes, 0));
        heap_give(&model->heap, start, bytes);
    }
}

static void test_heap(void) {
    static Model model;
    heap_init(&model.heap, &mem);
    uint64_t start;
    CHECK(!heap_take(&model.heap, 1, &start));
    for (int round = 0; round < 4; round++) { // it grows
        CHECK(heap_add(&model.heap, model.cells * 64, CELLS / 4 * 64));
        model.cells += CELLS / 4;
        for (int i = 0; i < 4000; i++) take_or_give(&model);
    }
    while (model.count > 0) {
        model.count--;
        heap_give(&model.heap, model.blocks[model.count].start,
                  model.blocks[model.count].bytes);
    }
    CHECK(model.heap.count == 1 && model.heap.gaps[0].bytes == CELLS * 64);
    CHECK(heap_take(&model.heap, CELLS * 64, &start) && start == 0);
    CHECK(!heap_take(&model.heap, 0, &start));
    heap_give(&model.heap, start, CELLS * 64);
    CHECK(!heap_take(&model.heap, UINT64_MAX, &start));
    heap_free(&model.heap);
}

// Giving back never needs memory, however the gaps lie.
static void test_heap_books(void) {
    enum { MANY = 1000 };
    Heap heap;
    uint64_t starts[MANY];
    heap_init(&heap, &mem);
    mem.fail_at = mem.calls + 1;
    CHECK(!heap_add(&heap, 0, MANY * 64));
    CHECK(heap_add(&heap, 0, MANY * 64));
    for (int i = 0; i < MANY; i++) CHECK(heap_take(&heap, 1, &starts[i]));
    uint64_t calls = mem.calls;
    for (int i = 0; i < MANY; i += 2) heap_give(&heap, starts[i], 1);
    CHECK(heap.count == MANY / 2);
    for (int i = 1; i < MANY; i += 2) heap_give(&heap, starts[i], 1);
    CHECK(heap.count == 1 && mem.calls == calls);
    heap_free(&heap);
}

int main(void) {
    arena_init(&arena, &mem);
    test_addresses();
    test_odd_address();
    test_list();
    test_memory();
    test_limits();
    test_heap();
    test_heap_books();
    arena_free(&arena);
    CHECK(mem.used == 0);
    return test_done();
}
