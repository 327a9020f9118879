// SPDX-License-Identifier: Apache-2.0
//
// What control groups grant (quota.c), as files of both versions say it, and nonsense.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "test.h"

static char root[] = "/tmp/weft-quota-XXXXXX";

static void run(const char *format, const char *text) {
    char command[8192];
    snprintf(command, sizeof command, format, root, text);
    CHECK(system(command) == 0);
}

static void put(const char *path, const char *text) {
    char name[8192];
    snprintf(name, sizeof name, "%s/%s", root, path);
    run("mkdir -p \"$(dirname %s/%s)\"", path);
    FILE *file = fopen(name, "w");
    CHECK(file != NULL && fputs(text, file) >= 0);
    if (file != NULL) fclose(file);
}

static bool is(double cores) {
    double found = thread_quota(root);
    run("rm -rf %s/sys %.0s", "");
    if (found != cores) printf("%g, expected %g\n", found, cores);
    return found == cores;
}

static void test_version2(void) {
    put("proc/self/cgroup", "0::/user/one\n");
    CHECK(is(0));
    put("sys/fs/cgroup/user/one/cpu.max", "max 100000\n");
    CHECK(is(0));
    put("sys/fs/cgroup/user/one/cpu.max", "250000 100000\n");
    CHECK(is(2.5));
    put("sys/fs/cgroup/user/one/cpu.max",
        "800000 100000\n"); // the one above grants less
    put("sys/fs/cgroup/user/cpu.max", "50000 100000\n");
    CHECK(is(0.5));
    put("sys/fs/cgroup/cpu.max", "300000 100000\n"); // a container sees itself as root
    CHECK(is(3));
    put("sys/fs/cgroup/unified/user/one/cpu.max", "100000 100000\n");
    CHECK(is(1));
    put("sys/fs/cgroup/user/other/cpu.max", "100000 100000\n"); // not this process's
    CHECK(is(0));
}

static void test_version1(void) {
    put("proc/self/cgroup", "5:memory:/a\n4:cpuacct,cpu:/a/b\n3:cpuset:/c\n0::/\n");
    put("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
    CHECK(is(0));
    put("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "150000\n");
    put("sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "50000\n");
    CHECK(is(3));
    put("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "100\n"); // cpuset is not cpu
    put("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100\n");
    CHECK(is(0));
}

static void test_nonsense(void) {
    static const char *const groups[] = {
        "", "\n", "0", "0:", "0::", "0::x\n", "::/\n", "4:cpu\n", ":cpu:/../../..\n"};
    static const char *const limits[] = {"",    "x",        "max",     "-1 -1",
                                         "0 0", "1e999 1",  "5",       "5 0",
                                         "nan", "\377\1\2", "inf 100", "100 inf"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        put("proc/self/cgroup", groups[i]);
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            put("sys/fs/cgroup/cpu.max", limits[k]);
            put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", limits[k]);
            double cores = thread_quota(root);
            CHECK(cores >= 0 && !(cores > 0 && cores < 1e-12));
        }
    }
    char *path = malloc(9000); // longer than any there can be
    memset(path, 'x', 9000);
    memcpy(path, "0::/", 4);
    path[8999] = '\0';
    put("proc/self/cgroup", path);
    free(path);
    CHECK(is(0));
    run("rm -rf %s/proc %.0s", "");
    CHECK(is(0));
    CHECK(thread_cores() >= 1);
}

int main(void) {
    if (mkdtemp(root) == NULL) return 1;
    test_version2();
    test_version1();
    test_nonsense();
    run("rm -rf %s %.0s", "");
    return test_done();
}
