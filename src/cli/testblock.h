// SPDX-License-Identifier: Apache-2.0
//
// Test blocks in programs (language.md, section 9): the comment lines from `-- ==` on.
#ifndef WEFT_CLI_TESTBLOCK_H
#define WEFT_CLI_TESTBLOCK_H

#include <stdbool.h>
#include <stddef.h>

typedef enum TestSource {
    TEST_NOTHING,
    TEST_TEXT,   // { values }
    TEST_FILE,   // @ path, relative to the program
    TEST_RANDOM, // random input { [10]f32 }
    TEST_SCRIPT, // script input { expression }
    TEST_AUTO    // auto output: any result will do
} TestSource;

typedef struct TestData {
    TestSource source;
    char *text; // what stands in the braces, or the path
} TestData;

typedef struct TestCase {
    char *name; // or NULL
    int line;
    bool is_off; // notest
    TestData input, output;
    char *error; // the regular expression of the error expected, or NULL
} TestCase;

typedef struct TestBlock {
    int line;
    char **entries;
    size_t entry_count;
    TestCase *cases;
    size_t case_count;
    char *error; // a compile-time error is expected; else NULL
} TestBlock;

typedef struct TestBlocks {
    TestBlock *data;
    size_t len;
    char *fault; // why the blocks could not be read, or NULL
} TestBlocks;

// Never fails but by setting fault. Everything is allocated with cli_alloc.
TestBlocks testblock_parse(const char *program, size_t len);

#endif
