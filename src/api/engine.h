// SPDX-License-Identifier: Apache-2.0
//
// The native engine of a program: its kernels (opt/outline.c) as C, built by the
// system's compiler while the interpreter already runs, and called by it from then on.
//
// An engine that may run kernels (WEFT_ENGINE_AUTO) is idle until some work is worth
// it; one that must (WEFT_ENGINE_NATIVE) starts when the program is compiled, and
// entries wait until the kernels that they may call are built.
#ifndef WEFT_API_ENGINE_H
#define WEFT_API_ENGINE_H

#include "api/places.h"
#include "api/shares.h"
#include "dev/native.h"
#include "emit/emit.h"

// What is known of a kernel at a place.
typedef struct KernelAt {
    double seconds; // of its last call there; 0: none
    uint32_t calls; // there
    uint32_t since; // calls elsewhere since the last one there
    uint32_t lasts; // after so many of those half of what it told is forgotten, etc.
    size_t *made;   // by result: bytes, in the last call there
} KernelAt;

// Cores and devices that are launched on have loops of their own, so that neither lacks
// a pass which the other one cannot have; with one kind of places they are one.
typedef struct EngineKernel {
    const CoreFun *fun;
    LoopKernel *loop, *launched_loop;
    EmitChecks checks, launch_checks;
    LoopPlan plan;
    ExecKernel exec, launched_exec;
    struct EngineGroup *group;    // NULL: there are no cores to build it for
    struct LaunchGroup *launched; // NULL: there is no device to build it for
    KernelAt *at;                 // by place
    const bool *keeps;            // by param: false, for may_take
} EngineKernel;

typedef enum GroupState {
    GROUP_IDLE,  // nobody has asked for it
    GROUP_WAITS, // for a compiler
    GROUP_BUILDS,
    GROUP_READY,
    GROUP_FAILED // build.why says why; for good
} GroupState;

// Kernels that are compiled as one file.
typedef struct EngineGroup {
    uint32_t first, count;
    uint32_t size; // about how much there is to compile, in values
    GroupState state;
    Str text; // in C; empty: it is still to be written
    NativeBuild build;
    uint64_t began;    // when
    unsigned compiler; // of those at work at once, from 0
} EngineGroup;

// Kernels that are one file for each device that is launched on.
typedef struct LaunchGroup {
    uint32_t first, count;
    bool is_wanted; // by an entry that is called
    void **codes;   // by place; NULL: not built
} LaunchGroup;

typedef enum EngineState {
    ENGINE_IDLE,
    ENGINE_STARTED, // kernels are made
    ENGINE_FAILED   // there will be none
} EngineState;

struct ApiEngine {
    WeftProgram *program;
    bool must;
    EngineState state;
    EngineKernel *kernels;
    uint32_t count;
    Map by_fun; // address of a CoreFun -> 1 + kernel, which several may share
    NativeCompiler compiler;
    EngineGroup *groups;
    uint32_t group_count;
    unsigned threads;     // that may work for it; 0: nobody has asked
    const CoreFun *entry; // that was called last; its kernels are asked for
    bool has_warned;      // of a build that failed
    double idle_seconds;  // that calls took while it was idle
    unsigned tries;       // kernels interpreted for a while, to see (offer.c)
    LaunchGroup *launch_groups;
    uint32_t launch_group_count;
    ApiShares *shares;           // of the places in what is cut between them
    bool chooses;                // which of it is not, by plans of calls (choice.h)
    uint32_t parts, least_parts; // for a device with little memory (stream.h)
    bool has_traced;             // the call so far, there
    ApiPlace *alone; // that the call is for, with nothing cut; NULL: all are
    // Whose call is so for lack of memory (alone.h); or NULL. What switches said, and
    // who had it, before.
    const CoreFun *short_entry;
    int64_t *cut_before;
    ApiPlace *alone_before;
    double needed; // bytes that the call needs by its plan; 0: nobody has asked
};

// As it runs at that place.
static inline ExecKernel *api_exec_at(EngineKernel *kernel, const ApiPlace *place) {
    return api_is_launched(place) ? &kernel->launched_exec : &kernel->exec;
}

// Gives a program past its passes an engine, if it is to have one. With
// WEFT_ENGINE_NATIVE what cannot be built is a failure. To be run by api_guard.
WeftStatus api_engine_new(WeftProgram *program);
// Lowers the kernels and asks for those of the entry; the engine leaves the state IDLE.
// With `must`, WEFT_STATUS_USAGE if one cannot be lowered or there is no compiler.
WeftStatus api_engine_start(ApiEngine *engine);
// Asks for the kernels of an entry that is about to be called. With `must` it waits for
// them: WEFT_STATUS_CANCELLED, or IO if they cannot be built.
WeftStatus api_engine_enter(ApiEngine *engine, const CoreFun *entry);
// A program's kernels as loops, after that pass (loop/passes.h), or as code, for
// people.
void api_engine_print(WeftProgram *program, ApiStage stage, int after, StrBuf *out);
// Prints the tasks of the entries in the form after which to stop (task.c). Checks them
// first unless `faults` is NULL; false: some are wrong.
bool api_task_print(WeftProgram *program, int after, StrBuf *out, StrBuf *faults);

// ---- builds.c -----------------------------------------------------------------------

// Divides the kernels into groups.
void api_builds_plan(ApiEngine *engine);
// Calls `want` for each kernel that the function may call.
void api_builds_reach(ApiEngine *engine, const CoreFun *entry,
                      void (*want)(EngineKernel *kernel));
// Asks for the groups of these, and writes them, if there are threads for it.
void api_builds_want(ApiEngine *engine, const CoreFun *entry);
// Looks at the compilers at work and starts others, `first` (which may be NULL) before
// the rest.
void api_builds_poll(ApiEngine *engine, EngineGroup *first);
// Polls until that group, or all wanted if it is NULL, are READY, or FAILED.
// WEFT_STATUS_CANCELLED: the context is.
WeftStatus api_builds_wait(ApiEngine *engine, EngineGroup *group);
// Appends kernels as C. Their checks are kept; the scratch is given up.
void api_builds_write(ApiEngine *engine, uint32_t first, uint32_t count,
                      bool for_people, Arena *kept, Arena *scratch, StrBuf *out);
void api_builds_free(ApiEngine *engine);

// ---- hands.c ------------------------------------------------------------------------

// Where an item of work has its memory: what it leaves in `kept` is the program's in
// the end, the others are given up after it.
typedef struct ApiRooms {
    Arena *kept, *scratch, *notes;
} ApiRooms;

// One item of work, which needs nothing of the others and may run in any thread.
typedef void ApiItem(void *data, uint32_t item, const ApiRooms *rooms);

// How many threads may work for it at once.
unsigned api_engine_threads(ApiEngine *engine);
// Does items 0 to count - 1 by several threads, if that is worth while: the work is
// about how many microseconds they take. Else it does none, nor those that a thread had
// no memory for: the caller sees to what is not done. Whether it did any.
bool api_hands(ApiEngine *engine, uint64_t work, uint32_t count, ApiItem *item,
               void *data);

// ---- launches.c ---------------------------------------------------------------------

// Writes kernels, once they are made, for devices that are launched on.
void api_launches_write(ApiEngine *engine, uint32_t first, uint32_t count,
                        const Dialect *dialect, bool for_people, StrBuf *out,
                        StrBuf *tables_out);
// Divides the kernels into groups, if the context has such devices.
void api_launches_plan(ApiEngine *engine);
// What the kernel's launches are, once kernels are made.
const LoopPlan *api_launches_of(ApiEngine *engine, EngineKernel *kernel);
// Builds the groups that an entry about to be called needs, for each of these devices.
WeftStatus api_launches_enter(ApiEngine *engine, const CoreFun *entry);
void api_launches_free(ApiEngine *engine);

// ---- offer.c, kernel.c --------------------------------------------------------------

// InterpOptions.run_kernel; data is the engine.
bool api_engine_run(void *data, InterpOffer *offer, InterpError *error_out);
// One call of a kernel that is there.
typedef struct KernelRun {
    const WeftProgram *program;
    EngineKernel *kernel;
    ExecKernel *books; // as it runs at the place, or that with books of its own
    InterpOffer offer;
    const bool *may_take;
    const atomic_bool *cancel;
    // As ExecCall's; data is the run. May be NULL.
    void (*progress)(void *data, int64_t done, int64_t total);
    size_t (*room)(void *data);
    bool (*at_work)(void *data, bool begins);
    uint32_t row; // of the first worker, where turns are recorded
} KernelRun;

// Runs it at that place, and notes how long it took there.
void api_kernel_run_at(KernelRun *run, ApiPlace *place, ExecEnd *end_out);
// Nanoseconds that a place of that speed has yet to sleep, which owed so many before,
// after so much work, in so long a time.
double api_kernel_owes(double owed, double speed, double worked, double passed);
// A call took so long there.
void api_kernel_note(const WeftContext *context, EngineKernel *kernel, uint32_t place,
                     double seconds);
// Seconds that a call takes there: as the last one did, or those elsewhere, by how fast
// places are thought to be. 0: nobody knows.
double api_kernel_seconds(const WeftContext *context, const EngineKernel *kernel,
                          uint32_t place);
// How it ended, for people; texts are in the scratch arena.
void api_kernel_tell(const KernelRun *run, const ExecEnd *end, InterpError *error_out);
// Runs it at the only place, or the one that has the call alone.
void api_kernel_run(ApiEngine *engine, EngineKernel *kernel, const InterpOffer *offer,
                    InterpError *error_out);

#endif
