// SPDX-License-Identifier: Apache-2.0
//
// What entries take and give: from the checker's types to trees of DataType over the
// leaves of core. The rules of flattening are lowering's (src/lower/layout.c): a record
// is its fields' leaves, a record without fields one bool, an array its element's
// leaves with a dimension more, a sum a tag and slots, where constructors share scalar
// slots of one type. Should the two ever disagree, the leaves are shown as they are.
#include "api/api.h"

enum { DEEPEST = 500 }; // types nested deeper are shown as their leaves

typedef struct Shape {
    WeftProgram *program;
    uint32_t depth;
    Arena *arena;
    struct {
        CoreType *data;
        uint32_t len, cap;
    } leaves;
} Shape;

static DataType *shape_type(Shape *s, Type *type);

static uint32_t add_leaf(Shape *s, ScalarType elem, uint32_t rank) {
    vec_push(s->arena, &s->leaves, (CoreType){(uint8_t)elem, (uint8_t)rank});
    return s->leaves.len - 1;
}

static bool is_tuple(const Cx *cx, const FieldVec *fields) {
    for (uint32_t i = 0; i < fields->len; i++) {
        StrBuf number = strbuf(cx->arena);
        strbuf_printf(&number, "%u", i);
        if (!str_eq(sym_str(&cx->syms, fields->data[i].name), strbuf_done(&number)))
            return false;
    }
    return true;
}

static void shape_record(Shape *s, const FieldVec *fields, DataType *out) {
    const Cx *cx = &s->program->cx;
    DataField *shaped = arena_array(s->arena, DataField, fields->len);
    out->kind = DATA_RECORD;
    out->is_tuple = is_tuple(cx, fields);
    out->fields = shaped;
    out->count = fields->len;
    if (fields->len == 0) out->leaf = add_leaf(s, SCALAR_BOOL, 0);
    for (uint32_t i = 0; i < fields->len; i++) {
        shaped[i].name = sym_str(&cx->syms, fields->data[i].name);
        shaped[i].type = shape_type(s, fields->data[i].type);
    }
}

// Dimensions in front of scalars are one LEAF; in front of anything else an ARRAY.
static void shape_array(Shape *s, Type *type, DataType *out) {
    uint32_t rank = 0;
    for (; type->kind == TYPE_ARRAY; type = type_reveal(type->as.array.elem)) rank++;
    uint32_t first = s->leaves.len;
    DataType *inner = shape_type(s, type);
    for (uint32_t i = first; i < s->leaves.len; i++)
        s->leaves.data[i].rank = (uint8_t)(s->leaves.data[i].rank + rank);
    if (inner->kind == DATA_LEAF) {
        *out = *inner;
        out->rank += rank;
    } else {
        *out = (DataType){.kind = DATA_ARRAY, .rank = rank, .inner = inner};
    }
}

// Renumbers the leaves of a type that was shaped on its own.
static void renumber(DataType *type, const uint32_t *slots) {
    switch (type->kind) {
    case DATA_LEAF: type->leaf = slots[type->leaf]; return;
    case DATA_ARRAY: renumber((DataType *)type->inner, slots); return;
    case DATA_RECORD:
        if (type->count == 0) type->leaf = slots[type->leaf];
        for (uint32_t i = 0; i < type->count; i++)
            renumber((DataType *)type->fields[i].type, slots);
        return;
    case DATA_SUM:
        type->leaf = slots[type->leaf];
        for (uint32_t c = 0; c < type->count; c++) {
            DataCtor *ctor = (DataCtor *)&type->ctors[c];
            if (ctor->count == 0) ctor->leaf = slots[ctor->leaf];
            for (uint32_t i = 0; i < ctor->count; i++)
                renumber((DataType *)ctor->payload[i], slots);
        }
        return;
    }
}

static bool is_shared(CoreType a, CoreType b) {
    return a.rank == 0 && b.rank == 0 && a.elem == b.elem;
}

// The slot of a payload's leaf: the k-th of its type if it is the k-th in the payload.
static uint32_t find_slot(Shape *s, uint32_t first, const Shape *payload,
                          uint32_t leaf) {
    uint32_t skip = 0;
    for (uint32_t i = 0; i < leaf; i++)
        skip += is_shared(payload->leaves.data[i], payload->leaves.data[leaf]);
    for (uint32_t slot = first; slot < s->leaves.len; slot++)
        if (is_shared(s->leaves.data[slot], payload->leaves.data[leaf]) && skip-- == 0)
            return slot;
    CoreType type = payload->leaves.data[leaf];
    return add_leaf(s, (ScalarType)type.elem, type.rank);
}

static void shape_ctor(Shape *s, uint32_t first, const Ctor *ctor, DataCtor *out) {
    Shape own = {.program = s->program, .arena = s->arena, .depth = s->depth};
    DataType **payload = arena_array(s->arena, DataType *, ctor->payload.len);
    for (uint32_t i = 0; i < ctor->payload.len; i++)
        payload[i] = shape_type(&own, ctor->payload.data[i]);
    if (ctor->payload.len == 0) add_leaf(&own, SCALAR_BOOL, 0);
    uint32_t *slots = arena_array(s->arena, uint32_t, own.leaves.len);
    for (uint32_t i = 0; i < own.leaves.len; i++)
        slots[i] = find_slot(s, first, &own, i);
    for (uint32_t i = 0; i < ctor->payload.len; i++) renumber(payload[i], slots);
    out->name = sym_str(&s->program->cx.syms, ctor->name);
    out->payload = (const DataType *const *)payload;
    out->count = ctor->payload.len;
    if (out->count == 0) out->leaf = slots[0];
}

// What no entry carries, and what is nested too deeply: no shape that core agrees with.
static void shape_nothing(DataType *out) {
    out->kind = DATA_RECORD;
    out->is_tuple = true;
}

static DataType *shape_type(Shape *s, Type *type) {
    DataType *out = arena_new(s->arena, DataType);
    if (s->depth == DEEPEST) {
        shape_nothing(out);
        return out;
    }
    s->depth++;
    type = type_reveal(type);
    switch (type->kind) {
    case TYPE_SCALAR:
        out->kind = DATA_LEAF;
        out->elem = type->as.scalar;
        out->leaf = add_leaf(s, type->as.scalar, 0);
        break;
    case TYPE_ARRAY: shape_array(s, type, out); break;
    case TYPE_RECORD: shape_record(s, &type->as.record, out); break;
    case TYPE_SUM: {
        const CtorVec *ctors = &type->as.sum;
        DataCtor *shaped = arena_array(s->arena, DataCtor, ctors->len);
        out->kind = DATA_SUM;
        out->leaf = add_leaf(s, SCALAR_U8, 0);
        for (uint32_t i = 0; i < ctors->len; i++)
            shape_ctor(s, out->leaf + 1, &ctors->data[i], &shaped[i]);
        out->ctors = shaped;
        out->count = ctors->len;
        break;
    }
    case TYPE_FUN:
    case TYPE_VAR:
    case TYPE_ABS:
    case TYPE_STREAM: shape_nothing(out); break;
    }
    s->depth--;
    return out;
}

// ---- ports --------------------------------------------------------------------------

static bool agrees(const Shape *s, const CoreType *leaves, uint32_t count) {
    if (s->leaves.len != count) return false;
    for (uint32_t i = 0; i < count; i++)
        if (s->leaves.data[i].elem != leaves[i].elem ||
            s->leaves.data[i].rank != leaves[i].rank)
            return false;
    return true;
}

// The leaves as they are: one by itself, several as a tuple.
static const DataType *plain_type(Arena *arena, const CoreType *leaves,
                                  uint32_t count) {
    DataType *types = arena_array(arena, DataType, count + 1);
    DataField *fields = arena_array(arena, DataField, count);
    for (uint32_t i = 0; i < count; i++) {
        types[i] = (DataType){.kind = DATA_LEAF,
                              .elem = (ScalarType)leaves[i].elem,
                              .rank = leaves[i].rank,
                              .leaf = i};
        fields[i].type = &types[i];
    }
    if (count == 1) return &types[0];
    types[count] = (DataType){
        .kind = DATA_RECORD, .is_tuple = true, .fields = fields, .count = count};
    return &types[count];
}

static const char *type_text(WeftProgram *program, const Type *type) {
    StrBuf text = strbuf(&program->arena);
    type_print(&program->cx, type, &text);
    strbuf_char(&text, '\0');
    return strbuf_done(&text).ptr;
}

// type may be NULL: not known.
static ApiPort make_port(WeftProgram *program, Type *type, Str name, const char *text,
                         const CoreType *leaves, uint32_t first, uint32_t count) {
    ApiPort port = {.name = str_terminated(&program->arena, name),
                    .type = text,
                    .first = first,
                    .count = count};
    port.leaves = arena_copy(&program->arena, leaves + first, count * sizeof *leaves);
    Shape shape = {.program = program, .arena = &program->arena};
    if (type != NULL) port.data = shape_type(&shape, type);
    if (type == NULL || !agrees(&shape, port.leaves, count))
        port.data = plain_type(&program->arena, port.leaves, count);
    return port;
}

// Ports for core written by hand, which need not say how its values hang together.
static ApiPort *plain_ports(WeftProgram *program, const CoreType *leaves,
                            uint32_t count) {
    Arena *arena = &program->arena;
    ApiPort *ports = arena_array(arena, ApiPort, count);
    for (uint32_t i = 0; i < count; i++) {
        StrBuf text = strbuf(arena);
        for (uint32_t d = 0; d < leaves[i].rank; d++) strbuf_cstr(&text, "[]");
        strbuf_cstr(&text, scalar_info[leaves[i].elem].name);
        strbuf_char(&text, '\0');
        ports[i] =
            make_port(program, NULL, STR(""), strbuf_done(&text).ptr, leaves, i, 1);
    }
    return ports;
}

static void describe_params(WeftProgram *program, ApiEntry *entry, Type *type) {
    const CoreFun *fun = entry->fun;
    const CoreBody *body = fun->body;
    CoreType *leaves = arena_array(&program->arena, CoreType, body->param_count);
    for (uint32_t i = 0; i < body->param_count; i++)
        leaves[i] = core_type(program->core, body->params[i]);
    if (fun->params.len == 0) {
        entry->param_count = body->param_count;
        entry->params = plain_ports(program, leaves, body->param_count);
        return;
    }
    entry->param_count = fun->params.len;
    entry->params = arena_array(&program->arena, ApiPort, fun->params.len);
    for (uint32_t i = 0; i < fun->params.len; i++) {
        const CorePort *port = &fun->params.data[i];
        if (type != NULL) type = type_reveal(type);
        bool is_known = type != NULL && type->kind == TYPE_FUN;
        const char *text = str_terminated(&program->arena, port->type);
        entry->params[i] =
            make_port(program, is_known ? type->as.fun.param : NULL, port->name, text,
                      leaves, port->first, port->count);
        if (is_known) type = type->as.fun.result;
    }
}

// is_split: a result that is a tuple counts as its components.
static void describe_results(WeftProgram *program, ApiEntry *entry, Type *type,
                             bool is_split) {
    const CoreFun *fun = entry->fun;
    const CoreType *leaves = fun->result_types;
    if (type != NULL) type = type_reveal(type);
    while (type != NULL && type->kind == TYPE_FUN)
        type = type_reveal(type->as.fun.result);
    bool is_tuple_type = type != NULL && type->kind == TYPE_RECORD &&
                         type->as.record.len > 1 &&
                         is_tuple(&program->cx, &type->as.record);
    uint32_t total = fun->body->result_count;
    if (type != NULL && !is_split) {
        entry->result_count = 1;
        entry->results = arena_new(&program->arena, ApiPort);
        entry->results[0] = make_port(program, type, STR(""), type_text(program, type),
                                      leaves, 0, total);
        return;
    }
    if (is_tuple_type) { // the components' own leaf counts tell where each begins
        const FieldVec *fields = &type->as.record;
        entry->results = arena_array(&program->arena, ApiPort, fields->len);
        uint32_t first = 0;
        for (uint32_t i = 0; i < fields->len && first <= total; i++) {
            Shape shape = {.program = program, .arena = &program->arena};
            Type *field = fields->data[i].type;
            shape_type(&shape, field);
            if (shape.leaves.len > total - first) break;
            entry->results[i] =
                make_port(program, field, STR(""), type_text(program, field), leaves,
                          first, shape.leaves.len);
            first += shape.leaves.len;
            entry->result_count = i + 1;
        }
        if (first == total && entry->result_count == fields->len) return;
    }
    if (fun->results.len == 0) {
        entry->result_count = total;
        entry->results = plain_ports(program, leaves, total);
        return;
    }
    entry->result_count = fun->results.len;
    entry->results = arena_array(&program->arena, ApiPort, fun->results.len);
    for (uint32_t i = 0; i < fun->results.len; i++) {
        const CorePort *port = &fun->results.data[i];
        entry->results[i] =
            make_port(program, fun->results.len == 1 ? type : NULL, port->name,
                      str_terminated(&program->arena, port->type), leaves, port->first,
                      port->count);
    }
}

static const TEntry *find_typed(const TProgram *typed, Sym name) {
    for (uint32_t i = 0; typed != NULL && i < typed->entries.len; i++)
        if (typed->entries.data[i].name == name) return &typed->entries.data[i];
    return NULL;
}

static void describe_entry(WeftProgram *program, const CoreFun *fun,
                           const TEntry *typed, bool is_split) {
    ApiEntry *entry = &program->entries[program->entry_count++];
    Type *type = typed != NULL ? typed->binding->type : NULL;
    entry->fun = fun;
    entry->name =
        str_terminated(&program->arena, sym_str(&program->cx.syms, fun->name));
    entry->doc = typed != NULL ? str_terminated(&program->arena, typed->doc) : "";
    describe_params(program, entry, type);
    describe_results(program, entry, type, is_split);
}

void api_describe(WeftProgram *program, const TProgram *typed, bool is_split) {
    const CoreProgram *core = program->core;
    program->entries = arena_array(&program->arena, ApiEntry, core->funs.len);
    // In the order of the source; then those that the checker does not know.
    for (uint32_t e = 0; typed != NULL && e < typed->entries.len; e++)
        for (uint32_t i = 0; i < core->funs.len; i++) {
            const CoreFun *fun = core->funs.data[i];
            if (!fun->is_entry || fun->name != typed->entries.data[e].name) continue;
            describe_entry(program, fun, &typed->entries.data[e], is_split);
            break;
        }
    for (uint32_t i = 0; i < core->funs.len; i++) {
        const CoreFun *fun = core->funs.data[i];
        if (fun->is_entry && find_typed(typed, fun->name) == NULL)
            describe_entry(program, fun, NULL, is_split);
    }
}
