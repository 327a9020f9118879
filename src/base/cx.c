// SPDX-License-Identifier: Apache-2.0
//
// Setting up the compilation context.
#include "base/cx.h"

void cx_init(Cx *cx, Arena *arena) {
    *cx = (Cx){.mem = arena->mem, .arena = arena};
    symbols_init(&cx->syms, arena);
    sources_init(&cx->sources, arena);
    diags_init(&cx->diags, arena, &cx->sources);
    stack_measure(&cx->stack);
}
