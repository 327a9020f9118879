// SPDX-License-Identifier: Apache-2.0
//
// Text to syntax tree and back. Mistakes go to cx->diags and parsing goes on at the
// next declaration, so that one run shows several.
#ifndef WEFT_SYNTAX_SYNTAX_H
#define WEFT_SYNTAX_SYNTAX_H

#include "base/cx.h"
#include "syntax/ast.h"

// Parses a file. Never NULL; declarations with syntax errors are left out, and
// cx->diags.error_count tells whether there were any.
// Of the library's files, which are laid out by their indentation, most declarations
// are left unread: they have kind, name, place, comment and attributes alone.
Ast *syntax_parse(Cx *cx, const Source *source);
// The declaration with the rest read.
const Decl *syntax_whole(Cx *cx, const Decl *decl);
// Parses one expression that fills the source (the prompt, tests). NULL on errors.
Exp *syntax_parse_exp(Cx *cx, const Source *source);
// What somebody typed at a prompt: definitions, or else an expression; neither where
// there was nothing but blanks and comments, and after a mistake.
typedef struct Prompt {
    DeclVec decls;
    Exp *exp;
    bool is_short;   // the one mistake is that the text ends too early
    bool may_go_on;  // without a mistake, but a further `case` might follow
} Prompt;
// Forgets the diagnostics there were.
Prompt syntax_parse_prompt(Cx *cx, const Source *source);
// Appends the program in Weft's syntax; parsing the text gives an equal tree.
void syntax_print(const Cx *cx, const Ast *ast, StrBuf *out);
void syntax_print_exp(const Cx *cx, const Exp *exp, StrBuf *out);
void syntax_print_type(const Cx *cx, const TypeExp *type, StrBuf *out);
// Appends the program with its blanks and line ends in order and its comments kept.
// Returns false, with the reasons in cx->diags, if there are syntax errors.
bool syntax_format(Cx *cx, const Source *source, StrBuf *out);

#endif
