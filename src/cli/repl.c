// SPDX-License-Identifier: Apache-2.0
//
// weft repl: reads definitions and expressions and answers them. The session behind it
// is the library's (weft.h); here are the lines, the commands and what is printed.
#define _POSIX_C_SOURCE 200809L
#include "cli/repl.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char help_repl[] =
    "Usage: weft repl [OPTION...] [FILE]\n"
    "\n"
    "Answers what is typed: an expression with its value, which is then called `it`; "
    "a\n"
    "definition by remembering it. FILE is loaded first. A text that is not complete\n"
    "goes on in the next line; an empty line ends it. On a terminal long values are\n"
    "shown shortened; from a pipe there are no prompts, and values are printed whole.\n"
    "All of it is interpreted; `weft run` makes machine code where work is worth it.\n"
    "\n"
    "Options:\n"
    "  -m, --memory SIZE  hold at most SIZE bytes, such as 500M or 2GiB\n"
    "  -h, --help         print this\n"
    "\n"
    "Commands (:help lists them) may be shortened: `:t` is `:type`.\n"
    "\n"
    "Examples:\n"
    "  weft repl stats.weft\n"
    "  echo 'f64.sum (map f64.sqrt [1, 4, 9])' | weft repl\n"
    "\n"
    "Exit status: 0; 1 if input or output failed; 2 for wrong usage.\n";

enum { SHORTENED = 800 }; // bytes of a value that a terminal shows

typedef struct Repl {
    const struct Command *commands;
    WeftContext *context;
    WeftSession *session;
    bool is_terminal, is_over;
    unsigned count; // of inputs so far
    char name[32];  // of this one
    char *loaded;   // the file, or NULL
    char *text;     // the input
    size_t length, room;
} Repl;

// ---- interrupts ---------------------------------------------------------------------

static WeftContext *volatile running;

static void on_interrupt(int number) {
    (void)number;
    if (running != NULL) weft_cancel(running);
}

// On a terminal Ctrl-C ends what is going on, and not the session.
static void catch_interrupts(void) {
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

// ---- printing -----------------------------------------------------------------------

static void print_trace(void *data, const char *text) {
    (void)data;
    cli_clear_progress();
    fprintf(stderr, "%s\n", text);
}

// Says what went wrong; false, for the callers' return.
static bool report(Repl *repl, WeftStatus status) {
    fflush(stdout);
    if (status == WEFT_STATUS_CANCELLED && repl->is_terminal) {
        cli_clear_progress();
        fputs("interrupted\n", stderr);
    } else {
        cli_report(repl->context);
    }
    return false;
}

static void complain(const char *command, const char *usage) {
    fflush(stdout);
    fprintf(stderr, "error: write :%s %s\n", command, usage);
}

static int write_shortened(void *data, const char *bytes, size_t length) {
    size_t *left = data;
    size_t take = length < *left ? length : *left;
    fwrite(bytes, 1, take, stdout);
    *left -= take;
    return take < length;
}

static bool print_value(Repl *repl, const WeftValue *value, const char *type) {
    size_t left = SHORTENED;
    WeftStatus status =
        weft_value_print(value, WEFT_FORMAT_TEXT,
                         repl->is_terminal ? write_shortened : cli_write, &left);
    bool is_cut = repl->is_terminal && status == WEFT_STATUS_IO;
    if (is_cut) printf(" ...\nshortened; it is of the type %s", type);
    else if (status != WEFT_STATUS_OK) return report(repl, status);
    putchar('\n');
    return true;
}

// ---- evaluating ---------------------------------------------------------------------

static bool evaluate(Repl *repl, const char *text, size_t length, WeftValue **value_out,
                     const char **types_out) {
    running = repl->context;
    WeftStatus status = weft_session_eval(repl->session, repl->name, text, length,
                                          value_out, types_out);
    running = NULL;
    cli_clear_progress();
    return status == WEFT_STATUS_OK || report(repl, status);
}

static bool is_expression(const char *types) {
    return types[0] != '\0' && strchr(types, '\n') == NULL;
}

static void answer(Repl *repl, const char *text, size_t length) {
    WeftValue *value;
    const char *types;
    if (!evaluate(repl, text, length, &value, &types)) return;
    if (value != NULL) print_value(repl, value, types);
    else if (is_expression(types)) printf("%s\n", types); // a function
    else if (repl->is_terminal) fputs(types, stdout);
    weft_value_free(value);
}

// ---- commands -----------------------------------------------------------------------

// What follows a command. The bytes in front of it are blanks, so that messages name
// the columns of the line that was typed.
typedef struct Rest {
    char *line;
    size_t length;
    char *text; // without the blanks
} Rest;

typedef struct Command {
    const char *name, *usage, *summary;
    void (*run)(Repl *repl, const struct Command *command, Rest rest);
} Command;

// Takes the first word off the rest: it is ended by a zero.
static char *take_word(Rest *rest) {
    char *word = rest->text;
    size_t length = strcspn(word, " \t");
    rest->text += length;
    size_t blanks = strspn(rest->text, " \t");
    rest->text += blanks;
    size_t skipped = (size_t)(rest->text - rest->line);
    char *copy = cli_alloc(length + 1);
    memcpy(copy, word, length);
    copy[length] = '\0';
    memset(rest->line, ' ', skipped);
    return copy;
}

static void run_type(Repl *repl, const Command *command, Rest rest) {
    (void)command;
    const char *type;
    WeftStatus status =
        weft_session_type(repl->session, repl->name, rest.line, rest.length, &type);
    if (status == WEFT_STATUS_OK) printf("%s\n", type);
    else report(repl, status);
}

static void run_dump(Repl *repl, const Command *command, Rest rest) {
    (void)command;
    const char *core;
    running = repl->context;
    WeftStatus status =
        weft_session_core(repl->session, repl->name, rest.line, rest.length, &core);
    running = NULL;
    if (status == WEFT_STATUS_OK) fputs(core, stdout);
    else report(repl, status);
}

static void load(Repl *repl, const char *path) {
    const char *types;
    running = repl->context;
    WeftStatus status = weft_session_load(repl->session, path, &types);
    running = NULL;
    if (status == WEFT_STATUS_OK && repl->is_terminal) fputs(types, stdout);
    if (status != WEFT_STATUS_OK) report(repl, status);
}

static void run_load(Repl *repl, const Command *command, Rest rest) {
    if (rest.text[0] == '\0') {
        complain(command->name, command->usage);
        return;
    }
    free(repl->loaded);
    repl->loaded = strdup(rest.text);
    if (repl->loaded == NULL) cli_no_memory();
    load(repl, repl->loaded);
}

static void run_reload(Repl *repl, const Command *command, Rest rest) {
    (void)command, (void)rest;
    if (repl->loaded != NULL) load(repl, repl->loaded);
    else complain("load", "FILE first");
}

static void run_names(Repl *repl, const Command *command, Rest rest) {
    (void)command, (void)rest;
    const char *types;
    WeftStatus status = weft_session_names(repl->session, &types);
    if (status == WEFT_STATUS_OK) fputs(types, stdout);
    else report(repl, status);
}

static void run_save(Repl *repl, const Command *command, Rest rest) {
    const char *source;
    if (rest.text[0] == '\0') {
        complain(command->name, command->usage);
        return;
    }
    WeftStatus status = weft_session_source(repl->session, &source);
    if (status != WEFT_STATUS_OK) {
        report(repl, status);
    } else if (!cli_replace_file(rest.text, source, strlen(source))) {
        int code = errno;
        fflush(stdout);
        fprintf(stderr, "error: cannot write `%s`: %s\n", rest.text, strerror(code));
    }
}

static void run_read(Repl *repl, const Command *command, Rest rest) {
    char *name = take_word(&rest);
    WeftValue *value = NULL;
    if (name[0] == '\0' || rest.text[0] == '\0') {
        complain(command->name, command->usage);
    } else {
        WeftStatus status = weft_value_from_file(repl->context, rest.text, &value);
        if (status == WEFT_STATUS_OK)
            status = weft_session_define(repl->session, name, value);
        if (status != WEFT_STATUS_OK) report(repl, status);
        weft_value_free(value);
    }
    free(name);
}

static void run_write(Repl *repl, const Command *command, Rest rest) {
    char *path = take_word(&rest);
    WeftValue *value = NULL;
    const char *types;
    if (path[0] == '\0' || rest.text[0] == '\0') {
        complain(command->name, command->usage);
    } else if (evaluate(repl, rest.line, rest.length, &value, &types)) {
        if (value == NULL) complain(command->name, command->usage);
        else {
            WeftStatus status = weft_value_to_file(value, path);
            if (status != WEFT_STATUS_OK) report(repl, status);
        }
        weft_value_free(value);
    }
    free(path);
}

static void run_time(Repl *repl, const Command *command, Rest rest) {
    (void)command;
    double start = cli_clock();
    answer(repl, rest.line, rest.length);
    printf("%.3f s\n", cli_clock() - start);
}

static void run_help(Repl *repl, const Command *command, Rest rest) {
    (void)command, (void)rest;
    for (const Command *known = repl->commands; known->name != NULL; known++)
        printf("  :%-6s %-10s %s\n", known->name, known->usage, known->summary);
}

// Here nothing has been typed; see read_input.
static void run_abort(Repl *repl, const Command *command, Rest rest) {
    (void)repl, (void)command, (void)rest;
}

static void run_quit(Repl *repl, const Command *command, Rest rest) {
    (void)command, (void)rest;
    repl->is_over = true;
}

// The first that begins with what was typed is meant.
static const Command commands[] = {
    {"type", "EXPR", "the type of an expression, which is not evaluated", run_type},
    {"load", "FILE", "start anew with the definitions of a file", run_load},
    {"reload", "", "load the file again", run_reload},
    {"names", "", "what has been defined", run_names},
    {"dump", "EXPR", "an expression in the compiler's core language", run_dump},
    {"read", "NAME FILE", "define a name as the value in a file (.npy, .png, ...)",
     run_read},
    {"write", "FILE EXPR", "write a value to a file, in the form its ending names",
     run_write},
    {"save", "FILE", "write the definitions to a file", run_save},
    {"time", "EXPR", "evaluate, and tell how long it took", run_time},
    {"abort", "", "drop what has been typed of an input of several lines", run_abort},
    {"help", "", "this list", run_help},
    {"quit", "", "leave, as Ctrl-D does", run_quit},
    {0},
};

static const Command *find_command(const char *typed, size_t length) {
    for (const Command *command = commands; length > 0 && command->name != NULL;
         command++)
        if (strncmp(command->name, typed, length) == 0) return command;
    return NULL;
}

// text: a line that begins with ":".
static void run_command(Repl *repl, char *text, size_t length) {
    size_t end = 1 + strcspn(text + 1, " \t");
    const Command *command = find_command(text + 1, end - 1);
    if (command == NULL) {
        fflush(stdout);
        fprintf(stderr, "error: there is no command `%.*s`\nhint: :help lists them\n",
                end > 40 ? 40 : (int)end, text);
        return;
    }
    while (length > end && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        text[--length] = '\0';
    size_t at = end + strspn(text + end, " \t");
    memset(text, ' ', at);
    command->run(repl, command, (Rest){text, length, text + at});
}

// ---- the loop -----------------------------------------------------------------------

static void append(Repl *repl, const char *text, size_t length) {
    size_t need = repl->length + length + 2;
    if (need > repl->room) {
        repl->room = need * 2;
        repl->text = cli_resize(repl->text, repl->room);
    }
    memcpy(repl->text + repl->length, text, length);
    repl->length += length;
    repl->text[repl->length++] = '\n';
    repl->text[repl->length] = '\0';
}

static bool is_blank(const char *text, size_t length) {
    return strspn(text, " \t") == length;
}

// Reads an input of one or more lines. False at the end of all input.
static bool read_input(Repl *repl) {
    repl->length = 0;
    for (;;) {
        const char *line;
        size_t length;
        LineEnd end =
            line_read(repl->length == 0 ? "weft> " : "    | ", &line, &length);
        if (end == LINE_OVER) return repl->length > 0;
        bool is_dropped = end == LINE_INTERRUPTED ||
                          (repl->length > 0 && strcmp(line, ":abort") == 0);
        if (is_dropped) {
            repl->length = 0;
            if (cli_interrupted()) return false;
            continue;
        }
        line_remember(line);
        if (is_blank(line, length)) {
            if (repl->length > 0) return true;
            continue;
        }
        append(repl, line, length);
        bool is_command = repl->text[0] == ':';
        if (is_command ||
            !weft_text_wants_more(repl->context, repl->text, repl->length))
            return true;
    }
}

static char *complete_names(void *data, const char *prefix) {
    Repl *repl = data;
    const char *names;
    if (weft_session_complete(repl->session, prefix, &names) != WEFT_STATUS_OK)
        return NULL;
    return strdup(names);
}

static void loop(Repl *repl) {
    while (!repl->is_over && !ferror(stdout) && read_input(repl)) {
        snprintf(repl->name, sizeof repl->name, "input %u", ++repl->count);
        if (repl->text[0] == ':') {
            repl->text[--repl->length] = '\0'; // the line end
            run_command(repl, repl->text, repl->length);
        } else {
            answer(repl, repl->text, repl->length);
        }
        if (repl->is_terminal) fflush(stdout);
        if (cli_interrupted()) return;
    }
}

static void start(Repl *repl, const char *file) {
    static const char *names[sizeof commands / sizeof *commands];
    for (size_t i = 0; commands[i].name != NULL; i++) names[i] = commands[i].name;
    repl->is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    line_start(repl->is_terminal, names, complete_names, repl);
    if (repl->is_terminal) {
        catch_interrupts();
        printf("Weft %s; :help lists the commands\n", weft_version());
    }
    if (file == NULL) return;
    repl->loaded = strdup(file);
    if (repl->loaded == NULL) cli_no_memory();
    load(repl, file);
}

int verb_repl(int argc, char **argv) {
    static const struct option names[] = {{"memory", required_argument, NULL, 'm'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    size_t memory = 0;
    for (int option; (option = cli_option("repl", argc, argv, ":m:h", names)) != -1;)
        if (!cli_parse_size(optarg, &memory) || memory == 0)
            return cli_usage("repl", "`%s` is no number of bytes", optarg);
    if (argc - optind > 1) return cli_usage("repl", "name one program at most");
    Repl repl = {.commands = commands,
                 .context = cli_context(
                     (WeftOptions){.memory_ceiling = memory, .trace = print_trace})};
    if (weft_session_new(repl.context, &repl.session) != WEFT_STATUS_OK)
        cli_no_memory();
    start(&repl, argv[optind]);
    loop(&repl);
    line_finish();
    bool has_failed = ferror(stdin) || cli_interrupted();
    if (cli_interrupted()) cli_tell_interrupt();
    else if (has_failed) fputs("weft: standard input could not be read\n", stderr);
    cli_close(repl.context);
    free(repl.loaded);
    free(repl.text);
    return cli_finish(has_failed ? EXIT_ERROR : EXIT_FINE);
}
