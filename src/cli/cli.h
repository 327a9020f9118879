// SPDX-License-Identifier: Apache-2.0
//
// What the verbs share: messages, options, input and output. The command may exit and
// keep state; the library it stands on does neither.
#ifndef WEFT_CLI_CLI_H
#define WEFT_CLI_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "weft.h"

enum { EXIT_FINE = 0, EXIT_ERROR = 1, EXIT_USAGE = 2 };

typedef struct Verb {
    const char *name, *summary, *help;
    int (*run)(int argc, char **argv); // argv[0] is the verb
} Verb;

extern const Verb verbs[];
extern const size_t verb_count;

#define VERB(name, summary)                                                            \
    int verb_##name(int argc, char **argv);                                            \
    extern const char help_##name[];
#include "cli/verbs.def"
#undef VERB

const Verb *cli_find_verb(const char *name);
// The known name nearest to what was typed, or NULL when none is near.
const char *cli_suggest(const char *typed, const char *const *known, size_t count);
// Says "weft VERB: message", where help is, and returns EXIT_USAGE.
int cli_usage(const char *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The next option, as getopt_long, or -1. --help prints the verb's help and exits; a
// wrong option is reported and exits.
int cli_option(const char *verb, int argc, char **argv, const char *letters,
               const struct option *names);
// A number of bytes such as 500000, 64M or 2GiB; false if it is none.
bool cli_parse_size(const char *text, size_t *size_out);

// Whether messages are to be in colour: on a terminal, unless NO_COLOR is set.
bool cli_colour(void);
// Prints what the context has to say about its last call to stderr.
void cli_report(WeftContext *context);
// Opens a context; exits with a message when there is no memory even for that.
WeftContext *cli_context(WeftOptions options);

// Memory that cannot run out: exits with a message.
void *cli_alloc(size_t size);
void *cli_resize(void *block, size_t size);
// Reads all of a stream; the bytes are followed by a zero and allocated with cli_alloc.
char *cli_read_all(int file, size_t *len_out);
// A WeftWriter for stdout.
int cli_write(void *data, const char *bytes, size_t length);
// Flushes stdout; returns the status, or EXIT_ERROR with a message if output was lost.
int cli_finish(int status);

#endif
