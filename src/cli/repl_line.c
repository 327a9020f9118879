// SPDX-License-Identifier: Apache-2.0
//
// Lines for weft repl; see repl.h. libedit is opened here, so that no other verb waits
// for it to be loaded, and driven one key at a time, so that a signal is noticed
// between keys and never inside it. The history is a file under XDG_STATE_HOME; where
// it cannot be kept, nobody is told.
#define _POSIX_C_SOURCE 200809L
#include "cli/repl.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_terminal;
static char *line; // the last one read
static size_t room;

// ---- waiting ------------------------------------------------------------------------

// From the prompt on an interrupt waits until wait_for_input lets it through, so that
// none falls between the two.
static void hold_interrupts(sigset_t *before_out) {
    sigset_t interrupts;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupts, before_out);
}

// False: there was a signal.
static bool wait_for_input(const sigset_t *before) {
    fd_set input;
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    return pselect(STDIN_FILENO + 1, &input, NULL, NULL, NULL, before) >= 0 ||
           errno != EINTR;
}

static LineEnd read_plain(const char *prompt, const char **text_out,
                          size_t *length_out) {
    bool is_signal = false;
    if (has_terminal) {
        sigset_t before;
        hold_interrupts(&before);
        fputs(prompt, stdout);
        fflush(stdout);
        is_signal = !wait_for_input(&before);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    errno = 0;
    ssize_t length = is_signal ? -1 : getline(&line, &room, stdin);
    if (length < 0) {
        is_signal = is_signal || errno == EINTR;
        if (errno == ENOMEM) cli_no_memory();
        if (has_terminal) putchar('\n');
        if (is_signal) clearerr(stdin);
        return is_signal ? LINE_INTERRUPTED : LINE_OVER;
    }
    if (length > 0 && line[length - 1] == '\n') length--;
    if (length > 0 && line[length - 1] == '\r') length--;
    line[length] = '\0';
    *text_out = line;
    *length_out = (size_t)length;
    return LINE_READ;
}

#if defined(__has_include)
#if __has_include(<editline/readline.h>)
#define HAS_EDIT
#endif
#endif

#ifdef HAS_EDIT
#include <dlfcn.h>
#include <editline/readline.h>
#include <stddef.h>
#include <sys/ioctl.h>

enum { REMEMBERED = 1000 };

// What is used of libedit: functions and variables.
#define EDIT_NAMES(NAME)                                                               \
    NAME(rl_initialize)                                                                \
    NAME(rl_readline_name)                                                             \
    NAME(rl_attempted_completion_function)                                             \
    NAME(rl_attempted_completion_over)                                                 \
    NAME(rl_completion_append_character)                                               \
    NAME(rl_basic_word_break_characters)                                               \
    NAME(rl_completion_matches)                                                        \
    NAME(rl_line_buffer)                                                               \
    NAME(rl_callback_handler_install)                                                  \
    NAME(rl_callback_handler_remove)                                                   \
    NAME(rl_callback_read_char)                                                        \
    NAME(using_history)                                                                \
    NAME(stifle_history)                                                               \
    NAME(read_history)                                                                 \
    NAME(write_history)                                                                \
    NAME(add_history)

static struct Edit {
#define NAME(name) __typeof__(&name) name;
    EDIT_NAMES(NAME)
#undef NAME
} edit;
static bool has_edit; // edit is filled in

static const char *const *known_commands;
static LineNames known_names;
static void *names_data;
static char *history_path;
static bool is_done;

// ---- history ------------------------------------------------------------------------

// Makes the folders of a path.
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

static char *find_history(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state != NULL && state[0] == '/';
    if (!has_state && (home == NULL || home[0] != '/')) return NULL;
    const char *folder = has_state ? state : home;
    const char *rest = has_state ? "/weft/history" : "/.local/state/weft/history";
    char *path = cli_alloc(strlen(folder) + strlen(rest) + 1);
    strcpy(path, folder);
    strcat(path, rest);
    make_folders(path);
    return path;
}

// ---- completion ---------------------------------------------------------------------

static char *copy(const char *text, size_t length) {
    char *made = cli_alloc(length + 1);
    memcpy(made, text, length);
    made[length] = '\0';
    return made;
}

static char *next_command(const char *typed, int again) {
    static size_t at;
    if (!again) at = 0;
    while (known_commands[at] != NULL) {
        const char *command = known_commands[at++];
        if (strncmp(command, typed, strlen(typed)) == 0)
            return copy(command, strlen(command));
    }
    return NULL;
}

static char *next_name(const char *typed, int again) {
    static char *names;
    static size_t at;
    if (!again) {
        free(names);
        names = known_names(names_data, typed);
        at = 0;
    }
    if (names == NULL || names[at] == '\0') return NULL;
    const char *name = names + at;
    size_t length = strcspn(name, "\n");
    at += length + (name[length] == '\n');
    return copy(name, length);
}

// Whether the word is the file of a command such as :load.
static bool is_file(const char *before, int start) {
    static const char *const taking[] = {":l", ":sa", ":rea", ":w"};
    for (size_t i = 0; i < sizeof taking / sizeof *taking; i++) {
        size_t length = strlen(taking[i]);
        if ((size_t)start > length && strncmp(before, taking[i], length) == 0)
            return true;
    }
    return false;
}

static char **complete(const char *typed, int start, int end) {
    (void)end;
    const char *before = *edit.rl_line_buffer;
    bool takes_file = is_file(before, start);
    *edit.rl_attempted_completion_over = !takes_file;
    if (before[0] == ':' && start <= 1)
        return edit.rl_completion_matches(typed, next_command);
    return takes_file ? NULL : edit.rl_completion_matches(typed, next_name);
}

// ---- lines --------------------------------------------------------------------------

static void take_line(char *text) {
    is_done = true;
    free(line);
    line = text;
    edit.rl_callback_handler_remove();
}

static LineEnd read_keys(const char *prompt, const sigset_t *before,
                         const char **text_out, size_t *length_out) {
    is_done = false;
    edit.rl_callback_handler_install(prompt, take_line);
    while (!is_done) {
        bool is_signal = !wait_for_input(before);
        int waiting = 0; // bytes; none at the end of the input
        if (!is_signal && ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0) {
            edit.rl_callback_read_char();
            continue;
        }
        edit.rl_callback_handler_remove();
        putchar('\n');
        return is_signal ? LINE_INTERRUPTED : LINE_OVER;
    }
    if (line == NULL) return LINE_OVER;
    *text_out = line;
    *length_out = strlen(line);
    return LINE_READ;
}

static LineEnd read_edited(const char *prompt, const char **text_out,
                           size_t *length_out) {
    sigset_t before;
    hold_interrupts(&before);
    LineEnd end = read_keys(prompt, &before, text_out, length_out);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return end;
}

// Fills in edit. What has been opened stays so.
static bool open_edit(void) {
    static const struct {
        const char *name;
        size_t offset;
    } names[] = {
#define NAME(name) {#name, offsetof(struct Edit, name)},
        EDIT_NAMES(NAME)
#undef NAME
    };
    void *library = dlopen("libedit.so.2", RTLD_LAZY | RTLD_LOCAL); // Debian's number
    if (library == NULL) library = dlopen("libedit.so.0", RTLD_LAZY | RTLD_LOCAL);
    for (size_t i = 0; library != NULL && i < sizeof names / sizeof *names; i++) {
        void *place = dlsym(library, names[i].name);
        if (place == NULL) return false;
        memcpy((char *)&edit + names[i].offset, &place, sizeof place);
    }
    return library != NULL;
}

void line_start(bool is_terminal, const char *const *commands, LineNames names,
                void *data) {
    has_terminal = is_terminal;
    if (!is_terminal || !open_edit()) return;
    has_edit = true;
    known_commands = commands;
    known_names = names;
    names_data = data;
    edit.rl_initialize();
    *edit.rl_readline_name = "weft";
    *edit.rl_attempted_completion_function = complete;
    *edit.rl_completion_append_character = '\0';
    *edit.rl_basic_word_break_characters = " \t\n\"\\`$><=;|&{([,+-*/%!^~:#";
    edit.using_history();
    edit.stifle_history(REMEMBERED);
    history_path = find_history();
    if (history_path != NULL) edit.read_history(history_path);
}

LineEnd line_read(const char *prompt, const char **text_out, size_t *length_out) {
    if (has_edit) return read_edited(prompt, text_out, length_out);
    return read_plain(prompt, text_out, length_out);
}

void line_remember(const char *text) {
    static char *last;
    if (!has_edit || text[0] == '\0') return;
    if (last != NULL && strcmp(last, text) == 0) return;
    free(last);
    last = copy(text, strlen(text));
    edit.add_history(text);
}

void line_finish(void) {
    if (history_path != NULL) {
        mode_t mask = umask(077);
        edit.write_history(history_path);
        umask(mask);
    }
    free(history_path);
    free(line);
}

#else

void line_start(bool is_terminal, const char *const *commands, LineNames names,
                void *data) {
    (void)commands, (void)names, (void)data;
    has_terminal = is_terminal;
}

LineEnd line_read(const char *prompt, const char **text_out, size_t *length_out) {
    return read_plain(prompt, text_out, length_out);
}

void line_remember(const char *text) {
    (void)text;
}

void line_finish(void) {
    free(line);
}

#endif
