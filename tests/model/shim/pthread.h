// SPDX-License-Identifier: Apache-2.0
//
// Stands in for <pthread.h> in the code under the model checker.
#ifndef WEFT_MODEL_PTHREAD_H
#define WEFT_MODEL_PTHREAD_H

#include <sys/types.h> // the real types, before their names are taken

#include "explore.h"

#define pthread_t       int
#define pthread_mutex_t ModelMutex
#define pthread_cond_t  ModelCond
#undef PTHREAD_MUTEX_INITIALIZER
#undef PTHREAD_COND_INITIALIZER
#define PTHREAD_MUTEX_INITIALIZER                                                      \
    { 0 }
#define PTHREAD_COND_INITIALIZER                                                       \
    { 0 }
#define pthread_mutex_lock(mutex)      model_lock((mutex), MODEL_HERE)
#define pthread_mutex_unlock(mutex)    model_unlock(mutex)
#define pthread_cond_wait(cond, mutex) model_wait((cond), (mutex), MODEL_HERE)
#define pthread_cond_signal(cond)      model_signal(cond)
#define pthread_join(thread, result)   model_join((thread), MODEL_HERE)

#endif
