// SPDX-License-Identifier: Apache-2.0
//
// Rows of shares, and the pieces that are cut by them (strategy.h).
#include "fission/fission.h"
#include "fission/strategy.h"

void fission_cut_stream(const FissionLog *log, uint32_t parts, uint32_t count,
                        bool what_is_small) {
    for (uint32_t i = 0; i < log->rows.len; i++) {
        const FissionRow *row = &log->rows.data[i];
        *row->at.from = parts == 1 ? INT64_MAX : what_is_small ? 1 : row->at.least;
        for (uint32_t p = 0; p + 1 < count; p++)
            row->bounds[p] = FISSION_WHOLE / parts * (p < parts ? p + 1 : parts);
    }
}

uint32_t fission_parts(const FissionRow *row) {
    return row->devices * row->chunks;
}

// How much of FISSION_WHOLE is before a part, or before the end.
static int64_t bound_at(const FissionRow *row, const int64_t *bounds, uint32_t part) {
    if (part == 0) return 0;
    return part == fission_parts(row) ? FISSION_WHOLE : bounds[part - 1];
}

double fission_share(const FissionRow *row, const int64_t *bounds, uint32_t device) {
    uint32_t first = device * row->chunks;
    int64_t begin = bound_at(row, bounds, first);
    return (double)(bound_at(row, bounds, first + row->chunks) - begin) / FISSION_WHOLE;
}

void fission_cut_chunks(FissionRow *row) {
    for (uint32_t d = 0; d < row->devices; d++) {
        uint32_t first = d * row->chunks;
        int64_t begin = bound_at(row, row->bounds, first);
        int64_t length = bound_at(row, row->bounds, first + row->chunks) - begin;
        for (uint32_t c = 1; c < row->chunks; c++)
            row->bounds[first + c - 1] = begin + length * c / row->chunks;
    }
}

FissionSwitch fission_new_switch(Arena *arena, const CoreFun *entry, int64_t least) {
    return (FissionSwitch){.entry = entry,
                           .from = arena_copy(arena, &least, sizeof least),
                           .least = least};
}

uint32_t fission_switches(const FissionLog *log) {
    return log->entries.len + log->rows.len;
}

FissionSwitch *fission_switch(const FissionLog *log, uint32_t number) {
    uint32_t entries = log->entries.len;
    return number < entries ? &log->entries.data[number]
                            : &log->rows.data[number - entries].at;
}

bool fission_is_of_entry(const FissionLog *log, const FissionSwitch *at) {
    for (uint32_t i = 0; i < log->entries.len; i++)
        if (at == &log->entries.data[i]) return true;
    return false;
}

void fission_read_switches(const FissionLog *log, int64_t *from_out) {
    for (uint32_t i = 0; i < fission_switches(log); i++)
        from_out[i] = *fission_switch(log, i)->from;
}

bool fission_switches_say(const FissionLog *log, const CoreFun *entry,
                          const int64_t *from) {
    for (uint32_t i = 0; i < fission_switches(log); i++) {
        const FissionSwitch *at = fission_switch(log, i);
        if (at->entry == entry && *at->from != from[i]) return false;
    }
    return true;
}

void fission_write_switches(const FissionLog *log, const CoreFun *entry,
                            const int64_t *from) {
    for (uint32_t i = 0; i < fission_switches(log); i++) {
        const FissionSwitch *at = fission_switch(log, i);
        if (at->entry == entry) *at->from = from[i];
    }
}

uint32_t fission_only_arm(const FissionLog *log, CoreRef holds) {
    for (uint32_t i = 0; i < fission_switches(log); i++) {
        const FissionSwitch *at = fission_switch(log, i);
        if (at->holds != holds) continue;
        if (*at->from == INT64_MAX) return 1;
        return fission_is_of_entry(log, at) ? 0 : FISSION_EITHER;
    }
    return FISSION_EITHER;
}

uint32_t fission_new_row(FissionLog *log, Arena *arena, FissionRow row,
                         const uint32_t *weights) {
    int64_t before = 0, all = 0;
    size_t parts = fission_parts(&row);
    row.bounds = arena_array(arena, int64_t, parts);
    for (uint32_t i = 0; i < row.devices; i++) all += weights[i];
    for (uint32_t i = 0; i + 1 < row.devices; i++) {
        before += weights[i];
        row.bounds[(i + 1) * row.chunks - 1] = before * FISSION_WHOLE / all;
    }
    fission_cut_chunks(&row);
    row.first = arena_copy(arena, row.bounds, parts * sizeof *row.bounds);
    vec_push(arena, &log->rows, row);
    return log->rows.len - 1;
}

CoreLoc fission_new_piece(FissionLog *log, CoreProgram *p, FissionPiece piece) {
    CorePlace place = p->places.data[piece.whole];
    if (log->pieces.len == 0) map_init(&log->by_place, p->arena);
    vec_push(p->arena, &p->places, place);
    CoreLoc loc = p->places.len - 1;
    map_set(&log->by_place, loc, log->pieces.len);
    vec_push(p->arena, &log->pieces, piece);
    return loc;
}

const FissionPiece *fission_find_piece(const FissionLog *log, CoreLoc loc) {
    uint64_t found;
    if (log == NULL || log->pieces.len == 0 || !map_get(&log->by_place, loc, &found))
        return NULL;
    return &log->pieces.data[found];
}

CoreLoc fission_whole(const FissionLog *log, CoreLoc loc) {
    const FissionPiece *piece = fission_find_piece(log, loc);
    return piece != NULL ? piece->whole : loc;
}
