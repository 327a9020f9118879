// SPDX-License-Identifier: Apache-2.0
//
// Rows that are fetched ahead. A turn that makes vectors of several rows of a plane
// reads rows of the planes around it. Processors fetch ahead along each of these rows,
// but short ones have ended before that helps, and what comes next are rows further
// down. So such a turn fetches, of as many rows of each plane as it makes, what lies
// twice as many rows further down.
//
// A loop within turns that stores past the caches reads rows that end before processors
// fetch far enough ahead, too. Of each plane that the kernel was handed its turns fetch
// what lies a page further on. So does one that makes a row which another loop then
// stores past the caches, if it reads few planes: it reads what it fetches soon. One
// that reads many fetches the next row of each, line by line, if vectors are lines: the
// row is short, and there are more of them than processors follow.
//
// Planes that lie one behind the other have been read as the last of them before. Where
// vectors are half a line, so that fetching costs twice, that one alone is fetched.
#include "emit/walk.h"
#include "loop/machine.h"

enum { MOST_ROWS = 32, FEW_ROWS = 4, SHORT = 2048 }; // SHORT: bytes of a row

typedef struct Fetch {
    const Walker *w;
    const LoopStm *store;           // the first
    uint32_t stores;                // rows that the turn makes
    const LoopStm *rows[MOST_ROWS]; // loads
    uint32_t count;
} Fetch;

// Of the args that say where: the stride and the index of planes, rows and columns come
// last.
static const LoopRef *last_args(const LoopStm *stm) {
    return stm->args + stm->arg_count - 6;
}

// Whether the places are vectors along rows of planes.
static bool is_along_row(const Fetch *f, const LoopStm *stm, uint32_t first) {
    const LoopValue *values = f->w->kernel->values.data;
    if (stm->arg_count < first + 7) return false;
    for (uint32_t i = first; i < stm->arg_count; i++)
        if (values[stm->args[i]].type.lanes > 0) return false;
    const LoopValue *stride = &values[last_args(stm)[4]];
    return stride->is_const && stride->bits == 1;
}

// Whether two loads or stores are of the same plane; of the same row of it.
static bool is_same_plane(const LoopStm *x, const LoopStm *y) {
    bool is_same = x->arg_count == y->arg_count && x->args[0] == y->args[0];
    uint32_t first = x->op == LOOP_STORE ? 2 : 1;
    for (uint32_t i = first; i + 1 < x->arg_count && is_same; i++)
        is_same = i + 3 == x->arg_count || x->args[i] == y->args[i];
    return is_same;
}

static bool is_same_row(const LoopStm *x, const LoopStm *y) {
    return is_same_plane(x, y) && last_args(x)[3] == last_args(y)[3];
}

static bool note_store(Fetch *f, const LoopStm *stm) {
    if (!is_along_row(f, stm, 2)) return false;
    if (f->stores++ == 0) f->store = stm;
    else if (!is_same_plane(f->store, stm) || is_same_row(f->store, stm)) return false;
    return true;
}

// A row is fetched if it is there for the first time, and few of its plane were.
static void note_load(Fetch *f, const LoopStm *stm) {
    uint32_t of_plane = 0;
    if (!is_along_row(f, stm, 1) || last_args(stm)[2] != last_args(f->store)[2]) return;
    for (uint32_t i = 0; i < f->count; i++) {
        if (is_same_row(f->rows[i], stm)) return;
        of_plane += is_same_plane(f->rows[i], stm);
    }
    if (of_plane < f->stores && f->count < MOST_ROWS) f->rows[f->count++] = stm;
}

static bool find_rows(Fetch *f, const LoopBody *vector) {
    for (uint32_t i = 0; i < vector->stms.len; i++) {
        const LoopStm *stm = vector->stms.data[i];
        bool is_plain = stm->body_count == 0 && stm->op != LOOP_STOREIF;
        if (!is_plain || (stm->op == LOOP_STORE && !note_store(f, stm))) return false;
    }
    if (f->stores < 2) return false;
    for (uint32_t i = 0; i < vector->stms.len; i++)
        if (vector->stms.data[i]->op == LOOP_LOAD) note_load(f, vector->stms.data[i]);
    return f->count > 0;
}

// ---- planes behind others -----------------------------------------------------------

// Values that an index is, so much more or less, unless it clamps or wraps.
typedef struct Origin {
    LoopRef ref;
    int64_t by;
} Origin;

enum { MOST_ORIGINS = 8, DEEPEST = 4 };

typedef struct Origins {
    Origin data[MOST_ORIGINS];
    uint32_t count;
} Origins;

static void find_origins(const Walker *w, LoopRef ref, int64_t by, int depth,
                         Origins *o) {
    const LoopValue *values = w->kernel->values.data;
    const LoopStm *stm = w->made[ref];
    if (values[ref].is_const || o->count == MOST_ORIGINS) return;
    o->data[o->count++] = (Origin){ref, by};
    if (stm == NULL || depth == DEEPEST) return;
    if (stm->op == LOOP_IF && stm->out_count == 1)
        for (uint32_t k = 0; k < stm->body_count; k++)
            find_origins(w, stm->bodies[k]->results[0], by, depth + 1, o);
    if (stm->op != LOOP_SCALAR) return;
    if (stm->scalar == OP_MIN || stm->scalar == OP_MAX)
        for (uint32_t k = 0; k < 2; k++)
            find_origins(w, stm->args[k], by, depth + 1, o);
    int64_t sign = stm->scalar == OP_ADD ? 1 : stm->scalar == OP_SUB ? -1 : 0;
    if (sign != 0 && values[stm->args[1]].is_const)
        find_origins(w, stm->args[0], by + sign * (int64_t)values[stm->args[1]].bits,
                     depth + 1, o);
}

// Whether the first index is less than the second, as far as is seen.
static bool is_before(const Walker *w, LoopRef x, LoopRef y) {
    Origins of_x = {0}, of_y = {0};
    find_origins(w, x, 0, 0, &of_x);
    find_origins(w, y, 0, 0, &of_y);
    for (uint32_t i = 0; i < of_x.count; i++)
        for (uint32_t k = 0; k < of_y.count; k++)
            if (of_x.data[i].ref == of_y.data[k].ref)
                return of_x.data[i].by < of_y.data[k].by;
    return false;
}

// Whether the plane of the first load lies before that of the second.
static bool is_behind(const Walker *w, const LoopStm *x, const LoopStm *y) {
    uint32_t at = 0, count = x->arg_count;
    if (count != y->arg_count || count < 8) return false;
    for (uint32_t i = 0; i < count; i++) {
        bool is_plane = i + 3 != count && i + 1 != count;
        if (!is_plane || x->args[i] == y->args[i]) continue;
        if (i < 3 || i % 2 == 0 || at != 0) return false;
        at = i;
    }
    return at != 0 && is_before(w, x->args[at], y->args[at]);
}

static void keep_last_planes(Fetch *f) {
    enum { HALF_LINE = 32 };
    uint32_t kept = 0;
    if (machine_vector_bytes() != HALF_LINE) return;
    const LoopStm *rows[MOST_ROWS];
    memcpy(rows, f->rows, sizeof rows);
    for (uint32_t i = 0; i < f->count; i++) {
        bool is_last = true;
        for (uint32_t k = 0; k < f->count && is_last; k++)
            is_last = !is_behind(f->w, rows[i], rows[k]);
        if (is_last) f->rows[kept++] = rows[i];
    }
    f->count = kept;
}

// ---- rows further down --------------------------------------------------------------

// Of the load, but for the last index.
static Str place_at(Walker *w, const LoopStm *load, LoopRef last) {
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "%.*s[%.*s", STR_ARG(walk_value(w, load->args[0])),
                  STR_ARG(walk_value(w, load->args[1])));
    for (uint32_t i = 2; i < load->arg_count; i += 2)
        strbuf_printf(
            &text, " + %.*s * %.*s", STR_ARG(walk_value(w, load->args[i])),
            STR_ARG(walk_value(w, i + 2 < load->arg_count ? load->args[i + 1] : last)));
    strbuf_char(&text, ']');
    return strbuf_done(&text);
}

static Str place_of(Walker *w, const LoopStm *load) {
    return place_at(w, load, load->args[load->arg_count - 1]);
}

static bool fetch_further_down(Walker *w, const LoopBody *vector) {
    Fetch f = {.w = w};
    if (!find_rows(&f, vector)) return false;
    keep_last_planes(&f);
    Str row = walk_value(w, last_args(f.store)[2]);
    ScalarType elem = w->kernel->values.data[f.rows[0]->args[0]].type.elem;
    walk_line(w, "if (%.*s <= %u) {", STR_ARG(row), SHORT / scalar_info[elem].bytes);
    w->indent++;
    for (uint32_t i = 0; i < f.count; i++)
        walk_line(w, "__builtin_prefetch(&%.*s + %u * %.*s);",
                  STR_ARG(place_of(w, f.rows[i])), 2 * f.stores, STR_ARG(row));
    w->indent--;
    walk_line(w, "}");
    return true;
}

// ---- rows that are read beside results ----------------------------------------------

static bool stores_past_caches(const Walker *w, const LoopBody *vector) {
    bool does = false;
    for (uint32_t i = 0; i < vector->stms.len; i++) {
        const LoopStm *stm = vector->stms.data[i];
        does = does || (walk_stores_side_by_side(w, stm) &&
                        walk_is_streamed(w, stm->args[stm->op == LOOP_STOREIF],
                                         w->least_streamed));
    }
    return does;
}

// Whether it makes rows in private memory, beside results that are stored past the
// caches.
static bool fills_private(const Walker *w, const LoopBody *vector) {
    bool does = false;
    for (uint32_t i = 0; i < vector->stms.len; i++) {
        const LoopStm *stm = vector->stms.data[i];
        if (stm->op != LOOP_STORE) continue;
        const LoopStm *made = w->made[stm->args[0]];
        if (made == NULL || made->op != LOOP_ALLOC) return false;
        does = true;
    }
    return does && w->streams.len > 0;
}

// The load, or, of one that loads some lanes, the same of all; NULL: it is none.
static const LoopStm *plain_load(const Fetch *f, const LoopStm *stm) {
    if (stm->op == LOOP_LOAD) return stm;
    if (stm->op != LOOP_LOADIF) return NULL;
    LoopStm *plain = arena_copy(f->w->arena, stm, sizeof *stm);
    plain->op = LOOP_LOAD;
    plain->args++;
    plain->arg_count--;
    return plain;
}

// One of each plane: the others have been fetched as that row.
static void note_row(Fetch *f, const LoopStm *stm) {
    const LoopValue *values = f->w->kernel->values.data;
    const LoopValue *stride = &values[stm->args[stm->arg_count - 2]];
    bool is_along = stm->arg_count > 2 && stride->is_const && stride->bits == 1;
    for (uint32_t i = 1; i < stm->arg_count; i++)
        is_along = is_along && values[stm->args[i]].type.lanes == 0;
    if (!is_along || f->w->made[stm->args[0]] != NULL || f->count == MOST_ROWS) return;
    for (uint32_t i = 0; i < f->count; i++)
        if (is_same_plane(f->rows[i], stm)) return;
    f->rows[f->count++] = stm;
}

// All lines of it. What is read later is to be in the second cache until then.
static void fetch_row(Walker *w, const LoopStm *load) {
    enum { PAGE = 4096, LINE = 64 };
    LoopType type = w->kernel->values.data[load->outs[0]].type;
    uint64_t later = walk_later(w, load), from = later != 0 ? later : PAGE;
    for (uint32_t at = 0; at == 0 || at < type.lanes * scalar_info[type.elem].bytes;
         at += LINE)
        walk_line(w, "__builtin_prefetch((const char *)&%.*s + %llu%s);",
                  STR_ARG(place_of(w, load)), (unsigned long long)(from + at),
                  later != 0 ? ", 0, 2" : "");
}

static void fetch_further_on(Walker *w, const LoopBody *vector, uint32_t most) {
    Fetch f = {.w = w};
    for (uint32_t i = 0; i < vector->stms.len; i++)
        if (vector->stms.data[i]->op == LOOP_LOAD) note_row(&f, vector->stms.data[i]);
    if (f.count > most) return;
    keep_last_planes(&f);
    for (uint32_t i = 0; i < f.count; i++) fetch_row(w, f.rows[i]);
}

// The last row of each plane, which is the one whose next was not read yet.
static void note_last_row(Fetch *f, const LoopStm *stm) {
    uint32_t count = f->count;
    if (stm->arg_count < 6 || f->w->kernel->values.data[stm->outs[0]].type.lanes == 0)
        return;
    note_row(f, stm);
    for (uint32_t i = 0; i < count; i++)
        if (is_same_plane(f->rows[i], stm) &&
            is_before(f->w, last_args(f->rows[i])[3], last_args(stm)[3]))
            f->rows[i] = stm;
}

// What the index is so much more or less than; itself if of nothing.
static LoopRef origin_of(const Walker *w, LoopRef index) {
    Origins origins = {0};
    find_origins(w, index, 0, 0, &origins);
    return origins.count > 0 ? origins.data[origins.count - 1].ref : index;
}

// Where in its row the turn is, as what it makes says if some of the rows do, too; 0:
// it cannot be told.
static LoopRef find_column(const Fetch *f, const LoopBody *vector) {
    for (uint32_t i = 0; i < vector->stms.len; i++) {
        const LoopStm *stm = vector->stms.data[i];
        if (stm->op != LOOP_STORE) continue;
        LoopRef column = origin_of(f->w, stm->args[stm->arg_count - 1]);
        for (uint32_t k = 0; k < f->count; k++)
            if (walk_is_same(f->w, column, origin_of(f->w, last_args(f->rows[k])[5])))
                return column;
        return 0;
    }
    return 0;
}

WalkRows *walk_next_rows(const Walker *w, const LoopStm *loop) {
    enum { LINE = 64 };
    const LoopBody *vector = loop->bodies[0];
    Fetch f = {.w = w};
    if (machine_vector_bytes() != LINE || loop->order == ORDER_PARALLEL ||
        !fills_private(w, vector))
        return NULL;
    for (uint32_t i = 0; i < vector->stms.len; i++) {
        const LoopStm *load = plain_load(&f, vector->stms.data[i]);
        if (load != NULL) note_last_row(&f, load);
    }
    LoopRef column = find_column(&f, vector);
    if (f.count <= FEW_ROWS || column == 0) return NULL;
    WalkRows rows = {arena_copy(w->arena, f.rows, sizeof f.rows), f.count, column};
    return arena_copy(w->arena, &rows, sizeof rows);
}

void walk_fetch_next_row(Walker *w, const LoopStm *stm) {
    for (uint32_t i = 0; w->next_rows != NULL && i < w->next_rows->count; i++) {
        const LoopStm *load = w->next_rows->loads[i];
        if (load->outs != stm->outs) continue;
        ScalarType elem = w->kernel->values.data[load->args[0]].type.elem;
        Str row = walk_value(w, last_args(load)[2]);
        Str place = place_at(w, load, w->next_rows->column);
        for (uint32_t part = 0; part < walk_parts(w, load->outs[0]); part++)
            walk_line(w, "if (%.*s <= %u) __builtin_prefetch(&%.*s + %.*s + %u, 0, 2);",
                      STR_ARG(row), SHORT / scalar_info[elem].bytes, STR_ARG(place),
                      STR_ARG(row), part * w->part.count);
    }
}

void walk_fetch_rows(Walker *w, const LoopStm *loop) {
    const LoopBody *vector = loop->bodies[0];
    bool is_fetched = fetch_further_down(w, vector);
    if (is_fetched || loop->order == ORDER_PARALLEL) return;
    if (stores_past_caches(w, vector)) fetch_further_on(w, vector, MOST_ROWS);
    else if (fills_private(w, vector)) fetch_further_on(w, vector, FEW_ROWS);
}
