// SPDX-License-Identifier: Apache-2.0
//
// Finding and running the C compiler (compiler.h).
#define _GNU_SOURCE
#include "dev/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/clock.h"

extern char **environ;

// The meaning of floats is theirs: no contraction, no reassociation; traps and errno
// are never looked at. Memory is reused for other types.
static const char *const flags[] = {
    "-std=gnu11",
    "-O2",
    "-ftree-vectorize",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-strict-aliasing",
    "-fPIC",
    "-shared",
    "-pipe",
    "-w",
    "-march=native",
    // Only of code for this process, which finds its functions there. Looking through
    // the system's libraries takes the linker longer than all the rest.
    "-nostdlib",
    "-fno-use-linker-plugin",
};
enum { FLAG_COUNT = sizeof flags / sizeof *flags, OWN_FLAGS = 2 };

void compiler_flags(const char *const **flags_out, uint32_t *count_out) {
    *flags_out = flags;
    *count_out = FLAG_COUNT;
}

// ---- finding it ---------------------------------------------------------------------

// The file that the shell would run for that word; NULL if there is none.
static const char *find_program(Arena *arena, const char *word) {
    const char *path = getenv("PATH");
    if (strchr(word, '/') != NULL) return access(word, X_OK) == 0 ? word : NULL;
    if (path == NULL) path = "/usr/local/bin:/usr/bin:/bin";
    while (*path != 0) {
        size_t len = strcspn(path, ":");
        StrBuf text = strbuf(arena);
        strbuf_bytes(&text, path, len);
        strbuf_printf(&text, "/%s", word);
        const char *file = str_terminated(arena, strbuf_done(&text));
        struct stat info;
        if (len > 0 && stat(file, &info) == 0 && S_ISREG(info.st_mode) &&
            access(file, X_OK) == 0)
            return file;
        path += len;
        path += *path == ':';
    }
    return NULL;
}

// Appends what -march=native depends on.
static void put_cpu(StrBuf *text) {
#if defined(__x86_64__)
    // Each CPUID leaves a virtual machine, which takes it some microseconds.
    unsigned most = 0;
    for (unsigned leaf = 0; leaf <= most && leaf < 8; leaf += leaf == 1 ? 6 : 1) {
        unsigned a, b, c, d;
        __cpuid_count(leaf, 0, a, b, c, d);
        if (leaf == 0) most = a;
        if (leaf == 1) b = 0; // names the core that ran this
        strbuf_printf(text, " %08x%08x%08x%08x", leaf == 7 ? 0 : a, b, c, d);
    }
#endif
    strbuf_printf(text, " %lx %lx", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
}

static Str refuse(Arena *arena, const char *wanted) {
    StrBuf text = strbuf(arena);
    if (wanted == NULL)
        strbuf_cstr(&text,
                    "there is no C compiler: none of cc, gcc and clang is on the "
                    "PATH");
    else if (strchr(wanted, '/') != NULL && access(wanted, F_OK) == 0)
        strbuf_printf(&text,
                      "the compiler `%s` (from $WEFT_CC) cannot be run: it is no "
                      "executable file",
                      wanted);
    else strbuf_printf(&text, "there is no compiler `%s` (from $WEFT_CC)", wanted);
    return strbuf_done(&text);
}

// How long a compiler may take.
static bool read_limit(uint32_t *seconds_out) {
    enum { DEFAULT_SECONDS = 120, MOST_SECONDS = 86400 };
    const char *text = getenv("WEFT_CC_SECONDS");
    *seconds_out = DEFAULT_SECONDS;
    if (text == NULL || text[0] == 0) return true;
    char *end;
    unsigned long seconds = strtoul(text, &end, 10);
    *seconds_out = (uint32_t)seconds;
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && seconds >= 1 &&
           seconds <= MOST_SECONDS;
}

bool native_find(Arena *arena, NativeCompiler *compiler_out, Str *why_out) {
    static const char *const known[] = {"cc", "gcc", "clang"};
    const char *wanted = getenv("WEFT_CC"), *path = NULL;
    if (wanted != NULL && wanted[0] == 0) wanted = NULL;
    if (wanted != NULL) path = find_program(arena, wanted);
    for (size_t i = 0; i < 3 && wanted == NULL && path == NULL; i++)
        path = find_program(arena, known[i]);
    struct stat info;
    if (path == NULL || stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
        *why_out = refuse(arena, wanted);
        return false;
    }
    if (!read_limit(&compiler_out->seconds)) {
        *why_out =
            STR("$WEFT_CC_SECONDS, which says how long a compiler may take, is no "
                "number of seconds from 1 to 86400");
        return false;
    }
    StrBuf text = strbuf(arena);
    strbuf_printf(&text, WEFT_VERSION " %s %lld %lld.%09ld", path,
                  (long long)info.st_size, (long long)info.st_mtim.tv_sec,
                  info.st_mtim.tv_nsec);
    put_cpu(&text);
    compiler_out->path = path;
    compiler_out->identity = str_terminated(arena, strbuf_done(&text));
    return true;
}

// ---- running it ---------------------------------------------------------------------

static const char **make_arguments(Arena *arena, const Compile *c) {
    const char **args = arena_array(arena, const char *, FLAG_COUNT + 8);
    size_t count = 0;
    args[count++] = c->compiler->path;
    size_t flag_count = c->object == NULL ? FLAG_COUNT : FLAG_COUNT - OWN_FLAGS;
    for (size_t i = 0; i < flag_count; i++) args[count++] = flags[i];
    args[count++] = "-o";
    args[count++] = c->library;
    args[count++] = c->source;
    if (c->object == NULL) {
        args[count++] = "-lgcc"; // the compiler's own
    } else {
        args[count++] = c->object;
        args[count++] = "-pthread";
        args[count++] = "-lm";
    }
    return args;
}

// This process's environment with another folder for temporary files.
static const char **make_environment(Arena *arena, const char *folder) {
    size_t count = 0, kept = 0;
    while (environ[count] != NULL) count++;
    const char **all = arena_array(arena, const char *, count + 2);
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0) all[kept++] = environ[i];
    StrBuf text = strbuf(arena);
    strbuf_printf(&text, "TMPDIR=%s", folder);
    all[kept] = str_terminated(arena, strbuf_done(&text));
    return all;
}

int compiler_start(Arena *arena, Compile *c) {
    const char **args = make_arguments(arena, c);
    const char **environment = make_environment(arena, c->folder);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, c->log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0666);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawn(&c->pid, c->compiler->path, &files, &attributes,
                            (char *const *)(uintptr_t)args,
                            (char *const *)(uintptr_t)environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    c->end = clock_seconds() + c->compiler->seconds;
    return error;
}

CompileState compiler_poll(Compile *c) {
    enum { MOST_LOG = 1 << 24 };
    pid_t ended = waitpid(c->pid, &c->status, WNOHANG);
    if (ended == c->pid) {
        bool is_well = WIFEXITED(c->status) && WEXITSTATUS(c->status) == 0;
        return is_well ? COMPILE_WELL : COMPILE_BADLY;
    }
    // Somebody else in this process has waited for it: what it made tells the rest.
    if (ended < 0 && errno == ECHILD) return COMPILE_WELL;
    struct stat info;
    bool says_too_much = stat(c->log, &info) == 0 && info.st_size > MOST_LOG;
    bool is_late = clock_seconds() >= c->end;
    if (!says_too_much && !is_late) return COMPILE_GOES_ON;
    compiler_stop(c);
    return is_late ? COMPILE_LATE : COMPILE_BADLY;
}

void compiler_stop(Compile *c) {
    if (c->pid <= 0) return; // not started
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR) {
    }
}
