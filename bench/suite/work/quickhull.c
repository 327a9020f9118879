// SPDX-License-Identifier: Apache-2.0
//
// The convex hull: the eight points farthest in eight directions first, which one pass
// over memory finds; a second drops everything inside their octagon, nearly all there
// is; what is left is sorted and walked around once (Andrew's monotone chain).
#include <stdbool.h>
#include <stdlib.h>

#include "../vector.h"

enum { DIRECTIONS = 8, GRAIN = 1024 };

typedef struct Point {
    Real x, y;
} Point;

typedef struct Job {
    const Real *xs, *ys;
    int64_t n;
    Point (*extremes)[DIRECTIONS]; // of each thread
    Point corners[DIRECTIONS];
    Point *left; // outside the octagon, each thread's in its part
    int64_t *left_counts;
    BenchTeam *team;
} Job;

// Clockwise from the left.
static const Real directions[DIRECTIONS][2] = {{-1, 0}, {-1, 1}, {0, 1},  {1, 1},
                                               {1, 0},  {1, -1}, {0, -1}, {-1, -1}};

static Real cross(Point a, Point b, Point p) {
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

static Real along(Point p, int direction) {
    return directions[direction][0] * p.x + directions[direction][1] * p.y;
}

// Vectors tell which lane is best; the points are looked at again in groups that
// improve.
static void find_extremes(const Job *job, int64_t begin, int64_t end, Point *best) {
    for (int k = 0; k < DIRECTIONS; k++)
        best[k] = (Point){job->xs[begin], job->ys[begin]};
    for (int64_t at = begin; at < end; at += GRAIN) {
        int64_t stop = at + GRAIN < end ? at + GRAIN : end, i = at;
        Vec most[DIRECTIONS];
        for (int k = 0; k < DIRECTIONS; k++) most[k] = splat(along(best[k], k));
        for (; i + LANES <= stop; i += LANES) {
            Vec x = load(job->xs + i), y = load(job->ys + i);
#pragma GCC unroll 8
            for (int k = 0; k < DIRECTIONS; k++) {
                Vec v = directions[k][0] * x + directions[k][1] * y;
                most[k] = choose(v > most[k], v, most[k]);
            }
        }
        for (int k = 0; k < DIRECTIONS; k++) {
            Real limit = along(best[k], k);
            bool improves = i < stop;
            for (int lane = 0; lane < LANES; lane++) improves |= most[k][lane] > limit;
            for (int64_t j = at; improves && j < stop; j++) {
                Point p = {job->xs[j], job->ys[j]};
                if (along(p, k) > along(best[k], k)) best[k] = p;
            }
        }
    }
}

static int64_t keep_outside(const Job *job, int64_t begin, int64_t end, Point *to) {
    int64_t kept = 0;
    for (int64_t i = begin; i < end; i += LANES) {
        Vec x = load(job->xs + i), y = load(job->ys + i);
        Mask outside = {0};
#pragma GCC unroll 8
        for (int k = 0; k < DIRECTIONS; k++) {
            Point a = job->corners[k], b = job->corners[(k + 1) % DIRECTIONS];
            outside |= ((b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x)) > (Vec){0};
        }
        Int any = 0;
        for (int lane = 0; lane < LANES; lane++) any |= outside[lane];
        if (any == 0) continue;
        for (int lane = 0; lane < LANES && i + lane < end; lane++)
            if (outside[lane]) to[kept++] = (Point){x[lane], y[lane]};
    }
    return kept;
}

static void reduce_part(void *env, int me, int threads) {
    Job *job = env;
    int64_t begin = bench_share(job->n, GRAIN, me, threads);
    int64_t end = bench_share(job->n, GRAIN, me + 1, threads);
    find_extremes(job, begin < job->n ? begin : 0, end, job->extremes[me]);
    bench_meet(job->team);
    if (me == 0)
        for (int k = 0; k < DIRECTIONS; k++) {
            job->corners[k] = job->extremes[0][k];
            for (int t = 1; t < threads; t++)
                if (along(job->extremes[t][k], k) > along(job->corners[k], k))
                    job->corners[k] = job->extremes[t][k];
        }
    bench_meet(job->team);
    job->left_counts[me] = keep_outside(job, begin, end, job->left + begin);
}

static int compare(const void *a, const void *b) {
    const Point *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

// Adds the chain of points that are sorted along it, less the last; how many.
static int64_t walk(const Point *points, int64_t n, int64_t step, Point *hull) {
    int64_t top = 0;
    for (int64_t i = 0; i < n; i++) {
        Point p = points[i * step];
        if (top > 0 && compare(&hull[top - 1], &p) == 0) continue; // a corner, again
        while (top >= 2 && cross(hull[top - 2], hull[top - 1], p) >= 0) top--;
        hull[top++] = p;
    }
    return top - 1;
}

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Job job = {.xs = data->in[0].data,
               .ys = data->in[1].data,
               .n = size->n,
               .extremes = data->scratch[0],
               .left = data->scratch[1],
               .left_counts = data->scratch[2],
               .team = team};
    Point *points = job.left, *hull = data->scratch[3];
    int64_t kept = 0;
    bench_team(team, reduce_part, &job);
    for (int t = 0; t < bench_threads(team); t++) {
        int64_t begin = bench_share(size->n, GRAIN, t, bench_threads(team));
        memmove(points + kept, points + begin,
                (size_t)job.left_counts[t] * sizeof *points);
        kept += job.left_counts[t];
    }
    for (int k = 0; k < DIRECTIONS; k++) points[kept++] = job.corners[k];
    qsort(points, (size_t)kept, sizeof *points, compare);
    int64_t count = walk(points, kept, 1, hull);
    count += walk(points + kept - 1, kept, -1, hull + count);
    Real *xs = data->out[0].data, *ys = data->out[1].data;
    for (int64_t i = 0; i < count; i++) xs[i] = hull[i].x, ys[i] = hull[i].y;
    data->out[0].shape[0] = data->out[1].shape[0] = count;
}

// Points in a disc: a hull of many corners.
static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    int64_t n = size->n, room = n + DIRECTIONS + 1;
    Real *xs = bench_in(data, REAL, 1, &n), *ys = bench_in(data, REAL, 1, &n);
    for (int64_t i = 0; i < n; i++) {
        double angle = 6.283185307179586 * bench_uniform(&seed);
        double radius = sqrt(bench_uniform(&seed));
        xs[i] = (Real)(radius * cos(angle));
        ys[i] = (Real)(radius * sin(angle));
    }
    bench_out(data, REAL, 1, &n);
    bench_out(data, REAL, 1, &n);
    bench_scratch(data, BENCH_THREADS * DIRECTIONS * sizeof(Point));
    bench_scratch(data, (size_t)room * sizeof(Point));
    bench_scratch(data, BENCH_THREADS * sizeof(int64_t));
    bench_scratch(data, 2 * (size_t)room * sizeof(Point));
}

static BenchCost cost(const BenchSize *size, const BenchData *data) {
    double n = (double)size->n;
    (void)data;
    return (BenchCost){0, 2 * n * sizeof(Real), ROOF_READ};
}

const Bench benches[] = {
    {.line = "quickhull",
     .entry = SUFFIX("quickhull"),
     .sizes = {{"", 3003, 0, 0}, {"", 50000, 0, 0}, {"10^6", 1000000, 0, 0}},
     .cost = cost,
     .make = make,
     .run = run},
    {0}};
