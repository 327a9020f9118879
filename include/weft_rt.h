/* SPDX-License-Identifier: Apache-2.0
 *
 * The small library under C code that `weft build` has made of a program: threads,
 * memory and errors. docs/build.md shows a whole program.
 *
 *     WeftRt *rt = weft_rt_open(NULL);
 *     weft_f32_1d ys;
 *     if (heat_step(rt, &(weft_f32_1d){data, {n}}, &ys) != WEFT_RT_OK)
 *         fprintf(stderr, "%s\n", weft_rt_error(rt));
 *     else use(ys.data, ys.shape[0]);
 *     weft_rt_free(rt, ys.data);
 *     weft_rt_close(rt);
 *
 * Arrays are row-major without gaps. Those that a function takes stay yours and are
 * only read; data may be NULL where there are no elements. Those that it gives belong to
 * the WeftRt until you free them, or close it. Outputs are written only on WEFT_RT_OK.
 *
 * One WeftRt serves all code that `weft build` has made. It is for one thread at a time,
 * save weft_rt_cancel; different ones are independent. No call exits or prints.
 */
#ifndef WEFT_RT_H
#define WEFT_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default) /* these alone leave the shared library */
#endif

typedef struct WeftRt WeftRt;

/* How a call ended; of all but WEFT_RT_OK weft_rt_error says more. */
typedef enum WeftRtStatus {
    WEFT_RT_OK,
    WEFT_RT_ERROR,     /* the program stopped with an error */
    WEFT_RT_MEMORY,    /* out of memory, or over the ceiling */
    WEFT_RT_CANCELLED, /* weft_rt_cancel was called */
    WEFT_RT_USAGE      /* the arguments are none: NULL, or a negative size; or the code
                        * was compiled for another CPU */
} WeftRtStatus;

/* Zero in any field means the default. Later versions add fields at the end. */
typedef struct WeftRtOptions {
    size_t struct_size;    /* sizeof(WeftRtOptions); required */
    unsigned threads;      /* default: one for each core */
    size_t memory_ceiling; /* bytes it may hold; default: no ceiling */
} WeftRtOptions;

/* NULL for options means all defaults. NULL when there is no memory, or for options
 * without a struct_size. Threads start with the first loop that is long enough. */
WeftRt *weft_rt_open(const WeftRtOptions *options);
/* Frees it with all results that it still has; NULL is ignored. */
void weft_rt_close(WeftRt *rt);
/* Gives an array back; NULL is ignored. */
void weft_rt_free(WeftRt *rt, const void *data);
/* One line on why the last call failed, "" after success; until the next call. An error
 * of the program reads as weft run has it: "heat.weft:3:7: index 5 is outside [0, 5)".
 * Never NULL. */
const char *weft_rt_error(const WeftRt *rt);
/* Makes the call now running, or else the next one, end soon with WEFT_RT_CANCELLED.
 * Safe from any thread or signal handler. */
void weft_rt_cancel(WeftRt *rt);
/* Such as "0.1.0"; static. */
const char *weft_rt_version(void);

/* ---- for generated code --------------------------------------------------------- */

/* Grows when what follows changes: code and library must be of one number. */
#define WEFT_RT_ABI 1

struct KernelEnv;

/* A check, or a call that it may be within: its place, and its text with %0, %1... for
 * the values, whose types are letters: 'a' and the type's number. */
typedef struct WeftRtCheck {
    const char *text, *types, *place;
    int is_user; /* the place lies in the user's files */
} WeftRtCheck;

typedef struct WeftRtPort {
    const char *name;
    uint8_t bytes, rank; /* of an element; 0 for a scalar */
    uint8_t is_owned;    /* of a parameter: it is overwritten */
    uint8_t same, as;    /* so many dimensions are those of an earlier parameter */
} WeftRtPort;

typedef struct WeftRtEntry {
    const char *name;
    int32_t (*kernel)(struct KernelEnv *env, const uint64_t *in, uint64_t *out);
    const char *(*lacks)(void); /* what this CPU lacks to run it; NULL: nothing */
    const WeftRtCheck *checks;
    const WeftRtPort *params, *results;
    uint32_t param_count, result_count;
} WeftRtEntry;

/* in and out are a kernel's slots; in NULL: an argument is, or the CPU lacks something. */
WeftRtStatus weft_rt_call(WeftRt *rt, const WeftRtEntry *entry, const uint64_t *in,
                          uint64_t *out);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
