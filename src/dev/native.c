// SPDX-License-Identifier: Apache-2.0
//
// Building and loading (native.h). The files of a build are in a folder of its own,
// which goes with it, whatever the compiler left there; of a failed one what the
// compiler said stays.
#define _GNU_SOURCE
#include "dev/native.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dev/cache.h"
#include "dev/compiler.h"

typedef struct NativeWork {
    Compile compile;
    const char *cache;  // the folder; NULL: there is none
    const char *target; // of native_library; NULL: it is to be loaded
    char name[CACHE_NAME + 1];
} NativeWork;

static NativeState fail(NativeBuild *build, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static NativeState fail(NativeBuild *build, const char *format, ...) {
    StrBuf text = strbuf(build->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    build->why = strbuf_done(&text);
    return NATIVE_FAILED;
}

// ---- files --------------------------------------------------------------------------

static const char *join(Arena *arena, const char *folder, const char *name) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text, "%s/%s", folder, name);
    return str_terminated(arena, strbuf_done(&text));
}

static bool write_file(const char *path, Str text) {
    FILE *file = fopen(path, "wbe");
    if (file == NULL) return false;
    bool done = fwrite(text.ptr, 1, text.len, file) == text.len;
    int code = errno;
    if (fclose(file) == 0 && done) return true;
    if (!done) errno = code;
    return false;
}

static NativeState open_folder(NativeBuild *build, NativeWork *work) {
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] != '/') base = "/tmp";
    if (work->cache != NULL) base = work->cache;
    char *folder = (char *)(uintptr_t)join(build->arena, base, "tmp-weft-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return fail(build, "cannot make a folder in %s: %s", base, strerror(errno));
    work->compile.folder = folder;
    work->compile.source = join(build->arena, folder, "code.c");
    work->compile.library = join(build->arena, folder, "code.so");
    work->compile.log = join(build->arena, folder, "log");
    build->work = work;
    return NATIVE_BUILDS;
}

static void close_folder(NativeBuild *build) {
    cache_drop_folder(build->work->compile.folder);
    build->work = NULL;
}

// Where what the compiler said is kept; NULL: it said nothing.
static const char *keep_log(NativeBuild *build) {
    const Compile *c = &build->work->compile;
    struct stat info;
    StrBuf path = strbuf(build->arena);
    strbuf_printf(&path, "%s.log", c->folder);
    const char *kept = str_terminated(build->arena, strbuf_done(&path));
    if (stat(c->log, &info) != 0 || info.st_size == 0) return NULL;
    return rename(c->log, kept) == 0 ? kept : NULL;
}

// ---- compiling ----------------------------------------------------------------------

// Saves GCC a tenth of its time, and such code runs no slower; no flag, since Clang
// refuses what it does not know.
static const char head[] = "#pragma GCC optimize(\"no-thread-jumps\")\n";

static NativeState start(NativeBuild *build, NativeWork *work, const Str *object) {
    Compile *c = &work->compile;
    StrBuf text = strbuf(build->arena);
    strbuf_cstr(&text, head);
    strbuf_str(&text, build->source);
    c->compiler = build->compiler;
    if (open_folder(build, work) == NATIVE_FAILED) return NATIVE_FAILED;
    if (object != NULL) c->object = join(build->arena, c->folder, "runtime.o");
    if (work->target != NULL) c->library = work->target;
    NativeState state = NATIVE_BUILDS;
    if (!write_file(c->source, strbuf_done(&text)) ||
        (object != NULL && !write_file(c->object, *object)))
        state = fail(build, "cannot write in %s: %s", c->folder, strerror(errno));
    int error = state == NATIVE_BUILDS ? compiler_start(build->arena, c) : 0;
    if (error != 0)
        state = fail(build, "the compiler %s cannot be started: %s",
                     build->compiler->path, strerror(error));
    if (state == NATIVE_FAILED) close_folder(build);
    return state;
}

static NativeState explain(NativeBuild *build) {
    const NativeCompiler *compiler = build->compiler;
    int status = build->work->compile.status;
    const char *log = keep_log(build);
    StrBuf how = strbuf(build->arena);
    if (WIFSIGNALED(status)) strbuf_printf(&how, "signal %d", WTERMSIG(status));
    else strbuf_printf(&how, "status %d", WEXITSTATUS(status));
    Str end = strbuf_done(&how);
    if (log == NULL)
        return fail(build, "the compiler %s failed with %.*s and said nothing",
                    compiler->path, STR_ARG(end));
    return fail(build, "the compiler %s failed with %.*s; what it said is in %s",
                compiler->path, STR_ARG(end), log);
}

// The library in the file; NULL and the reason if it is none, or lacks the symbol.
static void *load(NativeBuild *build, const char *path) {
    // What a kernel uses of libm is found among the functions that all can see.
    dlopen("libm.so.6", RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fail(build, "what the compiler %s made cannot be loaded: %s",
             build->compiler->path, dlerror());
        return NULL;
    }
    if (build->symbol == NULL || dlsym(library, build->symbol) != NULL) return library;
    dlclose(library);
    fail(build, "what the compiler %s made lacks %s", build->compiler->path,
         build->symbol);
    return NULL;
}

static NativeState finish(NativeBuild *build) {
    NativeWork *work = build->work;
    const char *library = work->compile.library;
    if (work->target != NULL) return NATIVE_READY;
    build->library = load(build, library);
    if (build->library == NULL) return NATIVE_FAILED;
    if (work->cache != NULL) cache_add(build->arena, work->cache, work->name, library);
    return NATIVE_READY;
}

NativeState native_start(NativeBuild *build) {
    Arena *arena = build->arena;
    NativeWork *work = arena_new(arena, NativeWork);
    const char *const *flags;
    uint32_t count;
    compiler_flags(&flags, &count);
    Str *parts = arena_array(arena, Str, count + 2);
    for (uint32_t i = 0; i < count; i++) parts[i] = str_of(flags[i]);
    parts[count] = str_of(build->compiler->identity);
    parts[count + 1] = build->source;
    cache_name(parts, count + 2, work->name);
    work->cache = build->no_cache ? NULL : cache_folder(arena);
    build->was_cached =
        work->cache != NULL && cache_has(arena, work->cache, work->name);
    if (build->was_cached) {
        build->library = load(build, cache_path(arena, work->cache, work->name));
        if (build->library != NULL) return NATIVE_READY;
        build->was_cached = false;
    }
    if (work->cache != NULL && !cache_has_room(work->cache)) work->cache = NULL;
    return start(build, work, NULL);
}

NativeState native_poll(NativeBuild *build) {
    NativeState state = NATIVE_FAILED;
    switch (compiler_poll(&build->work->compile)) {
    case COMPILE_GOES_ON: return NATIVE_BUILDS;
    case COMPILE_WELL: state = finish(build); break;
    case COMPILE_BADLY: explain(build); break;
    case COMPILE_LATE:
        fail(build, "the compiler %s was stopped after %u seconds ($WEFT_CC_SECONDS)",
             build->compiler->path, build->compiler->seconds);
        break;
    }
    if (state == NATIVE_FAILED && build->work->target != NULL)
        unlink(build->work->target);
    close_folder(build);
    return state;
}

void native_stop(NativeBuild *build) {
    if (build->work == NULL) return;
    compiler_stop(&build->work->compile);
    if (build->work->target != NULL) unlink(build->work->target);
    close_folder(build);
}

// ---- waiting ------------------------------------------------------------------------

static Status wait_for(NativeBuild *build, NativeState state,
                       const atomic_bool *cancel) {
    while (state == NATIVE_BUILDS) {
        if (cancel != NULL && atomic_load(cancel)) {
            native_stop(build);
            return STATUS_CANCELLED;
        }
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
        state = native_poll(build);
    }
    return state == NATIVE_READY ? STATUS_OK : STATUS_IO;
}

Status native_build(NativeBuild *build, const atomic_bool *cancel) {
    return wait_for(build, native_start(build), cancel);
}

Status native_library(NativeBuild *build, Str object, const char *path,
                      const atomic_bool *cancel) {
    NativeWork *work = arena_new(build->arena, NativeWork);
    work->target = path;
    return wait_for(build, start(build, work, &object), cancel);
}

void *native_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

void native_unload(void *library) {
    if (library != NULL) dlclose(library);
}
