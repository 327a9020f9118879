// SPDX-License-Identifier: Apache-2.0
//
// Random programs on the engines (engine.h).
#include "engine.h"

#include "rt/array.h"

static WeftStatus make_inputs(Arena *arena, const GProgram *program,
                              WeftContext *context, WeftValue **inputs) {
    for (uint32_t i = 0; i < GEN_INPUTS; i++) {
        GValue v = gen_input(arena, program, i);
        size_t bytes = scalar_info[v.type.elem].bytes, count = 1;
        for (uint32_t d = 0; d < v.type.rank; d++) count *= (size_t)v.shape[d];
        char *data = arena_zeroed(arena, count + 1, bytes);
        for (size_t k = 0; k < count; k++)
            rt_store(v.type.elem, data + k * bytes, v.data[k]);
        WeftStatus status = weft_value_new(context, (WeftScalar)v.type.elem,
                                           v.type.rank, v.shape, data, &inputs[i]);
        if (status != WEFT_STATUS_OK) return status;
    }
    return WEFT_STATUS_OK;
}

static WeftStatus run(Arena *arena, const GProgram *program, WeftContext *context,
                      const char **text_out) {
    StrBuf text = strbuf(arena);
    gen_print(program, &text);
    Str source = strbuf_done(&text);
    WeftProgram *compiled;
    WeftValue *inputs[GEN_INPUTS], *result;
    WeftStatus status = weft_program_from_source(context, "random.weft", source.ptr,
                                                 source.len, &compiled);
    if (status == WEFT_STATUS_OK) status = make_inputs(arena, program, context, inputs);
    if (status == WEFT_STATUS_OK)
        status = weft_call(compiled, 0, inputs, GEN_INPUTS, &result, 1);
    if (status == WEFT_STATUS_OK) status = weft_value_text(result, text_out);
    return status;
}

Str engine_run(Arena *arena, const GProgram *program, WeftOptions options) {
    WeftContext *context;
    const char *text = "";
    options.struct_size = sizeof options;
    if (weft_context_new(&options, &context) != WEFT_STATUS_OK)
        return STR("out of memory");
    StrBuf out = strbuf(arena);
    WeftStatus status = run(arena, program, context, &text);
    if (status == WEFT_STATUS_OK) strbuf_cstr(&out, text);
    else
        strbuf_printf(&out, "%s: %s", weft_status_text(status),
                      weft_render(context, 0));
    weft_context_free(context);
    return strbuf_done(&out);
}
