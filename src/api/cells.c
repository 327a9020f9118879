// SPDX-License-Identifier: Apache-2.0
//
// The cells of a session: how they come and go, and how values are held; see session.h.
#include <string.h>

#include "api/session.h"

// ---- coming and going ---------------------------------------------------------------

Cell *cell_draft(WeftSession *session, Str name, Str text) {
    Mem *mem = &session->context->mem;
    cell_free(session->draft);
    session->draft = NULL;
    Cell *cell = mem_alloc(mem, sizeof *cell);
    *cell = (Cell){0};
    arena_init(&cell->arena, mem);
    session->draft = cell;
    cell->name = str_copy(&cell->arena, name);
    cell->text = str_copy(&cell->arena, text);
    cell->path = cell->name;
    return cell;
}

// A draft holds no values: they were freed with the call that made them.
void cell_free(Cell *cell) {
    if (cell == NULL) return;
    Mem *mem = cell->arena.mem;
    arena_free(&cell->arena);
    mem_free(mem, cell, sizeof *cell);
}

static void free_with_values(Cell *cell) {
    for (uint32_t i = 0; i < cell->defs.len; i++)
        if (cell->defs.data[i].value != NULL)
            api_value_destroy(cell->defs.data[i].value);
    cell_free(cell);
}

void cells_clear(WeftSession *session) {
    for (uint32_t i = 0; i < session->len; i++) free_with_values(session->cells[i]);
    session->len = 0;
}

void cells_reserve(WeftSession *session) {
    if (session->len < session->cap) return;
    uint32_t cap = session->cap == 0 ? 16 : session->cap * 2;
    session->cells = mem_resize(&session->context->mem, session->cells,
                                session->cap * sizeof(Cell *), cap * sizeof(Cell *));
    session->cap = cap;
}

// ---- who is seen --------------------------------------------------------------------

static bool is_same(const CellDef *a, const CellDef *b) {
    return a->kind == b->kind && str_eq(a->name, b->name);
}

static void hide(WeftSession *session, const CellDef *by) {
    for (uint32_t c = 0; c < session->len; c++)
        for (uint32_t i = 0; i < session->cells[c]->defs.len; i++) {
            CellDef *def = &session->cells[c]->defs.data[i];
            if (is_same(def, by)) def->is_hidden = true;
        }
}

// Cells that define nothing by name open modules: what they bring in is not known here.
static bool is_seen(const Cell *cell) {
    if (cell->defs.len == 0 || cell->is_file || cell->imports.len > 0) return true;
    for (uint32_t i = 0; i < cell->defs.len; i++)
        if (!cell->defs.data[i].is_hidden) return true;
    return false;
}

// From the newest to the oldest: a cell leans only on older ones.
static void free_dead(WeftSession *session) {
    for (uint32_t c = session->len; c-- > 0;) {
        Cell *cell = session->cells[c];
        cell->is_live |= is_seen(cell);
        for (uint32_t i = 0; cell->is_live && i < cell->leans_on.len; i++)
            cell->leans_on.data[i]->is_live = true;
    }
    uint32_t live = 0;
    for (uint32_t c = 0; c < session->len; c++) {
        Cell *cell = session->cells[c];
        if (!cell->is_live) {
            free_with_values(cell);
            continue;
        }
        cell->is_live = false;
        session->cells[live++] = cell;
    }
    session->len = live;
}

void cells_commit(WeftSession *session) {
    Cell *cell = session->draft;
    for (uint32_t i = 0; i < cell->defs.len; i++) hide(session, &cell->defs.data[i]);
    session->cells[session->len++] = cell;
    session->draft = NULL;
    free_dead(session);
}

// ---- values -------------------------------------------------------------------------

enum { DEEPEST_PLAIN = 100 };

static bool is_plain(Type *type, uint32_t depth) {
    type = type_resolve(type);
    if (depth == DEEPEST_PLAIN) return false;
    if (type->kind == TYPE_SCALAR) return true;
    if (type->kind == TYPE_ARRAY) return is_plain(type->as.array.elem, depth + 1);
    if (type->kind == TYPE_RECORD) {
        for (uint32_t i = 0; i < type->as.record.len; i++)
            if (!is_plain(type->as.record.data[i].type, depth + 1)) return false;
        return true;
    }
    if (type->kind != TYPE_SUM) return false;
    for (uint32_t c = 0; c < type->as.sum.len; c++)
        for (uint32_t i = 0; i < type->as.sum.data[c].payload.len; i++)
            if (!is_plain(type->as.sum.data[c].payload.data[i], depth + 1))
                return false;
    return true;
}

bool cell_type_is_plain(Type *type) {
    return is_plain(type, 0);
}

// A value of a sum type tells the sizes of no array but its own constructor's.
static bool has_array(const DataType *type) {
    switch (type->kind) {
    case DATA_LEAF: return type->rank > 0;
    case DATA_ARRAY: return true;
    case DATA_RECORD:
        for (uint32_t i = 0; i < type->count; i++)
            if (has_array(type->fields[i].type)) return true;
        return false;
    case DATA_SUM:
        for (uint32_t c = 0; c < type->count; c++)
            for (uint32_t i = 0; i < type->ctors[c].count; i++)
                if (has_array(type->ctors[c].payload[i])) return true;
        return false;
    }
    return false;
}

bool cell_data_is_plain(const DataType *type) {
    switch (type->kind) {
    case DATA_LEAF: return true;
    case DATA_ARRAY: return cell_data_is_plain(type->inner);
    case DATA_RECORD:
        for (uint32_t i = 0; i < type->count; i++)
            if (!cell_data_is_plain(type->fields[i].type)) return false;
        return true;
    case DATA_SUM: return !has_array(type);
    }
    return false;
}

static uint32_t first_leaf(const DataType *type) {
    while (type->kind != DATA_LEAF && type->kind != DATA_SUM) {
        if (type->kind == DATA_RECORD && type->count == 0) break;
        type = type->kind == DATA_ARRAY ? type->inner : type->fields[0].type;
    }
    return type->leaf;
}

static void put_sizes(StrBuf *out, const RtValue *leaf, uint32_t from, uint32_t count) {
    for (uint32_t d = 0; d < count; d++)
        strbuf_printf(out, "[%lld]", (long long)leaf->array->shape[from + d]);
}

// The type of a value with the sizes it has; `depth` dimensions are written already.
static void put_type(StrBuf *out, const DataType *type, const RtValue *leaves,
                     uint32_t depth) {
    switch (type->kind) {
    case DATA_LEAF:
        put_sizes(out, &leaves[type->leaf], depth, type->rank);
        strbuf_cstr(out, scalar_info[type->elem].name);
        return;
    case DATA_ARRAY:
        put_sizes(out, &leaves[first_leaf(type)], depth, type->rank);
        put_type(out, type->inner, leaves, depth + type->rank);
        return;
    case DATA_RECORD:
        strbuf_char(out, type->is_tuple ? '(' : '{');
        for (uint32_t i = 0; i < type->count; i++) {
            if (i > 0) strbuf_cstr(out, ", ");
            if (!type->is_tuple)
                strbuf_printf(out, "%.*s: ", STR_ARG(type->fields[i].name));
            put_type(out, type->fields[i].type, leaves, depth);
        }
        strbuf_char(out, type->is_tuple ? ')' : '}');
        return;
    case DATA_SUM:
        strbuf_char(out, '(');
        for (uint32_t c = 0; c < type->count; c++) {
            strbuf_printf(out, "%s#%.*s", c > 0 ? " | " : "",
                          STR_ARG(type->ctors[c].name));
            for (uint32_t i = 0; i < type->ctors[c].count; i++) {
                strbuf_char(out, ' ');
                put_type(out, type->ctors[c].payload[i], leaves, depth);
            }
        }
        strbuf_char(out, ')');
        return;
    }
}

void cell_close(Cell *cell, Str name, WeftValue *value) {
    StrBuf type = strbuf(&cell->arena), text = strbuf(&cell->arena),
           shown = strbuf(&cell->arena);
    put_type(&type, value->type, value->leaves, 0);
    Str written = strbuf_done(&type);
    strbuf_printf(&text, "def %.*s: %.*s = ???", STR_ARG(name), STR_ARG(written));
    strbuf_printf(&shown, "%.*s: %.*s", STR_ARG(name), STR_ARG(written));
    CellDef def = {.name = str_copy(&cell->arena, name),
                   .kind = DECL_VAL,
                   .shown = strbuf_done(&shown),
                   .is_plain = true,
                   .value = value};
    cell->defs.len = 0;
    vec_push(&cell->arena, &cell->defs, def);
    cell->closed = strbuf_done(&text);
    // A definition may be written to a file, with all that it needs; `it` may not.
    if (cell->is_exp) cell->leans_on.len = 0;
}

WeftValue *cell_share(const WeftValue *value) {
    WeftContext *context = value->context;
    WeftValue *copy = api_value_new(context, value->program, value->leaf_count);
    if (value->type == &value->leaf_type) {
        api_value_describe(copy, value->leaf_type.elem, value->leaf_type.rank);
    } else {
        copy->type = value->type;
        copy->type_text = value->type_text;
    }
    for (uint32_t i = 0; i < value->leaf_count; i++) {
        copy->leaves[i] = value->leaves[i];
        if (copy->leaves[i].rank > 0) rt_retain(copy->leaves[i].array);
    }
    return copy;
}

// ---- as a program -------------------------------------------------------------------

static bool defines(const WeftSession *session, uint32_t from, uint32_t to,
                    const CellDef *def) {
    for (uint32_t c = from; c < to; c++)
        for (uint32_t i = 0; i < session->cells[c]->defs.len; i++)
            if (is_same(&session->cells[c]->defs.data[i], def)) return true;
    return false;
}

static bool is_needed(const WeftSession *session, const Cell *cell) {
    for (uint32_t c = 0; c < session->len; c++)
        for (uint32_t i = 0; i < session->cells[c]->leans_on.len; i++)
            if (session->cells[c]->leans_on.data[i] == cell) return true;
    return !cell->is_exp;
}

static bool append(void *data, const char *bytes, size_t len) {
    strbuf_bytes(data, bytes, len);
    return true;
}

// A value without a text of its own, if it is a small one that can be written.
static void put_value(StrBuf *out, const CellDef *def) {
    enum { MOST = 1000 };
    const WeftValue *value = def->value;
    bool is_small = value->type->kind != DATA_SUM;
    for (uint32_t i = 0; i < value->leaf_count; i++) {
        const RtValue *leaf = &value->leaves[i];
        int64_t count = leaf->rank == 0 ? 1 : rt_count(leaf->array);
        is_small = is_small && count > 0 && count <= MOST;
    }
    strbuf_printf(out, is_small ? "def %.*s = " : "-- not kept: %.*s",
                  STR_ARG(def->shown));
    DataSink sink = {.write = append, .data = out};
    if (is_small) data_print(&sink, value->type, value->leaves);
    data_flush(&sink);
    strbuf_char(out, '\n');
}

static void put_cell(StrBuf *out, const Cell *cell) {
    bool has_text = cell->text.len > 0 && !(cell->is_exp && cell->closed.len > 0);
    if (!has_text) {
        put_value(out, &cell->defs.data[0]);
    } else if (cell->is_file) {
        Str path = api_strip_ending(cell->path);
        strbuf_printf(out, "open import \"%.*s\"\n", STR_ARG(path));
    } else {
        Str text = cell->text;
        while (text.len > 0 && text.ptr[text.len - 1] == '\n') text.len--;
        bool is_import = text.len > 6 && memcmp(text.ptr, "import", 6) == 0;
        strbuf_printf(out, "%s%.*s\n",
                      cell->is_exp ? "def it = "
                      : is_import  ? "open "
                                   : "",
                      STR_ARG(text));
    }
}

// A file defines a name once: what is defined again later goes into a block of its own.
Str cells_source(const WeftSession *session, Arena *arena) {
    StrBuf out = strbuf(arena);
    uint32_t block = 0; // where the current one begins
    for (uint32_t c = 0; c < session->len; c++) {
        const Cell *cell = session->cells[c];
        bool is_again = false;
        if (!is_needed(session, cell)) continue;
        for (uint32_t i = 0; i < cell->defs.len; i++)
            is_again |= defines(session, block, c, &cell->defs.data[i]);
        if (is_again) {
            Str before = strbuf_done(&out);
            StrBuf wrapped = strbuf(arena);
            strbuf_printf(&wrapped, "open {\n%.*s}\n", STR_ARG(before));
            out = wrapped;
            block = c;
        }
        put_cell(&out, cell);
    }
    return strbuf_done(&out);
}
