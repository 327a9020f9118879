// SPDX-License-Identifier: Apache-2.0
//
// The test blocks of a program's file: what they ask for, as values.
#include <string.h>

#include "api/api.h"
#include "api/testblock.h"
#include "data/file.h"

struct WeftTests {
    WeftContext *context;
    ApiDrop drop;
    WeftTests *next, *prev; // in context->tests
    Arena arena;
    const char *path;
    Str text; // of the program
    TestBlocks blocks;
};

// ---- the blocks of a file -----------------------------------------------------------

void api_tests_destroy(WeftTests *tests) {
    WeftContext *context = tests->context;
    if (tests->prev != NULL) tests->prev->next = tests->next;
    else context->tests = tests->next;
    if (tests->next != NULL) tests->next->prev = tests->prev;
    arena_free(&tests->arena);
    mem_free(&context->mem, tests, sizeof *tests);
}

static void drop_tests(void *what) {
    api_tests_destroy(what);
}

static WeftTests *new_tests(WeftContext *context) {
    WeftTests *tests = mem_alloc(&context->mem, sizeof *tests);
    *tests = (WeftTests){.context = context, .next = context->tests};
    tests->drop = (ApiDrop){.destroy = drop_tests, .what = tests};
    arena_init(&tests->arena, &context->mem);
    if (tests->next != NULL) tests->next->prev = tests;
    context->tests = tests;
    return tests;
}

typedef struct OpenCall {
    const char *path;
    WeftTests **out;
} OpenCall;

static WeftStatus open_tests(WeftContext *context, void *data) {
    const OpenCall *call = data;
    WeftTests *tests = new_tests(context);
    const char *why;
    tests->path = str_terminated(&tests->arena, str_of(call->path));
    if (!api_read_file(&tests->arena, call->path, &tests->text, &why))
        return api_fail(context, WEFT_STATUS_IO, "cannot read `%s`: %s", call->path,
                        why);
    tests->blocks = testblock_parse(&tests->arena, tests->text);
    if (tests->blocks.fault != NULL)
        return api_fault_value(context, call->path, tests->blocks.fault_line, 1,
                               str_of(tests->blocks.fault), STR(""));
    *call->out = tests;
    return WEFT_STATUS_OK;
}

WeftStatus weft_tests_from_file(WeftContext *context, const char *path,
                                WeftTests **tests_out) {
    if (context == NULL || path == NULL || tests_out == NULL) return WEFT_STATUS_USAGE;
    OpenCall call = {path, tests_out};
    return api_guard(context, API_STARTS, open_tests, &call);
}

void weft_tests_free(WeftTests *tests) {
    if (tests != NULL) api_drop(tests->context, &tests->drop);
}

size_t weft_test_count(const WeftTests *tests) {
    return tests == NULL ? 0 : tests->blocks.len;
}

static WeftStatus no_test(WeftContext *context, void *data) {
    (void)data;
    return api_fail(context, WEFT_STATUS_USAGE, "there is no such test or entry");
}

WeftStatus weft_test_info(const WeftTests *tests, size_t test, WeftTest *test_out) {
    if (tests == NULL || test_out == NULL || test_out->struct_size == 0)
        return WEFT_STATUS_USAGE;
    if (test >= tests->blocks.len)
        return api_guard(tests->context, API_KEEPS, no_test, NULL);
    WeftTest info = tests->blocks.data[test].info;
    info.struct_size = test_out->struct_size;
    size_t size = info.struct_size < sizeof info ? info.struct_size : sizeof info;
    memcpy(test_out, &info, size);
    return WEFT_STATUS_OK;
}

// ---- values -------------------------------------------------------------------------

typedef struct ValuesCall {
    const WeftTests *tests;
    const TestData *data;
    WeftProgram *program;
    size_t entry;
    bool is_result;
    WeftValue **out;
} ValuesCall;

// The file, which is relative to the program's.
static const char *full_path(Arena *arena, const ValuesCall *call) {
    const char *slash = strrchr(call->tests->path, '/'), *name = call->data->text;
    StrBuf path = strbuf(arena);
    if (slash != NULL && name[0] != '/')
        strbuf_bytes(&path, call->tests->path, (size_t)(slash - call->tests->path) + 1);
    strbuf_cstr(&path, name);
    strbuf_char(&path, '\0');
    return strbuf_done(&path).ptr;
}

// Whether the file is one value and says its type itself. Other files hold all the
// values, as text or in binary.
static bool is_one_value(const char *path) {
    FileKind kind = file_kind(path, NULL);
    return kind == FILE_PNG || kind == FILE_CSV || kind == FILE_NPY || kind == FILE_NPZ;
}

static WeftStatus read_one_value(WeftContext *context, const ValuesCall *call,
                                 const char *path, size_t count) {
    if (count != 1)
        return api_fail(context, WEFT_STATUS_VALUE,
                        "`%s` is one value, but `%s` takes %zu", path,
                        call->program->entries[call->entry].name, count);
    ApiFromFile file = {path, call->program, call->entry, 0, call->out};
    return api_value_from_file(context, &file);
}

static WeftStatus make_values(WeftContext *context, void *data) {
    const ValuesCall *call = data;
    const ApiEntry *e = &call->program->entries[call->entry];
    ApiRead read = {.program = call->program,
                    .ports = call->is_result ? e->results : e->params,
                    .count = call->is_result ? e->result_count : e->param_count,
                    .name = call->is_result ? "output" : "input",
                    .what = call->is_result ? "result" : "parameter",
                    .entry = e->name,
                    .bytes = str_of(call->data->text),
                    .out = call->out};
    if (call->data->source == TEST_RANDOM) {
        WeftStatus status = api_random_bytes(context, call->data->text, &read.bytes);
        if (status != WEFT_STATUS_OK) return status;
    }
    if (call->data->source == TEST_FILE) {
        const char *path = full_path(&context->scratch, call), *why;
        read.name = path;
        if (!call->is_result && is_one_value(path))
            return read_one_value(context, call, path, read.count);
        if (!api_read_file(&context->scratch, path, &read.bytes, &why))
            return api_fail(context, WEFT_STATUS_IO, "cannot read `%s`: %s", path, why);
    }
    return api_read_values(context, &read);
}

// Evaluates the expression as an entry added to the program; a tuple gives several
// values.
static WeftStatus run_script(const ValuesCall *call, size_t count) {
    WeftContext *context = call->tests->context;
    WeftProgram *program;
    WeftStatus status = api_program_from_parts(
        context, call->tests->path,
        (Str[]){call->tests->text, STR("\nentry weft_test_script = ("),
                str_of(call->data->text), STR(")\n")},
        4, &program);
    if (status != WEFT_STATUS_OK) return status;
    size_t entry = weft_entry_find(program, "weft_test_script");
    status = weft_call(program, entry, NULL, 0, call->out, count);
    weft_program_free(program);
    return status;
}

static WeftStatus test_values(const WeftTests *tests, size_t test, WeftProgram *program,
                              WeftValue **values, size_t count, bool is_result) {
    if (tests == NULL || program == NULL || (values == NULL && count > 0))
        return WEFT_STATUS_USAGE;
    if (test >= tests->blocks.len || program->context != tests->context)
        return api_guard(tests->context, API_STARTS, no_test, NULL);
    const TestCase *found = &tests->blocks.data[test];
    ValuesCall call = {.tests = tests,
                       .data = is_result ? &found->output : &found->input,
                       .program = program,
                       .entry = weft_entry_find(program, found->info.entry),
                       .is_result = is_result,
                       .out = values};
    size_t wanted = is_result ? weft_entry_result_count(program, call.entry)
                              : weft_entry_parameter_count(program, call.entry);
    if (call.entry == WEFT_NONE || call.data->text == NULL || count != wanted)
        return api_guard(tests->context, API_STARTS, no_test, NULL);
    if (call.data->source == TEST_SCRIPT) return run_script(&call, count);
    return api_guard(tests->context, API_STARTS, make_values, &call);
}

// ---- structure ----------------------------------------------------------------------

typedef struct StructureCall {
    const WeftTests *tests;
    const TestStructure *wanted;
} StructureCall;

static void count_statement(void *data, const CoreStm *stm) {
    ((uint32_t *)data)[stm->op]++;
}

// Compiles as far as all engines go the same way.
static WeftStatus count_structure(WeftContext *context, void *data) {
    const StructureCall *call = data;
    uint32_t counts[OP_COUNT] = {0};
    WeftProgram *program;
    StrBuf unused = strbuf(&context->scratch);
    WeftStatus status =
        api_compile(context, &(ApiCompile){.name = str_of(call->tests->path),
                                           .text = call->tests->text,
                                           .path = call->tests->path,
                                           .stage = API_STAGE_CORE,
                                           .after = API_AFTER_ALL,
                                           .dump = &unused,
                                           .out = &program});
    if (status != WEFT_STATUS_OK) return status;
    for (uint32_t i = 0; i < program->core->funs.len; i++)
        core_walk(program->core->funs.data[i]->body, count_statement, counts);
    api_program_destroy(program);
    for (uint32_t i = 0; i < call->wanted->len; i++) {
        TestCount wanted = call->wanted->data[i];
        if (counts[wanted.op] != wanted.count)
            return api_fail(context, WEFT_STATUS_VALUE,
                            "expected `%s %u` after all passes, found `%s %u`",
                            core_op_info[wanted.op].name, wanted.count,
                            core_op_info[wanted.op].name, counts[wanted.op]);
    }
    return WEFT_STATUS_OK;
}

WeftStatus weft_test_structure(const WeftTests *tests, size_t test) {
    if (tests == NULL) return WEFT_STATUS_USAGE;
    if (test >= tests->blocks.len ||
        tests->blocks.data[test].info.kind != WEFT_TEST_STRUCTURE)
        return api_guard(tests->context, API_STARTS, no_test, NULL);
    StructureCall call = {tests, &tests->blocks.data[test].structure};
    return api_guard(tests->context, API_STARTS, count_structure, &call);
}

// ---- arguments and results ---------------------------------------------------------

WeftStatus weft_test_arguments(const WeftTests *tests, size_t test,
                               WeftProgram *program, WeftValue **values,
                               size_t value_count) {
    return test_values(tests, test, program, values, value_count, false);
}

WeftStatus weft_test_results(const WeftTests *tests, size_t test, WeftProgram *program,
                             WeftValue **values, size_t value_count) {
    return test_values(tests, test, program, values, value_count, true);
}
