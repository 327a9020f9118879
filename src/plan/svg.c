// SPDX-License-Identifier: Apache-2.0
//
// The graph of tasks as a picture, from top to bottom: a task stands one layer below
// the last of those that it needs; in a layer, nodes stand near what they are joined
// to. An edge over several layers passes through nodes without a box (Sugiyama, Tagawa
// and Toda, 1981).
#include <inttypes.h>
#include <stdio.h>

#include "plan/plan.h"

enum {
    BOX_WIDTH = 184,
    BOX_HEIGHT = 64,
    PILL_HEIGHT = 34,
    BEND_WIDTH = 16, // what an edge has to itself in a layer that it passes
    SPACE = 26,      // between nodes
    LAYER = 132,     // from one to the next
    MARGIN = 32,
    TITLE = 76,
    SWEEPS = 12,
    MOST = 400 // tasks that are drawn
};

typedef enum NodeKind { NODE_ARG, NODE_TASK, NODE_RESULT, NODE_BEND } NodeKind;

typedef struct Node {
    NodeKind kind;
    uint32_t number; // of the block or the task
    uint32_t layer;
    double x;      // of the middle
    double wanted; // where its neighbours would have it
} Node;

// A piece of an edge, from one layer to the next.
typedef struct Piece {
    uint32_t from, to;
} Piece;

typedef struct Edge {
    uint32_t from, to, block;
    double bytes;
    bool travels, is_critical;
    uint32_t first, pieces;
} Edge;

typedef struct Picture {
    const Plan *plan;
    StrBuf *out;
    Arena *arena;
    uint32_t task_count; // that are drawn
    struct {
        Node *data;
        uint32_t len, cap;
    } nodes;
    struct {
        Edge *data;
        uint32_t len, cap;
    } edges;
    struct {
        Piece *data;
        uint32_t len, cap;
    } pieces;
    uint32_t **layers; // nodes from left to right
    uint32_t *layer_lens;
    uint32_t layer_count;
    double width, height, legend;
} Picture;

// ---- the graph ----------------------------------------------------------------------

static uint32_t add_node(Picture *g, NodeKind kind, uint32_t number, uint32_t layer) {
    vec_push(g->arena, &g->nodes,
             (Node){.kind = kind, .number = number, .layer = layer});
    return g->nodes.len - 1;
}

// Tasks are the first nodes, by number.
static void add_tasks(Picture *g) {
    const Plan *plan = g->plan;
    for (uint32_t i = 0; i < g->task_count; i++) {
        const PlanTask *task = &plan->tasks.data[i];
        uint32_t layer = 1;
        for (uint32_t k = 0; k < task->uses.len; k++) {
            uint32_t maker = plan->blocks.data[task->uses.data[k].block].task;
            if (maker != PLAN_NONE && g->nodes.data[maker].layer >= layer)
                layer = g->nodes.data[maker].layer + 1;
        }
        add_node(g, NODE_TASK, i, layer);
    }
}

// Several uses of one block by one task are one edge.
static void add_edge(Picture *g, Edge edge) {
    for (uint32_t i = 0; i < g->edges.len; i++) {
        Edge *e = &g->edges.data[i];
        if (e->from != edge.from || e->to != edge.to) continue;
        if (edge.bytes > 0) e->bytes += edge.bytes;
        e->travels |= edge.travels;
        return;
    }
    vec_push(g->arena, &g->edges, edge);
}

// Parameters stand above the first task that uses them.
static void add_arg(Picture *g, uint32_t block) {
    uint32_t layer = PLAN_NONE, node = g->nodes.len;
    for (uint32_t i = 0; i < g->task_count; i++) {
        const PlanTask *task = &g->plan->tasks.data[i];
        for (uint32_t k = 0; k < task->uses.len; k++) {
            if (task->uses.data[k].block != block) continue;
            bool travels =
                plan_memory(g->plan, task->device) != g->plan->in.device_count;
            add_edge(g, (Edge){.from = node,
                               .to = i,
                               .block = block,
                               .bytes = task->uses.data[k].bytes,
                               .travels = travels});
            if (g->nodes.data[i].layer - 1 < layer) layer = g->nodes.data[i].layer - 1;
        }
    }
    if (layer != PLAN_NONE) add_node(g, NODE_ARG, block, layer);
}

static void add_uses(Picture *g, uint32_t number) {
    const Plan *plan = g->plan;
    const PlanTask *task = &plan->tasks.data[number];
    for (uint32_t k = 0; k < task->uses.len; k++) {
        PlanUse use = task->uses.data[k];
        uint32_t maker = plan->blocks.data[use.block].task;
        if (maker == PLAN_NONE) continue;
        const PlanTask *other = &plan->tasks.data[maker];
        bool travels =
            plan_memory(plan, other->device) != plan_memory(plan, task->device) &&
            plan->blocks.data[use.block].type.rank > 0;
        add_edge(g, (Edge){.from = maker,
                           .to = number,
                           .block = use.block,
                           .bytes = use.bytes,
                           .travels = travels,
                           .is_critical = other->is_critical && task->is_critical});
    }
}

static void add_result(Picture *g, uint32_t block) {
    const PlanBlock *b = &g->plan->blocks.data[block];
    if (!b->is_result || b->task == PLAN_NONE || b->task >= g->task_count) return;
    uint32_t host = g->plan->in.device_count;
    uint32_t device = g->plan->tasks.data[b->task].device;
    uint32_t node = add_node(g, NODE_RESULT, block, g->nodes.data[b->task].layer + 1);
    add_edge(
        g, (Edge){.from = b->task,
                  .to = node,
                  .block = block,
                  .bytes = b->bytes,
                  .travels = plan_memory(g->plan, device) != host && b->type.rank > 0});
}

static void add_pieces(Picture *g, Edge *edge) {
    uint32_t at = edge->from, last = g->nodes.data[edge->to].layer;
    edge->first = g->pieces.len;
    for (uint32_t layer = g->nodes.data[at].layer + 1; layer < last; layer++) {
        uint32_t bend = add_node(g, NODE_BEND, 0, layer);
        vec_push(g->arena, &g->pieces, (Piece){at, bend});
        at = bend;
    }
    vec_push(g->arena, &g->pieces, (Piece){at, edge->to});
    edge->pieces = g->pieces.len - edge->first;
}

static void build(Picture *g) {
    const Plan *plan = g->plan;
    g->task_count = plan->tasks.len < MOST ? plan->tasks.len : MOST;
    add_tasks(g);
    for (uint32_t i = 0; i < plan->params; i++) add_arg(g, i);
    for (uint32_t i = 0; i < g->task_count; i++) add_uses(g, i);
    for (uint32_t i = 0; i < plan->blocks.len; i++) add_result(g, i);
    for (uint32_t i = 0; i < g->edges.len; i++) add_pieces(g, &g->edges.data[i]);
    for (uint32_t i = 0; i < g->nodes.len; i++)
        if (g->nodes.data[i].layer >= g->layer_count)
            g->layer_count = g->nodes.data[i].layer + 1;
    g->layers = arena_array(g->arena, uint32_t *, g->layer_count);
    g->layer_lens = arena_array(g->arena, uint32_t, g->layer_count);
    for (uint32_t i = 0; i < g->nodes.len; i++) g->layer_lens[g->nodes.data[i].layer]++;
    for (uint32_t l = 0; l < g->layer_count; l++) {
        g->layers[l] = arena_array(g->arena, uint32_t, g->layer_lens[l] + 1);
        g->layer_lens[l] = 0;
    }
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        uint32_t l = g->nodes.data[i].layer;
        g->layers[l][g->layer_lens[l]++] = i;
    }
}

// ---- where nodes stand --------------------------------------------------------------

// The mean of the neighbours above, below or on both sides; its own place without any.
static void want(Picture *g, bool above, bool below) {
    double *sums = arena_array(g->arena, double, g->nodes.len);
    uint32_t *counts = arena_array(g->arena, uint32_t, g->nodes.len);
    for (uint32_t i = 0; i < g->pieces.len; i++) {
        Piece p = g->pieces.data[i];
        if (above) sums[p.to] += g->nodes.data[p.from].x, counts[p.to]++;
        if (below) sums[p.from] += g->nodes.data[p.to].x, counts[p.from]++;
    }
    for (uint32_t i = 0; i < g->nodes.len; i++)
        g->nodes.data[i].wanted =
            counts[i] > 0 ? sums[i] / counts[i] : g->nodes.data[i].x;
}

static double half_of(const Node *node) {
    return (node->kind == NODE_BEND ? BEND_WIDTH : BOX_WIDTH) / 2.0;
}

static double apart(const Picture *g, uint32_t a, uint32_t b) {
    return half_of(&g->nodes.data[a]) + half_of(&g->nodes.data[b]) + SPACE;
}

// As near as they can be to where they are wanted, in their order.
static void settle(Picture *g, uint32_t layer) {
    uint32_t len = g->layer_lens[layer], *order = g->layers[layer];
    double *left = arena_array(g->arena, double, len + 1);
    double *right = arena_array(g->arena, double, len + 1);
    for (uint32_t i = 0; i < len; i++) {
        left[i] = g->nodes.data[order[i]].wanted;
        double least = i > 0 ? left[i - 1] + apart(g, order[i - 1], order[i]) : left[i];
        if (left[i] < least) left[i] = least;
    }
    for (uint32_t i = len; i-- > 0;) {
        right[i] = g->nodes.data[order[i]].wanted;
        double most =
            i + 1 < len ? right[i + 1] - apart(g, order[i], order[i + 1]) : right[i];
        if (right[i] > most) right[i] = most;
    }
    for (uint32_t i = 0; i < len; i++)
        g->nodes.data[order[i]].x = (left[i] + right[i]) / 2;
}

// In the order in which they are wanted; equal ones as they were.
static void sort_layer(Picture *g, uint32_t layer) {
    uint32_t *order = g->layers[layer];
    for (uint32_t i = 1; i < g->layer_lens[layer]; i++)
        for (uint32_t k = i; k > 0; k--) {
            uint32_t a = order[k - 1], b = order[k];
            if (g->nodes.data[a].wanted <= g->nodes.data[b].wanted) break;
            order[k - 1] = b;
            order[k] = a;
        }
}

static void sweep(Picture *g, bool above, bool below, bool sorts) {
    for (uint32_t i = 0; i < g->layer_count; i++) {
        uint32_t layer = above ? i : g->layer_count - 1 - i;
        want(g, above, below);
        if (sorts) sort_layer(g, layer);
        settle(g, layer);
    }
}

static void place(Picture *g) {
    for (uint32_t l = 0; l < g->layer_count; l++) settle(g, l);
    for (int i = 0; i < SWEEPS; i++) sweep(g, i % 2 == 0, i % 2 == 1, true);
    for (int i = 0; i < SWEEPS / 2; i++) sweep(g, true, true, false);
    double least = 0, most = 0;
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        const Node *node = &g->nodes.data[i];
        double low = node->x - half_of(node), high = node->x + half_of(node);
        if (i == 0 || low < least) least = low;
        if (i == 0 || high > most) most = high;
    }
    double shift = MARGIN - least;
    enum { NARROWEST = 640 };
    g->width = most - least + 2 * MARGIN;
    if (g->width < NARROWEST) {
        shift += (NARROWEST - g->width) / 2;
        g->width = NARROWEST;
    }
    for (uint32_t i = 0; i < g->nodes.len; i++) g->nodes.data[i].x += shift;
}

static double middle_of(const Node *node) {
    return TITLE + node->layer * (double)LAYER + BOX_HEIGHT / 2.0;
}

static double half_height(const Node *node) {
    return node->kind == NODE_TASK   ? BOX_HEIGHT / 2.0
           : node->kind == NODE_BEND ? 0
                                     : PILL_HEIGHT / 2.0;
}

// ---- text ---------------------------------------------------------------------------

// At most so many characters, of which wide ones count twice; the last is then "…".
static void put_text(StrBuf *out, Str text, unsigned most) {
    for (unsigned used = 0; text.len > 0; used++) {
        size_t len = str_utf8(text), step = len == 0 ? 1 : len;
        unsigned char c = (unsigned char)text.ptr[0];
        if (used + 1 >= most && text.len > step) {
            strbuf_cstr(out, "\xe2\x80\xa6");
            return;
        }
        if (len == 0) strbuf_cstr(out, "\xef\xbf\xbd");
        else if (c == '&') strbuf_cstr(out, "&amp;");
        else if (c == '<') strbuf_cstr(out, "&lt;");
        else if (c == '>') strbuf_cstr(out, "&gt;");
        else if (c < ' ' || c == 0x7f) strbuf_char(out, ' ');
        else strbuf_bytes(out, text.ptr, len);
        used += len >= 3;
        text.ptr += step;
        text.len -= step;
    }
}

static void put_label(Picture *g, double x, double y, const char *class, Str text,
                      unsigned most) {
    strbuf_printf(g->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    put_text(g->out, text, most);
    strbuf_cstr(g->out, "</text>\n");
}

static void __attribute__((format(printf, 6, 7)))
put_line(Picture *g, double x, double y, const char *class, unsigned most,
         const char *format, ...) {
    StrBuf text = strbuf(g->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    put_label(g, x, y, class, strbuf_done(&text), most);
}

// ---- drawing ------------------------------------------------------------------------

static const char head[] =
    "<style>\n"
    ".page{fill:#fbfcfd}.box{fill:#fff;stroke:#c6ccd4}.way{stroke:#1f2933;"
    "stroke-width:2.2}\n"
    "text{font-family:'Helvetica Neue',Helvetica,Arial,sans-serif;fill:#1f2933}\n"
    ".title{font-size:19px;font-weight:bold}.name{font-size:14px;font-weight:bold}\n"
    ".small{font-size:11.5px;fill:#52606d}.bytes{font-size:11px;fill:#52606d;"
    "paint-order:stroke;stroke:#fbfcfd;stroke-width:4px;stroke-linejoin:round}\n"
    ".pill{fill:#eef1f4;stroke:#c6ccd4}.mid{text-anchor:middle}\n"
    ".edge{fill:none;stroke:#9aa5b1;stroke-width:1.4}\n"
    ".far{stroke-width:3.6;stroke:#7b8794}\n"
    "@media (prefers-color-scheme:dark){.page{fill:#12171d}.box{fill:#1d242c;"
    "stroke:#3a4550}\n"
    ".way{stroke:#e4e7eb}text{fill:#e4e7eb}.small,.bytes{fill:#9fb3c8}"
    ".bytes{stroke:#12171d}\n"
    ".pill{fill:#242d36;stroke:#3a4550}.edge{stroke:#616e7c}.far{stroke:#9aa5b1}}\n"
    "</style>\n";

static const char *colour_of(const Plan *plan, uint32_t device) {
    static const char *const colours[] = {"#2f6fb3", "#e08a2c", "#2f9e68", "#b9447c",
                                          "#7659c0", "#a8901a", "#2596a6", "#a4573b"};
    if (device == plan->in.device_count) return "#8693a0";
    return colours[device % (sizeof colours / sizeof *colours)];
}

// How far from its middle the edge meets the node: edges at one side stand in the order
// of where they go.
static double port_of(const Picture *g, uint32_t edge, bool at_end) {
    const Edge *e = &g->edges.data[edge];
    uint32_t before = 0, count = 0, node = at_end ? e->to : e->from;
    double mine = 0;
    for (uint32_t turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < g->edges.len; i++) {
            const Edge *o = &g->edges.data[i];
            if ((at_end ? o->to : o->from) != node) continue;
            Piece p = g->pieces.data[at_end ? o->first + o->pieces - 1 : o->first];
            double x = g->nodes.data[at_end ? p.from : p.to].x;
            if (turn == 0) count++;
            if (turn == 0 && i == edge) mine = x;
            if (turn == 1 && (x < mine || (x == mine && i < edge))) before++;
        }
    double step = BOX_WIDTH * 0.7 / count;
    if (step > 24) step = 24;
    return (before - (count - 1) / 2.0) * step;
}

static void draw_edge(Picture *g, uint32_t number) {
    const Edge *e = &g->edges.data[number];
    double x = 0, y = 0;
    strbuf_printf(g->out, "<path class=\"edge%s\" d=\"", e->travels ? " far" : "");
    for (uint32_t i = 0; i < e->pieces; i++) {
        Piece p = g->pieces.data[e->first + i];
        const Node *a = &g->nodes.data[p.from], *b = &g->nodes.data[p.to];
        if (i == 0) {
            x = a->x + port_of(g, number, false);
            y = middle_of(a) + half_height(a);
            strbuf_printf(g->out, "M%.1f %.1f", x, y);
        }
        bool is_last = i + 1 == e->pieces;
        double to_x = b->x + (is_last ? port_of(g, number, true) : 0);
        double to_y = middle_of(b) - half_height(b), bend = (to_y - y) / 2;
        strbuf_printf(g->out, "C%.1f %.1f %.1f %.1f %.1f %.1f", x, y + bend, to_x,
                      to_y - bend, to_x, to_y);
        x = to_x;
        y = to_y;
    }
    char bytes[PLAN_TEXT];
    strbuf_cstr(g->out, "\"><title>");
    put_text(g->out, plan_block_name(g->plan, e->block), 80);
    strbuf_printf(g->out, ", %s</title></path>\n", plan_bytes(bytes, e->bytes));
}

// What travels, where its edge has left the others.
static void draw_bytes(Picture *g, uint32_t number) {
    static const double across = 0.22, down = 0.37; // on the curve, of the first piece
    const Edge *e = &g->edges.data[number];
    char bytes[PLAN_TEXT];
    if (!e->travels || isnan(e->bytes)) return;
    Piece piece = g->pieces.data[e->first];
    const Node *from = &g->nodes.data[piece.from], *to = &g->nodes.data[piece.to];
    double x = from->x + port_of(g, number, false),
           y = middle_of(from) + half_height(from);
    double to_x = to->x + (e->pieces == 1 ? port_of(g, number, true) : 0);
    double to_y = middle_of(to) - half_height(to);
    put_line(g, x + across * (to_x - x), y + down * (to_y - y) + 4, "bytes mid", 16,
             "%s", plan_bytes(bytes, e->bytes));
}

static void draw_task(Picture *g, const Node *node) {
    const Plan *plan = g->plan;
    const PlanTask *task = &plan->tasks.data[node->number];
    double x = node->x - BOX_WIDTH / 2.0, y = middle_of(node) - BOX_HEIGHT / 2.0;
    const char *colour = colour_of(plan, task->device);
    char time[PLAN_TEXT], took[PLAN_TEXT], bytes[PLAN_TEXT], turns[48] = "";
    char line[PLAN_TEXT];
    if (task->turns != 1) snprintf(turns, sizeof turns, ", %.9g turns", task->turns);
    if (isnan(task->turns)) snprintf(turns, sizeof turns, ", in turns");
    strbuf_printf(g->out,
                  "<g><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"7\" "
                  "class=\"box\"/>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" "
                  "height=\"%d\" rx=\"7\" fill=\"%s\" fill-opacity=\"0.13\" "
                  "class=\"%s\"/>\n<path fill=\"%s\" d=\"M%.1f %.1fh-1a6 6 0 0 0-6 "
                  "6v%da6 6 0 0 0 6 6h1z\"/>\n",
                  x, y, BOX_WIDTH, BOX_HEIGHT, x, y, BOX_WIDTH, BOX_HEIGHT, colour,
                  task->is_critical ? "way" : "", colour, x + 8, y + 1,
                  BOX_HEIGHT - 14);
    put_line(g, x + 18, y + 21, "name", 20, "%" PRIu32 ": %.*s", node->number + 1,
             STR_ARG(plan_task_name(plan, node->number, g->arena)));
    put_line(g, x + 18, y + 38, "small", 27, "line %s, %s%s",
             plan_line(line, plan, task->loc), plan_device(plan, task->device), turns);
    bool is_measured = !isnan(task->measured);
    put_line(g, x + 18, y + 54, "small", 27, "%s%s%s, %s",
             plan_time(time, plan_is_timed(task) ? task->end - task->begin : NAN),
             is_measured ? ", took " : "",
             is_measured ? plan_time(took, plan_took(task)) : "",
             plan_bytes(bytes, plan_made(plan, task)));
    strbuf_cstr(g->out, "</g>\n");
}

static void draw_pill(Picture *g, const Node *node) {
    const PlanBlock *b = &g->plan->blocks.data[node->number];
    bool is_arg = node->kind == NODE_ARG;
    char bytes[PLAN_TEXT];
    strbuf_printf(g->out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"%d\" "
                  "class=\"pill\"/>\n",
                  node->x - BOX_WIDTH / 2.0, middle_of(node) - PILL_HEIGHT / 2.0,
                  BOX_WIDTH, PILL_HEIGHT, PILL_HEIGHT / 2);
    Str name = sym_str(&g->plan->in.program->cx->syms, b->name);
    put_line(g, node->x, middle_of(node) + 4, "small mid", 28, "%s%s%.*s, %s",
             is_arg ? "" : "result", !is_arg && name.len > 0 ? " " : "", STR_ARG(name),
             plan_bytes(bytes, b->bytes));
}

static void draw_title(Picture *g) {
    const Plan *plan = g->plan;
    char time[PLAN_TEXT], longest[PLAN_TEXT], bytes[PLAN_TEXT];
    put_label(g, MARGIN, 38, "title",
              sym_str(&plan->in.program->cx->syms, plan->in.entry->name), 50);
    if (plan->is_timed)
        put_line(g, MARGIN, 58, "small", 120,
                 "%s in all, of which the longest way takes %s; %s of memory",
                 plan_time(time, plan->seconds), plan_time(longest, plan->longest),
                 plan_bytes(bytes, plan->peak.bytes));
    else
        put_line(g, MARGIN, 58, "small", 120,
                 "how long it takes depends on what is not known");
}

// A line for each device, and what strokes mean.
static void draw_legend(Picture *g) {
    const Plan *plan = g->plan;
    double y = g->height - MARGIN - g->legend, x = MARGIN;
    for (uint32_t d = 0; d <= plan->in.device_count; d++, y += 20) {
        strbuf_printf(g->out,
                      "<rect x=\"%.1f\" y=\"%.1f\" width=\"13\" height=\"13\" rx=\"3\" "
                      "fill=\"%s\"/>\n",
                      x, y, colour_of(plan, d));
        char busy[PLAN_TEXT];
        bool is_told = plan->is_timed && d < plan->in.device_count;
        put_line(g, x + 20, y + 11, "small", 60, "%s%s%s", plan_device(plan, d),
                 is_told ? ": works for " : "",
                 is_told ? plan_time(busy, plan->busy[d]) : "");
    }
    y -= 20.0 * (plan->in.device_count + 1);
    x = MARGIN + 230;
    strbuf_printf(
        g->out,
        "<path class=\"edge far\" d=\"M%.1f %.1fh32\"/>\n<rect x=\"%.1f\" "
        "y=\"%.1f\" width=\"30\" height=\"13\" rx=\"3\" class=\"box way\"/>\n",
        x, y + 7, x + 1, y + 20);
    put_label(g, x + 42, y + 11, "small", STR("travels from one memory to another"),
              60);
    put_label(g, x + 42, y + 31, "small", STR("on the longest way"), 60);
    if (plan->is_cut_off || plan->tasks.len > g->task_count)
        put_label(g, x + 42, y + 51, "small", STR("there are more tasks"), 60);
}

void plan_print_svg(const Plan *plan, StrBuf *out) {
    Picture g = {.plan = plan, .out = out, .arena = plan->in.arena};
    build(&g);
    place(&g);
    uint32_t rows = plan->in.device_count < 2 ? 3 : plan->in.device_count + 1;
    double graph = g.layer_count > 0 ? (g.layer_count - 1.0) * LAYER + BOX_HEIGHT : 0;
    g.legend = 20.0 * rows;
    g.height = TITLE + graph + 2 * MARGIN + g.legend;
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                  "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n%s<rect width=\"100%%\" "
                  "height=\"100%%\" class=\"page\"/>\n",
                  g.width, g.height, g.width, g.height, head);
    draw_title(&g);
    for (uint32_t i = 0; i < g.edges.len; i++) draw_edge(&g, i);
    for (uint32_t i = 0; i < g.nodes.len; i++) {
        const Node *node = &g.nodes.data[i];
        if (node->kind == NODE_TASK) draw_task(&g, node);
        else if (node->kind != NODE_BEND) draw_pill(&g, node);
    }
    for (uint32_t i = 0; i < g.edges.len; i++) draw_bytes(&g, i);
    draw_legend(&g);
    strbuf_cstr(out, "</svg>\n");
}
