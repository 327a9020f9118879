// SPDX-License-Identifier: Apache-2.0
//
// The table, as Markdown and as JSON; the means; and the references beside known.def.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

static const char *const way_names[WAYS] = {"gcc", "clang", "weft"};

static bool is_good(const Row *row) {
    return row->failure[0] == '\0';
}

// ---- Markdown ----------------------------------------------------------------------

// The geometric mean of the rows of a line, or 0 if it has none.
static double mean_of_line(const Row *rows, size_t count, const char *line,
                           int threads) {
    double sum = 0;
    int terms = 0;
    for (size_t i = 0; i < count; i++)
        if (is_good(&rows[i]) && rows[i].threads == threads &&
            strcmp(rows[i].bench->line, line) == 0) {
            sum += log(row_ratio(&rows[i]));
            terms++;
        }
    return terms > 0 ? exp(sum / terms) : 0;
}

static bool begins_line(const Row *rows, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (strcmp(rows[k].bench->line, rows[i].bench->line) == 0) return false;
    return true;
}

// That of the lines, each of which has one vote, however many rows it has.
static double mean_of_all(const Row *rows, size_t count, int threads) {
    double sum = 0;
    int terms = 0;
    for (size_t i = 0; i < count; i++) {
        double mean = mean_of_line(rows, count, rows[i].bench->line, threads);
        if (!begins_line(rows, i) || mean <= 0) continue;
        sum += log(mean);
        terms++;
    }
    return terms > 0 ? exp(sum / terms) : 0;
}

// Seconds with three digits.
static void put_time(FILE *out, const Times *times) {
    static const char *const units[] = {"s", "ms", "µs"};
    double value = times_median(times);
    int unit = 0;
    while (value < 1 && unit < 2) value *= 1e3, unit++;
    fprintf(out, " %.*f %s ± %.0f %% |",
            value < 10    ? 2
            : value < 100 ? 1
                          : 0,
            value, units[unit], 50 * times_spread(times));
}

static void put_share(FILE *out, const Row *row, Way way) {
    fprintf(out, " %.0f %% |", 100 * row_least(row) / times_median(&row->ways[way]));
}

static void put_row(FILE *out, const Row *row) {
    fprintf(out, "| %s | %s | %d |", row->bench->entry, row->size_text, row->threads);
    if (!is_good(row)) {
        fprintf(out, " failed: %s | | | | | | | |\n", row->failure);
        return;
    }
    Way best = row_best(row);
    put_time(out, &row->ways[WAY_WEFT]);
    put_time(out, &row->ways[best]);
    fprintf(out, " %s | **%.2f** |", way_names[best], row_ratio(row));
    put_share(out, row, WAY_WEFT);
    put_share(out, row, best);
    fprintf(out, " %d | %.1g |\n", row->ways[WAY_WEFT].count, row->difference);
}

static void put_roofs(FILE *out, const Row *rows, size_t count,
                      const Options *options) {
    fputs(
        "\nThe roofs, medians over the rows, in 10^9 operations or bytes a second:\n\n"
        "| threads |",
        out);
    for (BenchRoof r = 0; r < ROOFS; r++) fprintf(out, " %s |", roof_name(r));
    fputs("\n|---|", out);
    for (BenchRoof r = 0; r < ROOFS; r++) fputs("---|", out);
    fputc('\n', out);
    for (int t = 0; t < options->thread_count; t++) {
        fprintf(out, "| %d |", options->threads[t]);
        for (BenchRoof r = 0; r < ROOFS; r++) {
            Times rates = {0};
            for (size_t i = 0; i < count && rates.count < MOST_ROUNDS; i++)
                if (is_good(&rows[i]) && rows[i].threads == options->threads[t])
                    times_add(&rates, rows[i].roofs[r]);
            times_sort(&rates);
            fprintf(out, " %.1f |", 1e-9 * times_median(&rates));
        }
        fputc('\n', out);
    }
}

void report_markdown(FILE *out, const Row *rows, size_t count, const Options *options) {
    static const char *const levels[] = {"tiny", "small", "full"};
    fprintf(
        out,
        "Weft %s, %s sizes, medians ± half of what lies between the quarters.\n\n"
        "| workload | size | threads | Weft | best C | by | C : Weft | Weft of roof "
        "| C of roof | rounds | differ |\n|---|---|---|---|---|---|---|---|---|---|"
        "---|\n",
        weft_version(), levels[options->level]);
    for (size_t i = 0; i < count; i++) put_row(out, &rows[i]);
    put_roofs(out, rows, count, options);
    fputs(
        "\nThe time of the best C over that of Weft, geometric means of the rows of a "
        "line:\n\n| line |",
        out);
    for (int t = 0; t < options->thread_count; t++)
        fprintf(out, " %d thread%s |", options->threads[t],
                options->threads[t] == 1 ? "" : "s");
    fputs("\n|---|", out);
    for (int t = 0; t < options->thread_count; t++) fputs("---|", out);
    for (size_t i = 0; i < count; i++) {
        if (!begins_line(rows, i)) continue;
        fprintf(out, "\n| %s |", rows[i].bench->line);
        for (int t = 0; t < options->thread_count; t++)
            fprintf(
                out, " %.2f |",
                mean_of_line(rows, count, rows[i].bench->line, options->threads[t]));
    }
    fputs("\n| **all lines** |", out);
    for (int t = 0; t < options->thread_count; t++)
        fprintf(out, " **%.2f** |", mean_of_all(rows, count, options->threads[t]));
    fputs("\n\n", out);
}

// ---- memory ------------------------------------------------------------------------

void report_memory(FILE *out, const Row *rows, size_t count) {
    const double MIB = 1 << 20;
    fputs(
        "The most memory held beyond inputs, in MiB; in Weft's, what it holds with the "
        "least\ninputs (code and texts) is left out.\n\n"
        "| workload | size | threads | inputs | C | Weft | more | code and texts |\n"
        "|---|---|---|---|---|---|---|---|\n",
        out);
    for (size_t i = 0; i < count; i++) {
        const Held *held = &rows[i].held;
        if (!is_good(&rows[i])) continue;
        size_t gcc = held->ways[WAY_GCC], clang = held->ways[WAY_CLANG];
        double inputs = (double)held->inputs / MIB,
               texts = ((double)held->least_weft - (double)held->least_inputs) / MIB,
               c = (double)(clang != 0 && (gcc == 0 || clang < gcc) ? clang : gcc) /
                       MIB -
                   inputs,
               weft = (double)held->ways[WAY_WEFT] / MIB - inputs - texts;
        fprintf(out, "| %s | %s | %d | %.1f | %.1f | %.1f | %+.1f | %.1f |\n",
                rows[i].bench->entry, rows[i].size_text, rows[i].threads, inputs, c,
                weft, weft - c, texts);
    }
}

// ---- JSON --------------------------------------------------------------------------

// Texts here are our own, or messages: quotes and what is below a blank are left out.
static void put_text(FILE *out, const char *name, const char *text) {
    fprintf(out, "\"%s\": \"", name);
    for (; *text != '\0'; text++)
        if ((unsigned char)*text >= ' ' && *text != '"' && *text != '\\')
            fputc(*text, out);
    fputs("\", ", out);
}

static void put_seconds(FILE *out, const Row *row) {
    for (Way way = 0; way < WAYS; way++) {
        fprintf(out, "\n   \"%s\": [", way_names[way]);
        for (int i = 0; i < row->ways[way].count; i++)
            fprintf(out, "%s%.9g", i > 0 ? ", " : "", row->ways[way].seconds[i]);
        fputs("],", out);
    }
}

void report_json(FILE *out, const Row *rows, size_t count, const Options *options) {
    fprintf(out, "{");
    put_text(out, "version", weft_version());
    fprintf(out, "\"level\": %d, \"means\": [", options->level);
    for (int t = 0; t < options->thread_count; t++)
        fprintf(out, "%s{\"threads\": %d, \"ratio\": %.6g}", t > 0 ? ", " : "",
                options->threads[t], mean_of_all(rows, count, options->threads[t]));
    fprintf(out, "],\n \"rows\": [");
    for (size_t i = 0; i < count; i++) {
        const Row *row = &rows[i];
        fprintf(out, "%s\n  {", i > 0 ? "," : "");
        put_text(out, "line", row->bench->line);
        put_text(out, "entry", row->bench->entry);
        put_text(out, "size", row->size_text);
        put_text(out, "failure", row->failure);
        fprintf(out, "\"threads\": %d, \"flops\": %.9g, \"bytes\": %.9g,", row->threads,
                row->cost.flops, row->cost.bytes);
        put_seconds(out, row);
        for (BenchRoof r = 0; r < ROOFS; r++)
            fprintf(out, "%s \"%s\": %.6g", r > 0 ? "," : "\n   \"roofs\": {",
                    roof_name(r), row->roofs[r]);
        if (is_good(row))
            fprintf(out, "}, \"ratio\": %.6g, \"least\": %.6g, \"difference\": %.3g}",
                    row_ratio(row), row_least(row), row->difference);
        else fputs("}, \"ratio\": null}", out);
    }
    fputs("\n ]}\n", out);
}

// ---- known.def ---------------------------------------------------------------------

typedef enum Unit { FLOPS, BYTES, SECONDS } Unit;

typedef struct Known {
    const char *entry, *size;
    BenchRoof roof;
    Unit unit;
    double value;
} Known;

static const Known known[] = {
#define KNOWN(entry, size, roof, unit, value) {entry, size, roof, unit, value},
#include "known.def"
#undef KNOWN
};

// The seconds that a good reference would take on a machine with these roofs.
static double good_seconds(const Known *good, const Row *row) {
    double roof = good->roof == ROOF_FMA32   ? KNOWN_FMA32
                  : good->roof == ROOF_FMA64 ? KNOWN_FMA64
                                             : KNOWN_MEMORY;
    double seconds = good->unit == FLOPS   ? row->cost.flops / good->value
                     : good->unit == BYTES ? row->cost.bytes / good->value
                                           : good->value;
    return seconds * roof / row->roofs[good->roof];
}

static bool is_named(const Known *good, const Row *row) {
    return strcmp(good->entry, row->bench->entry) == 0 &&
           (good->size[0] == '\0' ||
            strcmp(good->size, row->bench->sizes[BENCH_FULL].label) == 0);
}

// Numbers that are of no row at all: a name in known.def is not what it was.
static size_t count_unused(FILE *out, const Row *rows, size_t count) {
    size_t unused = 0;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        bool is_used = false;
        for (size_t i = 0; i < count; i++) is_used |= is_named(&known[k], &rows[i]);
        if (is_used) continue;
        fprintf(out, "known.def: there is no %s %s\n", known[k].entry, known[k].size);
        unused++;
    }
    return unused;
}

size_t report_known(FILE *out, const Row *rows, size_t count, const Options *options) {
    size_t bad = options->wanted == NULL ? count_unused(out, rows, count) : 0;
    if (options->level != BENCH_FULL) return bad;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            if (!is_good(&rows[i]) || rows[i].threads != KNOWN_THREADS ||
                !is_named(&known[k], &rows[i]))
                continue;
            double share = good_seconds(&known[k], &rows[i]) /
                           times_median(&rows[i].ways[row_best(&rows[i])]);
            if (share >= 0.9) continue;
            fprintf(out, "SLOW REFERENCE: %s %s reaches %.2f of what good ones do\n",
                    rows[i].bench->entry, rows[i].size_text, share);
            bad++;
        }
    return bad;
}
