// SPDX-License-Identifier: Apache-2.0
//
// The cache of compiled code, for people to look at and to clear.
#include "dev/cache.h"

#include "api/api.h"

typedef struct CacheCall {
    void (*entry)(void *data, const WeftCached *cached);
    void *data;
    const char **folder_out;
    size_t *removed_out;
} CacheCall;

static WeftStatus find_folder(WeftContext *context, const char **folder_out) {
    *folder_out = cache_folder(&context->scratch);
    if (*folder_out != NULL) return WEFT_STATUS_OK;
    return api_fail(context, WEFT_STATUS_IO,
                    "there is no folder for compiled code: neither $XDG_CACHE_HOME nor "
                    "~/.cache can be written to");
}

static WeftStatus list(WeftContext *context, void *data) {
    const CacheCall *call = data;
    const char *folder;
    WeftStatus status = find_folder(context, &folder);
    if (status != WEFT_STATUS_OK) return status;
    CacheEntries entries;
    cache_list(&context->scratch, folder, &entries);
    for (uint32_t i = 0; i < entries.len && call->entry != NULL; i++) {
        const CacheEntry *entry = &entries.data[i];
        WeftCached cached = {entry->name, entry->bytes, entry->used};
        call->entry(call->data, &cached);
    }
    *call->folder_out = folder;
    return WEFT_STATUS_OK;
}

static WeftStatus clear(WeftContext *context, void *data) {
    const CacheCall *call = data;
    const char *folder;
    WeftStatus status = find_folder(context, &folder);
    if (status != WEFT_STATUS_OK) return status;
    *call->removed_out = cache_clear(&context->scratch, folder);
    return WEFT_STATUS_OK;
}

WeftStatus weft_cache_list(WeftContext *context,
                           void (*entry)(void *data, const WeftCached *cached),
                           void *data, const char **folder_out) {
    if (context == NULL || folder_out == NULL) return WEFT_STATUS_USAGE;
    CacheCall call = {.entry = entry, .data = data, .folder_out = folder_out};
    return api_guard(context, API_KEEPS, list, &call);
}

WeftStatus weft_cache_clear(WeftContext *context, size_t *removed_out) {
    if (context == NULL || removed_out == NULL) return WEFT_STATUS_USAGE;
    CacheCall call = {.removed_out = removed_out};
    return api_guard(context, API_KEEPS, clear, &call);
}
