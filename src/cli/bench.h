// SPDX-License-Identifier: Apache-2.0
//
// Within weft bench: samples of times, and the other command.
#ifndef WEFT_CLI_BENCH_H
#define WEFT_CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "weft.h"

// ---- bench_stat.c -------------------------------------------------------------------

// Seconds that runs took, in the order of the runs. `data` is freed by the owner.
typedef struct Sample {
    double *data;
    size_t len;
} Sample;

typedef struct Summary {
    double median, low, high; // the true median lies from low to high: 95 %
    double least, greatest, quartiles[2];
} Summary;

// How much longer the second sample's runs take than the first's.
typedef struct Ratio {
    double ratio, low, high; // of the medians; 95 %
} Ratio;

void bench_add(Sample *sample, double seconds);
// Of at least one run.
Summary bench_summarise(const Sample *sample);
// Of two samples taken in pairs, one run of each in turn: what happens to the machine
// meanwhile happens to both.
Ratio bench_compare(const Sample *first, const Sample *second);

// ---- bench_against.c ----------------------------------------------------------------

typedef struct Other {
    const char *command;  // for sh -c
    FILE *input, *errors; // its standard input; what it printed to standard error
} Other;

// Prepares a command that gets the values on its standard input. False: there is no
// room for them; errno says why.
bool bench_other_open(Other *other, const char *command, WeftFormat format,
                      WeftValue *const *values, size_t count);
// Runs it once. False: it failed, which has been told.
bool bench_other_run(Other *other, double *seconds_out);
void bench_other_close(Other *other);

#endif
