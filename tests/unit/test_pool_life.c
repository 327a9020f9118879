// SPDX-License-Identifier: Apache-2.0
//
// The life of a worker pool: when threads start and end, what they inherit, where they
// run, forks, threads refused by the system, memory refused.
#define _GNU_SOURCE
#include "rt/pool.h"

#include <dirent.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "base/thread.h"
#include "test.h"

// ThreadSanitizer cannot follow threads into a child; both want more address space than
// test_refusal grants.
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
enum { CAN_FORK = 0, CAN_REFUSE = 0, OTHER_THREADS = 1 };
#elif defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { CAN_FORK = 1, CAN_REFUSE = 0, OTHER_THREADS = 0 };
#else
enum { CAN_FORK = 1, CAN_REFUSE = 1, OTHER_THREADS = 0 };
#endif

enum { THREADS = 3 };

static int count_threads(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) return -1;
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

// A thread joined may be seen for a moment yet.
static bool comes_to(int count) {
    for (int tries = 0; tries < 5000 && count_threads() != count; tries++) usleep(1000);
    return count_threads() == count;
}

static void *end_at_once(void *arg) {
    return arg;
}

static void test_threads(void) {
    Mem mem = {0};
    pthread_t first; // the sanitizer's own comes with it
    CHECK(thread_start(&first, end_at_once, NULL) && pthread_join(first, NULL) == 0);
    int before = OTHER_THREADS + 1;
    CHECK(comes_to(before));
    RtPool *pool = rt_pool_new(&mem, &(RtPoolOptions){.threads = THREADS});
    CHECK(count_threads() == before);
    for (int round = 0; round < 3; round++) {
        rt_pool_enter(pool);
        CHECK(count_threads() == before + THREADS - 1);
        rt_pool_leave(pool);
    }
    rt_pool_free(pool);
    CHECK(comes_to(before) && mem.used == 0);
    rt_pool_free(rt_pool_new(&mem, &(RtPoolOptions){.threads = THREADS})); // unused
    rt_pool_free(NULL);
    pool = rt_pool_new(&mem, &(RtPoolOptions){.threads = 0});
    CHECK(rt_pool_threads(pool) == thread_cores() || thread_cores() > RT_THREADS_MAX);
    rt_pool_free(pool);
    pool = rt_pool_new(&mem, &(RtPoolOptions){.threads = 4000000000u});
    CHECK(pool != NULL && rt_pool_threads(pool) == RT_THREADS_MAX);
    rt_pool_free(pool);
}

static void test_memory(void) {
    Mem mem = {.fail_at = 1};
    CHECK(rt_pool_new(&mem, &(RtPoolOptions){.threads = 2}) == NULL && mem.used == 0);
    RtPool *pool = rt_pool_new(&mem, &(RtPoolOptions){.threads = 2});
    CHECK(pool != NULL);
    mem.limit = mem.used; // nothing more is allocated
    RtWorker *self = rt_pool_enter(pool);
    CHECK(self != NULL && mem.calls == 2);
    rt_pool_leave(pool);
    rt_pool_free(pool);
    CHECK(mem.used == 0);
}

// ---- what bodies find ---------------------------------------------------------------

typedef struct Survey {
    int expected; // workers that must take part before anybody goes on
    atomic_int present, ran[RT_THREADS_MAX];
    atomic_int wrong_rounding, flushing, unblocked, cores[THREADS];
} Survey;

static float volatile tiny = 1e-38f, one = 1;

static int32_t survey(void *env, RtWorker *self, int64_t begin, int64_t end,
                      int64_t *failed_out) {
    Survey *s = env;
    (void)begin, (void)end, (void)failed_out;
    unsigned number = rt_worker_number(self);
    atomic_fetch_add(&s->ran[number], 1);
    atomic_fetch_add(&s->present, 1);
    while (atomic_load(&s->present) < s->expected) sched_yield();
    if (one + 1e-30f != 1) atomic_fetch_add(&s->wrong_rounding, 1);
    if (tiny / 16 == 0) atomic_fetch_add(&s->flushing, 1);
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (number != 0 &&
        !(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGPROF)))
        atomic_fetch_add(&s->unblocked, 1);
    cpu_set_t set;
    if (number < THREADS && sched_getaffinity(0, sizeof set, &set) == 0)
        atomic_store(&s->cores[number], CPU_COUNT(&set));
    return 0;
}

static bool run_survey(RtWorker *self, Survey *s) {
    RtLoop loop = {.count = s->expected, .grain = 1, .body = survey, .env = s};
    return rt_for(self, &loop) == RT_DONE;
}

static void test_environment(void) {
    Mem mem = {0};
    RtPool *pool = rt_pool_new(&mem, &(RtPoolOptions){.threads = THREADS});
    fesetround(FE_UPWARD);
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040); // flush to zero, denormals are zero
#endif
    for (int round = 0; round < 20; round++) {
        Survey s = {.expected = THREADS};
        RtWorker *self = rt_pool_enter(pool);
        CHECK(run_survey(self, &s));
        rt_pool_leave(pool);
        CHECK(atomic_load(&s.wrong_rounding) == 0 && atomic_load(&s.flushing) == 0);
        CHECK(atomic_load(&s.unblocked) == 0);
        for (int i = 0; i < THREADS; i++) CHECK(atomic_load(&s.ran[i]) == 1);
        CHECK(fegetround() == FE_UPWARD && one + 1e-30f > 1);
#ifdef __x86_64__
        CHECK((_mm_getcsr() & 0x8040) == 0x8040);
#endif
    }
    fesetenv(FE_DFL_ENV);
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    CHECK(!sigismember(&blocked, SIGINT));
    rt_pool_free(pool);
}

static void test_pinning(void) {
    Mem mem = {0};
    cpu_set_t before, after;
    CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
    RtPool *pool = rt_pool_new(&mem, &(RtPoolOptions){.threads = THREADS, .pin = true});
    for (int round = 0; round < 2; round++) {
        Survey s = {.expected = THREADS};
        RtWorker *self = rt_pool_enter(pool);
        CHECK(run_survey(self, &s));
        rt_pool_leave(pool);
        for (int i = 0; i < THREADS; i++) CHECK(atomic_load(&s.cores[i]) == 1);
        CHECK(sched_getaffinity(0, sizeof after, &after) == 0);
        CHECK(CPU_EQUAL(&before, &after));
    }
    rt_pool_free(pool);
}

// The core that worker 0 has in a pool that begins with that one.
static cpu_set_t core_of(unsigned first) {
    Mem mem = {0};
    cpu_set_t core;
    RtPool *pool =
        rt_pool_new(&mem, &(RtPoolOptions){.threads = 1, .pin = true, .first = first});
    rt_pool_enter(pool);
    CHECK(sched_getaffinity(0, sizeof core, &core) == 0);
    rt_pool_leave(pool);
    rt_pool_free(pool);
    return core;
}

// Pools beside each other have cores of their own, as long as there are any.
static void test_pinning_beside(void) {
    cpu_set_t all, first = core_of(0), second = core_of(1);
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    bool is_alone = CPU_COUNT(&all) < 2;
    CHECK(CPU_COUNT(&first) == 1 && CPU_COUNT(&second) == 1);
    CHECK(!CPU_EQUAL(&first, &second) || is_alone);
    second = core_of((unsigned)CPU_COUNT(&all));
    CHECK(CPU_EQUAL(&first, &second));
}

// ---- forks and refusals -------------------------------------------------------------

// Whether use(pool) holds in a child process.
static bool holds_in_child(bool (*use)(RtPool *pool), RtPool *pool) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(20); // a child that hangs is a failure
        bool holds = use(pool);
        rt_pool_free(pool);
        _exit(holds ? 0 : 1);
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static bool do_nothing(RtPool *pool) {
    (void)pool;
    return true;
}

static bool use_all(RtPool *pool) {
    Survey s = {.expected = THREADS};
    bool is_right = run_survey(rt_pool_enter(pool), &s);
    rt_pool_leave(pool);
    return is_right;
}

static void test_fork(void) {
    Mem mem = {0};
    RtPool *pool = rt_pool_new(&mem, &(RtPoolOptions){.threads = THREADS});
    CHECK(use_all(pool));
    usleep(1000); // the others now sleep
    CHECK(holds_in_child(do_nothing, pool));
    CHECK(holds_in_child(use_all, pool));
    CHECK(use_all(pool));
    rt_pool_free(pool);
}

// With room for a few stacks only, the pool makes do with those.
static bool starve(RtPool *pool) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld", &pages) != 1) return false;
    fclose(file);
    rlim_t room = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + (30 << 20);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){room, room}) != 0) return false;
    int before = count_threads();
    RtWorker *self = rt_pool_enter(pool);
    int started = count_threads() - before;
    Survey s = {.expected = 1 + started};
    bool is_right = started < 63 && run_survey(self, &s);
    Survey more = {.expected = 1};
    RtLoop loop = {.count = 1000, .grain = 1, .body = survey, .env = &more};
    is_right &= rt_for(self, &loop) == RT_DONE && atomic_load(&more.present) == 1000;
    rt_pool_leave(pool);
    return is_right;
}

static void test_refusal(void) {
    Mem mem = {0};
    RtPool *pool = rt_pool_new(&mem, &(RtPoolOptions){.threads = 64});
    CHECK(holds_in_child(starve, pool));
    rt_pool_free(pool);
}

int main(void) {
    test_threads();
    test_memory();
    test_environment();
    test_pinning();
    test_pinning_beside();
    if (CAN_FORK) test_fork();
    if (CAN_REFUSE) test_refusal();
    return test_done();
}
