// SPDX-License-Identifier: Apache-2.0
//
// The whole unit test framework: CHECK counts and reports, SKIP says what this machine
// cannot test; test_done prints the counts in the form the test driver reads. A test
// program is one file with one main.
#ifndef WEFT_TESTS_TEST_H
#define WEFT_TESTS_TEST_H

#include <stdio.h>

static int test_passed, test_failed, test_skipped;

#define CHECK(condition)                                                           \
    ((condition) ? (void)test_passed++                                             \
                 : (void)(test_failed++, printf("%s:%d: failed: %s\n", __FILE__,   \
                                                __LINE__, #condition)))

#define SKIP(...) (test_skipped++, printf("skipped: " __VA_ARGS__), putchar('\n'))

// Prints the counts; returns the status for main.
static inline int test_done(void) {
    printf("%d passed, %d failed", test_passed, test_failed);
    if (test_skipped > 0) printf(", %d skipped", test_skipped);
    puts("");
    return test_failed != 0;
}

#endif
