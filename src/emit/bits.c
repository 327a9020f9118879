// SPDX-License-Identifier: Apache-2.0
//
// Masks as bits. Where vectors fill registers of 64 bytes, comparisons give a bit for
// each lane, and choices go by bits. Of masks that a loop hands from turn to turn
// compilers make vectors, and bits again wherever one is needed. So where lanes go
// round until all of them are done, masks that are compared, joined, chosen by and
// asked for, and nothing else, are integers with a bit for each lane.
#include "emit/vector.h"
#include "loop/copy.h"
#include "loop/machine.h"

enum {
    REGISTER = 64, // bytes
    LEAST = 16     // that are chosen by bits
};

typedef struct Finder {
    Walker *w;
    bool changed;
} Finder;

static bool is_mask(const Walker *w, LoopRef ref) {
    return walk_has_lanes(w, ref) && walk_elem(w, ref) == SCALAR_BOOL;
}

bool walk_is_bits(const Walker *w, LoopRef ref) {
    return w->is_bits != NULL && w->is_bits[ref];
}

// The comparison that gives a mask of whole registers, in C; or NULL.
static const char *comparison(const Walker *w, const LoopStm *stm) {
    ScalarType elem = walk_elem(w, stm->args[0]);
    if (elem == SCALAR_BOOL || scalar_info[elem].bytes * w->part.count != REGISTER)
        return NULL;
    switch (stm->scalar) {
    case OP_EQ: return "eq";
    case OP_LT: return "lt";
    case OP_LE: return "le";
    default: return NULL;
    }
}

// ---- which --------------------------------------------------------------------------

static void assume_bits(Walker *w, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (is_mask(w, refs[i])) w->is_bits[refs[i]] = true;
}

static void assume_all(Walker *w, const LoopBody *body) {
    assume_bits(w, body->params, body->param_count);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        assume_bits(w, stm->outs, stm->out_count);
        for (uint32_t k = 0; k < stm->body_count; k++) assume_all(w, stm->bodies[k]);
    }
}

static void refuse(Finder *f, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        f->changed = f->changed || walk_is_bits(f->w, refs[i]);
        f->w->is_bits[refs[i]] = false;
    }
}

// Each of these, if it is a mask, is bits if `ref` is.
static void agree_with(Finder *f, LoopRef ref, const LoopRef *refs, uint32_t count) {
    bool is_bits = is_mask(f->w, ref) && walk_is_bits(f->w, ref);
    for (uint32_t i = 0; i < count; i++)
        if (is_mask(f->w, refs[i]) && !walk_is_bits(f->w, refs[i])) is_bits = false;
    if (is_bits) return;
    refuse(f, &ref, 1);
    refuse(f, refs, count);
}

static void agree_in_while(Finder *f, const LoopStm *stm) {
    const LoopBody *guard = stm->bodies[0], *body = stm->bodies[1];
    for (uint32_t i = 0; i < stm->out_count; i++) {
        LoopRef same[] = {stm->args[i], guard->params[i], body->params[i],
                          body->results[i]};
        agree_with(f, stm->outs[i], same, 4);
    }
}

// Whether such elements are chosen by bits.
static bool chooses(const Walker *w, ScalarType elem) {
    return elem != SCALAR_BOOL && scalar_info[elem].bytes * w->part.count >= LEAST;
}

static bool joins_masks(const Walker *w, const LoopStm *stm) {
    return walk_elem(w, stm->args[0]) == SCALAR_BOOL &&
           (stm->scalar == OP_AND || stm->scalar == OP_OR || stm->scalar == OP_NOT);
}

static void agree_in(Finder *f, const LoopBody *body) {
    const Walker *w = f->w;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++) agree_in(f, stm->bodies[k]);
        bool is_scalar = stm->op == LOOP_SCALAR;
        if (stm->op == LOOP_ANY || stm->op == LOOP_SPLAT ||
            (is_scalar && comparison(w, stm) != NULL) ||
            (stm->op == LOOP_SELECT && chooses(w, walk_elem(w, stm->outs[0]))))
            continue;
        if (stm->op == LOOP_WHILE) {
            agree_in_while(f, stm);
        } else if (is_scalar && joins_masks(w, stm)) {
            agree_with(f, stm->outs[0], stm->args, stm->arg_count);
        } else if (stm->op == LOOP_SELECT && is_mask(w, stm->outs[0])) {
            agree_with(f, stm->outs[0], stm->args + 1, 2);
        } else {
            refuse(f, stm->args, stm->arg_count);
            refuse(f, stm->outs, stm->out_count);
            for (uint32_t k = 0; k < stm->body_count; k++) {
                refuse(f, stm->bodies[k]->params, stm->bodies[k]->param_count);
                refuse(f, stm->bodies[k]->results, stm->bodies[k]->result_count);
            }
        }
    }
}

void walk_find_bits(Walker *w, const LoopBody *vector) {
    w->is_bits = NULL;
    if (machine_vector_bytes() != REGISTER || !walk_is_wide(w) ||
        !loop_has_op(vector, LOOP_WHILE))
        return;
    w->is_bits = arena_array(w->arena, bool, w->kernel->values.len);
    assume_all(w, vector);
    Finder f = {.w = w, .changed = true};
    while (f.changed) {
        f.changed = false;
        agree_in(&f, vector);
    }
}

// ---- expressions --------------------------------------------------------------------

void walk_bits_type(const Walker *w, StrBuf *out) {
    strbuf_printf(out, "uint%u_t", w->part.count);
}

// A part, of a value that may have no lanes, or may be no bits.
static Str bits_of(Walker *w, LoopRef ref, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    if (walk_is_bits(w, ref)) return walk_part(w, ref, part);
    if (walk_has_lanes(w, ref))
        strbuf_printf(&text, "(uint64_t)weft_mask_%.*s(%.*s)",
                      STR_ARG(walk_vector_type(w, SCALAR_BOOL)),
                      STR_ARG(walk_part(w, ref, part)));
    else strbuf_printf(&text, "(uint64_t)-(int64_t)%.*s", STR_ARG(walk_value(w, ref)));
    return strbuf_done(&text);
}

Str walk_mask(Walker *w, LoopRef mask, uint32_t part) {
    Str value = walk_part(w, mask, part), type = walk_vector_type(w, SCALAR_BOOL);
    StrBuf text = strbuf(w->arena);
    if (!walk_is_bits(w, mask)) return value;
    strbuf_printf(&text, "weft_choose_%.*s(%.*s, weft_splat_%.*s(-1), (%.*s){0})",
                  STR_ARG(type), STR_ARG(value), STR_ARG(type), STR_ARG(type));
    return strbuf_done(&text);
}

static void put_mask_bits(Walker *w, LoopRef mask, uint32_t part, int depth,
                          StrBuf *out);

static void put_joined(Walker *w, const LoopStm *stm, uint32_t part, char op, int depth,
                       StrBuf *out) {
    strbuf_char(out, '(');
    put_mask_bits(w, stm->args[0], part, depth, out);
    strbuf_printf(out, " %c ", op);
    put_mask_bits(w, stm->args[1], part, depth, out);
    strbuf_char(out, ')');
}

// What the statement makes, if that can be said in bits.
static bool put_bits(Walker *w, const LoopStm *stm, uint32_t part, int depth,
                     StrBuf *out) {
    bool is_scalar = stm->op == LOOP_SCALAR, selects = stm->op == LOOP_SELECT;
    const char *name = is_scalar ? comparison(w, stm) : NULL;
    if (name != NULL) {
        strbuf_printf(out, "weft_%s_bits_%.*s(%.*s, %.*s)", name,
                      STR_ARG(walk_vector_type_of(w, stm->args[0])),
                      STR_ARG(walk_vector(w, stm->args[0], part)),
                      STR_ARG(walk_vector(w, stm->args[1], part)));
    } else if (is_scalar && stm->scalar == OP_NOT) {
        strbuf_char(out, '~');
        put_mask_bits(w, stm->args[0], part, depth, out);
    } else if (is_scalar && stm->scalar == OP_OR) {
        put_joined(w, stm, part, '|', depth, out);
    } else if ((is_scalar && stm->scalar == OP_AND) ||
               (selects && walk_is_const(w, stm->args[2], 0))) {
        put_joined(w, stm, part, '&', depth, out);
    } else if (selects) {
        Str c = bits_of(w, stm->args[0], part);
        strbuf_printf(out, "((%.*s & ", STR_ARG(c));
        put_mask_bits(w, stm->args[1], part, depth, out);
        strbuf_printf(out, ") | (~%.*s & ", STR_ARG(c));
        put_mask_bits(w, stm->args[2], part, depth, out);
        strbuf_cstr(out, "))");
    } else if (stm->op == LOOP_SPLAT) {
        strbuf_str(out, bits_of(w, stm->args[0], part));
    } else {
        return false;
    }
    return true;
}

// `depth`: of operators that are written once more, as far as it goes.
static void put_mask_bits(Walker *w, LoopRef mask, uint32_t part, int depth,
                          StrBuf *out) {
    const LoopStm *stm = depth > 0 ? w->made[mask] : NULL;
    if (stm == NULL || !put_bits(w, stm, part, depth - 1, out))
        strbuf_str(out, bits_of(w, mask, part));
}

Str walk_mask_bits(Walker *w, LoopRef mask, uint32_t part) {
    enum { DEPTH = 5 };
    StrBuf text = strbuf(w->arena);
    put_mask_bits(w, mask, part, DEPTH, &text);
    return strbuf_done(&text);
}

Str walk_bits(Walker *w, const LoopStm *stm, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    strbuf_char(&text, '(');
    walk_bits_type(w, &text);
    strbuf_char(&text, ')');
    put_bits(w, stm, part, 0, &text);
    return strbuf_done(&text);
}
