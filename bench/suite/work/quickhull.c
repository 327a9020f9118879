// SPDX-License-Identifier: Apache-2.0
//
// The convex hull as the program finds it: the points farthest in four directions,
// which one pass over memory finds; those beyond each of the four sides, which a second
// packs; then each side alone: the farthest point is a corner, and the points beyond
// its two new sides are packed, those of the first in place. To find the points
// farthest in eight directions, drop what is inside of them, and sort the rest takes
// three times as long.
#include <stdbool.h>

#include "../keep.h"

enum { SIDES = 4, GRAIN = 1024 };

typedef struct Point {
    Real x, y;
} Point;

typedef struct Points {
    Real *xs, *ys;
    int64_t n;
} Points;

typedef struct Job {
    const Real *xs, *ys;
    int64_t n;
    Point (*extremes)[SIDES]; // of each thread
    Point corners[SIDES];
    Points (*beyond)[SIDES]; // of each thread: room for its part
    Real *all, *spare;       // room for the points of all sides
    Point *hull;             // likewise: of each side its first corner and those beyond
    int64_t starts[SIDES], hull_counts[SIDES]; // where those of a side are
    BenchTeam *team;
} Job;

// Clockwise from the left.
static const Real directions[SIDES][2] = {{-1, 0}, {0, 1}, {1, 0}, {0, -1}};

// The farther left of the line from a to b a point is, the larger.
static inline Vec cross(Point a, Point b, Vec x, Vec y) {
    return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
}

static inline Real cross_one(Point a, Point b, Real x, Real y) {
    return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
}

static Real along(Point p, int direction) {
    return directions[direction][0] * p.x + directions[direction][1] * p.y;
}

static bool is_same(Point a, Point b) {
    return a.x == b.x && a.y == b.y;
}

// ---- four corners -------------------------------------------------------------------

// Vectors tell which lane is best; the points are looked at again in groups that
// improve.
static void find_extremes(const Job *job, int64_t begin, int64_t end, Point *best) {
    for (int k = 0; k < SIDES; k++) best[k] = (Point){job->xs[begin], job->ys[begin]};
    for (int64_t at = begin; at < end; at += GRAIN) {
        int64_t stop = at + GRAIN < end ? at + GRAIN : end, i = at;
        Vec most[SIDES];
        for (int k = 0; k < SIDES; k++) most[k] = splat(along(best[k], k));
        for (; i + LANES <= stop; i += LANES) {
            Vec x = load(job->xs + i), y = load(job->ys + i);
            Vec v[SIDES] = {-x, y, x, -y};
#pragma GCC unroll 4
            for (int k = 0; k < SIDES; k++)
                most[k] = choose(v[k] > most[k], v[k], most[k]);
        }
        for (int k = 0; k < SIDES; k++) {
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

static void join_extremes(Job *job, int threads) {
    for (int k = 0; k < SIDES; k++) {
        job->corners[k] = job->extremes[0][k];
        for (int t = 1; t < threads; t++)
            if (along(job->extremes[t][k], k) > along(job->corners[k], k))
                job->corners[k] = job->extremes[t][k];
    }
}

// A point goes to the first side that it is beyond.
static void split(const Job *job, int64_t begin, int64_t end, Points *sides) {
    int64_t i = begin;
    for (int k = 0; k < SIDES; k++) sides[k].n = 0;
    for (; i + LANES <= end; i += LANES) {
        Vec x = load(job->xs + i), y = load(job->ys + i);
        unsigned bits[SIDES], all = 0;
#pragma GCC unroll 4
        for (int k = 0; k < SIDES; k++) {
            Point a = job->corners[k], b = job->corners[(k + 1) % SIDES];
            bits[k] = lane_bits(cross(a, b, x, y) > (Vec){0});
            all |= bits[k];
        }
        for (int k = 0; k < SIDES && all != 0; k++) {
            unsigned mine = bits[k] & all;
            if (mine == 0) continue;
            store_lanes(sides[k].xs + sides[k].n, x, mine);
            store_lanes(sides[k].ys + sides[k].n, y, mine);
            sides[k].n += __builtin_popcount(mine);
            all &= ~mine;
        }
    }
    for (; i < end; i++)
        for (int k = 0; k < SIDES; k++) {
            Point a = job->corners[k], b = job->corners[(k + 1) % SIDES];
            if (!(cross_one(a, b, job->xs[i], job->ys[i]) > 0)) continue;
            sides[k].xs[sides[k].n] = job->xs[i];
            sides[k].ys[sides[k].n++] = job->ys[i];
            break;
        }
}

// ---- a side -------------------------------------------------------------------------

// There is a point.
static Point find_farthest(Points p, Point a, Point b) {
    Real most = cross_one(a, b, p.xs[0], p.ys[0]);
    int64_t best = 0;
    for (int64_t at = 0; at < p.n; at += GRAIN) {
        int64_t stop = at + GRAIN < p.n ? at + GRAIN : p.n, i = at;
        Vec farthest = splat(most);
        for (; i + LANES <= stop; i += LANES) {
            Vec far = cross(a, b, load(p.xs + i), load(p.ys + i));
            farthest = choose(far > farthest, far, farthest);
        }
        bool improves = i < stop;
        for (int lane = 0; lane < LANES; lane++) improves |= farthest[lane] > most;
        for (int64_t j = at; improves && j < stop; j++) {
            Real far = cross_one(a, b, p.xs[j], p.ys[j]);
            if (far > most) most = far, best = j;
        }
    }
    return (Point){p.xs[best], p.ys[best]};
}

// Of points beyond the side from a to b, those beyond the sides to c and from it: the
// first stay, the others go to where there is room.
static void part_points(Points *first, Points *second, Point a, Point b, Point c) {
    int64_t n = first->n, i = 0;
    first->n = second->n = 0;
    for (; i + LANES <= n; i += LANES) {
        Vec x = load(first->xs + i), y = load(first->ys + i);
        unsigned others = ~lane_bits((x == c.x) & (y == c.y));
        unsigned one = lane_bits(cross(a, c, x, y) > (Vec){0}) & others;
        unsigned two = lane_bits(cross(c, b, x, y) > (Vec){0}) & others & ~one;
        store_lanes(first->xs + first->n, x, one);
        store_lanes(first->ys + first->n, y, one);
        store_lanes(second->xs + second->n, x, two);
        store_lanes(second->ys + second->n, y, two);
        first->n += __builtin_popcount(one);
        second->n += __builtin_popcount(two);
    }
    for (; i < n; i++) {
        Real x = first->xs[i], y = first->ys[i];
        if (is_same((Point){x, y}, c)) continue;
        Points *to = cross_one(a, c, x, y) > 0   ? first
                     : cross_one(c, b, x, y) > 0 ? second
                                                 : NULL;
        if (to == NULL) continue;
        to->xs[to->n] = x;
        to->ys[to->n++] = y;
    }
}

// Adds the corners between a and b; in `room` there is some for all points.
static Point *add_corners(Points p, Points room, Point a, Point b, Point *hull) {
    if (p.n == 0) return hull;
    Point c = find_farthest(p, a, b);
    Points second = room;
    part_points(&p, &second, a, b, c);
    room.xs += second.n;
    room.ys += second.n;
    hull = add_corners(p, room, a, c, hull);
    *hull++ = c;
    return add_corners(second, room, c, b, hull);
}

// Behind the points of each side a vector may be stored.
static int64_t room_for(int64_t n) {
    return n + SIDES * (LANES + 1);
}

static void find_starts(Job *job, int threads) {
    int64_t start = 0;
    for (int k = 0; k < SIDES; k++) {
        job->starts[k] = start;
        for (int t = 0; t < threads; t++) start += job->beyond[t][k].n;
        start += LANES + 1;
    }
}

static void do_side(Job *job, int side, int threads) {
    Point a = job->corners[side], b = job->corners[(side + 1) % SIDES];
    int64_t start = job->starts[side], room = room_for(job->n);
    Points p = job->beyond[0][side];
    if (threads > 1) {
        p = (Points){job->all + start, job->all + room + start, 0};
        for (int t = 0; t < threads; t++) {
            Points part = job->beyond[t][side];
            memcpy(p.xs + p.n, part.xs, (size_t)part.n * sizeof(Real));
            memcpy(p.ys + p.n, part.ys, (size_t)part.n * sizeof(Real));
            p.n += part.n;
        }
    }
    Points spare = {job->spare + start, job->spare + room + start, 0};
    Point *hull = job->hull + start;
    *hull = a;
    job->hull_counts[side] = add_corners(p, spare, a, b, hull + 1) - hull;
}

static void find_part(void *env, int me, int threads) {
    Job *job = env;
    int64_t begin = bench_share(job->n, GRAIN, me, threads);
    int64_t end = bench_share(job->n, GRAIN, me + 1, threads);
    find_extremes(job, begin < job->n ? begin : 0, end, job->extremes[me]);
    bench_meet(job->team);
    if (me == 0) join_extremes(job, threads);
    bench_meet(job->team);
    split(job, begin, end, job->beyond[me]);
    bench_meet(job->team);
    if (me == 0) find_starts(job, threads);
    bench_meet(job->team);
    for (int64_t side; (side = bench_next(job->team)) < SIDES;)
        do_side(job, (int)side, threads);
}

// ---- the whole ----------------------------------------------------------------------

static void run(BenchData *data, const BenchSize *size, BenchTeam *team) {
    Points beyond[BENCH_THREADS][SIDES];
    Real *room = data->scratch[1];
    Job job = {.xs = data->in[0].data,
               .ys = data->in[1].data,
               .n = size->n,
               .extremes = data->scratch[0],
               .beyond = beyond,
               .all = data->scratch[2],
               .spare = data->scratch[3],
               .hull = data->scratch[4],
               .team = team};
    int threads = bench_threads(team);
    for (int t = 0; t < threads; t++) {
        int64_t each = bench_share(size->n, GRAIN, t + 1, threads) -
                       bench_share(size->n, GRAIN, t, threads) + LANES;
        for (int k = 0; k < SIDES; k++, room += 2 * each)
            beyond[t][k] = (Points){room, room + each, 0};
    }
    bench_team(team, find_part, &job);
    Real *xs = data->out[0].data, *ys = data->out[1].data;
    int64_t count = 0;
    Point last = job.corners[SIDES - 1];
    for (int k = 0; k < SIDES; k++)
        for (int64_t i = 0; i < job.hull_counts[k]; i++) {
            Point p = job.hull[job.starts[k] + i];
            if (!is_same(p, last)) xs[count] = p.x, ys[count++] = p.y;
            last = p;
        }
    data->out[0].shape[0] = data->out[1].shape[0] = count;
}

// Points in a disc: a hull of many corners.
static void make(BenchData *data, const BenchSize *size) {
    uint64_t seed = 1;
    int64_t n = size->n;
    Real *xs = bench_in(data, REAL, 1, &n), *ys = bench_in(data, REAL, 1, &n);
    for (int64_t i = 0; i < n; i++) {
        double angle = 6.283185307179586 * bench_uniform(&seed);
        double radius = sqrt(bench_uniform(&seed));
        xs[i] = (Real)(radius * cos(angle));
        ys[i] = (Real)(radius * sin(angle));
    }
    bench_out(data, REAL, 1, &n);
    bench_out(data, REAL, 1, &n);
    size_t part = (size_t)n + BENCH_THREADS * LANES, all = (size_t)room_for(n);
    bench_scratch(data, BENCH_THREADS * SIDES * sizeof(Point));
    bench_scratch(data, SIDES * 2 * part * sizeof(Real));
    bench_scratch(data, 2 * all * sizeof(Real));
    bench_scratch(data, 2 * all * sizeof(Real));
    bench_scratch(data, all * sizeof(Point));
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
