// SPDX-License-Identifier: Apache-2.0
//
// What a context runs kernels with: threads and their private memory, made when first
// needed and kept until the context is freed.
#include "api/engine.h"

#include <string.h>

static void free_workers(WeftContext *context, ApiWorkers *workers) {
    unsigned count = rt_pool_threads(workers->pool);
    for (unsigned i = 0; i < count && workers->memory != NULL; i++)
        rt_private_free(&workers->memory[i]);
    rt_private_free(&workers->root);
    mem_free(&context->mem, workers->memory, count * sizeof *workers->memory);
    mem_free(&context->mem, workers->envs, count * sizeof *workers->envs);
    rt_pool_free(workers->pool);
    mem_free(&context->mem, workers, sizeof *workers);
}

static bool make_memory(WeftContext *context, ApiWorkers *workers) {
    unsigned count = rt_pool_threads(workers->pool);
    workers->memory = mem_try_alloc(&context->mem, count * sizeof *workers->memory);
    workers->envs = mem_try_alloc(&context->mem, count * sizeof *workers->envs);
    if (workers->memory != NULL)
        memset(workers->memory, 0, count * sizeof *workers->memory);
    if (workers->memory == NULL || workers->envs == NULL) return false;
    memset(workers->envs, 0, count * sizeof *workers->envs);
    for (unsigned i = 0; i < count; i++)
        if (!rt_private_new(&context->mem, &workers->memory[i])) return false;
    return rt_private_new(&context->mem, &workers->root);
}

ApiWorkers *api_workers(WeftContext *context) {
    if (context->workers != NULL) return context->workers;
    ApiWorkers *workers = mem_try_alloc(&context->mem, sizeof *workers);
    if (workers == NULL) return NULL;
    memset(workers, 0, sizeof *workers);
    RtPoolOptions options = {.threads = context->options.threads};
    workers->pool = rt_pool_new(&context->mem, &options);
    if (workers->pool == NULL) {
        mem_free(&context->mem, workers, sizeof *workers);
        return NULL;
    }
    if (!make_memory(context, workers)) {
        free_workers(context, workers);
        return NULL;
    }
    context->workers = workers;
    return workers;
}

void api_workers_free(WeftContext *context) {
    if (context->workers != NULL) free_workers(context, context->workers);
    context->workers = NULL;
}
