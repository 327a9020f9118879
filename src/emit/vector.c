// SPDX-License-Identifier: Apache-2.0
//
// Vector turns. A value in lanes is one or more vectors, its parts, as large as the
// machine's at most, so that compilers see what it has and several are in flight. All
// values of a turn have as many lanes in a part: as a vector holds of the widest, from
// 4 of 8 bytes to 64 of one.
#include "emit/vector.h"
#include "loop/machine.h"

ScalarType walk_elem(const Walker *w, LoopRef ref) {
    return (ScalarType)w->kernel->values.data[ref].type.elem;
}

bool walk_has_lanes(const Walker *w, LoopRef ref) {
    return w->kernel->values.data[ref].type.lanes > 0;
}

// ---- parts --------------------------------------------------------------------------

uint32_t walk_parts(const Walker *w, LoopRef ref) {
    return walk_has_lanes(w, ref) ? w->lanes / w->part.count : 1;
}

Str walk_part(Walker *w, LoopRef ref, uint32_t part) {
    Str value = walk_value(w, ref);
    if (!walk_has_lanes(w, ref)) return value;
    StrBuf text = strbuf(w->arena);
    strbuf_reserve(&text, value.len + 1);
    strbuf_str(&text, value);
    strbuf_char(&text, (char)('a' + part));
    return strbuf_done(&text);
}

Str walk_vector_type(Walker *w, ScalarType elem) {
    StrBuf text = strbuf(w->arena);
    emit_lanes_type(elem, w->part, &text);
    return strbuf_done(&text);
}

Str walk_vector_type_of(Walker *w, LoopRef ref) {
    StrBuf text = strbuf(w->arena);
    if (!walk_is_bits(w, ref)) return walk_vector_type(w, walk_elem(w, ref));
    walk_bits_type(w, &text);
    return strbuf_done(&text);
}

// Whether it is an integer that compilers would put together in a register and copy
// from there in every turn, for want of registers to keep it in.
static bool is_long(const Walker *w, LoopRef ref) {
    const LoopValue *value = &w->kernel->values.data[ref];
    unsigned unused = 64 - 8u * scalar_info[value->type.elem].bytes;
    int64_t number = (int64_t)(value->bits << unused) >> unused;
    return value->is_const && scalar_is_int(walk_elem(w, ref)) &&
           (number > INT16_MAX || number < INT16_MIN);
}

Str walk_vector(Walker *w, LoopRef ref, uint32_t part) {
    if (walk_has_lanes(w, ref)) return walk_part(w, ref, part);
    StrBuf text = strbuf(w->arena);
    if (is_long(w, ref)) {
        strbuf_printf(&text, "weft_splat_%.*s((%s)",
                      STR_ARG(walk_vector_type_of(w, ref)),
                      emit_types[walk_elem(w, ref)]);
        emit_loaded(w->kernel->values.data[ref].bits, w->helpers, &text);
        strbuf_char(&text, ')');
        return strbuf_done(&text);
    }
    strbuf_printf(&text,
                  walk_elem(w, ref) == SCALAR_BOOL ? "weft_splat_%.*s(-%.*s)"
                                                   : "weft_splat_%.*s(%.*s)",
                  STR_ARG(walk_vector_type_of(w, ref)), STR_ARG(walk_value(w, ref)));
    return strbuf_done(&text);
}

Str walk_all(Walker *w, Str mask) {
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "weft_all_%.*s(%.*s)",
                  STR_ARG(walk_vector_type(w, SCALAR_BOOL)), STR_ARG(mask));
    return strbuf_done(&text);
}

static void define(Walker *w, LoopRef out, uint32_t part, Str text) {
    walk_line(w, "const %.*s %.*s = %.*s;", STR_ARG(walk_vector_type_of(w, out)),
              STR_ARG(walk_part(w, out, part)), STR_ARG(text));
}

// The parts of a mask joined by an operator.
static Str join_parts(Walker *w, LoopRef mask, char op) {
    StrBuf text = strbuf(w->arena);
    for (uint32_t p = 0; p < walk_parts(w, mask); p++) {
        if (p > 0) strbuf_printf(&text, " %c ", op);
        strbuf_str(&text, walk_part(w, mask, p));
    }
    return strbuf_done(&text);
}

// ---- operators ----------------------------------------------------------------------

// Whether it is that operator on floats in whole registers, and a turn does little
// else: then the divider is what all wait for.
static bool waits_for_divider(const Walker *w, const LoopStm *stm, CoreOp op) {
    ScalarType elem = walk_elem(w, stm->outs[0]);
    return w->is_short && stm->scalar == op && scalar_is_float(elem) &&
           elem != SCALAR_F16 && w->part.count * scalar_info[elem].bytes == 64;
}

// Whether it is known to be a power of two, or the like, by which compilers multiply.
static bool is_power_of_two(const Walker *w, LoopRef ref) {
    const LoopValue *value = &w->kernel->values.data[ref];
    uint32_t unused = walk_elem(w, ref) == SCALAR_F32 ? 64 - 23 : 64 - 52;
    return value->is_const && value->bits << unused == 0;
}

// How many vectors the innermost loop had before this one, as an expression.
static Str number_vectors(Walker *w, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    if (w->turn == w->vector)
        strbuf_printf(&text, "(uint64_t)%.*s / %u + ", STR_ARG(walk_value(w, w->turn)),
                      w->part.count);
    else if (w->turn != 0)
        strbuf_printf(&text, "(uint64_t)%.*s * %u + ", STR_ARG(walk_value(w, w->turn)),
                      w->lanes / w->part.count);
    strbuf_printf(&text, "%u", part);
    return strbuf_done(&text);
}

// A mask that is added as numbers of 0 and 1 is subtracted as it is, as one of 0 and
// -1. Masks of 64 bytes are no vectors, and an addition goes by them.
static bool subtracts_mask(Walker *w, const LoopStm *stm, uint32_t part, StrBuf *out) {
    ScalarType elem = walk_elem(w, stm->outs[0]);
    const LoopStm *number = stm->arg_count == 2 ? w->made[stm->args[1]] : NULL;
    if (stm->scalar != OP_ADD || !scalar_is_int(elem) || number == NULL ||
        number->op != LOOP_SCALAR || number->scalar != OP_CONV ||
        walk_elem(w, number->args[0]) != SCALAR_BOOL ||
        !walk_has_lanes(w, number->args[0]) ||
        w->part.count * scalar_info[elem].bytes > 32)
        return false;
    Str name = walk_vector_type(w, elem);
    strbuf_printf(out, "(%.*s)(%.*s - (", STR_ARG(name),
                  STR_ARG(walk_vector(w, stm->args[0], part)));
    strbuf_printf(out, "%.*s)", STR_ARG(name));
    emit_mask_for(elem, w->part, walk_part(w, number->args[0], part), out);
    strbuf_char(out, ')');
    return true;
}

static Str scalar(Walker *w, const LoopStm *stm, uint32_t part) {
    Str operands[3];
    StrBuf text = strbuf(w->arena);
    if (subtracts_mask(w, stm, part, &text)) return strbuf_done(&text);
    for (uint32_t i = 0; i < stm->arg_count && i < 3; i++)
        operands[i] = walk_vector(w, stm->args[i], part);
    if (walk_keeps_bits(w, stm))
        strbuf_printf(&text, "(%.*s)%.*s",
                      STR_ARG(walk_vector_type_of(w, stm->outs[0])),
                      STR_ARG(operands[0]));
    else if (waits_for_divider(w, stm, OP_SQRT))
        strbuf_printf(&text, "weft_nth_sqrt_%.*s(%.*s, %.*s)",
                      STR_ARG(walk_vector_type_of(w, stm->outs[0])),
                      STR_ARG(operands[0]), STR_ARG(number_vectors(w, part)));
    else if (waits_for_divider(w, stm, OP_DIV) && !walk_has_lanes(w, stm->args[1]) &&
             !is_power_of_two(w, stm->args[1]))
        strbuf_printf(&text, "weft_ratio_%.*s(%.*s, %.*s)",
                      STR_ARG(walk_vector_type_of(w, stm->outs[0])),
                      STR_ARG(operands[0]), STR_ARG(walk_value(w, stm->args[1])));
    else
        emit_lanes(w->dialect, stm->scalar, walk_elem(w, stm->args[0]),
                   walk_elem(w, stm->outs[0]), w->part, operands, w->helpers, &text);
    return strbuf_done(&text);
}

static Str number_lanes(Walker *w, const LoopStm *stm, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    if (stm->arg_count > 0) {
        strbuf_printf(&text, "weft_steps_%.*s(%.*s, %.*s, %u)",
                      STR_ARG(walk_vector_type_of(w, stm->outs[0])),
                      STR_ARG(walk_value(w, stm->args[0])),
                      STR_ARG(walk_value(w, stm->args[1])), part * w->part.count);
        return strbuf_done(&text);
    }
    strbuf_printf(&text, "(%.*s){", STR_ARG(walk_vector_type_of(w, stm->outs[0])));
    for (uint32_t i = 0; i < w->part.count; i++)
        strbuf_printf(&text, i == 0 ? "%u" : ", %u", part * w->part.count + i);
    strbuf_char(&text, '}');
    return strbuf_done(&text);
}

// What chooses the larger or the smaller of two floats, if that is what a choice does:
// one instruction, where a mask from a comparison is waited for.
static const char *picks(const Walker *w, const LoopStm *stm) {
    const LoopStm *test = w->made[stm->args[0]];
    ScalarType elem = walk_elem(w, stm->outs[0]);
    if ((elem != SCALAR_F32 && elem != SCALAR_F64) || test == NULL ||
        test->op != LOOP_SCALAR || test->scalar != OP_LT)
        return NULL;
    for (uint32_t i = 0; i < 2; i++)
        if (walk_is_same(w, test->args[i], stm->args[1]) &&
            walk_is_same(w, test->args[1 - i], stm->args[2]))
            return i == 0 ? "smaller" : "larger";
    return NULL;
}

static Str select(Walker *w, const LoopStm *stm, uint32_t part) {
    ScalarType elem = walk_elem(w, stm->outs[0]);
    StrBuf text = strbuf(w->arena);
    const char *pick = picks(w, stm);
    if (pick != NULL) {
        strbuf_printf(&text, "weft_%s_%.*s(%.*s, %.*s)", pick,
                      STR_ARG(walk_vector_type(w, elem)),
                      STR_ARG(walk_vector(w, stm->args[1], part)),
                      STR_ARG(walk_vector(w, stm->args[2], part)));
        return strbuf_done(&text);
    }
    bool is_by_bits = walk_is_bits(w, stm->args[0]) && elem != SCALAR_BOOL;
    strbuf_printf(&text, "weft_%s_%.*s(", is_by_bits ? "choose" : "select",
                  STR_ARG(walk_vector_type(w, elem)));
    if (is_by_bits) strbuf_str(&text, walk_part(w, stm->args[0], part));
    else emit_mask_for(elem, w->part, walk_mask(w, stm->args[0], part), &text);
    for (uint32_t i = 1; i < 3; i++)
        strbuf_printf(&text, ", %.*s", STR_ARG(walk_vector(w, stm->args[i], part)));
    strbuf_char(&text, ')');
    return strbuf_done(&text);
}

// Whether the values are computed, and pieces of four of them are joined.
static bool packs_pieces(const Walker *w, const LoopStm *stm) {
    uint32_t bytes = scalar_info[walk_elem(w, stm->outs[0])].bytes;
    bool is_const = true;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        is_const = is_const && w->kernel->values.data[stm->args[i]].is_const;
    return !is_const && bytes >= 4 && w->part.count > 4;
}

// Each piece is whole before the next begins: compilers that see all values at once
// have no registers for them.
static Str pack_pieces(Walker *w, const LoopStm *stm, uint32_t part) {
    const char *elem = scalar_info[walk_elem(w, stm->outs[0])].name;
    uint32_t count = w->part.count / 4;
    Str *pieces = arena_array(w->arena, Str, count);
    for (uint32_t p = 0; p < count; p++) {
        const LoopRef *of = stm->args + part * w->part.count + 4 * p;
        StrBuf name = strbuf(w->arena);
        strbuf_printf(&name, "p%u_%u", stm->outs[0], part * count + p);
        pieces[p] = strbuf_done(&name);
        walk_line(w, "%sx4 %.*s = {%.*s, %.*s, %.*s, %.*s};", elem, STR_ARG(pieces[p]),
                  STR_ARG(walk_value(w, of[0])), STR_ARG(walk_value(w, of[1])),
                  STR_ARG(walk_value(w, of[2])), STR_ARG(walk_value(w, of[3])));
        walk_line(w, "WEFT_WHOLE(%.*s);", STR_ARG(pieces[p]));
    }
    for (uint32_t lanes = 8; count > 1; lanes *= 2, count /= 2)
        for (uint32_t p = 0; p < count / 2; p++) {
            StrBuf text = strbuf(w->arena);
            strbuf_printf(&text, "weft_join_%sx%u(%.*s, %.*s)", elem, lanes,
                          STR_ARG(pieces[2 * p]), STR_ARG(pieces[2 * p + 1]));
            pieces[p] = strbuf_done(&text);
        }
    return pieces[0];
}

static Str pack(Walker *w, const LoopStm *stm, uint32_t part) {
    if (packs_pieces(w, stm)) return pack_pieces(w, stm, part);
    StrBuf text = strbuf(w->arena);
    bool is_mask = walk_elem(w, stm->outs[0]) == SCALAR_BOOL;
    strbuf_printf(&text, "(%.*s){", STR_ARG(walk_vector_type_of(w, stm->outs[0])));
    for (uint32_t i = 0; i < w->part.count; i++)
        strbuf_printf(&text, "%s%s%.*s", i > 0 ? ", " : "", is_mask ? "-" : "",
                      STR_ARG(walk_value(w, stm->args[part * w->part.count + i])));
    strbuf_char(&text, '}');
    return strbuf_done(&text);
}

// The parts that a part of what is taken comes from, where they are two at most.
typedef struct Origins {
    uint64_t numbers[2]; // of parts, those of both operands in a row
    uint32_t count;
} Origins;

static uint64_t origin_of(const Walker *w, const LoopStm *stm, uint32_t lane) {
    return w->kernel->values.data[stm->args[2 + lane]].bits / w->part.count;
}

static bool find_origins(const Walker *w, const LoopStm *stm, uint32_t part,
                         Origins *s) {
    for (uint32_t i = 0; i < w->part.count; i++) {
        uint64_t number = origin_of(w, stm, part * w->part.count + i);
        uint32_t k = 0;
        while (k < s->count && s->numbers[k] != number) k++;
        if (k == 2) return false;
        if (k == s->count) s->numbers[s->count++] = number;
    }
    return true;
}

static Str origin(Walker *w, const LoopStm *stm, uint64_t number) {
    uint32_t parts = w->lanes / w->part.count;
    return walk_part(w, stm->args[number / parts], (uint32_t)(number % parts));
}

static Str take(Walker *w, const LoopStm *stm, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    Origins s = {0};
    bool is_pair = find_origins(w, stm, part, &s);
    if (is_pair)
        strbuf_printf(&text, "WEFT_TAKE(%.*s, %.*s",
                      STR_ARG(origin(w, stm, s.numbers[0])),
                      STR_ARG(origin(w, stm, s.numbers[s.count - 1])));
    else strbuf_printf(&text, "(%.*s){", STR_ARG(walk_vector_type_of(w, stm->outs[0])));
    for (uint32_t i = 0; i < w->part.count; i++) {
        LoopRef from = stm->args[2 + part * w->part.count + i];
        uint64_t lane = w->kernel->values.data[from].bits % w->part.count;
        uint64_t number = origin_of(w, stm, part * w->part.count + i);
        if (is_pair && number != s.numbers[0]) lane += w->part.count;
        if (is_pair) strbuf_printf(&text, ", %u", (unsigned)lane);
        else
            strbuf_printf(&text, "%s%.*s[%u]", i > 0 ? ", " : "",
                          STR_ARG(origin(w, stm, number)), (unsigned)lane);
    }
    strbuf_char(&text, is_pair ? ')' : '}');
    return strbuf_done(&text);
}

// One lane after the other.
static void put_apply(Walker *w, const LoopStm *stm, uint32_t part) {
    StrBuf list = strbuf(w->arena);
    for (uint32_t i = 1; i < stm->arg_count; i++) {
        LoopRef x = stm->args[i];
        bool is_mask = walk_has_lanes(w, x) && walk_elem(w, x) == SCALAR_BOOL;
        strbuf_printf(&list, ", %.*s%s%s", STR_ARG(walk_part(w, x, part)),
                      walk_has_lanes(w, x) ? "[i]" : "", is_mask ? " != 0" : "");
    }
    for (uint32_t k = 0; k < stm->out_count; k++) {
        strbuf_printf(&list, ", &y%u", k);
        walk_line(w, "%.*s %.*s = {0};", STR_ARG(walk_vector_type_of(w, stm->outs[k])),
                  STR_ARG(walk_part(w, stm->outs[k], part)));
    }
    walk_line(w, "for (int i = 0; i < %u; i++) {", w->part.count);
    w->indent++;
    walk_line(w, "if (!%.*s[i]) continue;", STR_ARG(walk_part(w, stm->args[0], part)));
    for (uint32_t k = 0; k < stm->out_count; k++)
        walk_line(w, "%s y%u;", emit_types[walk_elem(w, stm->outs[k])], k);
    walk_line(w, "weft_%u_f%u(env%.*s);", w->number, stm->number,
              STR_ARG(strbuf_done(&list)));
    for (uint32_t k = 0; k < stm->out_count; k++)
        walk_line(w, "%.*s[i] = %sy%u;", STR_ARG(walk_part(w, stm->outs[k], part)),
                  walk_elem(w, stm->outs[k]) == SCALAR_BOOL ? "-" : "", k);
    w->indent--;
    walk_line(w, "}");
}

// How many lanes of a mask come before the first that is not set.
static Str first_without(Walker *w, LoopRef mask) {
    Str name = walk_vector_type(w, SCALAR_BOOL), first = {0};
    for (uint32_t p = walk_parts(w, mask); p-- > 0;) {
        StrBuf text = strbuf(w->arena);
        Str part = walk_part(w, mask, p);
        if (first.len > 0)
            strbuf_printf(&text, "weft_all_%.*s(%.*s) ? %.*s : ", STR_ARG(name),
                          STR_ARG(part), STR_ARG(first));
        strbuf_printf(&text, "%u + weft_first_%.*s(%.*s)", p * w->part.count,
                      STR_ARG(name), STR_ARG(part));
        first = strbuf_done(&text);
    }
    return first;
}

// Whether all lanes of a mask are set. In turns that may give up that is all that masks
// are for, so these need no vectors.
static Str is_all(Walker *w, LoopRef mask) {
    if (!w->is_in_order || !walk_is_wide(w))
        return walk_all(w, join_parts(w, mask, '&'));
    StrBuf text = strbuf(w->arena);
    unsigned long long all = UINT64_MAX >> (64 - w->part.count);
    strbuf_char(&text, '(');
    for (uint32_t p = 0; p < walk_parts(w, mask); p++) {
        if (p > 0) strbuf_cstr(&text, " & ");
        strbuf_str(&text, walk_mask_bits(w, mask, p));
    }
    strbuf_printf(&text, " & %#llxu) == %#llxu", all, all);
    return strbuf_done(&text);
}

// Turns before the first that is not sure are over; that one goes alone.
static void put_sure_of_turns(Walker *w, LoopRef c) {
    Str i = walk_value(w, w->vector);
    walk_line(w, "if (__builtin_expect(!(%.*s), 0)) {", STR_ARG(is_all(w, c)));
    w->indent++;
    walk_line(w, "%.*s += %.*s;", STR_ARG(i), STR_ARG(first_without(w, c)));
    walk_line(w, "end_%u = %.*s + 1;", w->vector, STR_ARG(i));
    walk_line(w, "goto one_%u;", w->vector);
    w->indent--;
    walk_line(w, "}");
}

static void put_sure(Walker *w, const LoopStm *stm) {
    LoopRef c = stm->args[0];
    if (w->is_in_order && walk_has_lanes(w, c)) {
        put_sure_of_turns(w, c);
        return;
    }
    Str ok = walk_has_lanes(w, c) ? is_all(w, c) : walk_value(w, c);
    walk_line(w,
              w->is_in_order ? "if (__builtin_expect(!(%.*s), 0)) goto alone_%u;"
                             : "if (!(%.*s)) goto alone_%u;",
              STR_ARG(ok), w->vector);
}

// That a mask is not set in all lanes is known without its opposite.
static bool is_opposite(const Walker *w, LoopRef mask) {
    const LoopStm *stm = w->made[mask];
    return stm != NULL && stm->op == LOOP_SCALAR && stm->scalar == OP_NOT &&
           walk_has_lanes(w, stm->args[0]);
}

static void put_any(Walker *w, const LoopStm *stm) {
    if (walk_is_bits(w, stm->args[0])) {
        walk_line(w, "const bool %.*s = (%.*s) != 0;",
                  STR_ARG(walk_value(w, stm->outs[0])),
                  STR_ARG(join_parts(w, stm->args[0], '|')));
        return;
    }
    if (is_opposite(w, stm->args[0])) {
        LoopRef mask = w->made[stm->args[0]]->args[0];
        walk_line(w, "const bool %.*s = !(%.*s);", STR_ARG(walk_value(w, stm->outs[0])),
                  STR_ARG(is_all(w, mask)));
        return;
    }
    walk_line(w, "const bool %.*s = weft_mask_%.*s(%.*s) != 0;",
              STR_ARG(walk_value(w, stm->outs[0])),
              STR_ARG(walk_vector_type(w, SCALAR_BOOL)),
              STR_ARG(join_parts(w, stm->args[0], '|')));
}

// How many lanes of a part are set.
static void put_count(Walker *w, LoopRef mask, uint32_t part, StrBuf *out) {
    if (!walk_is_wide(w)) {
        strbuf_printf(out, "weft_count_%.*s(%.*s)",
                      STR_ARG(walk_vector_type(w, SCALAR_BOOL)),
                      STR_ARG(walk_part(w, mask, part)));
        return;
    }
    strbuf_printf(out, "weft_popc(%#llxu & ",
                  (unsigned long long)(UINT64_MAX >> (64 - w->part.count)));
    strbuf_str(out, walk_mask_bits(w, mask, part));
    strbuf_char(out, ')');
}

static void put_tally(Walker *w, const LoopStm *stm) {
    StrBuf text = strbuf(w->arena);
    for (uint32_t p = 0; p < walk_parts(w, stm->args[0]); p++) {
        if (p > 0) strbuf_cstr(&text, " + ");
        put_count(w, stm->args[0], p, &text);
    }
    walk_line(w, "const int64_t %.*s = %.*s;", STR_ARG(walk_value(w, stm->outs[0])),
              STR_ARG(strbuf_done(&text)));
}

// A part of what a statement gives that goes by parts.
static Str part_of(Walker *w, const LoopStm *stm, uint32_t part) {
    if (walk_is_bits(w, stm->outs[0])) return walk_bits(w, stm, part);
    switch (stm->op) {
    case LOOP_SCALAR: return scalar(w, stm, part);
    case LOOP_LOAD:
    case LOOP_LOADIF: return walk_load(w, stm, part);
    case LOOP_LOOKUP: return walk_lookup(w, stm, part);
    case LOOP_SPLAT: return walk_vector(w, stm->args[0], part);
    case LOOP_LANES: return number_lanes(w, stm, part);
    case LOOP_SELECT: return select(w, stm, part);
    case LOOP_PACK: return pack(w, stm, part);
    default: return (Str){0};
    }
}

static bool goes_by_parts(const Walker *w, const LoopStm *stm) {
    switch (stm->op) {
    case LOOP_SCALAR:
    case LOOP_LOADIF:
    case LOOP_LOOKUP:
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK: return true;
    case LOOP_LOAD: return walk_has_lanes(w, stm->outs[0]);
    default: return false;
    }
}

static bool uses_operator(const LoopBody *body, uint32_t from, const LoopStm *stm) {
    for (uint32_t i = from; body->stms.data[i] != stm; i++)
        for (uint32_t k = 0; k < stm->arg_count; k++)
            if (body->stms.data[i]->op == LOOP_SCALAR &&
                stm->args[k] == body->stms.data[i]->outs[0])
                return true;
    return false;
}

// Whether most operators wait for another one. Those that do not, such as the sums of
// a product of matrices, rather use up what they share at once. Two chains go side by
// side where there are registers for both, 32 of them: then fewer operators wait.
static bool is_chain(const LoopBody *body, uint32_t from, uint32_t end) {
    uint32_t operators = 0, waiting = 0;
    for (uint32_t i = from; i < end; i++) {
        operators += body->stms.data[i]->op == LOOP_SCALAR;
        waiting += uses_operator(body, from, body->stms.data[i]);
    }
    return 2 * waiting > operators;
}

void walk_define(Walker *w, const LoopStm *stm, uint32_t part) {
    walk_place(w, stm->loc);
    Str text = stm->op == LOOP_TAKE ? take(w, stm, part) : part_of(w, stm, part);
    define(w, stm->outs[0], part, text);
}

uint32_t walk_parts_in_turn(Walker *w, const LoopBody *body, uint32_t from) {
    uint32_t end = from;
    if (w->lanes == 0) return from;
    while (end < body->stms.len && goes_by_parts(w, body->stms.data[end])) end++;
    uint32_t parts = w->lanes / w->part.count;
    bool is_beside = parts == 2 && machine_vector_bytes() == 64;
    if (end > from && (is_beside || !is_chain(body, from, end))) end = from + 1;
    for (uint32_t part = 0; part < parts; part++)
        for (uint32_t i = from; i < end; i++) {
            const LoopStm *stm = body->stms.data[i];
            bool is_vector = walk_has_lanes(w, stm->outs[0]);
            if (!is_vector && part == 0) walk_statement(w, stm);
            bool is_live = walk_live(w, stm->outs[0]) != 0;
            if (!is_vector || walk_is_plain_number(w, stm->outs[0]) ||
                (is_live && !w->is_counted[stm->outs[0]]))
                continue;
            walk_define(w, stm, part);
        }
    return end;
}

bool walk_in_lanes(Walker *w, const LoopStm *stm) {
    if (w->lanes == 0) return false;
    switch (stm->op) {
    case LOOP_APPLY:
        if (!walk_has_lanes(w, stm->outs[0])) return false;
        for (uint32_t p = 0; p < walk_parts(w, stm->outs[0]); p++) put_apply(w, stm, p);
        return true;
    case LOOP_STORE:
    case LOOP_STOREIF: walk_store(w, stm); return true;
    case LOOP_ANY: put_any(w, stm); return true;
    case LOOP_TALLY:
        if (w->is_tallied) walk_tally(w, stm);
        else put_tally(w, stm);
        return true;
    case LOOP_ATOMIC: return w->is_tallied;
    case LOOP_SURE: put_sure(w, stm); return true;
    case LOOP_TAKE:
        for (uint32_t p = 0; p < walk_parts(w, stm->outs[0]); p++)
            walk_define(w, stm, p);
        return true;
    default: return false;
    }
}
