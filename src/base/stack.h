// SPDX-License-Identifier: Apache-2.0
//
// How much stack is left. Every phase that recurses over its input asks before it goes
// deeper and reports "nested too deeply" instead of crashing; so 8 MiB, or whatever
// smaller stack the host's thread has, is enough for any input.
#ifndef WEFT_BASE_STACK_H
#define WEFT_BASE_STACK_H

#include <stdbool.h>

enum { NESTING_LIMIT = 10000 };  // the deepest nesting a source text may have
enum { STACK_MOST = 8 << 20 };   // bytes that are counted on

typedef struct Stack {
    const char *lowest;  // do not recurse with the stack pointer below this
} Stack;

// Measures the calling thread's stack; call at every entry to the library.
void stack_measure(Stack *stack);
// Whether the caller must not recurse further.
bool stack_is_low(const Stack *stack);

#endif
