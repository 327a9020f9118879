// SPDX-License-Identifier: Apache-2.0
//
// States of the model checker. Whatever is evaluated becomes a param of the body that
// is left, in the order in which that uses it, so that it does not matter in what order
// things became known.
#include "fission/state.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/messages.h"

// ---- running ------------------------------------------------------------------------

static RtValue retained(RtValue value) {
    if (value.rank > 0) rt_retain(value.array);
    return value;
}

void state_release(Model *m, RtValue *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) rt_release_value(m->options->heap, &values[i]);
}

void state_forget(Model *m, State *state) {
    if (state->body != NULL) state_release(m, state->values, state->body->param_count);
    state->body = NULL;
}

// Runs a body on values, which are lent; the results are the caller's.
static Status run_body(Model *m, CoreBody *body, const RtValue *values,
                       RtValue *results, InterpError *error_out) {
    CoreType *types = arena_array(&m->scratch, CoreType, body->result_count);
    RtValue *args = arena_array(&m->scratch, RtValue, body->param_count);
    for (uint32_t i = 0; i < body->result_count; i++)
        types[i] = core_type(m->program, body->results[i]);
    for (uint32_t i = 0; i < body->param_count; i++) args[i] = retained(values[i]);
    CoreFun fun = *m->fun;
    fun.body = body;
    fun.result_types = types;
    InterpOptions options = {
        .heap = m->options->heap, .arena = &m->scratch, .cancel = m->options->cancel};
    Status status = interp_run(m->program, &fun, &options, args, results, error_out);
    if (status == STATUS_CANCELLED) m->status = status;
    if (status == STATUS_MEMORY) mem_fail(m->scratch.mem);
    return status;
}

// ---- meaning ------------------------------------------------------------------------

static void put_word(StrBuf *out, uint64_t word) {
    strbuf_bytes(out, (const char *)&word, sizeof word);
}

// All NaNs are one.
static uint64_t canonical(ScalarType elem, uint64_t bits) {
    uint64_t is_nan = 0;
    if (scalar_is_float(elem)) core_eval(OP_ISNAN, elem, SCALAR_BOOL, &bits, &is_nan);
    return is_nan != 0 ? UINT64_MAX : bits;
}

static void put_elements(StrBuf *out, const RtArray *a, uint32_t d, const char *at) {
    int64_t bytes = scalar_info[a->elem].bytes;
    for (int64_t i = 0; i < a->shape[d]; i++, at += a->strides[d] * bytes)
        if (d + 1 < a->rank) put_elements(out, a, d + 1, at);
        else put_word(out, canonical(a->elem, rt_load(a->elem, at)));
}

// Type, shape and elements, as words.
static void put_value(StrBuf *out, const RtValue *value) {
    put_word(out, (uint64_t)value->elem);
    put_word(out, value->rank);
    if (value->rank == 0) {
        put_word(out, canonical(value->elem, value->bits));
        return;
    }
    const RtArray *a = value->array;
    for (uint32_t d = 0; d < a->rank; d++) put_word(out, (uint64_t)a->shape[d]);
    if (rt_count(a) > 0) put_elements(out, a, 0, a->data);
}

enum { MEANS_VALUES = 'v', MEANS_ERROR = 'e' };

Str state_meaning(Model *m, CoreBody *body, const RtValue *values) {
    StrBuf out = strbuf(&m->scratch);
    RtValue *results = arena_array(&m->scratch, RtValue, body->result_count);
    InterpError error = {0};
    if (run_body(m, body, values, results, &error) == STATUS_OK) {
        put_word(&out, MEANS_VALUES);
        for (uint32_t i = 0; i < body->result_count; i++) put_value(&out, &results[i]);
        state_release(m, results, body->result_count);
    } else {
        put_word(&out, MEANS_ERROR);
        strbuf_printf(&out, "%.*s", STR_ARG(error.message));
        for (CoreLoc at = error.loc; at != 0; at = m->program->places.data[at].caller)
            strbuf_printf(&out, " at %u", m->program->places.data[at].span.start);
    }
    return strbuf_done(&out);
}

int64_t state_number(Model *m, CoreBody *body, const RtValue *values,
                     int64_t otherwise) {
    RtValue result;
    InterpError error;
    if (run_body(m, body, values, &result, &error) != STATUS_OK) return otherwise;
    return (int64_t)result.bits;
}

static uint64_t take_word(Str *from) {
    uint64_t word;
    memcpy(&word, from->ptr, sizeof word);
    *from = (Str){from->ptr + sizeof word, from->len - sizeof word};
    return word;
}

static void show_value(Str *from, StrBuf *out) {
    enum { MOST = 24 };
    ScalarType elem = (ScalarType)take_word(from);
    uint64_t rank = take_word(from), count = 1;
    for (uint64_t d = 0; d < rank; d++) {
        uint64_t size = take_word(from);
        strbuf_printf(out, "[%llu]", (unsigned long long)size);
        count *= size;
    }
    strbuf_cstr(out, scalar_info[elem].name);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = take_word(from);
        if (i < MOST) strbuf_char(out, ' ');
        if (i < MOST) core_show_scalar(out, elem, bits);
    }
    if (count > MOST) strbuf_cstr(out, " ...");
}

void state_show_meaning(const Model *m, Str meaning, StrBuf *out) {
    if (take_word(&meaning) == MEANS_ERROR) {
        strbuf_printf(out, "error: %.*s", STR_ARG(meaning));
        return;
    }
    for (uint32_t i = 0; i < m->fun->body->result_count; i++) {
        if (i > 0) strbuf_cstr(out, ", ");
        show_value(&meaning, out);
    }
}

// ---- evaluation ---------------------------------------------------------------------

static const RtValue *find_known(const KnownList *known, CoreRef ref) {
    for (uint32_t i = 0; i < known->len; i++)
        if (known->data[i].ref == ref) return &known->data[i].value;
    return NULL;
}

bool state_evaluate(Model *m, const CoreStm *stm, KnownList *known) {
    CoreRefs needs = {0};
    CoreStm *alone[1] = {(CoreStm *)stm};
    CoreBody body = {
        .stms = {alone, 1, 1}, .results = stm->outs, .result_count = stm->out_count};
    core_free(m->program, &body, &m->scratch, &needs);
    RtValue *values = arena_array(&m->scratch, RtValue, needs.len);
    for (uint32_t i = 0; i < needs.len; i++) {
        const RtValue *value = find_known(known, needs.data[i]);
        if (value == NULL) return false;
        values[i] = *value;
    }
    body.params = needs.data;
    body.param_count = needs.len;
    RtValue *results = arena_array(&m->scratch, RtValue, stm->out_count);
    InterpError error;
    if (run_body(m, &body, values, results, &error) != STATUS_OK) return false;
    for (uint32_t i = 0; i < stm->out_count; i++)
        vec_push(&m->scratch, known, (Known){stm->outs[i], results[i]});
    return true;
}

// Whether a rule is about the operator. The others are evaluated as soon as they can
// be: nothing that the model does could tell when.
static bool is_subject(const Model *m, CoreOp op) {
    for (uint32_t i = 0; i < m->options->rule_count; i++)
        if (m->options->rules[i].op == op) return true;
    return false;
}

KnownList state_known(Model *m, const State *state) {
    KnownList known = {0};
    for (uint32_t i = 0; i < state->body->param_count; i++)
        vec_push(&m->scratch, &known,
                 (Known){state->body->params[i], retained(state->values[i])});
    return known;
}

State state_make(Model *m, const CoreBody *body, KnownList *known) {
    Arena *arena = m->program->arena;
    CoreBody *left = arena_new(arena, CoreBody);
    left->results = body->results;
    left->result_count = body->result_count;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        if (find_known(known, stm->outs[0]) != NULL) continue;
        if (is_subject(m, stm->op) || !state_evaluate(m, stm, known))
            vec_push(arena, &left->stms, stm);
    }
    CoreRefs needs = {0};
    core_free(m->program, left, &m->scratch, &needs);
    left->param_count = needs.len;
    left->params = arena_array(arena, CoreRef, needs.len);
    RtValue *values = arena_array(arena, RtValue, needs.len);
    for (uint32_t i = 0; i < needs.len; i++) {
        left->params[i] = needs.data[i];
        values[i] = retained(*find_known(known, needs.data[i]));
    }
    for (uint32_t i = 0; i < known->len; i++)
        rt_release_value(m->options->heap, &known->data[i].value);
    return (State){.body = left, .values = values, .left = left->stms.len};
}

// ---- how a state prints -------------------------------------------------------------

void state_hash(Model *m, const State *state, uint64_t hash_out[2]) {
    StrBuf text = strbuf(&m->scratch);
    CoreFun fun = *m->fun;
    fun.body = state->body;
    fun.params.len = fun.results.len = 0;
    core_print_fun(m->program, &fun, &text);
    for (uint32_t i = 0; i < state->body->param_count; i++)
        put_value(&text, &state->values[i]);
    Str done = strbuf_done(&text);
    XXH128_hash_t hash = XXH3_128bits(done.ptr, done.len);
    hash_out[0] = hash.low64;
    hash_out[1] = hash.high64;
}
