// SPDX-License-Identifier: Apache-2.0
//
// Laying out; see doc.h. One pass backwards and forwards measures, the next prints: in
// each the work per item is constant.
#include "syntax/doc.h"

#include <string.h>

enum { DEEPEST = 60, FARTHEST_ALIGNED = 44 };  // so that the text stays linear

typedef struct Layout {
    Doc *doc;
    StrBuf *out;
    size_t start;      // of this text in out
    size_t column;
    size_t line_indent;  // of the line under way
    uint32_t last_line_end;  // the item that ended the last line
    struct { size_t *data; uint32_t len, cap; } indents;
    struct { bool *data; uint32_t len, cap; } flat;  // per open group
} Layout;

static size_t width_of(Str text) {
    size_t width = 0;
    for (size_t i = 0; i < text.len; i++)
        width += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return width;
}

static bool is_forced(const DocItem *item) {
    return item->kind == DOC_BREAK &&
           (item->what == BREAK_HARD || item->what == BREAK_PARAGRAPH ||
            item->gap.count > 0);
}

static size_t flat_width(const DocItem *item) {
    if (item->kind == DOC_TEXT) return width_of(item->text);
    return item->kind == DOC_BREAK && item->what != BREAK_GLUE ? 1 : 0;
}

// ---- measuring -------------------------------------------------------------------

static void measure(Doc *doc, Arena *arena) {
    struct { uint32_t *data; uint32_t len, cap; } open = {0};
    size_t at = 0;
    for (uint32_t i = 0; i < doc->len; i++) {
        DocItem *item = &doc->data[i];
        if (item->kind == DOC_BREAK && item->what == BREAK_USER)
            item->what = item->gap.has_line_end ? BREAK_HARD : BREAK_LINE;
        item->at = at;
        at += flat_width(item);
        if (item->kind == DOC_OPEN) vec_push(arena, &open, i);
        if (is_forced(item) && open.len > 0)
            doc->data[open.data[open.len - 1]].is_forced = true;
        if (item->kind != DOC_CLOSE) continue;
        uint32_t first = open.data[--open.len];
        item->match = first;
        doc->data[first].match = i;
        if (doc->data[first].is_forced && open.len > 0)
            doc->data[open.data[open.len - 1]].is_forced = true;
    }
    size_t next = at;
    for (uint32_t i = doc->len; i-- > 0;) {
        DocItem *item = &doc->data[i];
        bool can_break = item->kind == DOC_BREAK &&
                         (item->what >= BREAK_LINE || item->gap.count > 0);
        if (can_break) next = item->at;
        item->next = next;
    }
}

// ---- printing --------------------------------------------------------------------

static size_t indent_of(const Layout *l) {
    size_t indent = l->indents.len == 0 ? 0 : l->indents.data[l->indents.len - 1];
    return indent < DEEPEST ? indent : DEEPEST;
}

static void put(Layout *l, Str text) {
    strbuf_str(l->out, text);
    l->column += width_of(text);
}

static void end_line(Layout *l, bool blank_line, size_t indent) {
    if (l->out->len != l->start) {
        strbuf_char(l->out, '\n');
        if (blank_line) strbuf_char(l->out, '\n');
    }
    for (size_t i = 0; i < indent; i++) strbuf_char(l->out, ' ');
    l->column = l->line_indent = indent;
}

static void break_line(Layout *l, uint32_t i) {
    const DocItem *item = &l->doc->data[i];
    const DocGap *gap = &item->gap;
    bool keeps = item->what == BREAK_PARAGRAPH;
    for (uint32_t c = 0; c < gap->count; c++) {
        const DocComment *comment = &gap->comments[c];
        if (comment->own_line) {
            bool is_blank = comment->after_blank_line && (keeps || c > 0);
            end_line(l, is_blank, indent_of(l));
            keeps = true;
        } else {
            put(l, STR("  "));
        }
        put(l, comment->text);
    }
    size_t indent = indent_of(l);
    bool is_blank = gap->has_blank_line && keeps;
    end_line(l, is_blank, indent > item->back ? indent - item->back : 0);
    l->last_line_end = i;
}

// Whether the group at `open` and what cannot be parted from it fits from a column on.
static bool group_fits(const Layout *l, uint32_t open, size_t column) {
    const DocItem *first = &l->doc->data[open];
    if (first->is_forced) return false;
    const DocItem *last = &l->doc->data[first->match];
    return column + (last->next - first->at) <= DOC_WIDTH;
}

static bool fill_breaks(const Layout *l, uint32_t i) {
    const DocItem *item = &l->doc->data[i];
    if (item->what == BREAK_FILL_USER && item->gap.has_line_end) return true;
    if (i > 0 && item[-1].kind == DOC_CLOSE && l->last_line_end > item[-1].match)
        return true;  // behind something that took several lines
    if (i + 1 == l->doc->len || item[1].kind != DOC_OPEN) return false;
    if (group_fits(l, i + 1, l->column + 1)) return false;
    if (group_fits(l, i + 1, indent_of(l))) return true;
    // It will be broken anyway: let it begin here if its first line can.
    return l->column + 1 + (item[1].next - item[1].at) > DOC_WIDTH;
}

static bool breaks(const Layout *l, uint32_t i) {
    const DocItem *item = &l->doc->data[i];
    bool flat = l->flat.len > 0 && l->flat.data[l->flat.len - 1];
    if (is_forced(item)) return true;
    switch ((DocBreak)item->what) {
    case BREAK_LINE: return !flat;
    case BREAK_FILL: case BREAK_FILL_USER: return !flat && fill_breaks(l, i);
    case BREAK_HARD: case BREAK_PARAGRAPH: return true;
    case BREAK_GLUE: case BREAK_SPACE: case BREAK_USER: return false;
    }
    return false;
}

void doc_layout(Doc *doc, StrBuf *out) {
    Layout l = {.doc = doc, .out = out, .start = out->len};
    measure(doc, out->arena);
    for (uint32_t i = 0; i < doc->len; i++) {
        const DocItem *item = &doc->data[i];
        size_t indent = l.indents.len == 0 ? 0 : l.indents.data[l.indents.len - 1];
        switch ((DocKind)item->kind) {
        case DOC_TEXT: put(&l, item->text); break;
        case DOC_BREAK:
            if (breaks(&l, i)) break_line(&l, i);
            else if (item->what != BREAK_GLUE) put(&l, STR(" "));
            break;
        case DOC_OPEN: {
            bool outer = l.flat.len > 0 && l.flat.data[l.flat.len - 1];
            bool flat = outer || group_fits(&l, i, l.column);
            vec_push(out->arena, &l.flat, flat);
            break;
        }
        case DOC_CLOSE: l.flat.len--; break;
        case DOC_INDENT: vec_push(out->arena, &l.indents, indent + item->what); break;
        case DOC_HANG:
            vec_push(out->arena, &l.indents, l.line_indent + item->what);
            break;
        case DOC_ALIGN: {
            size_t to = l.column <= FARTHEST_ALIGNED ? l.column : indent + 2;
            vec_push(out->arena, &l.indents, to);
            break;
        }
        case DOC_OUTDENT: l.indents.len--; break;
        }
    }
}
