// SPDX-License-Identifier: Apache-2.0
//
// A plan as tables: what was decided about each operator, the tasks, what each device
// does when, the memory that it takes.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fission/fission.h"
#include "plan/plan.h"

// ---- numbers and names --------------------------------------------------------------

static const char *scaled(char text[PLAN_TEXT], double x, const char *const units[]) {
    int i = 0;
    while (x >= 999.5 && units[i + 1] != NULL) x /= 1000, i++;
    int digits = i == 0 || x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2;
    if (isnan(x)) snprintf(text, PLAN_TEXT, "?");
    else snprintf(text, PLAN_TEXT, "%.*f %s", digits, x, units[i]);
    return text;
}

const char *plan_time(char text[PLAN_TEXT], double seconds) {
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};
    return scaled(text, seconds * 1e9, units);
}

const char *plan_bytes(char text[PLAN_TEXT], double bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", NULL};
    return scaled(text, bytes, units);
}

static const char *count_text(char text[PLAN_TEXT], double count) {
    if (isnan(count)) return "?";
    snprintf(text, PLAN_TEXT, "%.4g", count);
    return text;
}

Place plan_where(const CoreProgram *p, CoreLoc loc) {
    const Sources *sources = &p->cx->sources;
    Place found = {0};
    for (; loc != 0 && loc < p->places.len; loc = p->places.data[loc].caller) {
        Place place = sources_place(sources, p->places.data[loc].span.start);
        if (place.source == NULL || place.source->is_lib) continue;
        if (place.source == sources->data[0]) return place;
        if (found.source == NULL) found = place;
    }
    return found;
}

const char *plan_line(char text[PLAN_TEXT], const Plan *plan, CoreLoc loc) {
    Place place = plan_where(plan->in.program, loc);
    if (place.source == NULL) return "-";
    snprintf(text, PLAN_TEXT, "%" PRIu32, place.line);
    return text;
}

const char *plan_verb(const PlanTask *task) {
    if (task->kernel != NULL && task->op == OP_FOR) return "loop";
    return core_op_info[task->op].name;
}

const char *plan_device(const Plan *plan, uint32_t device) {
    return device == plan->in.device_count ? "host" : plan->in.devices[device].address;
}

Str plan_block_name(const Plan *plan, uint32_t block) {
    const PlanBlock *b = &plan->blocks.data[block];
    if (b->name != 0) return sym_str(&plan->in.program->cx->syms, b->name);
    return b->task == PLAN_NONE ? STR("argument")
                                : str_of(plan_verb(&plan->tasks.data[b->task]));
}

Str plan_task_name(const Plan *plan, uint32_t number, Arena *arena) {
    const PlanTask *task = &plan->tasks.data[number];
    StrBuf text = strbuf(arena);
    strbuf_cstr(&text, plan_verb(task));
    Sym name = task->makes > 0 ? plan->blocks.data[task->first].name : 0;
    if (name != 0) strbuf_char(&text, ' ');
    strbuf_str(&text, sym_str(&plan->in.program->cx->syms, name));
    return strbuf_done(&text);
}

double plan_made(const Plan *plan, const PlanTask *task) {
    double bytes = 0;
    for (uint32_t k = 0; k < task->makes; k++)
        bytes += plan->blocks.data[task->first + k].bytes;
    return bytes;
}

double plan_took(const PlanTask *task) {
    return task->measured * task->turns;
}

static double predicted(const PlanTask *task) {
    return plan_is_timed(task) ? task->end - task->begin : NAN;
}

static void put_title(StrBuf *out, const char *title) {
    strbuf_printf(out, "\n%s\n", title);
}

// ---- decisions ----------------------------------------------------------------------

// A task of one of its parts tells that it is cut; else one of the whole, that it is
// run.
bool plan_is_cut(const Plan *plan, const FissionDecision *decision, bool *is_run_out) {
    *is_run_out = false;
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        const PlanTask *task = &plan->tasks.data[i];
        const FissionPiece *piece = task->piece;
        if (decision->verdict == FISSION_IS_CUT && piece != NULL &&
            piece->whole == decision->stm->loc && piece->row == decision->row &&
            piece->op == decision->op)
            return *is_run_out = true;
        if (task->op == decision->stm->op && task->loc == decision->stm->loc)
            *is_run_out = true;
    }
    return false;
}

// And what they were at first, if they have been learned.
static void put_shares(const Plan *plan, const FissionRow *row, StrBuf *out) {
    size_t bounds = fission_parts(row) - 1;
    for (uint32_t d = 0; d < row->devices; d++)
        strbuf_printf(out, "%s%.0f %% for %s", d == 0 ? ": " : ", ",
                      100 * fission_share(row, row->bounds, d),
                      plan->in.devices[d].address);
    bool has_learned =
        memcmp(row->bounds, row->first, bounds * sizeof *row->bounds) != 0;
    for (uint32_t d = 0; d < row->devices && has_learned; d++)
        strbuf_printf(out, "%s%.0f %%", d == 0 ? "; at first " : ", ",
                      100 * fission_share(row, row->first, d));
    if (row->chunks > 1)
        strbuf_printf(out, "; each in %" PRIu32 " chunks, which idle devices take over",
                      row->chunks);
}

// For devices that have too little memory for the whole.
static void put_stream(const Plan *plan, const FissionDecision *d, StrBuf *out) {
    bool is_run, is_cut = plan_is_cut(plan, d, &is_run);
    bool is_alone = plan->in.device_count < 2;
    int64_t part = plan->in.decisions->rows.data[d->row].bounds[0];
    if (is_cut && part < FISSION_WHOLE)
        strbuf_printf(out, "cut in %" PRId64 ", %s", FISSION_WHOLE / part,
                      is_alone ? "one part after the other"
                               : "each where there is room");
    else if (is_alone)
        strbuf_cstr(out, "whole, if the device has memory enough; else in parts");
    else strbuf_cstr(out, "whole, if it is little, and fits a device; else in parts");
}

// Why it stays whole though there is enough to do: it does, or all of its entry.
static const FissionSwitch *kept_whole(const Plan *plan, const FissionRow *row) {
    const FissionLog *log = plan->in.decisions;
    for (uint32_t i = 0; i < log->entries.len; i++) {
        const FissionSwitch *at = &log->entries.data[i];
        if (at->entry == row->at.entry && *at->from == INT64_MAX) return at;
    }
    return *row->at.from == INT64_MAX ? &row->at : NULL;
}

// Whether other operators of its row are cut here.
static bool is_row_cut(const Plan *plan, uint32_t row) {
    const FissionLog *log = plan->in.decisions;
    bool is_run, is_cut = false;
    for (uint32_t i = 0; i < log->len && !is_cut; i++)
        is_cut = log->data[i].row == row && plan_is_cut(plan, &log->data[i], &is_run);
    return is_cut;
}

static void put_cut(const Plan *plan, const FissionDecision *d, StrBuf *out) {
    const FissionDecision *first = &plan->in.decisions->data[d->first];
    const FissionRow *row = &plan->in.decisions->rows.data[d->row];
    bool is_run, is_cut = plan_is_cut(plan, d, &is_run);
    char length[96], line[PLAN_TEXT];
    snprintf(length, sizeof length, "%" PRId64 " element%s", row->at.least,
             row->at.least == 1 ? "" : "s");
    if (first != d)
        snprintf(length, sizeof length, "%" PRId64 " of the %s of line %s",
                 row->at.least, core_op_info[first->stm->op].name,
                 plan_line(line, plan, first->stm->loc));
    const FissionSwitch *whole = kept_whole(plan, row);
    if (!is_cut && whole != NULL && whole->whole > 0) {
        char yes[PLAN_TEXT], no[PLAN_TEXT];
        strbuf_printf(out, "whole here: in parts the call would take %s, not %s",
                      plan_time(yes, whole->in_parts), plan_time(no, whole->whole));
        return;
    }
    if (is_run && !is_cut && is_row_cut(plan, d->row)) {
        if (d->stm->op == OP_HIST)
            strbuf_cstr(out, "whole here: there are fewer elements than bins");
        else
            strbuf_printf(
                out, "whole here: each device would need two blocks of %d elements",
                CORE_BLOCK);
        return;
    }
    if (is_run && !is_cut) {
        strbuf_printf(out, "whole here: there is too little to do with fewer than %s",
                      length);
        return;
    }
    if (!is_run && plan->in.args != NULL) {
        strbuf_cstr(out, "not apart here: what is small is one kernel with what is "
                         "around it");
        return;
    }
    strbuf_printf(out, "cut in %" PRIu32, plan->in.device_count);
    put_shares(plan, row, out);
    if (!is_cut || plan->in.args == NULL) strbuf_printf(out, "; from %s on", length);
    if (d->stm->op == OP_FOR)
        strbuf_cstr(out, ", if parts are long enough for several turns at a time");
}

static void put_reason(const Plan *plan, const FissionDecision *d, StrBuf *out) {
    switch (d->verdict) {
    case FISSION_IS_CUT:
        if (plan->in.decisions->is_stream) put_stream(plan, d, out);
        else put_cut(plan, d, out);
        break;
    case FISSION_HAS_NO_RULE:
        strbuf_printf(out, "whole: no rule that is used for devices cuts a %s",
                      core_op_info[d->stm->op].name);
        break;
    case FISSION_KEEPS_ORDER:
        strbuf_cstr(out, "whole: its result depends on the order, which is fixed");
        break;
    case FISSION_MAY_CHANGE:
        strbuf_cstr(out, "whole: in parts it could fail otherwise, or make other rows");
        break;
    case FISSION_TRAVELS:
        strbuf_cstr(out, "whole: what would travel takes longer than is saved");
        break;
    case FISSION_SAVES_NOTHING:
        strbuf_cstr(out, "whole: parts would take no less time");
        break;
    }
}

// Operators inside of one that has a row.
typedef struct Inside {
    const Plan *plan;
    const CoreStm *outer;
    StrBuf *out;
    struct {
        uint64_t *data; // line and operator of those that are told
        uint32_t len, cap;
    } told;
} Inside;

static uint64_t line_and_op(const Plan *plan, const CoreStm *stm) {
    return (uint64_t)plan_where(plan->in.program, stm->loc).line << 32 | stm->op;
}

// It is not cut by itself; one in the outer one's line that has its name tells no more.
static void put_inside(void *data, const CoreStm *stm) {
    Inside *in = data;
    uint64_t key = line_and_op(in->plan, stm);
    char inner[PLAN_TEXT], outer[PLAN_TEXT];
    if (core_op_info[stm->op].kind != KIND_ORDER2 ||
        key == line_and_op(in->plan, in->outer))
        return;
    for (uint32_t i = 0; i < in->told.len; i++)
        if (in->told.data[i] == key) return;
    vec_push(in->out->arena, &in->told, key);
    strbuf_printf(in->out, "  line %-4s %-8s inside the %s of line %s\n",
                  plan_line(inner, in->plan, stm->loc), core_op_info[stm->op].name,
                  core_op_info[in->outer->op].name,
                  plan_line(outer, in->plan, in->outer->loc));
}

void plan_print_decisions(const Plan *plan, StrBuf *out) {
    const FissionLog *log = plan->in.decisions;
    put_title(out, "Operators");
    if (plan->in.uncut != NULL) {
        strbuf_printf(out, "  none is cut: %s\n", plan->in.uncut);
        return;
    }
    uint32_t shown = 0;
    for (uint32_t i = 0; i < log->len; i++) {
        const FissionDecision *d = &log->data[i];
        if (d->entry != plan->in.entry) continue;
        shown++;
        char work[PLAN_TEXT], bytes[PLAN_TEXT], line[PLAN_TEXT];
        strbuf_printf(out, "  line %-4s %-8s ", plan_line(line, plan, d->stm->loc),
                      core_op_info[d->stm->op].name);
        put_reason(plan, d, out);
        strbuf_printf(out,
                      "\n%20s(an element: about %s scalar operations; %s travel)\n", "",
                      count_text(work, d->work), plan_bytes(bytes, d->bytes));
        Inside in = {.plan = plan, .outer = d->stm, .out = out};
        for (uint32_t k = 0; k < d->stm->body_count; k++)
            core_walk(d->stm->bodies[k], put_inside, &in);
    }
    if (shown == 0) strbuf_cstr(out, "  none is outside of other operators\n");
}

// ---- tasks --------------------------------------------------------------------------

static size_t length_of_char(Str text) {
    size_t len = str_utf8(text);
    return len == 0 ? 1 : len;
}

// The tasks whose results it takes, in order; "3-18" stands for all from 3 to 18.
static void put_needs(const Plan *plan, const PlanTask *task, StrBuf *out) {
    bool *is_maker = arena_array(out->arena, bool, plan->tasks.len + 1);
    for (uint32_t i = 0; i < task->uses.len; i++) {
        uint32_t maker = plan->blocks.data[task->uses.data[i].block].task;
        if (maker != PLAN_NONE) is_maker[maker] = true;
    }
    StrBuf text = strbuf(out->arena);
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        uint32_t first = i;
        if (!is_maker[i]) continue;
        while (is_maker[i + 1]) i++;
        if (text.len > 0) strbuf_char(&text, ' ');
        if (i == first + 1) strbuf_printf(&text, "%" PRIu32 " ", first + 1);
        if (i > first + 1) strbuf_printf(&text, "%" PRIu32 "-", first + 1);
        strbuf_printf(&text, "%" PRIu32, i + 1);
    }
    if (text.len == 0) strbuf_char(&text, '-');
    strbuf_printf(out, " %-12.*s", STR_ARG(strbuf_done(&text)));
}

// So many columns of characters; the last is "…" where there are more.
static void put_columns(StrBuf *out, Str text, uint32_t columns) {
    uint32_t count = 0;
    for (size_t at = 0; at < text.len; count++)
        at += length_of_char((Str){text.ptr + at, text.len - at});
    bool is_cut = count > columns;
    for (uint32_t i = 0; i < columns; i++) {
        size_t len = text.len > 0 ? length_of_char(text) : 0;
        if (is_cut && i + 1 == columns) strbuf_cstr(out, "\xe2\x80\xa6");
        else if (len == 0) strbuf_char(out, ' ');
        else strbuf_bytes(out, text.ptr, len);
        text = (Str){text.ptr + len, text.len - len};
    }
}

// What the host makes of tasks and arguments.
static void put_results(const Plan *plan, StrBuf *out) {
    for (uint32_t i = 0; i < plan->results.len; i++) {
        const PlanResult *result = &plan->results.data[i];
        if (!result->is_made || result->uses.len == 0) continue;
        strbuf_printf(out, "  %.*s needs",
                      STR_ARG(plan_box_result(plan, i, out->arena)));
        for (uint32_t k = 0; k < result->uses.len; k++) {
            PlanUse use = result->uses.data[k];
            uint32_t task = plan->blocks.data[use.block].task;
            char text[PLAN_TEXT];
            if (task != PLAN_NONE) strbuf_printf(out, " %" PRIu32, task + 1);
            else strbuf_printf(out, " %.*s", STR_ARG(plan_block_name(plan, use.block)));
            if (use.bytes == 0)
                strbuf_printf(out, " (%s)", plan_edge(text, plan, use.block, 0, true));
        }
        strbuf_char(out, '\n');
    }
}

void plan_print_tasks(const Plan *plan, StrBuf *out) {
    enum { WHAT = 16 };
    bool has_measures = plan->measured_busy != NULL;
    put_title(out, "Tasks");
    if (plan->tasks.len == 0) {
        strbuf_cstr(out, "  none: there is nothing for a kernel to do\n");
        put_results(plan, out);
        return;
    }
    strbuf_printf(out, "  task line  %-*s device    needs        %9s %9s%s\n", WHAT,
                  "what", "makes", "takes", has_measures ? "  measured" : "");
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        const PlanTask *task = &plan->tasks.data[i];
        char bytes[PLAN_TEXT], time[PLAN_TEXT], took[PLAN_TEXT], turns[PLAN_TEXT];
        char line[PLAN_TEXT];
        Str what = plan_task_name(plan, i, out->arena);
        strbuf_printf(out, "  %4" PRIu32 " %4s%c ", i + 1,
                      plan_line(line, plan, task->loc), task->is_critical ? '*' : ' ');
        put_columns(out, what, WHAT);
        strbuf_printf(out, " %-9s", plan_device(plan, task->device));
        put_needs(plan, task, out);
        strbuf_printf(out, " %9s %9s", plan_bytes(bytes, plan_made(plan, task)),
                      plan_time(time, predicted(task)));
        if (has_measures) strbuf_printf(out, " %9s", plan_time(took, plan_took(task)));
        if (!isnan(task->measured) && task->ran_on != task->device)
            strbuf_printf(out, "  on %s", plan_device(plan, task->ran_on));
        if (task->turns != 1)
            strbuf_printf(out, "  in %s turns", count_text(turns, task->turns));
        strbuf_char(out, '\n');
    }
    char time[PLAN_TEXT];
    strbuf_printf(out, "  * on the longest way, which takes %s",
                  plan_time(time, plan->is_timed ? plan->longest : NAN));
    if (has_measures)
        strbuf_printf(out, "; measured %s", plan_time(time, plan->measured_longest));
    strbuf_char(out, '\n');
    put_results(plan, out);
    if (plan->took_a_branch)
        strbuf_cstr(out, "  Of a branch that nobody knows the busier arm is told.\n");
    if (plan->is_cut_off) strbuf_cstr(out, "  There are more, which are not told.\n");
}

// ---- what devices do ----------------------------------------------------------------

static int compare_steps(const void *a, const void *b) {
    const PlanStep *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static void put_step(const Plan *plan, const PlanStep *step, StrBuf *out) {
    char begin[PLAN_TEXT], bytes[PLAN_TEXT], line[PLAN_TEXT];
    if (plan->is_timed) strbuf_printf(out, "  %9s", plan_time(begin, step->begin));
    strbuf_cstr(out, plan->is_timed ? "  " : "    ");
    if (step->kind == PLAN_RUN) {
        const PlanTask *task = &plan->tasks.data[step->task];
        strbuf_printf(out, "run   task %" PRIu32 ": %s of line %s\n", step->task + 1,
                      plan_verb(task), plan_line(line, plan, task->loc));
        return;
    }
    static const char *const verbs[] = {
        [PLAN_SEND] = "take", [PLAN_FREE] = "free", [PLAN_FETCH] = "give"};
    Str name = plan_block_name(plan, step->block);
    uint32_t maker = plan->blocks.data[step->block].task;
    strbuf_printf(out, "%-5s %.*s", verbs[step->kind], STR_ARG(name));
    if (maker != PLAN_NONE) strbuf_printf(out, " of task %" PRIu32, maker + 1);
    strbuf_printf(out, ", %s\n", plan_bytes(bytes, step->bytes));
}

static double idle_of(double busy, double all) {
    return all > 0 && busy < all ? 100 * (1 - busy / all) : 0;
}

static void put_device(const Plan *plan, uint32_t device, const PlanStep *steps,
                       StrBuf *out) {
    char busy[PLAN_TEXT], bytes[PLAN_TEXT];
    bool is_device = device < plan->in.device_count;
    strbuf_printf(out, "  %s:", plan_device(plan, device));
    if (plan->is_timed && is_device)
        strbuf_printf(out, " %s of work, %.0f %% idle",
                      plan_time(busy, plan->busy[device]),
                      idle_of(plan->busy[device], plan->seconds));
    if (plan->measured_busy != NULL && is_device)
        strbuf_printf(out, "%s measured %s, %.0f %% idle, %s to and from it",
                      plan->is_timed ? ";" : "",
                      plan_time(busy, plan->measured_busy[device]),
                      idle_of(plan->measured_busy[device], plan->measured),
                      plan_bytes(bytes, plan->measured_bytes[device]));
    strbuf_char(out, '\n');
    for (uint32_t i = 0; i < plan->steps.len; i++)
        if (steps[i].device == device) put_step(plan, &steps[i], out);
}

void plan_print_devices(const Plan *plan, StrBuf *out) {
    char time[PLAN_TEXT];
    put_title(out, "Devices");
    PlanStep *steps =
        arena_copy(plan->in.arena, plan->steps.data, plan->steps.len * sizeof *steps);
    if (plan->steps.len > 0 && plan->is_timed)
        qsort(steps, plan->steps.len, sizeof *steps, compare_steps);
    for (uint32_t d = 0; d <= plan->in.device_count; d++) {
        bool is_used = d < plan->in.device_count;
        for (uint32_t i = 0; i < plan->steps.len; i++)
            is_used = is_used || steps[i].device == d;
        if (is_used) put_device(plan, d, steps, out);
    }
    strbuf_printf(out, "  in all: %s",
                  plan_time(time, plan->is_timed ? plan->seconds : NAN));
    if (plan->measured_busy != NULL)
        strbuf_printf(out, "; measured %s", plan_time(time, plan->measured));
    strbuf_char(out, '\n');
    if (plan->measured_busy != NULL && !isnan(plan->measured_edges))
        strbuf_printf(out, "  %.0f of %.0f edges cross devices; %.0f waits\n",
                      plan->measured_crossing, plan->measured_edges,
                      plan->measured_waits);
}

// ---- memory -------------------------------------------------------------------------

typedef struct Lines {
    uint32_t *lines; // 0: the arguments
    double *sums;
    uint32_t count;
} Lines;

static void add_to_line(const Plan *plan, Lines *l, CoreLoc loc, double bytes) {
    uint32_t line = plan_where(plan->in.program, loc).line, k = 0;
    while (k < l->count && l->lines[k] != line) k++;
    if (k == l->count) l->lines[l->count++] = line;
    if (!isnan(bytes)) l->sums[k] += bytes;
}

void plan_name_bytes(const Plan *plan, const PlanPeak *peak, StrBuf *out) {
    Lines l = {.lines = arena_array(plan->in.arena, uint32_t, peak->blocks.len + 1),
               .sums = arena_array(plan->in.arena, double, peak->blocks.len + 1)};
    for (uint32_t i = 0; i < peak->blocks.len; i++) {
        const PlanBlock *b = &plan->blocks.data[peak->blocks.data[i]];
        add_to_line(plan, &l, b->loc, b->bytes);
    }
    if (peak->beside > 0)
        add_to_line(plan, &l, plan->tasks.data[peak->task].loc, peak->beside);
    for (uint32_t k = 0; k < l.count; k++) {
        char bytes[PLAN_TEXT];
        strbuf_printf(out, "%s%s of ", k > 0 ? ", " : "", plan_bytes(bytes, l.sums[k]));
        if (l.lines[k] == 0) strbuf_cstr(out, "arguments");
        else strbuf_printf(out, "line %" PRIu32, l.lines[k]);
    }
}

// Of each memory by itself, if there are several, or that was measured.
static void put_held(const Plan *plan, bool is_known, StrBuf *out) {
    const double *most = plan_most_held(plan);
    uint32_t host = plan->in.device_count;
    bool has_others = false;
    char bytes[PLAN_TEXT];
    for (uint32_t d = 0; d < host; d++)
        has_others = has_others || plan_memory(plan, d) == d;
    for (uint32_t m = 0; m <= host; m++) {
        bool is_told = (is_known && has_others) || plan->measured_most != NULL;
        if (!is_told || plan_memory(plan, m) != m) continue;
        strbuf_printf(out, "  %s holds %s at %s", plan_device(plan, m),
                      plan_bytes(bytes, most[m]), is_known ? "most" : "least");
        if (plan->measured_most != NULL)
            strbuf_printf(out, "; measured %s",
                          plan_bytes(bytes, plan->measured_most[m]));
        strbuf_char(out, '\n');
    }
}

void plan_print_memory(const Plan *plan, StrBuf *out) {
    char bytes[PLAN_TEXT], line[PLAN_TEXT];
    put_title(out, "Memory");
    bool is_known = true;
    for (uint32_t i = 0; i < plan->blocks.len; i++)
        is_known = is_known && !isnan(plan->blocks.data[i].bytes);
    strbuf_printf(out, "  %s at %s", plan_bytes(bytes, plan->peak.bytes),
                  is_known ? "most" : "least");
    if (plan->peak.task != PLAN_NONE)
        strbuf_printf(out, ", during task %" PRIu32, plan->peak.task + 1);
    strbuf_char(out, '\n');
    for (uint32_t i = 0; i < plan->peak.blocks.len; i++) {
        const PlanBlock *b = &plan->blocks.data[plan->peak.blocks.data[i]];
        Str name = plan_block_name(plan, plan->peak.blocks.data[i]);
        strbuf_printf(out, "  %9s  %.*s", plan_bytes(bytes, b->bytes), STR_ARG(name));
        if (b->task == PLAN_NONE) strbuf_cstr(out, ", an argument\n");
        else strbuf_printf(out, ", made in line %s\n", plan_line(line, plan, b->loc));
    }
    if (!is_known) strbuf_cstr(out, "  and arrays whose sizes are not known\n");
    put_held(plan, is_known, out);
}
