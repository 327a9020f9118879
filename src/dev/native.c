// SPDX-License-Identifier: Apache-2.0
//
// Building and loading (native.h). The compiler runs in a process group of its own, so
// that it and its helpers can be ended together; what it says goes to a file.
#define _GNU_SOURCE
#include "dev/native.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "dev/cache.h"

extern char **environ;

// The meaning of floats is theirs: no contraction, no reassociation; traps and errno
// are never looked at. Memory is reused for other types.
static const char *const flags[] = {
    "-std=gnu11",
    "-O2",
    "-ftree-vectorize",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-strict-aliasing",
    "-fPIC",
    "-shared",
    "-pipe",
    "-w",
};
enum { FLAG_COUNT = sizeof flags / sizeof *flags, DEFAULT_SECONDS = 120 };

// ---- the compiler -------------------------------------------------------------------

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

bool native_find(Arena *arena, NativeCompiler *compiler_out, Str *why_out) {
    static const char *const known[] = {"cc", "gcc", "clang"};
    const char *wanted = getenv("WEFT_CC"), *path = NULL;
    if (wanted != NULL && wanted[0] != 0) {
        path = find_program(arena, wanted);
    } else {
        for (size_t i = 0; i < sizeof known / sizeof *known && path == NULL; i++)
            path = find_program(arena, known[i]);
        wanted = NULL;
    }
    StrBuf text = strbuf(arena);
    struct stat info;
    if (path == NULL || stat(path, &info) != 0) {
        if (wanted != NULL)
            strbuf_printf(&text, "there is no compiler `%s` (from $WEFT_CC)", wanted);
        else
            strbuf_cstr(&text, "there is no C compiler: none of cc, gcc and clang is "
                               "on the PATH");
        *why_out = strbuf_done(&text);
        return false;
    }
    strbuf_printf(&text, "%s %lld %lld.%09ld", path, (long long)info.st_size,
                  (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    compiler_out->path = path;
    compiler_out->identity = str_terminated(arena, strbuf_done(&text));
    return true;
}

// What -march=native depends on.
static Str cpu_features(Arena *arena) {
    StrBuf text = strbuf(arena);
#if defined(__x86_64__)
    for (unsigned leaf = 0; leaf < 8; leaf += leaf == 1 ? 6 : 1) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (!__get_cpuid_count(leaf, 0, &a, &b, &c, &d)) break;
        if (leaf == 1) b = 0; // names the core that ran this
        strbuf_printf(&text, "%08x%08x%08x%08x ", leaf == 7 ? 0 : a, b, c, d);
    }
#endif
    strbuf_printf(&text, "%lx %lx", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
    return strbuf_done(&text);
}

// ---- running it ---------------------------------------------------------------------

// Starts the compiler; returns an errno.
static int spawn(const NativeBuild *build, const char *source, const char *library,
                 const char *log, pid_t *pid_out) {
    const char *args[FLAG_COUNT + 6];
    size_t count = 0;
    args[count++] = build->compiler->path;
    for (size_t i = 0; i < FLAG_COUNT; i++) args[count++] = flags[i];
    args[count++] = "-o";
    args[count++] = library;
    args[count++] = source;
    args[count++] = "-lm";
    args[count] = NULL;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0666);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawn(pid_out, build->compiler->path, &files, &attributes,
                            (char *const *)(uintptr_t)args, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef enum Ending { ENDED_WELL, ENDED_BADLY, ENDED_LATE, ENDED_CANCELLED } Ending;

static Ending wait_for(const NativeBuild *build, pid_t pid) {
    double end =
        seconds_now() + (build->seconds != 0 ? build->seconds : DEFAULT_SECONDS);
    Ending ending = ENDED_BADLY;
    for (;;) {
        int status;
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ENDED_WELL
                                                                 : ENDED_BADLY;
        if (ended < 0 && errno != EINTR) return ENDED_BADLY;
        bool is_cancelled = build->cancel != NULL && atomic_load(build->cancel);
        if (is_cancelled || seconds_now() > end) {
            ending = is_cancelled ? ENDED_CANCELLED : ENDED_LATE;
            kill(-pid, SIGKILL);
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
            }
            return ending;
        }
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    }
}

// ---- building -----------------------------------------------------------------------

static bool write_file(const char *path, Str text) {
    FILE *file = fopen(path, "wbe");
    if (file == NULL) return false;
    bool done = fwrite(text.ptr, 1, text.len, file) == text.len;
    return fclose(file) == 0 && done;
}

static const char *with_ending(Arena *arena, const char *stem, const char *ending) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text, "%s%s", stem, ending);
    return str_terminated(arena, strbuf_done(&text));
}

static void *load(const char *path, Arena *arena, Str *why_out) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        StrBuf text = strbuf(arena);
        strbuf_printf(&text, "compiled code cannot be loaded: %s", dlerror());
        *why_out = strbuf_done(&text);
    }
    return library;
}

static Status explain(const NativeBuild *build, Ending ending, const char *log,
                      Str *why_out) {
    StrBuf text = strbuf(build->arena);
    Status status = STATUS_IO;
    switch (ending) {
    case ENDED_CANCELLED:
        strbuf_cstr(&text, "cancelled");
        status = STATUS_CANCELLED;
        break;
    case ENDED_LATE:
        strbuf_printf(&text, "the compiler %s was stopped after %u seconds",
                      build->compiler->path,
                      build->seconds != 0 ? build->seconds : DEFAULT_SECONDS);
        break;
    case ENDED_BADLY:
    case ENDED_WELL:
        strbuf_printf(&text, "the compiler %s failed; what it said is in %s",
                      build->compiler->path, log);
        break;
    }
    *why_out = strbuf_done(&text);
    return status;
}

// Compiles into the folder, under the stem; the source goes, the library stays.
static Status compile(const NativeBuild *build, const char *stem, Str *why_out) {
    Arena *arena = build->arena;
    const char *source = with_ending(arena, stem, ".c");
    const char *library = with_ending(arena, stem, ".so");
    const char *log = with_ending(arena, stem, ".log");
    StrBuf text = strbuf(arena);
    if (!write_file(source, build->source)) {
        strbuf_printf(&text, "cannot write %s: %s", source, strerror(errno));
        *why_out = strbuf_done(&text);
        unlink(source);
        return STATUS_IO;
    }
    pid_t pid;
    int error = spawn(build, source, library, log, &pid);
    if (error != 0) {
        strbuf_printf(&text, "the compiler %s cannot be started: %s",
                      build->compiler->path, strerror(error));
        *why_out = strbuf_done(&text);
        unlink(source);
        return STATUS_IO;
    }
    Ending ending = wait_for(build, pid);
    unlink(source);
    if (ending == ENDED_WELL) {
        unlink(log);
        return STATUS_OK;
    }
    unlink(library);
    if (ending == ENDED_CANCELLED) unlink(log);
    return explain(build, ending, log, why_out);
}

// A path without an ending for files of this call.
static const char *make_stem(const NativeBuild *build, const char *folder) {
    struct timespec now;
    const char *base = getenv("TMPDIR");
    if (folder == NULL) folder = base != NULL && base[0] == '/' ? base : "/tmp";
    clock_gettime(CLOCK_MONOTONIC, &now);
    StrBuf text = strbuf(build->arena);
    strbuf_printf(&text, "%s/tmp-weft-%ld-%llx-%lx", folder, (long)getpid(),
                  (unsigned long long)(uintptr_t)build,
                  (unsigned long)(now.tv_sec * 1000000000 + now.tv_nsec));
    return str_terminated(build->arena, strbuf_done(&text));
}

Status native_build(const NativeBuild *build, void **library_out, bool *was_cached_out,
                    Str *why_out) {
    Arena *arena = build->arena;
    char name[CACHE_NAME + 1];
    Str parts[FLAG_COUNT + 3];
    for (size_t i = 0; i < FLAG_COUNT; i++) parts[i] = str_of(flags[i]);
    parts[FLAG_COUNT] = cpu_features(arena);
    parts[FLAG_COUNT + 1] = str_of(build->compiler->identity);
    parts[FLAG_COUNT + 2] = build->source;
    cache_name(parts, FLAG_COUNT + 3, name);

    const char *folder = build->no_cache ? NULL : cache_folder(arena);
    const char *entry = folder == NULL ? NULL : cache_path(arena, folder, name);
    if (entry != NULL && cache_has(arena, folder, name)) {
        *library_out = load(entry, arena, why_out);
        *was_cached_out = *library_out != NULL;
        if (*library_out != NULL) return STATUS_OK;
    }
    const char *stem = make_stem(build, folder);
    Status status = compile(build, stem, why_out);
    if (status != STATUS_OK) return status;
    const char *library = with_ending(arena, stem, ".so");
    bool is_kept = entry != NULL && cache_add(arena, folder, name, library);
    *was_cached_out = false;
    *library_out = load(is_kept ? entry : library, arena, why_out);
    if (!is_kept) unlink(library);
    return *library_out != NULL ? STATUS_OK : STATUS_IO;
}

void *native_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

void native_unload(void *library) {
    if (library != NULL) dlclose(library);
}
