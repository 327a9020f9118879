// SPDX-License-Identifier: Apache-2.0
//
// Files being written: under another name beside their place, and renamed once all is
// there. What is no regular file is written to directly.
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"

bool api_draft_write(ApiDraft *draft, const char *bytes, size_t len) {
    while (len > 0) {
        if (draft->code != 0) return false;
        ssize_t put = write(draft->file, bytes, len);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            draft->code = errno;
            return false;
        }
        bytes += put;
        len -= (size_t)put;
    }
    return true;
}

// Where links lead to in the end, be there a file or not; NULL if they go in circles.
static const char *follow_links(const char *path, Arena *arena) {
    enum { MOST_LINKS = 40 };
    for (int i = 0; i < MOST_LINKS; i++) {
        char *link = arena_alloc(arena, PATH_MAX);
        ssize_t len = readlink(path, link, PATH_MAX - 1);
        if (len < 0) return path;
        link[len] = '\0';
        const char *slash = strrchr(path, '/');
        size_t folder =
            link[0] == '/' || slash == NULL ? 0 : (size_t)(slash - path) + 1;
        char *joined = arena_alloc(arena, folder + (size_t)len + 1);
        memcpy(joined, path, folder);
        memcpy(joined + folder, link, (size_t)len + 1);
        path = joined;
    }
    return NULL;
}

enum { DRAFT_NAME = 64 };

// Opens a new file beside the target, with the mode of what it will replace.
static void open_draft(ApiDraft *draft, const struct stat *old, Arena *arena) {
    enum { TRIES = 100 };
    const char *slash = strrchr(draft->target, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - draft->target) + 1;
    draft->name = arena_alloc(arena, folder + DRAFT_NAME);
    memcpy(draft->name, draft->target, folder);
    for (int i = 0; i < TRIES; i++) {
        snprintf(draft->name + folder, DRAFT_NAME, ".weft-%ld-%d.part", (long)getpid(),
                 i);
        draft->file = open(draft->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (draft->file >= 0 || errno != EEXIST) break;
    }
    if (draft->file < 0) draft->code = errno;
    else if (old != NULL && fchmod(draft->file, old->st_mode & 0777) != 0)
        draft->code = errno;
}

void api_draft_open(ApiDraft *draft, const char *path, Arena *arena) {
    struct stat old;
    *draft = (ApiDraft){.path = path, .file = -1};
    bool is_old = stat(draft->path, &old) == 0;
    draft->target = follow_links(draft->path, arena);
    if (is_old && !S_ISREG(old.st_mode)) {
        draft->file = open(draft->path, O_WRONLY | O_CLOEXEC);
        if (draft->file < 0) draft->code = errno;
    } else if (is_old && access(draft->path, W_OK) != 0) {
        draft->code = errno;
    } else if (draft->target == NULL) {
        draft->code = ELOOP;
    } else {
        open_draft(draft, is_old ? &old : NULL, arena);
    }
}

void api_draft_close(ApiDraft *draft) {
    if (draft->file < 0) return;
    if (close(draft->file) != 0 && draft->code == 0) draft->code = errno;
    draft->file = -1;
    if (draft->name == NULL) return;
    if (draft->code == 0 && rename(draft->name, draft->target) != 0)
        draft->code = errno;
    if (draft->code != 0) unlink(draft->name);
}

WeftStatus api_draft_status(WeftContext *context, const ApiDraft *draft) {
    if (draft->code == 0) return WEFT_STATUS_OK;
    if (draft->code == ECANCELED) return WEFT_STATUS_CANCELLED;
    return api_fail(context, WEFT_STATUS_IO, "cannot write `%s`: %s", draft->path,
                    api_describe_errno(&context->scratch, draft->code));
}
