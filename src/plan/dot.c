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

static void put_colour(const Plan *plan, uint32_t device, StrBuf *out) {
    char colour[PLAN_COLOUR];
    strbuf_printf(out, "fillcolor=\"%s22\"", plan_colour(colour, plan, device));
}

static void put_task(const Plan *plan, uint32_t number, StrBuf *out) {
    const PlanTask *task = &plan->tasks.data[number];
    strbuf_printf(out, "  t%" PRIu32 " [label=\"%" PRIu32 ": ", number, number + 1);
    put_text(out, plan_task_name(plan, number, out->arena));
    strbuf_cstr(out, "\\n");
    put_text(out, plan_box_where(plan, task, out->arena));
    strbuf_cstr(out, "\\n");
    put_text(out, plan_box_costs(plan, task, out->arena));
    strbuf_cstr(out, "\", ");
    put_colour(plan, task->device, out);
    strbuf_printf(out, "%s];\n", task->is_critical ? ", penwidth=2" : "");
}

static void put_ellipse(char letter, uint32_t number, Str name, double size,
                        StrBuf *out) {
    char bytes[PLAN_TEXT];
    strbuf_printf(out, "  %c%" PRIu32 " [label=\"", letter, number);
    put_text(out, name);
    strbuf_printf(out, ", %s\", shape=ellipse, fillcolor=white];\n",
                  plan_bytes(bytes, size));
}

// To a task, or to a result, which the host takes.
static void put_edges(const Plan *plan, PlanUses uses, char letter, uint32_t number,
                      const PlanTask *by, StrBuf *out) {
    for (uint32_t k = 0; k < uses.len; k++) {
        PlanUse use = uses.data[k];
        const PlanBlock *block = &plan->blocks.data[use.block];
        bool is_arg = block->task == PLAN_NONE;
        char bytes[PLAN_TEXT];
        double moved;
        bool travels = plan_travels(plan, use, by, &moved);
        strbuf_printf(
            out, "  %c%" PRIu32 " -> %c%" PRIu32 " [label=\"%s\"%s];\n",
            is_arg ? 'a' : 't', is_arg ? use.block : block->task, letter, number,
            plan_edge(bytes, plan, use.block, travels ? moved : use.bytes, by == NULL),
            travels ? ", penwidth=3" : "");
    }
}

static void put_legend(const Plan *plan, StrBuf *out) {
    strbuf_cstr(out, "  subgraph cluster_devices {\n    label=\"devices\";\n");
    for (uint32_t d = 0; d <= plan->in.device_count; d++) {
        strbuf_printf(out, "    d%" PRIu32 " [label=\"", d);
        put_text(out, plan_box_device(plan, d, out->arena));
        strbuf_cstr(out, "\", ");
        put_colour(plan, d, out);
        strbuf_cstr(out, "];\n");
    }
    strbuf_cstr(out, "  }\n");
}

void plan_print_dot(const Plan *plan, StrBuf *out) {
    strbuf_cstr(out, "digraph plan {\n  node [shape=box, style=\"filled,rounded\"];\n");
    for (uint32_t i = 0; i < plan->params; i++)
        put_ellipse('a', i, plan_block_name(plan, i), plan->blocks.data[i].bytes, out);
    for (uint32_t i = 0; i < plan->tasks.len; i++) put_task(plan, i, out);
    for (uint32_t i = 0; i < plan->results.len; i++)
        put_ellipse('r', i, plan_box_result(plan, i, out->arena),
                    plan->results.data[i].bytes, out);
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        const PlanTask *task = &plan->tasks.data[i];
        put_edges(plan, task->uses, 't', i, task, out);
    }
    for (uint32_t i = 0; i < plan->results.len; i++)
        put_edges(plan, plan->results.data[i].uses, 'r', i, NULL, out);
    put_legend(plan, out);
    strbuf_cstr(out, "}\n");
}
