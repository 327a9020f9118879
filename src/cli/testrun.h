// SPDX-License-Identifier: Apache-2.0
//
// Running the tests of one program, in a process of its own.
#ifndef WEFT_CLI_TESTRUN_H
#define WEFT_CLI_TESTRUN_H

#include <stdbool.h>

#include "weft.h"

// Receives what came of each test: text is NULL for one that passed.
typedef struct TestReport {
    void (*result)(void *data, const char *text);
    void *data;
    double tolerance;
    bool must_have_tests; // a program without any is a failure
    WeftOptions options;  // of the context
} TestReport;

void testrun_file(const char *path, const TestReport *report);

#endif
