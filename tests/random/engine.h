// SPDX-License-Identifier: Apache-2.0
//
// A random program through the public API, on one engine or another.
#ifndef WEFT_TESTS_RANDOM_ENGINE_H
#define WEFT_TESTS_RANDOM_ENGINE_H

#include "gen.h"
#include "weft.h"

// Its result, or its error with the place, as text.
Str engine_run(Arena *arena, const GProgram *program, WeftOptions options);

#endif
