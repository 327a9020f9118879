// SPDX-License-Identifier: Apache-2.0
//
// What boxes of the graph say, and their colours, for Graphviz and in pictures.
#include <inttypes.h>
#include <stdio.h>

#include "plan/plan.h"

Str plan_box_where(const Plan *plan, const PlanTask *task, Arena *arena) {
    StrBuf text = strbuf(arena);
    char line[PLAN_TEXT];
    strbuf_printf(&text, "line %s, %s", plan_line(line, plan, task->loc),
                  plan_device(plan, task->device));
    if (isnan(task->turns)) strbuf_cstr(&text, ", in turns");
    else if (task->turns != 1) strbuf_printf(&text, ", %.9g turns", task->turns);
    return strbuf_done(&text);
}

Str plan_box_costs(const Plan *plan, const PlanTask *task, Arena *arena) {
    StrBuf text = strbuf(arena);
    char number[PLAN_TEXT];
    double seconds = plan_is_timed(task) ? task->end - task->begin : NAN;
    strbuf_cstr(&text, plan_time(number, seconds));
    if (!isnan(task->measured))
        strbuf_printf(&text, ", took %s", plan_time(number, plan_took(task)));
    strbuf_printf(&text, ", %s", plan_bytes(number, plan_made(plan, task)));
    return strbuf_done(&text);
}

Str plan_box_result(const Plan *plan, uint32_t result, Arena *arena) {
    StrBuf text = strbuf(arena);
    Sym name = plan->results.data[result].name;
    strbuf_cstr(&text, "result");
    if (plan->results.len > 1) strbuf_printf(&text, " %" PRIu32, result + 1);
    if (name != 0) strbuf_char(&text, ' ');
    strbuf_str(&text, sym_str(&plan->in.program->cx->syms, name));
    return strbuf_done(&text);
}

const char *plan_edge(char text[PLAN_TEXT], const Plan *plan, uint32_t block,
                      double bytes, bool is_result) {
    bool is_taken = bytes != 0 || plan->blocks.data[block].bytes == 0;
    if (is_taken) return plan_bytes(text, bytes);
    return is_result ? "its length" : "waits";
}

Str plan_box_device(const Plan *plan, uint32_t device, Arena *arena) {
    StrBuf text = strbuf(arena);
    char busy[PLAN_TEXT];
    bool is_host = device == plan->in.device_count;
    strbuf_cstr(&text, plan_device(plan, device));
    if (plan->is_timed && !is_host)
        strbuf_printf(&text, ": works for %s", plan_time(busy, plan->busy[device]));
    return strbuf_done(&text);
}

// Some that go well together, and behind them ones of hues in golden angles, which
// never come back.
const char *plan_colour(char text[PLAN_COLOUR], const Plan *plan, uint32_t device) {
    static const char *const colours[] = {"#2f6fb3", "#e08a2c", "#2f9e68", "#b9447c",
                                          "#7659c0", "#a8901a", "#2596a6", "#a4573b"};
    enum { COUNT = sizeof colours / sizeof *colours, MIDDLE = 120, SWING = 90 };
    if (device == plan->in.device_count) return "#8693a0";
    if (device < COUNT) return colours[device];
    const double golden = 2.39996, third = 2.09440;
    int parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = MIDDLE + (int)(SWING * cos(golden * device + third * i));
    snprintf(text, PLAN_COLOUR, "#%02x%02x%02x", (unsigned)parts[0] & 255,
             (unsigned)parts[1] & 255, (unsigned)parts[2] & 255);
    return text;
}
