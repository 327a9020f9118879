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

// For the rows of the log, which are of so many parts. Lies in the arena.
ApiShares *api_shares_new(Arena *arena, const FissionLog *log, uint32_t parts);
// A part took so long, on its own device. Once all of a row are known they are weighed
// against each other, and the row's bounds move.
void api_shares_note(ApiShares *shares, const FissionPiece *piece, double seconds);

#endif
