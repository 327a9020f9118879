// SPDX-License-Identifier: Apache-2.0
//
// Test cases in text files. A file holds programs, each followed by what to do with it
// and what must come out:
//
//   entry main(x: i64) -> (i64) { -> x }
//   ==== print
//   the expected text
//   ==== program
//   the next program, with its own sections
#ifndef WEFT_TESTS_CASES_H
#define WEFT_TESTS_CASES_H

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/cx.h"
#include "test.h"

typedef struct Case {
    Cx *cx; // fresh for each section
    Arena *arena;
    const char *file;
    Str program;
    Str section;  // such as "print"
    Str expected; // without blank lines around it
} Case;

static inline Str case_trim(Str s) {
    while (s.len > 0 && strchr(" \n", s.ptr[0]) != NULL)
        s = (Str){s.ptr + 1, s.len - 1};
    while (s.len > 0 && strchr(" \n", s.ptr[s.len - 1]) != NULL) s.len--;
    return s;
}

static inline void case_check(const Case *c, bool ok, Str found) {
    CHECK(ok);
    if (ok) return;
    Str start = case_trim(c->program);
    if (start.len > 200) start.len = 200;
    printf("in %s, section %.*s of\n%.*s\nexpected:\n%.*s\nfound:\n%.*s\n\n", c->file,
           STR_ARG(c->section), STR_ARG(start), STR_ARG(c->expected), STR_ARG(found));
}

static inline void case_run_text(Mem *mem, const char *file, Str text,
                                 void (*run)(const Case *c)) {
    Case c = {.file = file};
    Str section = STR("program");
    size_t start = 0;
    for (size_t at = 0; at <= text.len; at++) {
        bool line_start = at == text.len || at == 0 || text.ptr[at - 1] == '\n';
        bool marker =
            line_start && text.len - at >= 5 && memcmp(text.ptr + at, "==== ", 5) == 0;
        if (!marker && at != text.len) continue;
        Str body = {text.ptr + start, at - start};
        if (str_eq(section, STR("program"))) {
            c.program = body;
        } else {
            Arena arena;
            Cx cx;
            arena_init(&arena, mem);
            cx_init(&cx, &arena);
            c.cx = &cx;
            c.arena = &arena;
            c.section = section;
            c.expected = case_trim(body);
            run(&c);
            arena_free(&arena);
        }
        if (at == text.len) break;
        size_t end = at;
        while (end < text.len && text.ptr[end] != '\n') end++;
        section = (Str){text.ptr + at + 5, end - at - 5};
        start = at = end;
    }
}

static inline char *case_read_file(const char *path, size_t *size_out) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *text = malloc(1 << 20);
    *size_out = text == NULL ? 0 : fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

// Runs every section of every file in the folder whose name ends in `ending`.
static inline void case_run_folder(Mem *mem, const char *folder, const char *ending,
                                   void (*run)(const Case *c)) {
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    if (dir == NULL) return;
    int files = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t len = strlen(entry->d_name), end = strlen(ending);
        if (len < end || strcmp(entry->d_name + len - end, ending) != 0) continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        size_t size = 0;
        char *text = case_read_file(path, &size);
        CHECK(text != NULL);
        if (text != NULL) case_run_text(mem, entry->d_name, (Str){text, size}, run);
        free(text);
        files++;
    }
    CHECK(files > 0);
    closedir(dir);
}

#endif
