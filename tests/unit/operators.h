// SPDX-License-Identifier: Apache-2.0
//
// What the tests of generated code share: every scalar operator on every type it takes,
// special and random values to try it on, and a kernel that applies them all. core_eval
// says what comes out.
#ifndef WEFT_TESTS_OPERATORS_H
#define WEFT_TESTS_OPERATORS_H

#include <string.h>

#include "core/rules.h"
#include "test.h"

enum { MOST_OPERATORS = 600, RANDOM_VALUES = 40, MOST_VALUES = 80 };

typedef struct Operator {
    CoreOp op;
    ScalarType in, to;
} Operator;

// Fills in MOST_OPERATORS at most; returns how many there are.
static inline uint32_t list_operators(Operator *list) {
    uint32_t count = 0;
    for (int op = 0; op < OP_COUNT; op++) {
        if (core_op_operands((CoreOp)op) == 0) continue;
        for (int in = 0; in < SCALAR_COUNT; in++) {
            Operator next = {(CoreOp)op, (ScalarType)in, SCALAR_BOOL};
            if (!core_op_takes(next.op, next.in)) continue;
            bool is_given = core_op_gives(next.op, next.in, &next.to);
            if (is_given) list[count++] = next;
            for (int to = 0; to < SCALAR_COUNT && !is_given; to++) {
                next.to = (ScalarType)to;
                list[count++] = next;
            }
        }
    }
    return count;
}

// How many of the operators before this one give the same type: where its results lie.
static inline uint32_t operator_place(const Operator *list, uint32_t number) {
    uint32_t place = 0;
    for (uint32_t i = 0; i < number; i++) place += list[i].to == list[number].to;
    return place;
}

// Appends a kernel that applies each of them to element i of the arrays x, y and z of
// its type, all for each i. The results of type T are in the rows of o_T. Operators
// that may fail are applied to x and z. Its params are, by type, x, y, z, o, each with
// its size.
static inline void put_operators(const Operator *list, uint32_t count, StrBuf *out) {
    uint32_t widths[SCALAR_COUNT] = {0};
    for (uint32_t i = 0; i < count; i++) widths[list[i].to]++;
    strbuf_cstr(out, "kernel \"operators\" (");
    for (int t = 0; t < SCALAR_COUNT; t++) {
        const char *name = scalar_info[t].name;
        strbuf_printf(out, "%s[]%s, []%s, []%s, owned []%s", t == 0 ? "" : ", ", name,
                      name, name, name);
    }
    strbuf_cstr(out, ") -> () {|");
    for (int t = 0; t < SCALAR_COUNT; t++)
        for (const char *array = "xyzo"; *array != 0; array++)
            strbuf_printf(out, "%s%c_%s: [%s], n%c_%s: i64",
                          t == 0 && *array == 'x' ? "" : ", ", *array,
                          scalar_info[t].name, scalar_info[t].name, *array,
                          scalar_info[t].name);
    strbuf_cstr(out, "|\n  = for.parallel(nx_bool) {|i: i64|\n");
    for (int t = 0; t < SCALAR_COUNT; t++)
        for (const char *array = "xyz"; *array != 0; array++)
            strbuf_printf(out, "    %ci_%s: %s = load(%c_%s, 0i64, 1i64, i)\n", *array,
                          scalar_info[t].name, scalar_info[t].name, *array,
                          scalar_info[t].name);
    for (uint32_t k = 0; k < count; k++) {
        const char *in = scalar_info[list[k].in].name;
        const char *to = scalar_info[list[k].to].name;
        uint32_t operands = core_op_operands(list[k].op);
        bool fails = (core_op_info[list[k].op].flags & OP_FAILS) != 0;
        strbuf_printf(out, "    r%u: %s = %s(xi_%s", k, to,
                      core_op_info[list[k].op].name, in);
        if (operands > 1) strbuf_printf(out, ", %ci_%s", fails ? 'z' : 'y', in);
        if (operands > 2) strbuf_printf(out, ", zi_%s", in);
        strbuf_printf(out, ")\n    = store(o_%s, r%u, %ui64, %ui64, i)\n", to, k,
                      operator_place(list, k), widths[list[k].to]);
    }
    strbuf_cstr(out, "    ->\n  }\n  ->\n}\n");
}

// ---- values -------------------------------------------------------------------------

static uint64_t random_state = 88172645463325252u;

static inline uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static inline uint64_t cut_to(ScalarType type, uint64_t bits) {
    if (type == SCALAR_BOOL) return bits & 1;
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    return bits << unused >> unused;
}

// Fills in MOST_VALUES at most; returns how many there are.
static inline uint32_t make_values(ScalarType type, uint64_t *values) {
    static const double numbers[] = {0.0,    -0.0,  1.0,   -1.0, 0.5,  1.5,
                                     2.5,    -2.5,  1e10,  3e9,  -3e9, 1e19,
                                     2.1e19, 65519, 65520, 1e-8};
    uint32_t count = 0;
    for (int64_t i = -3; i <= 9; i++) values[count++] = cut_to(type, (uint64_t)i);
    unsigned width = 8u * scalar_info[type].bytes;
    for (int i = -1; i <= 1; i++)
        values[count++] = cut_to(type, ((uint64_t)1 << (width - 1)) + (uint64_t)i);
    if (scalar_is_float(type)) {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            uint64_t bits;
            memcpy(&bits, &numbers[i], sizeof bits);
            core_eval(OP_CONV, SCALAR_F64, type, &bits, &values[count++]);
        }
        uint64_t infinity = type == SCALAR_F16   ? 0x7c00
                            : type == SCALAR_F32 ? 0x7f800000
                                                 : (uint64_t)0x7ff << 52;
        for (uint64_t i = 0; i < 3; i++) values[count++] = infinity - 1 + i;
        values[count++] = infinity | (uint64_t)1 << (width - 1);
    }
    for (int i = 0; i < RANDOM_VALUES; i++)
        values[count++] = cut_to(type, next_random());
    return count;
}

static inline bool is_nan(ScalarType type, uint64_t bits) {
    uint64_t result = 0;
    return scalar_is_float(type) &&
           core_eval(OP_ISNAN, type, SCALAR_BOOL, &bits, &result) == FAULT_NONE &&
           result != 0;
}

// Whether that is what comes of these operands; which NaN it is does not matter.
static inline void check_operator(Operator o, const uint64_t *args, uint64_t found) {
    uint64_t expected = 0;
    if (core_eval(o.op, o.in, o.to, args, &expected) != FAULT_NONE) return;
    bool same = found == expected || (is_nan(o.to, found) && is_nan(o.to, expected));
    CHECK(same);
    if (!same)
        printf("%s %s -> %s: %llx %llx %llx gives %llx, not %llx\n",
               core_op_info[o.op].name, scalar_info[o.in].name, scalar_info[o.to].name,
               (unsigned long long)args[0], (unsigned long long)args[1],
               (unsigned long long)args[2], (unsigned long long)found,
               (unsigned long long)expected);
}

#endif
