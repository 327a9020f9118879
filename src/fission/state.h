// SPDX-License-Identifier: Apache-2.0
//
// Within the model checker: states, what they print as, and what they mean.
#ifndef WEFT_FISSION_STATE_H
#define WEFT_FISSION_STATE_H

#include "fission/model.h"

// Some of the model's edges: to where steps lead.
typedef struct Steps {
    uint32_t first, count;
} Steps;

typedef struct State {
    CoreBody *body;  // its params are what is known; NULL: forgotten
    RtValue *values; // of the params
    uint32_t left;   // statements
    uint32_t parent; // the state it was first reached from; the first has itself
    Str step;        // how
    uint32_t rules;  // applied on the way, at least
    bool is_end;     // nothing is left, or what comes first fails
    Steps steps, rule_steps; // evaluations from it, and rules
} State;

// A value that a statement has, while a state is being made.
typedef struct Known {
    CoreRef ref;
    RtValue value;
} Known;

typedef struct KnownList {
    Known *data;
    uint32_t len, cap;
} KnownList;

typedef struct Model {
    CoreProgram *program;
    FissionFacts *facts;
    CoreFun *fun;
    const ModelOptions *options;
    ModelResult *result;
    Arena scratch;   // emptied after each step
    Str expected;    // what the program means
    Status status;   // STATUS_CANCELLED: stop
    uint64_t random; // of walks
    struct {
        State *data;
        uint32_t len, cap;
    } states;
    struct {
        uint32_t *data;
        uint32_t len, cap;
    } edges;
    Map memo; // a hash of how a state prints -> its number + 1
    struct {
        uint64_t *data;
        uint32_t len, cap;
    } hashes; // the other half, by state
} Model;

// What running the body on these values, which are lent, comes to: shapes and bits, or
// the error and where. In the scratch arena.
Str state_meaning(Model *m, CoreBody *body, const RtValue *values);
// The number that the body computes, or `otherwise` if it fails.
int64_t state_number(Model *m, CoreBody *body, const RtValue *values,
                     int64_t otherwise);
// A meaning for people.
void state_show_meaning(const Model *m, Str meaning, StrBuf *out);
// Runs one statement of a state on what is known, and adds its results. False: it
// fails, or what it needs is not known yet.
bool state_evaluate(Model *m, const CoreStm *stm, KnownList *known);
// A state of these statements: those that no rule is about and that are ready are
// evaluated, and what is not needed is forgotten. Takes what is known.
State state_make(Model *m, const CoreBody *body, KnownList *known);
// What a state knows, to go on from; the references are the caller's.
KnownList state_known(Model *m, const State *state);
void state_release(Model *m, RtValue *values, uint32_t count);
// Lets go of the body and the values, if that was not done yet.
void state_forget(Model *m, State *state);
// 128 bits of how the state prints, and its values.
void state_hash(Model *m, const State *state, uint64_t hash_out[2]);

#endif
