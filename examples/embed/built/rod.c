/* SPDX-License-Identifier: Apache-2.0
 *
 * Heat in a rod, by what `weft build` makes of ../rod.weft. Usage: rod CELLS STEPS
 *
 * Needs libweftrt and nothing else of Weft. On Ctrl-C the call ends with
 * WEFT_RT_CANCELLED. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "heat.h"

static WeftRt *rt; /* what Ctrl-C cancels */

static void interrupt(int number) {
    (void)number;
    weft_rt_cancel(rt);
}

static WeftRtStatus simulate(const weft_f64_1d *rod, int64_t steps) {
    weft_f64_1d after;
    double highest;
    int64_t place;
    WeftRtStatus status = heat_diffuse(rt, steps, rod, &after);
    if (status != WEFT_RT_OK) return status;
    status = heat_warmest(rt, &after, &highest, &place);
    if (status == WEFT_RT_OK)
        printf("warmest: %.17g at cell %lld\n", highest, (long long)place);
    weft_rt_free(rt, after.data);
    return status;
}

int main(int argc, char **argv) {
    long long cells = argc == 3 ? atoll(argv[1]) : 0;
    if (cells < 1) {
        fputs("usage: rod CELLS STEPS\n", stderr);
        return 2;
    }
    double *data = (double *)calloc((size_t)cells, sizeof *data);
    rt = weft_rt_open(NULL);
    if (data == NULL || rt == NULL) {
        fputs("rod: out of memory\n", stderr);
        return 1;
    }
    weft_f64_1d rod = {data, {cells}};
    data[cells / 2] = 1000; /* hot in the middle */
    signal(SIGINT, interrupt);
    WeftRtStatus status = simulate(&rod, atoll(argv[2]));
    signal(SIGINT, SIG_DFL);
    if (status != WEFT_RT_OK) fprintf(stderr, "rod: %s\n", weft_rt_error(rt));
    weft_rt_close(rt);
    free(data);
    return status != WEFT_RT_OK;
}
