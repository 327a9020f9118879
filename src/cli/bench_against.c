// SPDX-License-Identifier: Apache-2.0
//
// The command that weft bench --against runs in turn with the program. Its input lies
// in a file, so that feeding it takes no part in its time.
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/cli.h"

extern char **environ;

static int write_input(void *data, const char *bytes, size_t length) {
    return fwrite(bytes, 1, length, data) != length;
}

bool bench_other_open(Other *other, const char *command, WeftFormat format,
                      WeftValue *const *values, size_t count) {
    *other = (Other){command, tmpfile(), tmpfile()};
    bool is_good = other->input != NULL && other->errors != NULL;
    for (size_t i = 0; is_good && i < count; i++) {
        is_good = weft_value_print(values[i], format, write_input, other->input) ==
                  WEFT_STATUS_OK;
        if (format == WEFT_FORMAT_TEXT) fputc('\n', other->input);
    }
    return is_good && fflush(other->input) == 0;
}

void bench_other_close(Other *other) {
    if (other->input != NULL) fclose(other->input);
    if (other->errors != NULL) fclose(other->errors);
    *other = (Other){0};
}

// Starts it in a process group of its own, which can be ended as a whole.
static int start(const Other *other, pid_t *child_out) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fileno(other->input), STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, fileno(other->errors), STDERR_FILENO);
    char *words[] = {"sh", "-c", (char *)(uintptr_t)other->command, NULL};
    int code = posix_spawn(child_out, "/bin/sh", &files, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return code;
}

// What it printed to standard error, ended by a zero; the last bytes if it is much.
static void read_errors(const Other *other, char *text, size_t size) {
    long len = fseek(other->errors, 0, SEEK_END) == 0 ? ftell(other->errors) : 0;
    long skip = len >= (long)size ? len - (long)size + 1 : 0;
    fseek(other->errors, skip, SEEK_SET);
    text[fread(text, 1, size - 1, other->errors)] = '\0';
}

// The number on the last line that begins with "seconds:", if there is one.
static bool find_seconds(const char *text, double *seconds_out) {
    static const char word[] = "seconds:";
    bool found = false;
    for (const char *at = text; (at = strstr(at, word)) != NULL;) {
        char *end;
        bool begins = at == text || at[-1] == '\n';
        at += strlen(word);
        double seconds = strtod(at, &end);
        if (!begins || end == at || !(seconds >= 0 && seconds < 1e12)) continue;
        *seconds_out = seconds;
        found = true;
    }
    return found;
}

static bool fail(const Other *other, const char *how, int code) {
    char text[2000];
    fprintf(stderr, "weft bench: the command `%s` %s %d\n", other->command, how, code);
    read_errors(other, text, sizeof text);
    fputs(text, stderr);
    if (text[0] != '\0' && text[strlen(text) - 1] != '\n') fputc('\n', stderr);
    return false;
}

bool bench_other_run(Other *other, double *seconds_out) {
    pid_t child;
    int status = 0;
    rewind(other->input);
    rewind(other->errors);
    if (ftruncate(fileno(other->errors), 0) != 0) return fail(other, "gave", errno);
    double begin = cli_clock();
    int code = start(other, &child);
    if (code != 0) return fail(other, "could not be started: error", code);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        if (cli_interrupted()) kill(-child, SIGKILL);
    *seconds_out = cli_clock() - begin;
    if (cli_interrupted()) {
        cli_tell_interrupt();
        return false;
    }
    if (WIFSIGNALED(status))
        return fail(other, "was ended by signal", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return fail(other, "ended with status", WEXITSTATUS(status));
    char text[4096];
    read_errors(other, text, sizeof text);
    find_seconds(text, seconds_out);
    if (*seconds_out <= 0)
        *seconds_out = 1e-9; // a clock too coarse; ratios stay finite
    return true;
}
