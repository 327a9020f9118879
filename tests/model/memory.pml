// SPDX-License-Identifier: Apache-2.0
//
// Memory that calls of two lines share, as src/api/ahead.c deals with it. A call takes
// all that it needs or nothing: one that finds too little gives back what it has taken,
// waits for all earlier ones while nothing from it on starts, and is tried once more,
// alone. If that does not help the run ends, out of memory. Checked for four calls, each
// in either line, with little or much to take, and reading any one earlier result or
// none: no state is without a next one (deadlock), and every run ends if each process
// that can go on does (livelock).
//
// With KEEPS a call waits for memory and keeps what it has; with EAGER it is tried again
// at once. Both are wrong, and the check has to say so.
#define CALLS 4
#define NONE  CALLS
#define MEMORY 4 // units
#define MUCH   3 // units that a call may take, of which one stays: its result

mtype = { WAITING, RUNNING, BACK, DONE };

mtype state[CALLS] = WAITING;
byte need[CALLS], reads[CALLS], readers[CALLS], line_of[CALLS];
bool is_busy[2]; // lines
byte spare = MEMORY;
byte wants = NONE; // memory: it is tried alone, and nothing from it on starts before
bool failed, ended, is_set;

#define ALL(is) (is(0) && is(1) && is(2) && is(3))
#define HAS_RUN(c)     (state[c] == WAITING || state[c] == DONE)
#define IS_OVER(c)     (state[c] == DONE || failed && state[c] == WAITING)
#define IS_NOT_LEFT(c) (c >= wants || state[c] == DONE) // before the one that wants
#define MAY_START(c)                                                                   \
    (state[c] == WAITING && c < wants && !failed && !is_busy[line_of[c]] &&            \
     (reads[c] == NONE || state[reads[c]] == DONE))

// The room is free again, but for the result; and that of what it was the last to read.
inline finish(c) {
    spare = spare + need[c] - 1;
    if
    :: reads[c] != NONE ->
        readers[reads[c]]--;
        spare = spare + (readers[reads[c]] == 0 -> 1 : 0)
    :: else
    fi;
    state[c] = DONE
}

inline give_back(c, got, next) {
    spare = spare + got;
    got = 0;
    is_busy[line_of[c]] = false;
    state[c] = next
}

proctype Call(byte c) {
    byte got;
    is_set;
end:
    do
    :: atomic { MAY_START(c) -> state[c] = RUNNING; is_busy[line_of[c]] = true };
        do
        :: atomic { got < need[c] && spare > 0 -> spare--; got++ }
        :: atomic { got == need[c] -> finish(c); is_busy[line_of[c]] = false; got = 0 };
            break
#ifdef EAGER
        :: atomic { got < need[c] && spare == 0 -> give_back(c, got, WAITING) };
            break
#elif !defined(KEEPS)
        :: atomic { got < need[c] && spare == 0 -> give_back(c, got, BACK) };
            break
#endif
        od
    od
}

inline look_at(c) { // one that came back
    state[c] = WAITING;
    wants = (c < wants -> c : wants)
}

active proctype Host() {
    byte c;
    atomic {
        for (c : 0 .. CALLS - 1) {
            if :: line_of[c] = 0 :: line_of[c] = 1 fi;
            if :: need[c] = 1 :: need[c] = MUCH fi;
            reads[c] = NONE;
            if
            :: c > 0 -> reads[c] = 0
            :: c > 1 -> reads[c] = 1
            :: c > 2 -> reads[c] = 2
            :: true
            fi;
            if :: reads[c] != NONE -> readers[reads[c]]++ :: else fi;
            run Call(c)
        }
        is_set = true
    }
    do
    :: atomic { !failed && state[0] == BACK -> look_at(0) }
    :: atomic { !failed && state[1] == BACK -> look_at(1) }
    :: atomic { !failed && state[2] == BACK -> look_at(2) }
    :: atomic { !failed && state[3] == BACK -> look_at(3) }
    :: atomic { // alone
        wants != NONE && ALL(HAS_RUN) && ALL(IS_NOT_LEFT) ->
            if
            :: spare >= need[wants] -> spare = spare - need[wants]; finish(wants)
            :: else -> failed = true
            fi;
            wants = NONE
        }
    :: atomic { ALL(IS_OVER) -> ended = true; break }
    od
}

ltl ends { <> ended }
