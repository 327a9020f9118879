// SPDX-License-Identifier: Apache-2.0
//
// Branches and loops as text. Those that may take long look now and then whether the
// run should end.
#include "emit/walk.h"
#include "loop/build.h"

static void declare_outs(Walker *w, const LoopStm *stm, uint32_t first_init) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        for (uint32_t p = 0; p < walk_parts(w, stm->outs[i]); p++) {
            StrBuf text = strbuf(w->arena);
            strbuf_printf(&text, "%s%.*s", walk_type(w, stm->outs[i]),
                          STR_ARG(walk_part(w, stm->outs[i], p)));
            if (first_init != UINT32_MAX)
                strbuf_printf(&text, " = %.*s",
                              STR_ARG(walk_part(w, stm->args[first_init + i], p)));
            walk_line(w, "%.*s;", STR_ARG(strbuf_done(&text)));
        }
}

// A part of a variable gets that of its next value.
static void assign_part(Walker *w, LoopRef out, LoopRef result, uint32_t part,
                        bool is_kept) {
    Str to = walk_part(w, out, part);
    if (is_kept) walk_line(w, "%.*s = next_%u_%u;", STR_ARG(to), out, part);
    else walk_line(w, "%.*s = %.*s;", STR_ARG(to), STR_ARG(walk_part(w, result, part)));
}

// The variables get the body's results. Where one result is another's old value, all
// are read before any is written.
static void assign_results(Walker *w, const LoopStm *stm, const LoopBody *body,
                           const LoopRef *state) {
    bool conflicts = false;
    for (uint32_t i = 0; i < stm->out_count && state != NULL; i++)
        for (uint32_t k = 0; k < stm->out_count; k++)
            conflicts = conflicts || (k != i && body->results[i] == state[k]);
    for (uint32_t i = 0; i < stm->out_count && conflicts; i++)
        for (uint32_t p = 0; p < walk_parts(w, stm->outs[i]); p++)
            walk_line(w, "%snext_%u_%u = %.*s;", walk_type(w, stm->outs[i]),
                      stm->outs[i], p, STR_ARG(walk_part(w, body->results[i], p)));
    for (uint32_t i = 0; i < stm->out_count; i++)
        for (uint32_t p = 0; p < walk_parts(w, stm->outs[i]); p++)
            if (conflicts || state == NULL || body->results[i] != state[i])
                assign_part(w, stm->outs[i], body->results[i], p, conflicts);
}

void walk_if(Walker *w, const LoopStm *stm) {
    declare_outs(w, stm, UINT32_MAX);
    walk_line(w, "if (%.*s) {", STR_ARG(walk_value(w, stm->args[0])));
    for (int branch = 0; branch < 2; branch++) {
        const LoopBody *body = stm->bodies[branch];
        if (branch == 1 && body->stms.len == 0 && stm->out_count == 0) break;
        if (branch == 1) walk_line(w, "} else {");
        w->indent++;
        walk_body(w, body);
        assign_results(w, stm, body, NULL);
        w->indent--;
    }
    walk_line(w, "}");
}

static void share_names(Walker *w, const LoopRef *params, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        w->names[params[i]] = walk_value(w, stm->outs[i]);
}

static const char *cancelled(Walker *w) {
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "{ %sreturn KERNEL_CANCELLED; }", w->failing);
    return str_terminated(w->arena, strbuf_done(&text));
}

// Whether a turn is long enough to look each time whether the run should end.
static bool is_heavy(const LoopBody *body) {
    static const LoopOp heavy[] = {LOOP_FOR, LOOP_WHILE, LOOP_ALLOC, LOOP_CALL};
    for (size_t i = 0; i < sizeof heavy / sizeof *heavy; i++)
        if (loop_has_op(body, heavy[i])) return true;
    return false;
}

// The body of a loop, between the braces.
static void put_turn(Walker *w, const LoopStm *stm, const LoopBody *body,
                     const LoopRef *state) {
    LoopRef turn = w->turn;
    w->indent++;
    w->depth++;
    if (stm->op == LOOP_FOR) w->turn = body->params[0];
    walk_body(w, body);
    assign_results(w, stm, body, state);
    w->turn = turn;
    w->depth--;
    w->indent--;
}

// A long loop of short turns is one of strips, so that the inner one stays simple.
// Within another loop only what is long looks whether the run should end.
static void put_strips(Walker *w, const LoopStm *stm, const char *type, Str i, Str n) {
    LoopRef number = stm->bodies[0]->params[0];
    walk_line(w, "for (%sstrip_%u = 0; strip_%u < %.*s;) {", type, number, number,
              STR_ARG(n));
    w->indent++;
    if (w->depth == 0)
        walk_line(w, "if (env->poll(env, (int64_t)strip_%u, (int64_t)%.*s)) %s", number,
                  STR_ARG(n), cancelled(w));
    else walk_line(w, "if (strip_%u > 0 && *env->cancel) %s", number, cancelled(w));
    walk_line(w, "const %send_%u = %.*s - strip_%u > 65536 ? strip_%u + 65536 : %.*s;",
              type, number, STR_ARG(n), number, number, STR_ARG(n));
    walk_line(w, "for (%s%.*s = strip_%u; %.*s < end_%u; %.*s++) {", type, STR_ARG(i),
              number, STR_ARG(i), number, STR_ARG(i));
    put_turn(w, stm, stm->bodies[0], stm->bodies[0]->params + 1);
    walk_line(w, "}");
    walk_line(w, "strip_%u = end_%u;", number, number);
    w->indent--;
    walk_line(w, "}");
}

static bool may_be_long(const Walker *w, LoopRef n) {
    const LoopValue *value = &w->kernel->values.data[n];
    if (scalar_info[value->type.elem].bytes < 4) return false;
    return !value->is_const || value->bits > 65536;
}

static void put_vector_for(Walker *w, const LoopStm *stm) {
    Str i = walk_value(w, stm->bodies[0]->params[0]), n = walk_value(w, stm->args[0]);
    StrBuf poll = strbuf(w->arena);
    bool is_heavy_turn = is_heavy(stm->bodies[stm->body_count - 1]);
    WalkTurns turns = {.begin = "0", .polls_each = is_heavy_turn};
    turns.end = str_terminated(w->arena, n);
    strbuf_cstr(&poll, "if (");
    uint32_t tally = walk_tally_turns(w, stm);
    if (!is_heavy_turn && tally > 1)
        strbuf_printf(&poll, "%.*s %% 65536 >= %u && ", STR_ARG(i),
                      65536 - stm->number * tally);
    else if (!is_heavy_turn) strbuf_printf(&poll, "%.*s > 0 && ", STR_ARG(i));
    if (w->depth == 0)
        strbuf_printf(&poll, "env->poll(env, (int64_t)%.*s, (int64_t)%.*s)) %s",
                      STR_ARG(i), STR_ARG(n), cancelled(w));
    else strbuf_printf(&poll, "*env->cancel) %s", cancelled(w));
    if (is_heavy_turn || may_be_long(w, stm->args[0]))
        turns.poll = str_terminated(w->arena, strbuf_done(&poll));
    walk_vector_loop(w, stm, &turns);
}

static void put_plain_for(Walker *w, const LoopStm *stm) {
    const LoopBody *body = stm->bodies[0];
    declare_outs(w, stm, 1);
    share_names(w, body->params + 1, stm);
    Str i = walk_value(w, body->params[0]), n = walk_value(w, stm->args[0]);
    const char *type = walk_type(w, body->params[0]);
    bool polls = w->plan == NULL, heavy = polls && is_heavy(body);
    if (polls && !heavy && may_be_long(w, stm->args[0])) {
        put_strips(w, stm, type, i, n);
        return;
    }
    walk_line(w, "for (%s%.*s = 0; %.*s < %.*s; %.*s++) {", type, STR_ARG(i),
              STR_ARG(i), STR_ARG(n), STR_ARG(i));
    if (heavy && w->depth == 0)
        walk_line(w, "    if (env->poll(env, (int64_t)%.*s, (int64_t)%.*s)) %s",
                  STR_ARG(i), STR_ARG(n), cancelled(w));
    else if (heavy) walk_line(w, "    if (*env->cancel) %s", cancelled(w));
    put_turn(w, stm, body, body->params + 1);
    walk_line(w, "}");
}

void walk_for(Walker *w, const LoopStm *stm) {
    if (stm->order == ORDER_PARALLEL) {
        walk_parallel(w, stm);
        return;
    }
    if (w->plan == NULL) walk_fetch_next(w, stm);
    const LoopStm *key = w->key;
    w->key = walk_find_key(w, stm);
    if (stm->number > 0) put_vector_for(w, stm);
    else put_plain_for(w, stm);
    w->key = key;
}

// The first turns ask each time: there may be few.
static void put_seldom(Walker *w, const LoopStm *stm, LoopRef also) {
    enum { FIRST = 8, EACH = 4 };
    const LoopStm *any = stm->bodies[0]->stms.data[0];
    uint32_t number = any->outs[0];
    walk_line(w, "for (uint32_t turn_%u = 0;; turn_%u++) {", number, number);
    w->indent++;
    if (also != 0) walk_line(w, "if (!%.*s) break;", STR_ARG(walk_value(w, also)));
    walk_line(w, "if (turn_%u < %u || turn_%u %% %u == 0) {", number, FIRST, number,
              EACH);
    w->indent++;
    walk_line(w, "if (*env->cancel) %s", cancelled(w));
    walk_statement(w, any);
    walk_line(w, "if (!%.*s) break;", STR_ARG(walk_value(w, any->outs[0])));
    w->indent--;
    walk_line(w, "}");
    w->indent--;
}

void walk_while(Walker *w, const LoopStm *stm) {
    const LoopBody *guard = stm->bodies[0], *body = stm->bodies[1];
    LoopRef also;
    declare_outs(w, stm, 0);
    share_names(w, guard->params, stm);
    share_names(w, body->params, stm);
    if (w->depth > 0 && walk_asks_seldom(w, stm, &also)) {
        put_seldom(w, stm, also);
        put_turn(w, stm, body, body->params);
        walk_line(w, "}");
        return;
    }
    if (w->plan != NULL) {
        walk_line(w, "for (;;) {");
    } else if (w->depth == 0) {
        uint32_t number = body->param_count == 0 ? 0 : body->params[0];
        walk_line(w, "for (uint32_t turn_%u = 1;; turn_%u++) {", number, number);
        if (is_heavy(body))
            walk_line(w, "    if (env->poll(env, 0, 0)) %s", cancelled(w));
        else
            walk_line(w, "    if (turn_%u %% 1024 == 0 && env->poll(env, 0, 0)) %s",
                      number, cancelled(w));
    } else {
        walk_line(w, "for (;;) {");
        walk_line(w, "    if (*env->cancel) %s", cancelled(w));
    }
    w->indent++;
    w->depth++;
    walk_body(w, guard);
    walk_line(w, "if (!%.*s) break;", STR_ARG(walk_value(w, guard->results[0])));
    w->depth--;
    w->indent--;
    put_turn(w, stm, body, body->params);
    walk_line(w, "}");
}
