// SPDX-License-Identifier: Apache-2.0
//
// Launches: the function of a turn, and the entry that runs turns. A turn of a team
// (loop/launch.h) is run by all its items: what one does for all is in an `if`, and a
// loop that is spread is a function, of which each item runs its own turns, so that
// some may fail and all still meet behind it.
#include "emit/walk.h"

// The body of a loop, and the loop all over it, turned once, as `turn` of the pairs.
static void put_flat(Walker *w, const LoopBody *body, const char *turn, LoopRef inner) {
    uint32_t last = body->stms.len - 1;
    const LoopBody *inner_body = body->stms.data[last]->bodies[0];
    Str i = walk_value(w, body->params[0]), k = walk_value(w, inner_body->params[0]);
    Str count = walk_value(w, inner);
    walk_line(w, "const int64_t %.*s = weft_row(%s, %.*s);", STR_ARG(i), turn,
              STR_ARG(count));
    walk_line(w, "const int64_t %.*s = %s - %.*s * %.*s;", STR_ARG(k), turn, STR_ARG(i),
              STR_ARG(count));
    LoopBody before = {.stms = {body->stms.data, last, last}};
    walk_body(w, &before);
    walk_body(w, inner_body);
}

// ---- loops spread over a team -------------------------------------------------------

// Gives `name` the turns of the item, of so many; whether that takes a loop.
static bool open_turns(Walker *w, const char *name, const char *count, uint64_t known) {
    if (known > LAUNCH_TEAM) {
        walk_line(w, "for (int64_t %s = weft_lane(); %s < %s; %s += %d) {", name, name,
                  count, name, LAUNCH_TEAM);
        w->indent++;
        return true;
    }
    walk_line(w, "const int64_t %s = weft_lane();", name);
    if (known < LAUNCH_TEAM)
        walk_line(w, "if (%s >= %s) return KERNEL_OK;", name, count);
    return false;
}

static void put_turns(Walker *w, const LoopStm *stm, bool can_fail) {
    const LoopBody *body = stm->bodies[0];
    const LoopValue *times = &w->kernel->values.data[stm->args[0]];
    uint64_t known = times->is_const ? times->bits : UINT64_MAX;
    LoopRef columns = loop_spread_columns(w->kernel, stm);
    const char *name = "pair", *count;
    StrBuf text = strbuf(w->arena);
    if (columns != 0) {
        known *= w->kernel->values.data[columns].bits;
        strbuf_printf(&text, "%llu", (unsigned long long)known);
        count = str_terminated(w->arena, strbuf_done(&text));
    } else {
        name = str_terminated(w->arena, walk_value(w, body->params[0]));
        count = str_terminated(w->arena, walk_value(w, stm->args[0]));
    }
    bool is_loop = open_turns(w, name, count, known);
    if (can_fail) walk_line(w, "env->inner = (uint32_t)%s;", name);
    if (columns != 0) put_flat(w, body, name, columns);
    else walk_body(w, body);
    if (!is_loop) return;
    w->indent--;
    walk_line(w, "}");
}

// The function goes before that of the turn; what calls it is written where this is.
void walk_spread(Walker *w, const LoopStm *stm) {
    LoopRef number = stm->bodies[0]->params[0];
    bool can_fail = loop_spread_fails(w->plan, stm->bodies[0]);
    const LoopLaunch *team = w->team;
    const char *failing = w->failing;
    uint32_t indent = w->indent;
    StrBuf text = strbuf(w->arena), *out = w->out, args = strbuf(w->arena);
    LoopBody code = {.stms = {(LoopStm **)&stm, 1, 1}};
    LoopRefs used;
    loop_captures(w->kernel, &code, w->arena, &used);
    w->out = &text;
    w->team = NULL;
    w->failing = "";
    w->indent = 0;
    walk_line(w, "%sint32_t weft_%u_spread_%u(KernelEnv *env%.*s) {",
              w->dialect->function, w->number, number,
              STR_ARG(walk_params(w, used.data, used.len)));
    w->indent++;
    walk_line(w, "(void)env;");
    put_turns(w, stm, can_fail);
    walk_line(w, "return KERNEL_OK;");
    w->indent--;
    walk_line(w, "}\n");
    strbuf_str(&w->done, strbuf_done(&text));
    w->out = out;
    w->team = team;
    w->failing = failing;
    w->indent = indent;
    for (uint32_t i = 0; i < used.len; i++)
        strbuf_printf(&args, ", %.*s", STR_ARG(walk_value(w, used.data[i])));
    Str given = strbuf_done(&args);
    if (!can_fail) {
        walk_line(w, "weft_%u_spread_%u(env%.*s);", w->number, number, STR_ARG(given));
        return;
    }
    walk_line(w,
              "{ const int32_t status = weft_agree(env, weft_%u_spread_%u(env%.*s));",
              w->number, number, STR_ARG(given));
    walk_line(w, "  if (status != KERNEL_OK) return status; }");
}

// ---- turns --------------------------------------------------------------------------

// The function of one turn.
static void put_turn(Walker *w, const LoopLaunch *launch) {
    LoopBody body = loop_launch_body(launch);
    StrBuf index = strbuf(w->arena), shared = strbuf(w->arena);
    if (launch->is_parallel)
        strbuf_printf(
            &index, ", int64_t %.*s",
            STR_ARG(launch->inner != 0 ? STR("turn") : walk_value(w, body.params[0])));
    for (uint32_t i = 0; i < launch->shared_count; i++)
        strbuf_str(&shared, walk_params(w, launch->shared[i]->outs, 1));
    walk_line(w, "%sint32_t weft_%u_turn_%u(KernelEnv *env%.*s%.*s%.*s) {",
              w->dialect->function, w->number, launch->number,
              STR_ARG(strbuf_done(&index)),
              STR_ARG(walk_params(w, launch->ins, launch->in_count)),
              STR_ARG(strbuf_done(&shared)));
    w->indent++;
    if (launch->inner != 0) put_flat(w, &body, "turn", launch->inner);
    else walk_body(w, &body);
    for (uint32_t i = 0; i < launch->out_count; i++)
        walk_line(w, "env->frame[%u] = %.*s;", launch->in_count + i,
                  STR_ARG(walk_to_slot(w, launch->outs[i])));
    walk_line(w, "return KERNEL_OK;");
    w->indent--;
    walk_line(w, "}\n");
}

// Its spread loops come before it.
static void put_functions(Walker *w, const LoopLaunch *launch) {
    StrBuf turn = strbuf(w->arena), *out = w->out;
    w->done = strbuf(w->arena);
    w->out = &turn;
    w->team = launch->has_team ? launch : NULL;
    // What is the same for all of a team one item reports.
    w->failing = launch->has_team ? "if (weft_lane() > 0) return KERNEL_FAULT; " : "";
    put_turn(w, launch);
    w->failing = "";
    w->team = NULL;
    w->out = out;
    strbuf_str(out, strbuf_done(&w->done));
    strbuf_str(out, strbuf_done(&turn));
}

void walk_launch(Walker *w, const LoopLaunch *launch) {
    const char *of_team = launch->has_team ? "_team" : "";
    put_functions(w, launch);
    walk_line(w, "%svoid weft_%u_launch_%u(%schar *heap, uint64_t control) {",
              w->dialect->entry, w->number, launch->number, w->dialect->global);
    w->indent++;
    for (uint32_t i = 0; i < launch->shared_count; i++)
        walk_declare_array(w, launch->shared[i], w->dialect->shared);
    if (launch->has_team) walk_line(w, "%sint32_t status;", w->dialect->shared);
    walk_line(w, "KernelEnv env = weft_start%s(heap, control%s);", of_team,
              launch->has_team ? ", &status" : "");
    StrBuf args = strbuf(w->arena);
    for (uint32_t i = 0; i < launch->in_count; i++) {
        walk_take_slot(w, launch->ins[i], "env.frame", i);
        strbuf_printf(&args, ", %.*s", STR_ARG(walk_value(w, launch->ins[i])));
    }
    for (uint32_t i = 0; i < launch->shared_count; i++)
        strbuf_printf(&args, ", %.*s",
                      STR_ARG(walk_value(w, launch->shared[i]->outs[0])));
    walk_line(w, "while (env.turn < env.count)");
    walk_line(w, "    weft_next%s(&env, weft_%u_turn_%u(&env%s%.*s));", of_team,
              w->number, launch->number,
              launch->is_parallel ? ", env.begin + env.turn" : "",
              STR_ARG(strbuf_done(&args)));
    w->indent--;
    walk_line(w, "}\n");
}
