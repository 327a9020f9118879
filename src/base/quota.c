// SPDX-License-Identifier: Apache-2.0
//
// What control groups grant. A group's limit holds for those below it, too, so the
// least on the way up counts. A container may see its own group as the root of the
// tree, and yet be told the path of it in the machine's: what is not there is passed
// over.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

enum { MOST_PATH = 4096 };

static void lower(double *cores, double quota, double period) {
    if (quota <= 0 || period <= 0) return;
    if (*cores == 0 || quota / period < *cores) *cores = quota / period;
}

// The first line of a file; false if there is none.
static bool read_line(const char *folder, const char *name, char line[64]) {
    char path[MOST_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    bool is_read = fgets(line, 64, file) != NULL;
    fclose(file);
    return is_read;
}

// Version 2 has "QUOTA PERIOD" in one file, or "max PERIOD"; version 1 two files, and
// -1.
static void look_at(const char *folder, double *cores) {
    char line[64], *end;
    if (read_line(folder, "cpu.max", line)) {
        double quota = strtod(line, &end);
        if (end != line) lower(cores, quota, strtod(end, NULL));
    }
    if (read_line(folder, "cpu.cfs_quota_us", line)) {
        double quota = strtod(line, NULL);
        if (read_line(folder, "cpu.cfs_period_us", line))
            lower(cores, quota, strtod(line, NULL));
    }
}

// The group of that path in the tree mounted there, and those above it.
static void climb(const char *mount, const char *path, double *cores) {
    char folder[MOST_PATH];
    int length = snprintf(folder, sizeof folder, "%s%s", mount, path);
    if (length < 0 || length >= MOST_PATH) return;
    for (size_t top = strlen(mount); strlen(folder) > top;) {
        look_at(folder, cores);
        *strrchr(folder, '/') = '\0';
    }
    look_at(mount, cores);
}

static bool has_cpu(const char *controllers) {
    for (const char *at = controllers; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strcspn(at, ",:") == 3 && memcmp(at, "cpu", 3) == 0) return true;
    }
    return false;
}

// A line is "NUMBER:CONTROLLERS:PATH"; version 2 is number 0 and names no controllers.
static void read_group(const char *root, char *line, double *cores) {
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    char mount[MOST_PATH];
    if (path == NULL) return;
    *path++ = '\0';
    controllers++;
    path[strcspn(path, "\n")] = '\0';
    if (path[0] != '/') return;
    if (path[1] == '\0') path++; // the mount itself
    if (*controllers == '\0') {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        climb(mount, path, cores);
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/unified", root);
        climb(mount, path, cores);
    } else if (has_cpu(controllers)) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
        climb(mount, path, cores);
    }
}

double thread_quota(const char *root) {
    char name[MOST_PATH], line[MOST_PATH];
    double cores = 0;
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    FILE *file = fopen(name, "re");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL) read_group(root, line, &cores);
    fclose(file);
    return cores;
}
