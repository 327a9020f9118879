// SPDX-License-Identifier: Apache-2.0
//
// What weft doctor looks at: /proc, /sys, the compiler and the devices, the folders
// that are written to, and whether a program runs. A fact that this system does not
// tell is left out.
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor.h"

// ---- noting -------------------------------------------------------------------------

static Finding *note(Findings *findings, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static Finding *note(Findings *findings, const char *name, const char *format, ...) {
    size_t size = (findings->len + 1) * sizeof *findings->data;
    findings->data = cli_resize(findings->data, size);
    Finding *finding = &findings->data[findings->len++];
    *finding = (Finding){.name = name};
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    finding->found = cli_alloc((size_t)len + 1);
    va_start(args, format);
    vsnprintf(finding->found, (size_t)len + 1, format, args);
    va_end(args);
    return finding;
}

// Copies what follows the key and its separator on the first line of the file that
// begins so (an empty key: the first line), without quotes; false if there is none.
static bool find_line(const char *path, const char *key, char *out, size_t size) {
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    char line[8192];
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        size_t len = strlen(key);
        if (strncmp(line, key, len) != 0) continue;
        char *text = line + len;
        text += strspn(text, " \t:=\"");
        text[strcspn(text, "\"\n")] = '\0';
        snprintf(out, size, "%s", text);
        found = true;
    }
    fclose(file);
    return found;
}

// ---- the machine --------------------------------------------------------------------

static void examine_system(Findings *findings) {
    struct utsname system;
    char name[256];
    if (uname(&system) != 0) return;
    if (!find_line("/etc/os-release", "PRETTY_NAME", name, sizeof name))
        strcpy(name, "unknown distribution");
    note(findings, "system", "%s, %s %s, %s", name, system.sysname, system.release,
         system.machine);
}

// The features that matter for arrays, of those in a list of words.
static void pick_features(const char *words, char *out, size_t size) {
    static const char *const known[] = {"sse4_2",   "avx",      "avx2",    "fma",
                                        "f16c",     "bmi2",     "avx512f", "avx512dq",
                                        "avx512bw", "avx512vl", "asimd",   "asimdhp",
                                        "sve",      "sve2",     "v"};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t len = strlen(known[i]);
        const char *at = words;
        while ((at = strstr(at, known[i])) != NULL) {
            bool begins = at == words || at[-1] == ' ';
            if (begins && (at[len] == ' ' || at[len] == '\0')) break;
            at += len;
        }
        if (at != NULL && used < size)
            used += (size_t)snprintf(out + used, size - used, " %s", known[i]);
    }
}

static void examine_processor(Findings *findings, WeftContext *context) {
    WeftDevice device = {.struct_size = sizeof device};
    char words[8192] = "", features[256];
    if (weft_device_info(context, 0, &device) != WEFT_STATUS_OK) return;
    if (!find_line("/proc/cpuinfo", "flags", words, sizeof words))
        find_line("/proc/cpuinfo", "Features", words, sizeof words);
    pick_features(words, features, sizeof features);
    note(findings, "processor", "%s, %u core%s%s%s", device.name, device.cores,
         device.cores == 1 ? "" : "s", features[0] != '\0' ? ":" : "", features);
    char text[64];
    double gib = 1 << 30, available = 0;
    if (find_line("/proc/meminfo", "MemAvailable", text, sizeof text))
        available = strtod(text, NULL) * 1024;
    note(findings, "memory", "%.1f GiB, %.1f GiB of it available",
         (double)device.memory / gib, available / gib);
}

static void examine_caches(Findings *findings) {
    char text[256] = "";
    size_t used = 0;
    for (int i = 0; i < 8; i++) {
        char path[96], type[32], level[16], size[32];
        static const char folder[] = "/sys/devices/system/cpu/cpu0/cache/index";
        snprintf(path, sizeof path, "%s%d/type", folder, i);
        if (!find_line(path, "", type, sizeof type)) break;
        if (strcmp(type, "Instruction") == 0) continue;
        snprintf(path, sizeof path, "%s%d/level", folder, i);
        if (!find_line(path, "", level, sizeof level)) continue;
        snprintf(path, sizeof path, "%s%d/size", folder, i);
        if (!find_line(path, "", size, sizeof size)) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%sL%s %s",
                                 used > 0 ? ", " : "", level, size);
    }
    if (used > 0) note(findings, "caches", "%s", text);
}

// ---- what native code and devices need ----------------------------------------------

static void examine_compiler(Findings *findings) {
    // The compiler may be several words, as in WEFT_CC="ccache gcc".
    static const char script[] = "for c in \"$WEFT_CC\" cc gcc clang; do\n"
                                 "  set -- $c; [ $# = 0 ] && continue\n"
                                 "  command -v \"$1\" && \"$@\" --version && exit\n"
                                 "  [ \"$c\" = \"$WEFT_CC\" ] && exit 1\n"
                                 "done 2>/dev/null; exit 1";
    static const char use[] = "compiling programs to native code";
    char path[4096] = "", version[256] = "";
    fflush(stdout);
    FILE *found = popen(script, "r");
    if (found != NULL) {
        if (fgets(path, sizeof path, found) == NULL) path[0] = '\0';
        if (fgets(version, sizeof version, found) == NULL) version[0] = '\0';
        for (char rest[256]; fgets(rest, sizeof rest, found) != NULL;) continue;
        pclose(found);
    }
    path[strcspn(path, "\n")] = version[strcspn(version, "\n")] = '\0';
    const char *chosen = getenv("WEFT_CC");
    Finding *finding;
    if (version[0] != '\0') {
        finding = note(findings, "compiler", "%s: %s", path, version);
    } else if (chosen != NULL && chosen[0] != '\0') {
        finding = note(findings, "compiler", "WEFT_CC=%s does not run", chosen);
        finding->verdict = DOCTOR_MISSING;
        finding->remedy = "set WEFT_CC to the command of a C compiler, or to nothing";
    } else {
        finding = note(findings, "compiler", "no cc, gcc or clang");
        finding->verdict = DOCTOR_MISSING;
        finding->remedy =
            "the Debian package gcc, or any C compiler: set WEFT_CC to it";
    }
    finding->use = use;
}

// A kind of GPU: what there is of it, and how to get it if that is nothing.
static void examine_devices(Findings *findings, WeftContext *context,
                            WeftDeviceKind kind, Finding missing) {
    bool is_there = false;
    size_t count = weft_device_count(context);
    for (size_t i = 1; i < count; i++) {
        WeftDevice device = {.struct_size = sizeof device};
        if (weft_device_info(context, i, &device) != WEFT_STATUS_OK) break;
        if (device.kind != kind) continue;
        is_there = true;
        Finding *finding;
        if (device.cannot == NULL) {
            finding = note(findings, missing.name, "%s: %s, %s", device.address,
                           device.name, device.driver);
        } else {
            finding = note(findings, missing.name, "%s: %s%s%s", device.address,
                           device.name != NULL ? device.name : "",
                           device.name != NULL ? ": " : "", device.cannot);
            finding->verdict = DOCTOR_MISSING;
            if (device.name == NULL) finding->remedy = missing.remedy;
        }
        finding->use = missing.use;
    }
    if (is_there) return;
    Finding *finding = note(findings, missing.name, "none");
    finding->verdict = DOCTOR_MISSING;
    finding->use = missing.use;
    finding->remedy = missing.remedy;
}

static void examine_drivers(Findings *findings, WeftContext *context) {
    static const Finding opencl = {
        .name = "opencl",
        .use = "GPUs and other devices through OpenCL",
        .remedy =
            "the Debian packages ocl-icd-libopencl1 and the device's driver "
            "(pocl-opencl-icd\n                         for the processor itself)",
    };
    static const Finding cuda = {
        .name = "cuda",
        .use = "GPUs of NVIDIA",
        .remedy = "NVIDIA's driver for the GPU (libcuda.so.1), and NVRTC (libnvrtc.so) "
                  "of its CUDA\n                         toolkit",
    };
    cli_try_drivers("doctor");
    examine_devices(findings, context, WEFT_DEVICE_OPENCL, opencl);
    examine_devices(findings, context, WEFT_DEVICE_CUDA, cuda);
}

// ---- folders and terminal -----------------------------------------------------------

const char *doctor_temporary(void) {
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

static void examine_temporary(Findings *findings) {
    const char *folder = doctor_temporary();
    if (access(folder, W_OK | X_OK) == 0) {
        note(findings, "temporary", "%s can be written to", folder);
        return;
    }
    Finding *finding = note(findings, "temporary", "%s cannot be written to: %s",
                            folder, strerror(errno));
    finding->verdict = DOCTOR_MISSING;
    finding->use = "temporary files";
    finding->remedy = "set TMPDIR to a folder that you may write to";
}

// A folder that is not there yet can be made where its parent can be written to.
static void examine_cache(Findings *findings) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool is_set = base != NULL && base[0] != '\0';
    char folder[4096], *slash;
    if (is_set) snprintf(folder, sizeof folder, "%s/weft", base);
    else snprintf(folder, sizeof folder, "%s/.cache/weft", home != NULL ? home : "");
    char shown[sizeof folder];
    strcpy(shown, folder);
    while (access(folder, F_OK) != 0 && (slash = strrchr(folder, '/')) != NULL) {
        slash[slash == folder] = '\0';
        if (slash == folder) break;
    }
    if (access(folder, W_OK | X_OK) == 0) {
        note(findings, "cache", "%s can be written to", shown);
        return;
    }
    Finding *finding =
        note(findings, "cache", "%s cannot be written to: %s", shown, strerror(errno));
    finding->verdict = DOCTOR_MISSING;
    finding->use = "keeping compiled code";
    finding->remedy = "set XDG_CACHE_HOME to a folder that you may write to";
}

static void examine_terminal(Findings *findings) {
    struct winsize size;
    if (!isatty(STDERR_FILENO))
        note(findings, "terminal", "messages do not go to one: no colour, no progress");
    else
        note(findings, "terminal", "%u columns, %s",
             ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 80,
             cli_colour() ? "colour" : "no colour");
}

// ---- Weft itself --------------------------------------------------------------------

static void examine_build(Findings *findings) {
#ifdef NDEBUG
    const char *kind = "for release";
#else
    const char *kind = "with assertions";
#endif
#ifdef __clang__
    const char *compiler = "";
#else
    const char *compiler = "GCC ";
#endif
    note(findings, "build", "%s, by %s%s", kind, compiler, __VERSION__);
}

static void examine_run(Findings *findings, WeftContext *context) {
    static const char text[] = "def main = i64.sum (map (** 2) (iota 5))";
    WeftProgram *program;
    WeftValue *result;
    const char *found;
    if (weft_program_from_source(context, "doctor", text, strlen(text), &program) ==
            WEFT_STATUS_OK &&
        weft_call(program, 0, NULL, 0, &result, 1) == WEFT_STATUS_OK &&
        weft_value_text(result, &found) == WEFT_STATUS_OK &&
        strcmp(found, "30i64") == 0) {
        note(findings, "programs", "compile and run");
        return;
    }
    Finding *finding =
        note(findings, "programs", "do not run: %s", weft_message(context));
    finding->verdict = DOCTOR_WRONG;
    finding->remedy = "build Weft anew: make clean all";
}

void doctor_examine(Findings *findings) {
    WeftContext *context = cli_context((WeftOptions){0});
    examine_build(findings);
    examine_system(findings);
    examine_processor(findings, context);
    examine_caches(findings);
    examine_compiler(findings);
    examine_drivers(findings, context);
    examine_cache(findings);
    examine_temporary(findings);
    examine_terminal(findings);
    examine_run(findings, context);
    cli_close(context);
}
