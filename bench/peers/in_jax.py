# SPDX-License-Identifier: Apache-2.0
"""The workloads as a user of JAX would write them: whole arrays, compiled by jit."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import ndtr

jax.config.update("jax_enable_x64", True)


def given(array):
    return jax.device_put(array)


def wait(result):
    return jax.block_until_ready(result)


dot_f32 = jax.jit(jnp.dot)
saxpy_f32 = jax.jit(lambda a, xs, ys: a * xs + ys)
scan_f32 = scan_i64 = jax.jit(jnp.cumsum)
matmul_f32 = matmul_f64 = jax.jit(jnp.matmul)


def filter_f64(xs):  # a result of unknown length is not for jit
    return xs[xs < 0.5]


def mandelbrot(real):
    @partial(jax.jit, static_argnums=(0, 1))
    def square(n, limit):
        at = 3 * (jnp.arange(n, dtype=real) / n)
        cx, cy = at[None, :] - 2, at[:, None] - real(1.5)

        def is_in(state):
            x, y, steps, k = state
            return (k < limit) & jnp.any(x * x + y * y <= 4)

        def step(state):
            x, y, steps, k = state
            steps = steps + (x * x + y * y <= 4)
            return x * x - y * y + cx, 2 * x * y + cy, steps, k + 1

        zero, none = jnp.zeros((n, n), real), jnp.zeros((n, n), jnp.int32)
        return lax.while_loop(is_in, step, (zero, zero, none, 0))[2]

    return square


mandelbrot_f32 = mandelbrot(jnp.float32)
mandelbrot_f64 = mandelbrot(jnp.float64)


@jax.jit
def accelerations(xs, ys, zs, ms):
    def pull(x, y, z):
        dx, dy, dz = xs - x, ys - y, zs - z
        d2 = dx * dx + dy * dy + dz * dz + 0.01
        s = ms / (d2 * jnp.sqrt(d2))
        return jnp.sum(dx * s), jnp.sum(dy * s), jnp.sum(dz * s)

    return lax.map(lambda body: pull(*body), (xs, ys, zs), batch_size=64)


nbody_f32 = nbody_f64 = accelerations


@partial(jax.jit, static_argnums=0)
def histogram_i32(bins, keys):
    return jnp.bincount(keys, length=bins).astype(jnp.int32)


@jax.jit
def prices(stocks, strikes, years):
    root = 0.3 * jnp.sqrt(years)
    d1 = (jnp.log(stocks / strikes) + (0.02 + 0.3 * 0.3 / 2) * years) / root
    n1, n2 = ndtr(d1), ndtr(d1 - root)
    now = strikes * jnp.exp(-0.02 * years)
    return stocks * n1 - now * n2, now * (1 - n2) - stocks * (1 - n1)


blackscholes_f32 = blackscholes_f64 = prices


@jax.jit
def mean27_f32(box):
    for axis in range(3):
        wide = jnp.pad(box, [(1, 1) if a == axis else (0, 0) for a in range(3)], "edge")
        n = box.shape[axis]
        box = sum(lax.slice_in_dim(wide, k, k + n, axis=axis) for k in range(3))
    return box / 27


@jax.jit
def heat7_f32(box):
    wide = jnp.pad(box, 1, "edge")
    inner = slice(1, -1)
    around = (wide[:-2, inner, inner] + wide[2:, inner, inner]
              + wide[inner, :-2, inner] + wide[inner, 2:, inner]
              + wide[inner, inner, :-2] + wide[inner, inner, 2:])
    return 0.4 * box + 0.1 * around


@partial(jax.jit, static_argnums=0)
def relaxed(count, grid):
    def step(_, grid):
        mean = (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]) / 4
        return grid.at[1:-1, 1:-1].set(mean)

    return lax.fori_loop(0, count, step, grid)


jacobi_f32 = jacobi_f64 = relaxed


@partial(jax.jit, static_argnums=0)
def sumlog_f64(n):
    return jnp.sum(jnp.log(jnp.arange(1, n + 1, dtype=jnp.float64)))


@jax.jit
def spmv_f32(starts, at, values, x):
    row = jnp.repeat(jnp.arange(starts.size - 1), jnp.diff(starts),
                     total_repeat_length=at.size)
    return jax.ops.segment_sum(values * x[at], row, starts.size - 1,
                               indices_are_sorted=True)


@jax.jit
def kmeans_f32(points, centres):
    distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(-1)
    nearest = jnp.argmin(distances, 1)
    k = centres.shape[0]
    counts = jnp.bincount(nearest, length=k)
    sums = jax.ops.segment_sum(points, nearest, k)
    return sums / counts[:, None].astype(jnp.float32), counts.astype(jnp.int32)


@partial(jax.jit, static_argnums=0)
def life_u8(steps, world):
    def step(_, world):
        rows = world + jnp.roll(world, 1, 0) + jnp.roll(world, -1, 0)
        around = rows + jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1) - world
        return ((around == 3) | ((around == 2) & (world == 1))).astype(jnp.uint8)

    return lax.fori_loop(0, steps, step, world)
