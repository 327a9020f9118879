# SPDX-License-Identifier: Apache-2.0
"""The workloads as a user of PyTorch would write them: whole tensors, on the CPU."""

import torch

given = torch.from_numpy


def dot_f32(xs, ys):
    return torch.dot(xs, ys)


def saxpy_f32(a, xs, ys):
    return torch.add(ys, xs, alpha=float(a))


def prefix_sum(xs):
    return torch.cumsum(xs, 0)


scan_f32 = scan_i64 = prefix_sum


def filter_f64(xs):
    return xs[xs < 0.5]


matmul_f32 = matmul_f64 = torch.matmul


def accelerations(xs, ys, zs, ms):
    parts = []
    for begin in range(0, len(xs), 256):  # all pairs at once would not fit
        own = slice(begin, begin + 256)
        dx, dy, dz = xs - xs[own, None], ys - ys[own, None], zs - zs[own, None]
        d2 = dx * dx + dy * dy + dz * dz + 0.01
        s = ms / (d2 * torch.sqrt(d2))
        parts.append(((dx * s).sum(1), (dy * s).sum(1), (dz * s).sum(1)))
    return tuple(torch.cat(part) for part in zip(*parts))


nbody_f32 = nbody_f64 = accelerations


def histogram_i32(bins, keys):
    return torch.bincount(keys, minlength=bins).int()


def prices(stocks, strikes, years):
    root = 0.3 * torch.sqrt(years)
    d1 = (torch.log(stocks / strikes) + (0.02 + 0.3 * 0.3 / 2) * years) / root
    n1, n2 = torch.special.ndtr(d1), torch.special.ndtr(d1 - root)
    now = strikes * torch.exp(-0.02 * years)
    return stocks * n1 - now * n2, now * (1 - n2) - stocks * (1 - n1)


blackscholes_f32 = blackscholes_f64 = prices


def padded(box):
    return torch.nn.functional.pad(box[None, None], (1,) * 6, "replicate")


def mean27_f32(box):
    return torch.nn.functional.avg_pool3d(padded(box), 3, 1)[0, 0]


def heat7_f32(box):
    wide = padded(box)[0, 0]
    inner = slice(1, -1)
    around = (wide[:-2, inner, inner] + wide[2:, inner, inner]
              + wide[inner, :-2, inner] + wide[inner, 2:, inner]
              + wide[inner, inner, :-2] + wide[inner, inner, 2:])
    return 0.4 * box + 0.1 * around


def relaxed(count, grid):
    grid = grid.clone()
    for _ in range(count):
        grid[1:-1, 1:-1] = (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2]
                            + grid[1:-1, 2:]) / 4
    return grid


jacobi_f32 = jacobi_f64 = relaxed


def sumlog_f64(n):
    return torch.arange(1, n + 1, dtype=torch.float64).log().sum()


def spmv_f32(starts, at, values, x):
    size = len(starts) - 1, len(x)
    matrix = torch.sparse_csr_tensor(starts, at.long(), values, size)
    return matrix @ x


def kmeans_f32(points, centres):
    nearest = torch.cdist(points, centres).argmin(1)
    counts = torch.bincount(nearest, minlength=len(centres))
    sums = torch.zeros_like(centres).index_add_(0, nearest, points)
    return sums / counts[:, None], counts.int()


def life_u8(steps, world):
    for _ in range(steps):
        rows = world + world.roll(1, 0) + world.roll(-1, 0)
        around = rows + rows.roll(1, 1) + rows.roll(-1, 1) - world
        world = ((around == 3) | ((around == 2) & (world == 1))).byte()
    return world
