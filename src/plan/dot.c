// SPDX-License-Identifier: Apache-2.0
//
// The graph of tasks in the language of Graphviz.
#include <inttypes.h>

#include "plan/plan.h"

// What stands between quotes: bytes that are no UTF-8 are replaced.
static void put_text(StrBuf *out, Str text) {
    while (text.len > 0) {
        size_t len = str_utf8(text);
        if (len == 0) strbuf_cstr(out, "\xef\xbf\xbd");
        else if (text.ptr[0] == '"' || text.ptr[0] == '\\')
            strbuf_printf(out, "\\%c", text.ptr[0]);
        else if ((unsigned char)text.ptr[0] < ' ') strbuf_char(out, ' ');
        else strbuf_bytes(out, text.ptr, len);
        text.ptr += len == 0 ? 1 : len;
        text.len -= len == 0 ? 1 : len;
    }
}

static void put_task(const Plan *plan, uint32_t number, StrBuf *out) {
    const PlanTask *task = &plan->tasks.data[number];
    char time[PLAN_TEXT], bytes[PLAN_TEXT], line[PLAN_TEXT];
    strbuf_printf(out, "  t%" PRIu32 " [label=\"%" PRIu32 ": ", number, number + 1);
    put_text(out, plan_task_name(plan, number, out->arena));
    strbuf_printf(out, "\\nline %s, ", plan_line(line, plan, task->loc));
    put_text(out, str_of(plan_device(plan, task->device)));
    double seconds = plan_is_timed(task) ? task->end - task->begin : NAN;
    strbuf_printf(out, "\\n%s, %s\", fillcolor=\"/pastel19/%" PRIu32 "\"%s];\n",
                  plan_time(time, seconds), plan_bytes(bytes, plan_made(plan, task)),
                  1 + task->device % 9, task->is_critical ? ", penwidth=2" : "");
}

static void put_edge(const Plan *plan, uint32_t number, PlanUse use, StrBuf *out) {
    const PlanBlock *block = &plan->blocks.data[use.block];
    char bytes[PLAN_TEXT];
    uint32_t host = plan->in.device_count;
    uint32_t from =
        block->task == PLAN_NONE ? host : plan->tasks.data[block->task].device;
    bool travels =
        block->type.rank > 0 &&
        plan_memory(plan, from) != plan_memory(plan, plan->tasks.data[number].device);
    if (block->task == PLAN_NONE) strbuf_printf(out, "  a%" PRIu32, use.block);
    else strbuf_printf(out, "  t%" PRIu32, block->task);
    strbuf_printf(out, " -> t%" PRIu32 " [label=\"%s\"%s];\n", number,
                  use.bytes == 0 ? "" : plan_bytes(bytes, use.bytes),
                  travels ? ", penwidth=3" : "");
}

void plan_print_dot(const Plan *plan, StrBuf *out) {
    strbuf_cstr(out, "digraph plan {\n  node [shape=box, style=\"filled,rounded\"];\n");
    for (uint32_t i = 0; i < plan->params; i++) {
        strbuf_printf(out, "  a%" PRIu32 " [label=\"", i);
        put_text(out, plan_block_name(plan, i));
        strbuf_cstr(out, "\", shape=ellipse, fillcolor=white];\n");
    }
    for (uint32_t i = 0; i < plan->tasks.len; i++) put_task(plan, i, out);
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        const PlanTask *task = &plan->tasks.data[i];
        for (uint32_t k = 0; k < task->uses.len; k++)
            put_edge(plan, i, task->uses.data[k], out);
    }
    strbuf_cstr(out, "}\n");
}
