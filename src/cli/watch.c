// SPDX-License-Identifier: Apache-2.0
//
// While work goes on: interrupts cancel it, and a terminal shows how far it is. The
// context that is open belongs to the whole process, since a signal handler can reach
// nothing else.
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static WeftContext *volatile open_context;
static volatile sig_atomic_t is_closing; // it ends what it began: files, compilers
static volatile sig_atomic_t is_interrupted;
static volatile sig_atomic_t is_told;

double cli_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// ---- interrupts ---------------------------------------------------------------------

static const char interrupted[] = "weft: interrupted\n";

static void on_interrupt(int number) {
    static double first; // some senders signal a process and then its group
    double now = cli_clock();
    if (is_interrupted) {
        if (now <= first + 0.5) return;
        signal(number, SIG_DFL);
        raise(number);
    } else if (open_context != NULL || is_closing) {
        first = now;
        is_interrupted = 1;
        if (open_context != NULL) weft_cancel(open_context);
    } else {
        ssize_t put = write(STDERR_FILENO, interrupted, sizeof interrupted - 1);
        (void)put;
        _exit(EXIT_ERROR);
    }
}

void cli_catch_interrupts(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_interrupt}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < 3; i++) sigaddset(&action.sa_mask, numbers[i]);
    for (size_t i = 0; i < 3; i++) // one that is ignored (nohup) stays so
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

bool cli_interrupted(void) {
    return is_interrupted != 0;
}

void cli_tell_interrupt(void) {
    cli_clear_progress();
    if (is_interrupted && !is_told) fputs(interrupted, stderr);
    is_told = is_interrupted;
}

// ---- progress -----------------------------------------------------------------------

static bool is_off, is_shown;

void cli_no_progress(void) {
    is_off = true;
    is_shown = false;
}

void cli_clear_progress(void) {
    if (is_shown) fputs("\r\033[K", stderr);
    is_shown = false;
}

static bool can_show(void) {
    const char *term = getenv("TERM");
    bool is_dumb = term == NULL || strcmp(term, "dumb") == 0;
    return !is_off && !is_dumb && isatty(STDERR_FILENO);
}

void cli_progress(double seconds, const char *format, ...) {
    if (seconds < 2 || !can_show()) return;
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    struct winsize size;
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    fprintf(stderr, "\r%.*s\033[K", is_known ? size.ws_col - 1 : 79, line);
    fflush(stderr);
    is_shown = true;
}

static void show_progress(void *data, const WeftProgress *progress) {
    (void)data;
    const char *slash = progress->file == NULL ? NULL : strrchr(progress->file, '/');
    const char *file = slash != NULL ? slash + 1 : progress->file;
    char place[128] = "", rest[64];
    if (file != NULL) snprintf(place, sizeof place, " %s", file);
    size_t len = strlen(place);
    if (file != NULL && progress->line > 0)
        snprintf(place + len, sizeof place - len, ":%u", progress->line);
    double done = progress->fraction, seconds = progress->seconds;
    if (done > 0.01 && done <= 1)
        snprintf(rest, sizeof rest, "%.0f %%  %.0f s left", 100 * done,
                 seconds * (1 - done) / done);
    else snprintf(rest, sizeof rest, "%.0f s", seconds);
    cli_progress(seconds, "%s%s  %s", progress->activity, place, rest);
}

static void show_log(void *data, WeftSeverity level, const char *text) {
    (void)data;
    if (level == WEFT_SEVERITY_NOTE) return;
    cli_clear_progress();
    fprintf(stderr, "weft: %s: %s\n",
            level == WEFT_SEVERITY_WARNING ? "warning" : "error", text);
}

// ---- contexts -----------------------------------------------------------------------

WeftContext *cli_context(WeftOptions options) {
    WeftContext *context;
    options.struct_size = sizeof options;
    options.progress = can_show() ? show_progress : NULL;
    options.log = show_log;
    if (weft_context_new(&options, &context) != WEFT_STATUS_OK) cli_no_memory();
    open_context = context;
    if (is_interrupted) weft_cancel(context); // by a signal that came before
    return context;
}

void cli_close(WeftContext *context) {
    is_closing = 1;
    open_context = NULL;
    cli_clear_progress();
    weft_context_free(context);
    is_closing = 0;
}
