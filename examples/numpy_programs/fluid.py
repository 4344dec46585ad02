"""Control a fluid simulation: find initial velocities that move a disc of smoke into the shape of a bar.

A step advects velocities and smoke along the velocities: each cell takes the bilinearly interpolated value one step
upstream. A projection then makes the velocities divergence-free: it subtracts the gradient of a pressure, which Jacobi
iterations compute. The grid is periodic, so neighbours are `np.roll`. The loss is the distance of the final smoke from
the bar. Its gradient passes through all steps to the initial velocities.
"""

import numpy as np
from scipy.optimize import minimize

import xdsl_rlx as rlx

SIDE, TIMES, JACOBI = 16, 5, 6


def without_divergence(vx, vy):
    """Project the velocities onto divergence-free fields: subtract the gradient of a pressure."""
    pressure = np.zeros_like(vx)
    divergence = 0.5 * (
        np.roll(vx, -1, axis=1) - np.roll(vx, 1, axis=1) + np.roll(vy, -1, axis=0) - np.roll(vy, 1, axis=0)
    )
    for _ in range(JACOBI):
        around = sum(np.roll(pressure, shift, axis) for axis in (0, 1) for shift in (-1, 1))
        pressure = (around - divergence) / 4
    vx = vx - 0.5 * (np.roll(pressure, -1, axis=1) - np.roll(pressure, 1, axis=1))
    vy = vy - 0.5 * (np.roll(pressure, -1, axis=0) - np.roll(pressure, 1, axis=0))
    return vx, vy


def moved(field, vx, vy):
    """Advect the field by one step: each cell takes the value upstream of it."""
    rows, columns = field.shape
    y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    y, x = y - vy, x - vx
    top, left = np.floor(y), np.floor(x)
    dy, dx = y - top, x - left
    top, left = top.astype(int) % rows, left.astype(int) % columns
    below, right = (top + 1) % rows, (left + 1) % columns
    upper = (1 - dx) * field[top, left] + dx * field[top, right]
    lower = (1 - dx) * field[below, left] + dx * field[below, right]
    return (1 - dy) * upper + dy * lower


def simulated(velocities, smoke):
    vx, vy = velocities
    for _ in range(TIMES):
        vx, vy = without_divergence(moved(vx, vx, vy), moved(vy, vx, vy))
        smoke = moved(smoke, vx, vy)
    return smoke


def loss(flat, smoke, target):
    velocities = np.reshape(flat, (2, *smoke.shape))
    return np.mean((target - simulated(velocities, smoke)) ** 2)


def pictures(side):
    y, x = np.mgrid[:side, :side] / side - 0.5
    return np.clip(2 - 7 * np.hypot(x, y), 0, 1), np.clip(2 - 14 * np.abs(y + 0.1), 0, 1) * (np.abs(x) < 0.4)


def example():
    smoke, target = pictures(6)
    return 0.3 * np.random.default_rng(0).standard_normal(2 * smoke.size), smoke, target


def main():
    smoke, target = pictures(SIDE)
    function = rlx.compile(rlx.value_and_grad(loss))
    start = 0.01 * np.random.default_rng(0).standard_normal(2 * smoke.size)
    found = minimize(function, start, args=(smoke, target), jac=True, method="CG", options={"maxiter": 60})
    print(f"mean square distance from {loss(start, smoke, target):.4f} to {found.fun:.4f}")
    last = simulated(found.x.reshape(2, SIDE, SIDE), smoke)
    for rows in zip(smoke, last, target, strict=True):
        print("   ".join("".join(" .:-=+*#%@"[int(9.99 * np.clip(one, 0, 1))] for one in row) for row in rows))


if __name__ == "__main__":
    main()
