// SPDX-License-Identifier: Apache-2.0
//
// Values of the public API: made from memory or text, looked at, printed.
#include <string.h>

#include "api/api.h"

// ---- types --------------------------------------------------------------------------

// Makes the value a scalar or an array of scalars in its leaf 0.
void api_value_describe(WeftValue *value, ScalarType elem, uint32_t rank) {
    value->leaf_type = (DataType){.kind = DATA_LEAF, .elem = elem, .rank = rank};
    value->type = &value->leaf_type;
    size_t at = 0;
    for (uint32_t d = 0; d < rank; d++) {
        value->leaf_text[at++] = '[';
        value->leaf_text[at++] = ']';
    }
    strcpy(value->leaf_text + at, scalar_info[elem].name);
}

// A value with the type of a port, its leaves still to be filled in. Scalars and arrays
// do not keep their program alive.
WeftValue *api_value_for(WeftContext *context, WeftProgram *program,
                         const ApiPort *port) {
    bool is_leaf = port->data->kind == DATA_LEAF;
    WeftValue *value = api_value_new(context, is_leaf ? NULL : program, port->count);
    if (is_leaf) {
        api_value_describe(value, (ScalarType)port->leaves[0].elem,
                           port->leaves[0].rank);
    } else {
        value->type = port->data;
        value->type_text = port->type;
    }
    for (uint32_t i = 0; i < port->count; i++) {
        value->leaves[i].elem = (ScalarType)port->leaves[i].elem;
        value->leaves[i].rank = port->leaves[i].rank;
    }
    return value;
}

const char *weft_value_type(const WeftValue *value) {
    if (value == NULL) return NULL;
    return value->type == &value->leaf_type ? value->leaf_text : value->type_text;
}

int weft_value_is_array(const WeftValue *value) {
    return value != NULL && value->type == &value->leaf_type;
}

WeftScalar weft_value_element(const WeftValue *value) {
    if (!weft_value_is_array(value)) return WEFT_BOOL;
    return (WeftScalar)value->leaf_type.elem;
}

size_t weft_value_rank(const WeftValue *value) {
    return weft_value_is_array(value) ? value->leaf_type.rank : 0;
}

const int64_t *weft_value_shape(const WeftValue *value) {
    return weft_value_rank(value) == 0 ? NULL : value->leaves[0].array->shape;
}

// ---- from and to memory -------------------------------------------------------------

typedef struct NewCall {
    ScalarType elem;
    size_t rank;
    const int64_t *shape;
    const char *data;
    WeftValue **out;
} NewCall;

static WeftStatus make_value(WeftContext *context, void *data) {
    NewCall *call = data;
    if (call->elem >= SCALAR_COUNT || call->rank > DATA_MOST_RANK)
        return api_fail(context, WEFT_STATUS_USAGE, "no such type of array");
    for (size_t d = 0; d < call->rank; d++)
        if (call->shape == NULL || call->shape[d] < 0)
            return api_fail(context, WEFT_STATUS_USAGE, "a size is negative");
    WeftValue *value = api_value_new(context, NULL, 1);
    api_value_describe(value, call->elem, (uint32_t)call->rank);
    RtValue *leaf = &value->leaves[0];
    leaf->elem = call->elem;
    leaf->rank = (uint32_t)call->rank;
    size_t width = scalar_info[call->elem].bytes;
    if (call->rank == 0) {
        if (call->data == NULL)
            return api_fail(context, WEFT_STATUS_USAGE, "there is no data");
        leaf->bits = rt_load(call->elem, call->data);
        if (call->elem == SCALAR_BOOL) leaf->bits = leaf->bits != 0;
    } else {
        leaf->array = rt_new(&context->heap, call->elem, leaf->rank, call->shape);
        if (leaf->array == NULL) mem_fail(&context->mem);
        size_t count = (size_t)rt_count(leaf->array);
        if (count > 0 && call->data == NULL)
            return api_fail(context, WEFT_STATUS_USAGE, "there is no data");
        if (count > 0) memcpy(leaf->array->data, call->data, count * width);
        for (size_t i = 0; call->elem == SCALAR_BOOL && i < count; i++)
            leaf->array->data[i] = leaf->array->data[i] != 0;
    }
    *call->out = value;
    return WEFT_STATUS_OK;
}

WeftStatus weft_value_new(WeftContext *context, WeftScalar element, size_t rank,
                          const int64_t *shape, const void *data,
                          WeftValue **value_out) {
    if (context == NULL || value_out == NULL) return WEFT_STATUS_USAGE;
    NewCall call = {(ScalarType)element, rank, shape, data, value_out};
    return api_guard(context, API_KEEPS, make_value, &call);
}

typedef struct CopyCall {
    const WeftValue *value;
    char *buffer;
    size_t size;
} CopyCall;

static char *copy_dims(const RtArray *a, uint32_t depth, const char *from, char *to) {
    size_t width = scalar_info[a->elem].bytes;
    if (depth == a->rank) {
        memcpy(to, from, width);
        return to + width;
    }
    for (int64_t i = 0; i < a->shape[depth]; i++)
        to = copy_dims(a, depth + 1, from + i * a->strides[depth] * (int64_t)width, to);
    return to;
}

static WeftStatus copy_value(WeftContext *context, void *data) {
    CopyCall *call = data;
    const RtValue *leaf = &call->value->leaves[0];
    if (!weft_value_is_array(call->value))
        return api_fail(context, WEFT_STATUS_USAGE, "a %s cannot be copied as an array",
                        weft_value_type(call->value));
    size_t width = scalar_info[leaf->elem].bytes;
    size_t need = width * (leaf->rank == 0 ? 1 : (size_t)rt_count(leaf->array));
    if (call->size != need)
        return api_fail(context, WEFT_STATUS_USAGE,
                        "the value takes %zu bytes, the buffer has %zu", need,
                        call->size);
    if (leaf->rank == 0) rt_store(leaf->elem, call->buffer, leaf->bits);
    else if (need > 0 && rt_is_contiguous(leaf->array))
        memcpy(call->buffer, leaf->array->data, need);
    else if (need > 0) copy_dims(leaf->array, 0, leaf->array->data, call->buffer);
    return WEFT_STATUS_OK;
}

WeftStatus weft_value_copy(const WeftValue *value, void *buffer, size_t size) {
    if (value == NULL || (buffer == NULL && size > 0)) return WEFT_STATUS_USAGE;
    CopyCall call = {value, buffer, size};
    return api_guard(value->context, API_KEEPS, copy_value, &call);
}

typedef struct DataCall {
    WeftValue *value;
    const void **out;
} DataCall;

static WeftStatus find_data(WeftContext *context, void *data) {
    const DataCall *call = data;
    WeftValue *value = call->value;
    RtValue *leaf = &value->leaves[0];
    if (!weft_value_is_array(value))
        return api_fail(context, WEFT_STATUS_USAGE, "a %s is no array of scalars",
                        weft_value_type(value));
    if (leaf->rank == 0) {
        rt_store(leaf->elem, (char *)&value->scalar, leaf->bits);
        *call->out = &value->scalar;
        return WEFT_STATUS_OK;
    }
    if (!rt_make_contiguous(&context->heap, leaf->array)) mem_fail(&context->mem);
    *call->out = leaf->array->data;
    return WEFT_STATUS_OK;
}

WeftStatus weft_value_data(WeftValue *value, const void **data_out) {
    if (value == NULL || data_out == NULL) return WEFT_STATUS_USAGE;
    DataCall call = {value, data_out};
    return api_guard(value->context, API_KEEPS, find_data, &call);
}

// ---- reading ------------------------------------------------------------------------

Str api_describe_port(Arena *arena, const ApiRead *call, size_t i) {
    StrBuf text = strbuf(arena);
    const ApiPort *port = &call->ports[i];
    strbuf_printf(&text, "for the %s ", call->what);
    if (port->name[0] != '\0') strbuf_printf(&text, "`%s: ", port->name);
    else strbuf_printf(&text, "%zu, `", call->first + i + 1);
    strbuf_printf(&text, "%s` of `%s`", port->type, call->entry);
    return strbuf_done(&text);
}

static WeftStatus fail_read(WeftContext *context, const ApiRead *call,
                            const DataReader *reader, size_t i) {
    Str note =
        i < call->count ? api_describe_port(&context->scratch, call, i) : STR("");
    Str message = reader->error;
    if (reader->error_line == 0) {
        StrBuf text = strbuf(&context->scratch);
        strbuf_printf(&text, "%.*s (at byte %zu)", STR_ARG(message), reader->error_at);
        message = strbuf_done(&text);
    }
    return api_fault_value(context, call->name, reader->error_line,
                           reader->error_column, message, note);
}

WeftStatus api_read_values(WeftContext *context, void *data) {
    const ApiRead *call = data;
    context->activity = api_reads;
    DataReader reader = data_reader(call->bytes, &context->heap, &context->scratch);
    WeftValue **made = arena_array(&context->scratch, WeftValue *, call->count + 1);
    const char *plural = call->count == 1 ? "" : "s";
    for (size_t i = 0; i < call->count; i++) {
        made[i] = api_value_for(context, call->program, &call->ports[i]);
        if (data_at_end(&reader)) {
            data_fail(&reader, reader.at, "expected %zu value%s, found only %zu",
                      call->count, plural, i);
            return fail_read(context, call, &reader, i);
        }
        Status status =
            data_read(&reader, made[i]->type, made[i]->leaves, made[i]->leaf_count);
        if (status != STATUS_OK) return fail_read(context, call, &reader, i);
    }
    if (!data_at_end(&reader)) {
        data_fail(&reader, reader.at, "expected %zu value%s, found more", call->count,
                  plural);
        return fail_read(context, call, &reader, call->count);
    }
    for (size_t i = 0; i < call->count; i++) call->out[i] = made[i];
    return WEFT_STATUS_OK;
}

static WeftStatus wrong_count(WeftContext *context, void *data) {
    (void)data;
    return api_fail(context, WEFT_STATUS_USAGE,
                    "there is no such entry, or it takes another number of values");
}

WeftStatus weft_values_read(WeftProgram *program, size_t entry, const char *name,
                            const void *bytes, size_t length, WeftValue **values,
                            size_t value_count) {
    if (program == NULL || (bytes == NULL && length > 0) ||
        (values == NULL && value_count > 0))
        return WEFT_STATUS_USAGE;
    WeftContext *context = program->context;
    if (value_count != weft_entry_parameter_count(program, entry) ||
        entry >= program->entry_count)
        return api_guard(context, API_STARTS, wrong_count, NULL);
    const ApiEntry *e = &program->entries[entry];
    ApiRead call = {.program = program,
                    .ports = e->params,
                    .count = e->param_count,
                    .name = name == NULL ? "input" : name,
                    .what = "parameter",
                    .entry = e->name,
                    .bytes = {bytes == NULL ? "" : bytes, length},
                    .out = values};
    return api_guard(context, API_STARTS, api_read_values, &call);
}

WeftStatus weft_value_read(WeftProgram *program, size_t entry, size_t parameter,
                           const char *name, const void *bytes, size_t length,
                           WeftValue **value_out) {
    if (program == NULL || value_out == NULL || (bytes == NULL && length > 0))
        return WEFT_STATUS_USAGE;
    if (parameter >= weft_entry_parameter_count(program, entry))
        return api_guard(program->context, API_STARTS, wrong_count, NULL);
    const ApiEntry *e = &program->entries[entry];
    ApiRead call = {.program = program,
                    .ports = &e->params[parameter],
                    .count = 1,
                    .first = parameter,
                    .name = name == NULL ? "input" : name,
                    .what = "parameter",
                    .entry = e->name,
                    .bytes = {bytes == NULL ? "" : bytes, length},
                    .out = value_out};
    return api_guard(program->context, API_STARTS, api_read_values, &call);
}

// ---- printing -----------------------------------------------------------------------

typedef struct PrintCall {
    const WeftValue *value;
    WeftFormat format;
    WeftWriter writer;
    void *data;
    const char *text;
} PrintCall;

static bool write_through(void *data, const char *bytes, size_t len) {
    PrintCall *call = data;
    return call->writer(call->data, bytes, len) == 0;
}

static WeftStatus print_value(WeftContext *context, void *data) {
    PrintCall *call = data;
    const WeftValue *value = call->value;
    context->activity = api_prints;
    DataSink sink = {.write = write_through, .data = call};
    bool has_form = true;
    if (call->format == WEFT_FORMAT_BINARY)
        has_form = data_write_binary(&sink, value->type, value->leaves);
    else data_print(&sink, value->type, value->leaves);
    data_flush(&sink);
    if (!has_form)
        return api_fail(context, WEFT_STATUS_USAGE,
                        "a value of type %s has no binary form",
                        weft_value_type(value));
    if (sink.has_failed)
        return api_fail(context, WEFT_STATUS_IO, "the value could not be written");
    return WEFT_STATUS_OK;
}

WeftStatus weft_value_print(const WeftValue *value, WeftFormat format,
                            WeftWriter writer, void *data) {
    if (value == NULL || writer == NULL) return WEFT_STATUS_USAGE;
    PrintCall call = {.value = value, .format = format, .writer = writer, .data = data};
    return api_guard(value->context, API_KEEPS, print_value, &call);
}

static bool write_buffer(void *data, const char *bytes, size_t len) {
    strbuf_bytes(data, bytes, len);
    return true;
}

static WeftStatus text_value(WeftContext *context, void *data) {
    PrintCall *call = data;
    StrBuf text = strbuf(&context->scratch);
    context->activity = api_prints;
    DataSink sink = {.write = write_buffer, .data = &text};
    data_print(&sink, call->value->type, call->value->leaves);
    data_put(&sink, "", 1);
    data_flush(&sink);
    call->text = strbuf_done(&text).ptr;
    return WEFT_STATUS_OK;
}

WeftStatus weft_value_text(const WeftValue *value, const char **text_out) {
    if (value == NULL || text_out == NULL) return WEFT_STATUS_USAGE;
    PrintCall call = {.value = value};
    WeftStatus status = api_guard(value->context, API_KEEPS, text_value, &call);
    if (status == WEFT_STATUS_OK) *text_out = call.text;
    return status;
}
