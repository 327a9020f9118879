// SPDX-License-Identifier: Apache-2.0
//
// Inside the checker: its state and what its files offer one another.
//
// One counter numbers everything that has an age: bindings, variables, unknown sizes.
// A variable's level is the counter when it was made (or the least level it was unified
// with). That one number serves twice. Generalisation: a variable is a definition's own
// when its level is not below the counter at the definition's start. Scope of sizes: a
// variable may not be solved to a type that mentions a local binding made after it;
// such sizes become SIZE_UNKNOWN.
#ifndef WEFT_CHECK_CHECKER_H
#define WEFT_CHECK_CHECKER_H

#include "check/check.h"
#include "check/diags.h"

enum { MOST_WEIGHT = 100000 }; // nodes a type may have as a tree

typedef struct Checker Checker;
typedef struct Scope Scope;
typedef struct Entry Entry;
typedef struct Module Module;
typedef struct Locals Locals;
typedef struct Frame Frame;
typedef struct File File;

// ---- scopes (scope.c) --------------------------------------------------------------

typedef enum Space {
    SPACE_VALUE,
    SPACE_TYPE,
    SPACE_MODULE,
    SPACE_SIG,
    SPACE_COUNT
} Space;

// What a definition sees: the entries of scope made before limit, and its parents.
typedef struct Env {
    Scope *scope;
    uint32_t limit;
} Env;

// A type that takes parameters: an abbreviation, or an abstract type (body is then a
// TYPE_ABS over the parameters).
typedef struct TypeConParam {
    TypeVar *var; // or
    Binding *size;
} TypeConParam;

typedef struct TypeCon {
    Sym name; // with its module's in front
    Span span;
    uint8_t lifting; // TypeParamKind
    struct {
        TypeConParam *data;
        uint32_t len, cap;
    } params;
    Type *body;
} TypeCon;

typedef enum EntryState { ENTRY_LAZY, ENTRY_BUSY, ENTRY_DONE } EntryState;

// A name in a scope. Entries are elaborated when first looked at.
struct Entry {
    Space space;
    Sym name;
    Span span;
    uint32_t seq;
    bool is_hidden; // local: not seen from outside
    bool used;
    uint32_t held; // a session's value: its number
    EntryState state;
    Entry *older;  // of the same name and space in this scope
    Entry *target; // an alias stands for this one
    void (*force)(Checker *ck, Entry *entry);
    Env env;
    const Decl *decl; // what force works on
    const Spec *spec;
    struct View *view;
    Entry *impl; // of a view: the entry behind the specification
    Binding *value;
    TypeCon *type; // with a wrong definition: a body that is the error type
    Module *module;
};

typedef struct Open {
    uint32_t seq;
    bool is_hidden;
    Module *module; // NULL until needed
    const ModExp *exp;
    Env env;
    bool busy;
    Map lacks; // of a library that is not read yet: names that its text has not
} Open;

struct Scope {
    Env parent;
    Map names; // sym and space to the newest Entry
    struct {
        Entry **data;
        uint32_t len, cap;
    } entries;
    struct {
        Open *data;
        uint32_t len, cap;
    } opens;
    uint32_t next_seq;
    File *file;
    const DeclVec *decls; // what is or will be declared, for messages
    bool is_lazy;         // elaborate on demand: library code, checked functor bodies
    bool is_cell;         // a session's text: may hold entries
};

typedef enum ModuleKind {
    MODULE_STRUCT,
    MODULE_FUN,
    MODULE_FUN_VIEW,
    MODULE_ERROR
} ModuleKind;

struct Module {
    ModuleKind kind;
    Span span;
    Scope *scope;           // STRUCT
    const ModParam *params; // FUN: at least one
    uint32_t param_count;
    const SigExp *result; // FUN: or NULL
    const ModExp *body;   // FUN
    Env env;              // FUN, FUN_VIEW
    Module *impl;         // FUN_VIEW: applied behind
    const SigExp *arrow;  // the signature arrow
};

struct File {
    Str path;
    const Source *source;
    bool is_lib, busy;
    Module *module;
};

// Names bound inside one definition, innermost last.
typedef struct Local {
    Space space;
    Sym name;
    Span span;
    Binding *value;
    TypeCon *type;
    struct Local *older;
    uint32_t depth;
    bool used;
} Local;

struct Locals {
    Map names;
    struct {
        Local **data;
        uint32_t len, cap;
    } trail;
    struct {
        Module **data;
        uint32_t len, cap;
    } opens;
    struct {
        uint32_t *data;
        uint32_t len, cap;
    } open_depths;
};

// ---- one definition under way ------------------------------------------------------

typedef enum PendingKind {
    PENDING_LIT, // range of a literal, its bits
    PENDING_PAT_LIT,
    PENDING_FIELD,  // the field's index
    PENDING_UPDATE, // the path's indices
    PENDING_CTOR,
    PENDING_PAT_CTOR,
    PENDING_MATCH,     // exhaustiveness
    PENDING_LET_PAT,   // a pattern that must not fail
    PENDING_SIZE_ARGS, // sizes that only the context gives
    PENDING_POWER      // `**`: the library's function when the type is a float
} PendingKind;

typedef struct Pending {
    PendingKind kind;
    TExp *exp;
    TPat *pat;
    const Lit *lit;
    bool negative;
    const NameVec *path;
} Pending;

// An unknown size that is `a` should that turn out to be `b`.
typedef struct SizeJoin {
    Size *joined, *a, *b;
} SizeJoin;

// The checker's part of a global.
typedef struct Global {
    const Decl *decl;
    Env env;
    Frame *frame; // kept between header and body
    struct FunHead *head;
    bool has_body; // the body was checked
    bool busy, emitted;
    bool is_phantom; // a parametric module's own check; never run
    bool is_lib;
    BindingVec deps;
} Global;

struct Frame {
    Frame *outer;
    Locals *locals;
    Env env;
    Global *global;  // what is being defined, or NULL
    TypeVarVec vars; // inference variables made
    SizeVec size_vars;
    SizeVec exp_sizes; // SIZE_EXP sizes made: they may mention size variables
    SizeVec deferred;  // pairs of sizes to be unified once more is known
    uint32_t loops;    // under way
    struct {
        SizeJoin *data;
        uint32_t len, cap;
    } joins; // made in the loops under way
    struct {
        Pending *data;
        uint32_t len, cap;
    } pending;
    struct {
        Sym *data;
        uint32_t len, cap;
    } defining; // for "refers to itself"
    uint32_t mark;
    uint32_t errors; // reported before it started
    uint32_t owner;  // numbers definitions, for size parameters
    bool is_lib;
    bool has_star; // something consumes, or a result is unique
};

// ---- constraints and clashes (unify.c) ---------------------------------------------

typedef uint16_t ScalarSet;
#define SCALARS(t) ((ScalarSet)(1u << (t)))

typedef struct Constraint {
    ScalarSet scalars; // 0: any type
    bool equality;
    bool from_char;             // prefers u8
    FieldVec fields;            // must be a record with these
    CtorVec ctors;              // must be a sum with these
    Sym cause;                  // the operator, or 0
    ScalarSet operator_scalars; // what the operator works on
    Span span;
} Constraint;

typedef enum ClashKind {
    CLASH_NONE,
    CLASH_KINDS,    // type a is not type b
    CLASH_SIZES,    // size_a is not size_b
    CLASH_RIGID,    // a is a type parameter and b is something else
    CLASH_OCCURS,   // a would contain itself (b)
    CLASH_SCALARS,  // a is not one of the constraint's scalars
    CLASH_EQUALITY, // a has no equality
    CLASH_NO_FIELD, // record a has no field `name`
    CLASH_NO_CTOR,  // sum a has no constructor `name`
    CLASH_PAYLOAD,  // constructor `name` of a has another number of arguments
    CLASH_FUNCTION, // a holds a function where it must not
    CLASH_LARGE
} ClashKind;

typedef struct Clash {
    ClashKind kind;
    Type *a, *b;
    Size *size_a, *size_b;
    const Constraint *constraint;
    Sym name;
} Clash;

// How unequal sizes are treated.
typedef enum SizeMode {
    SIZES_STRICT, // constants and parameters of one definition must agree
    SIZES_LOOSE,  // anything goes; variables are solved all the same
    SIZES_JOIN,   // the same, save that open sizes stay what they are
    SIZES_VIEW,   // the same, save that a hidden size solves nothing
    SIZES_FORCED  // the same, and n * m = a * b is taken apart factor by factor
} SizeMode;

struct Checker {
    Cx *cx;
    Arena *arena;
    const CheckImporter *importer;
    uint32_t counter; // see the top
    uint32_t next_owner;
    Frame *frame;
    Span here; // what is being looked at, for limits
    bool reported_deep, reported_large;
    bool is_broken;  // syntax errors left definitions out: names may be missing
    bool is_phantom; // checking a parametric module's own body
    SizeMode size_mode;
    uint32_t reveal_from; // abstract types from this id on are looked through
    Clash clash;
    uint32_t visits; // of the running traversal
    Sym prefix;      // the module being defined, or 0
    Type *error_type;
    Type *scalars[SCALAR_COUNT];
    Type *unit;
    Scope *root; // scalar types and built-in operators
    File *prelude;
    Module *prelude_module;
    struct {
        File **data;
        uint32_t len, cap;
    } files;
    BindingVec globals; // the user's, in order
    TProgram *program;
    Sym sym_length, sym_main, sym_map, sym_pipe, sym_pipe_left, sym_and, sym_or,
        sym_wild;
    Sym op_add, op_sub, op_mul, op_neg; // names of intrinsics
    Binding *add_op, *sub_op, *mul_op, *not_op, *neg_op, *and_op, *or_op, *pow_op;
};

// ---- type.c: making and walking types ----------------------------------------------

Type *type_scalar(Checker *ck, ScalarType scalar);
Type *type_array(Checker *ck, Size *size, Type *elem);
Type *type_tuple(Checker *ck, Type *const *items, uint32_t count);
// Sorts the fields.
Type *type_record(Checker *ck, FieldVec fields);
Type *type_sum(Checker *ck, CtorVec ctors);
Type *type_fun(Checker *ck, Type *param, Type *result);
// Recomputes is_ground and weight after a change to a new type.
Type *type_measure(Checker *ck, Type *type);
Type *type_of_var(Checker *ck, TypeVar *var);
Type *type_fresh(Checker *ck, Span origin);      // any type
Type *type_fresh_data(Checker *ck, Span origin); // no functions in it
Type *type_fresh_scalar(Checker *ck, Span origin, ScalarSet set, Sym cause);
TypeVar *type_var_new(Checker *ck, Span origin);
TypeVar *type_param_new(Checker *ck, Sym name, uint8_t lifting, Span origin);
bool type_is_error(const Checker *ck, const Type *type);
bool type_is_scalar(Type *type, ScalarType scalar);
// An unsolved inference variable.
bool type_is_open(Type *type);
// How many arguments a function takes one after the other; of anything else 0.
uint32_t type_arity(Type *type);
// Whether both are functions, of so many arguments that they can never be one type.
bool type_arities_differ(Type *a, Type *b);
Sym field_sym(Checker *ck, uint32_t index);
int field_compare(const Checker *ck, Sym a, Sym b);
// The index of a field, or -1.
int record_find(const FieldVec *fields, Sym name);
int sum_find(const CtorVec *ctors, Sym name);
bool record_is_tuple(const Checker *ck, const FieldVec *fields);

// Replaces variables, sizes, and unknown sizes (anew) in a type.
typedef struct Subst {
    TypeVar *const *vars;
    Type **types;
    uint32_t var_count;
    Binding *const *names;
    Size **sizes;
    uint32_t name_count;
    uint32_t unknown_from; // unknown sizes with ids from here on are renewed
    Size *const *exists;   // and so are these
    uint32_t exists_count;
    // Local bindings made from here on become unknown sizes (0: none do).
    uint32_t escape_from;
    uint32_t level;        // lowers the level of variables to this (0: leaves them)
    bool no_functions;     // notes CLASH_FUNCTION if it meets one
    const TypeVar *occurs; // notes CLASH_OCCURS if it meets it
    struct {
        Size **from, **to;
        uint32_t len, cap, cap2;
    } renewed;
    BindingVec bound; // parameter names of enclosing function types
} Subst;
Type *type_subst(Checker *ck, Subst *subst, Type *type);
Size *size_subst(Checker *ck, Subst *subst, Size *size);
TExp *texp_subst(Checker *ck, Subst *subst, TExp *exp); // NULL: not expressible
// The type with what was bound at or after mark replaced by unknown sizes.
Type *type_escape(Checker *ck, Type *type, uint32_t mark);
// Whether values of the type may be held in arrays and be results of if and loops.
bool type_holds_function(Checker *ck, Type *type);
bool type_has_sizes(Checker *ck, Type *type); // constrains any size
// Calls visit for every size in the type, in order; stops when it returns false.
typedef bool (*SizeVisit)(Checker *ck, Size *size, void *data);
bool type_visit_sizes(Checker *ck, Type *type, SizeVisit visit, void *data);
const char *type_show(Checker *ck, Type *type); // terminated
// The same, but an abbreviation's definition instead of its name.
const char *type_show_whole(Checker *ck, Type *type);
const char *sym_show(Checker *ck, Sym sym);

// ---- size.c ------------------------------------------------------------------------

Size *size_const(Checker *ck, int64_t value, Span origin);
Size *size_name(Checker *ck, Binding *name, Span origin);
Size *size_fresh(Checker *ck, Span origin); // a variable
Size *size_unknown(Checker *ck, Span origin);
// The size that an i64 expression denotes; unknown if it cannot be expressed.
Size *size_of_exp(Checker *ck, TExp *exp);
bool size_equal(Checker *ck, Size *a, Size *b);
// a + factor * b + offset, where that can be expressed.
Size *size_linear(Checker *ck, Size *a, int64_t factor, Size *b, int64_t offset,
                  Span origin);
// Whether the size is known to be a constant, and which.
bool size_is_const(Checker *ck, Size *size, int64_t *value_out);
// Unifies; false and a clash if the sizes can never agree or must not differ.
bool size_unify(Checker *ck, Size *a, Size *b);
const char *size_show(Checker *ck, Size *size);
void size_print(const Cx *cx, const Size *size, StrBuf *out);
void texp_print_size(const Cx *cx, const TExp *exp, StrBuf *out);
// The size of what has either: unknown, but within loops size_joins_settle may find out
// more.
Size *size_join(Checker *ck, Size *a, Size *b, Span origin);
// Ends a loop: of what was joined since there were `from` joins, finds all that can be
// one size at once, of names made before `mark`. The loop around tries the rest again.
void size_joins_settle(Checker *ck, uint32_t from, uint32_t mark);
// Unifies again what had to wait.
void sizes_retry(Checker *ck, Frame *frame);
void sizes_leave(Checker *ck, uint32_t mark); // before names made since go
// Makes variables that nothing solved unknown, and solves expressions for good.
void sizes_finish(Checker *ck, Frame *frame);

// ---- unify.c -----------------------------------------------------------------------

// Makes two types equal. On failure returns false and says why in ck->clash.
bool type_unify(Checker *ck, Type *a, Type *b);
// The same, with sizes that differ left alone; join_out then gets the type that has
// unknown sizes where they differ. `rows`: different constants are a clash.
bool type_join(Checker *ck, Type *a, Type *b, bool rows, Type **join_out);
// Demands that a type may be put in arrays; a clash otherwise.
bool type_require_data(Checker *ck, Type *type);
bool type_require(Checker *ck, Type *type, const Constraint *constraint);
// The default of a constrained variable; NULL if it has none.
Type *constraint_default(Checker *ck, const Constraint *constraint);

// ---- written.c: what an abbreviation was given -------------------------------------

typedef struct WrittenArg {
    Type *type; // or
    Size *size;
} WrittenArg;
// What stands for each parameter of type->written; NULL if one of them is nowhere in
// the type, or the type is no longer an instance of what the abbreviation stands for.
WrittenArg *written_args(const Cx *cx, const Type *type, Arena *arena);

// ---- message.c ---------------------------------------------------------------------

Diag *check_error(Checker *ck, CheckDiag kind, Span span, ...);
Diag *check_warning(Checker *ck, CheckDiag kind, Span span, ...);
void check_label(Checker *ck, Diag *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_note(Checker *ck, Diag *diag, Span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void check_hint(Checker *ck, Diag *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Reports that `found` is not `expected`, from ck->clash. `what` names the thing, such
// as "the condition", and may be NULL.
Diag *report_mismatch(Checker *ck, Span span, Type *expected, Type *found,
                      const char *what);
// Unifies and reports; the error type never fails.
bool expect(Checker *ck, Span span, Type *expected, Type *found, const char *what);
// Whether there is stack left; reports the lack once.
bool deep_enough(Checker *ck, Span span);
bool not_supported(Checker *ck, Span span, const char *what); // always false
void report_large(Checker *ck);
void report_function(Checker *ck, Span span, Type *type, const char *where);

// ---- scope.c -----------------------------------------------------------------------

Scope *scope_new(Checker *ck, Env parent);
Env env_now(Scope *scope);
Entry *scope_add(Checker *ck, Scope *scope, Space space, Name name, bool is_hidden);
void scope_alias(Checker *ck, Scope *scope, Entry *target);
Entry *scope_find(Checker *ck, Env env, Space space, Sym name);
Entry *module_find(Checker *ck, const Module *module, Space space, Sym name);
void entry_force(Checker *ck, Entry *entry);
// What a qualified name stands for: a local (values and types without qualifier) or an
// entry, forced. NULL and a diagnostic if there is none.
typedef struct Found {
    Local *local;
    Entry *entry;
} Found;
bool name_lookup(Checker *ck, Space space, const QualName *name, Found *found_out);
// The same without a diagnostic, for the first `count` parts of the name.
bool name_try(Checker *ck, Space space, const QualName *name, uint32_t count,
              Found *found_out);
void report_unknown(Checker *ck, Space space, const QualName *name);
Module *module_lookup(Checker *ck, const QualName *name);

// prefix.name
Sym join_names(Checker *ck, Sym prefix, Sym name);
Locals *locals_new(Checker *ck);
uint32_t locals_mark(const Checker *ck);
void locals_release(Checker *ck, uint32_t mark);
Local *local_value(Checker *ck, Name name, Binding *binding);
Local *local_type(Checker *ck, Name name, TypeCon *type);
void local_open(Checker *ck, Module *module);
void local_close(Checker *ck);

Frame *frame_new(Checker *ck, Env env, Global *global);
Binding *binding_new(Checker *ck, BindingKind kind, Name name, Type *type);
// Appends ", did you mean ..." as a hint if some candidate is near.
typedef struct Near {
    Sym wanted, best;
    unsigned distance;
} Near;
void near_try(const Checker *ck, Near *near, Sym candidate);

// ---- typexp.c ----------------------------------------------------------------------

// What a size that nobody wrote ([]) becomes.
typedef enum AnonSize {
    ANON_VAR,    // solved by use
    ANON_PARAM,  // a size parameter without a name, collected
    ANON_UNKNOWN // existential
} AnonSize;

typedef struct TypeCx {
    AnonSize anon;
    BindingVec *params; // collects ANON_PARAM sizes
    bool no_anon;       // [] needs type~
    bool allow_unique;
    bool is_unique;   // out: the type was *t
    const Diet *diet; // out: which parts are unique
} TypeCx;
Type *typexp_check(Checker *ck, const TypeExp *exp, TypeCx *tcx);
// Binds type parameters as locals; the results are in order.
void type_params_bind(Checker *ck, const TypeParamVec *params, TypeVarVec *vars_out,
                      BindingVec *sizes_out);
Binding *size_param_bind(Checker *ck, Name name);
TypeCon *typecon_check(Checker *ck, const TypeDef *def, Env env);
TypeCon *typecon_apply_def(Checker *ck, Name name, const TypeParamVec *params,
                           const TypeExp *exp, Env env, uint8_t lifting);
// The type with arguments put in: fresh unknown sizes for hidden ones.
Type *typecon_apply(Checker *ck, const TypeCon *con, Type **types, Size **sizes);

// ---- infer_*.c ---------------------------------------------------------------------

TExp *texp_new(Checker *ck, TExpKind kind, Span span, Type *type);
TExp *texp_error(Checker *ck, Span span);
TExp *infer(Checker *ck, const Exp *exp);
TExp *infer_as(Checker *ck, const Exp *exp, Type *type, const char *what);
TExp *infer_let_chain(Checker *ck, const Exp *exp);
TExp *infer_lambda(Checker *ck, const Exp *exp);
TExp *infer_loop(Checker *ck, const Exp *exp);
TExp *infer_index(Checker *ck, const Exp *exp);
TExp *infer_update(Checker *ck, const Exp *exp);
TExp *infer_let_update_value(Checker *ck, const Exp *exp, TExp **array_out);
TExp *infer_range(Checker *ck, const Exp *exp);
TExp *infer_array(Checker *ck, const Exp *exp);
TExp *infer_apply(Checker *ck, const Exp *exp);
TExp *infer_binop(Checker *ck, const Exp *exp);
TExp *infer_prefix(Checker *ck, const Exp *exp);
TExp *infer_section(Checker *ck, const Exp *exp);
TExp *infer_view(Checker *ck, TExp *fun); // a function as a value
TExp *infer_var(Checker *ck, const QualName *name);
TExp *infer_field_of(Checker *ck, TExp *record, Name field, Span span);
TExp *index_value(Checker *ck, TExp *array, const IndexVec *dims, Span span);
TExp *apply_value(Checker *ck, TExp *fun, TExp *const *args, const Span *spans,
                  uint32_t count, Span span);
TExp *var_of_binding(Checker *ck, Binding *binding, Span span);
// Records that the definition under way needs the global.
void note_dep(Checker *ck, Binding *binding);
TExp *coerce_to(Checker *ck, TExp *exp, Type *type);
// Instantiates a binding's type at fresh variables.
TExp *instantiate(Checker *ck, Binding *binding, Span span);

// Patterns. Names are bound as locals; `anon` says what [] means in ascriptions.
typedef struct PatCx {
    TypeCx types;
    bool is_param;    // `*` may stand in types
    bool quiet;       // no advice about unused names
    bool alias;       // the sizes below stand for sizes of the value
    BindingVec sizes; // bound by `let [n] ...`
    const Diet *diet;
    Span value; // where the value is, for messages; {0, 0}: nowhere
    struct {
        Name *data;
        uint32_t len, cap;
    } names; // bound so far, for duplicates
} PatCx;
TPat *pat_check(Checker *ck, const Pat *pat, Type *type, PatCx *pcx);
const Diet *pat_diet(Checker *ck, const TPat *pat);

// Functions: the parameters and result, then the body.
typedef struct FunHead {
    Binding *binding;
    TypeVarVec type_params;
    BindingVec size_params;
    BindingVec anon_sizes;
    TPatVec params;
    Type *result; // declared, or NULL
    bool result_unique;
    uint32_t mark;
    Span span;
} FunHead;
FunHead *fun_head(Checker *ck, const TypeParamVec *type_params, const PatVec *params,
                  const TypeExp *result, Span span);
TExp *fun_body(Checker *ck, FunHead *head, const Exp *body);
Type *fun_type(Checker *ck, const TPatVec *params, Type *result, bool result_unique,
               uint32_t mark);
TExp *fun_lambda(Checker *ck, FunHead *head, TExp *body);
// Whether header alone gives the type.
bool fun_is_annotated(const PatVec *params, const TypeExp *result);
// Turns what is the definition's own in its type into parameters.
void generalise(Checker *ck, Binding *binding, FunHead *head, TExp *body);

// ---- finish.c, match.c, unique.c ---------------------------------------------------

// Defaults, literals, indices: what had to wait for the whole definition.
void frame_finish(Checker *ck, Frame *frame);
void match_check(Checker *ck, const TExp *match);
void match_check_pat(Checker *ck, const TPat *pat);
void unique_check(Checker *ck, Binding *global);

// ---- module.c, signature.c ---------------------------------------------------------

void declare(Checker *ck, Scope *scope, const Decl *decl, bool is_hidden);
const LibFile *lib_find(Str path);
File *file_load(Checker *ck, Str path, Span span, bool is_lib);
Module *module_eval(Checker *ck, const ModExp *exp, Env env);
Module *module_apply(Checker *ck, Module *fun, Module *arg, Span span, Span arg_span);
Module *module_ascribe(Checker *ck, Module *module, const SigExp *sig, Env env,
                       bool opaque, Span span, bool report);
void module_force_all(Checker *ck, Module *module);
// An instance of a signature with nothing behind it.
Module *signature_instance(Checker *ck, const SigExp *sig, Env env);
void signature_check(Checker *ck, const SigExp *sig, Env env);
void global_check_body(Checker *ck, Binding *binding);
// Reports names that were never used (advice).
void warn_unused(Checker *ck, const Local *local);

// ---- check.c -----------------------------------------------------------------------

// Makes the state, with the prelude read.
Checker *check_start(Cx *cx, const CheckImporter *importer);
// A scope that sees the prelude.
Scope *check_base_scope(Checker *ck);
// Adds what a definition reaches, and itself, to the program's globals.
void check_gather(Checker *ck, Binding *root);

// ---- operators.c -------------------------------------------------------------------

void operators_declare(Checker *ck, Scope *root);

#endif
