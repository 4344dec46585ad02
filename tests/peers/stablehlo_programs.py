"""Programs of JAX that the tests of StableHLO lower: functions with arguments in f64, by family."""

# Programs take arrays of any type.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import jax
import jax.experimental.ode
import jax.numpy as jnp
import jax.scipy.linalg as sl
import jax.scipy.optimize
import numpy as np
from jax import lax
from jax.experimental import sparse

_rng = np.random.default_rng(0)
A = _rng.standard_normal((4, 4))
S = A @ A.T + 4 * np.eye(4)
B = _rng.standard_normal((4, 2))
X = _rng.standard_normal((3, 5))
Y = _rng.standard_normal((3, 200))
I = _rng.integers(-9, 9, (3, 5))  # noqa: E741
U = _rng.integers(0, 2**60, (3, 5)).astype(np.uint64) * np.uint64(8)


def _reconstructed(a):
    u, s, vt = jnp.linalg.svd(a, full_matrices=True)
    return (u[:, :2] * s) @ vt, u @ u.T


PROGRAMS: dict[str, tuple[Any, ...]] = {
    "argmax": (lambda x: (jnp.argmax(x, 0), jnp.argmin(x, 1)), X),
    "argmax_all": (lambda x: jnp.argmax(x), X),
    "argmax_i": (lambda x: jnp.argmax(x, 0), I),
    "sort": (lambda x: jnp.sort(x, 0), X),
    "argsort": (lambda x: jnp.argsort(x), X),
    "argsortd": (lambda x: jnp.argsort(x, descending=True), X),
    "sortd": (lambda x: jnp.sort(x, descending=True), X),
    "lexsort": (lambda x, i: jnp.lexsort((x, i)), X, I % 3),
    "sort2": (lambda x, i: lax.sort((i, x), num_keys=2), X, I % 3),
    "sorti": (lambda i: jnp.sort(i), I),
    "sortu": (lambda u: jnp.sort(u), U),
    "sortb": (lambda x: jnp.sort(x > 0), X),
    "topk": (lambda x: lax.top_k(x, 2), X),
    "median": (lambda x: jnp.median(x), X),
    "quant": (lambda x: jnp.quantile(x, 0.3, axis=1), X),
    "cumsum": (lambda x: jnp.cumsum(x, 1), X),
    "cumprod": (lambda x: jnp.cumprod(x, 0), X),
    "cummax": (lambda x: lax.cummax(x, 1), X),
    "cumlse": (lambda x: lax.cumlogsumexp(x, 1), X),
    "cumrev": (lambda x: lax.cumsum(x, 1, reverse=True), X),
    "scan": (lambda x: lax.scan(lambda c, a: (c * 0.5 + a, c), x[0], x), X),
    "fori": (lambda x: lax.fori_loop(0, 5, lambda i, c: c * 0.9 + i, x), X),
    "while": (lambda x: lax.while_loop(lambda c: (c**2).sum() < 100, lambda c: c * 1.5, x), X),
    "map": (lambda x: lax.map(lambda r: jnp.sin(r).sum(), x), X),
    "cond": (lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), X),
    "switch": (lambda x, i: lax.switch(i[0, 0], [jnp.sin, jnp.cos, jnp.tan], x), X, I),
    "assoc": (lambda x: lax.associative_scan(jnp.multiply, x, axis=1), X),
    "chol": (jnp.linalg.cholesky, S),
    "solve": (jnp.linalg.solve, S, B),
    "inv": (jnp.linalg.inv, S),
    "det": (jnp.linalg.det, A),
    "qr": (lambda a: jnp.linalg.qr(a), A),
    "qrt": (lambda a: jnp.linalg.qr(a), B),
    "eigh": (lambda a: jnp.linalg.eigh(a)[0], S),
    "svd": (lambda a: jnp.linalg.svd(a, compute_uv=False), A),
    "lu": (lambda a: sl.lu(a), A),
    "trs": (lambda a, b: sl.solve_triangular(a, b, trans=1, lower=True), A, B),
    "slogdet": (jnp.linalg.slogdet, A),
    "cho": (lambda a, b: sl.cho_solve(sl.cho_factor(a), b), S, B),
    "pinv": (jnp.linalg.pinv, B),
    "expm": (sl.expm, A),
    "svdf": (_reconstructed, B),
    "trid": (
        lambda a, b: lax.linalg.tridiagonal_solve(
            jnp.array([0.0, 1, 1, 1]), jnp.full(4, 4.0), jnp.array([1.0, 1, 1, 0]), b
        ),
        A,
        B,
    ),
    "gather": (lambda x, i: x[i % 3], X, I),
    "take": (lambda x, i: jnp.take_along_axis(x, i % 5, 1), X, I),
    "at": (lambda x: x.at[1:, 2].add(3.0), X),
    "atset": (lambda x, i: x.at[i[0] % 3].set(1.0), X, I),
    "seg": (lambda x: jax.ops.segment_sum(x, jnp.array([0, 1, 0]), 2), X),
    "segm": (lambda x: jax.ops.segment_max(x, jnp.array([0, 1, 0]), 2), X),
    "maxpool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME"), X),
    "avgpool": (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 2), "SAME"), X),
    "gradpool": (jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME") ** 2).sum()), X),
    "conv": (
        lambda x, k: lax.conv_general_dilated(
            x[None, :, :, None], k[:2, :2, None, None], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        X,
        A,
    ),
    "convt": (lambda x, k: lax.conv_transpose(x[None, :, :, None], k[:3, :3, None, None], (2, 2), "SAME"), X, A),
    "convgrad": (
        jax.grad(
            lambda x, k: (lax.conv_general_dilated(x[None, None], k[None, None, :2, :3], (2, 1), "SAME") ** 2).sum(),
            argnums=(0, 1),
        ),
        X,
        A,
    ),
    "fft": (lambda x: jnp.abs(jnp.fft.fft(x)), X),
    "rfft": (lambda x: jnp.fft.irfft(jnp.fft.rfft(x), 5), X),
    "fft2": (lambda x: jnp.fft.ifft2(jnp.fft.fft2(x)).real, X),
    "special": (
        lambda x: (
            jax.scipy.special.gammaln(jnp.abs(x) + 0.1),
            jax.scipy.special.digamma(jnp.abs(x) + 0.1),
            jax.scipy.special.erf(x),
            jax.scipy.special.erfinv(jnp.tanh(x)),
            jax.scipy.special.i0e(x),
            jax.scipy.special.i1e(x),
            jax.scipy.special.polygamma(1, jnp.abs(x) + 0.1),
            jax.scipy.special.zeta(2.0, jnp.abs(x) + 1.0),
        ),
        X,
    ),
    "special2": (
        lambda x: (
            jax.scipy.special.gammainc(1.5, jnp.abs(x)),
            jax.scipy.special.betainc(1.0, 2.0, jax.nn.sigmoid(x)),
            jax.scipy.special.logsumexp(x),
        ),
        X,
    ),
    "rand": (
        lambda x: (
            jax.random.normal(jax.random.key(3), (5,)),
            jax.random.uniform(jax.random.key(1), (3,)),
            jax.random.bits(jax.random.key(1), (3,)),
            jax.random.randint(jax.random.key(1), (3,), 0, 9),
        ),
        X,
    ),
    "perm": (lambda x: jax.random.permutation(jax.random.key(3), x), X),
    "gamma": (lambda x: jax.random.gamma(jax.random.key(3), 2.0, (5,)), X),
    "split": (lambda x: jax.random.key_data(jax.random.split(jax.random.key(3), 3)), X),
    "cat": (lambda x: jax.random.categorical(jax.random.key(3), x), X),
    "bits": (
        lambda i: (
            i << 2,
            i >> 1,
            i & 3,
            i | 1,
            i ^ 7,
            ~i,
            lax.shift_right_logical(i, 1),
            lax.population_count(i),
            lax.clz(i),
        ),
        I,
    ),
    "u64": (
        lambda u: (
            u >> 3,
            u + u,
            u * u,
            u // 7,
            u % 7,
            u < 5,
            jnp.maximum(u, 1 << 62),
            u.astype(np.float64),
            u.max(),
            u.astype(np.uint32),
        ),
        U,
    ),
    "idiv": (lambda i: (i // 3, i % 3, lax.div(i, 3), lax.rem(i, 3), i**3, abs(i), jnp.sign(i)), I),
    "round": (lambda x: (jnp.round(x), jnp.floor(x), jnp.ceil(x), jnp.trunc(x), lax.round(x)), X * 2),
    "conv2i": (
        lambda x: (x.astype(np.int8), x.astype(np.uint8), x.astype(bool), x.astype(np.float16), x.astype(jnp.bfloat16)),
        X * 200,
    ),
    "complex": (lambda x: (jnp.exp(x + 1j * x).real, jnp.abs(x * 1j), jnp.angle(x + 1j), (x + 1j * x) ** 2), X),
    "clip": (lambda x: jnp.clip(x, -0.5, 0.5), X),
    "next": (lambda x: jnp.nextafter(x, jnp.inf), X),
    "bitc": (lambda x: lax.bitcast_convert_type(x, jnp.int64), X),
    "bitc32": (lambda x: lax.bitcast_convert_type(x, jnp.int32), X),
    "pad": (lambda x: lax.pad(x, 0.5, [(1, 2, 1), (-1, 0, 2)]), X),
    "roll": (lambda x: jnp.roll(x, 2, 1), X),
    "tril": (jnp.tril, A),
    "einsum": (lambda x: jnp.einsum("ij,kj->ik", x, x), X),
    "kron": (jnp.kron, A, B),
    "outer": (lambda x: jnp.outer(x[0], x[1]), X),
    "interp": (lambda x: jnp.interp(x, jnp.array([-1.0, 0.0, 1.0]), jnp.array([1.0, 2.0, 0.0])), X),
    "hist": (lambda x: jnp.histogram(x, bins=4)[0], X),
    "unique": (lambda i: jnp.unique(i, size=6), I),
    "nonzero": (lambda x: jnp.nonzero(x > 0, size=8), X),
    "searchs": (lambda x: jnp.searchsorted(jnp.sort(x[0]), x[1]), X),
    "dyn": (lambda x, i: lax.dynamic_slice(x, (i[0, 0], i[0, 1]), (2, 2)), X, I),
    "dynu": (lambda x, i: lax.dynamic_update_slice(x, x[:2, :2] * 2, (i[0, 0], i[0, 1])), X, I),
    "softmax": (jax.nn.softmax, X),
    "gelu": (jax.nn.gelu, X),
    "ln": (lambda x: jax.nn.standardize(x), X),
    "logitgrad": (jax.grad(lambda x: jax.nn.log_softmax(x)[0, 0]), X),
    "onehot": (lambda i: jax.nn.one_hot(i, 5), I),
    "vmapchol": (jax.vmap(jnp.linalg.cholesky), np.stack([S, S + 1])),
    "remat": (jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())), X),
    "cjvp": (jax.grad(lambda x: jax.nn.relu(x).sum()), X),
    "poly": (lambda x: jnp.polyval(jnp.array([1.0, 2.0, 3.0]), x), X),
    "lgrad": (jax.grad(lambda a: jnp.linalg.slogdet(a)[1]), S),
    "cholg": (jax.grad(lambda a: jnp.linalg.cholesky(a).sum()), S),
    "eighg": (jax.grad(lambda a: jnp.linalg.eigh(a)[0][0]), S),
    "resize": (lambda x: jax.image.resize(x, (6, 7), "bilinear"), X),
    "odeint": (lambda x: jax.experimental.ode.odeint(lambda y, t: -y, x[0], jnp.linspace(0, 1, 3)), X),
    "scatter2": (lambda x: x.at[jnp.array([0, 1]), jnp.array([2, 3])].mul(2.0), X),
    "nanmax": (lambda x: jnp.nanmax(x), X),
    "tensordot": (lambda x: jnp.tensordot(x, x, ((1,), (1,))), X),
    "isin": (lambda i: jnp.isin(i, jnp.array([1, 2])), I),
    "logic": (
        lambda x: (
            (x > 0) & (x < 1),
            (x > 0) | (x < -1),
            (x > 0) ^ (x < 1),
            ~(x > 0),
            jnp.any(x > 0, 0),
            jnp.all(x > 0, 1),
            jnp.sum(x > 0),
        ),
        X,
    ),
    "redprec": (lambda x: lax.reduce_precision(x, 5, 10), X),
    "bf16": (lambda x: (x.astype(jnp.bfloat16) @ x.T.astype(jnp.bfloat16)).astype(np.float32), X),
    "xor": (lambda i: jnp.bitwise_xor.reduce(i, axis=1), I),
    "cumlse_long": (lambda x: lax.cumlogsumexp(x, 1), Y),
    "cumlser": (lambda x: lax.cumlogsumexp(x, 1, reverse=True), Y),
    "lex5": (lambda i: lax.sort(tuple(i[k % 3] % 3 for k in range(6)), num_keys=5), I),
    "redw_fn": (lambda x: lax.reduce_window(x, 0.0, lambda a, b: jnp.logaddexp(a, b), (1, 3), (1, 1), "VALID"), X),
    "reduce_fn": (lambda x: lax.reduce(x, -np.inf, lambda a, b: jnp.logaddexp(a, b), (1,)), X),
    "red2": (lambda x: lax.reduce((x, x * 2), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)), X),
    "argminmax": (
        lambda x: lax.reduce(
            (x, lax.iota(np.int32, 5) + jnp.zeros((3, 1), np.int32)),
            (-np.inf, np.int32(0)),
            lambda a, b: jax.tree.map(lambda p, q: jnp.where(a[0] >= b[0], p, q), a, b),
            (1,),
        ),
        X,
    ),
    "scapply": (lambda x: x.at[jnp.array([0, 2])].apply(jnp.sin), X),
    "segprod": (lambda x: jax.ops.segment_prod(x, jnp.array([0, 0, 1]), 3), X),
    "convi8": (
        lambda x: lax.conv_general_dilated(
            (x * 9).astype(np.int8)[None, None],
            (x * 9).astype(np.int8)[None, None, :2, :2],
            (1, 1),
            "SAME",
            preferred_element_type=np.int32,
        ),
        X,
    ),
    "conv3d": (
        lambda x: lax.conv_general_dilated(
            x.reshape(1, 1, 3, 5, 1), x.reshape(1, 1, 3, 5, 1)[:, :, :2, :2], (1, 1, 1), "SAME"
        ),
        X,
    ),
    "doti8": (
        lambda i: lax.dot_general(
            i.astype(np.int8), i.T.astype(np.int8), (((1,), (0,)), ((), ())), preferred_element_type=np.int32
        ),
        I,
    ),
    "whilebatch": (
        lambda x: jax.vmap(lambda v: lax.while_loop(lambda c: c.sum() < 50, lambda c: c * 1.7 + 1, v))(x),
        X,
    ),
    "vmapcond": (lambda x: jax.vmap(lambda v: lax.cond(v.sum() > 0, jnp.sin, jnp.cos, v))(x), X),
    "nestscan": (lambda x: lax.scan(lambda c, a: lax.scan(lambda d, b: (d * 0.5 + b, d), c, a), 0.0, x), X),
    "scan_int": (lambda x: lax.scan(lambda c, i: (c + x[i], c), x[0], jnp.array([2, 1, 0])), X),
    "fori_at": (lambda x: lax.fori_loop(0, 3, lambda i, y: y.at[i].set(x[i] * 2 + y[(i + 1) % 3]), x), X),
    "fori_dyn": (lambda x, i: lax.fori_loop(0, i[0, 0] % 5 + 1, lambda k, y: y * 1.1 + k, x), X, abs(I)),
    "fori_rev": (lambda x: lax.fori_loop(0, 3, lambda i, y: y + x[2 - i] * (i + 1), x[0]), X),
    "fori_step": (
        lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 2, c[1] + x[:, c[0]]), (0, x[:, 0]))[1],
        X,
    ),
    "scan_len0": (lambda x: lax.scan(lambda c, a: (c + a, c), x[0], x[:0]), X),
    "scan1": (lambda x: lax.scan(lambda c, a: (c + a, c), x[0], x[:1]), X),
    "scan_xs_none": (lambda x: lax.scan(lambda c, _: (c * 0.9, c.sum()), x, None, length=7), X),
    "approx": (lambda x: lax.approx_max_k(x, 2), X),
    "lstsq": (lambda a, b: jnp.linalg.lstsq(a, b)[0], A, B),
    "vmapsolve": (jax.vmap(jnp.linalg.solve), np.stack([S, S + 1]), np.stack([B, B])),
    "householder": (lambda a: lax.linalg.householder_product(a, a[0] * 0.1), A),
    "poisson": (lambda x: jax.random.poisson(jax.random.key(0), 3.0, (4,)), X),
    "beta": (lambda x: jax.random.beta(jax.random.key(0), 2.0, 3.0, (4,)), X),
    "choice": (lambda x: jax.random.choice(jax.random.key(0), x[0], (3,), replace=False), X),
    "u64b": (lambda x: jax.random.bits(jax.random.key(0), (4,), np.uint64), X),
    "u16": (lambda x: jax.random.bits(jax.random.key(0), (4,), np.uint16), X),
    "corr": (lambda x: jnp.corrcoef(x), X),
    "image": (
        lambda x: (
            jax.image.resize(x, (5, 3), "cubic"),
            jax.scipy.ndimage.map_coordinates(x, [jnp.array([0.5, 1.2]), jnp.array([1.5, 2.2])], 1),
        ),
        X,
    ),
    "minimize": (
        lambda x: jax.scipy.optimize.minimize(lambda v: ((v - x[0]) ** 2).sum(), jnp.zeros(5), method="BFGS").x,
        X,
    ),
    "sparse": (lambda x: sparse.BCOO.fromdense(x, nse=15) @ x[0], X),
    "attn": (
        lambda x: jax.nn.dot_product_attention(
            x.reshape(1, 3, 1, 5), x.reshape(1, 3, 1, 5), x.reshape(1, 3, 1, 5), is_causal=True
        ),
        X,
    ),
}

FORWARD_ONLY = {
    "argminmax": "JAX has no rule",
    "attn": "JAX computes its softmax in f32",
    "fori_dyn": "the loop has no bound in its text",
    "fori_step": "the loop has no bound to JAX",
    "householder": "JAX has no rule",
    "minimize": "the loop has no bound",
    "redw_fn": "JAX has no rule",
    "scapply": "JAX has no rule",
    "segprod": "JAX has no rule",
    "whilebatch": "the loop has no bound",
    "cho": "JAX's gradient of a symmetric matrix that is not made symmetric is one of many",
    "next": "JAX has no rule",
    "svdf": "JAX has no rule for square factors",
    "odeint": "the rule of the function is not in its text, and the loop has no bound",
    "special2": "the rules of the functions are not in their text, and the loops have no bound",
    "while": "the loop has no bound",
}
"""Programs whose gradients are not compared, and why."""
