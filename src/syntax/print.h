// SPDX-License-Identifier: Apache-2.0
//
// What the files of the printer share. The tree keeps its parentheses, so printing
// needs no precedences; chains that lean to one side are printed in loops, so that the
// printer needs no more stack than the parser did.
#ifndef WEFT_SYNTAX_PRINT_H
#define WEFT_SYNTAX_PRINT_H

#include "base/cx.h"
#include "syntax/ast.h"

typedef struct Printer {
    const Cx *cx;
    StrBuf *out;
    uint32_t indent;  // of the next line
    struct { const Exp **data; uint32_t len, cap; } spine;
} Printer;

void print_line(Printer *p);  // starts a line
void print_text(Printer *p, const char *text);
void print_sym(Printer *p, Sym sym);
bool print_is_operator(const Printer *p, Sym sym);
// A name where it is defined or used as a value: operators in parentheses.
void print_value_name(Printer *p, Sym sym);
void print_qual_name(Printer *p, const QualName *name);
void print_string(Printer *p, Str bytes);
void print_attr(Printer *p, const Attr *attr);
void print_size_names(Printer *p, NameVec names);  // [n][m]
void print_type_params(Printer *p, TypeParamVec params);  // each after a blank
void print_params(Printer *p, PatVec params);             // each after a blank
void print_size(Printer *p, const SizeExp *size);
void print_type(Printer *p, const TypeExp *type);
void print_pat(Printer *p, const Pat *pat);
void print_exp(Printer *p, const Exp *exp);
// On this line if it is small, else on lines of its own.
void print_body(Printer *p, const Exp *exp);

#endif
