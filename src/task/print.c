// SPDX-License-Identifier: Apache-2.0
//
// Task programs as text. Signals and references are numbered as they come in the text;
// values are called as in the source, later ones of a name with a number behind it.
#include "core/text.h"
#include "task/task.h"

typedef struct Printer {
    const TaskProgram *p;
    StrBuf *out;
    uint32_t *labels; // by name: 1 + its number; 0: not met yet
    Map counts;       // 1 + Sym -> how many values have that name
    uint32_t signals, refs;
    unsigned depth;
} Printer;

static void print_value(Printer *pr, TaskName name) {
    const TaskNameInfo *info = &pr->p->names.data[name];
    if (info->is_const) {
        core_print_const(pr->out, (ScalarType)info->type.elem, info->bits, false);
        return;
    }
    if (pr->labels[name] == 0) {
        uint64_t count = 0;
        map_get(&pr->counts, (uint64_t)info->name + 1, &count);
        pr->labels[name] = (uint32_t)count + 1;
        map_set(&pr->counts, (uint64_t)info->name + 1, count + 1);
    }
    uint32_t label = pr->labels[name];
    if (info->name == 0) {
        strbuf_printf(pr->out, "%%%u", label);
        return;
    }
    Str text = sym_str(&pr->p->flow->program->cx->syms, info->name);
    strbuf_str(pr->out, text);
    if (label > 1) strbuf_printf(pr->out, ".%u", label - 1);
}

static void print_name(Printer *pr, TaskName name) {
    TaskSort sort = pr->p->names.data[name].sort;
    if (sort == TASK_IS_VALUE) {
        print_value(pr, name);
        return;
    }
    uint32_t *count = sort == TASK_IS_SIGNAL ? &pr->signals : &pr->refs;
    if (pr->labels[name] == 0) pr->labels[name] = ++*count;
    strbuf_printf(pr->out, sort == TASK_IS_SIGNAL ? "s%u" : "r%u", pr->labels[name]);
}

static void print_names(Printer *pr, const TaskNames *names) {
    for (uint32_t i = 0; i < names->len; i++) {
        if (i > 0) strbuf_cstr(pr->out, ", ");
        print_name(pr, names->data[i]);
    }
}

static void print_type(Printer *pr, CoreType type) {
    for (unsigned i = 0; i < type.rank; i++) strbuf_cstr(pr->out, "[]");
    strbuf_cstr(pr->out, scalar_info[type.elem].name);
}

static void print_ports(Printer *pr, const TaskPorts *ports, const TaskNames *also) {
    strbuf_char(pr->out, '(');
    for (uint32_t i = 0; i < ports->len; i++) {
        if (i > 0) strbuf_cstr(pr->out, ", ");
        print_name(pr, ports->data[i].signal);
        strbuf_char(pr->out, ' ');
        print_name(pr, ports->data[i].ref);
    }
    if (also != NULL && also->len > 0) {
        strbuf_cstr(pr->out, "; ");
        print_names(pr, also);
    }
    strbuf_char(pr->out, ')');
}

static void new_line(Printer *pr) {
    strbuf_char(pr->out, '\n');
    for (unsigned i = 0; i < pr->depth; i++) strbuf_cstr(pr->out, "  ");
}

static void print_block(Printer *pr, const TaskBlock *block);

// ---- what is run --------------------------------------------------------------------

// What an argument of core's statement is called here.
static void print_arg(Printer *pr, const TaskTerm *term, CoreRef ref) {
    const CoreProgram *core = pr->p->flow->program;
    const CoreBody *run = term->step->run;
    if (core_is_const(core, ref)) {
        CoreValue value = core->values.data[ref];
        core_print_const(pr->out, (ScalarType)value.type.elem, value.bits, false);
        return;
    }
    for (uint32_t i = 0; i < run->param_count; i++)
        if (run->params[i] == ref) print_name(pr, term->args.data[i]);
}

static void print_exp(Printer *pr, const TaskTerm *term) {
    const CoreStm *stm = term->step->run->stms.data[0];
    strbuf_cstr(pr->out, core_op_info[stm->op].name);
    for (uint32_t i = 0; i < stm->attr_count; i++)
        strbuf_printf(pr->out, "%s%d", i == 0 ? "[" : ", ", stm->attrs[i]);
    if (stm->attr_count > 0) strbuf_char(pr->out, ']');
    if (stm->arg_count == 0) return;
    strbuf_char(pr->out, '(');
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        if (i > 0) strbuf_cstr(pr->out, ", ");
        print_arg(pr, term, stm->args[i]);
    }
    strbuf_char(pr->out, ')');
}

static bool is_in(const TaskNames *names, TaskName name) {
    for (uint32_t i = 0; i < names->len; i++)
        if (names->data[i] == name) return true;
    return false;
}

static void print_kernel(Printer *pr, const TaskTerm *term) {
    const CoreProgram *core = pr->p->flow->program;
    const CoreStm *stm = term->step->run->stms.data[0];
    const CoreFun *fun = stm->op == OP_CALL ? core->funs.data[stm->attrs[0]] : NULL;
    strbuf_cstr(pr->out, "kernel ");
    if (fun == NULL) strbuf_cstr(pr->out, core_op_info[stm->op].name);
    else if (fun->kernel != CORE_NO_KERNEL)
        strbuf_cstr(pr->out, core_op_info[core_kernel_op(fun)].name);
    else strbuf_str(pr->out, sym_str(&core->cx->syms, fun->name));
    const char *before = "(";
    for (uint32_t i = 0; i < term->args.len; i++) {
        TaskName arg = term->args.data[i];
        strbuf_printf(pr->out, "%s%s ", before,
                      is_in(&term->outs, arg) ? "inout" : "in");
        print_name(pr, arg);
        before = ", ";
    }
    for (uint32_t i = 0; i < term->outs.len; i++) {
        if (is_in(&term->args, term->outs.data[i])) continue;
        strbuf_printf(pr->out, "%sout ", before);
        print_name(pr, term->outs.data[i]);
        before = ", ";
    }
    strbuf_cstr(pr->out, *before == '(' ? "()" : ")");
}

// ---- terms --------------------------------------------------------------------------

static void print_part(Printer *pr, const char *word, const TaskBlock *part) {
    strbuf_cstr(pr->out, word);
    strbuf_cstr(pr->out, " {");
    pr->depth++;
    print_block(pr, part);
    pr->depth--;
    new_line(pr);
    strbuf_char(pr->out, '}');
}

static void print_while(Printer *pr, const TaskTerm *term) {
    const TaskTurn *turn = term->turn;
    TaskPorts from = {0};
    for (uint32_t i = 0; i < turn->states.len; i++)
        vec_push(pr->out->arena, &from,
                 (TaskPort){term->args.data[2 * i], term->args.data[2 * i + 1]});
    TaskNames carried = {term->args.data + 2 * turn->states.len,
                         term->args.len - 2 * turn->states.len, 0};
    strbuf_cstr(pr->out, "while ");
    print_ports(pr, &from, &carried);
    strbuf_cstr(pr->out, " turn ");
    print_ports(pr, &turn->states, &turn->carried);
    strbuf_cstr(pr->out, " -> ");
    print_ports(pr, &(TaskPorts){(TaskPort *)&turn->guard, 1, 1}, NULL);
    strbuf_cstr(pr->out, ", ");
    print_ports(pr, &turn->next, &turn->next_carried);
    print_part(pr, "", turn->block);
}

static void print_alloc(Printer *pr, const TaskTerm *term) {
    print_type(pr, pr->p->names.data[term->outs.data[0]].type);
    if (term->args.len == 0) return;
    strbuf_cstr(pr->out, " (");
    print_names(pr, &term->args);
    strbuf_char(pr->out, ')');
}

static void print_term(Printer *pr, const TaskTerm *term) {
    bool binds = term->outs.len > 0 && term->kind != TASK_KERNEL;
    if (binds) {
        strbuf_cstr(pr->out, "let ");
        print_names(pr, &term->outs);
        strbuf_cstr(pr->out, " = ");
    }
    switch (term->kind) {
    case TASK_EXP: print_exp(pr, term); return;
    case TASK_KERNEL: print_kernel(pr, term); return;
    case TASK_WHILE: print_while(pr, term); return;
    case TASK_FORK: print_part(pr, "fork", term->parts[0]); return;
    case TASK_IF:
        strbuf_cstr(pr->out, "if ");
        print_names(pr, &term->args);
        print_part(pr, " then", term->parts[0]);
        print_part(pr, " else", term->parts[1]);
        return;
    case TASK_WAIT:
    case TASK_RESOLVE:
        strbuf_printf(pr->out, "%s [", task_kind_names[term->kind]);
        print_names(pr, &term->args);
        strbuf_char(pr->out, ']');
        return;
    case TASK_WRITE:
        strbuf_cstr(pr->out, "write ");
        print_name(pr, term->args.data[0]);
        strbuf_char(pr->out, ' ');
        print_name(pr, term->args.data[1]);
        return;
    case TASK_USE:
    case TASK_UNIT:
    case TASK_READ:
    case TASK_SIGNAL:
    case TASK_REF:
    case TASK_ALLOC:
        strbuf_cstr(pr->out, task_kind_names[term->kind]);
        if (term->kind != TASK_SIGNAL && term->kind != TASK_REF)
            strbuf_char(pr->out, ' ');
        if (term->kind == TASK_ALLOC) print_alloc(pr, term);
        else if (term->kind == TASK_USE || term->kind == TASK_UNIT) print_exp(pr, term);
        else print_names(pr, &term->args);
        return;
    case TASK_KIND_COUNT: return;
    }
}

static void print_block(Printer *pr, const TaskBlock *block) {
    for (uint32_t i = 0; i < block->len; i++) {
        new_line(pr);
        print_term(pr, &block->data[i]);
    }
}

static Printer printer(const TaskProgram *p, StrBuf *out) {
    Printer pr = {.p = p, .out = out};
    pr.labels = arena_array(out->arena, uint32_t, p->names.len);
    map_init(&pr.counts, out->arena);
    return pr;
}

static void print_program(Printer *pr) {
    const TaskProgram *p = pr->p;
    strbuf_cstr(pr->out, "task ");
    strbuf_str(pr->out, sym_str(&p->flow->program->cx->syms, p->flow->fun->name));
    print_ports(pr, &p->params, NULL);
    strbuf_cstr(pr->out, " -> ");
    print_ports(pr, &p->results, NULL);
    print_part(pr, "", p->block);
    strbuf_char(pr->out, '\n');
}

void task_print(const TaskProgram *p, StrBuf *out) {
    Printer pr = printer(p, out);
    print_program(&pr);
}

void task_print_name(const TaskProgram *p, TaskName name, StrBuf *out) {
    StrBuf text = strbuf(out->arena);
    Printer pr = printer(p, &text);
    print_program(&pr); // which numbers the names
    pr.out = out;
    print_name(&pr, name);
}
