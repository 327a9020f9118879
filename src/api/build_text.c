// SPDX-License-Identifier: Apache-2.0
//
// What stands around the kernels of built entries: a header with a function for each
// entry, and C that packs arguments, calls the runtime and unpacks results. A tuple or
// record is its components, one parameter or result each; an array of them is an array
// for each component, and the runtime checks that they agree in size.
#include <string.h>

#include "api/build.h"

// ---- names in C ---------------------------------------------------------------------

// The letters, digits and _ of a name, a _ for all else.
static void put_identifier(StrBuf *out, const char *name) {
    for (; *name != '\0'; name++) {
        char c = *name;
        bool is_fine =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        strbuf_char(out, is_fine ? c : '_');
    }
}

// Words that mean something else, in C, C++ or to common compilers.
static bool is_word(Str name) {
    static const char words[] =
        " alignas alignof and and_eq asm auto bitand bitor bool break case catch "
        "char char16_t char32_t char8_t class co_await co_return co_yield compl "
        "concept const const_cast consteval constexpr constinit continue "
        "decltype default delete do double dynamic_cast else enum explicit "
        "export extern false float for friend goto if inline int linux long "
        "mutable namespace new noexcept not not_eq nullptr operator or or_eq "
        "private protected public register reinterpret_cast requires restrict "
        "return rt short signed sizeof static static_assert static_cast struct "
        "switch template this thread_local throw true try typedef typeid "
        "typename typeof union unix unsigned using virtual void volatile wchar_t "
        "while xor xor_eq ";
    for (const char *at = words; (at = strstr(at, name.ptr)) != NULL; at += name.len)
        if (at[-1] == ' ' && at[name.len] == ' ') return true;
    return false;
}

static bool is_taken(const BuiltPort *ports, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (ports[i].name != NULL && strcmp(ports[i].name, name) == 0) return true;
    return false;
}

// A parameter's name that neither C nor another parameter has.
static const char *port_name(const Built *built, const BuiltEntry *entry, Str wanted) {
    uint32_t params = entry->entry->fun->body->param_count;
    uint32_t results = entry->entry->fun->body->result_count;
    size_t skip = 0;
    while (skip < wanted.len && (wanted.ptr[skip] == '_' ||
                                 (wanted.ptr[skip] >= '0' && wanted.ptr[skip] <= '9')))
        skip++;
    StrBuf name = strbuf(built->arena);
    Str rest = {wanted.ptr + skip, wanted.len - skip};
    if (rest.len == 0 || (rest.len >= 5 && memcmp(rest.ptr, "weft_", 5) == 0))
        strbuf_cstr(&name, "a");
    strbuf_str(&name, rest);
    for (;;) {
        const char *text = str_terminated(built->arena, strbuf_done(&name));
        if (!is_word(str_of(text)) && !is_taken(entry->params, params, text) &&
            !is_taken(entry->results, results, text))
            return text;
        strbuf_char(&name, '_');
    }
}

// ---- ports --------------------------------------------------------------------------

// Leaves of an array of tuples, whose outer dimensions are the same.
typedef struct Group {
    const struct Group *outer;
    uint32_t rank;   // of the outer dimensions
    uint32_t *first; // its first leaf; UINT32_MAX before
} Group;

typedef struct Naming {
    const Built *built;
    BuiltEntry *entry;
    BuiltPort *ports;
    uint32_t first; // of the ports that the type's leaves are
} Naming;

static void tie(const Group *group, uint32_t leaf, BuiltPort *port) {
    for (; group != NULL; group = group->outer) {
        if (*group->first != UINT32_MAX) {
            port->same = (uint8_t)group->rank;
            port->as = (uint8_t)*group->first;
            return;
        }
        *group->first = leaf;
    }
}

// NULL, or why there is no form for it.
static const char *name_leaves(Naming *n, const DataType *type, Str name,
                               const Group *group) {
    switch (type->kind) {
    case DATA_SUM: return "sums have no form in C; numbers have";
    case DATA_LEAF: {
        uint32_t leaf = n->first + type->leaf;
        n->ports[leaf].name = port_name(n->built, n->entry, name);
        tie(group, leaf, &n->ports[leaf]);
        return NULL;
    }
    case DATA_ARRAY: {
        uint32_t first = UINT32_MAX;
        Group inner = {group, type->rank + (group != NULL ? group->rank : 0), &first};
        return name_leaves(n, type->inner, name, &inner);
    }
    case DATA_RECORD:
        if (type->count == 0 && group != NULL) return "arrays of () have no form in C";
        for (uint32_t i = 0; i < type->count; i++) {
            StrBuf text = strbuf(n->built->arena);
            strbuf_printf(&text, "%.*s_", STR_ARG(name));
            put_identifier(&text,
                           str_terminated(n->built->arena, type->fields[i].name));
            const char *why =
                name_leaves(n, type->fields[i].type, strbuf_done(&text), group);
            if (why != NULL) return why;
        }
        return NULL;
    }
    return NULL;
}

static WeftStatus refuse(const Built *built, const ApiEntry *entry, const char *why) {
    return api_fail(built->program->context, WEFT_STATUS_USAGE,
                    "`%s` cannot be built: %s", entry->name, why);
}

static WeftStatus name_ports(Naming *n, const ApiPort *ports, uint32_t count,
                             const char *unnamed) {
    for (uint32_t i = 0; i < count; i++) {
        StrBuf name = strbuf(n->built->arena);
        put_identifier(&name, ports[i].name);
        if (name.len == 0) strbuf_cstr(&name, unnamed);
        if (ports[i].name[0] == '\0' && count > 1) strbuf_printf(&name, "%u", i);
        n->first = ports[i].first;
        const char *why = name_leaves(n, ports[i].data, strbuf_done(&name), NULL);
        if (why != NULL) return refuse(n->built, n->entry->entry, why);
    }
    return WEFT_STATUS_OK;
}

WeftStatus build_name_entry(Built *built, BuiltEntry *made) {
    const ApiEntry *entry = made->entry;
    const CoreBody *body = entry->fun->body;
    StrBuf name = strbuf(built->arena);
    strbuf_printf(&name, "%s_", built->name);
    put_identifier(&name, entry->name);
    made->name = str_terminated(built->arena, strbuf_done(&name));
    for (const BuiltEntry *other = built->entries; other < made; other++)
        if (strcmp(other->name, made->name) == 0)
            return refuse(built, entry, "another entry has that name in C");
    if (body->param_count > UINT8_MAX)
        return refuse(built, entry, "it takes more than 255 values");
    made->params = arena_array(built->arena, BuiltPort, body->param_count);
    made->results = arena_array(built->arena, BuiltPort, body->result_count);
    for (uint32_t i = 0; i < body->param_count; i++)
        made->params[i].type = core_type(built->program->core, body->params[i]);
    for (uint32_t i = 0; i < body->result_count; i++)
        made->results[i].type = entry->fun->result_types[i];
    Naming n = {.built = built, .entry = made, .ports = made->params};
    WeftStatus status = name_ports(&n, entry->params, entry->param_count, "a");
    n.ports = made->results;
    if (status == WEFT_STATUS_OK)
        status = name_ports(&n, entry->results, entry->result_count, "out");
    return status;
}

// ---- comments and strings -----------------------------------------------------------

static void put_comment(StrBuf *out, const char *text) {
    for (; *text != '\0'; text++) {
        strbuf_char(out, *text);
        if (*text == '\n') strbuf_cstr(out, text[1] == '\n' ? " *" : " * ");
        if ((*text == '*' && text[1] == '/') || (*text == '/' && text[1] == '*'))
            strbuf_char(out, ' ');
    }
}

static void put_string(StrBuf *out, Str text) {
    strbuf_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < ' ' || c > '~' || c == '"' || c == '\\' || c == '?')
            strbuf_printf(out, "\\%03o", c);
        else strbuf_char(out, (char)c);
    }
    strbuf_char(out, '"');
}

// ---- the header ---------------------------------------------------------------------

static const char *c_type(ScalarType type) {
    switch (type) {
    case SCALAR_BOOL: return "bool";
    case SCALAR_I8: return "int8_t";
    case SCALAR_I16: return "int16_t";
    case SCALAR_I32: return "int32_t";
    case SCALAR_I64: return "int64_t";
    case SCALAR_U8: return "uint8_t";
    case SCALAR_U16: return "uint16_t";
    case SCALAR_U32: return "uint32_t";
    case SCALAR_U64: return "uint64_t";
    case SCALAR_F16: return "uint16_t"; // its bits
    case SCALAR_F32: return "float";
    case SCALAR_F64: return "double";
    case SCALAR_COUNT: break;
    }
    return "";
}

static void put_struct(StrBuf *out, CoreType type) {
    const char *elem = scalar_info[type.elem].name;
    strbuf_printf(out, "#ifndef WEFT_%s_%uD\n#define WEFT_%s_%uD\n", elem, type.rank,
                  elem, type.rank);
    strbuf_printf(out,
                  "typedef struct weft_%s_%ud {\n    const %s *data;\n"
                  "    int64_t shape[%u];\n} weft_%s_%ud;\n#endif\n",
                  elem, type.rank, c_type((ScalarType)type.elem), type.rank, elem,
                  type.rank);
}

static void put_structs(const Built *built, StrBuf *out) {
    bool is_put[SCALAR_COUNT][CORE_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < built->count; i++) {
        const BuiltEntry *e = &built->entries[i];
        uint32_t params = e->loop->param_count;
        for (uint32_t k = 0; k < params + e->loop->result_count; k++) {
            CoreType type =
                k < params ? e->params[k].type : e->results[k - params].type;
            if (type.rank == 0 || is_put[type.elem][type.rank]) continue;
            is_put[type.elem][type.rank] = true;
            put_struct(out, type);
        }
    }
}

static void put_param(StrBuf *out, const BuiltPort *port, bool is_result) {
    if (port->name == NULL) return;
    if (port->type.rank > 0)
        strbuf_printf(out, ", %sweft_%s_%ud *%s", is_result ? "" : "const ",
                      scalar_info[port->type.elem].name, port->type.rank, port->name);
    else
        strbuf_printf(out, ", %s %s%s", c_type((ScalarType)port->type.elem),
                      is_result ? "*" : "", port->name);
}

static void put_prototype(const BuiltEntry *e, StrBuf *out) {
    strbuf_printf(out, "WeftRtStatus %s(WeftRt *rt", e->name);
    for (uint32_t i = 0; i < e->loop->param_count; i++)
        put_param(out, &e->params[i], false);
    for (uint32_t i = 0; i < e->loop->result_count; i++)
        put_param(out, &e->results[i], true);
    strbuf_char(out, ')');
}

// Its documentation, and its type in Weft.
static void put_description(const Built *built, const BuiltEntry *e, StrBuf *out) {
    const ApiEntry *entry = e->entry;
    StrBuf text = strbuf(built->arena);
    if (entry->doc[0] != '\0') strbuf_printf(&text, "%s\n\n", entry->doc);
    strbuf_printf(&text, "entry %s", entry->name);
    for (uint32_t i = 0; i < entry->param_count; i++)
        strbuf_printf(&text, " (%s: %s)",
                      entry->params[i].name[0] == '\0' ? "_" : entry->params[i].name,
                      entry->params[i].type);
    strbuf_cstr(&text, entry->result_count == 1 ? ": " : ": (");
    for (uint32_t i = 0; i < entry->result_count; i++)
        strbuf_printf(&text, i == 0 ? "%s" : ", %s", entry->results[i].type);
    if (entry->result_count != 1) strbuf_char(&text, ')');
    strbuf_cstr(out, "\n/* ");
    put_comment(out, str_terminated(built->arena, strbuf_done(&text)));
    strbuf_cstr(out, " */\n");
}

void build_put_declarations(const Built *built, StrBuf *out) {
    strbuf_cstr(out, "#include <stdbool.h>\n#include <stdint.h>\n\n"
                     "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    put_structs(built, out);
    for (uint32_t i = 0; i < built->count; i++) {
        put_description(built, &built->entries[i], out);
        put_prototype(&built->entries[i], out);
        strbuf_cstr(out, ";\n");
    }
    strbuf_cstr(out, "\n#ifdef __cplusplus\n}\n#endif\n");
}

void build_put_header(const Built *built, StrBuf *out) {
    strbuf_printf(
        out,
        "/* Made by weft %s: do not edit. How to call this is said in weft_rt.h, "
        "and in\n * docs/build.md of Weft. */\n#ifndef WEFT_BUILT_%s\n"
        "#define WEFT_BUILT_%s\n\n#include <weft_rt.h>\n",
        weft_version(), built->name, built->name);
    build_put_declarations(built, out);
    strbuf_cstr(out, "\n#endif\n");
}

// ---- tables -------------------------------------------------------------------------

static void put_check(const Built *built, const LoopKernel *loop, const LoopStm *stm,
                      StrBuf *out) {
    const CoreProgram *core = built->program->core;
    const CorePlace *place = api_place(core, stm->loc);
    Str shown = STR("");
    bool is_user = false;
    if (place != NULL) {
        const Source *source = sources_find(&core->cx->sources, place->span);
        shown = sources_show(&core->cx->sources, built->arena, place->span);
        is_user = source != NULL && !source->is_lib;
    }
    StrBuf types = strbuf(built->arena);
    for (uint32_t i = 1; i < stm->arg_count && stm->op == LOOP_CHECK; i++)
        strbuf_char(&types, (char)('a' + loop->values.data[stm->args[i]].type.elem));
    strbuf_cstr(out, "    {");
    put_string(out, stm->text);
    strbuf_cstr(out, ", ");
    put_string(out, strbuf_done(&types));
    strbuf_cstr(out, ", ");
    put_string(out, shown);
    strbuf_printf(out, ", %d},\n", is_user);
}

static void put_ports(const char *what, uint32_t number, const BuiltPort *ports,
                      const LoopPort *loop, uint32_t count, StrBuf *out) {
    strbuf_printf(out, "static const WeftRtPort weft_%s_%u[] = {\n", what, number);
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(out, "    {\"%s\", %u, %u, %d, %u, %u},\n",
                      ports[i].name == NULL ? "" : ports[i].name,
                      scalar_info[ports[i].type.elem].bytes, ports[i].type.rank,
                      loop[i].is_owned, ports[i].same, ports[i].as);
    if (count == 0) strbuf_cstr(out, "    {0},\n");
    strbuf_cstr(out, "};\n");
}

static void put_tables(const Built *built, uint32_t number, StrBuf *out) {
    const BuiltEntry *e = &built->entries[number];
    strbuf_printf(out, "static const WeftRtCheck weft_checks_%u[] = {\n", number);
    for (uint32_t i = 0; i < e->checks.len; i++)
        put_check(built, e->loop, e->checks.data[i], out);
    if (e->checks.len == 0) strbuf_cstr(out, "    {0},\n");
    strbuf_cstr(out, "};\n");
    put_ports("params", number, e->params, e->loop->params, e->loop->param_count, out);
    put_ports("results", number, e->results, e->loop->results, e->loop->result_count,
              out);
    strbuf_printf(out, "static const WeftRtEntry weft_entry_%u = {\n    ", number);
    put_string(out, str_of(e->entry->name));
    strbuf_printf(out,
                  ", weft_kernel_%u, weft_lacks, weft_checks_%u, weft_params_%u, "
                  "weft_results_%u, "
                  "%u, %u};\n\n",
                  number, number, number, number, e->loop->param_count,
                  e->loop->result_count);
}

// ---- functions ----------------------------------------------------------------------

static void put_packed(const BuiltPort *port, StrBuf *out) {
    ScalarType elem = (ScalarType)port->type.elem;
    if (port->name == NULL) strbuf_cstr(out, "        0,\n");
    else if (port->type.rank > 0) {
        strbuf_printf(out, "        (uint64_t)(uintptr_t)%s->data,\n", port->name);
        for (uint32_t d = 0; d < port->type.rank; d++)
            strbuf_printf(out, "        (uint64_t)%s->shape[%u],\n", port->name, d);
    } else if (elem == SCALAR_F32 || elem == SCALAR_F64) {
        strbuf_printf(out, "        weft_bits_%s(%s),\n", scalar_info[elem].name,
                      port->name);
    } else {
        strbuf_printf(out, "        (uint%u_t)%s,\n", 8u * scalar_info[elem].bytes,
                      port->name);
    }
}

// Returns the slots that it has.
static uint32_t put_unpacked(const BuiltPort *port, uint32_t slot, StrBuf *out) {
    ScalarType elem = (ScalarType)port->type.elem;
    const char *name = port->name;
    if (port->type.rank > 0) {
        strbuf_printf(out, "    %s->data = (const %s *)(uintptr_t)_out[%u];\n", name,
                      c_type(elem), slot);
        for (uint32_t d = 0; d < port->type.rank; d++)
            strbuf_printf(out, "    %s->shape[%u] = (int64_t)_out[%u];\n", name, d,
                          slot + 1 + d);
    } else if (name != NULL && (elem == SCALAR_F32 || elem == SCALAR_F64)) {
        strbuf_printf(out, "    *%s = weft_%s(_out[%u]);\n", name,
                      scalar_info[elem].name, slot);
    } else if (name != NULL) {
        strbuf_printf(out, "    *%s = (%s)_out[%u];\n", name, c_type(elem), slot);
    }
    return 1u + port->type.rank;
}

static void put_function(const BuiltEntry *e, uint32_t number, StrBuf *out) {
    uint32_t params = e->loop->param_count, results = e->loop->result_count, slots = 0;
    put_prototype(e, out);
    strbuf_cstr(out, " {\n    if (weft_lacks() || !rt");
    for (uint32_t i = 0; i < params; i++)
        if (e->params[i].name != NULL && e->params[i].type.rank > 0)
            strbuf_printf(out, " || !%s", e->params[i].name);
    for (uint32_t i = 0; i < results; i++) {
        if (e->results[i].name != NULL)
            strbuf_printf(out, " || !%s", e->results[i].name);
        slots += 1u + e->results[i].type.rank;
    }
    strbuf_printf(out, ") return weft_rt_call(rt, &weft_entry_%u, 0, 0);\n", number);
    strbuf_cstr(out, "    const uint64_t _in[] = {\n");
    for (uint32_t i = 0; i < params; i++) put_packed(&e->params[i], out);
    if (params == 0) strbuf_cstr(out, "        0,\n");
    strbuf_printf(out,
                  "    };\n    uint64_t _out[%u];\n    const WeftRtStatus _status = "
                  "weft_rt_call(rt, &weft_entry_%u, _in, _out);\n"
                  "    if (_status != WEFT_RT_OK) return _status;\n",
                  slots, number);
    slots = 0;
    for (uint32_t i = 0; i < results; i++)
        slots += put_unpacked(&e->results[i], slots, out);
    strbuf_cstr(out, "    return WEFT_RT_OK;\n}\n\n");
}

// ---- the file -----------------------------------------------------------------------

// What the code needs of the compiler, so that neither its meaning nor its speed hangs
// on how that is called; and silence about what generated code looks like.
static const char file_head[] =
    "#if WEFT_RT_ABI != 1\n"
    "#error \"made for another version of weft_rt.h: run weft build again\"\n"
    "#endif\n"
    "#ifdef __FAST_MATH__\n"
    "#error \"without -ffast-math, please: this code means what it says of floats\"\n"
    "#endif\n"
    "#ifdef __clang__\n"
    "#pragma STDC FP_CONTRACT OFF\n"
    "#else\n"
    "#pragma GCC optimize(\"fp-contract=off,no-math-errno,no-trapping-math,"
    "no-strict-aliasing,tree-vectorize,vect-cost-model=dynamic\")\n"
    "#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"\n"
    "#endif\n"
    "#pragma GCC diagnostic ignored \"-Wpedantic\"\n"
    "#pragma GCC diagnostic ignored \"-Wmisleading-indentation\"\n"
    "#pragma GCC diagnostic ignored \"-Wunused-but-set-variable\"\n"
    "#pragma GCC diagnostic ignored \"-Wtautological-compare\"\n"
    "#pragma GCC diagnostic ignored \"-Wunused-function\"\n"
    "#pragma GCC diagnostic ignored \"-Wunused-variable\"\n"
    "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n"
    "#pragma GCC diagnostic ignored \"-Wconversion\"\n\n";

// Of what the compiler was told that the CPU has, the parts that tell CPUs apart.
static void put_lacks(StrBuf *out) {
    static const char *const features[] = {"avx",      "avx2",     "fma",
                                           "bmi",      "bmi2",     "avx512f",
                                           "avx512vl", "avx512bw", "avx512dq"};
    strbuf_cstr(out, "static const char *weft_lacks(void) {\n");
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        strbuf_cstr(out, "#ifdef __");
        for (const char *c = features[i]; *c != '\0'; c++)
            strbuf_char(out, *c >= 'a' ? (char)(*c - 'a' + 'A') : *c);
        strbuf_printf(out,
                      "__\n    if (!__builtin_cpu_supports(\"%s\")) return \"%s\";\n"
                      "#endif\n",
                      features[i], features[i]);
    }
    strbuf_cstr(out, "    return 0;\n}\n\n");
}

void build_put_code(Built *built, StrBuf *out) {
    LoopKernel **loops = arena_array(built->arena, LoopKernel *, built->count);
    EmitChecks *checks = arena_array(built->arena, EmitChecks, built->count);
    strbuf_cstr(out, file_head);
    put_lacks(out);
    // Declared static before they are defined, they are.
    for (uint32_t i = 0; i < built->count; i++) {
        loops[i] = built->entries[i].loop;
        strbuf_printf(out,
                      "static int32_t weft_kernel_%u(struct KernelEnv *env, "
                      "const uint64_t *in, uint64_t *out);\n",
                      i);
    }
    strbuf_char(out, '\n');
    emit_kernels(&emit_c, loops, built->count, false, &built->program->workspace, out,
                 checks);
    for (uint32_t i = 0; i < built->count; i++) {
        built->entries[i].checks = checks[i];
        put_tables(built, i, out);
        put_function(&built->entries[i], i, out);
    }
}
