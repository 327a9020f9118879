// SPDX-License-Identifier: Apache-2.0
//
// Statements as text. A value is a constant of that name in C, but for the results of
// loops and branches, which are variables: the state of a loop lives in the variables
// of its results, whose names its parameters share.
#include "emit/walk.h"

#include <stdio.h>
#include <string.h>

// ---- lines and values ---------------------------------------------------------------

// No further for deep nests, whose text would grow with the square of their depth.
static void indent(Walker *w) {
    enum { MOST = 24 }; // levels
    for (uint32_t i = 0; i < w->indent && i < MOST; i++) strbuf_cstr(w->out, "    ");
}

void walk_line(Walker *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    indent(w);
    strbuf_vprintf(w->out, format, args);
    strbuf_char(w->out, '\n');
    va_end(args);
}

static LoopType type_of(const Walker *w, LoopRef ref) {
    return w->kernel->values.data[ref].type;
}

static ScalarType elem_of(const Walker *w, LoopRef ref) {
    return (ScalarType)type_of(w, ref).elem;
}

// The letters and digits of a source name, an underscore and the number of the value,
// so that no two are alike and none is a word of C.
static Str make_name(Walker *w, LoopRef ref) {
    Str source = sym_str(&w->kernel->core->cx->syms, w->kernel->values.data[ref].name);
    StrBuf text = strbuf(w->arena);
    for (size_t i = 0; i < source.len && i < 24; i++) {
        char c = source.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (is_letter || (text.len > 0 && ((c >= '0' && c <= '9') || c == '_')))
            strbuf_char(&text, c);
    }
    strbuf_printf(&text, text.len == 0 ? "v%u" : "_%u", ref);
    return strbuf_done(&text);
}

Str walk_name_value(Walker *w, LoopRef ref) {
    const LoopValue *value = &w->kernel->values.data[ref];
    if (value->is_const) {
        StrBuf text = strbuf(w->arena);
        emit_constant((ScalarType)value->type.elem, value->bits, &text);
        w->names[ref] = strbuf_done(&text);
    } else {
        w->names[ref] = make_name(w, ref);
    }
    return w->names[ref];
}

// Of a scalar, or of what lies in a buffer.
static const char *element_type(const Walker *w, LoopRef ref) {
    LoopType type = type_of(w, ref);
    if (type.kind == LOOP_IS_MARK) return "char";
    bool is_element = type.kind == LOOP_IS_BUFFER && type.elem == SCALAR_BOOL;
    return is_element ? w->dialect->element_of_bool : emit_types[type.elem];
}

static void put_type(Walker *w, LoopRef ref, StrBuf *out) {
    bool is_scalar = type_of(w, ref).kind == LOOP_IS_SCALAR;
    bool is_shared = w->plan != NULL && w->plan->is_shared[ref];
    if (type_of(w, ref).lanes > 0) {
        if (walk_is_bits(w, ref)) walk_bits_type(w, out);
        else emit_lanes_type(elem_of(w, ref), w->part, out);
        strbuf_char(out, ' ');
        return;
    }
    if (!is_scalar)
        strbuf_cstr(out, is_shared ? w->dialect->local : w->dialect->global);
    strbuf_cstr(out, element_type(w, ref));
    strbuf_cstr(out, is_scalar ? " " : " *");
}

const char *walk_type(Walker *w, LoopRef ref) {
    StrBuf text = strbuf(w->arena);
    put_type(w, ref, &text);
    strbuf_char(&text, '\0');
    return strbuf_done(&text).ptr;
}

void walk_declare(Walker *w, LoopRef ref, const char *star, StrBuf *out) {
    w->is_alone[ref] = false; // a pointer, which others may have, too
    put_type(w, ref, out);
    strbuf_cstr(out, star);
    strbuf_str(out, walk_value(w, ref));
}

void walk_take_slot(Walker *w, LoopRef ref, const char *array, uint32_t slot) {
    LoopType type = type_of(w, ref);
    StrBuf from = strbuf(w->arena), text = strbuf(w->arena);
    strbuf_printf(&from, "%s[%u]", array, slot);
    walk_declare(w, ref, "", &text);
    strbuf_cstr(&text, " = ");
    if (type.kind == LOOP_IS_SCALAR)
        emit_of_bits((ScalarType)type.elem, strbuf_done(&from), &text);
    else
        strbuf_printf(&text, "(%s)(%s%.*s)", walk_type(w, ref), w->dialect->address,
                      STR_ARG(strbuf_done(&from)));
    walk_line(w, "%.*s;", STR_ARG(strbuf_done(&text)));
}

Str walk_to_slot(Walker *w, LoopRef ref) {
    LoopType type = type_of(w, ref);
    StrBuf text = strbuf(w->arena);
    if (type.kind == LOOP_IS_SCALAR)
        emit_bits((ScalarType)type.elem, walk_value(w, ref), &text);
    else
        strbuf_printf(&text, "(uint64_t)%s%.*s", w->dialect->address,
                      STR_ARG(walk_value(w, ref)));
    return strbuf_done(&text);
}

// ---- simple statements --------------------------------------------------------------

// "const float x_3 = "; the rest of the line follows.
static void start_definition(Walker *w, LoopRef ref) {
    indent(w);
    bool is_scalar = type_of(w, ref).kind == LOOP_IS_SCALAR;
    strbuf_cstr(w->out, is_scalar ? "const " : "");
    walk_declare(w, ref, "", w->out);
    strbuf_cstr(w->out, " = ");
}

static void put_scalar(Walker *w, const LoopStm *stm) {
    Str operands[3];
    for (uint32_t i = 0; i < stm->arg_count && i < 3; i++)
        operands[i] = walk_value(w, stm->args[i]);
    LoopRef index, size;
    start_definition(w, stm->outs[0]);
    if (walk_is_within(w, stm, &index, &size))
        strbuf_printf(w->out, "(uint64_t)%.*s < (uint64_t)%.*s",
                      STR_ARG(walk_value(w, index)), STR_ARG(walk_value(w, size)));
    else if (walk_keeps_bits(w, stm))
        strbuf_printf(w->out, "weft_bits_%s(%.*s)",
                      scalar_info[elem_of(w, stm->args[0])].name, STR_ARG(operands[0]));
    else
        emit_scalar(w->dialect, stm->scalar, elem_of(w, stm->args[0]),
                    elem_of(w, stm->outs[0]), operands, w->helpers, w->out);
    strbuf_cstr(w->out, ";\n");
}

bool walk_is_const(const Walker *w, LoopRef ref, uint64_t bits) {
    const LoopValue *value = &w->kernel->values.data[ref];
    return value->is_const && value->bits == bits;
}

// "xs_3[offset + stride * index]", from the arg `first` on.
static Str place_of(Walker *w, const LoopStm *stm, uint32_t first) {
    StrBuf text = strbuf(w->arena);
    LoopRef offset = stm->args[first];
    bool is_part = walk_has_part(w, stm->args[0], offset);
    if (is_part) strbuf_printf(&text, "part_%u_%u[", stm->args[0], offset);
    else strbuf_printf(&text, "%.*s[", STR_ARG(walk_value(w, stm->args[0])));
    size_t start = text.len;
    if (!is_part && !walk_is_const(w, offset, 0))
        strbuf_str(&text, walk_value(w, offset));
    for (uint32_t i = first + 1; i + 1 < stm->arg_count; i += 2) {
        LoopRef stride = stm->args[i], index = stm->args[i + 1];
        if (walk_is_const(w, stride, 0) || walk_is_const(w, index, 0)) continue;
        if (text.len > start) strbuf_cstr(&text, " + ");
        if (!walk_is_const(w, stride, 1))
            strbuf_printf(&text, "%.*s * ", STR_ARG(walk_value(w, stride)));
        strbuf_str(&text, walk_value(w, index));
    }
    if (text.len == start) strbuf_char(&text, '0');
    strbuf_char(&text, ']');
    return strbuf_done(&text);
}

// "was op x"
static Str join_of(Walker *w, const LoopStm *stm, const char *was) {
    ScalarType elem = elem_of(w, stm->args[1]);
    StrBuf text = strbuf(w->arena);
    Str operands[] = {str_of(was), walk_value(w, stm->args[1])};
    emit_scalar(w->dialect, stm->scalar, elem, elem, operands, w->helpers, &text);
    return strbuf_done(&text);
}

// What devices have no operation for: the bits of a place are exchanged until nobody
// came in between, or what is there would not change.
static void put_exchange(Walker *w, const LoopStm *stm, Str place, const char *wide) {
    ScalarType elem = elem_of(w, stm->args[1]);
    const char *word = scalar_info[elem].bytes == 8 ? "uint64_t" : "uint32_t";
    bool is_shared = w->plan->is_shared[stm->args[0]];
    const char *space = is_shared ? w->dialect->local : w->dialect->global;
    StrBuf was = strbuf(w->arena), next = strbuf(w->arena);
    emit_of_bits(elem, STR("was"), &was);
    emit_bits(elem, STR("joined"), &next);
    walk_line(w, "{ %s%s *const at = (%s%s *)&%.*s;", space, word, space, word,
              STR_ARG(place));
    walk_line(w, "  for (%s was = *at, is = was;; was = is) {", word);
    walk_line(w, "      const %s old = %.*s, joined = %.*s;", emit_types[elem],
              STR_ARG(strbuf_done(&was)), STR_ARG(join_of(w, stm, "old")));
    walk_line(w, "      const %s next = %.*s;", word, STR_ARG(strbuf_done(&next)));
    walk_line(w, "      if (next == was) break;");
    walk_line(w, "      is = weft_atomic_swap%s(at, was, next);", wide);
    walk_line(w, "      if (is == was) break; } }");
}

// What only one turn sees is joined as it is.
static void put_atomic(Walker *w, const LoopStm *stm) {
    ScalarType elem = elem_of(w, stm->args[1]);
    const char *type = emit_types[elem],
               *wide = scalar_info[elem].bytes == 8 ? "_64" : "";
    Str place = place_of(w, stm, 2);
    if (w->is_alone[stm->args[0]]) {
        walk_line(w, "{ const %s old = %.*s;", type, STR_ARG(place));
        walk_line(w, "  %.*s = %.*s; }", STR_ARG(place),
                  STR_ARG(join_of(w, stm, "old")));
    } else if (w->plan == NULL) {
        walk_line(w, "{ %s *const at = &%.*s, was, next;", type, STR_ARG(place));
        walk_line(w, "  __atomic_load(at, &was, __ATOMIC_RELAXED);");
        walk_line(w, "  do next = %.*s;", STR_ARG(join_of(w, stm, "was")));
        walk_line(w, "  while (!__atomic_compare_exchange(at, &was, &next, true, "
                     "__ATOMIC_RELAXED, __ATOMIC_RELAXED)); }");
    } else if (scalar_is_int(elem) && stm->scalar != OP_MUL) {
        walk_line(w, "weft_atomic_%s%s(&%.*s, %.*s);", core_op_info[stm->scalar].name,
                  wide, STR_ARG(place), STR_ARG(walk_value(w, stm->args[1])));
    } else {
        put_exchange(w, stm, place, wide);
    }
}

void walk_declare_array(Walker *w, const LoopStm *alloc, const char *before) {
    LoopRef out = alloc->outs[0];
    walk_line(w, "%s%s %.*s[%.*s];", before, element_type(w, out),
              STR_ARG(walk_value(w, out)), STR_ARG(walk_value(w, alloc->args[0])));
}

static void put_alloc(Walker *w, const LoopStm *stm) {
    LoopRef out = stm->outs[0];
    if (w->plan != NULL && w->plan->is_shared[out]) return; // the entry has it
    if (w->is_local[out]) {
        w->is_alone[out] = true;
        walk_declare_array(w, stm, "");
        return;
    }
    start_definition(w, stm->outs[0]);
    strbuf_printf(w->out, "(%s)weft_alloc(env, (uint64_t)%.*s, %u);\n",
                  walk_type(w, stm->outs[0]), STR_ARG(walk_value(w, stm->args[0])),
                  scalar_info[elem_of(w, stm->outs[0])].bytes);
    walk_line(w, "if (%.*s == 0) { %sreturn KERNEL_MEMORY; }",
              STR_ARG(walk_value(w, stm->outs[0])), w->failing);
}

void walk_keep(Walker *w, uint32_t number, const char *mark, const LoopRef *buffers,
               uint32_t count) {
    const char *global = w->dialect->global;
    StrBuf list = strbuf(w->arena);
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(&list, "%s(%schar *)%.*s", i == 0 ? "" : ", ", global,
                      STR_ARG(walk_value(w, buffers[i])));
    walk_line(w, "%schar *kept_%u[] = {%.*s};", global, number,
              STR_ARG(strbuf_done(&list)));
    walk_line(w, "weft_keep(env, %s, kept_%u, %u);", mark, number, count);
}

static void put_keep(Walker *w, const LoopStm *stm) {
    const char *mark = str_terminated(w->arena, walk_value(w, stm->args[0]));
    if (stm->out_count == 0) {
        walk_line(w, "env->top = %s;", mark);
        return;
    }
    uint32_t number = stm->outs[0];
    walk_keep(w, number, mark, stm->args + 1, stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        start_definition(w, stm->outs[i]);
        strbuf_printf(w->out, "(%s)kept_%u[%u];\n", walk_type(w, stm->outs[i]), number,
                      i);
    }
}

// Memory for a result, or room, if there is some.
static void put_result(Walker *w, const LoopStm *stm) {
    bool is_room = stm->out_count > 1;
    start_definition(w, stm->outs[0]);
    strbuf_printf(w->out, "env->%s(env, %u, %u, (int64_t[]){",
                  is_room ? "room" : "result", stm->number, stm->arg_count);
    for (uint32_t i = 0; i < stm->arg_count; i++)
        strbuf_printf(w->out, i == 0 ? "%.*s" : ", %.*s",
                      STR_ARG(walk_value(w, stm->args[i])));
    strbuf_cstr(w->out, "});\n");
    if (is_room) {
        start_definition(w, stm->outs[1]);
        strbuf_printf(w->out, "%.*s != 0;\n", STR_ARG(walk_value(w, stm->outs[0])));
        return;
    }
    walk_line(w, "if (%.*s == 0) { %sreturn KERNEL_MEMORY; }",
              STR_ARG(walk_value(w, stm->outs[0])), w->failing);
}

// Where the table lies among those of the file.
static uint64_t place_of_table(Walker *w, const LoopStm *stm) {
    StrBuf *bytes = w->tables->bytes;
    uint64_t key = (uint64_t)(uintptr_t)stm, place;
    if (map_get(&w->tables->places, key, &place)) return place - 1;
    while (bytes->len % 8 != 0) strbuf_char(bytes, 0);
    place = bytes->len;
    strbuf_str(bytes, stm->text);
    map_set(&w->tables->places, key, place + 1);
    return place;
}

static void put_data(Walker *w, const LoopStm *stm) {
    LoopRef out = stm->outs[0];
    if (w->tables->bytes != NULL) {
        start_definition(w, out);
        strbuf_printf(w->out, "(%s)(env->tables + %llu);\n", walk_type(w, out),
                      (unsigned long long)place_of_table(w, stm));
        return;
    }
    uint32_t bytes = scalar_info[elem_of(w, out)].bytes;
    size_t count = stm->text.len / bytes;
    StrBuf list = strbuf(w->arena);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        memcpy(&bits, stm->text.ptr + i * bytes, bytes);
        strbuf_printf(&list, i == 0 ? "%llu" : ", %llu", (unsigned long long)bits);
        if (bits > INT64_MAX) strbuf_cstr(&list, "u");
    }
    if (count == 0) strbuf_char(&list, '0');
    walk_line(w, "static const uint%u_t data_%u[] = {%.*s};", 8 * bytes, out,
              STR_ARG(strbuf_done(&list)));
    start_definition(w, out);
    strbuf_printf(w->out, "(%s)(uintptr_t)data_%u;\n", walk_type(w, out), out);
}

static uint32_t number_of(const Walker *w, const LoopStm *stm) {
    uint64_t number = 0;
    map_get(&w->checks, (uint64_t)(uintptr_t)stm, &number);
    return (uint32_t)number;
}

static void put_check(Walker *w, const LoopStm *stm) {
    StrBuf list = strbuf(w->arena);
    for (uint32_t i = 1; i < stm->arg_count; i++) {
        strbuf_cstr(&list, i == 1 ? "" : ", ");
        strbuf_str(&list, walk_to_slot(w, stm->args[i]));
    }
    if (list.len == 0) strbuf_char(&list, '0');
    walk_line(w, "if (!%.*s) {", STR_ARG(walk_value(w, stm->args[0])));
    walk_line(w, "    const uint64_t shown[] = {%.*s};", STR_ARG(strbuf_done(&list)));
    walk_line(w, "    %sreturn weft_fail(env, %u, %u, shown);", w->failing,
              number_of(w, stm), stm->arg_count - 1);
    walk_line(w, "}");
}

static void put_call(Walker *w, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++) {
        StrBuf text = strbuf(w->arena);
        walk_declare(w, stm->outs[i], "", &text);
        walk_line(w, "%.*s;", STR_ARG(strbuf_done(&text)));
    }
    StrBuf list = strbuf(w->arena);
    for (uint32_t i = 0; i < stm->arg_count; i++)
        strbuf_printf(&list, ", %.*s", STR_ARG(walk_value(w, stm->args[i])));
    for (uint32_t i = 0; i < stm->out_count; i++)
        strbuf_printf(&list, ", &%.*s", STR_ARG(walk_value(w, stm->outs[i])));
    Str given = strbuf_done(&list);
    if (stm->op == LOOP_APPLY) {
        walk_line(w, "weft_%u_f%u(env%.*s);", w->number, stm->number, STR_ARG(given));
        return;
    }
    walk_line(w, "{ const int32_t status = weft_%u_f%u(env%.*s);", w->number,
              stm->number, STR_ARG(given));
    walk_line(w,
              "  if (status != KERNEL_OK) { weft_called(env, %u); %sreturn status; } }",
              number_of(w, stm), w->failing);
}

// ---- all ----------------------------------------------------------------------------

void walk_place(Walker *w, CoreLoc loc) {
    if (!w->for_people || loc == 0 || loc == w->loc) return;
    w->loc = loc;
    const CoreProgram *core = w->kernel->core;
    Str place = sources_show(&core->cx->sources, w->arena, core->places.data[loc].span);
    walk_line(w, "// %.*s", STR_ARG(place));
}

void walk_statement(Walker *w, const LoopStm *stm) {
    walk_place(w, stm->loc);
    if (walk_in_lanes(w, stm)) return;
    if (w->team != NULL) {
        if (loop_waits(w->plan, stm)) walk_line(w, "weft_wait();");
        if (loop_is_spread(stm)) {
            walk_spread(w, stm);
            return;
        }
    }
    switch (stm->op) {
    case LOOP_SCALAR: put_scalar(w, stm); return;
    case LOOP_LOAD:
        start_definition(w, stm->outs[0]);
        strbuf_printf(w->out, "%.*s;\n", STR_ARG(place_of(w, stm, 1)));
        return;
    case LOOP_STORE:
        walk_line(w, "%s%.*s = %.*s;", w->team != NULL ? "if (weft_lane() == 0) " : "",
                  STR_ARG(place_of(w, stm, 2)), STR_ARG(walk_value(w, stm->args[1])));
        return;
    case LOOP_ATOMIC: put_atomic(w, stm); return;
    case LOOP_DATA: put_data(w, stm); return;
    case LOOP_ALLOC: put_alloc(w, stm); return;
    case LOOP_MARK:
        start_definition(w, stm->outs[0]);
        strbuf_cstr(w->out, "env->top;\n");
        return;
    case LOOP_KEEP: put_keep(w, stm); return;
    case LOOP_RESULT: put_result(w, stm); return;
    case LOOP_BELOW: walk_below(w, stm); return;
    case LOOP_THREADS:
        start_definition(w, stm->outs[0]);
        strbuf_cstr(w->out, "env->threads;\n");
        return;
    case LOOP_CHECK: put_check(w, stm); return;
    case LOOP_CALL:
    case LOOP_APPLY: put_call(w, stm); return;
    case LOOP_IF: walk_if(w, stm); return;
    case LOOP_FOR: walk_for(w, stm); return;
    case LOOP_WHILE: walk_while(w, stm); return;
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK:
    case LOOP_TAKE:
    case LOOP_ANY:
    case LOOP_TALLY:
    case LOOP_SURE:
    case LOOP_LOADIF:
    case LOOP_LOOKUP:
    case LOOP_STOREIF:
    case LOOP_SIFT:
    case LOOP_COUNT: return;
    }
}

bool walk_is_same(const Walker *w, LoopRef x, LoopRef y) {
    const LoopValue *one = &w->kernel->values.data[x];
    const LoopValue *other = &w->kernel->values.data[y];
    return x == y || (one->is_const && other->is_const && one->bits == other->bits &&
                      one->type.elem == other->type.elem);
}

void walk_body(Walker *w, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len;) {
        walk_note_rows(w, body, i);
        uint32_t end = walk_square(w, body, i);
        if (end == i) end = walk_parts_in_turn(w, body, i);
        if (end == i) end = walk_sifts(w, body, i);
        if (end == i) walk_statement(w, body->stms.data[end++]);
        for (; i < end; i++) {
            walk_fetch_next_row(w, body->stms.data[i]);
            walk_fetch_key(w, body->stms.data[i]);
        }
    }
}
