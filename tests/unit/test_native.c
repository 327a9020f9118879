// SPDX-License-Identifier: Apache-2.0
//
// Building native code, and the cache of it: hits, damage, a full or missing folder,
// processes at the same time, compilers that fail, hang or are not there.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "dev/cache.h"
#include "dev/native.h"
#include "test.h"
#include "weft.h"

static char home[] = "/tmp/weft-native-XXXXXX";
static Mem mem;
static Arena arena;

static const char *path_of(const char *name) {
    StrBuf text = strbuf(&arena);
    strbuf_printf(&text, "%s/%s", home, name);
    return str_terminated(&arena, strbuf_done(&text));
}

static Str source_of(int number) {
    StrBuf text = strbuf(&arena);
    strbuf_printf(&text, "int answer(void) { return %d; }\n", number);
    return strbuf_done(&text);
}

typedef struct Outcome {
    Status status;
    bool was_cached;
    int answer;
    Str why;
} Outcome;

static Outcome build_with(NativeBuild build, const atomic_bool *cancel, Str source) {
    NativeCompiler compiler;
    Outcome outcome = {.status = STATUS_IO};
    if (!native_find(&arena, &compiler, &outcome.why)) return outcome;
    if (build.compiler == NULL) build.compiler = &compiler;
    build.source = source;
    build.arena = &arena;
    outcome.status = native_build(&build, cancel);
    outcome.was_cached = build.was_cached;
    outcome.why = build.why;
    if (outcome.status != STATUS_OK) return outcome;
    int (*answer)(void) =
        (int (*)(void))(uintptr_t)native_symbol(build.library, "answer");
    CHECK(answer != NULL);
    outcome.answer = answer == NULL ? -1 : answer();
    CHECK(native_symbol(build.library, "no_such_name") == NULL);
    native_unload(build.library);
    return outcome;
}

static Outcome build(Str source) {
    return build_with((NativeBuild){0}, NULL, source);
}

static uint32_t entry_count(void) {
    CacheEntries entries;
    cache_list(&arena, cache_folder(&arena), &entries);
    return entries.len;
}

static void write_script(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    CHECK(write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
}

static bool mentions(Str text, const char *word) {
    return memmem(text.ptr, text.len, word, strlen(word)) != NULL;
}

// ---- the cache ----------------------------------------------------------------------

static void test_names(void) {
    char one[CACHE_NAME + 1], other[CACHE_NAME + 1];
    cache_name((Str[]){STR("ab"), STR("c")}, 2, one);
    cache_name((Str[]){STR("a"), STR("bc")}, 2, other);
    CHECK(strcmp(one, other) != 0);
}

static void test_hits(void) {
    Outcome first = build(source_of(1)), again = build(source_of(1));
    CHECK(first.status == STATUS_OK && !first.was_cached && first.answer == 1);
    CHECK(again.status == STATUS_OK && again.was_cached && again.answer == 1);
    Outcome other = build(source_of(2));
    CHECK(other.status == STATUS_OK && !other.was_cached && other.answer == 2);
    CHECK(entry_count() == 2);
    Outcome apart = build_with((NativeBuild){.no_cache = true}, NULL, source_of(3));
    CHECK(apart.status == STATUS_OK && apart.answer == 3);
    CHECK(entry_count() == 2);
}

// Every entry is cut short or has a byte changed; each is then made anew.
static void test_damage(void) {
    for (int kind = 0; kind < 3; kind++) {
        CacheEntries entries;
        const char *folder = cache_folder(&arena);
        cache_list(&arena, folder, &entries);
        for (uint32_t i = 0; i < entries.len; i++) {
            const char *path = cache_path(&arena, folder, entries.data[i].name);
            int file = open(path, O_RDWR);
            if (kind == 0)
                CHECK(ftruncate(file, (off_t)entries.data[i].bytes / 2) == 0);
            if (kind == 1) CHECK(ftruncate(file, 0) == 0);
            if (kind == 2) CHECK(pwrite(file, "!", 1, 100) == 1);
            close(file);
        }
        Outcome made = build(source_of(1)), again = build(source_of(1));
        CHECK(made.status == STATUS_OK && !made.was_cached && made.answer == 1);
        CHECK(again.was_cached && again.answer == 1);
    }
}

static void test_processes(void) {
    enum { PROCESSES = 6 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        Outcome outcome = build(source_of(77));
        _exit(outcome.status == STATUS_OK && outcome.answer == 77 ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    CHECK(build(source_of(77)).was_cached);
}

static void test_clear(void) {
    CHECK(entry_count() > 0);
    CHECK(cache_clear(&arena, cache_folder(&arena)) > 0);
    CHECK(entry_count() == 0);
}

// What was made by another version, for another CPU or by another compiler is not
// taken.
static void test_identity(void) {
    NativeCompiler compiler, other;
    Str why;
    CHECK(native_find(&arena, &compiler, &why));
    CHECK(strstr(compiler.identity, weft_version()) == compiler.identity);
    CHECK(strstr(compiler.identity, compiler.path) != NULL);
#ifdef __x86_64__
    char features[24]; // those of the first kind, which all processors have
    unsigned a = 0, b = 0, c = 0, d = 0;
    CHECK(__get_cpuid(1, &a, &b, &c, &d));
    snprintf(features, sizeof features, "%08x%08x", c, d);
    CHECK(strstr(compiler.identity, features) != NULL);
#endif
    CHECK(build(source_of(8)).status == STATUS_OK && build(source_of(8)).was_cached);
    StrBuf text = strbuf(&arena);
    strbuf_printf(&text, "%s0", compiler.identity);
    other = compiler;
    other.identity = str_terminated(&arena, strbuf_done(&text));
    Outcome outcome = build_with((NativeBuild){.compiler = &other}, NULL, source_of(8));
    CHECK(outcome.status == STATUS_OK && !outcome.was_cached && outcome.answer == 8);
}

// Several at once; one is given up.
static void test_polling(void) {
    enum { BUILDS = 4 };
    NativeCompiler compiler;
    NativeBuild builds[BUILDS] = {{0}};
    NativeState states[BUILDS];
    Str why;
    CHECK(native_find(&arena, &compiler, &why));
    uint32_t before = entry_count();
    for (int i = 0; i < BUILDS; i++) {
        builds[i] = (NativeBuild){
            .compiler = &compiler, .source = source_of(100 + i), .arena = &arena};
        states[i] = native_start(&builds[i]);
        CHECK(states[i] == NATIVE_BUILDS);
    }
    native_stop(&builds[0]);
    for (int i = 1; i < BUILDS; i++) {
        while (states[i] == NATIVE_BUILDS) {
            usleep(1000);
            states[i] = native_poll(&builds[i]);
        }
        CHECK(states[i] == NATIVE_READY);
        native_unload(builds[i].library);
    }
    CHECK(entry_count() == before + BUILDS - 1);
}

// Somebody else in this process takes the ends of all processes.
static void test_ignored_children(void) {
    signal(SIGCHLD, SIG_IGN);
    Outcome outcome = build(source_of(9));
    CHECK(outcome.status == STATUS_OK && outcome.answer == 9);
    CHECK(build(STR("int answer(void) { return x; }\n")).status == STATUS_IO);
    signal(SIGCHLD, SIG_DFL);
}

static void test_symbol(void) {
    Outcome outcome =
        build_with((NativeBuild){.symbol = "answers"}, NULL, source_of(10));
    CHECK(outcome.status == STATUS_IO && mentions(outcome.why, "lacks answers"));
    CHECK(!build(source_of(10)).was_cached && build(source_of(10)).was_cached);
    outcome = build_with((NativeBuild){.symbol = "answer"}, NULL, source_of(10));
    CHECK(outcome.status == STATUS_OK && outcome.was_cached);
}

// A file where the folder should be: no cache, and yet it works.
static void test_no_folder(void) {
    const char *file = path_of("file");
    write_script(file, "");
    setenv("XDG_CACHE_HOME", file, 1);
    CHECK(cache_folder(&arena) == NULL);
    Outcome outcome = build(source_of(4));
    CHECK(outcome.status == STATUS_OK && !outcome.was_cached && outcome.answer == 4);
    setenv("XDG_CACHE_HOME", home, 1);
}

// ---- compilers ----------------------------------------------------------------------

static void test_errors_in_source(void) {
    Outcome outcome = build(STR("int answer(void) { return x; }\n"));
    CHECK(outcome.status == STATUS_IO && mentions(outcome.why, ".log"));
    CHECK(mentions(outcome.why, home));
}

static void test_bad_compilers(void) {
    const char *script = path_of("compiler");
    setenv("WEFT_CC", script, 1);
    Outcome outcome = build(source_of(5));
    CHECK(outcome.status == STATUS_IO && mentions(outcome.why, "$WEFT_CC"));
    write_script(script, "#!/bin/sh\nexit 1\n");
    outcome = build(source_of(5));
    CHECK(outcome.status == STATUS_IO && mentions(outcome.why, "failed"));
    write_script(script, "#!/bin/sh\nexit 0\n"); // says it is done, leaves no file
    outcome = build(source_of(5));
    CHECK(outcome.status == STATUS_IO);
    write_script(script, "not a program at all");
    outcome = build(source_of(5));
    CHECK(outcome.status == STATUS_IO);
    write_script(script, "#!/bin/sh\nsleep 100 & sleep 100\n");
    setenv("WEFT_CC_SECONDS", "1", 1);
    outcome = build(source_of(5));
    CHECK(outcome.status == STATUS_IO && mentions(outcome.why, "1 seconds"));
    unsetenv("WEFT_CC_SECONDS");
    atomic_bool cancel = true;
    outcome = build_with((NativeBuild){0}, &cancel, source_of(5));
    CHECK(outcome.status == STATUS_CANCELLED);
    CHECK(entry_count() == 0);
    unsetenv("WEFT_CC");
}

static void test_no_compiler(void) {
    char *path = strdup(getenv("PATH"));
    setenv("PATH", home, 1);
    Outcome outcome = build(source_of(6));
    CHECK(outcome.status == STATUS_IO && mentions(outcome.why, "no C compiler"));
    setenv("PATH", path, 1);
    free(path);
}

int main(void) {
    arena_init(&arena, &mem);
    unsetenv("WEFT_CC");
    if (mkdtemp(home) == NULL) return 1;
    setenv("XDG_CACHE_HOME", home, 1);
    test_names();
    test_hits();
    test_damage();
    test_processes();
    test_identity();
    test_polling();
    test_ignored_children();
    test_symbol();
    test_clear();
    test_no_folder();
    test_errors_in_source();
    test_bad_compilers();
    test_no_compiler();
    arena_free(&arena);
    CHECK(mem.used == 0);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", home);
    CHECK(system(command) == 0);
    return test_done();
}
