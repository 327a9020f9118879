// SPDX-License-Identifier: Apache-2.0
//
// Shares from what each part took (shares.h). Work need not be even, and speeds need
// not be what they were thought to be; but both are taken to be so, the former within
// each part, for where bounds are to move. That goes to the right side, and not too
// far.
#include "api/shares.h"

#include <math.h>

#include "fission/fission.h"

// What a part of an operator took when it last ran.
typedef struct Run {
    double cost; // seconds of the whole at this rate; 0: nothing is known
    uint32_t device;
} Run;

typedef struct Row {
    FissionRow *row;
    double *cost;   // by operator and part: seconds of the whole at this rate; or 0
    double *taken;  // the same, as though speeds were right, of what another one ran
    Run *runs;      // the same
    double *speeds; // by device, of all together: as the first shares say
    double *paces;  // the same, as those seem to be that took parts from each other
    double *steps;  // by device: how far its end last went, of the way it was to go
    double *ends;   // by device: where it is to go
    bool is_to_move;
    uint32_t version; // of the bounds
    uint32_t known;   // so many costs, or taken
} Row;

struct ApiShares {
    Row *rows;
    uint32_t count;
    bool is_news; // of some row
};

ApiShares *api_shares_new(Arena *arena, const FissionLog *log) {
    ApiShares *shares = arena_new(arena, ApiShares);
    shares->rows = arena_array(arena, Row, log->rows.len);
    shares->count = log->rows.len;
    for (uint32_t i = 0; i < log->rows.len; i++) {
        FissionRow *row = &log->rows.data[i];
        size_t cells = row->operators * fission_parts(row);
        shares->rows[i] = (Row){.row = row,
                                .cost = arena_array(arena, double, cells),
                                .taken = arena_array(arena, double, cells),
                                .runs = arena_array(arena, Run, cells),
                                .paces = arena_array(arena, double, row->devices),
                                .speeds = arena_array(arena, double, row->devices),
                                .steps = arena_array(arena, double, row->devices),
                                .ends = arena_array(arena, double, row->devices)};
        for (uint32_t d = 0; d < row->devices; d++)
            shares->rows[i].speeds[d] = shares->rows[i].paces[d] =
                fission_share(row, row->bounds, d);
    }
    return shares;
}

// Of one whole.
static double share_of(const Row *r, uint32_t part) {
    const int64_t *bounds = r->row->bounds;
    int64_t begin = part == 0 ? 0 : bounds[part - 1];
    int64_t end = part + 1 == fission_parts(r->row) ? FISSION_WHOLE : bounds[part];
    return (double)(end - begin) / FISSION_WHOLE;
}

static uint32_t device_of(const Row *r, uint32_t part) {
    return part / r->row->chunks;
}

// Of all operators of the row.
static double cost_of(const Row *r, uint32_t part) {
    double cost = 0;
    for (uint32_t op = 0; op < r->row->operators; op++)
        cost += r->cost[op * fission_parts(r->row) + part];
    return cost;
}

// What another device took over would have cost like the chunks that stayed, if all are
// alike; else, or without any, as much as the speeds say.
static void fill_in(const Row *r, uint32_t op, uint32_t device) {
    uint32_t chunks = r->row->chunks, stayed = 0;
    size_t first = op * fission_parts(r->row) + device * chunks;
    double sum = 0;
    for (size_t i = first; i < first + chunks; i++) {
        sum += r->cost[i];
        stayed += r->cost[i] > 0;
    }
    for (size_t i = first; i < first + chunks; i++)
        if (r->cost[i] == 0)
            r->cost[i] = stayed > 0 && !r->row->is_uneven ? sum / stayed : r->taken[i];
}

// What the share of the device takes there.
static double seconds_of(const Row *r, uint32_t device) {
    double seconds = 0;
    uint32_t first = device * r->row->chunks;
    for (uint32_t p = first; p < first + r->row->chunks; p++)
        seconds += share_of(r, p) * cost_of(r, p);
    return seconds;
}

// Which part of the time the devices would wait for the slowest, all together.
static double idle_of(const Row *r) {
    static const double little = 5e-5; // seconds, which tell nothing
    double most = 0, sum = 0;
    for (uint32_t d = 0; d < r->row->devices; d++) {
        double seconds = seconds_of(r, d);
        most = seconds > most ? seconds : most;
        sum += seconds;
    }
    return most > little ? 1 - sum / (most * r->row->devices) : 0;
}

// Before which share of the whole so much of the work lies, if it is even in each part.
static double find_bound(const Row *r, double work) {
    double before = 0;
    for (uint32_t p = 0; p < fission_parts(r->row); p++) {
        double share = share_of(r, p);
        double density = cost_of(r, p) * r->speeds[device_of(r, p)];
        if (work <= density * share) return before + work / density;
        work -= density * share;
        before += share;
    }
    return 1;
}

// How far a bound goes that is to go by so much: less if it turns back, else more.
static double step_by(double *step, double way) {
    static const double least = 0.1, first = 0.8;
    bool turns_back = (*step < 0) != (way < 0);
    double size = *step == 0 ? first : fabs(*step) * (turns_back ? 0.5 : 1.25);
    size = fmin(fmax(size, least), 1);
    *step = way < 0 ? -size : size;
    return size * way;
}

// The bounds are to move to where they should have been, but everybody keeps something.
// They move by steps: what has the size of last time finds its memory again.
static void learn(Row *r) {
    static const double least = 1e-3, grain = 1.0 / 240;
    const FissionRow *row = r->row;
    uint32_t last = row->devices - 1;
    double found[FISSION_MOST_PARTS], work = 0, speed = 0, before = 0;
    for (uint32_t d = 0; d <= last; d++) work += seconds_of(r, d) * r->speeds[d];
    for (uint32_t d = 0; d < last; d++) {
        speed += r->speeds[d];
        found[d] = find_bound(r, work * speed);
    }
    for (uint32_t d = 0; d < last; d++) {
        double bound = (double)row->bounds[(d + 1) * row->chunks - 1] / FISSION_WHOLE;
        double now = bound;
        bound += step_by(&r->steps[d], found[d] - bound);
        if (fabs(bound - now) < grain / 2) bound = now;
        else bound = round(bound / grain) * grain;
        before = fmin(fmax(bound, before + least), 1 - least * (last - d));
        r->ends[d] = before;
        r->is_to_move = r->is_to_move || before != now;
    }
}

static void move(Row *r) {
    FissionRow *row = r->row;
    for (uint32_t d = 0; d + 1 < row->devices; d++)
        row->bounds[(d + 1) * row->chunks - 1] = (int64_t)(r->ends[d] * FISSION_WHOLE);
    fission_cut_chunks(row);
    r->is_to_move = false;
    r->version++;
}

static void weigh(Row *r) {
    const FissionRow *row = r->row;
    size_t cells = row->operators * fission_parts(row);
    for (uint32_t op = 0; op < row->operators; op++)
        for (uint32_t d = 0; d < row->devices; d++) fill_in(r, op, d);
    if (idle_of(r) > 0.02) learn(r);
    r->known = 0;
    for (size_t i = 0; i < cells; i++) r->cost[i] = r->taken[i] = 0;
}

// How many operators have run at all: conditions keep others whole.
static uint32_t count_seen(const Row *r) {
    uint32_t parts = fission_parts(r->row), count = 0;
    for (uint32_t op = 0; op < r->row->operators; op++) {
        uint32_t p = 0;
        while (p < parts && r->runs[op * parts + p].cost == 0) p++;
        count += p < parts;
    }
    return count;
}

// Between two turns or calls what is not known by now has not run.
void api_shares_move(ApiShares *shares) {
    for (uint32_t i = 0; i < shares->count && shares->is_news; i++) {
        Row *r = &shares->rows[i];
        uint32_t all = count_seen(r) * fission_parts(r->row);
        if (r->known > 0 && r->known == all) weigh(r);
        if (r->is_to_move) move(r);
    }
    shares->is_news = false;
}

// One that runs the part of another, whose time is known, shows how fast it is.
static void note_run(const Row *r, Run *run, double cost, uint32_t device) {
    double *pace = &r->paces[device];
    if (run->cost > 0 && run->device != device)
        *pace = sqrt(*pace * r->paces[run->device] * run->cost / cost);
    *run = (Run){cost, device};
}

ApiCut api_shares_cut(const ApiShares *shares, const FissionPiece *piece) {
    const Row *r = &shares->rows[piece->row];
    return (ApiCut){.share = share_of(r, piece->part), .version = r->version};
}

void api_shares_note(ApiShares *shares, const FissionPiece *piece, ApiCut cut,
                     uint32_t device, double seconds) {
    Row *r = &shares->rows[piece->row];
    const FissionRow *row = r->row;
    if (!piece->is_timed || !(seconds > 0) || !(cut.share > 0)) return;
    uint32_t parts = fission_parts(row);
    size_t cell = piece->op * parts + piece->part;
    double cost = seconds / cut.share;
    note_run(r, &r->runs[cell], cost, device);
    if (r->is_to_move || cut.version != r->version) return;
    r->known += r->cost[cell] == 0 && r->taken[cell] == 0;
    r->cost[cell] = r->taken[cell] = 0;
    if (device == piece->device) r->cost[cell] = cost;
    else r->taken[cell] = cost * r->paces[device] / r->paces[piece->device];
    if (r->known == row->operators * parts) weigh(r);
    shares->is_news = true;
}

// The run of the part, or of the one nearest to it of which something is known.
static const Run *find_run(const Row *r, uint32_t op, uint32_t part) {
    uint32_t parts = fission_parts(r->row);
    const Run *runs = &r->runs[op * parts];
    for (uint32_t far = 0; far < parts; far++) {
        if (part >= far && runs[part - far].cost > 0) return &runs[part - far];
        if (part + far < parts && runs[part + far].cost > 0) return &runs[part + far];
    }
    return NULL;
}

double api_shares_predict(const ApiShares *shares, const FissionPiece *piece,
                          ApiCut cut, uint32_t device) {
    const Row *r = &shares->rows[piece->row];
    const Run *run = find_run(r, piece->op, piece->part);
    if (run == NULL) return 0;
    double cost = run->cost * r->paces[run->device] / r->paces[device];
    return cut.share * cost;
}

bool api_shares_has_run(const ApiShares *shares, const FissionPiece *piece,
                        uint32_t device) {
    const Row *r = &shares->rows[piece->row];
    uint32_t parts = fission_parts(r->row);
    const Run *runs = &r->runs[piece->op * parts];
    for (uint32_t p = 0; p < parts; p++)
        if (runs[p].cost > 0 && runs[p].device == device) return true;
    return false;
}
