// SPDX-License-Identifier: Apache-2.0
//
// What the verbs share: messages, options, input and output. The command may exit and
// keep state; the library it stands on does neither.
#ifndef WEFT_CLI_CLI_H
#define WEFT_CLI_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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
// The options by which run and test choose what runs programs.
#define CLI_ENGINE_OPTIONS                                                             \
    {"engine", required_argument, NULL, 'e'},                                          \
        {"threads", required_argument, NULL, 'T'},                                     \
        {"device", required_argument, NULL, 'd'},                                      \
        {"pin", no_argument, NULL, 'P'}
#define CLI_ENGINE_LETTERS "e:T:d:P"
#define CLI_ENGINE_HELP                                                                \
    "  -e, --engine NAME   what runs it: auto (the default), native or interp\n"       \
    "  -T, --threads N     threads of the native engine (default: one per core)\n"     \
    "  -d, --device LIST   where: cpu, cpu*K, opencl:N, cuda:N, all (weft devices)\n"   \
    "  -P, --pin           keep each thread on a core of its own\n"
// Takes such an option, but no other, into the context's options; EXIT_USAGE if it
// makes no sense.
int cli_engine_option(const char *verb, int option, WeftOptions *options);
// The words of a command line that are no options: a program, which of its entries, and
// arguments (words.c).
typedef struct CliWords {
    const char *verb, *file;
    char **rest;  // what follows the file
    int count;
    int may_name; // how many of them stand before a "--"
} CliWords;
enum { CLI_HIDDEN = '\1' }; // begins a word that is no option but begins with "-"
// A copy of the words, all in one block to be freed, in which negative values are hidden
// from getopt, so that options may follow them.
char **cli_hide_negatives(int argc, char **argv);
// What is left of such words after the options, which end at `end`: at a "--" or argc.
int cli_take_words(const char *verb, int argc, char **argv, int end, CliWords *words);
// Picks the entry, and takes its name off the words if it was given. If there is none it
// is said, and the status is that to exit with.
int cli_pick_entry(const WeftProgram *program, CliWords *words, size_t *entry_out);
// Reads the arguments of the entry from the words, or if there are none from standard
// input. What goes wrong is left to cli_report, save EXIT_USAGE, which has been told.
int cli_read_arguments(WeftProgram *program, size_t entry, const CliWords *words,
                       WeftValue **values);
// Asks for the devices in a process apart: a driver that ends it is left out of this one,
// with a warning.
void cli_try_drivers(const char *verb);
// The options by which verbs tell where the time went (record.c).
enum { CLI_TIMES = 256, CLI_PROFILE, CLI_TRACE };
#define CLI_RECORD_OPTIONS                                                             \
    {"times", no_argument, NULL, CLI_TIMES},                                           \
        {"profile", no_argument, NULL, CLI_PROFILE},                                   \
        {"trace", required_argument, NULL, CLI_TRACE}
#define CLI_RECORD_HELP                                                                \
    "  --times            say on standard error how long each phase took\n"            \
    "  --profile          say there on which lines of the program the time went\n"     \
    "  --trace FILE       write when what ran where, for ui.perfetto.dev\n"
typedef struct CliRecord {
    bool times, profile;
    const char *trace; // NULL: none
} CliRecord;
// Takes such an option; false if it is another.
bool cli_record_option(int option, CliRecord *record);
// Whether the trace can be written; if not it is said, and the status EXIT_ERROR.
int cli_record_check(const char *verb, const CliRecord *record);
// From now on records, if there is something to.
void cli_record_start(WeftContext *context, const CliRecord *record);
// Tells what was recorded, and writes the trace.
int cli_record_report(const char *verb, WeftContext *context, const CliRecord *record);
// A number of bytes such as 500000, 64M or 2GiB; false if it is none.
bool cli_parse_size(const char *text, size_t *size_out);

// Whether messages are to be in colour: on a terminal, unless NO_COLOR is set.
bool cli_colour(void);
// Prints what the context has to say about its last call to stderr.
void cli_report(WeftContext *context);

// While work goes on (watch.c). An interrupt is Ctrl-C, SIGTERM or SIGHUP: it ends the
// process with a message, or, while a context is open, cancels what that does. A second
// one half a second later kills.
void cli_catch_interrupts(void);
bool cli_interrupted(void);
// Says that the work was interrupted, if it was and nobody has said so yet.
void cli_tell_interrupt(void);
// Opens the one context at a time, which interrupts cancel; exits with a message when
// there is no memory even for that. To be freed by cli_close.
WeftContext *cli_context(WeftOptions options);
void cli_close(WeftContext *context);
// Shows a line on the terminal in place of the last one, if there is a terminal and the
// work has gone on for two seconds. What a context does is shown by itself; it must be
// cleared before anything else is printed.
void cli_progress(double seconds, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cli_clear_progress(void);
void cli_no_progress(void); // from now on
// Seconds on a clock that only goes forward.
double cli_clock(void);

// Whether a file can be written there, as far as that can be told beforehand; if not,
// errno says why.
bool cli_can_write(const char *path);
// Makes the file hold the text: written aside and renamed, so that it is replaced whole
// or not at all. False: errno says why.
bool cli_replace_file(const char *path, const char *text, size_t length);

// Exits with a message.
_Noreturn void cli_no_memory(void);
// Memory that cannot run out: exits with a message.
void *cli_alloc(size_t size);
void *cli_resize(void *block, size_t size);
// Reads all of a stream; the bytes are followed by a zero and allocated with cli_alloc.
// NULL: errno says why. An interrupt ends the process, here as in cli_write.
char *cli_read_all(int file, size_t *len_out);
// A WeftWriter for stdout.
int cli_write(void *data, const char *bytes, size_t length);
// In at most 9 columns, with a unit: "12.3 ms", "1.18 MB".
enum { CLI_NUMBER = 32 };
const char *cli_time_text(char text[CLI_NUMBER], double seconds);
const char *cli_bytes_text(char text[CLI_NUMBER], double bytes);
// Prints a text as a JSON string, with bytes that are no UTF-8 replaced.
void cli_json_text(FILE *out, const char *text);
// Flushes stdout; returns the status, or EXIT_ERROR with a message if output was lost.
int cli_finish(int status);

#endif
