// SPDX-License-Identifier: Apache-2.0
//
// What the files of calls that run beside the interpreter share (ahead.h): a call as a
// task, in ahead_task.c, where it goes, in ahead_place.c, and what travels there before
// its turn comes, in ahead_send.c. Whoever calls has the turn.
#ifndef WEFT_API_AHEAD_TASK_H
#define WEFT_API_AHEAD_TASK_H

#include "api/ahead.h"
#include "rt/queue.h"

// A call in a line, or a whole whose parts are promised, which are its arguments. It
// holds references to its arguments, and to what it promised.
typedef struct ApiTask {
    RtErrand errand;
    WeftContext *context;
    KernelRun run; // of a whole, without a kernel
    uint32_t arg_count, result_count;
    ExecKernel books;   // as it runs where it is now
    uint64_t *slots;    // memory for them: enough for any place
    RtArray **promised; // by result
    RtLay *lays;        // by result; the wholes are retained
    CoreLoc *calls;     // where functions kept out of line were called
    uint32_t call_count;
    const FissionPiece *piece; // that it is of an operator; NULL: it is whole
    ApiCut cut;                // how that was cut
    uint32_t booked;           // the place whose load it is part of, or API_NOWHERE
    double seconds;            // predicted, there
    double given;              // what that place has been given, it included
    uint64_t began;            // when it was started
    size_t size;               // of the block that all of it lies in
    ExecEnd end;
    _Atomic int64_t done, total; // turns of the loop that it is in
} ApiTask;

enum { API_NOWHERE = UINT32_MAX };

typedef struct ApiSender ApiSender;

struct ApiAhead {
    WeftContext *context;
    RtQueue *queue;
    pthread_t host;
    bool is_waiting;            // the host; it has made all that it can
    bool is_orderly;            // this run: each call ends before the next one begins
    bool has_run;               // ahead, in this run
    uint32_t lost;              // places, when this run began
    const WeftProgram *program; // of the last call
    ApiEdges edges;             // in that; waits so far when it began
    ApiTask *failed;            // the first of those that are known to have failed
    ApiTask *wants;             // memory: the first of those that are to be tried again
};

// ---- ahead_task.c -------------------------------------------------------------------

ApiTask *api_task_of(const RtErrand *errand);
// A task with promises of its results, which become those of the offer. NULL: no
// memory.
ApiTask *api_task_new(ApiEngine *engine, EngineKernel *kernel,
                      const InterpOffer *offer);
// The same for parts that make up a whole, which is promised (ahead_join.c).
ApiTask *api_task_join(ApiEngine *engine, const InterpOffer *parts, uint32_t count,
                       RtArray *whole);
// A task with so many arguments, which it retains, and results; of a whole, without a
// kernel. NULL: no memory.
ApiTask *api_task_alloc(ApiEngine *engine, const InterpOffer *offer, uint32_t args,
                        uint32_t results, EngineKernel *kernel);
void api_task_release_args(ApiTask *task);
bool api_task_has_args(const ApiTask *task); // they are there
void api_task_free(ApiTask *task);           // NULL is ignored
// Copies bytes, of which there may be none, from nowhere.
void api_task_copy(void *to, const void *from, size_t bytes);

// ---- ahead_place.c ------------------------------------------------------------------

// Puts the task in the line of the place where it would be done first.
void api_ahead_put(ApiAhead *ahead, ApiTask *task);
// Makes it part of the load of that place, and of no other.
void api_ahead_book(ApiTask *task, uint32_t place);
void api_ahead_unbook(ApiTask *task);
// As RtErrand.gain, of a chunk: how much sooner it would be done.
double api_ahead_gain(const RtErrand *errand, unsigned line);

// ---- ahead_send.c -------------------------------------------------------------------

// For a line whose device is launched on, once the queue is there. NULL: no memory or
// no thread.
ApiSender *api_sender_new(WeftContext *context, uint32_t line);
// The host does not have the turn, and nothing is being sent. NULL is ignored.
void api_sender_free(ApiSender *sender);
// The bytes on the device that it may want during a launch.
size_t api_sender_room(const ApiSender *sender);
// A launch begins, or has ended. False: the device has failed in what was sent.
bool api_sender_note(ApiSender *sender, bool begins);
bool api_sender_is_idle(const ApiSender *sender); // so is NULL

#endif
