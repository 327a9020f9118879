// SPDX-License-Identifier: Apache-2.0
//
// What the files of the harness share. A row is one workload, size, type and number of
// threads; each has the times of its rounds for the roofs, each compiler, and Weft.
#ifndef SUITE_H
#define SUITE_H

#include <stdbool.h>
#include <stdio.h>

#include "bench.h"

enum { MOST_ROUNDS = 99, MOST_ROWS = 256 };

typedef enum Way { WAY_GCC, WAY_CLANG, WAY_WEFT, WAYS } Way;

typedef struct Times {
    int count;
    double seconds[MOST_ROUNDS]; // sorted once all are there
} Times;

// The most bytes that a process held which made the inputs, and did no more; which also
// ran one way; and the same of the least inputs, with Weft: what code and texts take.
typedef struct Held {
    size_t inputs, ways[WAYS], least_inputs, least_weft;
} Held;

typedef struct Row {
    const Bench *bench;
    const BenchSize *size;
    char size_text[48];
    int threads;
    BenchCost cost;
    Times ways[WAYS];
    double roofs[ROOFS]; // the median of the rounds: operations or bytes in a second
    double difference;   // between Weft's answer and C's
    Held held;           // in place of times
    char failure[200];   // "" if the row is good
} Row;

typedef struct Options {
    BenchLevel level;
    int rounds;
    int threads[8], thread_count;
    bool is_alone;      // Weft without references
    bool is_memory;     // its most in place of times
    const char *wanted; // names with commas between; NULL: all
    const char *objects, *programs, *output;
} Options;

void *suite_alloc(size_t size); // zeroed
_Noreturn void suite_die(const char *format, ...);
double suite_clock(void);

BenchTeam *team_new(int threads);
void team_free(BenchTeam *team);

void data_free(BenchData *data);
// From here on, memory is not touched before it is used, and is never freed.
void data_lazy(void);
// The difference of two arrays of one shape in terms of the greatest magnitude of
// `expected`, of all elements but the share `odd` that differ most.
double data_difference(const BenchArray *expected, const void *found, double odd);
size_t data_bytes(const BenchArray *array);

// Makes ready what roofs_measure needs, which is kept until the end; then measures each
// roof once, with all threads of the team, which takes some 0.1 s.
void roofs_open(const char *path, BenchLevel level);
void roofs_measure(BenchTeam *team, double rates[ROOFS]);

// The most bytes that a process holds which calls run(env) and does no more; 0 if that
// says no.
size_t memory_held(bool (*run)(void *env), void *env);

double times_median(const Times *times);
double times_spread(const Times *times); // between the quarters, of the median
void times_add(Times *times, double seconds);
void times_sort(Times *times);

// The faster of the compilers.
Way row_best(const Row *row);
double row_ratio(const Row *row); // of the time of C to that of Weft
double row_least(const Row *row); // the seconds that the roofs allow
const char *roof_name(BenchRoof roof);

void report_markdown(FILE *out, const Row *rows, size_t count, const Options *options);
void report_json(FILE *out, const Row *rows, size_t count, const Options *options);
void report_memory(FILE *out, const Row *rows, size_t count);
void report_svg(FILE *out, const Row *rows, size_t count);
// How many references of full size are slower than known.def says good ones are, and
// how many numbers there belong to nothing.
size_t report_known(FILE *out, const Row *rows, size_t count, const Options *options);

#endif
