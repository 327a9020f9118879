// SPDX-License-Identifier: Apache-2.0
//
// Where a context runs kernels: the devices that it was given, or the host.
#ifndef WEFT_API_PLACES_H
#define WEFT_API_PLACES_H

#include "api/api.h"
#include "exec/exec.h"

struct ApiPlace {
    char address[DEVICE_ADDRESS];
    bool is_shared;   // its memory is the host's
    Device *device;   // with memory of its own; NULL: it is shared
    RtTeam *team;     // of cores; NULL before the first kernel
    unsigned threads; // of its team; 0: one for each core
    double load;      // seconds of work that it has yet to do, about
    double given;     // that it was given, ever
    uint64_t taken;   // tasks that it has taken over from other places
    double speed;     // 0 to 1: less than 1, and it sleeps in proportion to its work
    double owed;      // nanoseconds that it has yet to sleep
    size_t memory;    // bytes that it may have, if it is launched on; 0: all there are
    const struct ApiTask *task; // that it runs
    struct ApiSender *sender;   // of its line; NULL: it is not launched on
    atomic_bool cancel;   // that one
    bool is_lost;     // it failed and gets no more
    bool is_halted;   // it failed, and starts nothing before the host has decided
    uint32_t row;     // in the recording that `events` is
    const RtEvents *events;
};

// Opens the devices that the options name; without any there is one place, the host.
// Behind the last lies one that is all cores, as "cpu". If they are parts of these
// (cpu*K), a call in which nothing is cut can be its alone; if they are cores with
// memory of their own, that of the fastest of them.
// WEFT_STATUS_USAGE if they make no sense or cannot run kernels.
WeftStatus api_places_open(WeftContext *context);
void api_places_close(WeftContext *context);

// Whether there is a place that runs machine code, and one that is launched on.
bool api_has_cores(const WeftContext *context);
bool api_has_launched(const WeftContext *context);
bool api_is_launched(const ApiPlace *place);
// Whether memory is not counted: neither the host's, nor that of a device.
bool api_has_room(const WeftContext *context);

// The first whose device has failed and which is in use still; NULL: there is none.
ApiPlace *api_failed_place(const WeftContext *context);
uint32_t api_lost_places(const WeftContext *context); // how many
// Uses it no more, with a warning; what is on its device alone is lost if that does not
// answer. False, and nothing is done: there is no other.
bool api_leave_place(WeftContext *context, ApiPlace *place);
// What to say of a call that a device ended; in the scratch arena.
Str api_tell_failed(WeftContext *context);

// How much of a whole is for that place, if others share it: 1 to 1000.
uint32_t api_place_weight(const WeftContext *context, const ApiPlace *place);
// The team of a place made of cores; NULL when memory is short.
RtTeam *api_team(WeftContext *context, ApiPlace *place);
// Whether its kernels are on a row of their own; it is not so for "cpu".
bool api_place_has_row(const ApiPlace *place);
// That row, in a recording that keeps events.
uint32_t api_place_row(WeftContext *context, ApiPlace *place);

#endif
