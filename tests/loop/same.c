// SPDX-License-Identifier: Apache-2.0
//
// Comparing values element by element, whatever their strides; lines that several
// processes write to one file.
#define _POSIX_C_SOURCE 200809L
#include "same.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_nan(ScalarType type, uint64_t bits) {
    uint64_t nan = 0;
    return scalar_is_float(type) &&
           core_eval(OP_ISNAN, type, SCALAR_BOOL, &bits, &nan) == FAULT_NONE &&
           nan != 0;
}

static bool same_bits(ScalarType type, uint64_t found, uint64_t expected, StrBuf *why) {
    if (found == expected || (is_nan(type, found) && is_nan(type, expected)))
        return true;
    strbuf_printf(why, "%llx, not %llx", (unsigned long long)found,
                  (unsigned long long)expected);
    return false;
}

static const char *element(const RtArray *a, int64_t i) {
    int64_t offset = 0;
    for (uint32_t d = a->rank; d-- > 0;) {
        offset += i % a->shape[d] * a->strides[d];
        i /= a->shape[d];
    }
    return a->data + offset * (int64_t)scalar_info[a->elem].bytes;
}

bool same_value(const RtValue *found, const RtValue *expected, StrBuf *why) {
    if (found->rank == 0)
        return same_bits(found->elem, found->bits, expected->bits, why);
    const RtArray *a = found->array, *b = expected->array;
    if (memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) != 0) {
        strbuf_cstr(why, "another shape");
        return false;
    }
    for (int64_t i = 0, n = rt_count(a); i < n; i++) {
        size_t before = why->len;
        strbuf_printf(why, "element %lld: ", (long long)i);
        if (!same_bits(a->elem, rt_load(a->elem, element(a, i)),
                       rt_load(b->elem, element(b, i)), why))
            return false;
        why->len = before;
    }
    return true;
}

// ---- lines --------------------------------------------------------------------------

static void put_where(const CoreProgram *core, const CoreFun *fun, StrBuf *line) {
    const Source *source = NULL;
    if (core->places.len > 1)
        source = sources_find(&core->cx->sources, core->places.data[1].span);
    strbuf_printf(line, " (%.*s", STR_ARG(sym_str(&core->cx->syms, fun->name)));
    if (source != NULL) strbuf_printf(line, " in %.*s", STR_ARG(source->name));
    strbuf_char(line, ')');
}

void same_tell(const char *variable, const CoreProgram *core, const CoreFun *fun,
               const char *form, const char *what, Str why, Arena *arena) {
    const char *path = getenv(variable);
    int file =
        open(path != NULL ? path : "/dev/stderr", O_WRONLY | O_APPEND | O_CREAT, 0666);
    StrBuf line = strbuf(arena);
    strbuf_printf(&line, "%s %s", form, what);
    if (why.len > 0) strbuf_printf(&line, ": %.*s", STR_ARG(why));
    if (strcmp(what, "same") != 0) put_where(core, fun, &line);
    for (size_t i = 0; i < line.len; i++)
        if (line.data[i] == '\n') line.data[i] = ' ';
    strbuf_char(&line, '\n');
    if (write(file, line.data, line.len) < 0) abort();
    close(file);
}
