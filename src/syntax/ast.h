// SPDX-License-Identifier: Apache-2.0
//
// The abstract syntax of Weft (design: language.md, sections 1-6). The parser makes it,
// the printer and the checker read it. Nodes live in the arena of the Cx and keep what
// a formatter needs (parentheses, the form of literals); nothing is resolved.
#ifndef WEFT_SYNTAX_AST_H
#define WEFT_SYNTAX_AST_H

#include "base/source.h"
#include "base/str.h"

typedef struct Exp Exp;
typedef struct TypeExp TypeExp;
typedef struct Pat Pat;
typedef struct Decl Decl;
typedef struct ModExp ModExp;
typedef struct SigExp SigExp;

typedef struct Name {
    Sym sym;
    Span span;
} Name;

// a.b.c: quals {a, b}, name c. Operators too: m.(+) and x m.+ y.
typedef struct QualName {
    struct { Name *data; uint32_t len, cap; } quals;
    Name name;
    Span span;
} QualName;

typedef struct { Exp **data; uint32_t len, cap; } ExpVec;
typedef struct { Pat **data; uint32_t len, cap; } PatVec;
typedef struct { TypeExp **data; uint32_t len, cap; } TypeExpVec;
typedef struct { Name *data; uint32_t len, cap; } NameVec;
typedef struct { Decl **data; uint32_t len, cap; } DeclVec;

// #[name], #[name(arg, ...)]; args may be names, numbers or nested attributes.
typedef struct Attr {
    Name name;
    struct { struct Attr *data; uint32_t len, cap; } args;
    bool is_number;  // the "name" is an integer literal
    Span span;
} Attr;
typedef struct { Attr *data; uint32_t len, cap; } AttrVec;

// [n], 'a, '~a, '^a in front of parameters.
typedef enum TypeParamKind {
    TP_SIZE,         // [n]
    TP_TYPE,         // 'a
    TP_SIZE_LIFTED,  // '~a
    TP_LIFTED        // '^a
} TypeParamKind;

typedef struct TypeParam {
    TypeParamKind kind;
    Name name;
} TypeParam;
typedef struct { TypeParam *data; uint32_t len, cap; } TypeParamVec;

// ---- types ----------------------------------------------------------------------

typedef enum SizeExpKind {
    SIZE_EXP_ANY,     // []
    SIZE_EXP_RAGGED,  // [?]
    SIZE_EXP_EXP      // [e]
} SizeExpKind;

typedef struct SizeExp {
    SizeExpKind kind;
    Exp *exp;  // for SIZE_EXP_EXP
    Span span;
} SizeExp;

typedef enum TypeExpKind {
    TYPE_EXP_NAME,    // t, m.t, with arguments: t a [n]
    TYPE_EXP_ARRAY,   // [n]t
    TYPE_EXP_TUPLE,   // (a, b), ()
    TYPE_EXP_RECORD,  // {x: a}
    TYPE_EXP_SUM,     // #a t | #b
    TYPE_EXP_FUN,     // a -> b, (x: a) -> b
    TYPE_EXP_UNIQUE,  // *t
    TYPE_EXP_STREAM,  // {t}
    TYPE_EXP_EXISTS,  // ?[n][m].t
    TYPE_EXP_PAREN    // (t)
} TypeExpKind;

typedef struct TypeArg {
    bool is_size;
    SizeExp size;
    TypeExp *type;
} TypeArg;

typedef struct TypeField {
    Name name;
    TypeExp *type;
} TypeField;

typedef struct TypeCtor {
    Name name;  // without the #
    TypeExpVec payload;
} TypeCtor;

struct TypeExp {
    TypeExpKind kind;
    Span span;
    union {
        struct {
            QualName name;
            struct { TypeArg *data; uint32_t len, cap; } args;
        } name;
        struct { SizeExp size; TypeExp *elem; } array;
        TypeExpVec tuple;
        struct { TypeField *data; uint32_t len, cap; } record;
        struct { TypeCtor *data; uint32_t len, cap; } sum;
        struct { Name param_name; TypeExp *param, *result; } fun;  // name may be 0
        TypeExp *inner;  // UNIQUE, STREAM, PAREN
        struct { NameVec sizes; TypeExp *type; } exists;
    } as;
};

// ---- literals -------------------------------------------------------------------

typedef enum LitKind { LIT_BOOL, LIT_INT, LIT_FLOAT, LIT_CHAR } LitKind;

typedef struct Lit {
    LitKind kind;
    Str text;       // as written, suffix included, for the printer
    Sym suffix;     // "i32", ... or 0
    uint64_t bits;  // BOOL 0/1; INT and CHAR the magnitude; FLOAT the f64's bits
    bool too_big;   // INT: beyond 2^64 - 1
} Lit;

// ---- patterns -------------------------------------------------------------------

typedef enum PatKind {
    PAT_NAME,
    PAT_WILD,
    PAT_TUPLE,   // (p, q), ()
    PAT_RECORD,  // {x = p, y}
    PAT_LIT,     // 1, -1, true, 'a'
    PAT_CTOR,    // #a p q
    PAT_ASCRIPT, // p : t
    PAT_ATTR,
    PAT_PAREN
} PatKind;

typedef struct FieldPat {
    Name name;
    Pat *pat;  // NULL: {x} binds x
} FieldPat;

struct Pat {
    PatKind kind;
    Span span;
    union {
        Name name;
        PatVec tuple;
        struct { FieldPat *data; uint32_t len, cap; } record;
        struct { Lit lit; bool negative; } lit;
        struct { Name name; PatVec args; } ctor;
        struct { Pat *pat; TypeExp *type; } ascript;
        struct { Attr attr; Pat *pat; } attr;
        Pat *inner;
    } as;
};

// ---- expressions ----------------------------------------------------------------

typedef enum ExpKind {
    EXP_LIT,
    EXP_STRING,         // "text"
    EXP_VAR,            // x, m.x, (+), m.(+)
    EXP_HOLE,           // ???
    EXP_PAREN,          // (e)
    EXP_TUPLE,          // (a, b), ()
    EXP_RECORD,         // {x = e, y}
    EXP_ARRAY,          // [a, b]
    EXP_FIELD,          // e.x
    EXP_INDEX,          // e[i, a:b:c]
    EXP_APPLY,          // f a b
    EXP_BINOP,          // a + b, a `f` b, &&, ||, |>, <|
    EXP_NEG,            // -e
    EXP_NOT,            // !e
    EXP_IF,
    EXP_LET,            // let [n] p = e in body
    EXP_LET_FUN,        // let f 'a [n] p q : t = e in body
    EXP_LET_UPDATE,     // let a[i] = e in body
    EXP_LAMBDA,         // \p q : t -> e
    EXP_SECTION_LEFT,   // (e +)
    EXP_SECTION_RIGHT,  // (+ e), (- e is negation)
    EXP_SECTION_FIELD,  // (.x.y)
    EXP_SECTION_INDEX,  // (.[i, j])
    EXP_LOOP,
    EXP_RANGE,
    EXP_UPDATE,         // a with [i] = v
    EXP_RECORD_UPDATE,  // r with x.y = v
    EXP_ASCRIPT,        // e : t
    EXP_COERCE,         // e :> t
    EXP_ASSERT,         // assert c e
    EXP_CTOR,           // #a e1 e2
    EXP_MATCH,
    EXP_ATTR,           // #[unsafe] e
    EXP_OPEN,           // m.(e)
    EXP_STREAM,         // {| a, b |}
    EXP_COMPREHENSION   // { e : x in s; y in r if c }, { e if c }
} ExpKind;

typedef struct FieldExp {
    Name name;
    Exp *exp;  // NULL: {x} means {x = x}
} FieldExp;

// One position of an index: i, or a slice from:to:step with any part absent.
typedef struct IndexExp {
    bool is_slice;
    Exp *index;            // for an index
    Exp *from, *to, *step; // for a slice; NULL where absent
    Span span;
} IndexExp;
typedef struct { IndexExp *data; uint32_t len, cap; } IndexVec;

typedef enum LoopForm {
    FORM_FOR_LESS,  // for i < n
    FORM_FOR_IN,    // for x in a
    FORM_WHILE      // while c
} LoopForm;

typedef enum RangeKind {
    RANGE_TO,         // a...c, a..b...c
    RANGE_UP_TO,      // a..<c
    RANGE_DOWN_TO     // a..>c
} RangeKind;

typedef struct Case {
    Pat *pat;
    Exp *body;
    Span span;
} Case;

typedef struct Generator {
    Pat *pat;
    Exp *exp;
} Generator;

struct Exp {
    ExpKind kind;
    Span span;
    union {
        Lit lit;
        Str string;  // decoded bytes
        QualName var;
        Exp *inner;  // PAREN, NEG, NOT
        ExpVec items;  // TUPLE, ARRAY, STREAM
        struct { FieldExp *data; uint32_t len, cap; } record;
        struct { Exp *exp; Name name; } field;
        struct { Exp *exp; IndexVec dims; } index;
        struct { Exp *fun; ExpVec args; } apply;
        struct { QualName op; Exp *left, *right; } binop;
        struct { Exp *cond, *then_exp, *else_exp; } if_exp;
        struct {
            NameVec sizes;
            Pat *pat;
            Exp *exp, *body;
        } let;
        struct {
            Name name;
            TypeParamVec type_params;
            PatVec params;
            TypeExp *result;  // NULL if not given
            Exp *exp, *body;
        } let_fun;
        struct { Name name; IndexVec dims; Exp *exp, *body; } let_update;
        struct { PatVec params; TypeExp *result; Exp *body; } lambda;
        struct { QualName op; Exp *operand; } section;  // LEFT, RIGHT
        NameVec fields;  // SECTION_FIELD
        IndexVec dims;   // SECTION_INDEX
        struct {
            NameVec sizes;
            Pat *pat;
            Exp *init;  // NULL: the pattern read as an expression
            LoopForm form;
            Name index;   // FOR_LESS
            Pat *elem;    // FOR_IN
            Exp *bound;   // n, the array, or the condition
            Exp *body;
        } loop;
        struct { Exp *start, *second, *end; RangeKind kind; } range;  // second: or NULL
        struct { Exp *exp; IndexVec dims; Exp *value; } update;
        struct { Exp *exp; NameVec path; Exp *value; } record_update;
        struct { Exp *exp; TypeExp *type; } ascript;  // ASCRIPT, COERCE
        struct { Exp *cond, *body; } assert_exp;
        struct { Name name; ExpVec args; } ctor;
        struct {
            Exp *exp;
            struct { Case *data; uint32_t len, cap; } cases;
        } match;
        struct { Attr attr; Exp *exp; } attr;
        struct { QualName module; Exp *exp; } open;
        struct {
            Exp *exp;
            struct { Generator *data; uint32_t len, cap; } generators;
            Exp *guard;  // NULL if none
        } comprehension;
    } as;
};

// ---- modules and declarations -----------------------------------------------------

typedef enum ModExpKind {
    MOD_NAME,     // m.n
    MOD_BODY,     // { decls }
    MOD_IMPORT,   // import "path"
    MOD_ASCRIPT,  // m : S
    MOD_APPLY,    // F m
    MOD_LAMBDA,   // \(p: S) : T -> m
    MOD_PAREN
} ModExpKind;

typedef struct ModParam {
    Name name;
    SigExp *sig;
} ModParam;

struct ModExp {
    ModExpKind kind;
    Span span;
    union {
        QualName name;
        DeclVec body;
        Str import;
        struct { ModExp *mod; SigExp *sig; } ascript;
        struct { ModExp *fun, *arg; } apply;
        struct { ModParam param; SigExp *sig; ModExp *body; } lambda;  // sig or NULL
        ModExp *inner;
    } as;
};

typedef struct TypeDef {
    TypeParamKind lifting;  // TP_TYPE, TP_SIZE_LIFTED (type~) or TP_LIFTED (type^)
    Name name;
    TypeParamVec params;
    TypeExp *type;  // NULL: abstract (in signatures)
} TypeDef;

typedef enum SpecKind {
    SPEC_VAL,      // val f 'a [n] : t
    SPEC_TYPE,     // type t 'a, type t = u
    SPEC_MODULE,   // module m : S
    SPEC_INCLUDE   // include S
} SpecKind;

typedef struct Spec {
    SpecKind kind;
    Span span;
    Str doc;
    AttrVec attrs;
    union {
        struct { Name name; TypeParamVec type_params; TypeExp *type; } val;
        TypeDef type;
        struct { Name name; SigExp *sig; } module;
        SigExp *include;
    } as;
} Spec;

typedef enum SigExpKind {
    SIG_NAME,   // S, m.S
    SIG_SPECS,  // { specs }
    SIG_WITH,   // S with t 'a = u
    SIG_ARROW,  // (x: S) -> T
    SIG_PAREN
} SigExpKind;

struct SigExp {
    SigExpKind kind;
    Span span;
    union {
        QualName name;
        struct { Spec *data; uint32_t len, cap; } specs;
        struct { SigExp *sig; QualName type; TypeParamVec params; TypeExp *def; } with;
        struct { Name param; SigExp *from, *to; } arrow;  // param may be 0
        SigExp *inner;
    } as;
};

typedef enum DeclKind {
    DECL_VAL,          // def, let, entry
    DECL_TYPE,
    DECL_MODULE,       // module m (p: S) : T = e
    DECL_MODULE_TYPE,
    DECL_OPEN,
    DECL_IMPORT,       // import "path": opens it
    DECL_LOCAL         // local d
} DeclKind;

struct Decl {
    DeclKind kind;
    bool is_unread;  // see syntax_whole
    Span span;
    Str doc;  // text of the "-- |" comment before it, or empty
    AttrVec attrs;
    union {
        struct {
            bool is_entry;
            Name name;  // an operator's name is its characters
            TypeParamVec type_params;
            PatVec params;
            TypeExp *result;  // NULL if not given
            Exp *body;
        } val;
        TypeDef type;
        struct {
            Name name;
            struct { ModParam *data; uint32_t len, cap; } params;
            SigExp *sig;  // NULL if not given
            ModExp *body;
        } module;
        struct { Name name; SigExp *sig; } module_type;
        ModExp *open;
        Str import;
        Decl *local;
    } as;
};

typedef struct Ast {
    const Source *source;
    DeclVec decls;
    Str doc;  // of the file: a first "-- |" comment that has another behind it
} Ast;

#endif
