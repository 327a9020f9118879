// SPDX-License-Identifier: Apache-2.0
//
// The graph of tasks as a picture, from top to bottom (graph.c says where things
// stand). Edges are straight beside boxes, and turn between rows; so they meet only
// their own boxes. What travels is told on the last piece of an edge, which no other
// edge shares.
#include <inttypes.h>
#include <stdio.h>

#include "plan/graph.h"

enum {
    BOX_WIDTH = GRAPH_BOX_WIDTH,
    MARGIN = GRAPH_MARGIN,
    BOX_HEIGHT = 64,
    PILL_HEIGHT = 34,
    ROW = 132, // from one to the next
    TITLE = 76,
    LEGEND = 20, // a line
    LABEL_HEIGHT = 14
};

typedef struct Label {
    double x, y, width; // of the middle
} Label;

typedef struct Picture {
    const Plan *plan;
    const Graph *graph;
    StrBuf *out;
    Arena *arena;
    double height, legend;
    struct {
        Label *data;
        uint32_t len, cap;
    } labels; // of edges, so far
} Picture;

static double top_of_row(uint32_t row) {
    return TITLE + row * (double)ROW;
}

static double middle_of(const GraphNode *node) {
    return top_of_row(node->row) + BOX_HEIGHT / 2.0;
}

static double half_height(const GraphNode *node) {
    return (node->kind == NODE_TASK ? BOX_HEIGHT : PILL_HEIGHT) / 2.0;
}

// ---- text ---------------------------------------------------------------------------

typedef struct Font {
    const char *class;
    double size, weight; // as wide as so many of the plain one
} Font;

static const Font title_font = {"title", 19, 1.12}, name_font = {"name", 14, 1.12},
                  small_font = {"small", 11.5, 1}, middle_font = {"small mid", 11.5, 1},
                  bytes_font = {"bytes mid", 11, 1};

// How wide a character is at most, in wide fonts that are in use (DejaVu Sans).
static double width_of_char(Str c, const Font *font) {
    double width = 0.64;
    if (c.len != 1) width = c.len == 2 ? 0.8 : 1;
    else if (strchr("ijl.,:;|!' ()[]", c.ptr[0]) != NULL) width = 0.42;
    else if (strchr("frt-/I", c.ptr[0]) != NULL) width = 0.5;
    else if (strchr("mwMW%@", c.ptr[0]) != NULL) width = 1;
    else if ((c.ptr[0] >= 'A' && c.ptr[0] <= 'Z') || strchr("#&+<=>~", c.ptr[0]))
        width = 0.84;
    return width * font->weight * font->size;
}

static Str first_char(Str text) {
    size_t len = str_utf8(text);
    return (Str){text.ptr, len == 0 ? 1 : len};
}

static Str after(Str text, size_t len) {
    return (Str){text.ptr + len, text.len - len};
}

static double width_of(Str text, const Font *font) {
    double width = 0;
    for (Str c; text.len > 0; text = after(text, c.len)) {
        c = first_char(text);
        width += width_of_char(c, font);
    }
    return width;
}

// As much of the beginning as has room, and then "…"; or all of it.
static Str shorten(Picture *g, Str text, const Font *font, double room) {
    if (width_of(text, font) <= room) return text;
    StrBuf out = strbuf(g->arena);
    Str dots = STR("\xe2\x80\xa6");
    room -= width_of_char(dots, font);
    for (Str c; text.len > 0; text = after(text, c.len)) {
        c = first_char(text);
        room -= width_of_char(c, font);
        if (room < 0) break;
        strbuf_str(&out, c);
    }
    strbuf_str(&out, dots);
    return strbuf_done(&out);
}

static void put_text(StrBuf *out, Str text) {
    for (Str c; text.len > 0; text = after(text, c.len)) {
        c = first_char(text);
        if (str_utf8(text) == 0) strbuf_cstr(out, "\xef\xbf\xbd");
        else if (c.ptr[0] == '&') strbuf_cstr(out, "&amp;");
        else if (c.ptr[0] == '<') strbuf_cstr(out, "&lt;");
        else if (c.ptr[0] == '>') strbuf_cstr(out, "&gt;");
        else if ((unsigned char)c.ptr[0] < ' ' || c.ptr[0] == 0x7f)
            strbuf_char(out, ' ');
        else strbuf_str(out, c);
    }
}

// What finds no room on a line is told when the mouse stands on it.
static void put_short(Picture *g, double x, double y, const Font *font, Str text,
                      Str whole) {
    strbuf_printf(g->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y,
                  font->class);
    put_text(g->out, text);
    if (!str_eq(text, whole)) {
        strbuf_cstr(g->out, "<title>");
        put_text(g->out, whole);
        strbuf_cstr(g->out, "</title>");
    }
    strbuf_cstr(g->out, "</text>\n");
}

static void put_line(Picture *g, double x, double y, const Font *font, double room,
                     Str text) {
    put_short(g, x, y, font, shorten(g, text, font, room), text);
}

static Str __attribute__((format(printf, 2, 3)))
text_of(Picture *g, const char *format, ...) {
    StrBuf text = strbuf(g->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    return strbuf_done(&text);
}

// ---- edges --------------------------------------------------------------------------

static const char head[] =
    "<style>\n"
    ".page{fill:#fbfcfd}.box{fill:#fff;stroke:#c6ccd4}.way{stroke:#1f2933;"
    "stroke-width:2.2}\n"
    "text{font-family:'Helvetica Neue',Helvetica,Arial,sans-serif;fill:#1f2933}\n"
    ".title{font-size:19px;font-weight:bold}.name{font-size:14px;font-weight:bold}\n"
    ".small{font-size:11.5px;fill:#52606d}.bytes{font-size:11px;fill:#52606d}\n"
    ".pill{fill:#eef1f4;stroke:#c6ccd4}.mid{text-anchor:middle}\n"
    ".edge{fill:none;stroke:#9aa5b1;stroke-width:1.4}\n"
    ".far{stroke-width:3.6;stroke:#7b8794}\n"
    "@media (prefers-color-scheme:dark){.page{fill:#12171d}.box{fill:#1d242c;"
    "stroke:#3a4550}\n"
    ".way{stroke:#e4e7eb}text{fill:#e4e7eb}.small,.bytes{fill:#9fb3c8}\n"
    ".pill{fill:#242d36;stroke:#3a4550}.edge{stroke:#616e7c}.far{stroke:#9aa5b1}}\n"
    "</style>\n";

// From its end up to where it begins.
static void draw_edge(Picture *g, const GraphEdge *e) {
    const Graph *graph = g->graph;
    const GraphNode *to = &graph->nodes.data[e->to], *from;
    const GraphPiece *piece = &graph->pieces.data[e->piece];
    strbuf_printf(g->out, "<path class=\"edge%s\" d=\"M%.1f %.1f",
                  e->travels ? " far" : "", piece->to_x,
                  middle_of(to) - half_height(to));
    for (;; piece = &graph->pieces.data[from->above]) {
        from = &graph->nodes.data[piece->from];
        double low = top_of_row(from->row + 1),
               high = top_of_row(from->row) + BOX_HEIGHT;
        strbuf_printf(g->out, "V%.1fC%.1f %.1f %.1f %.1f %.1f %.1f", low, piece->to_x,
                      (low + high) / 2, piece->from_x, (low + high) / 2, piece->from_x,
                      high);
        if (from->kind != NODE_BEND) break;
    }
    char bytes[PLAN_TEXT];
    strbuf_printf(g->out, "V%.1f\"><title>", middle_of(from) + half_height(from));
    put_text(g->out, plan_block_name(g->plan, e->block));
    strbuf_printf(
        g->out, ", %s</title></path>\n",
        plan_edge(bytes, g->plan, e->block, e->bytes, to->kind == NODE_RESULT));
}

// How far a piece has gone, of 1, at `t` of its curve: across and down.
static double across(double t) {
    return t * t * (3 - 2 * t);
}

static double down(double t) {
    return 1.5 * t * (1 - t) + t * t * t;
}

static double x_at(const GraphPiece *piece, double t) {
    return piece->from_x + across(t) * (piece->to_x - piece->from_x);
}

static bool is_free(const Picture *g, Label label) {
    enum { BETWEEN = 4 };
    for (uint32_t i = 0; i < g->labels.len; i++) {
        const Label *l = &g->labels.data[i];
        if (fabs(l->x - label.x) < (l->width + label.width) / 2 + BETWEEN &&
            fabs(l->y - label.y) < LABEL_HEIGHT)
            return false;
    }
    return true;
}

// Pieces that pass behind a label which is there on a piece: all between the same rows
// are as far down.
static uint32_t passing(const Graph *graph, uint32_t row, double t, Label label) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->pieces.len; i++) {
        const GraphPiece *p = &graph->pieces.data[i];
        count += graph->nodes.data[p->from].row == row &&
                 fabs(x_at(p, t) - label.x) < label.width / 2;
    }
    return count;
}

// What travels, where nothing else is told and the fewest edges pass; if there is room.
static void draw_bytes(Picture *g, const GraphEdge *e) {
    static const double places[] = {0.5,  0.4,  0.6,  0.3,  0.7,  0.22, 0.78,
                                    0.35, 0.65, 0.45, 0.55, 0.26, 0.74};
    char bytes[PLAN_TEXT];
    const GraphPiece *piece = &g->graph->pieces.data[e->piece];
    uint32_t row = g->graph->nodes.data[piece->from].row, fewest = UINT32_MAX;
    double high = top_of_row(row) + BOX_HEIGHT;
    Str text = str_of(plan_bytes(bytes, e->bytes));
    Label best = {0}, label = {.width = width_of(text, &bytes_font)};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        label.x = x_at(piece, places[i]);
        label.y = high + down(places[i]) * (ROW - BOX_HEIGHT);
        uint32_t count = passing(g->graph, row, places[i], label);
        if (count >= fewest || !is_free(g, label)) continue;
        fewest = count;
        best = label;
    }
    if (fewest == UINT32_MAX) return;
    vec_push(g->arena, &g->labels, best);
    strbuf_printf(g->out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
                  "class=\"page\"/>\n",
                  best.x - best.width / 2, best.y - LABEL_HEIGHT / 2.0, best.width,
                  LABEL_HEIGHT);
    put_line(g, best.x, best.y + 4, &bytes_font, best.width, text);
}

static void draw_edges(Picture *g) {
    const Graph *graph = g->graph;
    for (int travels = 0; travels < 2; travels++)
        for (uint32_t i = 0; i < graph->edges.len; i++)
            if (graph->edges.data[i].travels == travels)
                draw_edge(g, &graph->edges.data[i]);
    for (uint32_t i = 0; i < graph->edges.len; i++) {
        const GraphEdge *e = &graph->edges.data[i];
        if (e->travels && !isnan(e->bytes)) draw_bytes(g, e);
    }
}

// ---- boxes --------------------------------------------------------------------------

static void draw_task(Picture *g, const GraphNode *node) {
    enum { LEFT = 18, RIGHT = 6 };
    const Plan *plan = g->plan;
    const PlanTask *task = &plan->tasks.data[node->number];
    double x = node->x - BOX_WIDTH / 2.0, y = middle_of(node) - BOX_HEIGHT / 2.0;
    double room = BOX_WIDTH - LEFT - RIGHT;
    char text[PLAN_COLOUR];
    const char *colour = plan_colour(text, plan, task->device);
    strbuf_printf(g->out,
                  "<g><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"7\" "
                  "class=\"box\"/>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" "
                  "height=\"%d\" rx=\"7\" fill=\"%s\" fill-opacity=\"0.13\" "
                  "class=\"%s\"/>\n<path fill=\"%s\" d=\"M%.1f %.1fh-1a6 6 0 0 0-6 "
                  "6v%da6 6 0 0 0 6 6h1z\"/>\n",
                  x, y, BOX_WIDTH, BOX_HEIGHT, x, y, BOX_WIDTH, BOX_HEIGHT, colour,
                  task->is_critical ? "way" : "", colour, x + 8, y + 1,
                  BOX_HEIGHT - 14);
    Str name = plan_task_name(plan, node->number, g->arena);
    put_line(g, x + LEFT, y + 21, &name_font, room,
             text_of(g, "%" PRIu32 ": %.*s", node->number + 1, STR_ARG(name)));
    put_line(g, x + LEFT, y + 38, &small_font, room,
             plan_box_where(plan, task, g->arena));
    put_line(g, x + LEFT, y + 54, &small_font, room,
             plan_box_costs(plan, task, g->arena));
    strbuf_cstr(g->out, "</g>\n");
}

// How large it is, is told whatever the name.
static void draw_pill(Picture *g, const GraphNode *node) {
    const Plan *plan = g->plan;
    bool is_arg = node->kind == NODE_ARG;
    char number[PLAN_TEXT];
    double room = BOX_WIDTH - PILL_HEIGHT / 2.0;
    strbuf_printf(g->out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"%d\" "
                  "class=\"pill\"/>\n",
                  node->x - BOX_WIDTH / 2.0, middle_of(node) - PILL_HEIGHT / 2.0,
                  BOX_WIDTH, PILL_HEIGHT, PILL_HEIGHT / 2);
    Str name = is_arg ? plan_block_name(plan, node->number)
                      : plan_box_result(plan, node->number, g->arena);
    Str bytes =
        text_of(g, ", %s",
                plan_bytes(number, is_arg ? plan->blocks.data[node->number].bytes
                                          : plan->results.data[node->number].bytes));
    Str shown = shorten(g, name, &middle_font, room - width_of(bytes, &middle_font));
    put_short(g, node->x, middle_of(node) + 4, &middle_font,
              text_of(g, "%.*s%.*s", STR_ARG(shown), STR_ARG(bytes)),
              text_of(g, "%.*s%.*s", STR_ARG(name), STR_ARG(bytes)));
}

// ---- the page -----------------------------------------------------------------------

static void draw_title(Picture *g) {
    const Plan *plan = g->plan;
    char time[PLAN_TEXT], longest[PLAN_TEXT], bytes[PLAN_TEXT];
    double room = g->graph->width - 2 * MARGIN;
    put_line(g, MARGIN, 38, &title_font, room,
             sym_str(&plan->in.program->cx->syms, plan->in.entry->name));
    Str text = STR("how long it takes depends on what is not known");
    if (plan->is_timed)
        text =
            text_of(g, "%s in all, of which the longest way takes %s; %s of memory",
                    plan_time(time, plan->seconds), plan_time(longest, plan->longest),
                    plan_bytes(bytes, plan->peak.bytes));
    put_line(g, MARGIN, 58, &small_font, room, text);
}

// A line for each device, and what strokes mean.
static void draw_legend(Picture *g) {
    enum { COLUMN = 230, ROOM = 205 };
    const Plan *plan = g->plan;
    double top = g->height - MARGIN - g->legend, x = MARGIN + COLUMN;
    for (uint32_t d = 0; d <= plan->in.device_count; d++) {
        double y = top + LEGEND * (double)d;
        char colour[PLAN_COLOUR];
        strbuf_printf(g->out,
                      "<rect x=\"%d.0\" y=\"%.1f\" width=\"13\" height=\"13\" rx=\"3\" "
                      "fill=\"%s\"/>\n",
                      MARGIN, y, plan_colour(colour, plan, d));
        put_line(g, MARGIN + 20, y + 11, &small_font, ROOM,
                 plan_box_device(plan, d, g->arena));
    }
    strbuf_printf(g->out,
                  "<path class=\"edge far\" d=\"M%.1f %.1fh32\"/>\n<rect x=\"%.1f\" "
                  "y=\"%.1f\" width=\"30\" height=\"13\" rx=\"3\" class=\"way\" "
                  "fill=\"none\"/>\n",
                  x, top + 7, x + 1, top + LEGEND);
    double room = g->graph->width - x - MARGIN;
    put_line(g, x + 42, top + 11, &small_font, room,
             STR("travels from one memory to another"));
    put_line(g, x + 42, top + 11 + LEGEND, &small_font, room,
             STR("on the longest way"));
    if (plan->is_cut_off || plan->tasks.len > g->graph->task_count)
        put_line(g, x + 42, top + 11 + 2 * LEGEND, &small_font, room,
                 STR("there are more tasks"));
}

void plan_print_svg(const Plan *plan, StrBuf *out) {
    const Graph *graph = graph_make(plan);
    Picture g = {.plan = plan, .graph = graph, .out = out, .arena = plan->in.arena};
    uint32_t lines = plan->in.device_count < 2 ? 3 : plan->in.device_count + 1;
    g.legend = LEGEND * (double)lines;
    double rows =
        graph->row_count > 0 ? top_of_row(graph->row_count - 1) + BOX_HEIGHT : TITLE;
    g.height = rows + 2 * MARGIN + g.legend;
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                  "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n%s<rect width=\"100%%\" "
                  "height=\"100%%\" class=\"page\"/>\n",
                  graph->width, g.height, graph->width, g.height, head);
    draw_title(&g);
    draw_edges(&g);
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        const GraphNode *node = &graph->nodes.data[i];
        if (node->kind == NODE_TASK) draw_task(&g, node);
        else if (node->kind != NODE_BEND) draw_pill(&g, node);
    }
    draw_legend(&g);
    strbuf_cstr(out, "</svg>\n");
}
