// SPDX-License-Identifier: Apache-2.0
//
// What a call of an entry will do, before it does it: which kernels, on what, where,
// and when. The entry is walked with the sizes of its arguments, or without; kernels
// become tasks, and each goes where it would be ready first, as in the run
// (api/ahead_place.c).
//
// Numbers that nobody can know before the run are NaN: sizes that depend on what arrays
// hold, turns of `while`, and all that follows from them.
#ifndef WEFT_PLAN_PLAN_H
#define WEFT_PLAN_PLAN_H

#include <math.h>

#include "core/core.h"
#include "fission/strategy.h"

enum { PLAN_NONE = UINT32_MAX };

// ---- what is given ------------------------------------------------------------------

// While a launched device runs a task, so many of those behind it are sent what they
// need.
enum { PLAN_AHEAD = 4 };

typedef struct PlanDevice {
    const char *address;
    double rate;  // scalar operations per second that wait for each other, of all cores
    double one;   // the same of one core
    bool is_host; // its memory is the host's
    bool is_vague;  // it is launched on: its rate is but a guess before something has
                    // run there
    bool is_beside; // what a task needs travels while the one before runs
} PlanDevice;

// A flattened parameter, as far as it is known.
typedef struct PlanArg {
    bool is_known;
    bool is_held;        // its elements lie in memory that counts, and in no other's
    uint64_t bits;       // of a scalar
    const int64_t *dims; // of an array
} PlanArg;

typedef struct PlanTask PlanTask;

// Seconds that a turn of the task took on that device when it last ran; 0: it has not.
typedef double PlanTook(const void *data, const PlanTask *task, uint32_t device);

// What a call of the kernel holds at once beside its arguments, at most: results, and
// what it needs meanwhile.
typedef struct PlanHeld {
    double bytes;   // no less
    double counted; // what they count as, where it runs
    bool is_all;    // nor more
} PlanHeld;

typedef PlanHeld PlanHolds(const void *data, const CoreFun *kernel, const PlanArg *args,
                           Arena *arena);

typedef struct PlanInput {
    const CoreProgram *program; // outlined
    const CoreFun *entry;
    const FissionLog *decisions;
    const char *uncut; // why nothing was to be cut; NULL: it was
    const PlanDevice *devices;
    uint32_t device_count;
    uint32_t vector_bytes; // of the vectors of cores; 0: there are none
    const PlanArg *args;   // NULL: none is known
    bool is_shifting;      // who is idle takes chunks over; else they are at home
    bool joins_late;       // parts on devices wait there for who needs the whole
    bool tells_results;    // else the plan has none
    PlanTook *took;        // what is known of earlier runs; NULL: nothing
    const void *data;      // for that
    bool is_on_cores;      // one after the other, and blocks count as base/mem.h says
    PlanHolds *holds;      // where it is launched; NULL: nobody knows
    PlanHolds *holds_on_cores; // likewise
    const void *holder;        // for that
    const double *paces; // of another plan, for devices of which this one tells none;
                         // NULL: there is no other
    Arena *arena;        // in which everything is made
} PlanInput;

// ---- what is told -------------------------------------------------------------------

// Memory, or a scalar: a parameter, or what a task makes.
typedef struct PlanBlock {
    Sym name;
    CoreLoc loc;
    CoreType type;
    double bytes;
    uint32_t task;  // that makes it; PLAN_NONE: it is a parameter
    uint32_t last;  // task that uses it; PLAN_NONE: none
    bool is_result; // of the entry
    bool is_held;   // it has memory of its own, whatever runs the program
    bool is_within; // what joins it with others makes room for it where it belongs
} PlanBlock;

// A task that uses a block, or a part of it.
typedef struct PlanUse {
    uint32_t block;
    uint32_t part; // which; 0: all of it
    double bytes;
} PlanUse;

typedef struct PlanUses {
    PlanUse *data;
    uint32_t len, cap;
} PlanUses;

struct PlanTask {
    CoreOp op;             // of a kernel; of the host: an operator of core
    const CoreFun *kernel; // NULL: the host does it
    CoreLoc loc;
    const FissionPiece *piece; // of an operator; NULL: it is whole
    uint32_t visit;            // tasks of one walk through a body have the same
    double turns;    // how often: it stands for all turns of a loop but the first
    double work;     // as long as so many scalar operations, of one turn
    PlanUses uses;   // each block and part once
    uint32_t first;  // block that it makes
    uint32_t makes;  // so many
    bool joins_rows; // it joins parts along dimension 0
    bool is_apart;   // what it joins stays where it was made, for who needs the whole
    bool takes_over; // it makes what it makes where what it takes was
    PlanHeld held;   // of one turn, launched; all 0 where nobody knows
    PlanHeld held_on_cores; // likewise
    uint32_t device;        // or device_count: the host
    double sent;            // bytes that travel before it
    double begin, end;      // seconds
    double measured;        // seconds of one turn; NaN: it has not run
    uint32_t ran_on;        // with that: the device
    bool is_critical;       // it lies on the longest way
};

typedef enum PlanStepKind {
    PLAN_SEND, // to the device, for the task
    PLAN_RUN,
    PLAN_FREE,
    PLAN_FETCH // from the device: a result of the entry
} PlanStepKind;

// What a device does, in order.
typedef struct PlanStep {
    PlanStepKind kind;
    uint32_t device, task, block; // PLAN_NONE where there is none
    double bytes, begin, end;
} PlanStep;

// What the entry returns: a block, or a scalar that the host makes of some.
typedef struct PlanResult {
    Sym name;
    double bytes;
    PlanUses uses;
    bool is_made; // by the host
} PlanResult;

// Where the call is sure to fail, and why: the first such place.
typedef struct PlanFault {
    CoreLoc loc;
    Str message; // empty: there is none that is known
} PlanFault;

// What is alive when most is.
typedef struct PlanPeak {
    double bytes;
    double beside;  // of these, what the kernel of the task holds beside the blocks
    double counted; // what all of it counts as, where it lies
    uint32_t task;  // then; PLAN_NONE: before all of them
    struct {
        uint32_t *data;
        uint32_t len, cap;
    } blocks;
} PlanPeak;

typedef struct Plan {
    PlanInput in;
    struct {
        PlanBlock *data;
        uint32_t len, cap;
    } blocks;
    struct {
        PlanTask *data;
        uint32_t len, cap;
    } tasks;
    struct {
        PlanStep *data;
        uint32_t len, cap;
    } steps;
    struct {
        PlanResult *data;
        uint32_t len, cap;
    } results;
    uint32_t params; // the first blocks
    uint32_t sure;   // so many tasks run as told; PLAN_NONE: all, with these results
    PlanFault fault;
    PlanPeak peak;
    bool is_timed;  // how long each task takes is known, as far as the model goes
    double args;    // bytes of the parameters
    double seconds; // all in all
    double longest; // what no number of devices could shorten
    double *busy;   // by device, and the host: seconds
    double *paces;  // by device: how many times as long as by their work alone those
                    // tasks took that have run there; 0: none has
    double *measured_busy;  // the same in the run that was measured; NULL: none was
    double *measured_bytes; // by device: to and from it; with measured_busy
    double *measured_most;  // likewise by memory, and the host's: the most that it held
    double measured;        // seconds of that run; likewise
    double measured_edges;  // what its tasks took of each other; of that, what was made
    double measured_crossing; // on another device; and for how many tasks a device had
    double measured_waits;    // to wait; NaN: not counted
    double measured_longest;  // of the longest way, as far as it was measured
    bool is_cut_off;          // there is more than is told
    bool took_a_branch;       // that may be another in the run
} Plan;

Plan *plan_make(const PlanInput *in);
// Which rows of the entry's operators stay whole though there is enough to do, since
// the call would take longer with them in parts, as far as plans know: sets from which
// length on they are cut (FissionSwitch), and what was expected (choose.c). Whether any
// of that has changed.
bool plan_choose(const PlanInput *in);

// The tasks alone (walk.c), and where they go (place.c).
Plan *plan_walk(const PlanInput *in);
void plan_place(Plan *plan);
// By memory, the host's, and that of all cores together: what it holds when it holds
// most, as far as that is known (held.c).
const double *plan_most_held(const Plan *plan);
// What is surely alive when most is, which any call with these arguments has to hold
// (least.c). in_order: tasks run one after the other.
PlanPeak plan_least(const Plan *plan, bool in_order);
// The same of the host's memory, where all kernels are launched elsewhere.
PlanPeak plan_least_on_host(const Plan *plan);
// The longest way through the tasks, each of which takes so long; marks it if asked.
double plan_longest(Plan *plan, const double *seconds, bool mark);

// ---- what is small ------------------------------------------------------------------

// A loop with parallel work inside is one kernel where it takes no more elements than
// that, and makes no more at once; else the host walks it.
enum { PLAN_SMALL = 1 << 14 };

// What a value is that is bound outside of a kernel; NaN: nobody knows; 0: it is
// inside.
typedef double PlanSize(const void *data, CoreRef ref);
// The most elements that operators of a body make at once, as far as these tell: NaN if
// that may be any number (small.c).
double plan_made_inside(const CoreProgram *p, const CoreBody *body, PlanSize *size_of,
                        const void *data);

// How many bytes a core reads or writes in the time of a scalar operation, of so many
// in a turn: what fits the last cache is there from the second turn on.
double plan_bytes_at_a_time(double turns, double bytes);

// Whether what is used comes from another memory, by the task (NULL: by a result, on
// the host), and how much of it.
bool plan_travels(const Plan *plan, PlanUse use, const PlanTask *by, double *bytes_out);

// Whose memory a device uses: its own, or the host's, which is number device_count.
uint32_t plan_memory(const Plan *plan, uint32_t device);

// Where in the program's own file that is, or else in one that it imports; without a
// source: nobody knows.
Place plan_where(const CoreProgram *p, CoreLoc loc);

// ---- as people read it --------------------------------------------------------------

// What was decided about each operator, and why (print.c).
void plan_print_decisions(const Plan *plan, StrBuf *out);
// The entry as it is run, like a source text, with the lines that it comes from
// (source.c).
void plan_print_source(const Plan *plan, StrBuf *out);
// The tasks, what each device does when, the memory that it takes (print.c).
void plan_print_tasks(const Plan *plan, StrBuf *out);
void plan_print_devices(const Plan *plan, StrBuf *out);
void plan_print_memory(const Plan *plan, StrBuf *out);
// The graph of tasks for Graphviz, and as a picture (dot.c, svg.c).
void plan_print_dot(const Plan *plan, StrBuf *out);
void plan_print_svg(const Plan *plan, StrBuf *out);

// Shared by these: numbers with units, "?" for what is not known.
enum { PLAN_TEXT = 24 };
const char *plan_time(char text[PLAN_TEXT], double seconds);
const char *plan_bytes(char text[PLAN_TEXT], double bytes);
const char *plan_verb(const PlanTask *task); // "map"
// "map ys"
Str plan_task_name(const Plan *plan, uint32_t number, Arena *arena);
const char *plan_device(const Plan *plan, uint32_t device);
// "ys", or what it is, for those without a name.
Str plan_block_name(const Plan *plan, uint32_t block);
const char *plan_line(char text[PLAN_TEXT], const Plan *plan, CoreLoc loc); // or "-"
// What the graphs say of a task, "line 3, cpu:0" and "35.0 ms, 400 kB"; of a result,
// "result 2 ys", without a number if there is one alone; and of a device (boxes.c).
Str plan_box_where(const Plan *plan, const PlanTask *task, Arena *arena);
Str plan_box_costs(const Plan *plan, const PlanTask *task, Arena *arena);
Str plan_box_result(const Plan *plan, uint32_t result, Arena *arena);
// What an edge says: the bytes, or what is needed of a block that is not taken.
const char *plan_edge(char text[PLAN_TEXT], const Plan *plan, uint32_t block,
                      double bytes, bool is_result);
Str plan_box_device(const Plan *plan, uint32_t device, Arena *arena);
// "#2f6fb3"; no two devices have the same.
enum { PLAN_COLOUR = 8 };
const char *plan_colour(char text[PLAN_COLOUR], const Plan *plan, uint32_t device);
// "800 kB of line 3, 8 MB of arguments": what is alive then.
void plan_name_bytes(const Plan *plan, const PlanPeak *peak, StrBuf *out);
// Whether it is known, as far as the model goes, how long it takes.
static inline bool plan_is_timed(const PlanTask *task) {
    return !isnan(task->work * task->turns);
}
// Of all that it makes.
double plan_made(const Plan *plan, const PlanTask *task);
// Seconds of the run, all turns together; NaN: not measured.
double plan_took(const PlanTask *task);
// Whether the tasks of the operator are parts of it.
bool plan_is_cut(const Plan *plan, const FissionDecision *decision, bool *is_run_out);

#endif
