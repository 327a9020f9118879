// SPDX-License-Identifier: Apache-2.0
//
// Random programs for weft model: definitions of arrays, each from those before it, by
// every operator that has a rule. Sizes are known while a program is written, so that
// all are well-typed; few fail when they run.
#include "cli/model.h"

#include "fission/model.h"

enum { MOST_VALUES = 64, MOST_SIZE = 6 };

typedef struct Value {
    bool is_float; // f32, else i64
    bool is_open;  // its size is not known
    uint32_t rank;
    uint32_t shape[3];
} Value;

typedef struct Writer {
    StrBuf *out;
    uint64_t random;
    Value values[MOST_VALUES];
    uint32_t count;
} Writer;

static uint32_t below(Writer *w, uint32_t count) {
    return (uint32_t)(model_random(&w->random) % count);
}

static const char *elem_name(const Value *v) {
    return v->is_float ? "f32" : "i64";
}

// ---- pieces of text ----------------------------------------------------------------

static void write_number(Writer *w, bool is_float) {
    strbuf_printf(w->out, "%u", below(w, 9));
    if (is_float) strbuf_printf(w->out, ".%u", below(w, 10));
}

static void write_literal(Writer *w, const Value *v, uint32_t d) {
    if (d == v->rank) {
        write_number(w, v->is_float);
        return;
    }
    strbuf_char(w->out, '[');
    for (uint32_t i = 0; i < v->shape[d]; i++) {
        if (i > 0) strbuf_cstr(w->out, ", ");
        write_literal(w, v, d + 1);
    }
    strbuf_char(w->out, ']');
}

// A function of one value; now and then one that fails on 0.
static void write_function(Writer *w, const Value *v) {
    static const char *const whole[] = {"(\\x -> x * 3 - 1)", "(+ 2)",
                                        "(\\x -> x % 5 - 1)", "(\\x -> x * x)"};
    static const char *const real[] = {"(\\x -> x * 0.3 + 0.1)", "(/ 3)", "f32.sqrt",
                                       "(\\x -> 1 / x)"};
    if (!v->is_float && below(w, 40) == 0) strbuf_cstr(w->out, "(\\x -> 60 / x)");
    else strbuf_cstr(w->out, v->is_float ? real[below(w, 4)] : whole[below(w, 4)]);
}

// A function of two, with what to begin with if `begins`: exact, or not; the neutral
// element may be none.
static void write_operator(Writer *w, const Value *v, bool begins) {
    static const char *const whole[] = {"(+) 0", "i64.max i64.lowest", "(*) 7",
                                        "(\\a b -> a * 3 - b) 1"};
    static const char *const real[] = {"(+) 0", "f32.min 100", "(*) 1",
                                       "(\\a b -> a * 0.5 - b) 0"};
    static const char *const pairs[] = {"(-)", "(\\a b -> a * 2 + b)"};
    if (!begins) strbuf_cstr(w->out, pairs[below(w, 2)]);
    else strbuf_cstr(w->out, v->is_float ? real[below(w, 4)] : whole[below(w, 4)]);
}

// ---- definitions -------------------------------------------------------------------

// A value of that rank, of whole numbers if `whole`; MOST_VALUES: there is none.
static uint32_t pick(Writer *w, uint32_t rank, bool whole, bool closed) {
    for (uint32_t tries = 0; tries < 12 && w->count > 0; tries++) {
        uint32_t k = below(w, w->count);
        const Value *v = &w->values[k];
        if (v->rank == rank && !(whole && v->is_float) && !(closed && v->is_open))
            return k;
    }
    return MOST_VALUES;
}

static void define_fresh(Writer *w, Value *v) {
    *v = (Value){.is_float = below(w, 2) == 0, .rank = 1 + below(w, 3)};
    for (uint32_t d = 0; d < v->rank; d++)
        v->shape[d] = 1 + below(w, MOST_SIZE - v->rank);
    if (v->rank == 1 && below(w, 3) == 0) {
        v->is_float = false;
        v->shape[0] = below(w, MOST_SIZE);
        strbuf_printf(w->out, "iota %u", v->shape[0]);
    } else if (v->rank == 2 && below(w, 2) == 0) {
        v->is_float = false;
        strbuf_printf(w->out, "tabulate_2d %u %u (\\i j -> i * 7 + j * j)", v->shape[0],
                      v->shape[1]);
    } else {
        strbuf_cstr(w->out, "(");
        write_literal(w, v, 0);
        strbuf_cstr(w->out, ": ");
        for (uint32_t d = 0; d < v->rank; d++)
            strbuf_printf(w->out, "[%u]", v->shape[d]);
        strbuf_printf(w->out, "%s)", elem_name(v));
    }
}

static bool define_map(Writer *w, Value *v) {
    static const char *const around[] = {"map ", "map (map ", "map (map (map "};
    static const char *const ends[] = {"", ")", "))"};
    uint32_t k = pick(w, 1 + below(w, 3), false, false);
    if (k == MOST_VALUES) return false;
    *v = w->values[k];
    strbuf_cstr(w->out, around[v->rank - 1]);
    write_function(w, v);
    strbuf_printf(w->out, "%s v%u", ends[v->rank - 1], k);
    return true;
}

static bool define_zip(Writer *w, Value *v) {
    uint32_t k = pick(w, 1 + below(w, 2), false, true);
    if (k == MOST_VALUES) return false;
    *v = w->values[k];
    uint32_t other = k;
    for (uint32_t i = 0; i < w->count; i++) { // the last of that type
        const Value *o = &w->values[i];
        if (o->rank == v->rank && o->is_float == v->is_float && !o->is_open &&
            o->shape[0] == v->shape[0] && o->shape[1] == v->shape[1])
            other = i;
    }
    strbuf_cstr(w->out, v->rank == 1 ? "map2 " : "map2 (map2 ");
    write_operator(w, v, false);
    strbuf_printf(w->out, "%s v%u v%u", v->rank == 1 ? "" : ")", k, other);
    return true;
}

static bool define_fold(Writer *w, Value *v) {
    uint32_t k = pick(w, 1 + below(w, 2), false, false);
    if (k == MOST_VALUES) return false;
    *v = w->values[k];
    bool is_row = v->rank == 1, scans = below(w, 3) == 0;
    strbuf_cstr(w->out, is_row ? "" : "map (");
    strbuf_cstr(w->out, scans ? "scan " : "reduce ");
    write_operator(w, v, true);
    strbuf_printf(w->out, "%s v%u", is_row ? "" : ")", k);
    if (!scans) v->rank--;
    return true;
}

static bool define_view(Writer *w, Value *v) {
    uint32_t k = pick(w, 1 + below(w, 3), false, true);
    if (k == MOST_VALUES) return false;
    *v = w->values[k];
    if (v->rank > 1 && below(w, 2) == 0) {
        uint32_t size = v->shape[0];
        v->shape[0] = v->shape[1];
        v->shape[1] = size;
        strbuf_printf(w->out, "copy (transpose v%u)", k);
    } else if (v->rank < 3 && below(w, 2) == 0) {
        v->shape[2] = v->shape[1];
        v->shape[1] = v->shape[0];
        v->shape[0] = 1 + below(w, 3);
        v->rank++;
        strbuf_printf(w->out, "replicate %u v%u", v->shape[0], k);
    } else {
        strbuf_printf(w->out, "copy (reverse v%u)", k);
    }
    return true;
}

static bool define_places(Writer *w, Value *v) {
    uint32_t k = pick(w, 1 + below(w, 2), true, true), size = 1 + below(w, MOST_SIZE);
    if (k == MOST_VALUES) return false;
    static const char *const how[] = {"scatter", "reduce_by_index", "reduce_by_index"};
    static const char *const with[] = {"", "(+) 0", "i64.max 3"};
    uint32_t what = below(w, 3);
    if (w->values[k].rank == 2) { // bins for each row
        *v = (Value){.rank = 2, .shape = {w->values[k].shape[0], size}};
        strbuf_printf(w->out, "map (\\r -> %s (replicate %u 1) %s r r) v%u", how[what],
                      size, with[what], k);
        return true;
    }
    *v = (Value){.rank = 1, .shape = {size}};
    strbuf_printf(w->out, "%s (replicate %u 1) %s (map (%% 5) v%u) v%u", how[what],
                  size, with[what], k, k);
    return true;
}

static bool define_other(Writer *w, Value *v) {
    uint32_t k = pick(w, 1, false, true), what = below(w, 4);
    if (k == MOST_VALUES) return false;
    *v = w->values[k];
    if (what == 0) {
        v->is_open = true;
        strbuf_printf(w->out, "filter (> 2) v%u", k);
    } else if (what == 1) {
        strbuf_printf(w->out, "%s.sort v%u", elem_name(v), k);
    } else if (what == 2) {
        strbuf_printf(w->out, "%s.argsort v%u", elem_name(v), k);
        v->is_float = false;
    } else if (v->shape[0] >= 2) {
        uint32_t n = v->shape[0];
        strbuf_printf(w->out,
                      "map3 (\\a b c -> a - b * c) v%u[0:%u] v%u[1:%u] v%u[2:%u]", k,
                      n - 2, k, n - 1, k, n);
        v->shape[0] -= 2;
    } else {
        v->rank = 0;
        strbuf_printf(w->out, "loop x = 1 for i < length v%u do x * 2 + %s.i64 i", k,
                      elem_name(v));
    }
    return true;
}

static void define(Writer *w) {
    Value *v = &w->values[w->count];
    static bool (*const ways[])(Writer * w, Value * v) = {
        define_map,  define_map,    define_zip,  define_fold,
        define_view, define_places, define_other};
    strbuf_printf(w->out, "  let v%u = ", w->count);
    if (below(w, 4) == 0 || !ways[below(w, 7)](w, v)) define_fresh(w, v);
    strbuf_char(w->out, '\n');
    w->count++;
}

void model_write(StrBuf *out, uint64_t seed, uint32_t count) {
    Writer w = {.out = out, .random = seed};
    strbuf_cstr(out, "entry main =\n");
    for (uint32_t i = 0; i < count && i < MOST_VALUES; i++) define(&w);
    strbuf_cstr(out, "  in (");
    for (uint32_t i = 0; i < w.count; i++)
        strbuf_printf(out, i == 0 ? "v%u" : ", v%u", i);
    strbuf_cstr(out, ")\n");
}
