"""Cases for the rows of JAX's primitives that index, sort, factor, loop, call and draw random numbers."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import jax
import jax.extend.random
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax import random as jr
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.layout import Layout, with_layout_constraint
from jax.extend.core import primitives
from jax.lax import linalg
from peers.jax_ops import Case, complex_numbers, f32, integers, normal, uniform

CASES: dict[str, Case] = {}

_M = normal(4, 4)
_S = (_M @ _M.T + 4 * np.eye(4)).astype(np.float32)
_AT = np.array([2, 0, 2, -1], np.int32)
_FAR = np.array([0, 9, -9, 3], np.int32)

CASES["gather"] = Case(
    lambda x, i: (
        x[i],
        x[i, 1:3],
        x[:, i],
        x[i, i[::-1]],
        jnp.take(x, i, 0),
        x[i[0], i[1]],
        jnp.take_along_axis(x, i[None], 1),
    ),
    (_M, _AT),
)
CASES["gather, out of range"] = Case(
    lambda x, i: (
        x.at[i].get(mode="fill"),
        x.at[i].get(mode="clip"),
        x.at[i].get(mode="fill", fill_value=2.0),
        jnp.take(x, i, 0),
        x.astype(jnp.int32).at[i].get(mode="fill"),
    ),
    (_M, _FAR),
    0,
)
CASES["gather, batched"] = Case(
    lambda x, i: (jax.vmap(lambda r, j: r[j])(x, i), jax.vmap(lambda j: lax.dynamic_slice_in_dim(x, j, 2))(i)),
    (_M, _AT),
)
CASES["scatter"] = Case(
    lambda x, y, i: (
        x.at[i[:2]].set(y[:2]),
        x.at[i, 1].set(2.0),
        x.at[i].add(y),
        x.at[:, i].subtract(y),
        x.at[i[0], i[1]].set(y[0, 0]),
        jax.vmap(lambda r, j, u: r.at[j].add(u))(x, i, y[0]),
    ),
    (_M, normal(4, 4), _AT),
)
CASES["scatter, others"] = Case(
    lambda x, y, i: (
        x.at[i].max(y),
        x.at[i].min(y),
        x.at[i[:2]].multiply(y[:2], unique_indices=True),
        x.at[1].divide(2.0),
        x.at[2].power(2),
    ),
    (uniform(0.5, 2, 4, 4), uniform(0.5, 2, 4, 4), _AT),
    1,
)
CASES["scatter, twice"] = Case(
    lambda x, y, i, n: (x.at[i].set(y), x.at[i].multiply(y), n.at[i].add(i), x.at[i].apply(jnp.sin)),
    (_M, normal(4, 4), _AT, integers(0, 9, 4)),
    0,
)
CASES["scatter, out of range"] = Case(
    lambda x, y, i: (x.at[i].set(y), x.at[i].add(y), x.at[i].set(y, mode="clip"), x.at[:0].set(1.0)),
    (_M, normal(4, 4), _FAR),
    0,
)
CASES["dynamic_slice, dynamic_update_slice"] = Case(
    lambda x, y, i: (
        lax.dynamic_slice(x, (i[0], i[1]), (2, 3)),
        lax.dynamic_slice_in_dim(x, i[1] + 9, 2, 1),
        lax.dynamic_index_in_dim(x, i[0], 0),
        lax.dynamic_update_slice(x, y[:2, :3], (i[0] + 7, i[1])),
        lax.dynamic_update_index_in_dim(x, y[0], i[0], 0),
        lax.dynamic_update_slice(x, y[:0], (i[0], i[1])),
    ),
    (_M, normal(4, 4), _AT),
)
CASES["sort"] = Case(
    lambda x, i: (
        jnp.sort(x, 1),
        lax.sort((i, x[0]), num_keys=1),
        lax.sort((i, x[0], x[1]), num_keys=2),
        jnp.argsort(x),
    ),
    (_M, np.array([1, 0, 1, 0], np.int32)),
)
CASES["sort, order"] = Case(
    lambda x, n: (
        jnp.sort(x),
        jnp.argsort(x),
        jnp.sort(n),
        jnp.argsort(n, descending=True),
        jnp.sort(x[:0]),
        x.sort() > 0,
    ),
    (f32([0.0, np.nan, -0.0, np.inf, 1, -np.inf, 1, np.nan]), np.array([3, 200, 0, 3], np.uint8)),
    0,
)

_LAST = ("NHWC", "HWIO", "NHWC")
_IMAGE, _KERNEL = normal(2, 3, 6, 5), normal(4, 3, 3, 2)
CASES["conv_general_dilated"] = Case(
    lambda x, w: (
        lax.conv_general_dilated(x, w, (1, 2), ((1, 1), (0, 1))),
        lax.conv_general_dilated(x, w, (1, 1), ((1, 0), (0, 2)), rhs_dilation=(2, 1)),
        lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (0, 0)), lhs_dilation=(2, 2)),
    ),
    (_IMAGE, _KERNEL),
)
CASES["conv_general_dilated, layouts"] = Case(
    lambda x, w, line, k: (
        lax.conv_general_dilated(x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), (1, 1), "SAME", None, None, _LAST),
        lax.conv_transpose(x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), (2, 2), "SAME"),
        lax.conv_general_dilated(x, w[:3, :1], (1, 1), "SAME", feature_group_count=3),
        lax.conv_general_dilated(line, k, (1,), "SAME"),
    ),
    (_IMAGE, _KERNEL, normal(2, 3, 7), normal(4, 3, 3)),
)  # fmt: skip
CASES["conv_general_dilated, 3 axes and groups of images"] = Case(
    lambda x, w: (
        lax.conv_general_dilated(x, w, (1, 1, 1), "SAME"),
        lax.conv_general_dilated(x, jnp.concatenate([w, w]), (1, 1, 1), "VALID", batch_group_count=2),
    ),
    (normal(2, 2, 3, 4, 3), normal(2, 2, 2, 2, 2)),
    1,
)
CASES["reduce_window"] = Case(
    lambda x: (
        lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 1), "SAME"),
        lax.reduce_window(x, jnp.inf, lax.min, (3, 1), (1, 1), "VALID"),
        lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 2), ((1, 0), (0, 2)), window_dilation=(2, 1)),
        lax.reduce_window(x, 0.0, lax.add, (4, 1), (1, 1), ((3, 0), (0, 0))),
    ),
    (normal(4, 6),),
)
CASES["reduce_window, bodies"] = Case(
    lambda x: (
        lax.reduce_window(x, jnp.float32(1), lax.mul, (2, 2), (1, 1), "SAME"),
        lax.reduce_window(x, jnp.float32(0), lambda a, b: a + b * 0.5, (2, 1), (1, 1), "VALID"),
    ),
    (normal(4, 6),),
    0,
)
CASES["select_and_scatter_add, select_and_gather_add"] = Case(
    lambda x, y: (
        jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID").sum())(x),
        jax.jvp(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"), (x,), (y,))[1],
    ),
    (normal(4, 6), normal(4, 6)),
    0,
)
CASES["reduce"] = Case(
    lambda x: (
        lax.reduce(x, jnp.float32(0), lambda a, b: a + b + a * b, (1,)),
        lax.reduce(x, jnp.float32(0), lambda a, b: a + b, (0, 1)),
        lax.reduce((x, x * 2), (jnp.float32(0), jnp.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)),
        lax.reduce(x[:, :0], jnp.float32(1.5), lambda a, b: a * b + a + b, (1,)),
    ),
    (uniform(0.5, 1, 3, 5),),
    0,
)

CASES["cholesky"] = Case(lambda a: jnp.linalg.cholesky(a), (_S,), tolerance=1e-5)
CASES["cholesky_update"] = Case(
    lambda a, w: linalg.cholesky_update(jnp.linalg.cholesky(a).T, w), (_S, normal(4)), 0, 1e-4
)
CASES["eigh"] = Case(lambda a: (jnp.linalg.eigvalsh(a), jnp.abs(jnp.linalg.eigh(a)[1])), (_S,), tolerance=1e-4)
CASES["svd"] = Case(
    lambda a: (jnp.linalg.svd(a, compute_uv=False), jnp.abs(jnp.linalg.svd(a, full_matrices=False)[0])),
    (normal(4, 3),),
    tolerance=1e-4,
)
CASES["svd, complete"] = Case(lambda a: jnp.linalg.svd(a)[1], (normal(3, 5),), 0, 1e-4)
CASES["qr"] = Case(lambda a: (jnp.linalg.qr(a), jnp.linalg.qr(a, "r")), (normal(5, 3),), tolerance=1e-4)
CASES["qr, complete"] = Case(lambda a: jnp.linalg.qr(a, "complete"), (normal(5, 3),), 0, 1e-4)
CASES["geqrf"] = Case(lambda a: jnp.linalg.qr(a, "raw"), (normal(5, 3),), 0, 1e-4)
CASES["householder_product, ormqr"] = Case(
    lambda a, t, b: (linalg.householder_product(a, t), linalg.ormqr(a, t, b), linalg.ormqr(a, t, b.T, left=False)),
    (normal(5, 3), uniform(0.1, 1, 3), normal(5, 5)),
    0,
    1e-4,
)
CASES["lu"] = Case(
    lambda a: (linalg.lu(a), jax.scipy.linalg.lu(a), jnp.linalg.det(a), jnp.linalg.slogdet(a), jnp.linalg.inv(a)),
    (_M,),
    tolerance=1e-4,
)
CASES["lu, oblong"] = Case(lambda a, b: (linalg.lu(a), linalg.lu(b)), (normal(5, 3), normal(2, 4)), 0, 1e-4)
CASES["triangular_solve"] = Case(
    lambda a, b: [
        linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=unit)
        for left in (True, False)
        for lower in (True, False)
        for transposed in (True, False)
        for unit in (True, False)
    ],
    (_S, normal(4, 4)),
    1,
    1e-4,
)
CASES["tridiagonal_solve"] = Case(
    lambda a, b, c, d: linalg.tridiagonal_solve(a.at[0].set(0), b, c.at[-1].set(0), d),
    (normal(5), uniform(4, 5, 5), normal(5), normal(5, 2)),
    tolerance=1e-5,
)
CASES["solves"] = Case(
    lambda a, b: (
        jnp.linalg.solve(a, b),
        jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b),
        jnp.linalg.pinv(a),
    ),
    (_S, normal(4)),
    tolerance=1e-4,
)  # fmt: skip
CASES["custom_linear_solve"] = Case(
    lambda a, b: (
        lax.custom_linear_solve(
            lambda v: a @ v, b, lambda _, b: jnp.linalg.solve(a, b), lambda _, b: jnp.linalg.solve(a.T, b)
        ),
        jax.scipy.sparse.linalg.cg(lambda v: a @ v, b, tol=1e-14, maxiter=50)[0],
    ),
    (_S, normal(4)),
    tolerance=1e-4,
)
CASES["symmetric_product"] = Case(
    lambda a, c: linalg.symmetric_product(a, c, alpha=0.5, beta=2.0, symmetrize_output=True),
    (normal(3, 4), _S[:3, :3]),
    0,
)
CASES["ragged_dot_general"] = Case(
    lambda x, w, n: lax.ragged_dot(x, w, n), (normal(6, 3), normal(3, 3, 2), np.array([2, 0, 3], np.int32)), 1
)
CASES["fft"] = Case(
    lambda x: (
        jnp.abs(jnp.fft.fft(x)),
        jnp.fft.rfft2(x).real,
        jnp.fft.irfft(jnp.fft.rfft(x, 7), 7),
        jnp.fft.ifftn(x).imag,
        jnp.fft.irfft2(jnp.fft.rfft2(x)),
    ),
    (normal(3, 8),),
    1,
)
CASES["fft, complex"] = Case(
    lambda z: (jnp.fft.fft(z), jnp.fft.ifft(z, axis=0), jnp.fft.fftn(z), jnp.fft.irfft(z, 9), jnp.fft.fft(z[:0])),
    (complex_numbers(3, 5),),
    0,
)

CASES["scan"] = Case(
    lambda w, h, xs: (
        lax.scan(lambda c, x: (jnp.tanh(w @ c + x), c.sum()), h, xs),
        lax.scan(lambda c, x: (c * x[0], (c, x)), h[0], xs, reverse=True),
        lax.scan(lambda c, _: (jnp.sin(c), None), h, None, length=3)[0],
        lax.scan(lambda _, x: (None, x * 2), None, xs)[1],
        lax.scan(lambda c, x: (c, x), h, xs[:0])[1],
        lax.map(jnp.cos, xs),
        lax.fori_loop(0, 4, lambda i, c: c * h + i, h),
    ),
    (normal(3, 3), normal(3), normal(5, 3)),
)
CASES["scan, long"] = Case(
    lambda x: lax.scan(lambda c, _: (c * 0.999 + x, None), x, None, length=120_000)[0], (f32(0.5),), 0
)
CASES["while"] = Case(
    lambda n, x: (
        lax.while_loop(lambda c: c[0] < n[1], lambda c: (c[0] + 1, jnp.sin(c[1])), (0, x))[1],
        jax.vmap(lambda m: lax.while_loop(lambda c: c[0] < m, lambda c: (c[0] + 1, c[1] * 1.5), (0, 1.0)))(n),
        lax.fori_loop(0, n[0], lambda i, c: c + i, 0.0),
    ),
    (np.array([2, 5, 0], np.int32), normal(3)),
    0,
)
CASES["cond"] = Case(
    lambda x, i: (
        lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
        lax.switch(i[0], [jnp.sin, jnp.cos, lambda x: x * 2], x),
        lax.switch(i[1], [jnp.sin, jnp.cos], x),
        lax.switch(-i[1], [jnp.sin, jnp.cos], x),
        jax.vmap(lambda x, i: lax.switch(i, [jnp.sin, jnp.cos], x))(x, i),
        lax.cond(True, jnp.sin, jnp.cos, x),
        lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos),
    ),
    (normal(3), np.array([2, 9, 0], np.int32)),
)
CASES["associative_scan"] = Case(lambda x: lax.associative_scan(jnp.multiply, x), (uniform(0.5, 2, 7),))


@jax.custom_jvp
def _doubled(x: Any, n: Any) -> Any:
    return jnp.sin(x) * n


@_doubled.defjvp
def _doubled_jvp(primals: Any, tangents: Any) -> Any:
    x, n = primals
    return _doubled(x, n), 2 * tangents[0] * jnp.cos(x) * n


@jax.custom_jvp
def _own_slope(x: Any) -> Any:
    return jnp.exp(x)


_own_slope.defjvps(lambda t, y, x: t * _own_slope(x) * 3)


@jax.custom_vjp
def _clipped(x: Any, y: Any) -> Any:
    return x * y


_clipped.defvjp(lambda x, y: (x * y, (x, y)), lambda r, g: (jnp.clip(g, -0.1, 0.1) * r[1], g * r[0] * 5))

CASES["custom_jvp_call"] = Case(
    lambda x, n: (_doubled(x, n), _own_slope(x), jax.vmap(_own_slope)(x), jax.nn.relu(x), jax.nn.relu6(x)),
    (normal(4), np.int32(3)),
)
CASES["custom_vjp_call"] = Case(lambda x, y: (_clipped(x, y), jax.vmap(_clipped)(x, y)), (normal(4), normal(4)), 0)
CASES["custom_derivatives.linear_call"] = Case(
    lambda x, y: jax.custom_derivatives.linear_call(lambda r, v: r * v, lambda r, g: r * g, x, y),
    (normal(3), normal(3)),
    0,
)
CASES["calls"] = Case(
    lambda x: (
        jax.jit(jnp.sin)(x),
        jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x),
        jax.named_call(jnp.cos, name="cosine")(x),
        lax.optimization_barrier(x) * 2,
        jax.device_put(x) + 1,
        checkpoint_name(x, "kept") * 3,
        jax.checkpoint(lambda x: jnp.tanh(x @ x.T), policy=jax.checkpoint_policies.dots_saveable)(x[None]),
    ),
    (normal(4),),
)
_batched_sine = jax.custom_batching.custom_vmap(jnp.sin)
_batched_sine.def_vmap(lambda size, batched, x: (jnp.sin(x) * 2, True))
_lean = jax.custom_vjp(lambda x: jnp.sin(x))
_lean.defvjp(lambda x: (jnp.sin(x), x), lambda r, g: (g * r,), optimize_remat=True)


def _printed(x: Any) -> Any:
    jax.debug.print("first {} of {n}", x[0], n=x)
    lax.dce_sink(x)
    return x + 1


CASES["calls, without derivatives in JAX"] = Case(
    lambda x: (
        lax.composite(lambda x: jnp.sin(x) + 1, "mine.sine")(x),
        _batched_sine(x),
        jax.vmap(_batched_sine)(x),
        jax.value_and_grad(lambda x: _lean(x).sum())(x),
        _printed(x),
        lax.stage(x) * 2,
        with_layout_constraint(x, Layout(major_to_minor=(0,))),
        primitives.empty2_p.bind(dtype=jnp.float32, memory_space=jax.memory.Space.Device) * 0 + x,
    ),
    (normal(4),),
    0,
)
CASES["threefry2x32"] = Case(
    lambda k, n: jax.extend.random.threefry_2x32(k, n), (jr.PRNGKey(5), np.arange(7, dtype=np.uint32)), 0
)
CASES["lu_pivots_to_permutation"] = Case(
    lambda p: linalg.lu_pivots_to_permutation(p, 5), (np.array([[2, 1, 4], [0, 3, 2]], np.int32),), 0
)
CASES["transformed"] = Case(
    lambda x: (
        jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2))(x),
        jax.hessian(lambda x: jnp.sum(jnp.tanh(x) ** 3))(x),
        jax.jacfwd(jnp.tanh)(x),
        jax.vmap(lambda a: a * x)(x),
        jax.linearize(jnp.sin, x)[1](x),
        jax.vjp(jnp.cos, x)[1](x)[0],
    ),
    (normal(3),),
    1,
)

_KEY = jr.key(3)
CASES["random keys"] = Case(
    lambda k, raw, n: (
        jr.split(k),
        jr.split(k, (2, 3)),
        jr.fold_in(k, n),
        jr.key_data(k),
        jr.wrap_key_data(raw),
        jr.key(n),
        jr.PRNGKey(n),
        jr.split(raw, 3),
        jr.clone(k),
        jr.split(k, 4)[1],
        jr.split(k, 4).reshape(2, 2).T,
        jax.vmap(jr.fold_in)(jr.split(k, 3), jnp.arange(3)),
        jnp.where(n > 0, jr.split(k, 4)[2], k),
    ),
    (_KEY, jr.PRNGKey(5), np.int32(11)),
    0,
)
CASES["random_bits"] = Case(
    lambda k: (
        jr.bits(k, (5, 3)),
        jr.bits(k, (7,), jnp.uint8),
        jr.bits(k, (7,), jnp.uint16),
        jr.randint(k, (9,), -5, 100),
        jr.bernoulli(k, 0.3, (9,)),
        jr.permutation(k, 9),
        jr.uniform(k, (9,)),
        jr.uniform(k, (9,), jnp.bfloat16),
        jax.vmap(lambda k: jr.bits(k, (2,)))(jr.split(k, 3)),
        jr.choice(k, 9, (4,), replace=False),
        jr.bits(k, (0, 3)),
    ),
    (_KEY,),
    0,
)
CASES["random_bits, 64 bits"] = Case(
    lambda k, x: (jr.bits(k, (5,), jnp.uint64), jr.uniform(k, (5,)) * x, jr.randint(k, (5,), 0, 1 << 40)),
    (_KEY, np.float64(1)),
    0,
    x64=True,
)
CASES["random numbers"] = Case(
    lambda k: (
        jr.normal(k, (50,)),
        jr.truncated_normal(k, -1, 1, (9,)),
        jr.exponential(k, (9,)),
        jr.gumbel(k, (9,)),
        jr.categorical(k, jnp.zeros((3, 5))),
        jr.laplace(k, (9,)),
        jr.rademacher(k, (9,)),
        jr.cauchy(k, (5,)),
        jr.dirichlet(k, jnp.ones(3)),
        jr.beta(k, 2.0, 3.0, (2,)),
    ),
    (_KEY,),
    0,
    1e-5,
)
CASES["random_gamma"] = Case(
    lambda a: (jr.gamma(_KEY, a), jr.loggamma(_KEY, a), jr.t(_KEY, a)), (uniform(0.5, 3, 4),), 1, 1e-5
)
