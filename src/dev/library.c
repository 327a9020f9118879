// SPDX-License-Identifier: Apache-2.0
//
// Opening drivers' libraries (library.h).
#define _GNU_SOURCE
#include "dev/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Whether there is no such file, rather than one that cannot be loaded.
static bool is_absent(const char *error, const char *file) {
    return strncmp(error, file, strlen(file)) == 0 && strstr(error, "No such file");
}

LibraryEnd library_open(const char *variable, const char *const *files,
                        const LibraryCall *calls, size_t count, void *table,
                        char why_out[DEVICE_WHY]) {
    const char *chosen = getenv(variable), *const only[] = {chosen, NULL};
    bool is_chosen = chosen != NULL && chosen[0] != '\0';
    void *library = NULL;
    if (is_chosen) files = only;
    for (; *files != NULL; files++) {
        library = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) break;
        const char *error = dlerror();
        if (!is_chosen && is_absent(error, *files)) continue;
        snprintf(why_out, DEVICE_WHY, "%s%s cannot be loaded: %s", is_chosen ? "$" : "",
                 is_chosen ? variable : *files, error);
        return LIBRARY_BROKEN;
    }
    if (library == NULL) return LIBRARY_NONE;
    for (size_t i = 0; i < count; i++) {
        void *call = dlsym(library, calls[i].name);
        if (call == NULL) {
            snprintf(why_out, DEVICE_WHY,
                     "%s has no %s: it is too old, or not what "
                     "its name says",
                     *files, calls[i].name);
            return LIBRARY_BROKEN;
        }
        memcpy((char *)table + calls[i].offset, &call, sizeof call);
    }
    return LIBRARY_OPEN;
}
