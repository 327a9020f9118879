// SPDX-License-Identifier: Apache-2.0
//
// Stands in for <pthread.h> in the code under the model checker.
#ifndef WEFT_MODEL_PTHREAD_H
#define WEFT_MODEL_PTHREAD_H

#include <errno.h>
#include <sys/types.h> // the real types, before their names are taken
#include <time.h>

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
#define pthread_mutex_lock(mutex)              model_lock((mutex), MODEL_HERE)
#define pthread_mutex_unlock(mutex)            model_unlock(mutex)
#define pthread_cond_wait(cond, mutex)         model_wait((cond), (mutex), MODEL_HERE)
#define pthread_cond_signal(cond)              model_signal(cond)
#define pthread_condattr_t                     char
#define pthread_mutex_init(mutex, kind)        (*(mutex) = (ModelMutex){0}, 0)
#define pthread_mutex_destroy(mutex)           ((void)(mutex))
#define pthread_cond_init(cond, kind)          (*(cond) = (ModelCond){0}, 0)
#define pthread_cond_destroy(cond)             ((void)(cond))
#define pthread_condattr_init(kind)            (*(kind) = 0, 0)
#define pthread_condattr_setclock(kind, clock) 0
#define pthread_condattr_destroy(kind)         ((void)(kind))
// It is late at once, but others may have done anything before it looks.
#define pthread_cond_timedwait(cond, mutex, until)                                     \
    ((void)(until), model_unlock(mutex), model_lock((mutex), MODEL_HERE), ETIMEDOUT)
#define clock_gettime(clock, at)     ((void)(*(at) = (struct timespec){0}))
#define pthread_join(thread, result) model_join((thread), MODEL_HERE)

#endif
