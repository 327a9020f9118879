// SPDX-License-Identifier: Apache-2.0
//
// Within the dev room: a driver's library, opened at run time, so that one binary runs
// with it and without.
#ifndef WEFT_DEV_LIBRARY_H
#define WEFT_DEV_LIBRARY_H

#include "dev/kinds.h"

typedef struct LibraryCall {
    const char *name;
    size_t offset; // of the pointer to it, in a struct
} LibraryCall;

typedef enum LibraryEnd { LIBRARY_OPEN, LIBRARY_BROKEN, LIBRARY_NONE } LibraryEnd;

// Opens the file that the variable of the environment names, else the first of those
// that is there (up to a NULL), and fills in the pointers at table. It stays open,
// since some drivers do not survive being closed. BROKEN: why_out says what is wrong;
// NONE: no such file.
LibraryEnd library_open(const char *variable, const char *const *files,
                        const LibraryCall *calls, size_t count, void *table,
                        char why_out[DEVICE_WHY]);

#endif
