// SPDX-License-Identifier: Apache-2.0
//
// Where the time went, as the verbs tell it: --times by phase, --profile by line of the
// program, --trace as a file. The tables go to standard error; what they list adds up
// to their last row.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

bool cli_record_option(int option, CliRecord *record) {
    if (option == CLI_TIMES) record->times = true;
    if (option == CLI_PROFILE) record->profile = true;
    if (option == CLI_TRACE) record->trace = optarg;
    return option == CLI_TIMES || option == CLI_PROFILE || option == CLI_TRACE;
}

int cli_record_check(const char *verb, const CliRecord *record) {
    if (record->trace == NULL || cli_can_write(record->trace)) return EXIT_FINE;
    fprintf(stderr, "weft %s: cannot write `%s`: %s\n", verb, record->trace,
            strerror(errno));
    return EXIT_ERROR;
}

void cli_record_start(WeftContext *context, const CliRecord *record) {
    WeftRecord what = WEFT_RECORD_NOTHING;
    if (record->times || record->profile) what = WEFT_RECORD_TOTALS;
    if (record->trace != NULL) what = WEFT_RECORD_EVENTS;
    if (what != WEFT_RECORD_NOTHING && weft_record(context, what) != WEFT_STATUS_OK)
        cli_no_memory();
}

// ---- rows ---------------------------------------------------------------------------

typedef struct Rows {
    WeftProfile *data;
    size_t count, cap;
    double total; // seconds
} Rows;

static void take_row(void *data, const WeftProfile *row) {
    Rows *rows = data;
    if (rows->count == rows->cap) {
        rows->cap = 2 * rows->cap + 64;
        rows->data = cli_resize(rows->data, rows->cap * sizeof *rows->data);
    }
    rows->data[rows->count++] = *row;
    if (row->work != WEFT_WORK_BESIDE) rows->total += row->seconds;
}

static Rows get_rows(WeftContext *context) {
    Rows rows = {0};
    if (weft_profile(context, take_row, &rows) != WEFT_STATUS_OK) cli_no_memory();
    return rows;
}

static void print_time(const Rows *rows, double seconds) {
    char text[CLI_NUMBER];
    fprintf(stderr, "%9s %5.1f %%", cli_time_text(text, seconds),
            rows->total > 0 ? 100 * seconds / rows->total : 0);
}

static double sum_of(const Rows *rows, WeftWork work) {
    double seconds = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->data[i].work == work) seconds += rows->data[i].seconds;
    return seconds;
}

// ---- by phase -----------------------------------------------------------------------

static void print_phase(const Rows *rows, const WeftProfile *row) {
    bool is_rest = strcmp(row->name, "compile") == 0;
    print_time(rows, row->seconds);
    const char *name = is_rest ? "other" : row->name;
    if (row->before > 0)
        fprintf(stderr, "  %-18s %8" PRIu64 " -> %7" PRIu64 "\n", name, row->before,
                row->after);
    else if (row->after > 0)
        fprintf(stderr, "  %-18s %20" PRIu64 "\n", name, row->after);
    else fprintf(stderr, "  %s\n", name);
}

static void print_sum(const Rows *rows, double seconds, const char *name) {
    if (seconds == 0) return;
    print_time(rows, seconds);
    fprintf(stderr, "  %s\n", name);
}

static void print_times(const Rows *rows) {
    fprintf(stderr, "%9s %7s  %-18s %20s\n", "time", "share", "phase", "statements");
    for (size_t i = 0; i < rows->count; i++)
        if (rows->data[i].work == WEFT_WORK_PHASE) print_phase(rows, &rows->data[i]);
    print_sum(rows, sum_of(rows, WEFT_WORK_WAIT), "wait for the build");
    double running = sum_of(rows, WEFT_WORK_HOST) + sum_of(rows, WEFT_WORK_KERNEL) +
                     sum_of(rows, WEFT_WORK_INTERPRET) +
                     sum_of(rows, WEFT_WORK_TRANSFER);
    print_sum(rows, running, "run");
    for (size_t i = 0; i < rows->count; i++)
        if (rows->data[i].work == WEFT_WORK_VALUES)
            print_sum(rows, rows->data[i].seconds, rows->data[i].name);
    print_sum(rows, rows->total, "in all");
    for (size_t i = 0; i < rows->count; i++) {
        char text[CLI_NUMBER];
        const WeftProfile *row = &rows->data[i];
        bool is_compiler = row->work == WEFT_WORK_BESIDE &&
                           strncmp(row->name, "compiler", strlen("compiler")) == 0;
        if (is_compiler)
            fprintf(stderr, "%9s          the build, meanwhile\n",
                    cli_time_text(text, row->seconds));
    }
}

// ---- by line ------------------------------------------------------------------------

static int compare_rows(const void *a, const void *b) {
    double x = ((const WeftProfile *)a)->seconds, y = ((const WeftProfile *)b)->seconds;
    return (x < y) - (x > y);
}

// The rows of that kind become one.
static void merge(Rows *rows, WeftWork work, const char *name) {
    WeftProfile all = {.work = work, .name = name};
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const WeftProfile *row = &rows->data[i];
        if (row->work != work) {
            rows->data[kept++] = *row;
            continue;
        }
        all.seconds += row->seconds;
        all.count += row->count;
    }
    if (kept < rows->count) rows->data[kept++] = all;
    rows->count = kept;
}

// The text of a line, shortened between characters, with blanks for what is none.
static void print_text(const char *text) {
    enum { SHOWN = 44 }; // bytes
    size_t len = strlen(text);
    bool is_long = len > SHOWN;
    if (is_long) len = SHOWN;
    while (is_long && len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) len--;
    for (size_t i = 0; i < len; i++)
        fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], stderr);
    if (is_long) fputs("...", stderr);
}

static void print_line(const Rows *rows, const WeftProfile *row) {
    char bytes[CLI_NUMBER] = "-", rate[CLI_NUMBER] = "-";
    double moved = (double)row->bytes;
    if (moved > 0) cli_bytes_text(bytes, moved);
    if (moved > 0 && row->seconds > 0)
        snprintf(rate, sizeof rate, "%.2f", moved / row->seconds * 1e-9);
    print_time(rows, row->seconds);
    fprintf(stderr, " %8" PRIu64 " %9s %6s  ", row->count, bytes, rate);
    if (row->file == NULL) {
        fprintf(stderr, "(%s)\n", row->name);
        return;
    }
    fprintf(stderr, "%s:%" PRIu32, row->file, row->line);
    if (row->work == WEFT_WORK_INTERPRET) fputs(" (interpreted)", stderr);
    if (row->work == WEFT_WORK_TRANSFER) fputs(" (transfer)", stderr);
    fputs("  ", stderr);
    print_text(row->text);
    fputc('\n', stderr);
}

static void print_profile(Rows *rows) {
    merge(rows, WEFT_WORK_PHASE, "compile");
    merge(rows, WEFT_WORK_WAIT, "wait for the build");
    merge(rows, WEFT_WORK_HOST, "host");
    qsort(rows->data, rows->count, sizeof *rows->data, compare_rows);
    fprintf(stderr, "%9s %7s %8s %9s %6s  %s\n", "time", "share", "count", "bytes",
            "GB/s", "line");
    for (size_t i = 0; i < rows->count; i++)
        if (rows->data[i].work != WEFT_WORK_BESIDE) print_line(rows, &rows->data[i]);
    print_time(rows, rows->total);
    fprintf(stderr, "%26s  in all\n", "");
}

// ---- the trace ----------------------------------------------------------------------

static int write_stream(void *data, const char *bytes, size_t length) {
    return fwrite(bytes, 1, length, data) != length;
}

static int write_trace(const char *verb, WeftContext *context, const char *path) {
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    if (stream == NULL) cli_no_memory();
    WeftStatus status = weft_trace(context, write_stream, stream);
    if (fclose(stream) != 0 || status != WEFT_STATUS_OK) cli_no_memory();
    bool is_written = cli_replace_file(path, text, len);
    free(text);
    if (is_written) return EXIT_FINE;
    fprintf(stderr, "weft %s: cannot write `%s`: %s\n", verb, path, strerror(errno));
    return EXIT_ERROR;
}

int cli_record_report(const char *verb, WeftContext *context, const CliRecord *record) {
    cli_clear_progress();
    fflush(stdout); // the tables come after what was printed
    if (record->times || record->profile) {
        Rows rows = get_rows(context);
        if (record->times) print_times(&rows);
        if (record->times && record->profile) fputc('\n', stderr);
        if (record->profile) print_profile(&rows);
        free(rows.data);
    }
    return record->trace == NULL ? EXIT_FINE
                                 : write_trace(verb, context, record->trace);
}
