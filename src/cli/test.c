// SPDX-License-Identifier: Apache-2.0
//
// weft test: finds the programs, runs each in a process of its own, several at a time,
// so that a crash or a hang is one failure, and sums up. The children report through
// pipes: a byte 'p' per test passed, 'f' and a terminated text per failure, 'e' at the
// end.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/testrun.h"

const char help_test[] =
    "Usage: weft test [OPTION...] FILE|FOLDER...\n"
    "\n"
    "Runs the test blocks in programs: in each FILE, and in every .weft and .fut file\n"
    "below each FOLDER that has any.\n"
    "\n"
    "Options:\n"
    "  -j, --jobs N        run N programs at a time (default: one per core)\n"
    "  -l, --limit SECS    give each program this much time (default: 60)\n"
    "  -t, --tolerance X   accept floats within X, relative (default: 0.002)\n"
    CLI_ENGINE_HELP
    "  -h, --help          print this\n"
    "\n"
    "Example:\n"
    "  weft test dot.weft tests/\n"
    "\n"
    "Exit status: 0; 1 if a test failed; 2 for wrong usage.\n";

typedef struct Options {
    int jobs;
    double limit, tolerance;
    WeftOptions context;
} Options;

typedef struct Paths {
    struct Path {
        char *path;
        bool is_named;
    } * data;
    size_t len;
} Paths;

typedef struct Job {
    pid_t child; // 0: free
    int pipe;
    double deadline;
    const char *path;
    char *text; // of the failure being received
    size_t len;
    bool in_text, has_ended;
} Job;

typedef struct Tally {
    size_t passed, failed;
} Tally;

// ---- finding programs ---------------------------------------------------------------

static void add_path(Paths *paths, char *path, bool is_named) {
    paths->data = cli_resize(paths->data, (paths->len + 1) * sizeof *paths->data);
    paths->data[paths->len++] = (struct Path){path, is_named};
}

static bool ends_with(const char *name, const char *end) {
    size_t len = strlen(name), tail = strlen(end);
    return len > tail && strcmp(name + len - tail, end) == 0;
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(((const struct Path *)a)->path, ((const struct Path *)b)->path);
}

static bool complain(const char *path) {
    fprintf(stderr, "weft test: cannot read `%s`: %s\n", path, strerror(errno));
    return false;
}

static bool add_folder(Paths *paths, const char *folder) {
    DIR *open_folder = opendir(folder);
    if (open_folder == NULL) return complain(folder);
    bool is_good = true;
    const char *slash = ends_with(folder, "/") ? "" : "/";
    for (struct dirent *entry; (entry = readdir(open_folder)) != NULL;) {
        struct stat info;
        char *path;
        if (entry->d_name[0] == '.') continue;
        if (asprintf(&path, "%s%s%s", folder, slash, entry->d_name) < 0) continue;
        bool exists = lstat(path, &info) == 0;
        bool is_program = ends_with(path, ".weft") || ends_with(path, ".fut");
        if (exists && S_ISDIR(info.st_mode)) is_good &= add_folder(paths, path);
        if (exists && !S_ISDIR(info.st_mode) && is_program)
            add_path(paths, path, false);
        else free(path);
    }
    closedir(open_folder);
    return is_good;
}

static bool add_argument(Paths *paths, const char *word) {
    struct stat info;
    if (stat(word, &info) != 0) return complain(word);
    bool is_good = true;
    size_t first = paths->len;
    if (!S_ISDIR(info.st_mode)) add_path(paths, strdup(word), true);
    else is_good = add_folder(paths, word);
    if (paths->len > first)
        qsort(paths->data + first, paths->len - first, sizeof *paths->data,
              compare_paths);
    return is_good;
}

// ---- one program, in the child ------------------------------------------------------

static void write_all(int file, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t done = write(file, bytes, len);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) _exit(EXIT_ERROR);
        bytes += done;
        len -= (size_t)done;
    }
}

static void send_result(void *data, const char *text) {
    int file = *(int *)data;
    write_all(file, text == NULL ? "p" : "f", 1);
    if (text != NULL) write_all(file, text, strlen(text) + 1);
}

static void run_child(const struct Path *path, int out, const Options *options) {
    TestReport report = {send_result, &out, options->tolerance, path->is_named,
                         options->context};
    cli_no_progress(); // it is the parent's
    testrun_file(path->path, &report);
    write_all(out, "e", 1);
    _exit(EXIT_FINE); // the parent's buffers are not ours to flush
}

// ---- the parent ---------------------------------------------------------------------

static bool start_job(Job *job, const struct Path *path, const Options *options) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    fflush(stdout);
    fflush(stderr);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL); // none outlives us
        run_child(path, ends[1], options);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return false;
    }
    *job = (Job){.child = child,
                 .pipe = ends[0],
                 .path = path->path,
                 .deadline = cli_clock() + options->limit};
    return true;
}

static void take_byte(Job *job, Tally *tally, char c) {
    if (job->in_text) {
        job->text = cli_resize(job->text, job->len + 1);
        job->text[job->len++] = c;
        if (c != '\0') return;
        cli_clear_progress();
        fputs(job->text, stdout);
        tally->failed++;
        job->in_text = false;
        job->len = 0;
    } else if (c == 'p') {
        tally->passed++;
    } else if (c == 'f') {
        job->in_text = true;
    } else {
        job->has_ended = true;
    }
}

static void end_job(Job *job, Tally *tally, bool is_late, double limit) {
    int status = 0;
    cli_clear_progress();
    if (is_late) kill(job->child, SIGKILL);
    while (waitpid(job->child, &status, 0) < 0 && errno == EINTR) continue;
    if (is_late) {
        printf("FAIL %s\n  not done after %g seconds\n", job->path, limit);
        tally->failed++;
    } else if (!job->has_ended) {
        if (WIFSIGNALED(status))
            printf("FAIL %s\n  crashed: %s\n", job->path, strsignal(WTERMSIG(status)));
        else
            printf("FAIL %s\n  ended early with status %d\n", job->path,
                   WEXITSTATUS(status));
        tally->failed++;
    }
    close(job->pipe);
    free(job->text);
    *job = (Job){0};
}

// Waits for something to happen to the jobs, and takes note of it.
static void attend(Job *jobs, int count, Tally *tally, double limit) {
    struct pollfd *polls = cli_alloc((size_t)count * sizeof *polls);
    Job **polled = cli_alloc((size_t)count * sizeof *polled);
    nfds_t running = 0;
    double first = -1;
    for (int i = 0; i < count; i++) {
        if (jobs[i].child == 0) continue;
        if (first < 0 || jobs[i].deadline < first) first = jobs[i].deadline;
        polled[running] = &jobs[i];
        polls[running++] = (struct pollfd){.fd = jobs[i].pipe, .events = POLLIN};
    }
    double wait = (first - cli_clock()) * 1000 + 1;
    poll(polls, running, wait < 0 ? 0 : wait > 60000 ? 60000 : (int)wait);
    for (nfds_t i = 0; i < running; i++) {
        Job *job = polled[i];
        char bytes[4096];
        ssize_t got = -1;
        if (polls[i].revents != 0) got = read(job->pipe, bytes, sizeof bytes);
        for (ssize_t k = 0; k < got; k++) take_byte(job, tally, bytes[k]);
        if (got == 0) end_job(job, tally, false, limit);
        else if (cli_clock() > job->deadline) end_job(job, tally, true, limit);
    }
    free(polls);
    free(polled);
}

static Tally run_all(const Paths *paths, const Options *options) {
    Tally tally = {0};
    Job *jobs = cli_alloc((size_t)options->jobs * sizeof *jobs);
    memset(jobs, 0, (size_t)options->jobs * sizeof *jobs);
    size_t next = 0;
    double start = cli_clock();
    for (;;) {
        int running = 0;
        for (int i = 0; i < options->jobs; i++) {
            if (jobs[i].child == 0 && next < paths->len &&
                !start_job(&jobs[i], &paths->data[next++], options)) {
                printf("FAIL %s\n  cannot start a process: %s\n",
                       paths->data[next - 1].path, strerror(errno));
                tally.failed++;
            }
            running += jobs[i].child != 0;
        }
        if (running == 0 && next == paths->len) break;
        cli_progress(cli_clock() - start, "testing program %zu of %zu, %zu failed", next,
                     paths->len, tally.failed);
        if (running > 0) attend(jobs, options->jobs, &tally, options->limit);
    }
    cli_clear_progress();
    free(jobs);
    return tally;
}

static bool parse_number(const char *text, double least, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= least && *out < 1e9;
}

int verb_test(int argc, char **argv) {
    static const struct option names[] = {{"jobs", required_argument, NULL, 'j'},
                                          {"limit", required_argument, NULL, 'l'},
                                          {"tolerance", required_argument, NULL, 't'},
                                          CLI_ENGINE_OPTIONS,
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    double jobs = cores < 1 ? 1 : (double)cores;
    Options options = {.limit = 60, .tolerance = 0.002};
    for (int option;
         (option = cli_option("test", argc, argv, ":j:l:t:" CLI_ENGINE_LETTERS "h", names)) != -1;) {
        if (strchr(CLI_ENGINE_LETTERS, option) != NULL) {
            if (cli_engine_option("test", option, &options.context) != EXIT_FINE)
                return EXIT_USAGE;
            continue;
        }
        bool is_good = option == 'j'   ? parse_number(optarg, 1, &jobs)
                       : option == 'l' ? parse_number(optarg, 0.001, &options.limit)
                                       : parse_number(optarg, 0, &options.tolerance);
        if (!is_good) return cli_usage("test", "`%s` is not a fitting number", optarg);
    }
    options.jobs = jobs > 1024 ? 1024 : (int)jobs;
    if (optind == argc) return cli_usage("test", "name programs or folders");
    Paths paths = {0};
    for (int i = optind; i < argc; i++)
        if (!add_argument(&paths, argv[i])) return EXIT_ERROR;
    Tally tally = run_all(&paths, &options);
    for (size_t i = 0; i < paths.len; i++) free(paths.data[i].path);
    free(paths.data);
    if (tally.passed + tally.failed == 0)
        fputs("weft test: there are no tests\n", stderr);
    printf("%zu passed, %zu failed\n", tally.passed, tally.failed);
    bool is_good = tally.failed == 0 && tally.passed > 0;
    return cli_finish(is_good ? EXIT_FINE : EXIT_ERROR);
}
