// SPDX-License-Identifier: Apache-2.0
//
// How weft repl gets its lines: edited, with history and completion, on a terminal
// where libedit is there (and was, with its headers, to build with); plainly otherwise.
#ifndef WEFT_CLI_REPL_H
#define WEFT_CLI_REPL_H

#include "cli/cli.h"

typedef enum LineEnd {
    LINE_READ,
    LINE_OVER,       // the end of the input
    LINE_INTERRUPTED // Ctrl-C
} LineEnd;

// Names that begin with `prefix`, one on a line; the text is to be freed.
typedef char *(*LineNames)(void *data, const char *prefix);

// is_terminal: shows prompts, keeps a history. commands: what ":" may begin, ended by
// NULL.
void line_start(bool is_terminal, const char *const *commands, LineNames names,
                void *data);
// Reads a line without its end, which may hold any bytes; valid until the next call.
LineEnd line_read(const char *prompt, const char **text_out, size_t *length_out);
// Remembers a line for the arrow keys.
void line_remember(const char *text);
void line_finish(void);

#endif
