// SPDX-License-Identifier: Apache-2.0
//
// weft doctor --selftest: small programs whose answers were worked out by hand or stand
// in tables, files written and read back, and errors that must be caught. Everything
// goes through include/weft.h, as it would in a user's program.
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor.h"

typedef struct Probe {
    const char *name, *source, *input;
    const char *expected; // the results, or a part of the message after "error: "
} Probe;

static const Probe probes[] = {
    {"integers",
     "def main (a: i32) (b: i32) (m: i32) =\n"
     "  (a + b, a - b, a * b, a / b, a % b, a // b, a %% b, m + 1, a ** 3)",
     "-7 2 2147483647",
     "-5i32 -9i32 -14i32 -4i32 1i32 -3i32 -1i32 -2147483648i32 "
     "-343i32"},
    {"bits",
     "def main (a: u8) (b: u8) =\n"
     "  (a & b, a | b, a ^ b, !a, a << 3, a >> 1, u8.popc a, u8.clz a)",
     "108 58", "40u8 126u8 86u8 147u8 96u8 54u8 4i32 1i32"},
    {"comparison",
     "def main (a: i64) (b: i64) =\n"
     "  [a < b, a <= b, a > b, a >= b, a == b, a != b, a < b && b < a, a < b || b < "
     "a,\n"
     "   !(a < b)]",
     "-1 1", "[true, true, false, false, false, true, false, true, false]"},
    {"conversion",
     "def main (a: i32) (x: f64) =\n"
     "  (i8.i32 a, u8.i32 (-1), i32.f64 x, f32.i32 16777217, f16.f64 0.1, bool.i32 2)",
     "300 -2.9", "44i8 255u8 -2i32 16777216.0f32 0.1f16 true"},
    {"floats",
     "def main (x: f64) (y: f32) (z: f16) =\n"
     "  (x + 0.2, y / 3, 1 / (x - x), -(x - x), (x - x) / (x - x), z * 2, f64.ceil x)",
     "0.1 1 65504",
     "0.30000000000000004f64 0.33333334f32 f64.inf -0.0f64 f64.nan f16.inf 1.0f64"},
    {"functions",
     "def main (x: f64) (y: f32) =\n"
     "  (f64.exp x, f64.log 10, f64.sin x, f64.cos x, f64.tan x, f64.atan2 x (-x),\n"
     "   f64.sqrt 2, f64.cbrt 27, 2 ** 0.5f64, f64.erf x, f64.gamma 5, f64.tanh x,\n"
     "   f64.hypot 3 4, f32.exp y, f32.sin y)",
     "1 1",
     "2.718281828459045f64 2.302585092994046f64 0.8414709848078965f64 "
     "0.5403023058681398f64 1.5574077246549023f64 2.356194490192345f64 "
     "1.4142135623730951f64 3.0f64 1.4142135623730951f64 0.8427007929497149f64 24.0f64 "
     "0.7615941559557649f64 5.0f64 2.7182817f32 0.84147096f32"},
    {"map", "def main (xs: []i32) = (map (** 2) xs, map2 (*) xs (reverse xs))",
     "[1, 2, 3, 4]", "[1i32, 4i32, 9i32, 16i32] [4i32, 6i32, 6i32, 4i32]"},
    {"reduce",
     "def main (n: i64) =\n"
     "  let xs = map (1 +) (iota n)\n"
     "  in (reduce (+) 0 xs, i64.minimum xs, i64.maximum xs, all (> 0) xs, any (> n) "
     "xs,\n"
     "      f64.sum (map (\\x -> 1 / f64.i64 (x * (x + 1))) (take 3 xs)))",
     "100", "5050i64 1i64 100i64 true false 0.75f64"},
    {"scan", "def main (xs: []i32) = (scan (+) 0 xs, scan i32.max i32.lowest xs)",
     "[3, 1, 4, 1, 5]",
     "[3i32, 4i32, 8i32, 9i32, 14i32] [3i32, 3i32, 4i32, 4i32, 5i32]"},
    {"filter",
     "def main (n: i64) =\n"
     "  let (small, large) = partition (< 4) (iota n)\n"
     "  in (filter (\\x -> x % 2 == 0) (iota n), small, large)",
     "7", "[0i64, 2i64, 4i64, 6i64] [0i64, 1i64, 2i64, 3i64] [4i64, 5i64, 6i64]"},
    {"scatter", "def main (is: []i64) (vs: []i32) = scatter (replicate 4 0i32) is vs",
     "[2, 0, 9] [7, 8, 9]", "[8i32, 0i32, 7i32, 0i32]"},
    {"histogram",
     "def main (is: []i64) (vs: []i32) =\n"
     "  reduce_by_index (replicate 3 0i32) (+) 0 is vs",
     "[0, 2, 0, 5] [1, 10, 100, 1000]", "[101i32, 0i32, 10i32]"},
    {"shapes",
     "def main (xs: [][]i32) =\n"
     "  (transpose xs, flatten xs, rotate 1 xs[0], xs[1, 1:] ++ xs[0, ::-1], length "
     "xs)",
     "[[1, 2, 3], [4, 5, 6]]",
     "[[1i32, 4i32], [2i32, 5i32], [3i32, 6i32]] [1i32, 2i32, 3i32, 4i32, 5i32, 6i32] "
     "[2i32, 3i32, 1i32] [5i32, 6i32, 3i32, 2i32, 1i32] 2i64"},
    {"matrices",
     "def main (a: [][]i32) (b: [][]i32) =\n"
     "  map (\\row -> map (\\column -> i32.sum (map2 (*) row column)) (transpose b)) a",
     "[[1, 2], [3, 4]] [[5, 6], [7, 8]]", "[[19i32, 22i32], [43i32, 50i32]]"},
    {"loops",
     "def main (a: i32) (b: i32) (n: i64) =\n"
     "  ((loop (x, y) = (a, b) while y != 0 do (y, x % y)).0,\n"
     "   (loop (x, steps) = (n, 0i32) while x != 1 do\n"
     "      (if x % 2 == 0 then x / 2 else 3 * x + 1, steps + 1)).1,\n"
     "   loop product = 1i64 for i in [2, 3, 5, 7] do product * i)",
     "1071 462 27", "21i32 111i32 210i64"},
    {"updates",
     "def main (xs: []i32) =\n"
     "  let ys = copy xs with [1] = 9\n"
     "  let zs = loop acc = copy xs for i < 3 do acc with [i] = acc[i] * 2\n"
     "  in (xs, ys, zs)",
     "[1, 2, 3]", "[1i32, 2i32, 3i32] [1i32, 9i32, 3i32] [2i32, 4i32, 6i32]"},
    {"sieve",
     "def main (n: i64) =\n"
     "  let is_prime p = p > 1 && all (\\d -> p % d != 0) (filter (> 1) (iota p))\n"
     "  in filter is_prime (iota n)",
     "20", "[2i64, 3i64, 5i64, 7i64, 11i64, 13i64, 17i64, 19i64]"},
    {"records",
     "type shape = #square i32 | #box {width: i32, height: i32}\n"
     "def area (s: shape) = match s case #square a -> a * a\n"
     "                              case #box b -> b.width * b.height\n"
     "def main (a: i32) = (area (#square a), area (#box {width = a, height = 5}),\n"
     "                     {x = a, y = (true, #square a : shape)})",
     "3", "9i32 15i32 {x = 3i32, y = (true, #square 3i32)}"},
    {"modules",
     "module type number = { type t val one: t val add: t -> t -> t }\n"
     "module count (n: number) = { def twice = n.add n.one n.one }\n"
     "module whole = count { type t = i32 def one = 1i32 def add (a: t) b = a + b }\n"
     "module real = count { type t = f64 def one = 1f64 def add (a: t) b = a + b }\n"
     "def apply 'a (f: a -> a) (n: i64) (x: a) = loop x for _i < n do f x\n"
     "def main (n: i64) = (whole.twice, real.twice, apply (* 3i32) n 1)",
     "4", "2i32 2.0f64 81i32"},
    {"text", "def main (s: []u8) = (s == \"abc\", map (\\c -> c - 'a') s)", "\"abc\"",
     "true [0u8, 1u8, 2u8]"},
    {"outside", "def main (xs: []i32) (i: i64) = xs[i]", "[1, 2, 3] 3",
     "error: index 3 is outside [0, 3)"},
    {"zero", "def main (a: i32) = 1 / a", "0", "error: division by zero"},
    {"assertion", "def main (a: i32) = assert (a > 0) a", "-1", "error: assertion"},
    {"types", "def main (a: i32) = a + true", "1", "error: expected i32, found bool"},
    {"sizes", "def main (n: i64) = map2 (+) (iota n) (iota (n + 1) :> [n]i64)", "2",
     "error: size mismatch"},
    {"names", "def main (a: i32) = reduec (+) 0 [a]", "1", "error: unknown name"},
    {"syntax", "def main (a: i32) = (a +", "1", "error: expected an operand"},
    {"value", "def main (a: u8) = a", "256", "error: `256` does not fit in a u8"},
    {"memory", "def main (ns: []i64) = i64.sum (scan (+) 0 (iota ns[0]))", "[100000000]",
     "error: out of memory"},
};

enum { CEILING = 64 << 20 }; // bytes

static void check(SelfTest *tally, const char *name, const char *expected,
                  const char *found) {
    static const char error[] = "error: ";
    size_t skip = strncmp(expected, error, strlen(error)) == 0 ? strlen(error) : 0;
    bool is_same = skip == 0 ? strcmp(found, expected) == 0
                             : strncmp(found, error, skip) == 0 &&
                                   strstr(found, expected + skip) != NULL;
    if (is_same) {
        tally->passed++;
        return;
    }
    tally->failed++;
    fprintf(stderr, "FAIL self-test: %s\n  expected: %s\n  found:    %s\n", name,
            expected, found);
}

// ---- programs -----------------------------------------------------------------------

// Appends the results as texts with a blank between.
static void show(WeftValue *const *results, size_t count, FILE *out) {
    const char *text;
    for (size_t i = 0; i < count; i++)
        if (weft_value_text(results[i], &text) == WEFT_STATUS_OK)
            fprintf(out, "%s%s", i > 0 ? " " : "", text);
}

static WeftStatus run_probe(WeftContext *context, const Probe *probe, FILE *out) {
    enum { MOST = 16 }; // parameters or results
    WeftProgram *program;
    WeftValue *args[MOST], *results[MOST];
    WeftStatus status = weft_program_from_source(context, probe->name, probe->source,
                                                 strlen(probe->source), &program);
    if (status != WEFT_STATUS_OK) return status;
    size_t arg_count = weft_entry_parameter_count(program, 0);
    size_t count = weft_entry_result_count(program, 0);
    if (arg_count > MOST || count > MOST) return WEFT_STATUS_USAGE;
    status = weft_values_read(program, 0, "input", probe->input, strlen(probe->input),
                              args, arg_count);
    if (status != WEFT_STATUS_OK) return status;
    status = weft_call(program, 0, args, arg_count, results, count);
    if (status == WEFT_STATUS_OK) show(results, count, out);
    return status;
}

static void check_program(SelfTest *tally, const Probe *probe) {
    char *found;
    size_t len;
    FILE *out = open_memstream(&found, &len);
    if (out == NULL) cli_no_memory();
    WeftContext *context = cli_context((WeftOptions){.memory_ceiling = CEILING});
    if (run_probe(context, probe, out) != WEFT_STATUS_OK)
        fprintf(out, "error: %s", weft_message(context));
    fclose(out);
    check(tally, probe->name, probe->expected, found);
    free(found);
    cli_close(context);
}

static void check_cancel(SelfTest *tally) {
    static const Probe endless = {
        .name = "cancel",
        .source = "def main (x: i64) = loop x while x < 1 do x - 1",
        .input = "0",
    };
    WeftContext *context = cli_context((WeftOptions){0});
    weft_cancel(context);
    WeftStatus status = run_probe(context, &endless, stderr);
    check(tally, endless.name, weft_status_text(WEFT_STATUS_CANCELLED),
          weft_status_text(status));
    cli_close(context);
}

// ---- files --------------------------------------------------------------------------

typedef struct FileProbe {
    const char *name, *type; // of random numbers that the file can hold
} FileProbe;

static const FileProbe file_probes[] = {
    {"x.npy", "[3][4]f16"}, {"x.png", "[5][7][3]u8"}, {"x.csv", "[4][3]f64"},
    {"x.bin", "[2][3]i64"}, {"x.out", "[6]u32"},      {"x.txt", "[100]u8"},
};

static void check_file(SelfTest *tally, WeftContext *context, const char *folder,
                       const FileProbe *probe) {
    char path[4096];
    WeftValue *written, *read = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, probe->name);
    bool is_good =
        weft_value_random(context, probe->type, 1, &written) == WEFT_STATUS_OK &&
        weft_value_to_file(written, path) == WEFT_STATUS_OK;
    if (is_good) is_good = weft_value_from_file(context, path, &read) == WEFT_STATUS_OK;
    const char *found = is_good ? "read back as written" : weft_message(context);
    int is_equal = 0;
    if (is_good) weft_value_equal(read, written, 0, &is_equal);
    if (is_good && !is_equal) found = "another value";
    check(tally, probe->name, "read back as written", found);
    unlink(path);
}

static void check_files(SelfTest *tally) {
    char folder[4000];
    snprintf(folder, sizeof folder, "%s/weft-XXXXXX", doctor_temporary());
    if (mkdtemp(folder) == NULL) {
        check(tally, folder, "a folder for files", strerror(errno));
        return;
    }
    WeftContext *context = cli_context((WeftOptions){0});
    for (size_t i = 0; i < sizeof file_probes / sizeof file_probes[0]; i++)
        check_file(tally, context, folder, &file_probes[i]);
    cli_close(context);
    rmdir(folder);
}

// -------------------------------------------------------------------------------------

SelfTest doctor_selftest(void) {
    SelfTest tally = {0};
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++)
        check_program(&tally, &probes[i]);
    check_cancel(&tally);
    check_files(&tally);

    return tally;
}
