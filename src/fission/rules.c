// SPDX-License-Identifier: Apache-2.0
//
// The rules of fission as a table, and how one is applied: what is cut, the parts, what
// joins them. A row says where the rule comes from: a figure of the paper, or nowhere.
#include "fission/rules.h"

#include <string.h>

#include "opt/rewrite.h"

// The rules of figure 2 are those that figure 6 gives once more, by these names.
#define USE      "figures 2 and 6, use: F-use"
#define MAP      "figures 2 and 6, map: F-map"
#define ZIP      "figures 2 and 6, zipWith: F-zipWith"
#define GENERATE "figures 2 and 6, generate: F-generate"
#define REPL     "figures 2 and 6, replicate: F-replicate"
#define BACK     "figures 2 and 6, backpermute: F-backpermute"
#define INNER    "figures 2 and 6, fold along the innermost dimension: F-fold-inner"
// A fold of rows is a map whose body folds.
#define OUTER  MAP "; fold along dimension 0: F-fold-outer"
#define BEYOND "beyond the paper"

const FissionRule fission_rules[] = {
    {"use", USE, "the elements of a literal", OP_LITERAL, JOIN_CONCAT, guard_outer,
     size_literal, part_literal, NULL},
    {"list", USE, "values put side by side", OP_ARRAY, JOIN_CONCAT, guard_list,
     size_list, part_list, NULL},
    {"iota", GENERATE, "the second part starts where the first ends", OP_IOTA,
     JOIN_CONCAT, guard_outer, size_first_arg, part_iota, NULL},
    {"near", BEYOND, "rows near the index: a part sees its own, and the halo",
     OP_GENERATE, JOIN_CONCAT, guard_near, size_generate, part_near, NULL},
    {"generate", GENERATE, "along any dimension, the index of later parts is shifted",
     OP_GENERATE, JOIN_CONCAT, guard_generate, size_generate, part_generate, NULL},
    {"replicate", REPL, "along the new dimension, or one of the row", OP_REPLICATE,
     JOIN_CONCAT, guard_any_dim, size_replicate, part_replicate, NULL},
    {"permute", BACK, "along the dimension that becomes this one", OP_PERMUTE,
     JOIN_CONCAT, guard_any_dim, size_view, part_view, NULL},
    {"reverse", BACK, "the first part comes from the end", OP_REVERSE, JOIN_CONCAT,
     guard_any_dim, size_view, part_view, NULL},
    {"slice", BACK, "along the dimensions that it takes whole", OP_SLICE, JOIN_CONCAT,
     guard_slice, size_view, part_view, NULL},
    {"copy", BACK, "along any dimension", OP_COPY, JOIN_CONCAT, guard_any_dim,
     size_view, part_view, NULL},
    {"stencil", BEYOND, "neighbouring slices of one array: a part sees a halo", OP_MAP,
     JOIN_CONCAT, guard_stencil, fission_feed_length, part_stencil, NULL},
    {"map", OUTER, "along its dimension, folds of rows, too", OP_MAP, JOIN_CONCAT,
     guard_map, fission_feed_length, part_map, NULL},
    {"zip", ZIP, "all arrays at one point", OP_MAP, JOIN_CONCAT, guard_zip,
     fission_feed_length, part_map, NULL},
    {"inner", MAP, "along a dimension of what the body maps; zipWith, too", OP_MAP,
     JOIN_CONCAT, guard_inner, size_inner, part_inner, NULL},
    {"inner", GENERATE, "along a dimension of what the body makes", OP_GENERATE,
     JOIN_CONCAT, guard_inner, size_inner, part_inner, NULL},
    {"inner-fold", INNER, "of what the body folds: zipWith the operator", OP_MAP,
     JOIN_FOLD, guard_inner_fold, size_inner, part_inner, NULL},
    {"inner-fold", INNER, "of what the body folds: zipWith the operator", OP_GENERATE,
     JOIN_FOLD, guard_inner_fold, size_inner, part_inner, NULL},
    {"inner-scan", BEYOND, "of what the body scans: what came before joins in front",
     OP_MAP, JOIN_OWN, guard_inner_scan, size_inner, NULL, whole_inner_scan},
    {"inner-scan", BEYOND, "of what the body scans: what came before joins in front",
     OP_GENERATE, JOIN_OWN, guard_inner_scan, size_inner, NULL, whole_inner_scan},
    {"inner-hist", BEYOND, "of what goes into the body's bins: bins of their own",
     OP_MAP, JOIN_OWN, guard_inner_hist, size_inner, NULL, whole_inner_hist},
    {"inner-hist", BEYOND, "of what goes into the body's bins: bins of their own",
     OP_GENERATE, JOIN_OWN, guard_inner_hist, size_inner, NULL, whole_inner_hist},
    {"fold", INNER, "an exact operator joins the parts", OP_REDUCE, JOIN_FOLD,
     guard_fold, fission_feed_length, part_map, NULL},
    {"blocks", BEYOND, "an inexact one: a generate of blocks, and a tree", OP_REDUCE,
     JOIN_OWN, guard_blocks, NULL, NULL, whole_blocks},
    {"fold-blocks", BEYOND, "an inexact one: parts that begin at blocks, and a tree",
     OP_REDUCE, JOIN_OWN, guard_blocks, fission_feed_length, NULL, whole_fold_blocks},
    {"scan", BEYOND, "what came before joins in front of a part", OP_SCAN, JOIN_OWN,
     guard_fold, fission_feed_length, NULL, whole_scan},
    {"scan-blocks", BEYOND, "an inexact one: scans of units, carries, a generate",
     OP_SCAN, JOIN_OWN, guard_blocks, NULL, NULL, whole_scan_blocks},
    {"filter", BEYOND, "what is kept of each part", OP_FILTER, JOIN_CONCAT, guard_outer,
     fission_feed_length, part_map, NULL},
    {"scatter", BEYOND, "values in parts, one after the other", OP_SCATTER, JOIN_OWN,
     guard_outer, fission_feed_length, NULL, whole_chain},
    {"scatter-places", BEYOND, "each part of the array takes what falls into it",
     OP_SCATTER, JOIN_CONCAT, guard_outer, size_places, part_places, NULL},
    {"hist", BEYOND, "values in parts, one after the other", OP_HIST, JOIN_OWN,
     guard_exact, fission_feed_length, NULL, whole_chain},
    {"hist-apart", BEYOND, "values in parts, into bins of their own", OP_HIST, JOIN_OWN,
     guard_hist_apart, fission_feed_length, NULL, whole_hist_apart},
    {"hist-bins", BEYOND, "each part of the bins takes what falls into it", OP_HIST,
     JOIN_CONCAT, guard_hist_bins, size_places, part_places, NULL},
    {"sort", BEYOND, "parts are sorted, then merged", OP_SORT, JOIN_OWN, guard_outer,
     size_places, NULL, whole_sort},
    {"deep", BEYOND,
     "turns of a loop of stencils, some at a time, each part with a halo", OP_FOR,
     JOIN_OWN, guard_deep, size_deep, NULL, whole_deep},
    {"seq", BEYOND, "turns of a loop, one part after the other", OP_FOR, JOIN_OWN,
     guard_outer, size_first_arg, NULL, whole_seq},
};
const uint32_t fission_rule_count = sizeof fission_rules / sizeof *fission_rules;

// ---- places -------------------------------------------------------------------------

static FissionSplit split_at(CoreProgram *p, const CoreBody *body, CoreBuilder *b,
                             const FissionPlace *place) {
    return (FissionSplit){.program = p,
                          .facts = place->facts,
                          .rule = place->rule,
                          .body = body,
                          .stm = body->stms.data[place->stm],
                          .dim = place->dim,
                          .b = b};
}

FissionFacts *fission_new_facts(CoreProgram *program) {
    FissionFacts *facts = arena_new(core_notes(program), FissionFacts);
    *facts = rewrite_new(program);
    for (uint32_t i = 0; i < program->funs.len; i++)
        rewrite_define_all(facts, program->funs.data[i]->body);
    return facts;
}

void fission_places(FissionFacts *facts, const CoreBody *body, const FissionRule *rules,
                    uint32_t rule_count, Arena *arena, FissionPlaces *places_out) {
    rewrite_define_all(facts, body);
    for (uint32_t i = 0; i < body->stms.len; i++)
        for (uint32_t r = 0; r < rule_count; r++) {
            if (rules[r].op != body->stms.data[i]->op) continue;
            for (uint32_t dim = 0; dim <= CORE_MAX_RANK; dim++) {
                FissionPlace place = {i, dim, &rules[r], facts};
                FissionSplit s = split_at(facts->program, body, NULL, &place);
                if (rules[r].guard(&s)) vec_push(arena, places_out, place);
            }
        }
}

// ---- applying -----------------------------------------------------------------------

static void emit_parts(FissionSplit *s) {
    uint32_t outs = s->stm->out_count;
    CoreRef *results = arena_array(s->program->arena, CoreRef, s->parts * outs);
    for (uint32_t p = 0; p < s->parts; p++) s->rule->part(s, p, results + p * outs);
    if (s->rule->join == JOIN_CONCAT) fission_concat(s, s->dim, results);
    else fission_fold(s, fission_inner_op(s), results);
}

// Opens a body with the statements before the place.
static FissionSplit begin(CoreProgram *p, const CoreBody *body, CoreBuilder *b,
                          const FissionPlace *place) {
    *b = core_builder(p);
    core_open(b, body->params, body->param_count);
    for (uint32_t i = 0; i < place->stm; i++) core_append(b, body->stms.data[i]);
    FissionSplit s = split_at(p, body, b, place);
    b->loc = s.stm->loc;
    s.pieces = arena_array(p->arena, CoreRef *, s.stm->arg_count);
    return s;
}

CoreBody *fission_apply(CoreProgram *p, const CoreBody *body, const FissionPlace *place,
                        FissionCut cut) {
    CoreBuilder b;
    FissionSplit s = begin(p, body, &b, place);
    if (s.rule->size != NULL) {
        s.size = s.rule->size(&s);
        if (s.rule->guard == guard_blocks) cut.unit = core_i64(p, CORE_BLOCK);
        fission_cut(&s, cut);
    }
    if (s.rule->join == JOIN_OWN) s.rule->whole(&s);
    else emit_parts(&s);
    for (uint32_t i = place->stm + 1; i < body->stms.len; i++)
        core_append(&b, body->stms.data[i]);
    return core_close(&b, body->results, body->result_count);
}

CoreBody *fission_size(CoreProgram *p, const CoreBody *body,
                       const FissionPlace *place) {
    CoreBuilder b;
    FissionSplit s = begin(p, body, &b, place);
    CoreRef size = s.rule->size(&s);
    return core_close(&b, &size, 1);
}
