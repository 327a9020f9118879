/* SPDX-License-Identifier: Apache-2.0
 *
 * Heat in a rod, by ../rod.weft. Usage: rod rod.weft CELLS STEPS
 *
 * Shows arrays lent to Weft and read without a copy, progress, Ctrl-C, and how to tell
 * errors with their places. On Ctrl-C the call ends with WEFT_STATUS_CANCELLED. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft.h>

static WeftContext *context; /* what Ctrl-C cancels */

static void interrupt(int number) {
    (void)number;
    weft_cancel(context);
}

static void show(void *data, const WeftProgress *progress) {
    (void)data;
    if (progress->fraction >= 0)
        fprintf(stderr, "\r%s %3.0f %%", progress->activity, 100 * progress->fraction);
}

/* Tells why the last call failed, in lines that editors know: FILE:LINE:COLUMN. */
static void report(WeftStatus status) {
    static const char *const severities[] = {"error", "warning", "note"};
    size_t count = weft_diagnostic_count(context);
    const char *message = weft_message(context);
    if (message[0] == '\0') message = weft_status_text(status); /* it was not Weft */
    if (count == 0) fprintf(stderr, "rod: %s\n", message);
    for (size_t i = 0; i < count; i++) {
        WeftDiagnostic d;
        if (weft_diagnostic(context, i, &d) != WEFT_STATUS_OK) continue;
        if (d.file) fprintf(stderr, "%s:%u:%u: ", d.file, d.line, d.column);
        fprintf(stderr, "%s: %s [%s]\n", severities[d.severity], d.message, d.code);
        for (size_t k = 0; k < d.hint_count; k++)
            fprintf(stderr, "  hint: %s\n", d.hints[k]);
    }
}

/* Lends Weft a rod that is hot in the middle; Weft calls free when it is done. */
static WeftStatus new_rod(int64_t cells, WeftValue **rod_out) {
    double *rod = calloc((size_t)cells, sizeof *rod);
    if (rod == NULL) return WEFT_STATUS_MEMORY;
    rod[cells / 2] = 1000;
    WeftStatus status =
        weft_value_borrow(context, WEFT_F64, 1, &cells, NULL, rod, free, rod, rod_out);
    if (status != WEFT_STATUS_OK) free(rod); /* then it was not taken */
    return status;
}

static WeftStatus simulate(const char *path, int64_t cells, int64_t steps) {
    WeftProgram *program;
    WeftValue *args[2], *rod;
    const void *data;
    WeftStatus status = weft_program_from_file(context, path, &program);
    if (status != WEFT_STATUS_OK) return status;
    size_t diffuse = weft_entry_find(program, "diffuse");
    if ((status = weft_value_new(context, WEFT_I64, 0, NULL, &steps, &args[0])) ||
        (status = new_rod(cells, &args[1])) ||
        (status = weft_call(program, diffuse, args, 2, &rod, 1)) ||
        (status = weft_value_data(rod, &data)))
        return status;
    const double *heat = data;
    int64_t warmest = 0;
    for (int64_t i = 1; i < cells; i++)
        if (heat[i] > heat[warmest]) warmest = i;
    printf("warmest: %.17g at cell %lld\n", heat[warmest], (long long)warmest);
    return WEFT_STATUS_OK;
}

int main(int argc, char **argv) {
    WeftOptions options = {.struct_size = sizeof options, .progress = show};
    long long cells = argc == 4 ? atoll(argv[2]) : 0;
    if (cells < 1) {
        fputs("usage: rod rod.weft CELLS STEPS\n", stderr);
        return 2;
    }
    if (weft_context_new(&options, &context) != WEFT_STATUS_OK) {
        fputs("rod: out of memory\n", stderr);
        return 1;
    }
    signal(SIGINT, interrupt);
    WeftStatus status = simulate(argv[1], cells, atoll(argv[3]));
    signal(SIGINT, SIG_DFL);
    if (status == WEFT_STATUS_CANCELLED) fputs("\nrod: stopped\n", stderr);
    else if (status != WEFT_STATUS_OK) report(status);
    weft_context_free(context); /* with all that belongs to it */
    return status != WEFT_STATUS_OK;
}
