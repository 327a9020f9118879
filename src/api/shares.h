// SPDX-License-Identifier: Apache-2.0
//
// Shares of devices in what is cut between them, learned from how long their parts
// took: the next call, or the next turn of a loop, is cut by them (fission/strategy.h).
// Answers do not depend on shares.
#ifndef WEFT_API_SHARES_H
#define WEFT_API_SHARES_H

#include "base/mem.h"
#include "fission/strategy.h"

typedef struct ApiShares ApiShares;

// How a part was cut when its call was made; by the time it has run, others may be cut
// otherwise.
typedef struct ApiCut {
    double share;     // of the whole
    uint32_t version; // of the row's bounds
} ApiCut;

// For the rows of the log. Lies in the arena.
ApiShares *api_shares_new(Arena *arena, const FissionLog *log);
// As a part that is made now is cut.
ApiCut api_shares_cut(const ApiShares *shares, const FissionPiece *piece);
// A part took so long on that device, its own or one that took it over. Once all of a
// row are known, cut as they are now, they are weighed against each other: then the
// row's bounds are to move.
void api_shares_note(ApiShares *shares, const FissionPiece *piece, ApiCut cut,
                     uint32_t device, double seconds);
// Moves the bounds that are to move. Not while parts of one row are being made, which
// all are to be cut alike.
void api_shares_move(ApiShares *shares);
// How long the part would take there, as it did last time, or the nearest of its
// operator that has run; 0: none has.
double api_shares_predict(const ApiShares *shares, const FissionPiece *piece,
                          ApiCut cut, uint32_t device);
// Whether the device has run a part of that operator, so that its speed is known.
bool api_shares_has_run(const ApiShares *shares, const FissionPiece *piece,
                        uint32_t device);

#endif
