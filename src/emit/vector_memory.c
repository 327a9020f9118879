// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores of vector turns.
#include "emit/vector.h"
#include "loop/machine.h"

WalkAccess walk_access(const Walker *w, const LoopStm *stm) {
    bool is_masked = stm->op == LOOP_LOADIF || stm->op == LOOP_STOREIF;
    bool stores = stm->op == LOOP_STORE || stm->op == LOOP_STOREIF;
    WalkAccess a = {.stm = stm,
                    .buffer = stm->args[is_masked],
                    .mask = is_masked ? stm->args[0] : 0,
                    .first = 1u + is_masked + stores};
    for (uint32_t i = a.first; i < stm->arg_count; i++)
        a.has_places = a.has_places || walk_has_lanes(w, stm->args[i]);
    a.elem = walk_elem(w, a.buffer);
    return a;
}

LoopRef walk_live(const Walker *w, LoopRef mask) {
    const LoopStm *stm = w->made[mask];
    if (stm == NULL || stm->op != LOOP_SCALAR || stm->scalar != OP_LT ||
        walk_has_lanes(w, stm->args[1]))
        return 0;
    const LoopStm *numbers = w->made[stm->args[0]];
    bool counts =
        numbers != NULL && numbers->op == LOOP_LANES && numbers->arg_count == 0;
    return counts ? stm->args[1] : 0;
}

LoopRef walk_front(const Walker *w, const LoopStm *stm) {
    if (stm->op != LOOP_LOADIF && stm->op != LOOP_STOREIF) return 0;
    WalkAccess a = walk_access(w, stm);
    return a.has_places ? 0 : walk_live(w, a.mask);
}

bool walk_is_plain_number(const Walker *w, LoopRef ref) {
    const LoopStm *stm = w->made[ref];
    return stm != NULL && stm->op == LOOP_LANES && stm->arg_count == 0 &&
           !w->is_counted[ref];
}

// "[3]", of a value in lanes.
static void put_lane(Walker *w, LoopRef ref, uint32_t part, uint32_t lane,
                     StrBuf *out) {
    if (walk_is_plain_number(w, ref)) {
        strbuf_printf(out, "%u", part * w->part.count + lane);
        return;
    }
    strbuf_str(out, walk_part(w, ref, part));
    if (walk_has_lanes(w, ref)) strbuf_printf(out, "[%u]", lane);
}

// "xs_3[offset + stride * index]" for one lane.
static Str place_of(Walker *w, const WalkAccess *a, uint32_t part, uint32_t lane) {
    const LoopStm *stm = a->stm;
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "%.*s[", STR_ARG(walk_value(w, a->buffer)));
    put_lane(w, stm->args[a->first], part, lane, &text);
    for (uint32_t i = a->first + 1; i + 1 < stm->arg_count; i += 2) {
        if (walk_is_const(w, stm->args[i], 0)) continue;
        strbuf_cstr(&text, " + ");
        if (!walk_is_const(w, stm->args[i], 1)) {
            put_lane(w, stm->args[i], part, lane, &text);
            strbuf_cstr(&text, " * ");
        }
        put_lane(w, stm->args[i + 1], part, lane, &text);
    }
    if (!a->has_places) strbuf_printf(&text, " + %u", part * w->part.count + lane);
    strbuf_char(&text, ']');
    return strbuf_done(&text);
}

// ---- rows of squares ----------------------------------------------------------------

// A square, one row for each lane, is at as many places, which are the same number of
// elements apart. More of them than there are registers would be kept, or computed
// anew, unless each is found from the one before. Of arrays that the kernel was handed
// a piece of as many rows further down is fetched, which the next turn reads: into the
// second cache, as rows are apart by powers of two, often, and then few lines fit in
// the first.

// Whether the access is to row `row`.
static bool is_row(const Walker *w, const LoopStm *stm, uint32_t row) {
    if (stm->op != LOOP_LOAD && stm->op != LOOP_STORE) return false;
    const LoopValue *values = w->kernel->values.data;
    WalkAccess a = walk_access(w, stm);
    LoopRef x = stm->op == LOOP_LOAD ? stm->outs[0] : stm->args[1];
    if (!walk_has_lanes(w, x) || a.has_places || stm->arg_count < a.first + 3)
        return false;
    const LoopValue *index = &values[stm->args[stm->arg_count - 1]];
    const LoopValue *stride = &values[stm->args[stm->arg_count - 2]];
    return index->is_const && index->bits == row && !stride->is_const;
}

static bool is_same_square(const LoopStm *x, const LoopStm *y) {
    bool is_same = x->op == y->op && x->arg_count == y->arg_count;
    for (uint32_t i = 0; i + 1 < x->arg_count && is_same; i++)
        is_same = (x->op == LOOP_STORE && i == 1) || x->args[i] == y->args[i];
    return is_same;
}

void walk_note_rows(Walker *w, const LoopBody *body, uint32_t from) {
    LoopStm **stms = body->stms.data + from;
    uint32_t rows = 0, most = body->stms.len - from;
    while (rows < w->lanes && rows < most && is_row(w, stms[rows], rows) &&
           is_same_square(stms[0], stms[rows]))
        rows++;
    if (rows == 0 || rows < w->lanes) return;
    WalkSquare square = {stms, arena_array(w->arena, Str, rows), rows};
    *(stms[0]->op == LOOP_LOAD ? &w->loaded : &w->stored) = square;
}

// The name of the row that is accessed, which is given one where it is first; empty: of
// no square.
static Str row_of(Walker *w, const WalkAccess *a) {
    bool loads = a->stm->op == LOOP_LOAD;
    WalkSquare *square = loads ? &w->loaded : &w->stored;
    uint32_t row = 0;
    while (row < square->rows && square->stms[row] != a->stm) row++;
    if (row == square->rows) return (Str){0};
    Str *name = &square->names[row];
    if (name->len > 0) return *name;
    Str stride = walk_value(w, a->stm->args[a->stm->arg_count - 2]);
    StrBuf text = strbuf(w->arena), place = strbuf(w->arena);
    strbuf_printf(&text, "row%u", w->square_rows++);
    *name = strbuf_done(&text);
    if (row > 0 && name[-1].len > 0)
        strbuf_printf(&place, "%.*s + %.*s", STR_ARG(name[-1]), STR_ARG(stride));
    else strbuf_printf(&place, "&%.*s", STR_ARG(place_of(w, a, 0, 0)));
    walk_line(w, "%s%s *const %.*s = %.*s;", loads ? "const " : "", emit_types[a->elem],
              STR_ARG(*name), STR_ARG(strbuf_done(&place)));
    if (loads && w->made[a->buffer] == NULL)
        walk_line(w, "__builtin_prefetch(%.*s + %u * %.*s, 0, 2);", STR_ARG(*name),
                  square->rows, STR_ARG(stride));
    return *name;
}

// Where a part is whose places follow each other: "&xs_3[offset + stride * index]".
static Str address_of(Walker *w, const WalkAccess *a, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    Str row = a->at.len > 0 ? a->at : row_of(w, a);
    if (row.len == 0) strbuf_printf(&text, "&%.*s", STR_ARG(place_of(w, a, part, 0)));
    else strbuf_printf(&text, "%.*s + %u", STR_ARG(row), part * w->part.count);
    return strbuf_done(&text);
}

// ---- loads --------------------------------------------------------------------------

// The lanes one by one, those of the mask if there is one.
static Str gather(Walker *w, const WalkAccess *a, uint32_t part, bool is_masked) {
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "(%.*s){", STR_ARG(walk_vector_type(w, a->elem)));
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

// Whether the places can be found in lanes as wide as those of the mask.
static bool has_wide_places(const Walker *w, const WalkAccess *a) {
    const LoopStm *stm = a->stm;
    bool are_wide = w->part.mask == 64;
    for (uint32_t i = a->first; i < stm->arg_count; i++)
        are_wide = are_wide && (!walk_has_lanes(w, stm->args[i]) ||
                                (walk_elem(w, stm->args[i]) == SCALAR_I64 &&
                                 !walk_is_plain_number(w, stm->args[i])));
    return are_wide;
}

// "offset + stride * index" in lanes.
static Str places_of(Walker *w, const WalkAccess *a, uint32_t part) {
    const LoopStm *stm = a->stm;
    StrBuf text = strbuf(w->arena);
    strbuf_str(&text, walk_part(w, stm->args[a->first], part));
    for (uint32_t i = a->first + 1; i + 1 < stm->arg_count; i += 2) {
        if (walk_is_const(w, stm->args[i], 0)) continue;
        strbuf_cstr(&text, " + ");
        if (!walk_is_const(w, stm->args[i], 1))
            strbuf_printf(&text, "%.*s * ", STR_ARG(walk_part(w, stm->args[i], part)));
        strbuf_str(&text, walk_part(w, stm->args[i + 1], part));
    }
    return strbuf_done(&text);
}

// The lanes one by one: those that the mask leaves out load the first element, which is
// there if any lane loads, and are 0. To ask for each would be to guess.
static Str gather_masked(Walker *w, const WalkAccess *a, uint32_t part) {
    Str mask = walk_part(w, a->mask, part), masks = walk_vector_type(w, SCALAR_BOOL);
    Str type = walk_vector_type(w, a->elem);
    LoopRef out = a->stm->outs[0];
    walk_line(w, "const %.*s at_%u_%u = (%.*s) & %.*s;", STR_ARG(masks), out, part,
              STR_ARG(places_of(w, a, part)), STR_ARG(mask));
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "weft_mask_%.*s(%.*s) != 0 ? (%.*s)((i%ux%u)(%.*s){",
                  STR_ARG(masks), STR_ARG(mask), STR_ARG(type),
                  a->elem == SCALAR_BOOL ? w->part.mask
                                         : 8 * scalar_info[a->elem].bytes,
                  w->part.count, STR_ARG(type));
    for (uint32_t i = 0; i < w->part.count; i++)
        strbuf_printf(&text, "%s%s%.*s[at_%u_%u[%u]]", i > 0 ? ", " : "",
                      a->elem == SCALAR_BOOL ? "-" : "",
                      STR_ARG(walk_value(w, a->buffer)), out, part, i);
    strbuf_cstr(&text, "} & ");
    emit_mask_for(a->elem, w->part, mask, &text);
    strbuf_printf(&text, ") : (%.*s){0}", STR_ARG(type));
    return strbuf_done(&text);
}

// Whether it is a vector of 32 or 64 bytes of which the lanes to load are known.
static bool is_some(const Walker *w, const WalkAccess *a) {
    uint32_t bytes = scalar_info[a->elem].bytes;
    const LoopStm *mask = w->made[a->mask];
    if (mask == NULL || mask->op != LOOP_PACK || a->elem == SCALAR_BOOL || bytes < 4 ||
        bytes * w->part.count < 32)
        return false;
    for (uint32_t i = 0; i < mask->arg_count; i++)
        if (!w->kernel->values.data[mask->args[i]].is_const) return false;
    return true;
}

// A part whose places follow each other.
static Str load_part(Walker *w, const WalkAccess *a, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    Str at = address_of(w, a, part);
    if (a->elem == SCALAR_BOOL)
        strbuf_printf(
            &text, "__builtin_convertvector(weft_load_i8x%u(%.*s), %.*s) != 0",
            w->part.count, STR_ARG(at), STR_ARG(walk_vector_type(w, SCALAR_BOOL)));
    else
        strbuf_printf(&text, "weft_load_%.*s(%.*s)",
                      STR_ARG(walk_vector_type(w, a->elem)), STR_ARG(at));
    return strbuf_done(&text);
}

// Of lanes that are known, a bit for each, side by side.
static Str load_some(Walker *w, const WalkAccess *a, uint32_t part) {
    const LoopStm *pack = w->made[a->mask];
    uint64_t lanes = 0;
    for (uint32_t i = 0; i < w->part.count; i++)
        if (walk_is_const(w, pack->args[part * w->part.count + i], 1))
            lanes |= (uint64_t)1 << i;
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "weft_some_%.*s(&%.*s, %#llx)",
                  STR_ARG(walk_vector_type(w, a->elem)),
                  STR_ARG(place_of(w, a, part, 0)), (unsigned long long)lanes);
    return strbuf_done(&text);
}

// Whether the CPU loads those lanes of a mask that are set, side by side. Of vectors of
// 32 bytes it can if an element is as wide as a lane of the mask.
static bool is_where(const Walker *w, const WalkAccess *a) {
    uint32_t bits = 8 * scalar_info[a->elem].bytes;
    if (a->elem == SCALAR_BOOL) return false;
    if (walk_is_wide(w)) return true;
    return w->part.count * w->part.mask == 256 && w->part.mask == bits && bits >= 32;
}

static Str load_where(Walker *w, const WalkAccess *a, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    Str place = place_of(w, a, part, 0), mask = walk_part(w, a->mask, part);
    Str type = walk_vector_type(w, a->elem);
    if (walk_is_wide(w))
        strbuf_printf(&text, "weft_some_%.*s(&%.*s, weft_mask_%.*s(%.*s))",
                      STR_ARG(type), STR_ARG(place),
                      STR_ARG(walk_vector_type(w, SCALAR_BOOL)), STR_ARG(mask));
    else
        strbuf_printf(&text, "weft_where_%.*s(&%.*s, %.*s)", STR_ARG(type),
                      STR_ARG(place), STR_ARG(mask));
    return strbuf_done(&text);
}

// Elements of an array that may be so short that it fits two registers.
Str walk_lookup(Walker *w, const LoopStm *stm, uint32_t part) {
    enum { LANES = 8, MOST = 2 * LANES };
    WalkAccess a = {.stm = stm,
                    .buffer = stm->args[0],
                    .first = 1,
                    .has_places = true,
                    .elem = walk_elem(w, stm->args[0])};
    Str one_by_one = gather(w, &a, part, false);
    if (machine_vector_bytes() != 64 || w->part.count != LANES) return one_by_one;
    StrBuf text = strbuf(w->arena);
    Str size = walk_value(w, stm->args[2]);
    strbuf_printf(&text, "%.*s <= %u ? weft_lookup_%.*s(%.*s, %.*s, %.*s) : %.*s",
                  STR_ARG(size), MOST, STR_ARG(walk_vector_type(w, a.elem)),
                  STR_ARG(walk_value(w, a.buffer)), STR_ARG(size),
                  STR_ARG(walk_vector(w, stm->args[1], part)), STR_ARG(one_by_one));
    return strbuf_done(&text);
}

// Elements side by side of the first lanes, and zeros: where they are if there is one
// for each lane, else a copy of them.
static Str load_front(Walker *w, WalkAccess *a, uint32_t part) {
    LoopRef front = walk_front(w, a->stm), out = a->stm->outs[0];
    uint32_t bytes = scalar_info[a->elem].bytes;
    StrBuf name = strbuf(w->arena);
    strbuf_printf(&name, "from_%u", out);
    a->at = strbuf_done(&name);
    if (part == 0) {
        Str count = walk_value(w, front), at = place_of(w, a, 0, 0);
        walk_line(w, "%s few_%u[%u];", emit_types[a->elem], out, w->lanes);
        walk_line(w,
                  "const %s *const from_%u = %.*s < %u ? weft_front(few_%u, &%.*s, "
                  "%u, (int64_t)%.*s * %u) : &%.*s;",
                  emit_types[a->elem], out, STR_ARG(count), w->lanes, out, STR_ARG(at),
                  w->lanes * bytes, STR_ARG(count), bytes, STR_ARG(at));
    }
    return load_part(w, a, part);
}

// Once in a turn.
static void fetch_ahead(Walker *w, const WalkAccess *a, uint32_t part) {
    WalkAhead *ahead = &w->ahead;
    for (uint32_t i = 0; i < ahead->count; i++) {
        if (ahead->buffers[i] != a->buffer) continue;
        walk_line(w, "__builtin_prefetch((const char *)&%.*s + %u);",
                  STR_ARG(place_of(w, a, part, 0)), ahead->bytes);
        ahead->buffers[i] = ahead->buffers[--ahead->count];
        return;
    }
}

Str walk_load(Walker *w, const LoopStm *stm, uint32_t part) {
    WalkAccess a = walk_access(w, stm);
    if (a.has_places && a.mask != 0 && has_wide_places(w, &a))
        return gather_masked(w, &a, part);
    if (a.has_places) return gather(w, &a, part, a.mask != 0);
    fetch_ahead(w, &a, part);
    if (a.mask == 0) return load_part(w, &a, part);
    if (walk_front(w, stm) != 0) return load_front(w, &a, part);
    if (is_some(w, &a)) return load_some(w, &a, part);
    if (is_where(w, &a)) return load_where(w, &a, part);
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "%.*s ? %.*s : %.*s",
                  STR_ARG(walk_all(w, walk_part(w, a.mask, part))),
                  STR_ARG(load_part(w, &a, part)), STR_ARG(gather(w, &a, part, true)));
    return strbuf_done(&text);
}

// ---- stores -------------------------------------------------------------------------

static void store_lanes(Walker *w, const WalkAccess *a, LoopRef x, uint32_t part) {
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
    if (stm->op != LOOP_STORE && walk_front(w, stm) == 0) return false;
    WalkAccess a = walk_access(w, stm);
    return !a.has_places && a.elem != SCALAR_BOOL;
}

bool walk_streams_parts(const Walker *w, const WalkAccess *a) {
    enum { LEAST = 32 };
    uint32_t bytes = scalar_info[a->elem].bytes;
    return w->part.count * bytes >= LEAST &&
           walk_is_streamed(w, a->buffer, w->lanes * bytes);
}

static void store_part(Walker *w, const WalkAccess *a, LoopRef x, uint32_t part) {
    Str from = walk_vector(w, x, part), at = address_of(w, a, part);
    if (a->elem == SCALAR_BOOL)
        walk_line(w, "weft_flags_%.*s(%.*s, %.*s);",
                  STR_ARG(walk_vector_type(w, a->elem)), STR_ARG(at), STR_ARG(from));
    else if ((a->mask == 0 || a->at.len > 0) && walk_streams_parts(w, a))
        walk_line(w, "weft_stream_%.*s(%.*s, %.*s, is_far);",
                  STR_ARG(walk_vector_type(w, a->elem)), STR_ARG(at), STR_ARG(from));
    else
        walk_line(w, "weft_store_%.*s(%.*s, %.*s);",
                  STR_ARG(walk_vector_type(w, a->elem)), STR_ARG(at), STR_ARG(from));
}

void walk_store_part(Walker *w, const LoopStm *stm, uint32_t part) {
    WalkAccess a = walk_access(w, stm);
    store_part(w, &a, stm->args[a.first - 1], part);
}

// Elements side by side of the first lanes: where they belong if there is one for each
// lane, else they are copied there.
static void store_front(Walker *w, WalkAccess *a, LoopRef x, LoopRef front) {
    Str count = walk_value(w, front), at = place_of(w, a, 0, 0);
    const char *type = emit_types[a->elem];
    walk_line(w, "{");
    w->indent++;
    walk_line(w, "%s few[%u], *const to = %.*s < %u ? few : &%.*s;", type, w->lanes,
              STR_ARG(count), w->lanes, STR_ARG(at));
    a->at = STR("to");
    for (uint32_t p = 0; p < w->lanes / w->part.count; p++) store_part(w, a, x, p);
    walk_line(w, "if (to == few) weft_copy(&%.*s, few, (int64_t)%.*s * %u);",
              STR_ARG(at), STR_ARG(count), scalar_info[a->elem].bytes);
    w->indent--;
    walk_line(w, "}");
}

void walk_store(Walker *w, const LoopStm *stm) {
    WalkAccess a = walk_access(w, stm);
    LoopRef x = stm->args[a.first - 1], front = walk_front(w, stm);
    if (front != 0) {
        store_front(w, &a, x, front);
        return;
    }
    for (uint32_t p = 0; p < w->lanes / w->part.count; p++) {
        bool may_be_all = !a.has_places && a.mask != 0;
        if (may_be_all)
            walk_line(w, "if (%.*s)", STR_ARG(walk_all(w, walk_part(w, a.mask, p))));
        if (!a.has_places) store_part(w, &a, x, p);
        if (may_be_all) walk_line(w, "else {");
        if (may_be_all || a.has_places) store_lanes(w, &a, x, p);
        if (may_be_all) walk_line(w, "}");
    }
}
