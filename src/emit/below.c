// SPDX-License-Identifier: Apache-2.0
//
// Whether elements that lie side by side are all below a bound: in one vector, wherever
// that stands.
#include "emit/vector.h"

static Str lanes_type(Walker *w, ScalarType type, uint32_t bytes) {
    enum { VECTOR = 32 };
    StrBuf text = strbuf(w->arena);
    emit_lanes_type(type, (Lanes){.count = VECTOR / bytes, .mask = 8 * bytes}, &text);
    return strbuf_done(&text);
}

// What is asked are keys, one after the other. Between them the turns look at bins all
// over the place, and processors look less far ahead than memory is away.
static void fetch_ahead(Walker *w, const LoopStm *stm) {
    enum { PAGE = 4096 };
    if (w->made[stm->args[0]] != NULL) return; // in the caches
    walk_line(w, "__builtin_prefetch((const char *)&%.*s[%.*s] + %d);",
              STR_ARG(walk_value(w, stm->args[0])),
              STR_ARG(walk_value(w, stm->args[1])), PAGE);
}

// Of 32 bits the bound is no more than INT32_MAX: what is negative is too large, too.
void walk_below(Walker *w, const LoopStm *stm) {
    ScalarType elem = walk_elem(w, stm->args[0]);
    uint32_t bytes = scalar_info[elem].bytes, number = stm->outs[0];
    Str type = lanes_type(w, bytes == 8 ? SCALAR_U64 : SCALAR_U32, bytes);
    Str buffer = walk_value(w, stm->args[0]), at = walk_value(w, stm->args[1]);
    Str bound = walk_value(w, stm->args[3]);
    if (bytes == 8)
        walk_line(w, "const uint64_t below_%u = %.*s;", number, STR_ARG(bound));
    else
        walk_line(w,
                  "const uint32_t below_%u = %.*s < 2147483647u ? (uint32_t)%.*s : "
                  "2147483647u;",
                  number, STR_ARG(bound), STR_ARG(bound));
    walk_line(w,
              "const bool %.*s = weft_all_%.*s((%.*s)weft_load_%.*s(&%.*s[%.*s]) < "
              "weft_splat_%.*s(below_%u));",
              STR_ARG(walk_value(w, number)),
              STR_ARG(lanes_type(w, SCALAR_BOOL, bytes)), STR_ARG(type),
              STR_ARG(lanes_type(w, elem, bytes)), STR_ARG(buffer), STR_ARG(at),
              STR_ARG(type), number);
    fetch_ahead(w, stm);
}
