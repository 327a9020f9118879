// SPDX-License-Identifier: Apache-2.0
//
// Time, for saying how long something takes.
#ifndef WEFT_BASE_CLOCK_H
#define WEFT_BASE_CLOCK_H

// Seconds on a clock that only goes forward, from a start that means nothing.
double clock_seconds(void);

#endif
