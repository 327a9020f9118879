// SPDX-License-Identifier: Apache-2.0
//
// Sifting. Arrays that are sifted one after the other by the same flags, to the same
// place, are sifted together: what the flags say is found out once for all.
#include "emit/walk.h"

enum { MOST_ARRAYS = 8 };

static uint32_t bytes_of(const Walker *w, const LoopStm *sift) {
    return scalar_info[w->kernel->values.data[sift->args[0]].type.elem].bytes;
}

// Whether it is one more of those that are to be sifted together, none of which gives
// what another one takes.
static bool goes_with(const Walker *w, LoopStm *const *sifts, uint32_t count,
                      const LoopStm *stm) {
    static const uint32_t shared[] = {1, 2, 5, 6, 7}; // places and flags
    if (stm->op != LOOP_SIFT || count == MOST_ARRAYS ||
        bytes_of(w, stm) != bytes_of(w, sifts[0]))
        return false;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (stm->args[shared[i]] != sifts[0]->args[shared[i]]) return false;
    for (uint32_t i = 0; i < count; i++)
        if (sifts[i]->args[0] == stm->args[0] || sifts[i]->args[0] == stm->args[3] ||
            sifts[i]->args[0] == stm->args[5] || sifts[i]->args[3] == stm->args[0])
            return false;
    return true;
}

// "(char *const[]){(char *)to_1, (char *)to_2}", or where each begins to be read.
static Str list_arrays(Walker *w, LoopStm *const *sifts, uint32_t count, bool reads) {
    const char *type = reads ? "const char *" : "char *";
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "(%sconst[]){", type);
    for (uint32_t i = 0; i < count; i++) {
        const LoopRef *args = sifts[i]->args + (reads ? 3 : 0);
        strbuf_printf(&text, "%s(%s)", i > 0 ? ", " : "", type);
        if (!reads) strbuf_str(&text, walk_value(w, args[0]));
        else
            strbuf_printf(&text, "(%.*s + %.*s)", STR_ARG(walk_value(w, args[0])),
                          STR_ARG(walk_value(w, args[1])));
    }
    strbuf_char(&text, '}');
    return strbuf_done(&text);
}

uint32_t walk_sifts(Walker *w, const LoopBody *body, uint32_t at) {
    LoopStm *const *sifts = body->stms.data + at;
    uint32_t count = 1, left = body->stms.len - at;
    if (sifts[0]->op != LOOP_SIFT) return at;
    while (count < left && goes_with(w, sifts, count, sifts[count])) count++;
    Str args[8];
    for (uint32_t i = 0; i < 8; i++) args[i] = walk_value(w, sifts[0]->args[i]);
    walk_place(w, sifts[0]->loc);
    walk_line(w,
              "const int64_t %.*s = weft_sift_%u(%u, %.*s, %.*s, %.*s, %.*s, %.*s + "
              "%.*s, %.*s);",
              STR_ARG(walk_value(w, sifts[0]->outs[0])), 8 * bytes_of(w, sifts[0]),
              count, STR_ARG(list_arrays(w, sifts, count, false)), STR_ARG(args[1]),
              STR_ARG(args[2]), STR_ARG(list_arrays(w, sifts, count, true)),
              STR_ARG(args[5]), STR_ARG(args[6]), STR_ARG(args[7]));
    for (uint32_t i = 1; i < count; i++)
        walk_line(w, "const int64_t %.*s = %.*s;",
                  STR_ARG(walk_value(w, sifts[i]->outs[0])),
                  STR_ARG(walk_value(w, sifts[0]->outs[0])));
    return at + count;
}
