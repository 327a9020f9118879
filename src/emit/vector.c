// SPDX-License-Identifier: Apache-2.0
//
// Vector turns. A value in lanes is one or more vectors, its parts, as large as the
// machine's at most, so that compilers see what it has and several are in flight. All
// values of a turn have as many lanes in a part: as a vector holds of the widest, from
// 4 of 8 bytes to 64 of one.
#include "emit/walk.h"
#include "loop/machine.h"

static ScalarType elem_of(const Walker *w, LoopRef ref) {
    return (ScalarType)w->kernel->values.data[ref].type.elem;
}

static bool has_lanes(const Walker *w, LoopRef ref) {
    return w->kernel->values.data[ref].type.lanes > 0;
}

// ---- parts --------------------------------------------------------------------------

uint32_t walk_parts(const Walker *w, LoopRef ref) {
    return has_lanes(w, ref) ? w->lanes / w->part.count : 1;
}

Str walk_part(Walker *w, LoopRef ref, uint32_t part) {
    Str value = walk_value(w, ref);
    if (!has_lanes(w, ref)) return value;
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "%.*s%c", STR_ARG(value), 'a' + (int)part);
    return strbuf_done(&text);
}

static Str type_name(Walker *w, ScalarType elem) {
    StrBuf text = strbuf(w->arena);
    emit_lanes_type(elem, w->part, &text);
    return strbuf_done(&text);
}

static Str type_of(Walker *w, LoopRef ref) {
    return type_name(w, elem_of(w, ref));
}

// Whether it is an integer that compilers would put together in a register and copy
// from there in every turn, for want of registers to keep it in.
static bool is_long(const Walker *w, LoopRef ref) {
    const LoopValue *value = &w->kernel->values.data[ref];
    unsigned unused = 64 - 8u * scalar_info[value->type.elem].bytes;
    int64_t number = (int64_t)(value->bits << unused) >> unused;
    return value->is_const && scalar_is_int(elem_of(w, ref)) &&
           (number > INT16_MAX || number < INT16_MIN);
}

// A part as a vector, of a value that may have no lanes.
static Str vector_of(Walker *w, LoopRef ref, uint32_t part) {
    if (has_lanes(w, ref)) return walk_part(w, ref, part);
    StrBuf text = strbuf(w->arena);
    if (is_long(w, ref)) {
        strbuf_printf(&text, "weft_splat_%.*s((%s)", STR_ARG(type_of(w, ref)),
                      emit_types[elem_of(w, ref)]);
        emit_loaded(w->kernel->values.data[ref].bits, w->helpers, &text);
        strbuf_char(&text, ')');
        return strbuf_done(&text);
    }
    strbuf_printf(&text,
                  elem_of(w, ref) == SCALAR_BOOL ? "weft_splat_%.*s(-%.*s)"
                                                 : "weft_splat_%.*s(%.*s)",
                  STR_ARG(type_of(w, ref)), STR_ARG(walk_value(w, ref)));
    return strbuf_done(&text);
}

// A condition that is one when all lanes of a mask are.
static Str all_of(Walker *w, Str mask) {
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "weft_all_%.*s(%.*s)", STR_ARG(type_name(w, SCALAR_BOOL)),
                  STR_ARG(mask));
    return strbuf_done(&text);
}

static void define(Walker *w, LoopRef out, uint32_t part, Str text) {
    walk_line(w, "const %.*s %.*s = %.*s;", STR_ARG(type_of(w, out)),
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

// ---- memory -------------------------------------------------------------------------

// A load or store. `first`: of the args that say where.
typedef struct Access {
    const LoopStm *stm;
    LoopRef buffer, mask; // 0: none
    uint32_t first;
    bool has_places; // each lane one of its own
    ScalarType elem;
} Access;

static Access access_of(const Walker *w, const LoopStm *stm) {
    bool is_masked = stm->op == LOOP_LOADIF || stm->op == LOOP_STOREIF;
    bool stores = stm->op == LOOP_STORE || stm->op == LOOP_STOREIF;
    Access a = {.stm = stm,
                .buffer = stm->args[is_masked],
                .mask = is_masked ? stm->args[0] : 0,
                .first = 1u + is_masked + stores};
    for (uint32_t i = a.first; i < stm->arg_count; i++)
        a.has_places = a.has_places || has_lanes(w, stm->args[i]);
    a.elem = elem_of(w, a.buffer);
    return a;
}

// The numbers of lanes, which only places ask for: these say them as they are.
static bool is_plain_number(const Walker *w, LoopRef ref) {
    const LoopStm *stm = w->made[ref];
    return stm != NULL && stm->op == LOOP_LANES && stm->arg_count == 0 &&
           !w->is_counted[ref];
}

// "[3]", of a value in lanes.
static void put_lane(Walker *w, LoopRef ref, uint32_t part, uint32_t lane,
                     StrBuf *out) {
    if (is_plain_number(w, ref)) {
        strbuf_printf(out, "%u", part * w->part.count + lane);
        return;
    }
    strbuf_str(out, walk_part(w, ref, part));
    if (has_lanes(w, ref)) strbuf_printf(out, "[%u]", lane);
}

static bool is_const(const Walker *w, LoopRef ref, uint64_t bits) {
    const LoopValue *value = &w->kernel->values.data[ref];
    return value->is_const && value->bits == bits;
}

// "xs_3[offset + stride * index]" for one lane.
static Str place_of(Walker *w, const Access *a, uint32_t part, uint32_t lane) {
    const LoopStm *stm = a->stm;
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "%.*s[", STR_ARG(walk_value(w, a->buffer)));
    put_lane(w, stm->args[a->first], part, lane, &text);
    for (uint32_t i = a->first + 1; i + 1 < stm->arg_count; i += 2) {
        if (is_const(w, stm->args[i], 0)) continue;
        strbuf_cstr(&text, " + ");
        if (!is_const(w, stm->args[i], 1)) {
            put_lane(w, stm->args[i], part, lane, &text);
            strbuf_cstr(&text, " * ");
        }
        put_lane(w, stm->args[i + 1], part, lane, &text);
    }
    if (!a->has_places) strbuf_printf(&text, " + %u", part * w->part.count + lane);
    strbuf_char(&text, ']');
    return strbuf_done(&text);
}

// The lanes one by one, those of the mask if there is one.
static Str gather(Walker *w, const Access *a, uint32_t part, bool is_masked) {
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "(%.*s){", STR_ARG(type_name(w, a->elem)));
    for (uint32_t i = 0; i < w->part.count; i++) {
        if (i > 0) strbuf_cstr(&text, ", ");
        if (is_masked) {
            put_lane(w, a->mask, part, i, &text);
            strbuf_cstr(&text, " ? ");
        }
        strbuf_printf(&text, a->elem == SCALAR_BOOL ? "-%.*s" : "%.*s",
                      STR_ARG(place_of(w, a, part, i)));
        if (is_masked) strbuf_cstr(&text, " : 0");
    }
    strbuf_char(&text, '}');
    return strbuf_done(&text);
}

// Whether it is a vector of 64 bytes of which the lanes to load are known.
static bool is_some(const Walker *w, const Access *a) {
    uint32_t bytes = scalar_info[a->elem].bytes;
    const LoopStm *mask = w->made[a->mask];
    return mask != NULL && mask->op == LOOP_PACK && a->elem != SCALAR_BOOL &&
           bytes >= 4 && bytes * w->part.count == 64;
}

// A part whose places follow each other.
static Str load_part(Walker *w, const Access *a, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    Str at = place_of(w, a, part, 0);
    if (a->elem == SCALAR_BOOL)
        strbuf_printf(&text,
                      "__builtin_convertvector(weft_load_i8x%u(&%.*s), %.*s) != 0",
                      w->part.count, STR_ARG(at), STR_ARG(type_name(w, SCALAR_BOOL)));
    else
        strbuf_printf(&text, "weft_load_%.*s(&%.*s)", STR_ARG(type_name(w, a->elem)),
                      STR_ARG(at));
    return strbuf_done(&text);
}

// Of lanes that are known, a bit for each, side by side.
static Str load_some(Walker *w, const Access *a, uint32_t part) {
    const LoopStm *pack = w->made[a->mask];
    uint64_t lanes = 0;
    for (uint32_t i = 0; i < w->part.count; i++)
        if (is_const(w, pack->args[part * w->part.count + i], 1))
            lanes |= (uint64_t)1 << i;
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "weft_some_%.*s(&%.*s, %#llx)", STR_ARG(type_name(w, a->elem)),
                  STR_ARG(place_of(w, a, part, 0)), (unsigned long long)lanes);
    return strbuf_done(&text);
}

static Str load(Walker *w, const LoopStm *stm, uint32_t part) {
    Access a = access_of(w, stm);
    if (a.has_places) return gather(w, &a, part, a.mask != 0);
    if (w->ahead == a.buffer) {
        walk_line(w, "__builtin_prefetch((const char *)&%.*s + 2048);",
                  STR_ARG(place_of(w, &a, part, 0)));
        w->ahead = 0;
    }
    if (a.mask == 0) return load_part(w, &a, part);
    if (is_some(w, &a)) return load_some(w, &a, part);
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "%.*s ? %.*s : %.*s",
                  STR_ARG(all_of(w, walk_part(w, a.mask, part))),
                  STR_ARG(load_part(w, &a, part)), STR_ARG(gather(w, &a, part, true)));
    return strbuf_done(&text);
}

static void store_lanes(Walker *w, const Access *a, LoopRef x, uint32_t part) {
    for (uint32_t i = 0; i < w->part.count; i++) {
        StrBuf text = strbuf(w->arena);
        if (a->mask != 0) {
            strbuf_cstr(&text, "if (");
            put_lane(w, a->mask, part, i, &text);
            strbuf_cstr(&text, ") ");
        }
        strbuf_printf(&text, "%.*s = ", STR_ARG(place_of(w, a, part, i)));
        put_lane(w, x, part, i, &text);
        walk_line(w, "%.*s;", STR_ARG(strbuf_done(&text)));
    }
}

bool walk_stores_side_by_side(const Walker *w, const LoopStm *stm) {
    if (stm->op != LOOP_STORE) return false;
    Access a = access_of(w, stm);
    return !a.has_places && a.elem != SCALAR_BOOL;
}

static void store_part(Walker *w, const Access *a, LoopRef x, uint32_t part) {
    Str at = place_of(w, a, part, 0), from = vector_of(w, x, part);
    if (a->elem == SCALAR_BOOL)
        walk_line(w, "weft_flags_%.*s(&%.*s, %.*s);", STR_ARG(type_name(w, a->elem)),
                  STR_ARG(at), STR_ARG(from));
    else if (a->mask == 0 &&
             walk_is_streamed(w, a->buffer, w->part.count * scalar_info[a->elem].bytes))
        walk_line(w, "weft_stream_%.*s(&%.*s, %.*s, is_far);",
                  STR_ARG(type_name(w, a->elem)), STR_ARG(at), STR_ARG(from));
    else
        walk_line(w, "weft_store_%.*s(&%.*s, %.*s);", STR_ARG(type_name(w, a->elem)),
                  STR_ARG(at), STR_ARG(from));
}

static void put_store(Walker *w, const LoopStm *stm) {
    Access a = access_of(w, stm);
    LoopRef x = stm->args[a.first - 1];
    for (uint32_t p = 0; p < w->lanes / w->part.count; p++) {
        bool may_be_all = !a.has_places && a.mask != 0;
        if (may_be_all)
            walk_line(w, "if (%.*s)", STR_ARG(all_of(w, walk_part(w, a.mask, p))));
        if (!a.has_places) store_part(w, &a, x, p);
        if (may_be_all) walk_line(w, "else {");
        if (may_be_all || a.has_places) store_lanes(w, &a, x, p);
        if (may_be_all) walk_line(w, "}");
    }
}

// ---- operators ----------------------------------------------------------------------

// Whether it is a root of whole registers, and a turn does little else: then the
// divider is what all wait for.
static bool waits_for_divider(const Walker *w, const LoopStm *stm) {
    ScalarType elem = elem_of(w, stm->outs[0]);
    return w->is_short && stm->scalar == OP_SQRT && elem != SCALAR_F16 &&
           w->part.count * scalar_info[elem].bytes == 64;
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

static Str scalar(Walker *w, const LoopStm *stm, uint32_t part) {
    Str operands[3];
    StrBuf text = strbuf(w->arena);
    for (uint32_t i = 0; i < stm->arg_count && i < 3; i++)
        operands[i] = vector_of(w, stm->args[i], part);
    if (walk_keeps_bits(w, stm))
        strbuf_printf(&text, "(%.*s)%.*s", STR_ARG(type_of(w, stm->outs[0])),
                      STR_ARG(operands[0]));
    else if (waits_for_divider(w, stm))
        strbuf_printf(&text, "weft_nth_sqrt_%.*s(%.*s, %.*s)",
                      STR_ARG(type_of(w, stm->outs[0])), STR_ARG(operands[0]),
                      STR_ARG(number_vectors(w, part)));
    else
        emit_lanes(w->dialect, stm->scalar, elem_of(w, stm->args[0]),
                   elem_of(w, stm->outs[0]), w->part, operands, w->helpers, &text);
    return strbuf_done(&text);
}

static Str number_lanes(Walker *w, const LoopStm *stm, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    if (stm->arg_count > 0) {
        strbuf_printf(&text, "weft_steps_%.*s(%.*s, %.*s, %u)",
                      STR_ARG(type_of(w, stm->outs[0])),
                      STR_ARG(walk_value(w, stm->args[0])),
                      STR_ARG(walk_value(w, stm->args[1])), part * w->part.count);
        return strbuf_done(&text);
    }
    strbuf_printf(&text, "(%.*s){", STR_ARG(type_of(w, stm->outs[0])));
    for (uint32_t i = 0; i < w->part.count; i++)
        strbuf_printf(&text, i == 0 ? "%u" : ", %u", part * w->part.count + i);
    strbuf_char(&text, '}');
    return strbuf_done(&text);
}

static bool is_same(const Walker *w, LoopRef x, LoopRef y) {
    const LoopValue *one = &w->kernel->values.data[x];
    const LoopValue *other = &w->kernel->values.data[y];
    return x == y || (one->is_const && other->is_const && one->bits == other->bits &&
                      one->type.elem == other->type.elem);
}

// What chooses the larger or the smaller of two floats, if that is what a choice does:
// one instruction, where a mask from a comparison is waited for.
static const char *picks(const Walker *w, const LoopStm *stm) {
    const LoopStm *test = w->made[stm->args[0]];
    ScalarType elem = elem_of(w, stm->outs[0]);
    if ((elem != SCALAR_F32 && elem != SCALAR_F64) || test == NULL ||
        test->op != LOOP_SCALAR || test->scalar != OP_LT)
        return NULL;
    for (uint32_t i = 0; i < 2; i++)
        if (is_same(w, test->args[i], stm->args[1]) &&
            is_same(w, test->args[1 - i], stm->args[2]))
            return i == 0 ? "smaller" : "larger";
    return NULL;
}

static Str select(Walker *w, const LoopStm *stm, uint32_t part) {
    ScalarType elem = elem_of(w, stm->outs[0]);
    StrBuf text = strbuf(w->arena);
    const char *pick = picks(w, stm);
    if (pick != NULL) {
        strbuf_printf(&text, "weft_%s_%.*s(%.*s, %.*s)", pick,
                      STR_ARG(type_name(w, elem)),
                      STR_ARG(vector_of(w, stm->args[1], part)),
                      STR_ARG(vector_of(w, stm->args[2], part)));
        return strbuf_done(&text);
    }
    strbuf_printf(&text, "weft_select_%.*s(", STR_ARG(type_name(w, elem)));
    emit_mask_for(elem, w->part, walk_part(w, stm->args[0], part), &text);
    for (uint32_t i = 1; i < 3; i++)
        strbuf_printf(&text, ", %.*s", STR_ARG(vector_of(w, stm->args[i], part)));
    strbuf_char(&text, ')');
    return strbuf_done(&text);
}

// Whether the values are computed, and pieces of four of them are joined.
static bool packs_pieces(const Walker *w, const LoopStm *stm) {
    uint32_t bytes = scalar_info[elem_of(w, stm->outs[0])].bytes;
    bool is_const = true;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        is_const = is_const && w->kernel->values.data[stm->args[i]].is_const;
    return !is_const && bytes >= 4 && w->part.count > 4;
}

// Each piece is whole before the next begins: compilers that see all values at once
// have no registers for them.
static Str pack_pieces(Walker *w, const LoopStm *stm, uint32_t part) {
    const char *elem = scalar_info[elem_of(w, stm->outs[0])].name;
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
    bool is_mask = elem_of(w, stm->outs[0]) == SCALAR_BOOL;
    strbuf_printf(&text, "(%.*s){", STR_ARG(type_of(w, stm->outs[0])));
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
    else strbuf_printf(&text, "(%.*s){", STR_ARG(type_of(w, stm->outs[0])));
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
        bool is_mask = has_lanes(w, x) && elem_of(w, x) == SCALAR_BOOL;
        strbuf_printf(&list, ", %.*s%s%s", STR_ARG(walk_part(w, x, part)),
                      has_lanes(w, x) ? "[i]" : "", is_mask ? " != 0" : "");
    }
    for (uint32_t k = 0; k < stm->out_count; k++) {
        strbuf_printf(&list, ", &y%u", k);
        walk_line(w, "%.*s %.*s = {0};", STR_ARG(type_of(w, stm->outs[k])),
                  STR_ARG(walk_part(w, stm->outs[k], part)));
    }
    walk_line(w, "for (int i = 0; i < %u; i++) {", w->part.count);
    w->indent++;
    walk_line(w, "if (!%.*s[i]) continue;", STR_ARG(walk_part(w, stm->args[0], part)));
    for (uint32_t k = 0; k < stm->out_count; k++)
        walk_line(w, "%s y%u;", emit_types[elem_of(w, stm->outs[k])], k);
    walk_line(w, "weft_%u_f%u(env%.*s);", w->number, stm->number,
              STR_ARG(strbuf_done(&list)));
    for (uint32_t k = 0; k < stm->out_count; k++)
        walk_line(w, "%.*s[i] = %sy%u;", STR_ARG(walk_part(w, stm->outs[k], part)),
                  elem_of(w, stm->outs[k]) == SCALAR_BOOL ? "-" : "", k);
    w->indent--;
    walk_line(w, "}");
}

// How many lanes of a mask come before the first that is not set.
static Str first_without(Walker *w, LoopRef mask) {
    Str name = type_name(w, SCALAR_BOOL), first = {0};
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

// Turns before the first that is not sure are over; that one goes alone.
static void put_sure_of_turns(Walker *w, LoopRef c) {
    Str i = walk_value(w, w->vector);
    walk_line(w, "if (__builtin_expect(!(%.*s), 0)) {",
              STR_ARG(all_of(w, join_parts(w, c, '&'))));
    w->indent++;
    walk_line(w, "%.*s += %.*s;", STR_ARG(i), STR_ARG(first_without(w, c)));
    walk_line(w, "end_%u = %.*s + 1;", w->vector, STR_ARG(i));
    walk_line(w, "goto one_%u;", w->vector);
    w->indent--;
    walk_line(w, "}");
}

static void put_sure(Walker *w, const LoopStm *stm) {
    LoopRef c = stm->args[0];
    if (w->is_in_order && has_lanes(w, c)) {
        put_sure_of_turns(w, c);
        return;
    }
    Str ok = has_lanes(w, c) ? all_of(w, join_parts(w, c, '&')) : walk_value(w, c);
    walk_line(w,
              w->is_in_order ? "if (__builtin_expect(!(%.*s), 0)) goto alone_%u;"
                             : "if (!(%.*s)) goto alone_%u;",
              STR_ARG(ok), w->vector);
}

// That a mask is not set in all lanes is known without its opposite.
static bool is_opposite(const Walker *w, LoopRef mask) {
    const LoopStm *stm = w->made[mask];
    return stm != NULL && stm->op == LOOP_SCALAR && stm->scalar == OP_NOT &&
           has_lanes(w, stm->args[0]);
}

static void put_any(Walker *w, const LoopStm *stm) {
    if (is_opposite(w, stm->args[0])) {
        LoopRef mask = w->made[stm->args[0]]->args[0];
        walk_line(w, "const bool %.*s = !%.*s;", STR_ARG(walk_value(w, stm->outs[0])),
                  STR_ARG(all_of(w, join_parts(w, mask, '&'))));
        return;
    }
    walk_line(w, "const bool %.*s = weft_mask_%.*s(%.*s) != 0;",
              STR_ARG(walk_value(w, stm->outs[0])), STR_ARG(type_name(w, SCALAR_BOOL)),
              STR_ARG(join_parts(w, stm->args[0], '|')));
}

static void put_tally(Walker *w, const LoopStm *stm) {
    StrBuf text = strbuf(w->arena);
    for (uint32_t p = 0; p < walk_parts(w, stm->args[0]); p++)
        strbuf_printf(&text, "%sweft_count_%.*s(%.*s)", p > 0 ? " + " : "",
                      STR_ARG(type_name(w, SCALAR_BOOL)),
                      STR_ARG(walk_part(w, stm->args[0], p)));
    walk_line(w, "const int64_t %.*s = %.*s;", STR_ARG(walk_value(w, stm->outs[0])),
              STR_ARG(strbuf_done(&text)));
}

// A part of what a statement gives that goes by parts.
static Str part_of(Walker *w, const LoopStm *stm, uint32_t part) {
    switch (stm->op) {
    case LOOP_SCALAR: return scalar(w, stm, part);
    case LOOP_LOAD:
    case LOOP_LOADIF: return load(w, stm, part);
    case LOOP_SPLAT: return vector_of(w, stm->args[0], part);
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
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK: return true;
    case LOOP_LOAD: return has_lanes(w, stm->outs[0]);
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
            bool is_vector = has_lanes(w, stm->outs[0]);
            if (!is_vector && part == 0) walk_statement(w, stm);
            if (!is_vector || is_plain_number(w, stm->outs[0])) continue;
            walk_place(w, stm->loc);
            define(w, stm->outs[0], part, part_of(w, stm, part));
        }
    return end;
}

bool walk_in_lanes(Walker *w, const LoopStm *stm) {
    if (w->lanes == 0) return false;
    switch (stm->op) {
    case LOOP_APPLY:
        if (!has_lanes(w, stm->outs[0])) return false;
        for (uint32_t p = 0; p < walk_parts(w, stm->outs[0]); p++) put_apply(w, stm, p);
        return true;
    case LOOP_STORE:
    case LOOP_STOREIF: put_store(w, stm); return true;
    case LOOP_ANY: put_any(w, stm); return true;
    case LOOP_TALLY: put_tally(w, stm); return true;
    case LOOP_SURE: put_sure(w, stm); return true;
    case LOOP_TAKE:
        for (uint32_t p = 0; p < walk_parts(w, stm->outs[0]); p++)
            define(w, stm->outs[0], p, take(w, stm, p));
        return true;
    default: return false;
    }
}

// ---- loops --------------------------------------------------------------------------

static void widen(const Walker *w, LoopRef ref, uint32_t *widest) {
    uint32_t bytes = scalar_info[elem_of(w, ref)].bytes;
    if (has_lanes(w, ref) && elem_of(w, ref) != SCALAR_BOOL && bytes > *widest)
        *widest = bytes;
}

// Notes what is used otherwise than to say where.
static void note_counted(Walker *w, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_masked = stm->op == LOOP_LOADIF || stm->op == LOOP_STOREIF;
        bool stores = stm->op == LOOP_STORE || stm->op == LOOP_STOREIF;
        uint32_t end = stm->arg_count;
        if (is_masked || stores || stm->op == LOOP_LOAD) end = 1u + is_masked + stores;
        for (uint32_t k = 0; k < end; k++) w->is_counted[stm->args[k]] = true;
        for (uint32_t k = 0; k < stm->body_count; k++) note_counted(w, stm->bodies[k]);
    }
    for (uint32_t i = 0; i < body->result_count; i++)
        w->is_counted[body->results[i]] = true;
}

// The bytes of the widest value in lanes, save masks.
static void find_widest(const Walker *w, const LoopBody *body, uint32_t *widest) {
    for (uint32_t i = 0; i < body->param_count; i++) widen(w, body->params[i], widest);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++)
            if (!is_plain_number(w, stm->outs[k])) widen(w, stm->outs[k], widest);
        for (uint32_t k = 0; k < stm->body_count; k++)
            find_widest(w, stm->bodies[k], widest);
    }
}

// As many as a vector holds of the widest, and a part of all lanes.
static Lanes choose_part(const Walker *w, const LoopBody *vector) {
    uint32_t widest = 0, bytes = machine_vector_bytes();
    find_widest(w, vector, &widest);
    if (widest == 0) widest = 4;
    Lanes part = {.count = (bytes == 64 ? bytes : 32) / widest};
    while (w->lanes % part.count != 0) part.count /= 2;
    part.mask = 8 * widest > 256 / part.count ? 8 * widest : 256 / part.count;
    return part;
}

// The one buffer that a turn loads vectors from, if it does much with each and stores
// nothing; else 0. Processors fetch ahead a few lines alone, and start anew with each
// page; where little waits, as in short turns, they see many loads beforehand.
static LoopRef find_ahead(const Walker *w, const LoopBody *vector) {
    enum { MUCH = 12 }; // statements
    LoopRef buffer = 0;
    if (w->lanes != w->part.count || vector->stms.len < MUCH) return 0;
    for (uint32_t i = 0; i < vector->stms.len; i++) {
        const LoopStm *stm = vector->stms.data[i];
        if (stm->body_count > 0 || stm->op == LOOP_STORE || stm->op == LOOP_STOREIF)
            return 0;
        if (stm->op != LOOP_LOAD) continue;
        Access a = access_of(w, stm);
        if (a.has_places || (buffer != 0 && buffer != a.buffer)) return 0;
        buffer = a.buffer;
    }
    return buffer;
}

static void put_vector_turn(Walker *w, const LoopStm *stm, bool is_only) {
    enum { SHORT = 40 }; // statements
    const LoopBody *vector = stm->bodies[0];
    LoopRef turn = w->turn;
    if (!is_only) w->turn = vector->params[0];
    w->lanes = stm->number;
    w->is_counted = arena_array(w->arena, bool, w->kernel->values.len);
    note_counted(w, vector);
    w->part = choose_part(w, vector);
    w->ahead = find_ahead(w, vector);
    w->vector = vector->params[0];
    w->is_in_order = stm->order == ORDER_SEQUENTIAL;
    w->is_short = vector->stms.len <= SHORT;
    walk_body(w, vector);
    walk_fetch_rows(w, stm);
    w->lanes = 0;
    w->turn = turn;
}

// ---- turns that are left over -------------------------------------------------------

typedef struct Traffic {
    const Walker *w;
    bool *is_stored; // by LoopRef
} Traffic;

// Notes which buffers are stored to; false if one may share memory with another.
static bool note_stores(const Traffic *t, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) {
            LoopRef arg = stm->args[k];
            if (t->w->kernel->values.data[arg].type.kind != LOOP_IS_BUFFER) continue;
            if (!t->w->is_own[arg]) return false;
            if (stm->op == LOOP_STORE || stm->op == LOOP_STOREIF)
                t->is_stored[arg] = true;
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!note_stores(t, stm->bodies[k])) return false;
    }
    return true;
}

static bool loads_stored(const Traffic *t, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_masked = stm->op == LOOP_LOADIF;
        if ((stm->op == LOOP_LOAD || is_masked) && t->is_stored[stm->args[is_masked]])
            return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loads_stored(t, stm->bodies[k])) return true;
    }
    return false;
}

// Whether a turn that runs twice stores the same twice: it loads nothing that the loop
// stores, and joins nothing to a place. Then the turns that are left over at the end
// are part of one more vector turn, the others of which have been before.
static bool may_repeat(const Walker *w, const LoopBody *vector) {
    Traffic t = {w, arena_array(w->arena, bool, w->kernel->values.len)};
    return !walk_has(vector, LOOP_SURE) && !walk_has(vector, LOOP_ATOMIC) &&
           note_stores(&t, vector) && !loads_stored(&t, vector);
}

// Turns one by one: too few for a compiler's own vectors, which the empty text keeps
// away.
static void put_turns_alone(Walker *w, const LoopStm *stm, Str end, const char *after) {
    Str i = walk_value(w, stm->bodies[0]->params[0]);
    walk_line(w, "for (; %.*s < %.*s; %.*s++) {", STR_ARG(i), STR_ARG(end), STR_ARG(i));
    w->indent++;
    w->depth++;
    walk_line(w, "__asm__ volatile(\"\");");
    walk_body(w, stm->bodies[1]);
    if (after != NULL) walk_line(w, "%s", after);
    w->depth--;
    w->indent--;
    walk_line(w, "}");
}

// Vector turns, and then the turns that are left over.
static void put_sure_loop(Walker *w, const LoopStm *stm, Str begin, Str end,
                          const char *poll, const char *after) {
    const LoopBody *vector = stm->bodies[0];
    Str i = walk_value(w, vector->params[0]);
    walk_line(w, "{");
    w->indent++;
    walk_line(w, "%s%.*s = %.*s;", walk_type(w, vector->params[0]), STR_ARG(i),
              STR_ARG(begin));
    walk_line(w, "while (%.*s - %.*s >= %u) {", STR_ARG(end), STR_ARG(i), stm->number);
    w->indent++;
    w->depth++;
    if (poll != NULL) walk_line(w, "%s", poll);
    put_vector_turn(w, stm, false);
    walk_line(w, "%.*s += %u;", STR_ARG(i), stm->number);
    if (may_repeat(w, vector))
        walk_line(w, "if (%.*s < %.*s && %.*s - %.*s < %u) %.*s = %.*s - %u;",
                  STR_ARG(i), STR_ARG(end), STR_ARG(end), STR_ARG(i), stm->number,
                  STR_ARG(i), STR_ARG(end), stm->number);
    w->depth--;
    w->indent--;
    walk_line(w, "}");
    put_turns_alone(w, stm, end, after);
    w->indent--;
    walk_line(w, "}");
}

// A vector turn that gives up is followed by its turns, one by one, or by one of them,
// and then by others.
static void put_unsure_loop(Walker *w, const LoopStm *stm, Str begin, Str end,
                            const char *poll, const char *after) {
    uint32_t number = stm->bodies[0]->params[0];
    const char *type = walk_type(w, number);
    Str i = walk_value(w, number);
    StrBuf last = strbuf(w->arena);
    strbuf_printf(&last, "end_%u", number);
    walk_line(w, "for (%s%.*s = %.*s; %.*s < %.*s;) {", type, STR_ARG(i),
              STR_ARG(begin), STR_ARG(i), STR_ARG(end));
    w->indent++;
    w->depth++;
    if (poll != NULL) walk_line(w, "%s", poll);
    walk_line(w, "%send_%u = %.*s;", type, number, STR_ARG(end));
    walk_line(w, "if (%.*s - %.*s >= %u) {", STR_ARG(end), STR_ARG(i), stm->number);
    w->indent++;
    put_vector_turn(w, stm, false);
    walk_line(w, "%.*s += %u;", STR_ARG(i), stm->number);
    walk_line(w, "continue;");
    walk_line(w, "alone_%u:", number);
    walk_line(w, "end_%u = %.*s + %u;", number, STR_ARG(i), stm->number);
    if (w->is_in_order) walk_line(w, "one_%u:;", number);
    w->indent--;
    walk_line(w, "}");
    put_turns_alone(w, stm, strbuf_done(&last), after);
    w->depth--;
    w->indent--;
    walk_line(w, "}");
}

void walk_vector_loop(Walker *w, const LoopStm *stm, Str begin, Str end,
                      const char *poll, const char *after) {
    const LoopBody *vector = stm->bodies[0], *alone = stm->bodies[1];
    const char *type = walk_type(w, vector->params[0]);
    uint32_t number = vector->params[0];
    const LoopValue *count = &w->kernel->values.data[stm->args[0]];
    w->names[alone->params[0]] = walk_value(w, number);
    if (stm->order == ORDER_INDEPENDENT && count->is_const &&
        count->bits == stm->number && !walk_has(vector, LOOP_SURE)) {
        walk_line(w, "{");
        w->indent++;
        walk_line(w, "const %s%.*s = 0;", type, STR_ARG(walk_value(w, number)));
        put_vector_turn(w, stm, true);
        w->indent--;
        walk_line(w, "}");
        return;
    }
    if (walk_has(vector, LOOP_SURE)) put_unsure_loop(w, stm, begin, end, poll, after);
    else put_sure_loop(w, stm, begin, end, poll, after);
}
