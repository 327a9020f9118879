// SPDX-License-Identifier: Apache-2.0
//
// Writes a C program that calls what `weft build` has made of a program with the inputs
// of its test blocks, and what that program must print: how the interpreter ends each
// call, bit for bit, or the error's text.
//
//     calls PROGRAM.weft NAME FOLDER
//
// writes FOLDER/calls.c, its inputs FOLDER/inputs and FOLDER/expected.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

static WeftContext *context;
static FILE *driver, *inputs, *expected;

static void need(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "%s: %s\n", what, weft_message(context));
    exit(1);
}

static FILE *create(const char *folder, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    need(file != NULL, path);
    return file;
}

static const char *const c_types[SCALAR_COUNT] = {
    "bool",     "int8_t",   "int16_t",  "int32_t",  "int64_t", "uint8_t",
    "uint16_t", "uint32_t", "uint64_t", "uint16_t", "float",   "double"};

// What both programs print of a value: its shape and a hash of its bytes, in which all
// NaNs are one.
static const char hashing[] =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <stdint.h>\n#include "
    "<string.h>\n"
    "static FILE *inputs;\n"
    "static void take(void *to, size_t bytes) {\n"
    "    if (bytes > 0 && fread(to, 1, bytes, inputs) != bytes) exit(3);\n}\n"
    "static uint64_t hash(const unsigned char *data, size_t count, unsigned size, int "
    "nan) {\n"
    "    uint64_t h = 14695981039346656037u;\n"
    "    for (size_t i = 0; i < count; i++) {\n"
    "        unsigned char e[8]; double d; float f;\n"
    "        memcpy(e, data + i * size, size);\n"
    "        if (nan && size == 8) { memcpy(&d, e, 8); if (d != d) memset(e, 255, 8); "
    "}\n"
    "        if (nan && size == 4) { memcpy(&f, e, 4); if (f != f) memset(e, 255, 4); "
    "}\n"
    "        for (unsigned k = 0; k < size; k++) h = (h ^ e[k]) * 1099511628211u;\n"
    "    }\n"
    "    return h;\n}\n";

static uint64_t hash(const RtValue *value) {
    uint64_t h = 14695981039346656037u;
    unsigned size = scalar_info[value->elem].bytes;
    int64_t count = value->rank == 0 ? 1 : rt_count(value->array);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = value->bits;
        unsigned char e[8];
        double d;
        float f;
        if (value->rank > 0) bits = rt_load(value->elem, value->array->data + i * size);
        memcpy(e, &bits, sizeof e);
        memcpy(&d, e, sizeof d);
        memcpy(&f, e, sizeof f);
        if (value->elem == SCALAR_F64 && d != d) memset(e, 255, sizeof e);
        if (value->elem == SCALAR_F32 && f != f) memset(e, 255, sizeof e);
        for (unsigned k = 0; k < size; k++) h = (h ^ e[k]) * 1099511628211u;
    }
    return h;
}

// Declares a leaf of an argument and has it read.
static void put_leaf(uint32_t number, RtValue *leaf) {
    const char *type = c_types[leaf->elem];
    size_t size = scalar_info[leaf->elem].bytes;
    if (leaf->rank == 0) {
        fprintf(driver, "    %s p%u; take(&p%u, sizeof p%u);\n", type, number, number,
                number);
        fwrite(&leaf->bits, 1, size, inputs);
        return;
    }
    RtArray *a = rt_contiguous(&context->heap, rt_retain(leaf->array));
    need(a != NULL, "memory");
    size_t count = (size_t)rt_count(a);
    fprintf(driver,
            "    %s *d%u = malloc(%zu); take(d%u, %zu);\n    weft_%s_%ud p%u = {d%u, {",
            type, number, count * size + 1, number, count * size,
            scalar_info[leaf->elem].name, leaf->rank, number, number);
    for (uint32_t d = 0; d < a->rank; d++)
        fprintf(driver, "%lld, ", (long long)a->shape[d]);
    fputs("}};\n", driver);
    fwrite(a->data, 1, count * size, inputs);
    rt_release(&context->heap, a);
}

static void put_result(uint32_t call, uint32_t number, CoreType type) {
    const char *elem = c_types[type.elem];
    bool is_float = type.elem == SCALAR_F32 || type.elem == SCALAR_F64;
    if (type.rank == 0) {
        fprintf(driver,
                "        printf(\"%u.%u %%llx\\n\", (unsigned long long)hash((void "
                "*)&r%u, 1, sizeof(%s), %d));\n",
                call, number, number, elem, is_float);
        return;
    }
    fprintf(driver, "        { size_t n = 1; printf(\"%u.%u\");\n", call, number);
    fprintf(
        driver,
        "        for (int d = 0; d < %u; d++) { n *= (size_t)r%u.shape[d]; printf(\" "
        "%%lld\", (long long)r%u.shape[d]); }\n",
        type.rank, number, number);
    fprintf(driver,
            "        printf(\" %%llx\\n\", (unsigned long long)hash((const void "
            "*)r%u.data, n, sizeof(%s), %d));\n"
            "        weft_rt_free(rt, r%u.data); }\n",
            number, elem, is_float, number);
}

static void put_call(uint32_t call, const char *name, const ApiEntry *entry,
                     WeftValue *const *args) {
    const CoreFun *fun = entry->fun;
    uint32_t number = 0;
    fputs("    {\n", driver);
    for (uint32_t i = 0; i < entry->param_count; i++)
        for (uint32_t k = 0; k < args[i]->leaf_count; k++)
            put_leaf(number++, &args[i]->leaves[k]);
    for (uint32_t k = 0; k < fun->body->result_count; k++) {
        CoreType type = fun->result_types[k];
        if (type.rank == 0) fprintf(driver, "    %s r%u;\n", c_types[type.elem], k);
        else
            fprintf(driver, "    weft_%s_%ud r%u;\n", scalar_info[type.elem].name,
                    type.rank, k);
    }
    fprintf(driver, "    status = %s_", name);
    for (const char *c = entry->name; *c != '\0'; c++)
        fputc(*c == '\'' ? '_' : *c, driver);
    fputs("(rt", driver);
    number = 0;
    for (uint32_t i = 0; i < entry->param_count; i++)
        for (uint32_t k = 0; k < args[i]->leaf_count; k++, number++)
            fprintf(driver, ", %sp%u", args[i]->leaves[k].rank > 0 ? "&" : "", number);
    for (uint32_t k = 0; k < fun->body->result_count; k++) fprintf(driver, ", &r%u", k);
    fprintf(driver,
            ");\n    if (status != WEFT_RT_OK) printf(\"%u: %%d %%s\\n\", status, "
            "weft_rt_error(rt));\n    else {\n",
            call);
    for (uint32_t k = 0; k < fun->body->result_count; k++)
        put_result(call, k, fun->result_types[k]);
    fputs("    }\n", driver);
    number = 0;
    for (uint32_t i = 0; i < entry->param_count; i++)
        for (uint32_t k = 0; k < args[i]->leaf_count; k++, number++)
            if (args[i]->leaves[k].rank > 0)
                fprintf(driver, "    free(d%u);\n", number);
    fputs("    }\n", driver);
}

static void put_expected(uint32_t call, WeftProgram *program, size_t number,
                         WeftValue *const *args) {
    const ApiEntry *entry = &program->entries[number];
    WeftValue *results[64];
    uint32_t at = 0;
    if (weft_call(program, number, args, entry->param_count, results,
                  entry->result_count) != WEFT_STATUS_OK) {
        fprintf(expected, "%u: 1 %s\n", call, weft_message(context));
        return;
    }
    for (uint32_t i = 0; i < entry->result_count; i++) {
        for (uint32_t k = 0; k < results[i]->leaf_count; k++) {
            RtValue *leaf = &results[i]->leaves[k];
            if (leaf->rank > 0)
                leaf->array = rt_contiguous(&context->heap, leaf->array);
            fprintf(expected, "%u.%u", call, at++);
            for (uint32_t d = 0; d < leaf->rank; d++)
                fprintf(expected, " %lld", (long long)leaf->array->shape[d]);
            fprintf(expected, " %llx\n", (unsigned long long)hash(leaf));
        }
        weft_value_free(results[i]);
    }
}

int main(int argc, char **argv) {
    WeftOptions options = {.struct_size = sizeof options, .engine = WEFT_ENGINE_INTERP};
    WeftProgram *program;
    WeftTests *tests;
    if (argc != 4) return 2;
    need(weft_context_new(&options, &context) == WEFT_STATUS_OK, "context");
    need(weft_program_from_file(context, argv[1], &program) == WEFT_STATUS_OK, argv[1]);
    need(weft_tests_from_file(context, argv[1], &tests) == WEFT_STATUS_OK, argv[1]);
    driver = create(argv[3], "calls.c");
    inputs = create(argv[3], "inputs");
    expected = create(argv[3], "expected");
    fprintf(driver, "%s#include \"%s.h\"\nint main(int argc, char **argv) {\n", hashing,
            argv[2]);
    fputs("    WeftRtOptions options = {sizeof options, (unsigned)atoi(argv[1]), 0};\n"
          "    WeftRt *rt = weft_rt_open(&options);\n    WeftRtStatus status;\n"
          "    if (argc != 3 || !rt || !(inputs = fopen(argv[2], \"r\"))) return 2;\n",
          driver);
    uint32_t calls = 0;
    for (size_t i = 0; i < weft_test_count(tests); i++) {
        WeftTest test = {.struct_size = sizeof test};
        WeftValue *args[64];
        weft_test_info(tests, i, &test);
        if (test.kind != WEFT_TEST_CALL) continue;
        size_t number = weft_entry_find(program, test.entry);
        const ApiEntry *entry = &program->entries[number];
        need(weft_test_arguments(tests, i, program, args, entry->param_count) ==
                 WEFT_STATUS_OK,
             test.entry);
        put_call(calls, argv[2], entry, args);
        put_expected(calls++, program, number, args);
        for (uint32_t k = 0; k < entry->param_count; k++) weft_value_free(args[k]);
    }
    fputs("    weft_rt_close(rt);\n    return fclose(inputs);\n}\n", driver);
    weft_context_free(context);
    bool is_written =
        fclose(driver) == 0 && fclose(inputs) == 0 && fclose(expected) == 0;
    return calls > 0 && is_written ? 0 : 1;
}
