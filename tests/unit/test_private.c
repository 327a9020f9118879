// SPDX-License-Identifier: Apache-2.0
//
// What private memory keeps between calls: a small part always; more, as far as it may
// and was in use in the last calls, if there is no ceiling. What is given back is zero
// when it is touched again.
#include "rt/private.h"

#include "test.h"

enum { MIB = 1 << 20 };

// A call that uses so many bytes, and writes to the byte before their end.
static void use(RtPrivate *private, const Mem *mem, size_t bytes) {
    KernelEnv env;
    rt_private_open(private, mem, &env);
    env.high = env.top + bytes;
    if (bytes > 0) env.high[-1] = 1;
    rt_private_close(private, mem, &env);
}

static void test_kept(void) {
    Mem mem = {0};
    RtPrivate private;
    CHECK(rt_private_new(&mem, 4 * MIB, &private));
    use(&private, &mem, 3 * MIB - 5);
    CHECK(private.base[3 * MIB - 6] == 1);
    use(&private, &mem, 9 * MIB);
    CHECK(private.base[3 * MIB - 6] == 1 && private.base[9 * MIB - 1] == 0);
    use(&private, &mem, MIB);
    use(&private, &mem, 0);
    CHECK(private.base[3 * MIB - 6] == 1 && private.base[MIB - 1] == 1);
    for (int i = 0; i < 1000; i++) use(&private, &mem, MIB);
    CHECK(private.base[3 * MIB - 6] == 0 && private.base[MIB - 1] == 1);
    for (int i = 0; i < 1000; i++) use(&private, &mem, 0);
    CHECK(private.base[MIB - 1] == 1);
    mem.limit = 64 * MIB;
    use(&private, &mem, 3 * MIB);
    CHECK(private.base[3 * MIB - 1] == 0);
    rt_private_free(&private);
}

static void test_small(void) {
    Mem mem = {0};
    RtPrivate private;
    CHECK(rt_private_new(&mem, 0, &private));
    use(&private, &mem, 3 * MIB);
    CHECK(private.base[3 * MIB - 1] == 0);
    rt_private_free(&private);
}

// The first call that uses more than stays makes what does wide, which is empty once.
static void test_wide(void) {
    Mem mem = {0};
    RtPrivate private;
    CHECK(rt_private_new(&mem, 4 * MIB, &private));
    for (int i = 0; i < 2; i++) {
        use(&private, &mem, MIB);
        CHECK(!private.is_wide && private.base[MIB - 1] == 1);
    }
    use(&private, &mem, 3 * MIB);
    CHECK(private.is_wide && private.base[3 * MIB - 1] == 1);
    use(&private, &mem, MIB);
    use(&private, &mem, 2 * MIB);
    CHECK(private.base[MIB - 1] == 1);
    for (int i = 0; i < 2000; i++) use(&private, &mem, 0);
    CHECK(private.base[MIB - 1] == 1 && private.base[2 * MIB - 1] == 1);
    rt_private_free(&private);
    mem.limit = 64 * MIB;
    CHECK(rt_private_new(&mem, 0, &private));
    use(&private, &mem, 3 * MIB);
    CHECK(!private.is_wide);
    rt_private_free(&private);
}

int main(void) {
    test_kept();
    test_wide();
    test_small();
    return test_done();
}
