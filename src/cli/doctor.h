// SPDX-License-Identifier: Apache-2.0
//
// Within weft doctor: what was looked for and what was found.
#ifndef WEFT_CLI_DOCTOR_H
#define WEFT_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

typedef enum Verdict {
    DOCTOR_OK,
    DOCTOR_MISSING, // Weft runs without it
    DOCTOR_WRONG    // Weft does not run, or not well, until it is mended
} Verdict;

typedef struct Finding {
    Verdict verdict;
    const char *name;   // static
    char *found;        // allocated
    const char *use;    // what it is for; NULL: that goes without saying
    const char *remedy; // how to get or mend it; NULL: there is nothing to do
} Finding;

typedef struct Findings {
    Finding *data;
    size_t len;
} Findings;

// Looks over the machine and this installation.
void doctor_examine(Findings *findings);
// Where temporary files go.
const char *doctor_temporary(void);
// Runs programs with known answers, says on stderr what went wrong, and counts.
typedef struct SelfTest {
    size_t passed, failed;
} SelfTest;
SelfTest doctor_selftest(void);

#endif
