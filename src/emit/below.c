// SPDX-License-Identifier: Apache-2.0
//
// Whether elements that lie side by side are all below a bound: in vectors, wherever
// that stands.
#include "emit/vector.h"
#include "loop/machine.h"

// Vectors of unsigned numbers, as many lanes as there are elements or a vector holds.
static Lanes lanes_for(ScalarType elem, uint64_t count) {
    uint32_t bytes = scalar_info[elem].bytes, vector = machine_vector_bytes();
    Lanes lanes = {.count = (vector == 64 ? vector : 32) / bytes};
    if (count < lanes.count) lanes.count = (uint32_t)count;
    lanes.mask = 8 * bytes;
    return lanes;
}

static Str lanes_type(Walker *w, ScalarType type, Lanes lanes) {
    StrBuf text = strbuf(w->arena);
    emit_lanes_type(type, lanes, &text);
    return strbuf_done(&text);
}

// Of 32 bits the bound is no more than INT32_MAX: what is negative is too large, too.
void walk_below(Walker *w, const LoopStm *stm) {
    ScalarType elem = walk_elem(w, stm->args[0]);
    bool is_wide = scalar_info[elem].bytes == 8;
    uint64_t count = w->kernel->values.data[stm->args[2]].bits;
    Lanes lanes = lanes_for(elem, count);
    Str type = lanes_type(w, is_wide ? SCALAR_U64 : SCALAR_U32, lanes);
    Str buffer = walk_value(w, stm->args[0]), at = walk_value(w, stm->args[1]);
    Str bound = walk_value(w, stm->args[3]);
    uint32_t number = stm->outs[0];
    if (is_wide)
        walk_line(w, "const uint64_t below_%u = %.*s;", number, STR_ARG(bound));
    else
        walk_line(w,
                  "const uint32_t below_%u = %.*s < 2147483647u ? (uint32_t)%.*s : "
                  "2147483647u;",
                  number, STR_ARG(bound), STR_ARG(bound));
    StrBuf all = strbuf(w->arena);
    for (uint64_t from = 0; from < count; from += lanes.count) {
        if (from > 0) strbuf_cstr(&all, " && ");
        strbuf_printf(&all,
                      "weft_all_%.*s((%.*s)weft_load_%.*s(&%.*s[%.*s + %u]) < "
                      "weft_splat_%.*s(below_%u))",
                      STR_ARG(lanes_type(w, SCALAR_BOOL, lanes)), STR_ARG(type),
                      STR_ARG(lanes_type(w, elem, lanes)), STR_ARG(buffer), STR_ARG(at),
                      (unsigned)from, STR_ARG(type), number);
    }
    walk_line(w, "const bool %.*s = %.*s;", STR_ARG(walk_value(w, stm->outs[0])),
              STR_ARG(strbuf_done(&all)));
}
