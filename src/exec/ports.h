// SPDX-License-Identifier: Apache-2.0
//
// Within the exec room: how arguments get to a kernel and results out of it, wherever
// it runs. Addresses are those of the device; on the host they are pointers.
#ifndef WEFT_EXEC_PORTS_H
#define WEFT_EXEC_PORTS_H

#include "exec/exec.h"

// Fills kernel->in, bringing arrays to the device; they are pinned until ports_close.
ExecStatus ports_open(const ExecCall *call);
// Memory for array result `number`.
ExecStatus ports_result(const ExecCall *call, uint32_t number, const int64_t *shape,
                        uint64_t *address_out);
// The same on the host for an unknown number of rows up to that; NULL: there is little.
void *ports_room(const ExecCall *call, uint32_t number, const int64_t *shape);
// The results, from kernel->out.
void ports_take(const ExecCall *call);
// Lets go of what the call held.
void ports_close(const ExecCall *call);

ExecStatus exec_status(Status status);
// A fault as generated code reports it. A check of -1: it is not known.
void exec_fault(ExecEnd *end, const LoopStm *const *checks, int32_t check,
                const uint64_t *values, const int32_t *calls, int32_t call_count);

// The code alone, between ports_open and ports_take.
void exec_native(const ExecCall *call, ExecEnd *end_out);
void exec_launches(const ExecCall *call, ExecEnd *end_out);

#endif
