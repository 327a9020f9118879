// SPDX-License-Identifier: Apache-2.0
//
// What most passes share: rebuilding bodies bottom-up with replaced values, counting
// uses, and knowing which statements may raise an error.
#ifndef WEFT_OPT_REWRITE_H
#define WEFT_OPT_REWRITE_H

#include "opt/opt.h"

// What is known of a value.
typedef struct RewriteValue {
    CoreRef to;   // what it has been replaced by; or 0
    CoreRef rows; // of a map's, scan's or reduction's param: what it is a row of
    CoreStm *stm; // that binds it; NULL: none, or none yet
    const CoreBody *home; // the open body in which that stands
} RewriteValue;

// Rebuilds functions. For every statement, once its args are replaced and its bodies
// rebuilt, `visit` is called: it may emit statements instead (through builder), replace
// the old results (rewrite_set) and return true; or return false to keep the statement.
// What does not change is not copied.
typedef struct Rewrite {
    CoreProgram *program;
    CoreBuilder builder;
    bool changed;
    bool (*visit)(struct Rewrite *rw, CoreStm *stm);
    // Called before and after a statement's body is rebuilt; may be NULL.
    void (*enter)(struct Rewrite *rw, const CoreStm *stm, const CoreBody *body);
    void (*leave)(struct Rewrite *rw, const CoreStm *stm, const CoreBody *body);
    void *data;
    const uint32_t *uses; // by CoreRef, at the start, for passes that ask; or NULL
    uint32_t use_count;   // length of uses
    struct {
        RewriteValue *data;
        uint32_t len, cap;
    } values;    // by CoreRef, up to the last of which something is known
    Map *sizes;  // where sizes come from, of long ways (fuse_size.c)
    Map dropped; // statements (addresses) that leave their body when it is done
} Rewrite;

// Gives all notes up, for the next round of a pass.
static inline void opt_forget_notes(const CoreProgram *p) {
    if (p->notes != NULL) arena_reset(p->notes);
}

Rewrite rewrite_new(CoreProgram *p);
void rewrite_fun(Rewrite *rw, CoreFun *fun);
void rewrite_all(Rewrite *rw);
// What a value has been replaced by; itself if by nothing.
CoreRef rewrite_get(const Rewrite *rw, CoreRef ref);
void rewrite_set(Rewrite *rw, CoreRef from, CoreRef to);
// The statement that binds the value, as it now is; NULL for params and constants.
CoreStm *rewrite_def(const Rewrite *rw, CoreRef ref);
// The same, if it stands in the innermost open body.
CoreStm *rewrite_def_here(const Rewrite *rw, CoreRef ref);
// The array that a param of a map, scan or reduction is a row of; 0: it is no such
// param.
CoreRef rewrite_rows(const Rewrite *rw, CoreRef ref);
// Notes which statement binds the value.
void rewrite_define(Rewrite *rw, CoreRef ref, CoreStm *stm);
// The same of all that a body binds, and the bodies in it.
void rewrite_define_all(Rewrite *rw, const CoreBody *body);
// Notes that the statement binds its results in the innermost open body, before the
// visit that has put it there is over.
void rewrite_note(Rewrite *rw, CoreStm *stm);
// Takes a statement that is already in the open body out of it again.
void rewrite_drop(Rewrite *rw, const CoreStm *stm);
// A copy of the statement to change; its arrays are still shared.
CoreStm *rewrite_copy(Rewrite *rw, const CoreStm *stm);
// Emits the statements of a body here and makes `outs` mean its results. The body's
// params must have been replaced; the body must not be used elsewhere.
void rewrite_splice(Rewrite *rw, const CoreBody *body, const CoreRef *outs);

// How often each value is used in the program, by CoreRef; while the pass takes.
uint32_t *opt_count_uses(const CoreProgram *p);

// Whether it is an integer constant above 0.
bool opt_is_positive(const CoreProgram *p, CoreRef ref);
// Whether running the statement may be noticed other than by its results: it may raise
// an error or never end, or somebody watches (TRACE), here or in its bodies. That
// memory may run out does not count.
bool opt_is_effect(const CoreProgram *p, const CoreStm *stm);
// The same, its bodies aside.
bool opt_is_effect_itself(const CoreProgram *p, const CoreStm *stm);
// The statement that binds the value, as far as `knows` does; NULL: it is a param, a
// constant, or not known.
typedef const CoreStm *OptFindDef(const void *knows, CoreRef ref);
// Whether it can only fail for want of memory, which it does not want if it goes.
bool opt_wants_only_memory(const CoreProgram *p, const CoreStm *stm, OptFindDef *find,
                           const void *knows);

// The rules of normalise.c for one statement, and their hook before its bodies. They
// want uses.
bool opt_normalise_stm(Rewrite *rw, CoreStm *stm);
void opt_normalise_enter(Rewrite *rw, const CoreStm *stm, const CoreBody *body);

// Drops what no result needs. With keep_effects, statements that may fail count as
// needed, as they do after stage 0 (dce.c).
bool opt_drop_dead(CoreProgram *p, bool keep_effects);

#endif
