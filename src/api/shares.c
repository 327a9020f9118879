// SPDX-License-Identifier: Apache-2.0
//
// Shares from what each part took (shares.h). Work need not be even, and speeds need
// not be what they were thought to be; but both are taken to be so, the former within
// each part, for where bounds are to move. That goes to the right side, and not too
// far.
#include "api/shares.h"

#include <math.h>

#include "fission/fission.h"

typedef struct Row {
    double *cost;   // by operator and part: seconds of the whole at this rate; or 0
    double *speeds; // by part, of all together: as the first shares say
    double *steps;  // by bound: how far it last went, of the way it was to go
    uint32_t known; // so many costs
} Row;

struct ApiShares {
    const FissionLog *log;
    uint32_t parts;
    Row *rows;
};

// Of one whole.
static double share_of(const ApiShares *shares, uint32_t row, uint32_t part) {
    const int64_t *bounds = shares->log->rows.data[row].bounds;
    int64_t begin = part == 0 ? 0 : bounds[part - 1];
    int64_t end = part + 1 == shares->parts ? FISSION_WHOLE : bounds[part];
    return (double)(end - begin) / FISSION_WHOLE;
}

ApiShares *api_shares_new(Arena *arena, const FissionLog *log, uint32_t parts) {
    ApiShares *shares = arena_new(arena, ApiShares);
    *shares = (ApiShares){log, parts, arena_array(arena, Row, log->rows.len)};
    for (uint32_t i = 0; i < log->rows.len; i++) {
        Row *row = &shares->rows[i];
        row->cost = arena_array(arena, double, log->rows.data[i].operators *parts);
        row->speeds = arena_array(arena, double, parts);
        row->steps = arena_array(arena, double, parts);
        for (uint32_t p = 0; p < parts; p++) row->speeds[p] = share_of(shares, i, p);
    }
    return shares;
}

// Of all operators of the row.
static double cost_of(const ApiShares *shares, uint32_t row, uint32_t part) {
    double cost = 0;
    for (uint32_t op = 0; op < shares->log->rows.data[row].operators; op++)
        cost += shares->rows[row].cost[op * shares->parts + part];
    return cost;
}

// Which part of the time the devices wait for the slowest, all together.
static double idle_of(const ApiShares *shares, uint32_t row) {
    static const double little = 5e-5; // seconds, which tell nothing
    double most = 0, sum = 0;
    for (uint32_t p = 0; p < shares->parts; p++) {
        double seconds = share_of(shares, row, p) * cost_of(shares, row, p);
        most = seconds > most ? seconds : most;
        sum += seconds;
    }
    return most > little ? 1 - sum / (most * shares->parts) : 0;
}

// Before which share of the whole so much of the work lies, if it is even in each part.
static double find_bound(const ApiShares *shares, uint32_t row, double work) {
    double before = 0;
    for (uint32_t p = 0; p < shares->parts; p++) {
        double share = share_of(shares, row, p);
        double density = cost_of(shares, row, p) * shares->rows[row].speeds[p];
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

// Moves the bounds to where they should have been, but leaves everybody something.
static void learn(ApiShares *shares, uint32_t row) {
    static const double least = 1e-3;
    const double *speeds = shares->rows[row].speeds;
    int64_t *bounds = shares->log->rows.data[row].bounds;
    uint32_t last = shares->parts - 1;
    double found[FISSION_MOST_PARTS], work = 0, speed = 0, before = 0;
    for (uint32_t p = 0; p <= last; p++)
        work += share_of(shares, row, p) * cost_of(shares, row, p) * speeds[p];
    for (uint32_t p = 0; p < last; p++) {
        speed += speeds[p];
        found[p] = find_bound(shares, row, work * speed);
    }
    for (uint32_t p = 0; p < last; p++) {
        double bound = (double)bounds[p] / FISSION_WHOLE;
        bound += step_by(&shares->rows[row].steps[p], found[p] - bound);
        before = fmin(fmax(bound, before + least), 1 - least * (last - p));
        bounds[p] = (int64_t)(before * FISSION_WHOLE);
    }
}

void api_shares_note(ApiShares *shares, const FissionPiece *piece, double seconds) {
    Row *row = &shares->rows[piece->row];
    uint32_t cells = shares->log->rows.data[piece->row].operators * shares->parts;
    double share = share_of(shares, piece->row, piece->part);
    if (!piece->is_timed || !(seconds > 0) || !(share > 0)) return;
    double *cost = &row->cost[piece->op * shares->parts + piece->part];
    row->known += *cost == 0;
    *cost = seconds / share;
    if (row->known < cells) return;
    if (idle_of(shares, piece->row) > 0.02) learn(shares, piece->row);
    row->known = 0;
    for (uint32_t i = 0; i < cells; i++) row->cost[i] = 0;
}
