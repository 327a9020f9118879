// SPDX-License-Identifier: Apache-2.0
//
// Polynomials with integer coefficients over size names, size variables and opaque
// expressions: the normal form by which sizes are compared.
#ifndef WEFT_CHECK_POLY_H
#define WEFT_CHECK_POLY_H

#include "check/checker.h"

enum { MOST_TERMS = 32, MOST_DEGREE = 6 };

typedef struct Atom {
    Binding *name; // exactly one of the three is set
    Size *size;    // an unsolved variable or an unknown size
    TExp *exp;
} Atom;

typedef struct Term {
    int64_t factor; // not 0
    uint32_t degree;
    Atom atoms[MOST_DEGREE]; // sorted
} Term;

typedef struct Poly {
    Term *terms; // sorted by atoms
    uint32_t count;
    bool overflow; // too large to represent: compares to nothing
} Poly;

// False when the size has no usable normal form.
bool poly_of_size(Checker *ck, Size *size, Poly *poly_out);
bool poly_of_exp(Checker *ck, TExp *exp, Poly *poly_out);
void poly_const(Checker *ck, Poly *poly, int64_t value);
bool poly_same_atom(const Atom *a, const Atom *b);
// sum += factor * poly
void poly_add(Checker *ck, Poly *sum, const Poly *poly, int64_t factor);
Poly poly_mul(Checker *ck, const Poly *a, const Poly *b);
// An expression with the polynomial's value; NULL if some part cannot be expressed.
TExp *poly_exp(Checker *ck, const Poly *poly, Span span);
// Whether the expression mentions the variable, or any one if var is NULL.
bool poly_exp_mentions(const TExp *exp, const Size *var);

#endif
