// SPDX-License-Identifier: Apache-2.0
//
// The typed program: what the checker makes and lowering reads. Names are resolved to
// Bindings, operators and sections are elaborated, and modules are gone: a parametric
// module is elaborated once per application, so that what remains is a flat list of
// definitions in dependency order. Abstract types stay in types as TYPE_ABS but carry
// their definition, which lowering looks through.
#ifndef WEFT_CHECK_TYPED_H
#define WEFT_CHECK_TYPED_H

#include "abi/scalar.h"
#include "base/cx.h"

typedef struct Type Type;
typedef struct Size Size;
typedef struct TExp TExp;
typedef struct TPat TPat;
typedef struct Binding Binding;
typedef struct TypeVar TypeVar;

typedef struct {
    Type **data;
    uint32_t len, cap;
} TypeVec;
typedef struct {
    Size **data;
    uint32_t len, cap;
} SizeVec;
typedef struct {
    TExp **data;
    uint32_t len, cap;
} TExpVec;
typedef struct {
    TPat **data;
    uint32_t len, cap;
} TPatVec;
typedef struct {
    Binding **data;
    uint32_t len, cap;
} BindingVec;
typedef struct {
    TypeVar **data;
    uint32_t len, cap;
} TypeVarVec;

// ---- sizes -------------------------------------------------------------------------

typedef enum SizeKind {
    SIZE_CONST,   // a number
    SIZE_VAR,     // an inference variable; follow link
    SIZE_NAME,    // an i64 binding: a size parameter, a parameter, a let
    SIZE_EXP,     // any other i64 expression over names
    SIZE_UNKNOWN, // existential: known only when the program runs
    SIZE_RAGGED   // [?]
} SizeKind;

struct Size {
    SizeKind kind;
    uint32_t id;   // VAR, UNKNOWN: identity
    int64_t value; // CONST
    Size *link;    // VAR: what it was solved to, or NULL
    Binding *name; // NAME
    TExp *exp;     // EXP
    Span origin;   // where it comes from, for messages
    int32_t level; // VAR
    bool is_open;  // VAR: of a loop under way, or [] of a lambda: joins leave it alone
};

// ---- types -------------------------------------------------------------------------

typedef enum TypeKind {
    TYPE_SCALAR,
    TYPE_ARRAY,
    TYPE_RECORD, // tuples are records with the fields "0", "1", ...; unit has none
    TYPE_SUM,
    TYPE_FUN,
    TYPE_VAR, // a type parameter, or an inference variable: follow link
    TYPE_ABS, // an abstract type, with its hidden definition
    TYPE_STREAM
} TypeKind;

typedef struct Field {
    Sym name;
    Type *type;
} Field;
typedef struct {
    Field *data;
    uint32_t len, cap;
} FieldVec;

typedef struct Ctor {
    Sym name;
    TypeVec payload;
} Ctor;
typedef struct {
    Ctor *data;
    uint32_t len, cap;
} CtorVec;

struct TypeVar {
    uint32_t id;
    Sym name;         // of a parameter; 0 for an inference variable
    Type *link;       // inference variable: what it was solved to, or NULL
    bool is_param;    // rigid: a generalised type parameter
    uint8_t lifting;  // TypeParamKind of ast.h for parameters
    void *constraint; // the checker's own; NULL once solved
    int32_t level;
    Span origin;
};

// Which parts of an argument a function consumes: all of it, or parts of a record.
typedef struct Diet {
    bool consumed;
    uint32_t part_count;       // 0, or the number of fields of the record
    struct Diet *const *parts; // in the order of the fields; NULL parts are borrowed
} Diet;

struct Type {
    TypeKind kind;
    bool is_ground;  // no variables, no sizes but constants: substitution keeps it
    uint32_t weight; // nodes it has as a tree, at least; 0 if nobody counted
    // The abbreviation that a user knows it by, or NULL; the checker's own.
    const struct TypeCon *written;
    union {
        ScalarType scalar;
        struct {
            Size *size;
            Type *elem;
        } array;
        FieldVec record; // sorted: numbers by value first, then names by bytes
        CtorVec sum;     // sorted by name
        struct {
            Type *param, *result;   // curried
            Sym param_name;         // names a size in result; may be 0
            Binding *param_binding; // its binding, or NULL
            bool param_unique;      // *t: consumes its argument, or parts of it
            const Diet *param_diet; // which parts; NULL when param_unique is false
            bool result_unique;
            SizeVec result_exists; // UNKNOWN sizes made anew by every call
        } fun;
        TypeVar *var;
        struct {
            Sym name; // as messages show it
            uint32_t id;
            TypeVec type_args;
            SizeVec size_args;
            Type *def;       // with the arguments put in; NULL while truly unknown
            uint8_t lifting; // TypeParamKind of ast.h
        } abs;
        Type *elem; // STREAM
    } as;
};

// The type behind solved variables (not behind TYPE_ABS).
Type *type_resolve(Type *type);
Size *size_resolve(Size *size);
// The same, and behind abstract types: what lowering sees.
Type *type_reveal(Type *type);
// Appends the type as a user would write it.
void type_print(const Cx *cx, const Type *type, StrBuf *out);

// ---- bindings ----------------------------------------------------------------------

typedef enum BindingKind {
    BIND_GLOBAL,   // a definition; body in global
    BIND_LOCAL,    // let, parameter, loop or case variable
    BIND_SIZE,     // a size parameter, i64
    BIND_INTRINSIC // built in: an operator, or a library header with #[intrinsic(x)]
} BindingKind;

struct Binding {
    BindingKind kind;
    Sym name;
    Span span;
    Type *type;             // may mention the parameters below
    TypeVarVec type_params; // generalised; an occurrence instantiates them in order
    BindingVec size_params; // BIND_SIZE bindings, likewise
    Sym intrinsic;          // INTRINSIC: which one
    TExp *body;             // GLOBAL: NULL until it is checked
    bool no_inline;         // #[noinline]
    bool uses_held;         // GLOBAL: reaches a held one
    uint32_t held;          // GLOBAL: its value is given from outside under this number
    bool is_unique;         // may be consumed
    uint32_t id;            // distinct in the program
    uint32_t owner;         // SIZE: which definition's parameter it is
    Size *alias;            // SIZE: the size it was bound from, or NULL
    void *check_data;       // the checker's own (lazy bodies, diets and the like)
};

// ---- patterns ----------------------------------------------------------------------

typedef enum TPatKind {
    TPAT_NAME,
    TPAT_WILD,
    TPAT_RECORD,
    TPAT_LIT,
    TPAT_CTOR
} TPatKind;

struct TPat {
    TPatKind kind;
    Span span;
    Type *type;
    // The type the user wrote here, or NULL. Lowering takes from the value's shape
    // every size in it that is a not yet bound BIND_SIZE, and checks all others against
    // it.
    Type *ascribed;
    union {
        Binding *name;
        TPatVec record; // one per field of the type, in its order
        struct {
            ScalarType scalar;
            uint64_t bits;
        } lit;
        struct {
            uint32_t index;
            Sym name;
            TPatVec args;
        } ctor;
    } as;
};

// ---- expressions -------------------------------------------------------------------

typedef enum TExpKind {
    TEXP_LIT,
    TEXP_STRING, // []u8
    TEXP_VAR,
    TEXP_RECORD, // fields in the order of the type; tuples too
    TEXP_ARRAY,
    TEXP_FIELD,
    TEXP_INDEX, // mixed indices and slices
    TEXP_APPLY, // curried application to one or more arguments
    TEXP_LAMBDA,
    TEXP_LET, // functions too. A polymorphic name (with type_params or size_params)
              // has an exp of function type, not always a LAMBDA
    TEXP_IF,
    TEXP_AND, // a && b, a || b: b is evaluated only if needed
    TEXP_OR,
    TEXP_LOOP,
    TEXP_RANGE,
    TEXP_UPDATE,
    TEXP_RECORD_UPDATE,
    TEXP_COERCE, // the value, its shape checked against type (":>", ascriptions,
                 // declared results); sizes of type that are unknown are not checked
    TEXP_ASSERT,
    TEXP_CTOR,
    TEXP_MATCH,
    TEXP_HOLE, // ???: fails when reached
    TEXP_ATTR  // #[unsafe], #[trace] and others on an expression
} TExpKind;

typedef struct TIndex {
    bool is_slice;
    TExp *index;            // any integer type
    TExp *from, *to, *step; // i64; NULL where absent
    Span span;
} TIndex;
typedef struct {
    TIndex *data;
    uint32_t len, cap;
} TIndexVec;

typedef enum TLoopForm { TLOOP_FOR, TLOOP_IN, TLOOP_WHILE } TLoopForm;
typedef enum TRangeKind { TRANGE_TO, TRANGE_UP_TO, TRANGE_DOWN_TO } TRangeKind;

typedef struct TCase {
    TPat *pat;
    TExp *body;
    Span span;
} TCase;

struct TExp {
    TExpKind kind;
    Span span;
    Type *type;
    union {
        struct {
            uint64_t bits;
        } lit; // of the scalar type `type`
        Str string;
        struct {
            Binding *binding;
            TypeVec type_args; // for binding->type_params, in order
            SizeVec size_args; // for binding->size_params, in order
            Binding *shown;    // the specification it was seen through, or NULL
        } var;
        TExpVec items; // RECORD, ARRAY
        struct {
            TExp *exp;
            Sym name;
            uint32_t index;
        } field;
        struct {
            TExp *exp;
            TIndexVec dims;
        } index;
        struct {
            TExp *fun;
            TExpVec args;
        } apply;
        struct {
            BindingVec sizes; // size parameters its parameters bind
            TPatVec params;   // one or more
            TExp *body;
        } lambda;
        struct {
            BindingVec sizes; // let [n] (x: [n]t) = ...
            TPat *pat;
            TExp *exp, *body;
        } let;
        struct {
            TExp *cond, *then_exp, *else_exp;
        } if_exp;
        struct {
            TExp *left, *right;
        } logic; // AND, OR
        struct {
            BindingVec sizes;
            TPat *pat;
            TExp *init;
            TLoopForm form;
            Binding *index; // FOR
            TPat *elem;     // IN
            TExp *bound;    // FOR: the number; IN: the array; WHILE: the condition
            TExp *body;
        } loop;
        struct {
            TExp *start, *second, *end;
            TRangeKind kind;
        } range; // second or NULL
        struct {
            TExp *exp;
            TIndexVec dims;
            TExp *value;
        } update;
        struct {
            TExp *exp;
            struct {
                uint32_t *data;
                uint32_t len, cap;
            } path; // field indices
            TExp *value;
        } record_update;
        TExp *inner; // COERCE
        struct {
            TExp *cond, *body;
            Str text;
        } assert_exp; // text: the condition
        struct {
            uint32_t index;
            TExpVec args;
        } ctor;
        struct {
            TExp *exp;
            struct {
                TCase *data;
                uint32_t len, cap;
            } cases;
        } match;
        struct {
            Sym name;
            TExp *exp;
        } attr;
    } as;
};

// ---- program -----------------------------------------------------------------------

typedef struct TEntry {
    Sym name;
    Binding *binding;
    Span span;
    Str doc;
} TEntry;

// What the newest cell of a session declares.
typedef struct TDefined {
    const struct Decl *decl;
    Binding *binding; // of a value
    bool is_entry;    // a value that can be computed: no function, not polymorphic
} TDefined;

typedef struct TProgram {
    BindingVec globals; // those reachable from entries (lazily checked library bodies
                        // that nothing reaches are absent), callees before callers
    struct {
        TEntry *data;
        uint32_t len, cap;
    } entries;
    BindingVec held; // of the globals: every entry takes their values, in this order
    struct {
        TDefined *data;
        uint32_t len, cap;
    } defined; // by a session's newest cell
} TProgram;

#endif
