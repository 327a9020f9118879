// SPDX-License-Identifier: Apache-2.0
//
// Reading test blocks. The dashes are taken off first; what is left is words, braces
// and two forms that take the rest of their line (entry: and error:).
#include "cli/testblock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef struct Parser {
    const char *at; // in a terminated copy of the block without its dashes
    int line;
    TestBlocks *blocks;
} Parser;

static void fail(Parser *p, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(Parser *p, int line, const char *format, ...) {
    if (p->blocks->fault != NULL) return;
    char text[300];
    int at = snprintf(text, sizeof text, "line %d: ", line);
    va_list args;
    va_start(args, format);
    vsnprintf(text + at, sizeof text - (size_t)at, format, args);
    va_end(args);
    p->blocks->fault = strcpy(cli_alloc(strlen(text) + 1), text);
}

static char *copy(const char *from, size_t len) {
    char *text = cli_alloc(len + 1);
    memcpy(text, from, len);
    text[len] = '\0';
    return text;
}

static void skip_space(Parser *p) {
    for (; *p->at != '\0' && strchr(" \t\r\n", *p->at) != NULL; p->at++)
        p->line += *p->at == '\n';
}

static size_t word_length(const char *at) {
    return strcspn(at, " \t\r\n{}@\"");
}

// The rest of the line, trimmed.
static char *take_line(Parser *p) {
    size_t len = strcspn(p->at, "\n");
    const char *from = p->at;
    p->at += len;
    while (len > 0 && strchr(" \t\r", from[len - 1]) != NULL) len--;
    while (len > 0 && strchr(" \t", *from) != NULL) from++, len--;
    return copy(from, len);
}

// What stands between braces, which may nest; braces in strings do not count.
static char *take_braces(Parser *p, const char *what) {
    skip_space(p);
    int start = p->line, depth = 0;
    if (*p->at != '{') {
        fail(p, start, "expected `{` after %s", what);
        return NULL;
    }
    const char *from = p->at + 1;
    bool in_string = false;
    for (; *p->at != '\0'; p->at++) {
        char c = *p->at;
        p->line += c == '\n';
        if (in_string && c == '\\' && p->at[1] != '\0') p->at++;
        else if (c == '"') in_string = !in_string;
        else if (!in_string && c == '{') depth++;
        else if (!in_string && c == '}' && --depth == 0)
            return copy(from, (size_t)(p->at++ - from));
    }
    fail(p, start, "the `{` after %s is not closed", what);
    return NULL;
}

static TestData take_data(Parser *p, const char *what, TestSource in_braces) {
    skip_space(p);
    TestData data = {.source = in_braces};
    if (*p->at == '@' && in_braces == TEST_TEXT) {
        p->at++;
        while (*p->at == ' ' || *p->at == '\t') p->at++;
        size_t len = strcspn(p->at, " \t\r\n");
        data.source = TEST_FILE;
        data.text = copy(p->at, len);
        p->at += len;
        if (len == 0) fail(p, p->line, "expected a file after `@`");
    } else {
        data.text = take_braces(p, what);
    }
    return data;
}

static void take_entries(Parser *p, TestBlock *block) {
    char *names = take_line(p);
    for (char *at = names; *(at += strspn(at, " \t")) != '\0';) {
        size_t len = strcspn(at, " \t");
        block->entries = cli_resize(block->entries,
                                    (block->entry_count + 1) * sizeof *block->entries);
        block->entries[block->entry_count++] = copy(at, len);
        at += len;
    }
    free(names);
    if (block->entry_count == 0) fail(p, p->line, "expected names after `entry:`");
}

static TestCase *add_case(TestBlock *block, int line) {
    block->cases =
        cli_resize(block->cases, (block->case_count + 1) * sizeof *block->cases);
    TestCase *added = &block->cases[block->case_count++];
    *added = (TestCase){.line = line};
    return added;
}

static bool is_word(const char *word, size_t len, const char *what) {
    return strlen(what) == len && memcmp(word, what, len) == 0;
}

// What has been said in front of an input.
typedef struct Pending {
    char *name;
    bool is_off;
    TestSource source;
    bool is_auto;
} Pending;

static void take_error(Parser *p, TestBlock *block) {
    TestCase *last =
        block->case_count > 0 ? &block->cases[block->case_count - 1] : NULL;
    char *pattern = take_line(p);
    if (last == NULL) block->error = pattern;
    else if (last->output.source != TEST_NOTHING || last->error != NULL)
        fail(p, p->line, "this input has an expectation already");
    else last->error = pattern;
}

static void take_output(Parser *p, TestBlock *block, const Pending *pending, int line) {
    TestCase *last =
        block->case_count > 0 ? &block->cases[block->case_count - 1] : NULL;
    if (last == NULL || last->output.source != TEST_NOTHING || last->error != NULL)
        fail(p, line, "`output` belongs to no `input`");
    else if (pending->is_auto) last->output.source = TEST_AUTO;
    else last->output = take_data(p, "`output`", TEST_TEXT);
}

static void take_word(Parser *p, TestBlock *block, Pending *pending) {
    int line = p->line;
    const char *word = p->at;
    size_t len = word_length(word);
    if (*word == '"') {
        size_t name = strcspn(word + 1, "\"\n");
        if (word[1 + name] != '"') fail(p, line, "this name is not closed");
        pending->name = copy(word + 1, name);
        p->at += name + 1 + (word[1 + name] == '"');
        return;
    }
    p->at += len;
    if (is_word(word, len, "entry:")) {
        take_entries(p, block);
    } else if (is_word(word, len, "error:")) {
        take_error(p, block);
    } else if (is_word(word, len, "tags")) {
        free(take_braces(p, "`tags`"));
    } else if (is_word(word, len, "compiled") || is_word(word, len, "nobench")) {
        // Says how Futhark is to run this; it runs the same here.
    } else if (is_word(word, len, "notest")) {
        pending->is_off = true;
    } else if (is_word(word, len, "random")) {
        pending->source = TEST_RANDOM;
    } else if (is_word(word, len, "script")) {
        pending->source = TEST_SCRIPT;
    } else if (is_word(word, len, "auto")) {
        pending->is_auto = true;
    } else if (is_word(word, len, "input")) {
        TestSource source =
            pending->source != TEST_NOTHING ? pending->source : TEST_TEXT;
        TestCase *added = add_case(block, line);
        added->name = pending->name;
        added->is_off = pending->is_off;
        added->input = take_data(p, "`input`", source);
        *pending = (Pending){0};
    } else if (is_word(word, len, "output")) {
        take_output(p, block, pending, line);
        *pending = (Pending){0};
    } else {
        fail(p, line, "unknown word `%.*s` in a test block", (int)(len == 0 ? 1 : len),
             word);
    }
}

static void parse_block(TestBlocks *blocks, const char *text, int line) {
    blocks->data = cli_resize(blocks->data, (blocks->len + 1) * sizeof *blocks->data);
    TestBlock *block = &blocks->data[blocks->len++];
    *block = (TestBlock){.line = line};
    Parser p = {.at = text, .line = line, .blocks = blocks};
    Pending pending = {0};
    for (skip_space(&p); *p.at != '\0' && blocks->fault == NULL; skip_space(&p))
        take_word(&p, block, &pending);
    if (pending.source != TEST_NOTHING || pending.is_auto)
        fail(&p, p.line, "the block ends within a test");
    if (block->entry_count > 0) return;
    block->entries = cli_alloc(sizeof *block->entries);
    block->entries[block->entry_count++] = copy("main", 4);
}

static const char *line_end(const char *at, const char *end) {
    const char *found = memchr(at, '\n', (size_t)(end - at));
    return found == NULL ? end : found;
}

static bool is_start(const char *at, const char *end) {
    while (end > at && strchr(" \t\r", end[-1]) != NULL) end--;
    return end - at >= 4 && memcmp(at, "--", 2) == 0 && memcmp(end - 2, "==", 2) == 0 &&
           strspn(at + 2, " \t") == (size_t)(end - 2 - (at + 2));
}

TestBlocks testblock_parse(const char *program, size_t len) {
    TestBlocks blocks = {0};
    const char *at = program, *end = program + len;
    char *text = NULL;
    size_t used = 0;
    int line = 1, start = 0;
    for (; at < end && blocks.fault == NULL; line++) {
        const char *stop = line_end(at, end);
        bool is_comment = stop - at >= 2 && at[0] == '-' && at[1] == '-';
        if (text == NULL && is_start(at, stop)) {
            text = cli_alloc((size_t)(end - at) + 2);
            used = 0;
            start = line + 1;
        } else if (text != NULL && is_comment) {
            memcpy(text + used, at + 2, (size_t)(stop - at) - 2);
            used += (size_t)(stop - at) - 2;
            text[used++] = '\n';
        } else if (text != NULL) {
            text[used] = '\0';
            parse_block(&blocks, text, start);
            free(text);
            text = NULL;
        }
        at = stop + 1;
    }
    if (text != NULL && blocks.fault == NULL) {
        text[used] = '\0';
        parse_block(&blocks, text, start);
    }
    free(text);
    return blocks;
}
