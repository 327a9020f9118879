// SPDX-License-Identifier: Apache-2.0
//
// The benchmark suite: times the programs of work/ on the native engine beside the best
// C that we could write, and beside the roofs of the machine, all in turns in one
// process, and compares the answers. Knows of Weft what weft.h says. Usage: see
// `usage`.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

static const char usage[] =
    "Usage: bench_suite [OPTION...] OBJECTS PROGRAMS OUTPUT\n"
    "\n"
    "Times the workloads whose references are in the folder OBJECTS and whose "
    "programs\n"
    "are in PROGRAMS, prints a table, and writes it to OUTPUT.md, with all times to\n"
    "OUTPUT.json and as a picture to OUTPUT.svg.\n"
    "\n"
    "  -b NAMES  only the workloads, entries (or these without their type) of these "
    "names,\n"
    "            with commas between\n"
    "  -q        small sizes: a first look\n"
    "  -t        tiny sizes: whether all works\n"
    "  -r N      rounds (default: 7; small sizes 3, tiny 1)\n"
    "  -T N,...  threads (default: 1 and all cores, or 64)\n"
    "  -w        Weft alone: no references, and no answers compared\n"
    "  -c        the time of processors, which others do not lengthen, in place of "
    "the\n"
    "            clock's\n"
    "  -m        the most memory that each holds, in place of times\n"
    "\n"
    "Exit status: 0; 1 if an answer differs, a program fails, or a reference is "
    "slower\n"
    "than known.def asks; 2 for wrong usage.\n";

typedef struct Work {
    const char *name, *type;
} Work;

static const Work works[] = {
#define WORK(name, type) {#name, #type},
#include "work.def"
#undef WORK
};

enum { WORKS = sizeof works / sizeof *works };

// ---- small things ------------------------------------------------------------------

void suite_die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

void *suite_alloc(size_t size) {
    void *memory = calloc(1, size);
    if (memory == NULL) suite_die("out of memory");
    return memory;
}

static clockid_t clock_used = CLOCK_MONOTONIC;

double suite_clock(void) {
    struct timespec now;
    clock_gettime(clock_used, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Whether the first bytes of a name are in a list with commas between.
static bool is_among(const char *list, const char *name, size_t length) {
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && strchr(",", at[length]) != NULL)
            return true;
    }
    return false;
}

static bool is_wanted(const Options *options, const Work *work, const Bench *bench) {
    const char *list = options->wanted, *entry = bench->entry;
    size_t length = strlen(entry), plain = (size_t)(strrchr(entry, '_') - entry);
    return list == NULL || is_among(list, work->name, strlen(work->name)) ||
           is_among(list, entry, length) || is_among(list, entry, plain);
}

// ---- one row -----------------------------------------------------------------------

// What is measured: the reference by both compilers, and the Weft program.
typedef struct Contest {
    Row *row;
    const Bench *ways[WAY_WEFT]; // the same bench by each compiler, or NULL
    BenchData data;
    BenchTeam *team;
    WeftContext *context;
    WeftProgram *program;
    WeftValue *args[BENCH_ARRAYS], *results[BENCH_ARRAYS];
    size_t entry, capacity[BENCH_ARRAYS]; // bytes of the outputs
} Contest;

static bool fail(Row *row, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(row->failure, sizeof row->failure, format, args);
    va_end(args);
    return false;
}

static bool fail_weft(Contest *contest) {
    fputs(weft_render(contest->context, 0), stderr);
    return fail(contest->row, "%s", weft_message(contest->context));
}

static bool open_weft(Contest *contest, const char *path) {
    const BenchData *data = &contest->data;
    WeftOptions options = {.struct_size = sizeof options,
                           .engine = WEFT_ENGINE_NATIVE,
                           .threads = (unsigned)contest->row->threads};
    if (weft_context_new(&options, &contest->context) != WEFT_STATUS_OK)
        return fail(contest->row, "no context");
    if (weft_program_from_file(contest->context, path, &contest->program) !=
        WEFT_STATUS_OK)
        return fail_weft(contest);
    contest->entry = weft_entry_find(contest->program, contest->row->bench->entry);
    if (contest->entry == WEFT_NONE) return fail(contest->row, "no such entry");
    for (size_t i = 0; i < data->in_count; i++) {
        const BenchArray *in = &data->in[i];
        WeftStatus status =
            in->rank == 0
                ? weft_value_new(contest->context, in->element, 0, NULL, in->data,
                                 &contest->args[i])
                : weft_value_borrow(contest->context, in->element, in->rank, in->shape,
                                    NULL, in->data, NULL, NULL, &contest->args[i]);
        if (status != WEFT_STATUS_OK) return fail_weft(contest);
    }
    return true;
}

static bool run_weft(Contest *contest, double *seconds_out) {
    double begin = suite_clock();
    WeftStatus status =
        weft_call(contest->program, contest->entry, contest->args,
                  contest->data.in_count, contest->results, contest->data.out_count);
    *seconds_out = suite_clock() - begin;
    return status == WEFT_STATUS_OK || fail_weft(contest);
}

static void free_results(Contest *contest) {
    for (size_t i = 0; i < contest->data.out_count; i++) {
        weft_value_free(contest->results[i]);
        contest->results[i] = NULL;
    }
}

static void run_c(Contest *contest, Way way, double *seconds_out) {
    double begin = suite_clock();
    contest->ways[way]->run(&contest->data, contest->row->size, contest->team);
    *seconds_out = suite_clock() - begin;
}

// The results of the last call beside the outputs of the last reference.
static bool compare_one(Contest *contest, size_t i) {
    Row *row = contest->row;
    WeftValue *found = contest->results[i];
    const BenchArray *expected = &contest->data.out[i];
    const int64_t *shape = weft_value_shape(found);
    const void *data;
    if (!weft_value_is_array(found) || weft_value_element(found) != expected->element ||
        weft_value_rank(found) != expected->rank)
        return fail(row, "result %zu is of type %s", i, weft_value_type(found));
    for (size_t d = 0; d < expected->rank; d++)
        if (shape[d] != expected->shape[d])
            return fail(row, "result %zu has size %lld, C says %lld", i,
                        (long long)shape[d], (long long)expected->shape[d]);
    if (weft_value_data(found, &data) != WEFT_STATUS_OK) return fail_weft(contest);
    double difference = data_difference(expected, data, row->bench->odd);
    if (difference > row->difference) row->difference = difference;
    if (difference <= row->bench->tolerance) return true;
    return fail(row, "result %zu differs by %.2g, allowed is %.2g", i, difference,
                row->bench->tolerance);
}

static bool compare_all(Contest *contest) {
    double seconds;
    if (!run_weft(contest, &seconds)) return false;
    bool is_good = true;
    for (Way way = 0; way < WAY_WEFT && is_good; way++) {
        if (contest->ways[way] == NULL) continue;
        for (size_t i = 0; i < contest->data.out_count; i++)
            memset(contest->data.out[i].data, 0xee, contest->capacity[i]);
        run_c(contest, way, &seconds);
        for (size_t i = 0; i < contest->data.out_count && is_good; i++)
            is_good = compare_one(contest, i);
    }
    contest->row->cost = contest->row->bench->cost(contest->row->size, &contest->data);
    free_results(contest);
    return is_good;
}

// A call of one way, and what it took.
static bool run_way(Contest *contest, Way way, double *seconds_out) {
    if (way != WAY_WEFT) {
        run_c(contest, way, seconds_out);
        return true;
    }
    bool ok = run_weft(contest, seconds_out);
    if (ok) free_results(contest);
    return ok;
}

// Once the threads of whoever ran before are asleep (one that still looks for work has
// a core, which shows in a call of 40 ms), calls that are not timed, so that everybody
// is timed with threads that are awake and caches that are warm. A long call does
// without these: it hardly notices.
static bool warm_up(Contest *contest, Way way) {
    enum { REST_NS = 3000000 };
    const double LONG = 0.02;
    const Times *before = &contest->row->ways[way];
    double seconds;
    nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    if (before->count > 0 && before->seconds[before->count - 1] > LONG) return true;
    return run_way(contest, way, &seconds) && run_way(contest, way, &seconds);
}

enum { SLOW_SECONDS = 20, SLOW_ROUNDS = 3 };

// The rounds: the roofs, then everybody, each in turn the first. A row that takes
// minutes is cut short; the table says how many rounds there were.
static bool take_times(Contest *contest, const Options *options) {
    Row *row = contest->row;
    Times roofs[ROOFS] = {{0}};
    for (int round = 0; round < options->rounds; round++) {
        double rates[ROOFS], begin = suite_clock();
        roofs_measure(contest->team, rates);
        for (BenchRoof r = 0; r < ROOFS; r++) times_add(&roofs[r], rates[r]);
        for (int turn = 0; turn < WAYS; turn++) {
            Way way = (Way)((round + turn) % WAYS);
            double seconds;
            if (way != WAY_WEFT && contest->ways[way] == NULL) continue;
            if (!warm_up(contest, way) || !run_way(contest, way, &seconds))
                return false;
            times_add(&row->ways[way], seconds);
        }
        if (suite_clock() - begin > SLOW_SECONDS && round + 1 >= SLOW_ROUNDS) break;
    }
    for (Way way = 0; way < WAYS; way++) times_sort(&row->ways[way]);
    for (BenchRoof r = 0; r < ROOFS; r++) {
        times_sort(&roofs[r]);
        row->roofs[r] = times_median(&roofs[r]);
    }
    return true;
}

static void describe_size(Row *row, BenchLevel level) {
    const BenchSize *size = row->size;
    int64_t all[] = {size->n, size->m, size->k};
    if (level == BENCH_FULL) {
        snprintf(row->size_text, sizeof row->size_text, "%s", size->label);
        return;
    }
    for (int i = 0, at = 0; i < 3 && all[i] > 0; i++)
        at += snprintf(row->size_text + at, sizeof row->size_text - (size_t)at,
                       "%s%lld", i > 0 ? "×" : "", (long long)all[i]);
}

// ---- memory ------------------------------------------------------------------------

// What a process of its own does: the inputs are made, and it runs one way, or none.
typedef struct Holder {
    Contest contest;
    BenchLevel level;
    Way way; // WAYS: none
    const char *path;
} Holder;

static bool hold(void *env) {
    Holder *holder = env;
    Contest *contest = &holder->contest;
    const Bench *bench = contest->row->bench;
    const BenchSize *size = &bench->sizes[holder->level];
    double seconds;
    data_lazy();
    bench->make(&contest->data, size);
    if (holder->way == WAYS) return true;
    if (holder->way == WAY_WEFT && !open_weft(contest, holder->path)) return false;
    contest->team = team_new(contest->row->threads);
    contest->row->size = size;
    return run_way(contest, holder->way, &seconds) &&
           run_way(contest, holder->way, &seconds);
}

static size_t held_by(const Row *row, const Bench *const ways[WAY_WEFT],
                      const char *path, BenchLevel level, Way way) {
    Row copy = *row;
    Holder holder = {.contest = {.row = &copy}, .level = level, .way = way, path};
    memcpy(holder.contest.ways, ways, sizeof holder.contest.ways);
    return memory_held(hold, &holder);
}

static void hold_row(const Options *options, const Bench *const ways[WAY_WEFT],
                     const char *path, Row *row) {
    BenchLevel level = options->level;
    row->held.inputs = held_by(row, ways, path, level, WAYS);
    row->held.least_inputs = held_by(row, ways, path, BENCH_TINY, WAYS);
    row->held.least_weft = held_by(row, ways, path, BENCH_TINY, WAY_WEFT);
    for (Way way = 0; way < WAYS; way++)
        if (way == WAY_WEFT || ways[way] != NULL)
            row->held.ways[way] = held_by(row, ways, path, level, way);
    if (row->held.ways[WAY_WEFT] == 0) fail(row, "a process failed");
}

// ---- a row in all ------------------------------------------------------------------

static void run_row(const Options *options, const Bench *const ways[WAY_WEFT],
                    const char *path, int threads, Row *row) {
    const Bench *bench = ways[WAY_GCC] != NULL ? ways[WAY_GCC] : ways[WAY_CLANG];
    *row = (Row){
        .bench = bench, .size = &bench->sizes[options->level], .threads = threads};
    describe_size(row, options->level);
    fprintf(stderr, "%-22s %-16s %d thread%s\n", bench->entry, row->size_text, threads,
            threads == 1 ? "" : "s");
    if (options->is_memory) {
        hold_row(options, ways, path, row);
        return;
    }
    Contest *contest = suite_alloc(sizeof *contest);
    contest->row = row;
    if (!options->is_alone) memcpy(contest->ways, ways, sizeof contest->ways);
    contest->team = team_new(threads);
    bench->make(&contest->data, row->size);
    for (size_t i = 0; i < contest->data.out_count; i++)
        contest->capacity[i] = data_bytes(&contest->data.out[i]);
    if (open_weft(contest, path) && compare_all(contest)) take_times(contest, options);
    if (row->failure[0] != '\0') fprintf(stderr, "FAIL: %s\n", row->failure);
    weft_context_free(contest->context);
    team_free(contest->team);
    data_free(&contest->data);
    free(contest);
}

// ---- all rows ----------------------------------------------------------------------

static const Bench *load(const Options *options, const Work *work,
                         const char *compiler) {
    char *path;
    if (asprintf(&path, "%s/ref_%s_%s.%s.so", options->objects, work->name, work->type,
                 compiler) < 0)
        suite_die("out of memory");
    const Bench *found = NULL;
    if (access(path, F_OK) == 0) {
        void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (object == NULL) suite_die("%s", dlerror());
        found = dlsym(object, "benches");
        if (found == NULL) suite_die("%s has no benches", path);
    }
    free(path);
    return found;
}

static void open_roofs(const Options *options) {
    char *path;
    if (asprintf(&path, "%s/roofs.so", options->objects) < 0)
        suite_die("out of memory");
    roofs_open(path, options->level);
    free(path);
}

static size_t run_work(const Options *options, const Work *work, Row *rows,
                       size_t count) {
    const Bench *ways[] = {load(options, work, "gcc"), load(options, work, "clang")};
    const Bench *first = ways[0] != NULL ? ways[0] : ways[1];
    char *path;
    if (first == NULL)
        suite_die("%s has no ref_%s_%s", options->objects, work->name, work->type);
    if (asprintf(&path, "%s/%s.weft", options->programs, work->name) < 0)
        suite_die("out of memory");
    for (size_t i = 0; first[i].entry != NULL; i++) {
        if (!is_wanted(options, work, &first[i])) continue;
        const Bench *pair[] = {ways[0] ? &ways[0][i] : NULL,
                               ways[1] ? &ways[1][i] : NULL};
        for (int t = 0; t < options->thread_count; t++) {
            if (count == MOST_ROWS) suite_die("too many rows");
            run_row(options, pair, path, options->threads[t], &rows[count++]);
        }
    }
    free(path);
    return count;
}

static FILE *open_output(const Options *options, const char *ending) {
    char *path;
    if (asprintf(&path, "%s.%s", options->output, ending) < 0)
        suite_die("out of memory");
    FILE *file = fopen(path, "w");
    if (file == NULL) suite_die("cannot write %s", path);
    free(path);
    return file;
}

static void close_output(FILE *file) {
    if (ferror(file) || fclose(file) != 0) suite_die("cannot write all of the report");
}

static void read_threads(Options *options, const char *text) {
    options->thread_count = 0;
    for (const char *at = text; *at != '\0' && options->thread_count < 8;) {
        char *end;
        long threads = strtol(at, &end, 10);
        if (end == at || threads < 1 || threads > BENCH_THREADS)
            suite_die("bad threads: %s", text);
        options->threads[options->thread_count++] = (int)threads;
        at = *end == ',' ? end + 1 : end;
    }
}

static Options read_options(int argc, char **argv) {
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), option;
    if (cores > BENCH_THREADS) cores = BENCH_THREADS;
    Options options = {
        .level = BENCH_FULL, .threads = {1, cores}, .thread_count = cores > 1 ? 2 : 1};
    while ((option = getopt(argc, argv, "b:qtr:T:wcm")) != -1) switch (option) {
        case 'b': options.wanted = optarg; break;
        case 'q': options.level = BENCH_QUICK; break;
        case 't': options.level = BENCH_TINY; break;
        case 'r': options.rounds = atoi(optarg); break;
        case 'T': read_threads(&options, optarg); break;
        case 'w': options.is_alone = true; break;
        case 'c': clock_used = CLOCK_PROCESS_CPUTIME_ID; break;
        case 'm': options.is_memory = true; break;
        default: fputs(usage, stderr); exit(2);
        }
    static const int rounds[BENCH_LEVELS] = {1, 3, 7};
    if (options.rounds == 0) options.rounds = rounds[options.level];
    if (argc - optind != 3 || options.rounds < 1 || options.rounds > MOST_ROUNDS) {
        fputs(usage, stderr);
        exit(2);
    }
    options.objects = argv[optind];
    options.programs = argv[optind + 1];
    options.output = argv[optind + 2];
    return options;
}

int main(int argc, char **argv) {
    Options options = read_options(argc, argv);
    Row *rows = suite_alloc(MOST_ROWS * sizeof *rows);
    size_t count = 0, failed = 0;
    if (!options.is_memory) open_roofs(&options);
    for (size_t i = 0; i < WORKS; i++)
        count = run_work(&options, &works[i], rows, count);
    if (count == 0) suite_die("there is no workload of that name");
    for (size_t i = 0; i < count; i++) failed += rows[i].failure[0] != '\0';
    if (options.is_memory) {
        report_memory(stdout, rows, count);
        return failed > 0;
    }
    FILE *markdown = open_output(&options, "md"), *json = open_output(&options, "json"),
         *svg = open_output(&options, "svg");
    report_markdown(markdown, rows, count, &options);
    report_markdown(stdout, rows, count, &options);
    report_json(json, rows, count, &options);
    report_svg(svg, rows, count);
    close_output(markdown);
    close_output(json);
    close_output(svg);
    failed += report_known(stdout, rows, count, &options);
    printf("%zu rows, %zu failed\n", count, failed);
    free(rows);
    return failed > 0;
}
