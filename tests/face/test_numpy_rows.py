"""NumPy's functions and methods with all their arguments: the numbers, shapes and element types that NumPy gives."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy_lines
import pytest

import xdsl_rlx as rlx

FAMILIES = {
    "elements": """
np.log10(x.a), np.log10(x.n + 10), np.logaddexp2(x.b, x.a), np.heaviside(x.b, 0.5), np.heaviside(x.nan, 1.0)
np.fmax(x.nan, 0.5), np.fmin(x.b, x.a), np.fmax(x.n, x.m), np.signbit(x.nan), np.signbit(x.n)
np.modf(x.b), np.modf(x.nan), np.ldexp(x.b, x.m), np.ldexp(2.0, x.m), np.reciprocal(x.k - 3), np.fabs(x.n)
np.float_power(x.f, 2), np.float_power(x.n + 10, x.m), np.degrees(x.i8), np.square(x.n)
np.exp(x.i8, dtype=np.float64)
np.exp(x.b, dtype=np.float32), np.add(x.i32, 1, dtype=np.float64), np.add(x.b, 1, out=None)
np.exp(x.b, casting="same_kind")
np.vecdot(x.b, x.a), np.matvec(x.b, x.v), np.vecmat(x.v, x.s), np.matmul(x.c, x.s)
np.where(x.t, 1, 0), np.where(x.t, 1.0, 0.0), np.where(x.t, A, 0), np.where(x.t, x.n, 0.5), np.where(x.n, x.b, 1)
np.where(x.t, 0, [1.0, 2, 3, 4]), np.where([[True], [False], [True]], x.b, 0), np.where(A > 0, x.f, 0)
np.select([x.b > 1, x.b < 0], [x.b, -x.b], 0.5), np.select([x.b > 1, x.b < 0], [x.b, -x.b]), np.select([x.t], [1], 0)
np.piecewise(x.b, [x.b < 0, x.b >= 1], [lambda y: -y, 2.0]), np.piecewise(x.n, [x.n < 0], [-1, lambda y: y])
np.clip(x.b, None, 0), np.clip(x.b, 0, None), np.clip(x.b, min=0, max=1), np.clip(A, x.a, 1), np.clip(x.n, 0.5, 2)
np.round(x.b, 2), np.round(x.n, -1), np.round(x.n, 1), np.round(x.b * 100, -1), np.round(x.z, 1), np.fix(x.b)
round(x.r), round(x.r, 1), divmod(x.b, 0.3), divmod(3.0, x.a)
np.nan_to_num(x.nan), np.nan_to_num(x.nan, nan=1.0, posinf=2.0, neginf=-2.0), np.nan_to_num(x.n), np.nan_to_num(x.z)
np.sinc(x.b), np.sinc(x.n), np.angle(x.z), np.angle(x.b), np.angle(x.z, deg=True), np.unwrap(x.b * 9)
np.unwrap(x.v * 9)
np.real(x.b), np.imag(x.b), np.real(x.z), np.imag(x.z), np.isreal(x.z), np.iscomplex(x.z), np.isposinf(x.nan)
np.isneginf(x.nan)
np.isclose(x.a, x.b), np.isclose(x.nan, x.nan, equal_nan=True), np.allclose(x.a, x.a), np.array_equal(x.a, x.b)
np.isin(x.n, [1, 2]), np.isin(x.n, x.m, invert=True), np.iscomplexobj(x.z), np.isrealobj(x.z)
""",
    "reductions": """
np.sum(x.c, axis=(0, 2)), np.sum(x.c, axis=()), np.sum(x.b, 1), np.sum(x.c, axis=(0, -1), keepdims=True), np.sum(x.t)
np.sum(x.n, dtype=np.float32), np.prod(x.n, dtype=float), np.mean(x.f, dtype=float), np.mean(x.t, axis=1)
np.mean(x.r)
np.sum(x.b, where=x.t), np.sum(x.b, initial=2.0), np.prod(x.b, 1, initial=2.0), np.mean(x.b, axis=1, where=x.b > -1)
np.max(x.b, initial=5.0), np.max(x.b, axis=0, where=x.t, initial=-1), np.min(x.empty, axis=0, initial=3.0)
np.max(x.t, axis=1)
np.any(x.b, where=x.t), np.all(x.b, axis=0, where=x.t), np.any(x.empty), np.all(x.empty, axis=0)
np.sum(x.empty, axis=1)
np.var(x.f, dtype=np.float64), np.std(x.n, ddof=1), np.var(x.b, mean=np.mean(x.b)), np.var(x.b, axis=0, correction=1)
np.std(x.b, axis=0, ddof=0.5), np.var(x.b, axis=1, where=x.b > -1), np.var(x.z), np.std(x.h)
np.ptp(x.b, axis=1), np.ptp(x.n), np.count_nonzero(x.n, axis=1, keepdims=True), np.count_nonzero(x.t)
np.median(x.b), np.median(x.b, axis=0), np.median(x.c, axis=(0, 2), keepdims=True), np.median(x.nan), np.median(x.i32)
np.quantile(x.b, 0.3), np.quantile(x.b, [0.3, 0.5], axis=1), np.percentile(x.b, 30, axis=0, keepdims=True)
np.quantile(x.f, 0.3)
np.nansum(x.nan), np.nanprod(x.nan), np.nanmean(x.nan[:2]), np.nanmax(x.nan), np.nanmin(x.nan[:2])
np.nanmax(x.n, axis=0)
np.nanvar(x.nan[:2]), np.nanstd(x.b, axis=0, ddof=1), np.nanargmax(x.nan), np.nanargmin(x.b, axis=1)
np.nancumsum(x.nan[:2])
np.nanmedian(x.nan), np.nanmedian(x.nan[:2]), np.nanmedian(x.b, axis=0, keepdims=True)
np.cumsum(x.t), np.cumsum(x.f, dtype=np.float64), np.cumprod(x.f, axis=1, dtype=float), np.cumsum(x.b, axis=-1)
np.cumulative_sum(x.v), np.cumulative_prod(x.b, axis=1, include_initial=True)
np.argmax(x.b, axis=0, keepdims=True), np.argmin(x.b, keepdims=True), np.argmax(x.nan), np.argmin(x.t, axis=1)
np.average(x.b, axis=1, weights=[1, 2, 3, 4], returned=True), np.average(x.b, returned=True)
np.average(x.n, keepdims=True)
np.average(A, weights=x.a), np.cov(x.b), np.cov(x.b, rowvar=False, bias=True), np.cov(x.v, x.v[::-1]), np.cov(x.v)
np.corrcoef(x.b)
np.add.reduce(x.b), np.add.reduce(x.b, axis=None), np.multiply.reduce(x.b, axis=1, keepdims=True)
np.maximum.reduce(x.b)
np.logaddexp.reduce(x.b, axis=1), np.logical_and.reduce(x.t), np.add.accumulate(x.v)
np.multiply.accumulate(x.b, axis=1)
np.maximum.accumulate(x.v), np.minimum.accumulate(x.b, axis=1), np.subtract.outer(x.v, x.w), np.add.outer(x.b, 1)
""",
    "shapes": """
np.reshape(x.b, (2, 6), order="F"), np.ravel(x.b, order="F"), np.reshape(x.b, shape=-1), np.reshape(x.one, ())
np.transpose(x.c, (2, 0, 1)), np.transpose(x.c, axes=(-1, 0, 1)), np.matrix_transpose(x.c), np.rollaxis(x.c, 2)
np.rollaxis(x.c, 0, 3)
np.moveaxis(x.c, [0, 1], [-1, 0]), np.expand_dims(x.b, (0, -1)), np.squeeze(x.one), np.squeeze(x.c[:, :1], axis=1)
np.atleast_1d(x.r), np.atleast_2d(x.v), np.atleast_3d(x.v), np.atleast_3d(x.b), np.atleast_1d(x.r, x.v)
np.broadcast_to(x.r, 3), np.broadcast_arrays(x.v, x.b), np.flip(m=x.b), np.flip(x.b, (0, 1)), np.fliplr(x.b)
np.flipud(x.b)
np.rot90(x.b), np.rot90(x.b, 2), np.rot90(x.b, 3), np.rot90(x.b, -1), np.rot90(x.c, 1, (1, 2)), np.rot90(x.b, 4)
np.roll(x.b, (1, -2), axis=(0, 1)), np.roll(x.b, 1, (0, 1)), np.tile(x.b, (2, 1, 3)), np.resize(x.v, (2, 3))
np.resize(x.v, 2)
np.repeat(x.b, [1, 0, 2], axis=0), np.repeat(x.b, np.array([1, 0, 2]), axis=0), np.repeat(x.b, 2)
np.pad(x.b, 1), np.pad(x.b, [(0, 0), (1, 1)]), np.pad(x.b, ((1, 2), (0, 1)), constant_values=3)
np.pad(x.b, {-1: (1, 2)})
np.pad(x.b, 1, constant_values=(1, 2)), np.pad(x.b, ((1, 0), (0, 2)), "edge"), np.pad(x.b, 2, mode="wrap")
np.pad(x.n, 1, constant_values=7)
np.pad(x.b, 2, mode="reflect"), np.pad(x.b, 2, mode="symmetric"), np.pad(x.b, np.array([[0, 0], [1, 1]]))
np.take(x.b, [0, 7], axis=1, mode="wrap"), np.take(x.b, [-3, 7], axis=1, mode="clip"), np.take(x.b, x.k, axis=1)
np.take(x.b, 1)
np.take(x.b, x.k * 4 - 3, axis=1, mode="wrap"), np.take(x.b, [[0, 1], [1, 2]], 1)
np.compress([True, False, True], x.b, axis=0)
np.take_along_axis(x.b, np.argsort(x.b, axis=1), axis=1), np.take_along_axis(A, x.k[:, None], 1)
np.take_along_axis(x.b, x.k, None)
np.diag(x.v), np.diag(x.v, 1), np.diag(x.s, k=-1), np.diag(x.v, -2), np.diagflat(x.b), np.tril(x.c)
np.triu(x.s, k=1), np.tril(x.v), np.triu(x.v, 1)
np.meshgrid(x.v, x.w), np.meshgrid(x.v, x.w, indexing="ij"), np.meshgrid(np.arange(3), x.w, sparse=True)
np.ix_(x.k, [1, 2])
np.sort(x.b, axis=None), np.sort(x.b, axis=0, kind="stable"), np.argsort(x.b, kind="stable"), np.argsort(-x.b)
np.sort(x.t)
np.partition(np.sort(x.v), 2), np.argpartition(np.sort(x.v), 2)
np.searchsorted([0.0, 1.0], x.b), np.searchsorted(np.sort(x.v), x.w, side="right"), np.digitize(x.b, [0.0, 1.0])
np.digitize(x.b, [0, 1], right=True)
np.zeros_like(x.b, shape=(2, 2)), np.ones_like(x.n, dtype=np.float32), np.full_like(x.n, 2.5)
np.full_like(x.b, x.r), np.empty_like(x.n) * 0
np.copy(x.b), np.astype(x.b, np.float32), np.size(x.b, 0), np.size(x.b), np.shape(x.b), np.ndim(x.b)
""",
    "joins": """
np.concatenate([x.b, x.n]), np.concatenate([x.b, A], axis=-1), np.concatenate([[1.0], x.v])
np.concatenate([x.v, [1, 2]])
np.concatenate([x.b, x.v], axis=None), np.concatenate([x.b, x.b], dtype=np.float32), np.concatenate(x.c)
np.concatenate([x.t, x.t])
np.concatenate([x.empty, x.tall]), np.concatenate((x.n, x.t)), np.concatenate([x.i32, x.i8])
np.stack((x.r, x.r * 2)), np.stack([x.r, 1.0]), np.stack([x.r, 1]), np.stack(x.c), np.stack([x.b, A], axis=1)
np.vstack([x.v, x.b]), np.vstack((x.r, x.r)), np.vstack(x.c), np.hstack([x.v, x.w]), np.hstack((x.r, 1.0))
np.hstack([x.v, [1.0]])
np.dstack([x.b, x.b]), np.dstack([x.v, x.v]), np.column_stack([x.v, x.v]), np.column_stack([x.b, x.w])
np.column_stack([x.w, np.ones(3)])
np.append(x.v, 1.0), np.append(x.b, x.b, axis=0), np.append(np.zeros(2), x.w), np.insert(x.v, 1, 1.0)
np.insert(x.v, 2, [7, 8])
np.insert(x.b, 1, 5, axis=1), np.insert(x.b, -1, x.v, axis=0), np.delete(x.v, 0), np.delete(x.b, [0, 2], axis=1)
np.block([[x.s, x.s], [x.s, x.s]]), np.block([x.v, x.w])
np.block([[x.s, np.zeros((4, 2))], [np.zeros((2, 4)), np.eye(2)]])
np.split(x.b, 2, axis=1), np.split(x.v, [1, 3]), np.array_split(x.v, 3), np.array_split(x.b, 2, axis=1)
np.vsplit(x.s, 2)
np.hsplit(x.b, 2), np.hsplit(x.v, 2), np.dsplit(x.c, 2), np.unstack(x.c), np.unstack(x.b, axis=1)
""",
    "products": """
np.einsum("...j,j", x.c, x.v), np.einsum("ii", x.s), np.einsum("ij,jk", A, x.s)
np.einsum("ij,jk->ik", x.f, x.s, optimize="greedy")
np.einsum(x.a, [0, 1], x.s, [1, 2], [0, 2]), np.einsum(x.c, [..., 0], x.v, [0]), np.einsum("ij,jk->ik", x.n, x.m.T)
np.tensordot(x.c, x.s, 1), np.tensordot(x.c, x.s, axes=(2, 0)), np.tensordot(x.c, x.s, axes=((-1,), (0,)))
np.tensordot(A, x.b)
np.dot(x.r, x.b), np.dot(3, x.b), np.dot(x.c, x.s), np.dot(x.n, x.m.T), np.dot(x.t, x.t.T), np.dot(x.b, A.T)
np.inner(x.v, 2)
np.outer(x.b, x.w), np.vdot(x.z, x.z), np.kron(np.eye(2), x.s), np.kron(x.v, x.w), np.cross(x.tall, x.w)
np.cross(x.w, x.w[::-1])
np.trace(x.n), np.trace(x.s, offset=1), np.diagonal(x.c, offset=1, axis1=1, axis2=2)
np.linalg.multi_dot([x.b, x.s, x.v]), np.linalg.multi_dot([x.b, x.s, x.s]), np.linalg.matmul(x.b, x.s)
np.linalg.outer(x.v, x.w)
np.linalg.vecdot(x.b, x.a), np.linalg.vecdot(x.z, x.z, axis=0), np.linalg.tensordot(x.b, x.s, axes=1)
np.linalg.cross(x.w, x.w[::-1])
np.linalg.diagonal(x.c), np.linalg.trace(x.batch), np.linalg.matrix_transpose(x.c)
np.linalg.solve(x.s, x.v), np.linalg.solve(x.s, x.b.T), np.linalg.solve(x.batch, x.w)
np.linalg.solve(x.batch, np.ones((2, 3, 1)))
np.linalg.solve(x.batch, x.tall[:3]), np.linalg.solve(np.eye(4) * 2, x.v), np.linalg.solve(x.s, A.T)
np.linalg.solve(x.m[:3, :3] * 9 + np.eye(3), x.k)
np.linalg.inv(x.batch), np.linalg.inv(x.s.astype(np.float32)), np.linalg.det(x.batch), np.linalg.det(x.n[:, :3])
np.linalg.slogdet(x.batch)
np.linalg.slogdet(x.s).logabsdet, np.linalg.cholesky(x.q), np.linalg.cholesky(x.q, upper=True)
np.linalg.eigh(x.q, "U").eigenvalues
np.linalg.eigvalsh(x.q), np.linalg.svd(x.tall, full_matrices=False).S, np.linalg.svd(x.tall, compute_uv=False)
np.linalg.svdvals(x.b)
np.abs(np.linalg.qr(x.tall).R), np.abs(np.linalg.qr(x.tall, mode="r")), np.linalg.pinv(x.tall), np.linalg.pinv(x.b)
np.linalg.matrix_rank(x.s)
np.linalg.lstsq(x.tall, np.ones(5), rcond=None), np.linalg.lstsq(x.b, np.ones((3, 2)))[0]
np.linalg.lstsq(x.tall, np.ones((5, 2)))[1]
np.linalg.norm(x.b, "fro"), np.linalg.norm(x.b, -1), np.linalg.norm(x.b, 2), np.linalg.norm(x.v, np.inf)
np.linalg.norm(x.n), np.linalg.norm(x.z)
np.linalg.norm(x.c), np.linalg.norm(x.c, axis=(1, 2)), np.linalg.norm(x.b, axis=-1, keepdims=True)
np.linalg.vector_norm(x.b)
np.linalg.vector_norm(x.b, axis=0, ord=1), np.linalg.vector_norm(x.c, axis=(0, 2), keepdims=True)
np.linalg.matrix_norm(x.c), np.linalg.cond(x.s), np.linalg.cond(x.s, 1)
np.linalg.matrix_power(x.s, 5), np.linalg.matrix_power(x.s, -2), np.linalg.matrix_power(x.s, 0)
np.linalg.tensorinv(x.s, ind=1)
np.linalg.tensorsolve(x.s.reshape(2, 2, 4), x.b[:2, :2]), np.linalg.tensorsolve(x.s, x.v)
""",
    "transforms": """
np.fft.fft(x.v), np.fft.fft(x.b, axis=0), np.fft.fft(x.v, n=8), np.fft.fft(x.v, 3), np.fft.fft(x.f)
np.fft.fft(x.v, norm="forward")
np.fft.ifft(x.z), np.fft.ifft(x.z, norm="ortho"), np.fft.rfft(x.b, axis=0), np.fft.rfft(x.v, n=8, norm="ortho")
np.fft.rfft(x.n)
np.fft.irfft(x.z), np.fft.irfft(x.z, n=5, norm="forward"), np.fft.hfft(x.z), np.fft.ihfft(x.v)
np.fft.irfft(x.z, axis=0)
np.fft.fft2(x.b), np.fft.ifft2(x.z), np.fft.fftn(x.c), np.fft.fftn(x.c, axes=(0, 2))
np.fft.ifftn(x.z, s=(4, 2), axes=(0, 1))
np.fft.rfft2(x.b), np.fft.irfft2(x.z), np.fft.rfftn(x.c), np.fft.irfftn(x.z, s=(3, 5), axes=(0, 1))
np.fft.fftshift(x.v), np.fft.ifftshift(x.w), np.fft.fftshift(x.b, axes=0), np.fft.fftfreq(5) * x.r
""",
    "series": """
np.diff(x.b, n=2), np.diff(x.b, n=0), np.diff(x.t), np.diff(x.b, prepend=0), np.diff(x.b, append=x.b[:, :1])
np.diff(x.b, n=9), np.ediff1d(x.b)
np.ediff1d(x.v, to_end=9.0, to_begin=[1.0, 2.0]), np.gradient(x.v), np.gradient(x.b), np.gradient(x.b, 0.5, axis=1)
np.gradient(x.b, 2, 3), np.gradient(x.f)
np.gradient(x.v, np.array([0.0, 1.0, 3.0, 4.0])), np.gradient(x.v, edge_order=2)
np.gradient(x.v, np.array([0.0, 1.0, 3.0, 4.0]), edge_order=2)
np.trapezoid(x.b), np.trapezoid(x.b, dx=0.1, axis=0), np.trapezoid(x.b, np.sort(x.v)), np.trapezoid(A, x.b, axis=1)
np.interp(x.b, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0]), np.interp(0.5, np.sort(x.v), x.v)
np.interp(x.b, np.sort(x.v), x.v, left=7, right=8)
np.convolve(x.v, x.w), np.convolve(x.w, x.v, "same"), np.convolve(x.v, [1.0, 2.0], "valid")
np.convolve(x.n[0], x.m[0]), np.convolve(x.v, x.v, "same")
np.correlate(x.v, x.w), np.correlate(x.w, x.v, "full"), np.correlate(x.v, x.w, "same")
np.correlate(x.z[0], x.z[1], "full"), np.correlate(x.w, x.v)
np.polyval([1.0, 2, 3], x.v), np.polyval(x.w, 2.0), np.polyval(x.w, x.b), np.vander(x.v)
np.vander(x.v, 3, increasing=True), np.vander(x.v, 0)
np.linspace(0, x.r, 5), np.linspace(x.w, 2.0, 4, axis=1), np.linspace(x.r, 2, 4, endpoint=False)
np.linspace(0, x.r, 3, retstep=True)
np.logspace(0, x.r, 5), np.geomspace(1, x.r + 2, 5), np.geomspace(-1, -x.r - 2, 3), windows(x.v, 2)
windows(x.b, (2, 2)), windows(x.c, 2, axis=-1)
windows(x.c, (2, 3), axis=(1, 2))
""",
    "methods": """
x.b.sum(1), x.b.sum(0, np.float32), x.b.mean(0, None, None, True), x.b.max(1, None, True), x.b.var(1, None, None, 1)
x.b.std(1, ddof=1)
x.b.cumsum(0, dtype=np.float32), x.b.cumprod(0), x.b.argsort(), x.b.argsort(axis=0)
x.b.argmax(axis=1, keepdims=True), x.b.argmin()
x.b.trace(), x.b.diagonal(1), x.z.conj(), x.z.conjugate(), x.b.conj(), x.z.real, x.z.imag, x.b.real, x.b.imag
x.b.copy()
x.b.flatten("F"), x.b.ravel(order="C"), x.b.reshape(2, 6, order="F"), x.b.reshape((2, 6), order="C")
x.b.reshape([2, -1]), x.b.reshape(-1)
x.b.transpose(None), x.b.transpose(-1, 0), x.c.mT, x.c.transpose((2, 0, 1)), x.b.repeat([1, 2, 3], axis=0)
x.b.squeeze(), x.b.swapaxes(0, 1)
x.b.clip(min=0), x.b.clip(max=0), x.b.clip(-1, 1), x.n.clip(-1.5, 1), x.b.round(decimals=2), x.n.round(-1)
x.b.round(1)
x.b.astype(np.float32, copy=False), x.n.astype("d"), x.b.astype(dtype=np.float32), x.b.take([[0, 1], [2, 3]])
x.b.take(np.array(2), axis=-1)
np.sort(x.v).searchsorted(x.w), x.b.compress([True, False, True], axis=0), x.b.dot(x.v), x.b.any(), x.b.all(axis=0)
x.b.prod(0)
x.b.nbytes, x.b.itemsize, x.b.size, x.b.ndim, len(x.b), deepcopy({"x": x.b})["x"] * 1, [row * 2 for row in x.b]
sum(x.w), list(reversed(x.w))
""",
}
"""Lines that give what they give in NumPy, by the file that most of their functions are in."""

LINES = [(family, line) for family, text in FAMILIES.items() for line in numpy_lines.lines(text)]


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    """What all lines of a family give, once one is asked for."""
    return {}


@pytest.mark.parametrize(("family", "line"), LINES)
def test_a_line_gives_what_it_gives_in_numpy(family: str, line: str, computed: dict[str, Any]):
    if line not in computed:
        computed |= numpy_lines.compiled(numpy_lines.lines(FAMILIES[family]))
    numpy_lines.check(line, computed[line])


ERRORS = {
    "np.where(x.t)": r"np\.where\(mask, x, y\) keeps the shape",
    "np.max(x.empty, axis=0)": "an empty axis needs initial=",
    "np.max(x.b, where=x.t)": r"np\.max of shape \[3, 4\]: where= or an empty axis needs initial=",
    "np.max(x.b, axis=2)": r"np\.max: axis 2 is out of range for rank 2",
    "np.median(x.b, axis=(0, 0))": r"np\.median: axes \[0, 0\] repeat one",
    "np.quantile(x.empty, 0.5)": "expected at least one element",
    "np.quantile(x.b, 'some')": r"np\.quantile: could not convert string to float",
    "np.percentile(x.b, 200)": "np.percentile: expected q from 0 to 100, got 200",
    "np.round(x.b, 'a')": "np.round: decimals: expected integers, got 'a'",
    "np.vander(x.v, -1)": "np.vander: N: expected an integer of at least 0, got -1",
    "np.histogram(x.v, 4, (2, 1))": r"np.histogram: range: expected finite numbers in ascending order, got \(2, 1\)",
    "np.histogram(x.v, 4, (0, np.inf))": "np.histogram: range: expected finite numbers in ascending order",
    "np.histogram(x.v, 4, 3)": "np.histogram: range: expected a pair of numbers, got 3",
    "np.histogram(x.v, [0.0, 2.0, 1.0])": "np.histogram: bins: expected edges in ascending order",
    "np.delete(x.v, 9)": r"np\.delete: index 9 is out of bounds",
    "np.pad(x.v, ((1, 1), (0, 2)))": r"np\.pad: operands could not be broadcast",
    "np.linalg.svd(x.v)": r"np\.linalg\.svd: expected at least 2 axes, got an array of shape \[4\]",
    "np.interp(x.b, x.b, x.v)": r"np\.interp: expected 1 axes, got an array of shape \[3, 4\]",
    "np.quantile(x.b, x.r)": "expected a static q",
    "np.quantile(x.b, 0.5, method='lower')": "'linear', got method 'lower'",
    "np.sum(x.b, out=np.zeros(()))": r"np\.sum of a traced value does not support out=",
    "np.exp(x.b, where=x.t)": "does not support where=",
    "np.add.at(x.v, [0], 1.0)": r"np\.add\.at .*rlx\.scatter_add",
    "np.add.reduceat(x.v, [0, 2])": r"np\.add\.reduceat does not support",
    "np.bitwise_or.reduce(x.n)": r"np\.bitwise_or\.reduce does not support",
    "np.clip(x.b, 0, 1, dtype=np.float32)": "unexpected keyword argument 'dtype'; its arguments are a, a_min",
    "np.fill_diagonal(x.s, 0)": "changes an array",
    "np.copyto(x.b, 0)": "changes an array",
    "np.nonzero(x.b)": "keeps the shape",
    "np.array([x.r, 1.0])": r"np\.stack\(\[x, y\]\) instead of np\.array",
    "np.array([1.0], like=x.b)": r"np\.stack",
    "A[x.k]": r"rlx\.gather\(A, x\)",
    "np.argsort(x.r)": "expected an array to sort, got a scalar",
    "np.take(x.b, [0], mode='other')": "expected the mode 'raise', 'wrap' or 'clip'",
    "np.delete(x.b, x.k)": "the shape of the result depends on them",
    "np.linalg.solve(x.b, x.v)": r"expected square matrices, got \[3, 4\]",
    "np.cross(x.v, x.v)": "vectors of 3 elements",
    "np.convolve(x.b, x.v)": r"np\.convolve: expected 1 axes, got an array of shape \[3, 4\]",
    "np.fft.fft(x.v, norm='other')": "expected the norm 'backward'",
    "np.array_split(x.v, 0)": "at least one section",
    "x.b.item()": "has no attribute 'item': it has no concrete value",
    "x.b.sort()": r"has no attribute 'sort': .* np\.sort\(x\) is a new one",
    "x.b.clip(a_min=0)": "clip has no argument 'a_min'",
    "x.b.nothing": "has no attribute 'nothing'",
    "'{:.3f}'.format(x.r)": "cannot be formatted",
    "complex(x.r)": "expected a number",
    "hasattr(x.b, 'nothing') or x.b.fill(0)": r"np\.full_like",
}


@pytest.mark.parametrize("line", ERRORS)
def test_what_has_no_meaning_is_said(line: str):
    with pytest.raises(rlx.GraphError, match=ERRORS[line]):
        rlx.trace(lambda given: numpy_lines.value(line, given), numpy_lines.ARGUMENTS)


def changes() -> Iterator[tuple[Any, str]]:
    """Statements that change an array, and what is said of them."""

    def item(x: Any) -> Any:
        x = x * 2
        x[0] = 1.0
        return x

    def deleted(x: Any) -> Any:
        del x[0]
        return x

    def added(x: Any) -> Any:
        total = np.zeros(3)
        total += x
        return total

    yield item, r"x = x\.at\[i\]\.set\(y\)"
    yield deleted, "are immutable"
    yield added, r"write a = a \+ x instead of a \+= x"


@pytest.mark.parametrize(("function", "message"), list(changes()))
def test_a_value_does_not_change(function: Any, message: str):
    with pytest.raises(rlx.GraphError, match=message):
        rlx.trace(function, np.ones(3))
