// SPDX-License-Identifier: Apache-2.0
//
// The roofline picture: operations a second over operations per byte, both logarithmic,
// one panel for each type, for the greatest number of threads. Lines are the roofs, a
// filled dot is Weft, a ring is C; a thin line joins the two of one row.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

enum { WIDTH = 640, HEIGHT = 480, LEFT = 60, TOP = 30, RIGHT = 20, BOTTOM = 45 };

static const double intensity[] = {1.0 / 64, 4096}, rate[] = {1e8, 4e12};

static double x_of(const double value, int panel) {
    double part = log(value / intensity[0]) / log(intensity[1] / intensity[0]);
    return panel * WIDTH + LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double y_of(double value) {
    double part = log(value / rate[0]) / log(rate[1] / rate[0]);
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

static bool is_f64(const Row *row) {
    return strstr(row->bench->entry, "_f64") != NULL;
}

static bool is_shown(const Row *row, int threads, int panel) {
    return row->failure[0] == '\0' && row->threads == threads && row->cost.flops > 0 &&
           row->cost.bytes > 0 && is_f64(row) == (panel == 1);
}

static void put_axes(FILE *out, int panel) {
    double left = x_of(intensity[0], panel), right = x_of(intensity[1], panel);
    for (double r = rate[0]; r <= rate[1] * 1.01; r *= 10)
        fprintf(out,
                "<path class='grid' d='M%.1f %.1fH%.1f'/>"
                "<text x='%.1f' y='%.1f' text-anchor='end'>%g</text>\n",
                left, y_of(r), right, left - 6, y_of(r) + 4, r / 1e9);
    for (double i = intensity[0]; i <= intensity[1]; i *= 8)
        fprintf(out,
                "<path class='grid' d='M%.1f %dV%d'/>"
                "<text x='%.1f' y='%d' text-anchor='middle'>%.3g</text>\n",
                x_of(i, panel), TOP, HEIGHT - BOTTOM, x_of(i, panel),
                HEIGHT - BOTTOM + 16, i);
    fprintf(out,
            "<text x='%.1f' y='%d'>10^9 operations a second, %s</text>\n"
            "<text x='%.1f' y='%d' text-anchor='end'>operations per byte</text>\n",
            left, TOP - 10, panel == 0 ? "f32 and integers" : "f64", right,
            HEIGHT - 10);
}

// A roof of bytes rises until it meets the one of operations.
static void put_roof(FILE *out, int panel, const char *name, double bytes,
                     double peak) {
    double meet = peak / bytes;
    double start = fmax(intensity[0], rate[0] / bytes);
    fprintf(out,
            "<path class='roof' d='M%.1f %.1fL%.1f %.1fH%.1f'/>"
            "<text x='%.1f' y='%.1f'>%s</text>\n",
            x_of(start, panel), y_of(start * bytes), x_of(meet, panel), y_of(peak),
            x_of(intensity[1], panel), x_of(start, panel) + 4, y_of(start * bytes) - 6,
            name);
}

static void put_point(FILE *out, const Row *row, int panel) {
    double c = row->cost.flops / times_median(&row->ways[row_best(row)]);
    double weft = row->cost.flops / times_median(&row->ways[WAY_WEFT]);
    double x = x_of(row->cost.flops / row->cost.bytes, panel);
    fprintf(out,
            "<g><title>%s %s: Weft %.3g, C %.3g GFLOP/s</title>"
            "<path class='pair' d='M%.1f %.1fV%.1f'/>"
            "<circle class='c' cx='%.1f' cy='%.1f' r='4'/>"
            "<circle class='weft' cx='%.1f' cy='%.1f' r='4'/></g>\n",
            row->bench->entry, row->size_text, weft / 1e9, c / 1e9, x, y_of(c),
            y_of(weft), x, y_of(c), x, y_of(weft));
    fprintf(out, "<text x='%.1f' y='%.1f' class='name'>%s</text>\n", x + 6,
            y_of(weft) + 3, row->bench->entry);
}

static const Row *some_row(const Row *rows, size_t count, int threads, int panel) {
    for (size_t i = 0; i < count; i++)
        if (is_shown(&rows[i], threads, panel)) return &rows[i];
    return NULL;
}

void report_svg(FILE *out, const Row *rows, size_t count) {
    int threads = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].threads > threads) threads = rows[i].threads;
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d'>\n"
            "<style>text{font:11px sans-serif}.name{font-size:9px}"
            ".grid{stroke:#ddd}.roof{stroke:#888;fill:none}.pair{stroke:#c60}"
            ".c{fill:#fff;stroke:#06c}.weft{fill:#c60}</style>\n"
            "<rect width='100%%' height='100%%' fill='#fff'/>\n",
            2 * WIDTH, HEIGHT);
    for (int panel = 0; panel < 2; panel++) {
        const Row *any = some_row(rows, count, threads, panel);
        put_axes(out, panel);
        if (any == NULL) continue;
        double peak = any->roofs[panel == 0 ? ROOF_FMA32 : ROOF_FMA64];
        static const BenchRoof shown[] = {ROOF_READ, ROOF_L3, ROOF_L2, ROOF_L1};
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
            put_roof(out, panel, shown[k] == ROOF_READ ? "memory" : roof_name(shown[k]),
                     any->roofs[shown[k]], peak);
        for (size_t i = 0; i < count; i++)
            if (is_shown(&rows[i], threads, panel)) put_point(out, &rows[i], panel);
    }
    fputs("</svg>\n", out);
}
