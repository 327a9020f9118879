// SPDX-License-Identifier: Apache-2.0
//
// Loops with lanes: vector turns, and the turns that are left over.
#include "emit/vector.h"
#include "loop/build.h"
#include "loop/copy.h"
#include "loop/machine.h"

static void widen(const Walker *w, LoopRef ref, uint32_t *widest) {
    uint32_t bytes = scalar_info[walk_elem(w, ref)].bytes;
    if (walk_has_lanes(w, ref) && walk_elem(w, ref) != SCALAR_BOOL && bytes > *widest)
        *widest = bytes;
}

// Notes what is used, and what is used otherwise than to say where.
static void note_uses(Walker *w, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_masked = stm->op == LOOP_LOADIF || stm->op == LOOP_STOREIF;
        bool stores = stm->op == LOOP_STORE || stm->op == LOOP_STOREIF;
        uint32_t end = stm->arg_count;
        for (uint32_t k = 0; k < end; k++) w->is_used[stm->args[k]] = true;
        if (is_masked || stores || stm->op == LOOP_LOAD) end = 1u + is_masked + stores;
        bool is_live = stm->out_count == 1 && walk_live(w, stm->outs[0]) != 0;
        uint32_t first = is_masked && walk_front(w, stm) != 0;
        for (uint32_t k = first; k < end && !is_live; k++)
            w->is_counted[stm->args[k]] = true;
        for (uint32_t k = 0; k < stm->body_count; k++) note_uses(w, stm->bodies[k]);
    }
    for (uint32_t i = 0; i < body->result_count; i++)
        w->is_used[body->results[i]] = w->is_counted[body->results[i]] = true;
}

// The bytes of the widest value in lanes, save masks.
static void find_widest(const Walker *w, const LoopBody *body, uint32_t *widest) {
    for (uint32_t i = 0; i < body->param_count; i++) widen(w, body->params[i], widest);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++)
            if (!walk_is_plain_number(w, stm->outs[k])) widen(w, stm->outs[k], widest);
        for (uint32_t k = 0; k < stm->body_count; k++)
            find_widest(w, stm->bodies[k], widest);
    }
}

// As many as a vector holds of the widest, and a part of all lanes.
static Lanes choose_part(const Walker *w, const LoopBody *vector) {
    uint32_t widest = 0, bytes = machine_vector_bytes();
    find_widest(w, vector, &widest);
    if (widest == 0) widest = 1;
    Lanes part = {.count = (bytes == 64 ? bytes : 32) / widest};
    while (w->lanes % part.count != 0) part.count /= 2;
    part.mask = 8 * widest > 256 / part.count ? 8 * widest : 256 / part.count;
    return part;
}

// Whether turns look at memory together, and one goes alone that would change it
// (loop/rare.c).
static bool look_first(const LoopStm *loop) {
    return loop->order == ORDER_SEQUENTIAL && loop_has_op(loop->bodies[0], LOOP_SURE);
}

static bool has_ahead(const WalkAhead *ahead, LoopRef buffer) {
    for (uint32_t i = 0; i < ahead->count; i++)
        if (ahead->buffers[i] == buffer) return true;
    return false;
}

// The one buffer that a turn loads vectors from, if it does much with each and stores
// nothing; else none. Turns that look first may load two, of which they look at much
// else one by one. Processors fetch ahead a few lines alone, and start anew with each
// page; where little waits, as in short turns, they see many loads beforehand.
static WalkAhead find_ahead(const Walker *w, const LoopStm *loop) {
    enum { MUCH = 12 }; // statements
    const LoopBody *vector = loop->bodies[0];
    bool looks = look_first(loop);
    WalkAhead ahead = {.bytes = looks ? 2048 : 4096}, none = {0};
    if (w->lanes != w->part.count || vector->stms.len < MUCH) return none;
    for (uint32_t i = 0; i < vector->stms.len; i++) {
        const LoopStm *stm = vector->stms.data[i];
        if (stm->body_count > 0 || stm->op == LOOP_STORE || stm->op == LOOP_STOREIF)
            return none;
        if (stm->op != LOOP_LOAD || (looks && !walk_has_lanes(w, stm->outs[0])))
            continue;
        WalkAccess a = walk_access(w, stm);
        if (!a.has_places && has_ahead(&ahead, a.buffer)) continue;
        if (a.has_places || ahead.count == (looks ? WALK_MOST_AHEAD : 1)) return none;
        ahead.buffers[ahead.count++] = a.buffer;
    }
    return ahead;
}

// The numbers of lanes that masks of the first ones want, if these are wanted.
static void count_live(Walker *w, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_live = stm->out_count == 1 && walk_live(w, stm->outs[0]) != 0;
        if (is_live && w->is_counted[stm->outs[0]]) w->is_counted[stm->args[0]] = true;
        for (uint32_t k = 0; k < stm->body_count; k++) count_live(w, stm->bodies[k]);
    }
}

static void enter_turn(Walker *w, const LoopStm *stm) {
    const LoopBody *vector = stm->bodies[0];
    w->lanes = stm->number;
    if (w->is_used == NULL) {
        w->is_used = arena_array(w->arena, bool, w->kernel->values.len);
        w->is_counted = arena_array(w->arena, bool, w->kernel->values.len);
    }
    note_uses(w, vector);
    count_live(w, vector);
    w->part = choose_part(w, vector);
    walk_find_bits(w, vector);
}

static void put_vector_turn(Walker *w, const LoopStm *stm, bool is_only) {
    enum { SHORT = 40 }; // statements
    const LoopBody *vector = stm->bodies[0];
    LoopRef turn = w->turn;
    if (!is_only) w->turn = vector->params[0];
    enter_turn(w, stm);
    w->ahead = find_ahead(w, stm);
    w->vector = vector->params[0];
    w->is_in_order = stm->order == ORDER_SEQUENTIAL;
    w->is_short = vector->stms.len <= SHORT;
    w->next_rows = walk_next_rows(w, stm);
    walk_body(w, vector);
    if (w->next_rows == NULL) walk_fetch_rows(w, stm);
    w->next_rows = NULL;
    w->is_bits = NULL;
    w->lanes = 0;
    w->turn = turn;
}

// ---- turns that are left over -------------------------------------------------------

typedef struct Traffic {
    const Walker *w;
    Map stored; // buffers
} Traffic;

// Notes which buffers are stored to; false if one may share memory with another.
static bool note_stores(Traffic *t, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) {
            LoopRef arg = stm->args[k];
            if (t->w->kernel->values.data[arg].type.kind != LOOP_IS_BUFFER) continue;
            if (!t->w->is_own[arg]) return false;
            if (stm->op == LOOP_STORE || stm->op == LOOP_STOREIF)
                map_set(&t->stored, arg, 1);
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
        bool loads = stm->op == LOOP_LOAD || stm->op == LOOP_LOOKUP || is_masked;
        uint64_t unused;
        if (loads && map_get(&t->stored, stm->args[is_masked], &unused)) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loads_stored(t, stm->bodies[k])) return true;
    }
    return false;
}

// Whether a turn that runs twice stores the same twice: it loads nothing that the loop
// stores, and joins nothing to a place. Then the turns that are left over at the end
// are part of one more vector turn, the others of which have been before.
static bool may_repeat(const Walker *w, const LoopBody *vector) {
    Traffic t = {.w = w};
    map_init(&t.stored, w->arena);
    return !loop_has_op(vector, LOOP_SURE) && !loop_has_op(vector, LOOP_ATOMIC) &&
           note_stores(&t, vector) && !loads_stored(&t, vector);
}

// Turns one by one: too few for a compiler's own vectors, which the empty text keeps
// away.
static void put_turns_alone(Walker *w, const LoopStm *stm, const char *end,
                            const char *after) {
    Str i = walk_value(w, stm->bodies[0]->params[0]);
    walk_line(w, "for (; %.*s < %s; %.*s++) {", STR_ARG(i), end, STR_ARG(i));
    w->indent++;
    w->depth++;
    walk_line(w, "__asm__ volatile(\"\");");
    walk_body(w, stm->bodies[1]);
    if (after != NULL) walk_line(w, "%s", after);
    w->depth--;
    w->indent--;
    walk_line(w, "}");
}

// ---- loops --------------------------------------------------------------------------

// How many turns go without a look at whether the run should end, or count in vectors;
// 0: the loop has no strips.
static uint32_t strip_of(const Walker *w, const LoopStm *stm, const WalkTurns *turns) {
    enum { STRIP = 65536 };
    uint32_t tally = walk_tally_turns(w, stm);
    if (tally > 1) return tally * stm->number;
    return turns->poll != NULL && !turns->polls_each ? STRIP : 0;
}

// With how many turns left a vector turn begins. Of those of a loop that has no turns
// alone the last may have lanes that are no turns.
static uint32_t least_left(const LoopStm *stm) {
    return stm->body_count == 1 ? 1 : stm->number;
}

// Where the strip ends that begins with the next turn.
static const char *end_of_strip(Walker *w, const LoopStm *stm, const WalkTurns *turns) {
    Str i = walk_value(w, stm->bodies[0]->params[0]);
    uint32_t strip = strip_of(w, stm, turns);
    if (strip == 0) return turns->end;
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "(%s - %.*s > %u ? %.*s + %u : %s)", turns->end, STR_ARG(i),
                  strip, STR_ARG(i), strip, turns->end);
    return str_terminated(w->arena, strbuf_done(&text));
}

static void put_poll(Walker *w, const WalkTurns *turns) {
    if (turns->poll != NULL && !turns->polls_each) walk_line(w, "%s", turns->poll);
}

// Vector turns as long as there are whole ones, in a loop with one way out that does
// nothing else: of such compilers compute places once, before it.
static void put_vector_turns(Walker *w, const LoopStm *stm, const WalkTurns *turns) {
    uint32_t number = stm->bodies[0]->params[0];
    Str i = walk_value(w, number);
    walk_line(w, "const %slast_%u = %s - %u;", walk_type(w, number), number,
              end_of_strip(w, stm, turns), least_left(stm));
    walk_line(w, "for (; %.*s <= last_%u; %.*s += %u) {", STR_ARG(i), number,
              STR_ARG(i), stm->number);
    w->indent++;
    w->depth++;
    if (turns->polls_each) walk_line(w, "%s", turns->poll);
    put_vector_turn(w, stm, false);
    w->depth--;
    w->indent--;
    walk_line(w, "}");
}

// Vector turns, strip by strip. Where turns that are left over are the end of one more
// vector turn, that is a strip of its own.
static void put_strips(Walker *w, const LoopStm *stm, const WalkTurns *turns) {
    Str i = walk_value(w, stm->bodies[0]->params[0]);
    bool repeats = stm->body_count > 1 && may_repeat(w, stm->bodies[0]);
    bool counts = walk_tally_turns(w, stm) > 1;
    if (!repeats && strip_of(w, stm, turns) == 0) {
        put_vector_turns(w, stm, turns);
        return;
    }
    walk_line(w, "while (%s - %.*s >= %u) {", turns->end, STR_ARG(i), least_left(stm));
    w->indent++;
    put_poll(w, turns);
    if (counts) {
        enter_turn(w, stm);
        walk_open_tallies(w, stm);
    }
    put_vector_turns(w, stm, turns);
    if (counts) {
        enter_turn(w, stm);
        walk_close_tallies(w, stm);
        w->lanes = 0;
    }
    if (repeats)
        walk_line(w, "if (%.*s < %s && %s - %.*s < %u) %.*s = %s - %u;", STR_ARG(i),
                  turns->end, turns->end, STR_ARG(i), stm->number, STR_ARG(i),
                  turns->end, stm->number);
    w->indent--;
    walk_line(w, "}");
}

// Vector turns, and then the turns that are left over.
static void put_sure_loop(Walker *w, const LoopStm *stm, const WalkTurns *turns) {
    LoopRef number = stm->bodies[0]->params[0];
    walk_line(w, "{");
    w->indent++;
    walk_line(w, "%s%.*s = %s;", walk_type(w, number), STR_ARG(walk_value(w, number)),
              turns->begin);
    put_strips(w, stm, turns);
    if (stm->body_count > 1) put_turns_alone(w, stm, turns->end, turns->after);
    w->indent--;
    walk_line(w, "}");
}

bool walk_has_part(const Walker *w, LoopRef buffer, LoopRef offset) {
    for (uint32_t i = 0; i < w->parts.len; i++)
        if (w->parts.data[i].buffer == buffer && w->parts.data[i].offset == offset)
            return true;
    return false;
}

// Parts of buffers whose elements turns look at one by one, such as the bins of a
// thread, have pointers made before the loop: compilers else add the offset to each
// place.
static void put_parts(Walker *w, const LoopBody *vector) {
    const LoopValue *values = w->kernel->values.data;
    Map inside;
    map_init(&inside, w->arena);
    loop_bind_body(&inside, vector);
    for (uint32_t i = 0; i < vector->stms.len; i++) {
        const LoopStm *stm = vector->stms.data[i];
        if (stm->op != LOOP_LOAD || values[stm->outs[0]].type.lanes > 0) continue;
        LoopRef buffer = stm->args[0], offset = stm->args[1];
        uint64_t is;
        if (values[offset].is_const || map_get(&inside, offset, &is) ||
            map_get(&inside, buffer, &is) || walk_has_part(w, buffer, offset))
            continue;
        walk_line(w, "%sconst part_%u_%u = %.*s + %.*s;", walk_type(w, buffer), buffer,
                  offset, STR_ARG(walk_value(w, buffer)),
                  STR_ARG(walk_value(w, offset)));
        vec_push(w->arena, &w->parts, ((WalkPart){buffer, offset}));
    }
}

// A vector turn that gives up is followed by its turns, one by one, or by one of them,
// and then by others.
static void put_unsure_loop(Walker *w, const LoopStm *stm, const WalkTurns *turns) {
    uint32_t number = stm->bodies[0]->params[0];
    const char *type = walk_type(w, number);
    Str i = walk_value(w, number);
    StrBuf last = strbuf(w->arena);
    strbuf_printf(&last, "end_%u", number);
    walk_line(w, "{");
    w->indent++;
    if (look_first(stm)) put_parts(w, stm->bodies[0]);
    walk_line(w, "for (%s%.*s = %s; %.*s < %s;) {", type, STR_ARG(i), turns->begin,
              STR_ARG(i), turns->end);
    w->indent++;
    put_poll(w, turns);
    walk_line(w, "%send_%u = %s;", type, number, turns->end);
    walk_line(w, "if (end_%u - %.*s >= %u) {", number, STR_ARG(i), stm->number);
    w->indent++;
    put_vector_turns(w, stm, turns);
    walk_line(w, "continue;");
    walk_line(w, "alone_%u:", number);
    walk_line(w, "end_%u = %.*s + %u;", number, STR_ARG(i), stm->number);
    if (w->is_in_order) walk_line(w, "one_%u:;", number);
    w->indent--;
    walk_line(w, "}");
    w->depth++;
    put_turns_alone(w, stm, str_terminated(w->arena, strbuf_done(&last)), turns->after);
    w->depth--;
    w->indent--;
    walk_line(w, "}");
    w->parts.len = 0;
    w->indent--;
    walk_line(w, "}");
}

void walk_vector_loop(Walker *w, const LoopStm *stm, const WalkTurns *turns) {
    const LoopBody *vector = stm->bodies[0], *alone = stm->bodies[stm->body_count - 1];
    const char *type = walk_type(w, vector->params[0]);
    uint32_t number = vector->params[0];
    const LoopValue *count = &w->kernel->values.data[stm->args[0]];
    w->names[alone->params[0]] = walk_value(w, number);
    if (stm->order == ORDER_INDEPENDENT && count->is_const &&
        count->bits == stm->number && !loop_has_op(vector, LOOP_SURE)) {
        walk_line(w, "{");
        w->indent++;
        walk_line(w, "const %s%.*s = 0;", type, STR_ARG(walk_value(w, number)));
        put_vector_turn(w, stm, true);
        w->indent--;
        walk_line(w, "}");
        return;
    }
    if (loop_has_op(vector, LOOP_SURE)) put_unsure_loop(w, stm, turns);
    else put_sure_loop(w, stm, turns);
}
