// SPDX-License-Identifier: Apache-2.0
//
// Reading test blocks. The dashes are taken off first; what is left is words, braces
// and two forms that take the rest of their line (entry: and error:).
#include "api/testblock.h"

#include <stdlib.h>
#include <string.h>

// An input and what it must give, for every entry of the block.
typedef struct Input {
    WeftTest info; // but for the entry
    TestData input, output;
} Input;

typedef struct Parser {
    Arena *arena;
    const char *at; // in a terminated copy of the block without its dashes
    uint32_t line;
    TestBlocks *blocks;
    // The block at hand:
    struct {
        const char **data;
        uint32_t len, cap;
    } entries;
    struct {
        Input *data;
        uint32_t len, cap;
    } inputs;
    const char *rejected; // the error that compiling must give, or NULL
    TestStructure structure;
    // What has been said in front of an input:
    Input next;
    bool is_auto;
} Parser;

static void fail(Parser *p, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(Parser *p, uint32_t line, const char *format, ...) {
    if (p->blocks->fault != NULL) return;
    StrBuf text = strbuf(p->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    strbuf_char(&text, '\0');
    p->blocks->fault = strbuf_done(&text).ptr;
    p->blocks->fault_line = line;
}

static const char *copy(Parser *p, const char *from, size_t len) {
    return str_terminated(p->arena, (Str){from, len});
}

static void skip_space(Parser *p) {
    for (; *p->at != '\0' && strchr(" \t\r\n", *p->at) != NULL; p->at++)
        p->line += *p->at == '\n';
}

static size_t word_length(const char *at) {
    return strcspn(at, " \t\r\n{}@\"");
}

// The rest of the line, trimmed.
static const char *take_line(Parser *p) {
    size_t len = strcspn(p->at, "\n");
    const char *from = p->at;
    p->at += len;
    while (len > 0 && strchr(" \t\r", from[len - 1]) != NULL) len--;
    while (len > 0 && strchr(" \t", *from) != NULL) from++, len--;
    return copy(p, from, len);
}

// What stands between braces, which may nest; braces in strings do not count.
static const char *take_braces(Parser *p, const char *what) {
    skip_space(p);
    uint32_t start = p->line, depth = 0;
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
            return copy(p, from, (size_t)(p->at++ - from));
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
        data.text = copy(p, p->at, len);
        p->at += len;
        if (len == 0) fail(p, p->line, "expected a file after `@`");
    } else {
        data.text = take_braces(p, what);
    }
    return data;
}

static void take_entries(Parser *p) {
    const char *at = take_line(p);
    while (*(at += strspn(at, " \t")) != '\0') {
        size_t len = strcspn(at, " \t");
        vec_push(p->arena, &p->entries, copy(p, at, len));
        at += len;
    }
    if (p->entries.len == 0) fail(p, p->line, "expected names after `entry:`");
}

// How a test shows its input.
static const char *show_input(Parser *p, const TestData *data) {
    if (data->source != TEST_FILE) return data->text;
    StrBuf text = strbuf(p->arena);
    strbuf_printf(&text, "@ %s", data->text);
    strbuf_char(&text, '\0');
    return strbuf_done(&text).ptr;
}

static void take_input(Parser *p, uint32_t line) {
    Input *next = &p->next;
    TestSource source = next->input.source;
    next->input = take_data(p, "`input`", source != TEST_NOTHING ? source : TEST_TEXT);
    next->info.kind = WEFT_TEST_CALL;
    next->info.line = line;
    next->info.input = show_input(p, &next->input);
    vec_push(p->arena, &p->inputs, *next);
    *next = (Input){0};
    p->is_auto = false;
}

static bool has_expectation(const Input *input) {
    return input->output.source != TEST_NOTHING || input->info.error != NULL;
}

static Input *last_input(Parser *p) {
    return p->inputs.len > 0 ? &p->inputs.data[p->inputs.len - 1] : NULL;
}

static void take_error(Parser *p) {
    Input *last = last_input(p);
    const char *pattern = take_line(p);
    if (last == NULL) p->rejected = pattern;
    else if (has_expectation(last))
        fail(p, p->line, "this input has an expectation already");
    else last->info.error = pattern;
}

static void take_output(Parser *p, uint32_t line) {
    Input *last = last_input(p);
    if (last == NULL || has_expectation(last))
        fail(p, line, "`output` belongs to no `input`");
    else if (p->is_auto) last->output.source = TEST_AUTO;
    else last->output = take_data(p, "`output`", TEST_TEXT);
    if (last != NULL) last->info.has_output = last->output.text != NULL;
    p->is_auto = false;
}

static CoreOp find_operator(Str name) {
    CoreOp op = 0;
    while (op < OP_COUNT && !str_eq(name, str_of(core_op_info[op].name))) op++;
    return op;
}

// { map 1 reduce 2 }
static void take_structure(Parser *p, uint32_t line) {
    static const char space[] = " \t\r\n";
    const char *at = take_braces(p, "`structure`");
    while (p->blocks->fault == NULL && *(at += strspn(at, space)) != '\0') {
        Str name = {at, strcspn(at, space)};
        at += name.len;
        at += strspn(at, space);
        size_t digits = strspn(at, "0123456789");
        TestCount wanted = {find_operator(name), 0};
        if (wanted.op == OP_COUNT)
            fail(p, line, "there is no operator `%.*s`", STR_ARG(name));
        else if (digits == 0 || digits > 6)
            fail(p, line, "expected a number after `%.*s`", STR_ARG(name));
        wanted.count = (uint32_t)strtoul(at, NULL, 10);
        at += digits;
        vec_push(p->arena, &p->structure, wanted);
    }
    if (p->structure.len == 0) fail(p, line, "expected operators in `structure`");
}

static void take_label(Parser *p) {
    size_t len = strcspn(p->at + 1, "\"\n");
    if (p->at[1 + len] != '"') fail(p, p->line, "this name is not closed");
    p->next.info.label = copy(p, p->at + 1, len);
    p->at += 1 + len + (p->at[1 + len] == '"');
}

static void take_word(Parser *p) {
    uint32_t line = p->line;
    Str word = {p->at, word_length(p->at)};
    if (*word.ptr == '"') {
        take_label(p);
        return;
    }
    p->at += word.len;
    if (str_eq(word, STR("entry:"))) take_entries(p);
    else if (str_eq(word, STR("error:"))) take_error(p);
    else if (str_eq(word, STR("tags"))) take_braces(p, "`tags`");
    else if (str_eq(word, STR("structure"))) take_structure(p, line);
    else if (str_eq(word, STR("compiled"))) return; // it runs the same here
    else if (str_eq(word, STR("nobench"))) p->next.info.only_test = 1;
    else if (str_eq(word, STR("notest"))) p->next.info.only_bench = 1;
    else if (str_eq(word, STR("random"))) p->next.input.source = TEST_RANDOM;
    else if (str_eq(word, STR("script"))) p->next.input.source = TEST_SCRIPT;
    else if (str_eq(word, STR("auto"))) p->is_auto = true;
    else if (str_eq(word, STR("input"))) take_input(p, line);
    else if (str_eq(word, STR("output"))) take_output(p, line);
    else
        fail(p, line, "unknown word `%.*s` in a test block",
             (int)(word.len == 0 ? 1 : word.len), word.ptr);
}

static void add_test(Parser *p, const WeftTest *info, const Input *input) {
    TestCase test = {.info = *info};
    if (info->kind == WEFT_TEST_STRUCTURE) test.structure = p->structure;
    if (input != NULL) {
        test.input = input->input;
        test.output = input->output;
    }
    vec_push(p->arena, p->blocks, test);
}

static void add_tests(Parser *p, uint32_t line) {
    if (p->rejected != NULL && p->structure.len > 0)
        fail(p, line, "what must be rejected has no structure");
    if (p->entries.len == 0) vec_push(p->arena, &p->entries, "main");
    WeftTest whole = {.line = line, .error = p->rejected};
    whole.kind = p->rejected != NULL ? WEFT_TEST_REJECTED : WEFT_TEST_COMPILES;
    if (p->structure.len > 0) whole.kind = WEFT_TEST_STRUCTURE;
    if (p->rejected != NULL || p->structure.len > 0 || p->inputs.len == 0)
        add_test(p, &whole, NULL);
    for (uint32_t i = 0; i < p->inputs.len; i++)
        for (uint32_t e = 0; e < p->entries.len; e++) {
            WeftTest call = p->inputs.data[i].info;
            call.entry = p->entries.data[e];
            add_test(p, &call, &p->inputs.data[i]);
        }
}

static void parse_block(Arena *arena, TestBlocks *blocks, const char *text,
                        uint32_t line) {
    Parser p = {.arena = arena, .at = text, .line = line, .blocks = blocks};
    for (skip_space(&p); *p.at != '\0' && blocks->fault == NULL; skip_space(&p))
        take_word(&p);
    if (p.next.input.source != TEST_NOTHING || p.is_auto)
        fail(&p, p.line, "the block ends within a test");
    if (blocks->fault == NULL) add_tests(&p, line);
}

static bool is_start(Str line) {
    while (line.len > 0 && strchr(" \t\r", line.ptr[line.len - 1]) != NULL) line.len--;
    if (line.len < 4 || memcmp(line.ptr, "--", 2) != 0) return false;
    for (size_t i = 2; i < line.len - 2; i++)
        if (line.ptr[i] != ' ' && line.ptr[i] != '\t') return false;
    return memcmp(line.ptr + line.len - 2, "==", 2) == 0;
}

TestBlocks testblock_parse(Arena *arena, Str program) {
    TestBlocks blocks = {0};
    StrBuf text = strbuf(arena);
    uint32_t start = 0; // the line at which the block begins; 0: not in one
    uint32_t number = 1;
    for (size_t at = 0; at < program.len && blocks.fault == NULL; number++) {
        const char *from = program.ptr + at;
        const char *end = memchr(from, '\n', program.len - at);
        Str line = {from, end != NULL ? (size_t)(end - from) : program.len - at};
        at += line.len + 1;
        bool is_comment = line.len >= 2 && memcmp(line.ptr, "--", 2) == 0;
        if (start == 0 && is_start(line)) {
            start = number + 1;
            text = strbuf(arena);
        } else if (start != 0 && is_comment) {
            strbuf_bytes(&text, line.ptr + 2, line.len - 2);
            strbuf_char(&text, '\n');
        }
        if (start == 0 || (is_comment && at < program.len)) continue;
        strbuf_char(&text, '\0');
        parse_block(arena, &blocks, strbuf_done(&text).ptr, start);
        start = 0;
    }
    return blocks;
}
