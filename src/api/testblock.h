// SPDX-License-Identifier: Apache-2.0
//
// Test blocks in programs (language.md, section 9): the comment lines from `-- ==` on.
#ifndef WEFT_API_TESTBLOCK_H
#define WEFT_API_TESTBLOCK_H

#include "base/str.h"
#include "core/core.h"
#include "weft.h"

typedef enum TestSource {
    TEST_NOTHING,
    TEST_TEXT,   // { values }
    TEST_FILE,   // @ path, relative to the program
    TEST_RANDOM, // random input { [10]f32 }
    TEST_SCRIPT, // script input { expression }
    TEST_AUTO    // auto output: what the reference interpreter makes
} TestSource;

typedef struct TestData {
    TestSource source;
    const char *text; // what stands in the braces, or the path
} TestData;

// So many statements of this operator are to be left after all passes.
typedef struct TestCount {
    CoreOp op;
    uint32_t count;
} TestCount;

typedef struct TestStructure {
    TestCount *data;
    uint32_t len, cap;
} TestStructure;

// A test for one entry; tests that share an input follow each other.
typedef struct TestCase {
    WeftTest info;
    TestData input, output;
    TestStructure structure;
} TestCase;

typedef struct TestBlocks {
    TestCase *data;
    uint32_t len, cap;
    const char *fault; // why the blocks could not be read, or NULL
    uint32_t fault_line;
} TestBlocks;

// Never fails but by setting fault. Everything is in the arena.
TestBlocks testblock_parse(Arena *arena, Str program);

#endif
