// SPDX-License-Identifier: Apache-2.0
//
// What a context tells while it works: how far a call is, and notes on what was done.
#include <stdio.h>

#include "api/api.h"
#include "base/clock.h"

bool api_is_progress_due(const WeftContext *context) {
    const double pause = 0.1;
    return context->options.progress != NULL &&
           clock_seconds() - context->told >= pause;
}

void api_progress(WeftContext *context, const WeftProgress *progress) {
    WeftProgress told = *progress;
    context->told = clock_seconds();
    told.seconds = context->told - context->began;
    context->options.progress(context->options.data, &told);
}

// Allocates nothing, so that a call that has succeeded can still say so.
static void tell(WeftContext *context, WeftSeverity severity, const char *format,
                 va_list args) {
    char text[1000];
    if (context->options.log == NULL) return;
    vsnprintf(text, sizeof text, format, args);
    context->options.log(context->options.data, severity, text);
}

void api_note(WeftContext *context, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell(context, WEFT_SEVERITY_NOTE, format, args);
    va_end(args);
}

void api_warn(WeftContext *context, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell(context, WEFT_SEVERITY_WARNING, format, args);
    va_end(args);
}

double api_seconds(const WeftContext *context) {
    return clock_seconds() - context->began;
}

void api_progress_at(const WeftProgram *program, CoreLoc loc, double fraction) {
    WeftProgress progress = {.activity = "running", .fraction = fraction};
    const CorePlace *at = api_place(program->core, loc);
    Place place = {0};
    if (at != NULL) place = sources_place(&program->core->cx->sources, at->span.start);
    if (place.source != NULL) {
        progress.file = place.source->name.ptr;
        progress.line = place.line;
    }
    api_progress(program->context, &progress);
}
