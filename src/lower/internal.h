// SPDX-License-Identifier: Apache-2.0
//
// What the files of this room share. Three notions carry the whole translation:
//
// - a Value is what an expression evaluates to while lowering: functions, records and
//   constructors are known, scalars and arrays are core values ("leaves");
// - a Layout is a type without its sizes: into which leaves a value of it flattens.
//   Layouts are interned, equal ones are the same pointer. An LType adds the sizes;
// - a Frame holds what names, type parameters and sizes mean in one run of a body.
//
// Invariant: a core value reachable from a Frame or a Value in use, or known as the
// size of such a value, is bound in a body that is still open.
#ifndef WEFT_LOWER_INTERNAL_H
#define WEFT_LOWER_INTERNAL_H

#include <setjmp.h>

#include "check/typed.h"
#include "core/core.h"

typedef enum LowerDiag {
#define DIAG(name, code, format) LOWER_##name,
#include "lower/diags.def"
#undef DIAG
    LOWER_DIAG_COUNT
} LowerDiag;

typedef struct Lower Lower;
typedef struct Value Value;
typedef struct Frame Frame;
typedef struct Layout Layout;

// ---- layouts (layout.c) -----------------------------------------------------------

typedef enum LayoutKind {
    LAYOUT_SCALAR,
    LAYOUT_ARRAY,
    LAYOUT_RECORD,
    LAYOUT_SUM,
    LAYOUT_FUN
} LayoutKind;

struct Layout {
    LayoutKind kind;
    uint32_t id;
    ScalarType scalar;
    const Layout **parts; // ARRAY: the element; RECORD: fields; SUM: payloads, records
    uint32_t part_count;
    uint32_t leaf_count;
    CoreType *leaves;
    uint32_t dim_count; // dimensions of all leaves together
    uint32_t **slots;   // SUM: for each constructor, the leaf of each payload leaf
    bool has_fun;       // holds functions, hence is static
};

typedef struct LType {
    const Layout *layout;
    CoreRef *dims; // of all leaves, one leaf after the other; 0: not known
} LType;

const Layout *lower_layout_scalar(Lower *l, ScalarType scalar);
const Layout *lower_layout_fun(Lower *l);
const Layout *lower_layout_array(Lower *l, const Layout *elem);
const Layout *lower_layout_record(Lower *l, const Layout *const *parts, uint32_t count);
// The layout of a type in a frame.
const Layout *lower_layout_of(Lower *l, const Frame *frame, Type *type);
// The same with its sizes, as far as they are known.
LType lower_ltype_of(Lower *l, Frame *frame, Type *type);

// ---- values (value.c) -------------------------------------------------------------

typedef enum ValueKind {
    VALUE_LEAVES, // known only when the program runs
    VALUE_RECORD,
    VALUE_CTOR,
    VALUE_FUN,
    VALUE_GENERAL // a polymorphic local definition: evaluated per occurrence
} ValueKind;

typedef struct FnInfo { // a source function, for places and for blaming
    Sym name;
    Span span;
    uint64_t work; // statements and applications in it
} FnInfo;

typedef struct Fun {
    const TExp *lambda; // or NULL for an intrinsic
    Frame *frame;       // where the lambda is closed, or the instance's parameters
    FnInfo *info;       // NULL: a lambda without a name
    Binding *binding;   // intrinsics and globals
    Value **args;       // given so far
    uint32_t arg_count;
    CoreRef *tokens; // checks that guard what it returns
    uint32_t token_count;
} Fun;

struct Value {
    ValueKind kind;
    union {
        struct {
            const Layout *layout;
            CoreRef *refs;
        } leaves;
        struct {
            Value **items;
            uint32_t count;
        } record;
        struct {
            uint32_t index;
            Value **args;
            uint32_t count;
            LType type;
        } ctor;
        Fun *fun;
        struct {
            const TExp *exp;
            Frame *frame;
            FnInfo *info;
        } general;
    } as;
};

Value *lower_value_leaves(Lower *l, const Layout *layout, const CoreRef *refs);
Value *lower_value_scalar(Lower *l, CoreRef ref);
Value *lower_value_record(Lower *l, Value *const *items, uint32_t count);
Value *lower_value_ctor(Lower *l, LType type, uint32_t index, Value *const *args,
                        uint32_t count);
Value *lower_value_fun(Lower *l, Fun fun);
Value *lower_value_general(Lower *l, const TExp *exp, Frame *frame, FnInfo *info);
// Fresh core values for every leaf; appended to refs.
Value *lower_value_fresh(Lower *l, const Layout *layout, Sym name, CoreRefs *refs);
CoreRef lower_value_ref(const Value *value); // of a scalar
const Layout *lower_value_layout(Lower *l, const Value *value);
Value *lower_value_field(Lower *l, const Value *value, uint32_t index);
// Appends the leaves of a value, which must hold no function.
void lower_value_flatten(Lower *l, const Value *value, CoreRefs *out);
CoreRefs lower_value_refs(Lower *l, const Value *value);
Value *lower_value_guard(Lower *l, Value *value, CoreRef token);
// The value with its leaves' unknown sizes set to those of the type.
void lower_value_set_dims(Lower *l, const Value *value, const LType *type);
// Zeros in the shape of the type; unknown sizes are 0.
Value *lower_value_zero(Lower *l, const LType *type);
CoreRef lower_value_tag(Lower *l, const Value *value);
Value *lower_value_payload(Lower *l, const Value *value, uint32_t ctor, uint32_t index);

// ---- frames (frame.c) -------------------------------------------------------------

typedef struct SizeEntry {
    CoreRef ref; // the size, or 0: dimension `axis` of `array`
    CoreRef array;
    uint32_t axis;
    bool is_given;   // by the instance only; a parameter's shape may still tell
    bool is_payload; // by payloads only; likewise
    Str origin;      // "the size of `a`"; may be empty
} SizeEntry;

typedef struct FrameItem {
    uint64_t key;
    void *item;
} FrameItem;

struct Frame {
    Frame *parent;
    FnInfo *info;
    CoreLoc caller;
    struct {
        FrameItem *data;
        uint32_t len, cap;
    } few;
    Map *many; // once they are many
};

Frame *lower_frame_new(Lower *l, Frame *parent);
void lower_frame_bind(Lower *l, Frame *frame, const Binding *binding, Value *value);
Value *lower_frame_value(const Frame *frame, const Binding *binding);
void lower_frame_bind_type(Lower *l, Frame *frame, const TypeVar *var, LType *type);
LType *lower_frame_type(const Frame *frame, const TypeVar *var);
// Sizes by binding, and existential ones by number.
void lower_frame_bind_size(Lower *l, Frame *frame, const Binding *binding,
                           SizeEntry entry);
SizeEntry *lower_frame_size(const Frame *frame, const Binding *binding);
void lower_frame_bind_unknown(Lower *l, Frame *frame, uint32_t id, SizeEntry entry);
SizeEntry *lower_frame_unknown(const Frame *frame, uint32_t id);

// ---- emission (emit.c) ------------------------------------------------------------

// What is known of a core value.
typedef struct RefInfo {
    CoreRef *dims;  // rank of them, or NULL; 0: not known
    CoreRef origin; // of a guarded scalar: the unguarded one, which is equal; or 0
    CoreOp op;      // of a scalar that was made here: of x, or of x and y
    CoreRef x, y;   // or 0
    bool is_size;   // an i64 that is not negative
} RefInfo;

// What has been computed in the bodies that are open: undone when they close.
typedef struct Memo {
    Map map;
    struct {
        uint64_t *data;
        uint32_t len, cap;
    } trail;
} Memo;

typedef struct Mark { // of an open body
    uint32_t trail;
    CoreRef first; // values from here on are bound inside
} Mark;

// Keys of the memo: a kind in the top bits and what it is about below.
#define MEMO_ADD    ((uint64_t)1 << 60)
#define MEMO_SUB    ((uint64_t)2 << 60)
#define MEMO_MUL    ((uint64_t)3 << 60)
#define MEMO_DIM    ((uint64_t)4 << 60)
#define MEMO_GLOBAL ((uint64_t)5 << 60)
#define MEMO_SIZE   ((uint64_t)6 << 60)

void lower_at(Lower *l, Span span); // where the next statements come from
CoreLoc lower_here(Lower *l);
void lower_count(Lower *l); // one more unit of work
CoreStm *lower_emit(Lower *l, CoreOp op, const CoreRef *args, uint32_t arg_count,
                    const CoreType *out_types, uint32_t out_count);
CoreRef lower_emit_one(Lower *l, CoreOp op, const CoreRef *args, uint32_t arg_count,
                       CoreType type);
CoreRef lower_emit_op1(Lower *l, CoreOp op, CoreRef x);
CoreRef lower_emit_op2(Lower *l, CoreOp op, CoreRef x, CoreRef y);
CoreRef lower_emit_conv(Lower *l, CoreOp op, CoreRef x, ScalarType to);
Mark lower_body_open(Lower *l, const CoreRef *params, uint32_t param_count);
CoreBody *lower_body_close(Lower *l, Mark mark, const CoreRef *results,
                           uint32_t result_count);
// The value if it is bound outside the body, else 0.
CoreRef lower_body_outer(const Lower *l, Mark mark, CoreRef ref);
bool lower_stm_may_fail(const CoreProgram *program, const CoreStm *stm);
// Whether it is a constant of at most 2^24.
bool lower_size_is_small(const CoreProgram *program, CoreRef ref);
bool lower_memo_get(const Lower *l, uint64_t key, uint64_t *item_out);
void lower_memo_set(Lower *l, uint64_t key, uint64_t item);

CoreType lower_ref_type(const Lower *l, CoreRef ref);
bool lower_ref_is_const(const Lower *l, CoreRef ref,
                        int64_t *value_out); // sign-extended
void lower_ref_name(Lower *l, CoreRef ref, Sym name);
void lower_ref_is_size(Lower *l, CoreRef ref); // from here on
RefInfo *lower_ref_info(Lower *l, CoreRef ref);
CoreRef lower_ref_origin(Lower *l, CoreRef ref);
CoreRef lower_ref_known_dim(Lower *l, CoreRef ref, uint32_t axis); // 0: not known
void lower_ref_set_dim(Lower *l, CoreRef ref, uint32_t axis, CoreRef dim);
void lower_ref_copy_dims(Lower *l, CoreRef to, uint32_t to_axis, CoreRef from,
                         uint32_t from_axis, uint32_t count);
CoreRef lower_ref_dim(Lower *l, CoreRef ref, uint32_t axis);

// ---- one statement each (ops.c) ---------------------------------------------------

CoreRef lower_emit_i64(Lower *l, int64_t value);
// Arithmetic, comparison and logic with constants folded.
CoreRef lower_emit_add(Lower *l, CoreRef x, CoreRef y);
CoreRef lower_emit_sub(Lower *l, CoreRef x, CoreRef y);
CoreRef lower_emit_mul(Lower *l, CoreRef x, CoreRef y);
CoreRef lower_emit_compare(Lower *l, CoreOp op, CoreRef x, CoreRef y); // integers
// Whether two sizes agree, be they guarded or not.
CoreRef lower_emit_same_size(Lower *l, CoreRef x, CoreRef y);
CoreRef lower_emit_both(Lower *l, CoreRef x, CoreRef y);
CoreRef lower_emit_either(Lower *l, CoreRef x, CoreRef y);
CoreRef lower_emit_not(Lower *l, CoreRef x);
CoreRef lower_emit_select(Lower *l, CoreRef cond, CoreRef yes, CoreRef no);
CoreRef lower_emit_all(Lower *l, CoreRef flags); // of an array; in scalar.c
// The operator on scalars, folded where no operand's error would go; in scalar.c.
CoreRef lower_emit_scalar2(Lower *l, CoreOp op, CoreRef x, CoreRef y);
CoreRef lower_emit_to_i64(Lower *l, CoreRef x);
// Whether a check of it would say nothing: it holds anyway, or none is wanted.
bool lower_needs_no_check(Lower *l, CoreRef cond);
// A check with its token, or 0 when it holds anyway or is switched off.
CoreRef lower_emit_check(Lower *l, CoreRef cond, Str text, const CoreRef *args,
                         uint32_t count);
// The number, checked to be no negative size.
CoreRef lower_emit_size(Lower *l, CoreRef n);
CoreRef lower_emit_guard(Lower *l, CoreRef ref, CoreRef token);
CoreRef lower_emit_index(Lower *l, CoreRef a, const CoreRef *indices, uint32_t count);
CoreRef lower_emit_slice(Lower *l, CoreRef a, uint32_t axis, CoreRef start,
                         CoreRef count, CoreRef stride);
CoreRef lower_emit_permute(Lower *l, CoreRef a, const int32_t *perm);
CoreRef lower_emit_reshape(Lower *l, CoreRef a, const CoreRef *dims, uint32_t count);
CoreRef lower_emit_replicate(Lower *l, CoreRef n, CoreRef x);
CoreRef lower_emit_iota(Lower *l, CoreRef n, CoreRef start, CoreRef step);
CoreRef lower_emit_zero(Lower *l, CoreType type, const CoreRef *dims);

// ---- payloads (choice.c) ----------------------------------------------------------

// What a payload belongs to: a constructor, and the one in whose payload that is.
typedef struct Choice {
    CoreRef tag; // a u8, or an array of them
    uint32_t ctor;
    const struct Choice *outer; // of no higher rank; or NULL
} Choice;

// Whether a size may pass that is the `same` as wanted: also if nothing chose so.
CoreRef lower_choice_allows(Lower *l, const Choice *choice, CoreRef same);
// The size of an array in the payload if something chose so, else the other.
CoreRef lower_choice_size(Lower *l, const Choice *choice, CoreRef size,
                          CoreRef otherwise);
// The array if its size along the axis is the `same` as wanted, else zeros that fit.
CoreRef lower_choice_fit(Lower *l, CoreRef same, CoreRef ref, uint32_t axis,
                         CoreRef size);

// ---- sizes (size.c) ---------------------------------------------------------------

// The size as an i64, or 0 when it is not known in this frame.
CoreRef lower_size_ref(Lower *l, Frame *frame, Size *size);
CoreRef lower_size_param(Lower *l, Frame *frame, const Binding *size);
// Takes from the value's shape every size of the type that is not bound yet.
void lower_sizes_bind(Lower *l, Frame *frame, Type *type, const Value *value, Str what);
// Checks the value's shape against the sizes that are known; returns it guarded.
Value *lower_sizes_check(Lower *l, Frame *frame, Type *type, Value *value, Str what);

// ---- patterns (pat.c) -------------------------------------------------------------

// What a pattern's value is called in messages: "argument `x` of `f`" or "`x`".
typedef struct Subject {
    const char *role; // "argument " or ""
    Sym of;           // the function; may be 0
} Subject;

// Binds all names; sizes first, over all patterns, then their checks.
void lower_pats_bind(Lower *l, Frame *frame, const BindingVec *sizes, TPat *const *pats,
                     Value *const *values, uint32_t count, Subject subject);
// Whether the value matches; the constant true for an irrefutable pattern.
CoreRef lower_pat_test(Lower *l, Frame *frame, const TPat *pat, const Value *value);

// ---- evaluation -------------------------------------------------------------------

// exp.c
Value *lower_eval(Lower *l, Frame *frame, const TExp *exp);
CoreRef lower_eval_ref(Lower *l, Frame *frame, const TExp *exp); // of a scalar
// control.c
Value *lower_eval_if(Lower *l, Frame *frame, const TExp *exp);
// && and ||, the left operand being evaluated already.
Value *lower_eval_logic(Lower *l, Frame *frame, const TExp *exp, const Value *first);
Value *lower_eval_match(Lower *l, Frame *frame, const TExp *exp);
Value *lower_eval_loop(Lower *l, Frame *frame, const TExp *exp);
// index.c
Value *lower_eval_index(Lower *l, Frame *frame, const TExp *exp);
Value *lower_eval_update(Lower *l, Frame *frame, const TExp *exp);
// range.c
Value *lower_eval_range(Lower *l, Frame *frame, const TExp *exp);
// apply.c
Value *lower_apply(Lower *l, Value *fun, Value *const *args, uint32_t count, Span span);
Value *lower_eval_var(Lower *l, Frame *frame, const TExp *exp);
Value *lower_eval_binding(Lower *l, Frame *frame, Binding *binding,
                          const TypeVec *type_args, const SizeVec *size_args,
                          Span span);
FnInfo *lower_fn_info(Lower *l, const Binding *binding);
// instance.c: functions that are kept; NULL when it must be inlined after all
Value *lower_call_instance(Lower *l, const Fun *fun, Value *const *args);

// ---- intrinsics (intrinsic.c and the files of the handlers) -----------------------

typedef struct Call {
    Binding *binding;
    CoreOp op;    // of a row that stands for a core operator
    Frame *frame; // type and size parameters
    Value **args;
    uint32_t arg_count;
    Span span;
} Call;

typedef Value *(*Handler)(Lower *l, Call *call);

typedef struct Intrinsic {
    const char *name;
    uint32_t arity;
    bool has_sizes; // the types of its parameters are checked against the arguments
    CoreOp op;
    Handler handler;
} Intrinsic;

const Intrinsic *lower_intrinsic_find(const Lower *l, const Binding *binding);
void lower_intrinsics_index(Lower *l);
// The type of the call's result.
LType lower_call_result(Lower *l, const Call *call);
Value *lower_intrinsic_apply(Lower *l, const Intrinsic *intrinsic, const Fun *fun,
                             Value *const *args, Span span);
#define INTRINSIC(name, arity, sizes, op, handler)                                     \
    Value *lower_intrinsic_##handler(Lower *l, Call *call);
#include "lower/intrinsics.def"
#undef INTRINSIC

// ---- the whole --------------------------------------------------------------------

typedef struct Instance { // a function that is kept, at given layouts
    const Binding *binding;
    const Layout **key;
    uint32_t key_count;
    int32_t fun; // its number in the program
    const Layout *result;
} Instance;

// What belongs to the core function under construction.
typedef struct Building {
    CoreBuilder b;
    Memo memo;
    Map constants; // global constants evaluated in its outermost body
} Building;

struct Lower {
    Cx *cx;
    Arena *arena;
    CoreProgram *program;
    Building now;
    FnInfo *info;   // the source function being evaluated
    CoreLoc caller; // where it was called
    Span span;
    CoreLoc here;  // of the three above, or 0: not made yet
    uint64_t work; // statements and applications so far
    struct {
        RefInfo *data;
        uint32_t len, cap;
    } refs;
    struct {
        Layout **data;
        uint32_t len, cap;
    } layouts;
    Map layout_index;
    const Layout *scalars[SCALAR_COUNT];
    const Layout *fun_layout;
    struct {
        FnInfo **data;
        uint32_t len, cap;
    } infos;
    Map info_index;
    Map intrinsics; // name -> number + 1
    struct {
        Instance *data;
        uint32_t len, cap;
    } instances;
    // While an entry's parameters are bound: the checks so far, which hold whatever the
    // entry does with its arguments. Else NULL.
    CoreRefs *entry_checks;
    jmp_buf *bail;
};

// Reports a mistake and gives the lowering up.
_Noreturn void lower_fail(Lower *l, LowerDiag kind, Str what);
_Noreturn void lower_too_large(Lower *l, LowerDiag kind);
// The source text of a span.
Str lower_text(const Lower *l, Span span);
// A message: printf into the arena.
Str lower_format(const Lower *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
Str lower_name(const Lower *l, Sym name);
// The text with nothing in it that a check's message would fill in.
Str lower_quotable(const Lower *l, Str text);
// Starts a core function: nothing is open, nothing is known.
void lower_begin(Lower *l);

#endif
