// SPDX-License-Identifier: Apache-2.0
//
// The rooms under everything: allocation with its failures, stacks, strings, names,
// maps, places in sources, rendered diagnostics.
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

#include "base/cx.h"
#include "test.h"

static bool is_text(Str s, const char *text) {
    return str_eq(s, str_of(text));
}

static void test_mem(void) {
    Mem mem = {.limit = 1000};
    void *a = mem_try_alloc(&mem, 600);
    CHECK(a != NULL && mem.used == 600);
    CHECK(mem_try_alloc(&mem, 401) == NULL);
    CHECK(mem.used == 600 && mem.calls == 2);
    CHECK(mem_try_alloc(&mem, SIZE_MAX) == NULL);
    memset(a, 7, 600);
    CHECK(mem_try_resize(&mem, a, 600, 500) == NULL); // both blocks live for a moment
    mem.limit = 0;
    char *b = mem_try_resize(&mem, a, 600, 5000);
    CHECK(b != NULL && b[599] == 7 && mem.used == 5000 && mem.peak == 5600);
    mem_free(&mem, b, 5000);
    CHECK(mem.used == 0);
    void *none = mem_try_alloc(&mem, 0);
    CHECK(none != NULL);
    mem_free(&mem, none, 0);
}

enum { LARGE = 1 << 20 };

static void take_and_free(Mem *mem, size_t count, size_t size) {
    void *blocks[8];
    for (size_t i = 0; i < count; i++) blocks[i] = mem_try_alloc(mem, size);
    for (size_t i = 0; i < count; i++) mem_free(mem, blocks[i], size);
}

// One that is larger by up to a half will do, the smallest of them; and remains as
// large as it was. Below a ceiling there is nothing to spare.
static void test_larger_spares(void) {
    enum { A_LITTLE_MORE = LARGE + LARGE / 8, MORE = LARGE + LARGE / 2 };
    Mem mem = {.spare_most = 16 * LARGE};
    void *more = mem_try_alloc(&mem, MORE),
         *little = mem_try_alloc(&mem, A_LITTLE_MORE);
    mem_free(&mem, little, A_LITTLE_MORE);
    mem_free(&mem, more, MORE);
    void *first = mem_try_alloc(&mem, LARGE), *second = mem_try_alloc(&mem, LARGE);
    CHECK(first == little && second == more && mem.spare == 0);
    CHECK(atomic_load(&mem.used) == 2 * LARGE);
    mem_free(&mem, first, LARGE);
    mem_free(&mem, second, LARGE);
    CHECK(mem.spare == A_LITTLE_MORE + MORE);
    void *less = mem_try_alloc(&mem, LARGE / 2),
         *larger = mem_try_alloc(&mem, 2 * LARGE);
    CHECK(mem.spare == A_LITTLE_MORE + MORE);
    mem.limit = 16 * LARGE;
    void *bounded = mem_try_alloc(&mem, LARGE);
    CHECK(mem.spare == A_LITTLE_MORE + MORE);
    mem.limit = 0;
    mem_free(&mem, bounded, LARGE);
    mem_free(&mem, less, LARGE / 2);
    mem_free(&mem, larger, 2 * LARGE);
    // Those that have pages of their own have room for a little more.
    void *large = mem_try_alloc(&mem, 8 * LARGE);
    mem_free(&mem, large, 8 * LARGE);
    void *again = mem_try_alloc(&mem, 10 * LARGE);
    CHECK(again == large);
    memset(again, 1, 10 * LARGE);
    mem_free(&mem, again, 10 * LARGE);
    mem_trim(&mem);
}

// Large blocks are kept for the next of that size, within bounds.
static void test_spares(void) {
    Mem mem = {.spare_most = 3 * LARGE};
    take_and_free(&mem, 1, LARGE - 1);
    CHECK(atomic_load(&mem.used) == 0);
    if (mem.spare == 0) {
        SKIP("a sanitizer wants to see the end of each block");
        return;
    }
    void *kept = mem.spares[0].block;
    void *other = mem_try_alloc(&mem, LARGE / 2);
    void *again = mem_try_alloc(&mem, LARGE);
    CHECK(other != kept && again == kept && mem.spare == 0);
    mem_free(&mem, other, LARGE / 2);
    mem_free(&mem, again, LARGE);
    mem_trim(&mem);
    // A little more, or less, is the same size.
    take_and_free(&mem, 1, LARGE + 1);
    again = mem_try_alloc(&mem, LARGE + LARGE / 16);
    CHECK(mem.spare == 0);
    memset(again, 1, LARGE + LARGE / 16);
    mem_free(&mem, again, LARGE + LARGE / 16);
    mem_trim(&mem);
    test_larger_spares();
    take_and_free(&mem, 5, LARGE);
    CHECK(mem.spare == 3 * LARGE);
    // As much as is in use may be spare, until a round ends.
    void *much = mem_try_alloc(&mem, 8 * LARGE);
    take_and_free(&mem, 5, LARGE);
    CHECK(mem.spare == 5 * LARGE);
    mem_age(&mem);
    CHECK(mem.spare == 3 * LARGE);
    mem_age(&mem);
    take_and_free(&mem, 2, LARGE); // of three only two are used in this round
    CHECK(mem.spare == 3 * LARGE);
    mem_age(&mem);
    CHECK(mem.spare == 2 * LARGE);
    mem_age(&mem);
    CHECK(mem.spare == 2 * LARGE);
    mem_age(&mem);
    CHECK(mem.spare == 0);
    mem_free(&mem, much, 8 * LARGE);
    CHECK(mem.spare == 0 && !mem_trim(&mem));
}

// Spare blocks go from one to another, as many as are wanted and have room.
static void test_handed_on(void) {
    Mem mem = {.spare_most = 32 * LARGE}, to = {.spare_most = LARGE};
    Mem bounded = {.spare_most = LARGE, .limit = 9 * LARGE}, without = {0};
    take_and_free(&mem, 4, LARGE);
    if (mem.spare == 0) {
        SKIP("a sanitizer wants to see the end of each block");
        return;
    }
    void *last = mem.spares[3].block;
    mem_hand_on(&mem, &bounded, SIZE_MAX);
    mem_hand_on(&mem, &without, SIZE_MAX);
    CHECK(mem.spare == 4 * LARGE && bounded.spare == 0 && without.spare == 0);
    mem_hand_on(&mem, &to, 2 * LARGE - 1);
    CHECK(mem.spare == 3 * LARGE && mem.spare_count == 3);
    CHECK(to.spare == LARGE && to.spare_count == 1 && to.spares[0].block == last);
    void *block = mem_try_alloc(&to, LARGE);
    CHECK(block == last && to.spare == 0 && atomic_load(&to.used) == LARGE);
    mem_free(&to, block, LARGE);
    void *blocks[MEM_SPARES];
    enum { SMALLER = LARGE / 4 };
    for (uint32_t i = 3; i < MEM_SPARES; i++) blocks[i] = mem_try_alloc(&mem, SMALLER);
    for (uint32_t i = 3; i < MEM_SPARES; i++) mem_free(&mem, blocks[i], SMALLER);
    CHECK(mem.spare_count == MEM_SPARES);
    mem_hand_on(&mem, &to, SIZE_MAX);
    CHECK(mem.spare_count == 1 && to.spare_count == MEM_SPARES);
    mem_trim(&mem);
    mem_trim(&to);
    CHECK(mem.spare == 0 && to.spare == 0);
}

// Small ones are kept, too, some hundred KiB of them.
static void test_small_spares(void) {
    Mem mem = {.spare_most = LARGE};
    take_and_free(&mem, 5, 1000);
    if (mem.small == 0) {
        SKIP("a sanitizer wants to see the end of each block");
        return;
    }
    CHECK(mem.small == 5 * 1024 && mem.spare == 0 && atomic_load(&mem.used) == 0);
    void *other = mem_try_alloc(&mem, 900), *again = mem_try_alloc(&mem, 1024);
    CHECK(other != again && mem.small == 4 * 1024);
    mem_free(&mem, other, 900);
    mem_free(&mem, again, 1024);
    CHECK(mem.small == 5 * 1024 + 960);
    // Sizes between two powers of two share a list.
    for (size_t size = 1; size < LARGE / 2; size += 999) take_and_free(&mem, 3, size);
    CHECK(mem.small > 0 && mem.small <= 1 << 18 && atomic_load(&mem.used) == 0);
    for (size_t size = 1; size < LARGE / 2; size += 999) {
        char *block = mem_try_alloc(&mem, size);
        CHECK(block != NULL && (uintptr_t)block % 64 == 0);
        memset(block, 1, size);
        mem_free(&mem, block, size);
    }
    CHECK(mem_trim(&mem) && mem.small == 0 && !mem_trim(&mem));
    Mem bounded = {.spare_most = LARGE, .limit = LARGE};
    take_and_free(&bounded, 5, 1000);
    CHECK(bounded.small == 0);
}

// Large blocks begin in the middle of a page, at different places.
static void test_places_in_pages(void) {
    enum { COUNT = 36, PAGE = 4096, QUARTER = PAGE / 4 };
    Mem mem = {.spare_most = 3 * LARGE};
    take_and_free(&mem, 1, LARGE);
    if (mem.spare == 0) {
        SKIP("a sanitizer wants to see both ends of each block");
        return;
    }
    char *blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        blocks[i] = mem_try_alloc(&mem, LARGE - 64 * i);
        memset(blocks[i], 0, LARGE - 64 * i);
        uintptr_t place = (uintptr_t)blocks[i] % PAGE;
        CHECK(place % 64 == 0 && place % QUARTER >= 128 && place % QUARTER <= 896);
        for (size_t k = 0; k < i; k++) CHECK(place != (uintptr_t)blocks[k] % PAGE);
    }
    for (size_t i = 0; i < COUNT; i++) mem_free(&mem, blocks[i], LARGE - 64 * i);
    mem_trim(&mem);
}

// Whether large pages are asked for where that byte is, as the system tells.
static bool is_wide(const char *at) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    bool is_here = false, is = false;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            is_here = begin <= (uintptr_t)at && (uintptr_t)at < end;
        if (is_here && strncmp(line, "VmFlags:", 8) == 0)
            is = strstr(line, " hg") != NULL;
    }
    if (maps != NULL) fclose(maps);
    return is;
}

// Before others: in memory for which nobody has asked for large pages yet.
static void test_last_page(void) {
    const size_t most = 4000000;
    Mem mem = {.spare_most = 3 * LARGE};
    char *block = mem_try_alloc(&mem, most);
    CHECK(is_wide(block + most - 1) == is_wide(block));
    mem_free(&mem, block, most);
    mem_trim(&mem);
}

// Those that are longer than a large page begin with one, and end with one that they
// fill for the most part.
static void test_large_pages(void) {
    enum { LARGE_PAGE = 1 << 21, PAGE = 4096 };
    Mem mem = {.spare_most = 3 * LARGE};
    take_and_free(&mem, 1, LARGE);
    if (mem.spare == 0) {
        SKIP("a sanitizer wants to see both ends of each block");
        return;
    }
    for (int i = 0; i < 3; i++) {
        void *block = mem_try_alloc(&mem, LARGE_PAGE + LARGE);
        CHECK((uintptr_t)block % LARGE_PAGE < PAGE);
        mem_free(&mem, block, LARGE_PAGE + LARGE);
        mem_trim(&mem);
    }
}

// Smaller ones lie behind one another in pages which nobody else has.
static void test_shared_pages(void) {
    enum { SIZE = 700000, COUNT = 30 };
    PagesEnd end = {0};
    char *blocks[COUNT];
    size_t neighbours = 0;
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = pages_take(&end, SIZE);
        CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % SMALL_PAGE == 0);
        memset(blocks[i], i, SIZE);
        neighbours += i > 0 && blocks[i] - blocks[i - 1] < SIZE + SMALL_PAGE;
        if (i % 3 == 2) pages_give_back(blocks[i] + SMALL_PAGE - 1);
    }
    CHECK(neighbours >= COUNT / 2);
    pages_close(&end);
    for (int i = 0; i < COUNT; i++) {
        if (i % 3 == 2) continue;
        CHECK(blocks[i][0] == i && blocks[i][SIZE - 1] == i);
        pages_give_back(blocks[i]);
    }
    pages_close(&end); // twice is once

    Mem mem = {.spare_most = 3 * LARGE}, without = {0};
    take_and_free(&mem, 1, LARGE);
    char *block = mem_try_alloc(&mem, LARGE / 3),
         *other = mem_try_alloc(&without, LARGE);
    CHECK(mem.spare == 0 || is_wide(block) == is_wide(other));
    CHECK(without.end.pages == NULL); // it has no last word
    mem_trim(&mem);
    CHECK(mem.end.pages == NULL);
    memset(block, 1, LARGE / 3);
    mem_free(&mem, block, LARGE / 3);
    mem_free(&without, other, LARGE);
    mem_trim(&mem);
}

// What is loosened has room for the same again; what lies beside it stays.
static void test_loosened(void) {
    enum { SIZE = 40 * LARGE, FROM = 100, TO = SIZE - 100 };
    Mem mem = {.spare_most = mem_spare_most()};
    CHECK(mem.spare_most > 0);
    unsigned char *block = mem_try_alloc(&mem, SIZE);
    memset(block, 7, SIZE);
    mem_loosen(block + FROM, TO - FROM);
    size_t same = 0, known = 0;
    for (size_t i = 0; i < SIZE; i++) {
        if (i < FROM || i >= TO) same += block[i] == 7;
        else known += block[i] == 7 || block[i] == 0;
    }
    CHECK(same == FROM + SIZE - TO && known == TO - FROM);
    mem_free(&mem, block, SIZE);
    mem_age(&mem);
    bool keeps = mem.spare > 0;
    unsigned char *again = mem_try_alloc(&mem, SIZE);
    CHECK(again == block || !keeps);
    memset(again, 9, SIZE);
    CHECK(again[0] == 9 && again[SIZE - 1] == 9);
    mem_free(&mem, again, SIZE);
    mem_trim(&mem);
}

// Under a ceiling what is used and what is kept stay below it together.
static void test_spares_below_ceiling(void) {
    Mem mem = {.limit = 4 * LARGE, .spare_most = 100 * (size_t)LARGE};
    void *base = mem_try_alloc(&mem, LARGE);
    take_and_free(&mem, 3, LARGE);
    CHECK(mem.spare <= 3 * LARGE);
    void *small = mem_try_alloc(&mem, 1000);
    CHECK(small != NULL && mem.spare <= 2 * LARGE);
    mem_free(&mem, small, 1000);
    void *most = mem_try_alloc(&mem, 2 * LARGE);
    CHECK(most != NULL && mem.spare <= LARGE);
    CHECK(mem_try_alloc(&mem, LARGE + 1) == NULL);
    void *last = mem_try_alloc(&mem, LARGE);
    CHECK(last != NULL && mem.spare == 0);
    mem_free(&mem, base, LARGE);
    mem_free(&mem, most, 2 * LARGE);
    mem_free(&mem, last, LARGE);
    mem_trim(&mem);
    CHECK(atomic_load(&mem.used) == 0 && mem.spare == 0);
}

static void test_arena(void) {
    Mem mem = {0};
    Arena arena;
    arena_init(&arena, &mem);
    struct {
        int *data;
        uint32_t len, cap;
    } numbers = {0};
    for (int i = 0; i < 100000; i++) vec_push(&arena, &numbers, i);
    bool in_order = true;
    for (int i = 0; i < 100000; i++) in_order &= numbers.data[i] == i;
    CHECK(in_order);
    char *large = arena_alloc(&arena, 10 << 20);
    memset(large, 1, 10 << 20);
    CHECK(((uintptr_t)arena_alloc(&arena, 3) & 15) == 0);
    arena_free(&arena);
    CHECK(mem.used == 0);
}

// Below a ceiling little more is taken than was asked for.
static void test_arena_below(void) {
    enum { LIMIT = 4 << 20, MANY = 2200, EACH = 1000 };
    Mem mem = {.limit = LIMIT};
    Arena arena;
    arena_init(&arena, &mem);
    for (int i = 0; i < MANY; i++) arena_alloc(&arena, EACH);
    CHECK(mem.used < MANY * EACH + LIMIT / 32);
    arena_free(&arena);
    CHECK(mem.used == 0);
}

// What came after a mark is given up, with the chunks that it took.
static void test_back(void) {
    Mem mem = {0};
    Arena arena;
    arena_init(&arena, &mem);
    ArenaMark nothing = arena_mark(&arena);
    arena_alloc(&arena, 100);
    arena_back(&arena, nothing);
    CHECK(mem.used == 0 && arena.chunks == NULL);
    char *first = arena_alloc(&arena, 100);
    memset(first, 1, 100);
    size_t used = mem.used;
    ArenaMark mark = arena_mark(&arena);
    char *next = arena_alloc(&arena, 100);
    for (int i = 0; i < 100; i++) arena_alloc(&arena, 50000);
    arena_back(&arena, mark);
    CHECK(mem.used == used && first[0] == 1 && first[99] == 1);
    CHECK((char *)arena_alloc(&arena, 100) == next);
    arena_free(&arena);
    CHECK(mem.used == 0);
}

// Rounds take place in the same memory, of which they hold one chunk in between.
static void test_reset(void) {
    Mem mem = {0};
    Arena arena;
    arena_init(&arena, &mem);
    arena_reset(&arena); // there is nothing yet
    for (int i = 0; i < 100; i++) arena_alloc(&arena, 50000);
    size_t most = mem.used;
    arena_reset(&arena);
    CHECK(mem.used > 0 && mem.used <= 1 << 17);
    size_t kept = mem.used;
    char *first = arena_alloc(&arena, 1000);
    for (int round = 0; round < 10; round++) {
        arena_reset(&arena);
        char *again = arena_alloc(&arena, 1000);
        CHECK(again == first);
        memset(again, round, 1000);
        for (int i = 0; i < 2; i++) arena_alloc(&arena, 50000);
        CHECK(mem.used == kept);
    }
    for (int i = 0; i < 100; i++) arena_alloc(&arena, 50000);
    CHECK(mem.used <= most + kept);
    arena_free(&arena);
    CHECK(mem.used == 0);
}

// What one arena holds another one gets, of another Mem, which counts it from then on.
static void test_adopting(void) {
    Mem mem = {0}, other_mem = {0};
    Arena arena, other;
    arena_init(&arena, &mem);
    arena_init(&other, &other_mem);
    arena_adopt(&arena, &other); // nothing by nothing
    for (int round = 0; round < 2; round++) {
        char *block = NULL, *own = NULL;
        if (round > 0) own = arena_copy(&arena, "own", 4);
        for (int i = 0; i < 10; i++) block = arena_alloc(&other, 50000);
        memset(block, 7, 50000);
        size_t both = mem.used + other_mem.used;
        arena_adopt(&arena, &other);
        CHECK(mem.used == both && mem.peak == both && other_mem.used == 0);
        char *next = arena_zeroed(&arena, 1, 40000);
        CHECK(next != block && block[0] == 7 && block[49999] == 7);
        CHECK(own == NULL || strcmp(own, "own") == 0);
        arena_reset(&arena);
        arena_free(&other);
    }
    arena_free(&arena);
    CHECK(mem.used == 0 && mem.peak > 500000);
}

// Every allocation that arena work makes fails once, and nothing is left behind.
static void test_unwinding(void) {
    volatile int failures = 0;
    for (volatile uint64_t k = 1; k < 100; k++) {
        Mem mem = {.fail_at = k};
        Arena arena;
        jmp_buf here;
        arena_init(&arena, &mem);
        mem.recover = &here;
        if (setjmp(here) == 0) {
            for (int i = 0; i < 50; i++) arena_alloc(&arena, 40000);
            arena_free(&arena);
            CHECK(mem.used == 0);
            break;
        }
        failures++;
        arena_free(&arena);
        CHECK(mem.used == 0);
    }
    CHECK(failures > 2);
    Mem mem = {0};
    Arena arena;
    jmp_buf here;
    arena_init(&arena, &mem);
    mem.recover = &here;
    bool unwound = setjmp(here) != 0;
    if (!unwound) arena_zeroed(&arena, SIZE_MAX / 2, 16);
    CHECK(unwound);
    arena_free(&arena);
}

static void test_strings(Arena *arena) {
    CHECK(str_cmp(STR("ab"), STR("abc")) < 0 && str_cmp(STR("b"), STR("abc")) > 0);
    CHECK(str_distance(STR("lenght"), STR("length"), 2) == 1); // a swap
    CHECK(str_distance(STR("map"), STR("maps"), 2) == 1);
    CHECK(str_distance(STR("reduce"), STR("scan"), 2) == 3);
    CHECK(str_distance(STR(""), STR("ab"), 2) == 2);
    CHECK(str_utf8(STR("a")) == 1 && str_utf8(STR("\xc3\xa9")) == 2);
    CHECK(str_utf8(STR("\xe2\x82\xac")) == 3 && str_utf8(STR("\xf0\x9f\x99\x82")) == 4);
    CHECK(str_utf8(STR("\xc0\x80")) == 0 && str_utf8(STR("\xe2\x82")) == 0);
    CHECK(str_utf8(STR("\xed\xa0\x80")) == 0 && str_utf8(STR("\xf4\x90\x80\x80")) == 0);
    CHECK(str_utf8(STR("\xff")) == 0 && str_utf8(STR("")) == 0);
    StrBuf buf = strbuf(arena);
    for (int i = 0; i < 1000; i++) strbuf_printf(&buf, "%d,", i);
    CHECK(buf.len == 10 * 2 + 90 * 3 + 900 * 4);
    for (int width = 0; width < 200; width++) { // whatever room there was
        StrBuf text = strbuf(arena);
        strbuf_printf(&text, "<%s%*d", "", width, 1);
        strbuf_printf(&text, ">");
        CHECK(text.len == (size_t)(width > 1 ? width : 1) + 2);
        CHECK(text.data[text.len - 2] == '1' && text.data[text.len - 1] == '>');
    }
    CHECK(strcmp(str_terminated(arena, STR("abc")), "abc") == 0);
    StrBuf head = strbuf(arena);
    strbuf_insert(&head, 0, STR("def"));
    strbuf_insert(&head, 3, STR("gh"));
    strbuf_insert(&head, 0, STR("abc"));
    strbuf_insert(&head, 2, STR(""));
    for (int i = 0; i < 100; i++) strbuf_insert(&head, 4, STR("<>"));
    Str inserted = strbuf_done(&head);
    CHECK(inserted.len == 208 && memcmp(inserted.ptr, "abcd<><>", 8) == 0 &&
          memcmp(inserted.ptr + 200, "<><>efgh", 8) == 0);
    StrBuf mixed = strbuf(arena);
    strbuf_printf(&mixed, "%s|%u|%u|%.*s|%.*s", "one", 0u, 4294967295u, 2, "two", 0,
                  "");
    strbuf_printf(&mixed, "|%u %5u %.*s %s %u%%", 1u, 2u, 9, "three", "four", 5u);
    CHECK(
        str_eq(strbuf_done(&mixed), STR("one|0|4294967295|tw||1     2 three four 5%")));
}

static void test_tables(Arena *arena) {
    Symbols symbols;
    symbols_init(&symbols, arena);
    char name[16];
    Sym syms[5000];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "name%d", i);
        syms[i] = sym_cstr(&symbols, name);
    }
    bool same = true;
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "name%d", i);
        same &= sym_cstr(&symbols, name) == syms[i] &&
                is_text(sym_str(&symbols, syms[i]), name);
    }
    CHECK(same);
    CHECK(sym_intern(&symbols, STR("")) == 0);
    Map map;
    map_init(&map, arena);
    for (uint64_t k = 1; k <= 5000; k++) map_set(&map, k * 977, k);
    uint64_t value = 0;
    bool found = true;
    for (uint64_t k = 1; k <= 5000; k++)
        found &= map_get(&map, k * 977, &value) && value == k;
    CHECK(found && map.count == 5000);
    CHECK(!map_get(&map, 5, &value));
    map_set(&map, 977, 42);
    CHECK(map_get(&map, 977, &value) && value == 42 && map.count == 5000);
    map_reserve(&map, 20000);
    const void *slots = map.slots;
    for (uint64_t k = 1; k <= 20000; k++) map_set(&map, k << 32, k);
    CHECK(map.slots == slots && map.count == 25000);
    CHECK(map_get(&map, 977, &value) && value == 42);
    CHECK(map_get(&map, (uint64_t)7 << 32, &value) && value == 7);
    CHECK(map_get(&map, 4999 * 977, &value) && value == 4999);
}

static void test_sources(Cx *cx) {
    const Source *a = sources_add(&cx->sources, STR("a"), STR("one\ntwo\r\n"), false);
    const Source *b = sources_add(&cx->sources, STR("b"), STR("h\xc3\xa9!"), false);
    CHECK(sources_place(&cx->sources, 0).source == NULL);
    Place place = sources_place(&cx->sources, a->base + 5);
    CHECK(place.source == a && place.line == 2 && place.column == 2);
    CHECK(is_text(source_line(&cx->sources, a, 2), "two"));
    CHECK(is_text(source_line(&cx->sources, a, 3), ""));
    place = sources_place(&cx->sources, b->base + 3);
    CHECK(place.source == b && place.line == 1 && place.column == 3);
    Span end = {a->base + 9, a->base + 9};
    CHECK(is_text(sources_show(&cx->sources, cx->arena, end), "a:3:1"));
    Span joined = span_join((Span){5, 7}, (Span){2, 6});
    CHECK(joined.start == 2 && joined.end == 7);
}

static Str render(Cx *cx, const Diag *diag) {
    StrBuf buf = strbuf(cx->arena);
    diag_render(&cx->sources, diag, false, &buf);
    return strbuf_done(&buf);
}

static void test_diags(Cx *cx) {
    static const DiagKind unknown = {"unknown-name", "unknown name '%s'"};
    const Source *s =
        sources_add(&cx->sources, STR("f.weft"), STR("\tlet x = yy\n"), false);
    Span yy = {s->base + 9, s->base + 11};
    Diag *diag = diag_error(&cx->diags, yy, &unknown, "yy");
    diag_label(&cx->diags, diag, "not in scope");
    diag_note(&cx->diags, diag, (Span){s->base + 5, s->base + 6}, "%s is here", "x");
    diag_hint(&cx->diags, diag, "did you mean '%s'?", "y");
    CHECK(is_text(render(cx, diag),
                  "f.weft:1:10: error: unknown name 'yy' [unknown-name]\n"
                  "    1 |     let x = yy\n"
                  "      |             ^^ not in scope\n"
                  "f.weft:1:6: note: x is here\n"
                  "    1 |     let x = yy\n"
                  "      |         ^\n"
                  "hint: did you mean 'y'?\n"));
    diag_error(&cx->diags, yy, &unknown, "yy");
    CHECK(cx->diags.error_count == 1 && cx->diags.len == 1);
    diag_warning(&cx->diags, yy, &unknown, "advice");
    CHECK(cx->diags.len == 1);
    cx->diags.advice = true;
    diag_warning(&cx->diags, yy, &unknown, "advice");
    CHECK(cx->diags.len == 2 && cx->diags.error_count == 1);

    const Source *bad =
        sources_add(&cx->sources, STR("g"), STR("a\x1b[31m\xff b"), false);
    Diag *unsafe =
        diag_error(&cx->diags, (Span){bad->base + 8, bad->base + 9}, &unknown, "\x1b");
    CHECK(memchr(render(cx, unsafe).ptr, '\x1b', render(cx, unsafe).len) == NULL);

    StrBuf line = strbuf(cx->arena);
    for (int i = 0; i < 100000; i++) strbuf_char(&line, 'x');
    const Source *wide = sources_add(&cx->sources, STR("h"), strbuf_done(&line), false);
    Span middle = {wide->base + 50000, wide->base + 99999};
    CHECK(render(cx, diag_error(&cx->diags, middle, &unknown, "w")).len < 1000);
}

// How many frames of 4 KiB there is room for; every one is written to, where the
// compiler cannot know.
static uint32_t dive(const Stack *stack) {
    static volatile uint32_t last = 1023;
    volatile uint32_t frame[1024];
    frame[last] = 1;
    uint32_t below = stack_is_low(stack) ? 0 : dive(stack);
    return below + frame[last];
}

static void *measure(void *frames_out) {
    Stack stack;
    stack_measure(&stack);
    *(uint32_t *)frames_out = dive(&stack);
    return NULL;
}

// The first thread's stack and another's, to the end.
static void test_stacks(void) {
    uint32_t frames = 0;
    pthread_t thread;
    pthread_attr_t small;
    measure(&frames);
    CHECK(frames > 150 && frames <= 2048);
    CHECK(pthread_attr_init(&small) == 0);
    CHECK(pthread_attr_setstacksize(&small, 1 << 20) == 0);
    bool is_started = pthread_create(&thread, &small, measure, &frames) == 0;
    CHECK(is_started && pthread_join(thread, NULL) == 0);
    CHECK(frames > 50 && frames <= 256);
    pthread_attr_destroy(&small);
}

int main(void) {
    test_last_page();
    Mem mem = {0};
    Arena arena;
    jmp_buf out_of_memory;
    arena_init(&arena, &mem);
    mem.recover = &out_of_memory;
    if (setjmp(out_of_memory) != 0) return 1;
    Cx cx;
    cx_init(&cx, &arena);
    test_mem();
    test_spares();
    test_handed_on();
    test_small_spares();
    test_places_in_pages();
    test_large_pages();
    test_shared_pages();
    test_loosened();
    test_spares_below_ceiling();
    test_stacks();
    test_arena();
    test_arena_below();
    test_back();
    test_reset();
    test_adopting();
    test_unwinding();
    test_strings(&arena);
    test_tables(&arena);
    test_sources(&cx);
    test_diags(&cx);
    arena_free(&arena);
    CHECK(mem.used == 0);
    return test_done();
}
