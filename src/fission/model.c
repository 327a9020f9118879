// SPDX-License-Identifier: Apache-2.0
//
// The exploration: level by level of rules applied, so that a counterexample has as few
// rules as possible. What a state means is checked whenever a rule has made it, and at
// every end; ends are reached by single steps in all orders, so that each path is one.
#include "fission/model.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "fission/state.h"

typedef struct Numbers {
    uint32_t *data;
    uint32_t len, cap;
} Numbers;

// ---- counterexamples ----------------------------------------------------------------

static void print_body(const Model *m, CoreBody *body, StrBuf *out) {
    CoreFun fun = *m->fun;
    fun.body = body;
    fun.params.len = fun.results.len = 0;
    core_print_fun(m->program, &fun, out);
}

static void print_trace(const Model *m, uint32_t number, StrBuf *out) {
    const State *state = &m->states.data[number];
    if (state->parent == number) return;
    print_trace(m, state->parent, out);
    strbuf_printf(out, "  %.*s\n", STR_ARG(state->step));
}

static void report(Model *m, uint32_t from, Str step, CoreBody *after, Str found) {
    StrBuf out = strbuf(m->program->arena);
    print_trace(m, from, &out);
    strbuf_printf(&out, "  %.*s\nexpected ", STR_ARG(step));
    state_show_meaning(m, m->expected, &out);
    strbuf_cstr(&out, "\nfound    ");
    state_show_meaning(m, found, &out);
    strbuf_cstr(&out, "\nafter these steps:\n");
    print_body(m, after, &out);
    m->result->counterexample = strbuf_done(&out);
}

static bool is_over(const Model *m) {
    return m->result->counterexample.len > 0 || m->status != STATUS_OK;
}

// ---- states -------------------------------------------------------------------------

// The number of the state, which is taken; *is_new_out says whether it was not known.
static uint32_t intern(Model *m, State state, bool *is_new_out) {
    uint64_t hash[2], found;
    state_hash(m, &state, hash);
    for (uint64_t key = hash[0];; key++) {
        if (key == 0) continue;
        *is_new_out = !map_get(&m->memo, key, &found);
        if (*is_new_out) {
            map_set(&m->memo, key, m->states.len + 1);
            break;
        }
        if (m->hashes.data[found - 1] != hash[1]) continue;
        state_forget(m, &state);
        return (uint32_t)found - 1;
    }
    vec_push(m->program->arena, &m->states, state);
    vec_push(m->program->arena, &m->hashes, hash[1]);
    return m->states.len - 1;
}

// Goes on from a state to what the body is after a step; new states join the list.
static void go(Model *m, uint32_t from, Str step, const CoreBody *body,
               KnownList *known, uint32_t rules, Numbers *list) {
    bool is_new;
    State state = state_make(m, body, known);
    state.parent = from;
    state.step = step;
    state.rules = rules;
    uint32_t to = intern(m, state, &is_new);
    if (is_new) vec_push(m->program->arena, list, to);
    vec_push(m->program->arena, &m->edges, to);
}

// ---- steps --------------------------------------------------------------------------

static Str describe(Model *m, const char *what, const CoreStm *stm) {
    StrBuf out = strbuf(m->program->arena), text = strbuf(&m->scratch);
    core_print_stm(m->program, stm, &text);
    strbuf_printf(&out, "%s: %.*s", what, STR_ARG(strbuf_done(&text)));
    return strbuf_done(&out);
}

static void check_end(Model *m, uint32_t number, Str step) {
    State *state = &m->states.data[number];
    state->is_end = true;
    Str found = state_meaning(m, state->body, state->values);
    if (!is_over(m) && !str_eq(found, m->expected))
        report(m, number, step, state->body, found);
}

// Evaluates statement i by itself, if it is ready and does not fail.
static bool evaluate(Model *m, uint32_t number, uint32_t i, Numbers *list) {
    const State *from = &m->states.data[number];
    const CoreStm *stm = from->body->stms.data[i];
    KnownList known = state_known(m, from);
    if (state_evaluate(m, stm, &known)) {
        go(m, number, describe(m, "evaluate", stm), from->body, &known, from->rules,
           list);
        return true;
    }
    for (uint32_t k = 0; k < known.len; k++)
        rt_release_value(m->options->heap, &known.data[k].value);
    return false;
}

// How many statements may be the next to be evaluated: all, or the first alone, where
// no more rules are applied. What a statement comes to depends on what it needs, not on
// what else was evaluated, and no later step looks at a state in between; so all orders
// end alike, and one of them will do. The first needs nothing that is not known.
static uint32_t count_next(const Model *m, const State *state) {
    uint32_t left = state->body->stms.len;
    return state->rules == m->options->depth && left > 1 ? 1 : left;
}

// One statement that fails before the others is the end; one behind others waits for
// them, which may fail first.
static void evaluate_all(Model *m, uint32_t number, Numbers *list) {
    const CoreBody *body = m->states.data[number].body;
    uint32_t count = count_next(m, &m->states.data[number]);
    if (body->stms.len == 0) check_end(m, number, STR("the end"));
    for (uint32_t i = 0; i < count && !is_over(m); i++)
        if (!evaluate(m, number, i, list) && i == 0)
            check_end(m, number, describe(m, "fail", body->stms.data[0]));
}

static bool verify(Model *m, CoreBody *body, StrBuf *faults) {
    CoreFun before = *m->fun;
    m->fun->body = body;
    m->fun->is_entry = false; // whose ports tell of params that are gone
    m->fun->params.len = m->fun->results.len = 0;
    bool is_sound = core_verify(m->program, faults);
    *m->fun = before;
    return is_sound;
}

static void apply(Model *m, uint32_t number, const FissionPlace *place, FissionCut cut,
                  Numbers *list) {
    const State *from = &m->states.data[number];
    const CoreStm *stm = from->body->stms.data[place->stm];
    CoreBody *body = fission_apply(m->program, from->body, place, cut);
    char what[96];
    m->result->rules++;
    if (place->rule->size == NULL) snprintf(what, sizeof what, "%s", place->rule->name);
    else if (cut.at < 0)
        snprintf(what, sizeof what, "%s, dimension %u, %u parts", place->rule->name,
                 place->dim, cut.parts);
    else
        snprintf(what, sizeof what, "%s, dimension %u, at %lld", place->rule->name,
                 place->dim, (long long)cut.at);
    Str step = describe(m, what, stm);
    StrBuf faults = strbuf(m->program->arena);
    if (!verify(m, body, &faults)) {
        m->result->counterexample = strbuf_done(&faults);
        return;
    }
    Str found = state_meaning(m, body, from->values);
    if (is_over(m)) return;
    if (!str_eq(found, m->expected)) {
        report(m, number, step, body, found);
        return;
    }
    KnownList known = state_known(m, from);
    go(m, number, step, body, &known, from->rules + 1, list);
}

// How much there is to cut; if that is not known yet, a few.
static int64_t find_size(Model *m, const State *state, const FissionPlace *place) {
    enum { UNKNOWN = 3 };
    CoreBody *body = fission_size(m->program, state->body, place);
    return state_number(m, body, state->values, UNKNOWN);
}

// Every point where few elements can be cut; else the ends, the middle, and the bounds
// of blocks. And equal parts.
static void apply_everywhere(Model *m, uint32_t number, const FissionPlace *place,
                             Numbers *list) {
    enum { FEW = 6 };
    if (place->rule->size == NULL) {
        apply(m, number, place, (FissionCut){.parts = 2, .at = -1}, list);
        return;
    }
    int64_t n = find_size(m, &m->states.data[number], place);
    int64_t points[] = {0, 1, n / 2, n - 1, n, CORE_BLOCK, n / CORE_BLOCK * CORE_BLOCK};
    int64_t count = n <= FEW ? n + 1 : n <= CORE_BLOCK ? 5 : 7;
    for (int64_t i = 0; i < count && !is_over(m); i++)
        apply(m, number, place,
              (FissionCut){.parts = 2, .at = n <= FEW ? i : points[i]}, list);
    for (uint32_t parts = 2; parts <= 3 && !is_over(m); parts++)
        apply(m, number, place, (FissionCut){.parts = parts, .at = -1}, list);
}

// ---- the whole ----------------------------------------------------------------------

static void apply_all(Model *m, uint32_t number, Numbers *list) {
    const State *state = &m->states.data[number];
    FissionPlaces places = {0};
    fission_places(m->facts, state->body, m->options->rules, m->options->rule_count,
                   m->program->arena, &places);
    for (uint32_t i = 0; i < places.len && !is_over(m); i++)
        apply_everywhere(m, number, &places.data[i], list);
}

// Takes all steps of one kind from a state; new states join the list. False: the
// exploration is over.
static bool take_steps(Model *m, uint32_t number, bool by_rules, Numbers *list) {
    if (is_over(m) || m->states.len > m->options->most_states) return false;
    uint32_t first = m->edges.len;
    if (by_rules) apply_all(m, number, list);
    else evaluate_all(m, number, list);
    Steps steps = {first, m->edges.len - first};
    State *state = &m->states.data[number];
    *(by_rules ? &state->rule_steps : &state->steps) = steps;
    arena_free(&m->scratch);
    return true;
}

// The states that evaluation makes of those of the list, which they join.
static bool evaluate_list(Model *m, Numbers *list) {
    for (uint32_t i = 0; i < list->len; i++)
        if (!take_steps(m, list->data[i], false, list)) return false;
    return true;
}

// Lets go of values from `first` on, but for constants, which are known by number.
static void drop_values(CoreProgram *p, uint32_t first) {
    for (CoreRef ref = first; ref < p->values.len; ref++)
        if (core_is_const(p, ref)) return;
    p->values.len = first;
}

// Ends states to which no more rules are applied. Then nothing needs their values,
// which all that looks at the program would pass by.
static bool end_list(Model *m, Numbers *list, uint32_t first_value) {
    if (!evaluate_list(m, list)) return false;
    for (uint32_t i = 0; i < list->len; i++)
        state_forget(m, &m->states.data[list->data[i]]);
    drop_values(m->program, first_value);
    *list = (Numbers){0};
    return true;
}

// The states by how many statements are left, most first, so that evaluation leads on.
static uint32_t *order_states(const Model *m) {
    Arena *arena = m->program->arena;
    uint32_t count = m->states.len, most = 0,
             *order = arena_array(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        if (m->states.data[i].left > most) most = m->states.data[i].left;
    uint32_t *at = arena_array(arena, uint32_t, most + 2);
    for (uint32_t i = 0; i < count; i++) at[most - m->states.data[i].left + 1]++;
    for (uint32_t i = 0; i < most; i++) at[i + 1] += at[i];
    for (uint32_t i = 0; i < count; i++) order[at[most - m->states.data[i].left]++] = i;
    return order;
}

// Adds the ways to a state to those to what its steps lead to.
static void go_on(const Model *m, Steps steps, double here, double *ways) {
    for (uint32_t i = 0; i < steps.count; i++)
        ways[m->edges.data[steps.first + i]] += here;
}

// The ways from the first state to ends, by the rules applied: a rule and an evaluation
// may lead back to where they began, so the same state may be met with more rules.
static double count_paths(const Model *m) {
    uint32_t count = m->states.len, *order = order_states(m);
    double *ways = arena_array(m->program->arena, double, count), paths = 0;
    double *after = arena_array(m->program->arena, double, count);
    ways[0] = 1;
    for (uint32_t rules = 0; rules <= m->options->depth; rules++) {
        for (uint32_t i = 0; i < count; i++) {
            const State *state = &m->states.data[order[i]];
            double here = ways[order[i]];
            if (here == 0) continue;
            if (state->is_end) paths += here;
            go_on(m, state->steps, here, ways);
            go_on(m, state->rule_steps, here, after);
        }
        double *done = ways;
        ways = after;
        after = memset(done, 0, count * sizeof *done);
    }
    return paths;
}

// Makes the first state. False: the program was cancelled.
static bool begin(Model *m, const RtValue *args) {
    Arena *arena = m->program->arena;
    map_init(&m->memo, arena);
    m->expected = str_copy(arena, state_meaning(m, m->fun->body, args));
    if (is_over(m)) return false;
    KnownList known = {0};
    for (uint32_t i = 0; i < m->fun->body->param_count; i++) {
        if (args[i].rank > 0) rt_retain(args[i].array);
        vec_push(&m->scratch, &known, (Known){m->fun->body->params[i], args[i]});
    }
    bool is_new;
    intern(m, state_make(m, m->fun->body, &known), &is_new);
    return true;
}

// Applies rules to the states of a level, once all are known that have as few of them.
static bool check_level(Model *m, uint32_t rules, Numbers *same, Numbers *next) {
    if (!evaluate_list(m, same)) return false;
    for (uint32_t i = 0; i < same->len && rules < m->options->depth; i++) {
        uint32_t first_value = m->program->values.len;
        if (!take_steps(m, same->data[i], true, next)) return false;
        if (rules + 1 == m->options->depth && !end_list(m, next, first_value))
            return false;
    }
    return true;
}

static void check_all(Model *m, const RtValue *args) {
    if (!begin(m, args)) return;
    Numbers same = {0}, next = {0};
    vec_push(m->program->arena, &same, 0);
    bool goes_on = true;
    for (uint32_t rules = 0; same.len > 0 && goes_on; rules++) {
        goes_on = check_level(m, rules, &same, &next);
        same = next;
        next = (Numbers){0};
    }
    m->result->is_complete = goes_on;
    if (!is_over(m)) m->result->paths = count_paths(m);
}

// ---- walks --------------------------------------------------------------------------

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// 2014).
uint64_t model_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint32_t below(Model *m, uint64_t count) {
    return (uint32_t)(model_random(&m->random) % count);
}

// Applies one rule at one place, with one cut. False: there is none.
static bool apply_any(Model *m, uint32_t number, Numbers *list) {
    enum { MOST_PARTS = 5 };
    const State *state = &m->states.data[number];
    FissionPlaces places = {0};
    fission_places(m->facts, state->body, m->options->rules, m->options->rule_count,
                   &m->scratch, &places);
    if (places.len == 0) return false;
    const FissionPlace *place = &places.data[below(m, places.len)];
    FissionCut cut = {.parts = 2, .at = -1};
    if (place->rule->size != NULL && below(m, 2) == 0) {
        int64_t n = find_size(m, state, place);
        cut.at = below(m, n < 0 ? 2 : (uint64_t)n + 2);
    } else if (place->rule->size != NULL) {
        cut.parts = 2 + below(m, MOST_PARTS - 1);
    }
    apply(m, number, place, cut, list);
    return true;
}

static bool evaluate_any(Model *m, uint32_t number, Numbers *list) {
    uint32_t count = m->states.data[number].body->stms.len, first = below(m, count);
    for (uint32_t i = 0; i < count; i++)
        if (evaluate(m, number, (first + i) % count, list)) return true;
    return false;
}

// One path from the program to an end.
static void walk(Model *m, const RtValue *args) {
    if (!begin(m, args)) return;
    uint32_t number = 0;
    while (!is_over(m) && m->states.data[number].body->stms.len > 0) {
        Numbers list = {0};
        bool splits =
            m->states.data[number].rules < m->options->depth && below(m, 2) == 0;
        bool has_moved =
            (splits && apply_any(m, number, &list)) || evaluate_any(m, number, &list);
        arena_free(&m->scratch);
        if (!has_moved) break; // its first statement fails
        if (!is_over(m)) number = m->edges.data[m->edges.len - 1];
    }
    if (!is_over(m)) check_end(m, number, STR("the end"));
    m->result->paths = 1;
}

// ---- the calls ----------------------------------------------------------------------

// Nothing may unwind past the scratch arena. False: out of memory.
static bool run_safely(Model *m, const RtValue *args,
                       void (*run)(Model *m, const RtValue *args)) {
    Mem *mem = m->program->arena->mem;
    jmp_buf *outer = mem->recover, recover;
    mem->recover = &recover;
    bool has_memory = setjmp(recover) == 0;
    if (has_memory) {
        run(m, args);
        m->result->states = m->states.len;
    }
    mem->recover = outer;
    return has_memory;
}

static Status run_model(Model *m, const RtValue *args,
                        void (*run)(Model *m, const RtValue *args)) {
    Mem *mem = m->program->arena->mem;
    *m->result = (ModelResult){0};
    arena_init(&m->scratch, mem);
    bool has_memory = run_safely(m, args, run);
    for (uint32_t i = 0; i < m->states.len; i++) state_forget(m, &m->states.data[i]);
    arena_free(&m->scratch);
    if (!has_memory) mem_fail(mem);
    return m->status;
}

Status model_check(CoreProgram *program, CoreFun *fun, const RtValue *args,
                   const ModelOptions *options, ModelResult *result_out) {
    Model model = {.program = program,
                   .facts = fission_new_facts(program),
                   .fun = fun,
                   .options = options,
                   .result = result_out,
                   .status = STATUS_OK};
    return run_model(&model, args, check_all);
}

Status model_walk(CoreProgram *program, CoreFun *fun, const RtValue *args,
                  const ModelOptions *options, uint64_t seed, ModelResult *result_out) {
    Model model = {.program = program,
                   .facts = fission_new_facts(program),
                   .fun = fun,
                   .options = options,
                   .result = result_out,
                   .status = STATUS_OK,
                   .random = seed};
    return run_model(&model, args, walk);
}
