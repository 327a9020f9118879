/* SPDX-License-Identifier: Apache-2.0
 *
 * The mean of some numbers, by a Weft program of one line. Prints 3.0f64. */
#include <stdio.h>
#include <string.h>
#include <weft.h>

int main(void) {
    const char *text = "def main [n] (xs: [n]f64) = f64.sum xs / f64.i64 n";
    const double numbers[] = {1, 2, 6};
    const int64_t count = 3;
    const char *shown;
    WeftContext *context;
    WeftProgram *program;
    WeftValue *xs, *mean;
    if (weft_context_new(NULL, &context) != WEFT_STATUS_OK) return 1;
    int failed =
        weft_program_from_source(context, "mean", text, strlen(text), &program) ||
        weft_value_new(context, WEFT_F64, 1, &count, numbers, &xs) ||
        weft_call(program, 0, &xs, 1, &mean, 1) || weft_value_text(mean, &shown);
    if (failed) fputs(weft_render(context, 0), stderr);
    else puts(shown);
    weft_context_free(context);
    return failed;
}
