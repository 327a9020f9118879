// SPDX-License-Identifier: Apache-2.0
//
// Shares in proportion to what each device got done in its time (shares.h). Work need
// not be even, so what a device would do with more of it is a guess: the first step
// goes all the way, later ones half of it.
#include "api/shares.h"

#include "fission/fission.h"

typedef struct Row {
    double
        *cost; // by operator and part: seconds for the whole at this rate; 0: unknown
    uint32_t known; // so many are not
    bool has_learned;
} Row;

struct ApiShares {
    const FissionLog *log;
    uint32_t parts;
    Row *rows;
};

ApiShares *api_shares_new(Arena *arena, const FissionLog *log, uint32_t parts) {
    ApiShares *shares = arena_new(arena, ApiShares);
    *shares = (ApiShares){log, parts, arena_array(arena, Row, log->rows.len)};
    for (uint32_t i = 0; i < log->rows.len; i++)
        shares->rows[i].cost =
            arena_array(arena, double, log->rows.data[i].operators *parts);
    return shares;
}

// Of one whole.
static double share_of(const ApiShares *shares, uint32_t row, uint32_t part) {
    const int64_t *bounds = shares->log->rows.data[row].bounds;
    int64_t begin = part == 0 ? 0 : bounds[part - 1];
    int64_t end = part + 1 == shares->parts ? FISSION_WHOLE : bounds[part];
    return (double)(end - begin) / FISSION_WHOLE;
}

// Of all operators of the row.
static double cost_of(const ApiShares *shares, uint32_t row, uint32_t part) {
    double cost = 0;
    for (uint32_t op = 0; op < shares->log->rows.data[row].operators; op++)
        cost += shares->rows[row].cost[op * shares->parts + part];
    return cost;
}

// Whether some device waits for another long enough to speak of.
static bool is_uneven(const ApiShares *shares, uint32_t row) {
    static const double little = 5e-5, idle = 0.02;
    double most = 0, sum = 0;
    for (uint32_t p = 0; p < shares->parts; p++) {
        double seconds = share_of(shares, row, p) * cost_of(shares, row, p);
        most = seconds > most ? seconds : most;
        sum += seconds;
    }
    return most > little && sum < (1 - idle) * most * shares->parts;
}

// Nobody's share becomes so small that it tells nothing.
static void learn(ApiShares *shares, uint32_t row) {
    static const double least = 1e-3;
    double step = shares->rows[row].has_learned ? 0.5 : 1;
    double shared[FISSION_MOST_PARTS], rates = 0, all = 0, before = 0;
    for (uint32_t p = 0; p < shares->parts; p++) rates += 1 / cost_of(shares, row, p);
    for (uint32_t p = 0; p < shares->parts; p++) {
        double old = share_of(shares, row, p);
        shared[p] = old + step * (1 / cost_of(shares, row, p) / rates - old);
        if (shared[p] < least) shared[p] = least;
        all += shared[p];
    }
    for (uint32_t p = 0; p + 1 < shares->parts; p++) {
        before += shared[p];
        shares->log->rows.data[row].bounds[p] = (int64_t)(before / all * FISSION_WHOLE);
    }
    shares->rows[row].has_learned = true;
}

void api_shares_note(ApiShares *shares, const FissionPiece *piece, double seconds) {
    Row *row = &shares->rows[piece->row];
    uint32_t cells = shares->log->rows.data[piece->row].operators * shares->parts;
    double share = share_of(shares, piece->row, piece->part);
    if (!(seconds > 0) || !(share > 0)) return;
    double *cost = &row->cost[piece->op * shares->parts + piece->part];
    row->known += *cost == 0;
    *cost = seconds / share;
    if (row->known < cells) return;
    if (is_uneven(shares, piece->row)) learn(shares, piece->row);
    row->known = 0;
    for (uint32_t i = 0; i < cells; i++) row->cost[i] = 0;
}
