// SPDX-License-Identifier: Apache-2.0
// Checks Weft's elementary functions against MPFR: the largest error in ulp of every
// function and type over special values, boundaries, random bit patterns and random
// points of the interesting range; fails where a bound or a special value is missed.
// Answers come from `weft run -b PROGRAM ENTRY` (the default) or, for the translated
// library (tools/math/weft2c.py), from a shared object (--so).  One child per function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 1 << 18 };

typedef int (*Unary)(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int (*Binary)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

typedef struct {
    const char *name;
    Unary unary; // exactly one of unary and binary is set
    Binary binary;
    double (*quick)(double); // a libm double, good enough to clear most f32 points
    double lo64, hi64;       // the interesting range, for f64 and for f32
    double lo32, hi32;
    double flat; // for x < 0 errors are in ulp of max(|result|, flat)
} Function;

typedef struct {
    const char *command, *program; // how to run Weft, or
    void *so;                      // the prototypes
    long points;
    bool every;
    const char *only, *type;
    int jobs;
} Options;

static int ref_lgamma(mpfr_t r, const mpfr_t x, mpfr_rnd_t d) {
    int sign;
    return mpfr_lgamma(r, &sign, x, d);
}

// MPFR follows IEEE 754's rSqrt, 1/sqrt(-0) = -inf; its own function returns +inf.
static int ref_rsqrt(mpfr_t r, const mpfr_t x, mpfr_rnd_t d) {
    if (mpfr_zero_p(x)) {
        mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
        return 0;
    }
    return mpfr_rec_sqrt(r, x, d);
}

// Doubles near enough to tell that a float is within its bound.
static double quick_rsqrt(double x) {
    return 1.0 / sqrt(x);
}

static double quick_sinpi(double x) {
    double n = rint(x);
    return sin(M_PI * (x - n)) * (fmod(n, 2) != 0 ? -1.0 : 1.0);
}

static double quick_cospi(double x) {
    return cos(M_PI * fmod(x, 2));
}
static double quick_tanpi(double x) {
    return tan(M_PI * (x - rint(x)));
}
static double quick_asinpi(double x) {
    return asin(x) / M_PI;
}
static double quick_acospi(double x) {
    return acos(x) / M_PI;
}
static double quick_atanpi(double x) {
    return atan(x) / M_PI;
}

static const Function functions[] = {
    {"exp", mpfr_exp, 0, exp, -746, 710, -104, 89, 0},
    {"exp2", mpfr_exp2, 0, exp2, -1076, 1025, -151, 129, 0},
    {"exp10", mpfr_exp10, 0, exp10, -324, 309, -46, 39, 0},
    {"expm1", mpfr_expm1, 0, expm1, -40, 710, -20, 89, 0},
    {"log", mpfr_log, 0, log, 0.25, 4, 0.25, 4, 0},
    {"log2", mpfr_log2, 0, log2, 0.25, 4, 0.25, 4, 0},
    {"log10", mpfr_log10, 0, log10, 0.25, 4, 0.25, 4, 0},
    {"log1p", mpfr_log1p, 0, log1p, -1, 3, -1, 3, 0},
    {"sqrt", mpfr_sqrt, 0, sqrt, 0, 4, 0, 4, 0},
    {"rsqrt", ref_rsqrt, 0, quick_rsqrt, 0, 4, 0, 4, 0},
    {"cbrt", mpfr_cbrt, 0, cbrt, -8, 8, -8, 8, 0},
    {"pow", 0, mpfr_pow, 0, 0, 30, 0, 30, 0},
    {"hypot", 0, mpfr_hypot, 0, -4, 4, -4, 4, 0},
    {"sin", mpfr_sin, 0, sin, -100, 100, -100, 100, 0},
    {"cos", mpfr_cos, 0, cos, -100, 100, -100, 100, 0},
    {"tan", mpfr_tan, 0, tan, -100, 100, -100, 100, 0},
    {"asin", mpfr_asin, 0, asin, -1, 1, -1, 1, 0},
    {"acos", mpfr_acos, 0, acos, -1, 1, -1, 1, 0},
    {"atan", mpfr_atan, 0, atan, -4, 4, -4, 4, 0},
    {"atan2", 0, mpfr_atan2, 0, -4, 4, -4, 4, 0},
    {"sinpi", mpfr_sinpi, 0, quick_sinpi, -4, 4, -4, 4, 0},
    {"cospi", mpfr_cospi, 0, quick_cospi, -4, 4, -4, 4, 0},
    {"tanpi", mpfr_tanpi, 0, quick_tanpi, -4, 4, -4, 4, 0},
    {"asinpi", mpfr_asinpi, 0, quick_asinpi, -1, 1, -1, 1, 0},
    {"acospi", mpfr_acospi, 0, quick_acospi, -1, 1, -1, 1, 0},
    {"atanpi", mpfr_atanpi, 0, quick_atanpi, -4, 4, -4, 4, 0},
    {"atan2pi", 0, mpfr_atan2pi, 0, -4, 4, -4, 4, 0},
    {"sinh", mpfr_sinh, 0, sinh, -711, 711, -90, 90, 0},
    {"cosh", mpfr_cosh, 0, cosh, -711, 711, -90, 90, 0},
    {"tanh", mpfr_tanh, 0, tanh, -20, 20, -10, 10, 0},
    {"asinh", mpfr_asinh, 0, asinh, -4, 4, -4, 4, 0},
    {"acosh", mpfr_acosh, 0, acosh, 1, 4, 1, 4, 0},
    {"atanh", mpfr_atanh, 0, atanh, -1, 1, -1, 1, 0},
    {"erf", mpfr_erf, 0, erf, -6, 6, -4, 4, 0},
    {"erfc", mpfr_erfc, 0, erfc, -6, 27.5, -4, 10.1, 0},
    {"gamma", mpfr_gamma, 0, tgamma, -185, 172, -43, 36, 0},
    {"lgamma", ref_lgamma, 0, lgamma, -20, 20, -20, 20, 1},
};
enum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };

// ---- Exact expectations -------------------------------------------------------

typedef struct {
    const char *name;
    double x, y, want; // a NaN in want means any NaN
} Special;

#define INF INFINITY
static const Special specials[] = {
#include "specials.def"
};
enum { N_SPECIALS = sizeof specials / sizeof specials[0] };

// ---- Floats of either width ---------------------------------------------------

typedef struct {
    const char *name;
    size_t size;
    int mant, min_exp; // precision; the exponent of the least subnormal
    int max_exp;       // finite values are below 2^max_exp
    double bound;      // allowed error in ulp
} Format;

static const Format f64_format = {"f64", 8, 53, -1074, 1024, 1.5};
static const Format f32_format = {"f32", 4, 24, -149, 128, 1.0};

static double load(const Format *f, const void *data, size_t i) {
    double d;
    float s;
    if (f->size == 8) {
        memcpy(&d, (const char *)data + 8 * i, 8);
        return d;
    }
    memcpy(&s, (const char *)data + 4 * i, 4);
    return (double)s;
}

static void store(const Format *f, void *data, size_t i, double v) {
    float s = (float)v;
    memcpy((char *)data + f->size * i, f->size == 8 ? (void *)&v : (void *)&s, f->size);
}

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_bits(void) {
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double random_pattern(const Format *f) {
    uint64_t bits = random_bits();
    double v;
    float s;
    if (f->size == 8) {
        memcpy(&v, &bits, 8);
        return v;
    }
    uint32_t half = (uint32_t)bits;
    memcpy(&s, &half, 4);
    return (double)s;
}

static double random_between(double lo, double hi) {
    return lo + (hi - lo) * ((double)(random_bits() >> 11) * 0x1p-53);
}

// ---- Inputs -------------------------------------------------------------------

// Values where something changes: powers of two, small integers and halves,
// quotients of pi, the ends of the range; each with its neighbours.
static size_t boundary_count(void) {
    return 5 * (64 + 200 + 100 + 20);
}

static double boundary(const Function *fn, const Format *f, size_t i) {
    size_t group = i / 5;
    double v;
    if (group < 64) v = ldexp(1.0, (int)group - 32);
    else if (group < 264) v = 0.5 * ((double)group - 164.0);
    else if (group < 364) v = ((double)group - 314.0) * 0x1.921fb54442d18p-1;
    else {
        double lo = f->size == 8 ? fn->lo64 : fn->lo32;
        double hi = f->size == 8 ? fn->hi64 : fn->hi32;
        const double ends[20] = {
            lo,
            hi,
            0,
            -0.0,
            INF,
            -INF,
            NAN,
            ldexp(1.0, f->min_exp),
            ldexp(1.0, f->min_exp + f->mant - 1),
            ldexp(1.0 - ldexp(1.0, -f->mant), f->max_exp),
            -ldexp(1.0 - ldexp(1.0, -f->mant), f->max_exp),
            0x1.6ac5b262ca1ffp+849, // the double nearest to a multiple of pi/2
            0.693,
            1.442,
            88.72284,
            -103.97208,
            709.782712893384,
            -745.1332191019411,
            171.62437695630271,
            35.040096};
        v = ends[group - 364];
    }
    int step = (int)(i % 5) - 2;
    if (f->size == 4) {
        float s = (float)v;
        for (; step > 0; step--) s = nextafterf(s, INFINITY);
        for (; step < 0; step++) s = nextafterf(s, -INFINITY);
        return (double)s;
    }
    for (; step > 0; step--) v = nextafter(v, INF);
    for (; step < 0; step++) v = nextafter(v, -INF);
    return v;
}

static double one_input(const Function *fn, const Format *f, size_t i) {
    double lo = f->size == 8 ? fn->lo64 : fn->lo32;
    double hi = f->size == 8 ? fn->hi64 : fn->hi32;
    if (i < boundary_count()) return boundary(fn, f, i);
    switch (i % 4) {
    case 0: return random_pattern(f);
    case 1: // every magnitude from 2^-40 to 2^40 alike, both signs
        return ldexp(random_between(1, 2), (int)(random_bits() % 80) - 40) *
               (random_bits() & 1 ? 1.0 : -1.0);
    default: return random_between(lo, hi);
    }
}

static void two_inputs(const Function *fn, const Format *f, size_t i, double *x,
                       double *y) {
    const double least = ldexp(1.0, f->min_exp);
    const double most = ldexp(1.0 - ldexp(1.0, -f->mant), f->max_exp);
    const double all[20] = {0.0,    -0.0, INF,   -INF, NAN,   1,    -1,
                            0.5,    -0.5, 2,     -2,   3,     -3,   least,
                            -least, most, -most, 1e10, -1e10, 1e-10};
    size_t n = boundary_count();
    bool is_pow = !strcmp(fn->name, "pow");
    if (i < 400) {
        *x = all[i / 20];
        *y = all[i % 20];
    } else if (i < n && i % 4 != 3) {
        *x = boundary(fn, f, random_bits() % n);
        *y = boundary(fn, f, random_bits() % n);
    } else if (i % 4 == 0) {
        *x = random_pattern(f);
        *y = is_pow && i % 8 == 0 ? all[5 + i / 8 % 8] : random_pattern(f);
    } else if (i % 4 == 1) { // comparable magnitudes; for pow a result in range
        *x = fabs(random_pattern(f));
        double far = (double)f->max_exp / fabs(log2(*x)) * random_between(-1.1, 1.1);
        double near = *x * ldexp(random_between(-1, 1), (int)(random_bits() % 8));
        *y = is_pow ? far : near;
    } else if (i % 4 == 2 && is_pow) { // near one
        *x = 1.0 + ldexp(random_between(-1, 1), -(int)(random_bits() % 20));
        *y = (double)f->max_exp / fabs(log2(*x)) * random_between(-1.1, 1.1);
    } else {
        *x = random_between(f->size == 8 ? fn->lo64 : fn->lo32, fn->hi64);
        *y = random_between(f->size == 8 ? fn->lo64 : fn->lo32, fn->hi64);
    }
}

// ---- Answers ------------------------------------------------------------------

static void write_array(FILE *to, const Format *f, const void *data, size_t n) {
    const unsigned char head[3] = {'b', 2, 1};
    uint64_t dim = n;
    fwrite(head, 1, 3, to);
    fwrite(f->size == 8 ? " f64" : " f32", 1, 4, to);
    fwrite(&dim, 8, 1, to);
    fwrite(data, f->size, n, to);
}

static void answer_by_weft(const Options *o, const Function *fn, const Format *f,
                           const void *x, const void *y, void *out, size_t n) {
    char in_path[] = "/tmp/mpfr_check_in.XXXXXX", command[4096], head[15];
    int fd = mkstemp(in_path);
    FILE *to = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!to) {
        perror("mpfr_check: temporary file");
        exit(2);
    }
    write_array(to, f, x, n);
    if (fn->binary) write_array(to, f, y, n);
    fclose(to);
    snprintf(command, sizeof command, "%s run -b %s %s_%s < %s", o->command, o->program,
             fn->name, f->name, in_path);
    FILE *from = popen(command, "r");
    uint64_t dim = 0;
    // A header is b, version, rank, type and one length; blanks may precede it.
    int c = from ? getc(from) : EOF;
    while (c == '\n' || c == ' ') c = getc(from);
    bool ok = c == 'b' && fread(head, 1, 6, from) == 6 &&
              fread(&dim, 8, 1, from) == 1 && dim == n &&
              fread(out, f->size, n, from) == n;
    if ((from && pclose(from)) || !ok) {
        fprintf(stderr, "mpfr_check: no answer from: %s\n", command);
        unlink(in_path);
        exit(2);
    }
    unlink(in_path);
}

static void answer_by_so(const Options *o, const Function *fn, const Format *f,
                         const void *x, const void *y, void *out, size_t n) {
    union {
        void *any;
        double (*d1)(double);
        double (*d2)(double, double);
        float (*s1)(float);
        float (*s2)(float, float);
    } u;
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s_%s", f->name, fn->name);
    u.any = dlsym(o->so, symbol);
    const double *dx = x, *dy = y;
    const float *sx = x, *sy = y;
    double *dout = out;
    float *sout = out;
    if (!u.any) {
        printf("%-8s %s  missing\n", fn->name, f->name);
        exit(3);
    }
    for (size_t i = 0; i < n; i++) {
        if (f->size == 8) dout[i] = fn->binary ? u.d2(dx[i], dy[i]) : u.d1(dx[i]);
        else sout[i] = fn->binary ? u.s2(sx[i], sy[i]) : u.s1(sx[i]);
    }
}

// ---- Judging ------------------------------------------------------------------

typedef struct {
    mpfr_t x, y, ref, err;
    double worst, worst_x, worst_y, got;
    long wrong; // NaN, sign or special value missed
} Judge;

static void report_wrong(Judge *j, const Function *fn, const Format *f, double x,
                         double y, double got, double want) {
    if (j->wrong++ < 8)
        printf("%-8s %s  wrong: f(%a, %a) = %a, should be %a\n", fn->name, f->name, x,
               fn->binary ? y : 0.0, got, want);
}

// The error of got against j->ref, in ulp of the format.
static double ulp_error(Judge *j, const Format *f, double flat, double got) {
    mpfr_exp_t e = f->min_exp + f->mant; // 0.5 * 2^e <= |ref| < 2^e
    if (!mpfr_zero_p(j->ref) && mpfr_get_exp(j->ref) > e) e = mpfr_get_exp(j->ref);
    if (flat > 0 && e < ilogb(flat) + 1) e = ilogb(flat) + 1;
    if (isinf(got)) { // stands for the first value out of range
        mpfr_set_ui_2exp(j->err, 1, f->max_exp, MPFR_RNDN);
        mpfr_setsign(j->err, j->err, got < 0, MPFR_RNDN);
        bool beyond =
            mpfr_cmpabs(j->ref, j->err) >= 0 && mpfr_sgn(j->ref) == mpfr_sgn(j->err);
        if (beyond) return 0;
        if (e > f->max_exp) e = f->max_exp;
        mpfr_sub(j->err, j->err, j->ref, MPFR_RNDN);
    } else {
        if (e > f->max_exp) e = f->max_exp;
        mpfr_d_sub(j->err, got, j->ref, MPFR_RNDN);
    }
    mpfr_mul_2si(j->err, j->err, f->mant - e, MPFR_RNDN);
    return fabs(mpfr_get_d(j->err, MPFR_RNDA));
}

// Whether a float is within its bound, and no new worst, by a double near the truth.
static bool clearly_good(const Judge *j, const Format *f, double got, double near) {
    if (isnan(got) || isnan(near)) return isnan(got) && isnan(near);
    if (!signbit(got) != !signbit(near)) return false;
    if (isinf(got)) return fabs(near) >= 0x1p128;
    int e = near != 0 ? ilogb(near) - f->mant + 1 : f->min_exp;
    double err = fabs(got - near) / ldexp(1.0, e > f->min_exp ? e : f->min_exp);
    return err < j->worst && err < f->bound - 0.02;
}

static void judge_point(Judge *j, const Function *fn, const Format *f, double x,
                        double y, double got) {
    if (fn->quick && f->size == 4 && clearly_good(j, f, got, fn->quick(x))) return;
    mpfr_set_d(j->x, x, MPFR_RNDN);
    mpfr_set_d(j->y, y, MPFR_RNDN);
    if (fn->unary) fn->unary(j->ref, j->x, MPFR_RNDN);
    else fn->binary(j->ref, j->x, j->y, MPFR_RNDN);
    if (mpfr_nan_p(j->ref) || isnan(got)) {
        if (!mpfr_nan_p(j->ref) || !isnan(got))
            report_wrong(j, fn, f, x, y, got, mpfr_get_d(j->ref, MPFR_RNDN));
        return;
    }
    double flat = x < 0 ? fn->flat : 0;
    if (!signbit(got) != !mpfr_signbit(j->ref) && flat == 0) {
        report_wrong(j, fn, f, x, y, got, mpfr_get_d(j->ref, MPFR_RNDN));
        return;
    }
    if (mpfr_inf_p(j->ref)) {
        if (!isinf(got))
            report_wrong(j, fn, f, x, y, got, mpfr_get_d(j->ref, MPFR_RNDN));
        return;
    }
    double err = ulp_error(j, f, flat, got);
    if (err > j->worst) {
        j->worst = err;
        j->worst_x = x;
        j->worst_y = y;
        j->got = got;
    }
}

static void answer(const Options *o, const Function *fn, const Format *f, const void *x,
                   const void *y, void *out, size_t n) {
    if (o->so) answer_by_so(o, fn, f, x, y, out, n);
    else answer_by_weft(o, fn, f, x, y, out, n);
}

static void check_specials(const Options *o, const Function *fn, const Format *f,
                           Judge *j) {
    double xs[N_SPECIALS], ys[N_SPECIALS], got[N_SPECIALS];
    size_t n = 0;
    for (size_t i = 0; i < N_SPECIALS; i++)
        if (!strcmp(specials[i].name, fn->name)) {
            store(f, xs, n, specials[i].x);
            store(f, ys, n++, specials[i].y);
        }
    if (!n) return;
    answer(o, fn, f, xs, ys, got, n);
    n = 0;
    for (size_t i = 0; i < N_SPECIALS; i++) {
        const Special *s = &specials[i];
        if (strcmp(s->name, fn->name)) continue;
        double g = load(f, got, n++);
        bool same = isnan(s->want) ? isnan(g)
                                   : g == s->want && !signbit(g) == !signbit(s->want);
        if (!same) report_wrong(j, fn, f, s->x, s->y, g, s->want);
    }
}

static bool check(const Options *o, const Function *fn, const Format *f) {
    Judge j = {.worst = 0};
    mpfr_inits2((mpfr_prec_t)(f->mant + 43), j.x, j.y, j.ref, j.err, (mpfr_ptr)0);
    void *x = malloc(CHUNK * f->size), *y = malloc(CHUNK * f->size);
    void *out = malloc(CHUNK * f->size);
    if (!x || !y || !out) exit(2);
    check_specials(o, fn, f, &j);
    bool every = o->every && f->size == 4 && fn->unary;
    size_t total = every ? (size_t)1 << 32 : (size_t)o->points + boundary_count();
    for (size_t done = 0; done < total;) {
        size_t n = total - done < CHUNK ? total - done : CHUNK;
        for (size_t i = 0; i < n; i++) {
            double vx, vy = 0;
            uint32_t pattern = (uint32_t)(done + i);
            if (every) {
                memcpy((char *)x + 4 * i, &pattern, 4);
                continue;
            }
            if (fn->binary) two_inputs(fn, f, done + i, &vx, &vy);
            else vx = one_input(fn, f, done + i);
            store(f, x, i, vx);
            store(f, y, i, vy);
        }
        answer(o, fn, f, x, y, out, n);
        for (size_t i = 0; i < n; i++)
            judge_point(&j, fn, f, load(f, x, i), fn->binary ? load(f, y, i) : 0,
                        load(f, out, i));
        done += n;
    }
    bool good = !j.wrong && j.worst <= f->bound;
    printf("%-8s %s  %.4f ulp at %a", fn->name, f->name, j.worst, j.worst_x);
    if (fn->binary) printf(", %a", j.worst_y);
    if (j.wrong) printf("; %ld wrong", j.wrong);
    printf("%s\n", good ? "" : "  FAILED");
    mpfr_clears(j.x, j.y, j.ref, j.err, (mpfr_ptr)0);
    free(x);
    free(y);
    free(out);
    return good;
}

// ---- Driver -------------------------------------------------------------------

static int usage(void) {
    fputs("usage: mpfr_check [-n POINTS] [--every-f32] [--only NAME[,NAME]] "
          "[--type f32|f64]\n                  [--threads N] [--weft COMMAND] "
          "[--program FILE] [--so FILE]\n",
          stderr);
    return 2;
}

static bool selected(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; p && (p = strstr(p, name)); p += n)
        if ((p == list || p[-1] == ',') && (p[n] == 0 || p[n] == ',')) return true;
    return !list;
}

static int collect(int *running) {
    int status = 0;
    if (wait(&status) < 0) return 0;
    --*running;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main(int argc, char **argv) {
    Options o = {.command = "build/weft",
                 .program = "tests/math/all.weft",
                 .points = 1000000,
                 .jobs = 2};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(a, "--every-f32")) {
            o.every = true;
            continue;
        }
        if (!v) return usage();
        i++;
        if (!strcmp(a, "-n")) o.points = atol(v);
        else if (!strcmp(a, "--only")) o.only = v;
        else if (!strcmp(a, "--type")) o.type = v;
        else if (!strcmp(a, "--threads")) o.jobs = atoi(v);
        else if (!strcmp(a, "--weft")) o.command = v;
        else if (!strcmp(a, "--program")) o.program = v;
        else if (!strcmp(a, "--so")) {
            o.so = dlopen(v, RTLD_NOW);
            if (!o.so) {
                fprintf(stderr, "mpfr_check: %s\n", dlerror());
                return 2;
            }
        } else return usage();
    }
    int running = 0, failures = 0, checked = 0;
    fflush(stdout);
    for (int k = 0; k < 2 * N_FUNCTIONS; k++) {
        const Function *fn = &functions[k / 2];
        const Format *f = k % 2 ? &f32_format : &f64_format;
        if (!selected(o.only, fn->name) || (o.type && strcmp(o.type, f->name)))
            continue;
        if (o.so && !strcmp(fn->name, "sqrt")) continue; // a primitive
        if (running >= o.jobs) failures += collect(&running) != 0;
        pid_t child = fork();
        if (child == 0) {
            bool good = check(&o, fn, f);
            fflush(stdout);
            _exit(good ? 0 : 1);
        }
        running += child > 0;
        checked++;
    }
    while (running > 0) failures += collect(&running) != 0;
    printf("%d passed, %d failed\n", checked - failures, failures);
    return failures != 0;
}
