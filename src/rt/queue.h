// SPDX-License-Identifier: Apache-2.0
//
// Errands that run beside the thread which makes them, the host: in lines, one for each
// place that can run something, each with a thread of its own. Errands have numbers,
// the order in which the host made them. A line runs one errand at a time, the first of
// its own that is ready, so an errand waits for earlier ones only and the first of all
// that are left can always run. A common errand is run by whichever line looks first. A
// line without anything takes an errand over from another, of the last that are ready
// there the one with the most to gain, if any has.
//
// The host, while it waits, may run short errands of lines that are shared with it: no
// thread is woken for what the host would have finished sooner itself.
//
// What an errand could not do comes back to the host, which decides (failures, memory
// that is short, devices that are gone).
//
// Threads: everything is called by the host, with the turn, and so are run, is_ready
// and gain by the lines, the latter two also by other lines and the host.
#ifndef WEFT_RT_QUEUE_H
#define WEFT_RT_QUEUE_H

#include "base/mem.h"
#include "rt/turn.h"

typedef struct RtErrand RtErrand;
typedef struct RtQueue RtQueue;

struct RtErrand {
    // Whether what it needs is there; with news, whoever tells them asks again.
    bool (*is_ready)(const RtErrand *errand);
    // How much there is to gain if that line, which is idle, takes it over from its
    // own. Not more than 0, or a function that is NULL: it stays.
    double (*gain)(const RtErrand *errand, unsigned line);
    // May give the turn meanwhile. True: it is done, and the errand freed by now;
    // false: it comes back to the host.
    bool (*run)(RtErrand *errand);
    bool is_common; // any line runs it, before all else: others wait for it
    double seconds; // that it will take, about; 0: nobody knows
    uint64_t number;
    uint64_t since; // when it was put in the line
    unsigned line;
    RtErrand *next; // in the line, or among those that are back
};

// NULL: no memory, or no threads.
RtQueue *rt_queue_new(Mem *mem, unsigned lines);
// Ends the threads. There are no errands, and the host does not have the turn. NULL is
// ignored.
void rt_queue_free(RtQueue *queue);
RtTurn *rt_queue_turn(RtQueue *queue);
// Shares a line with the host. The first of these is its own: the line's thread is for
// what is long, and for when the host is busy for long.
void rt_queue_share(RtQueue *queue, unsigned line);
// Waits as rt_turn_wait does, or runs an errand, where there is one for the host. If it
// waits for one errand, `needed` is where that stands until it is done, and NULL then.
void rt_queue_wait(RtQueue *queue, bool (*is_due)(const void *data), const void *data,
                   int ms, RtErrand *const *needed);
// Wakes who runs what has waited for the host for long.
void rt_queue_look(RtQueue *queue);

enum { RT_NO_ERRAND = 0 };

// Numbers a new errand (that of one that came back stays) and puts it in a line.
void rt_queue_add(RtQueue *queue, RtErrand *errand, unsigned line);
// No errand of that number or a later one is started; RT_NO_ERRAND: all may be.
void rt_queue_hold(RtQueue *queue, uint64_t number);
// The first of those that came back, which leaves the queue; NULL: there is none.
bool rt_queue_has_back(const RtQueue *queue);
RtErrand *rt_queue_back(RtQueue *queue);
// The first that waits in that line and has this number or a later one, which leaves
// the queue; NULL: there is none.
RtErrand *rt_queue_withdraw(RtQueue *queue, unsigned line, uint64_t number);
// The line whose errand the host runs; RT_NO_LINE: it runs none.
enum { RT_NO_LINE = UINT32_MAX };
unsigned rt_queue_hosted(const RtQueue *queue);
// The number of the errand that a line runs, and of the first that waits or runs
// anywhere; RT_NO_ERRAND: there is none.
uint64_t rt_queue_running(const RtQueue *queue, unsigned line);
uint64_t rt_queue_first(const RtQueue *queue);
// How many wait, run or are back; and run.
uint32_t rt_queue_count(const RtQueue *queue);
uint32_t rt_queue_busy(const RtQueue *queue);
// How many errands, so far, a line had nothing to do but wait for: others had to be
// done first.
uint64_t rt_queue_waits(const RtQueue *queue);
// The first that waits in that line, others behind it; NULL: none does.
const RtErrand *rt_queue_waiting(const RtQueue *queue, unsigned line);

#endif
