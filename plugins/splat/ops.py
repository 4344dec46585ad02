"""Rendering of three-dimensional Gaussians, and its builder methods. docs/math.md has the formulas."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Integer, OptionalReal, Real, Tensor, integer, real, tensor
from xdsl_rlx.dialects.mir.value import BuilderCore, method, results_of
from xdsl_rlx.dialects.shapes import check_element, dims, element_of, same_element_type, shape_of

CAMERA = 15
"""Numbers of a camera: position, target, up, field of view in degrees, near, far, background."""

SMALLEST_RADIUS = 1e-6 / 3
"""The least extent of a splat along one of its axes."""

NEAREST = 1e-4
"""A splat takes part if its centre is deeper than this in front of the camera."""


@dataclass(frozen=True)
class Picture:
    """The size of a picture, and how splats become its pixels."""

    width: int = 64
    height: int = 64
    alpha_cutoff: float = 1 / 255
    transmittance_threshold: float = 0.01
    gamma: float = 1.0


def check_radius_scale(scale: float) -> None:
    """Require a finite positive scale."""
    if not 0 < scale < float("inf"):
        raise VerifyException(f"expected a finite radius_scale above 0, got {scale}")


def check_splats(named: Sequence[tuple[str, SSAValue, int]]) -> int:
    """The number of splats, of which the first operand has one number each; others `(name, value, numbers each)`."""
    check_element(same_element_type(*(value for _, value, _ in named)), (f32, f64))
    shape = shape_of(named[0][1])
    if len(shape) != 1:
        raise VerifyException(f"expected {named[0][0]} of rank 1, got shape {dims(shape)}")
    (count,) = shape
    for name, value, each in named[1:]:
        if shape_of(value) != (each * count,):
            raise VerifyException(
                f"expected {name} of shape [{each * count}] for {count} splats, got {dims(shape_of(value))}"
            )
    return count


def check_camera(meta: SSAValue) -> None:
    """Require the numbers of a camera, or those and eight more."""
    if shape_of(meta) not in ((CAMERA,), (CAMERA + 8,)):
        raise VerifyException(f"expected meta of shape [{CAMERA}] or [{CAMERA + 8}], got {dims(shape_of(meta))}")


class PictureOp(MirOp, abc.ABC):
    """An op about a picture."""

    width: Integer = integer(default=Picture.width)
    height: Integer = integer(default=Picture.height)
    alpha_cutoff: Real = real(default=Picture.alpha_cutoff)
    transmittance_threshold: Real = real(default=Picture.transmittance_threshold)
    gamma: Real = real(default=Picture.gamma)

    @property
    def picture(self) -> Picture:
        """The properties about the picture."""
        return Picture(
            self.width.value.data,
            self.height.value.data,
            self.alpha_cutoff.value.data,
            self.transmittance_threshold.value.data,
            self.gamma.value.data,
        )

    def check_picture(self, like: SSAValue) -> TensorType[Attribute]:
        """The type of the picture; VerifyException for a bad property."""
        p = self.picture
        if p.width < 0 or p.height < 0:
            raise VerifyException(f"expected a width and a height of at least 0, got {p.width} and {p.height}")
        for name, value in (("alpha_cutoff", p.alpha_cutoff), ("transmittance_threshold", p.transmittance_threshold)):
            if not 0 <= value <= 1:
                raise VerifyException(f"expected {name} from 0 to 1, got {value}")
        if not (isfinite(p.gamma) and p.gamma > 0):
            raise VerifyException(f"expected a finite gamma above 0, got {p.gamma}")
        return TensorType(element_of(like), (4 * p.width * p.height,))


Cloud: TypeAlias = tuple[SSAValue, SSAValue, SSAValue, SSAValue, SSAValue, SSAValue]
"""Positions, scales, rotations, opacities, colours, coefficients."""


class _Scaled(Operation):
    """An op that scales splats."""

    if TYPE_CHECKING:
        radius_scale: Real


class SplatOp(_Scaled, MirOp, abc.ABC):
    """An op whose first seven operands are a cloud of splats and a camera."""

    positions: Tensor = tensor()
    scales: Tensor = tensor()
    rotations: Tensor = tensor()
    opacities: Tensor = tensor()
    colors: Tensor = tensor()
    sh_coeffs: Tensor = tensor()
    meta: Tensor = tensor()

    @property
    def cloud(self) -> Cloud:
        """The splats."""
        return self.positions, self.scales, self.rotations, self.opacities, self.colors, self.sh_coeffs

    @property
    def count(self) -> int:
        """The number of splats."""
        return shape_of(self.opacities)[0]

    @property
    def bands(self) -> int:
        """The number of coefficients of a splat and colour."""
        return shape_of(self.sh_coeffs)[0] // (3 * self.count) if self.count else 0

    def check_cloud(self) -> None:
        """VerifyException for operands that do not fit each other."""
        check_radius_scale(self.radius_scale.value.data)
        positions, scales, rotations, opacities, colors, sh_coeffs = self.cloud
        count = check_splats(
            [
                ("opacities", opacities, 1),
                ("positions", positions, 3),
                ("scales", scales, 3),
                ("rotations", rotations, 4),
                ("colors", colors, 3),
            ]
        )
        same_element_type(opacities, sh_coeffs, self.meta)
        shape = shape_of(sh_coeffs)
        if len(shape) != 1 or shape[0] % max(3 * count, 1) or (shape[0] and not count):
            raise VerifyException(f"expected sh_coeffs of a multiple of {3 * count} numbers, got shape {dims(shape)}")
        check_camera(self.meta)


_CLOUD = "$positions `,` $scales `,` $rotations `,` $opacities `,` $colors `,` $sh_coeffs `,` $meta"
_PICTURE = (
    "`width` $width `height` $height `alpha_cutoff` $alpha_cutoff "
    "`transmittance_threshold` $transmittance_threshold `gamma` $gamma"
)
_TYPES = "attr-dict `:` functional-type(operands, results)"


class GaussianSplatRenderOp(PictureOp, SplatOp, name="mir.gaussian_splat_render"):
    """
    The picture of N Gaussians, front to back: `mir.gaussian_splat_rasterize` of `mir.gaussian_splat_prepare`.

    `result[y, x] = (f(C + T background), 1 - T)` with `C = sum_i T_i alpha_i c_i`, `T_i = prod over j < i of (1 -
    alpha_j)`, `T` the transmittance after the last splat, and `f(v) = max(v, 0)^gamma`. Splats are sorted by distance
    from the camera. `alpha_i = o_i exp(-|u_i + t v_i|^2 / 2)` is the density, in the frame of the splat, where the ray
    `u + t v` comes closest to the centre. It is 0 where `t <= 0` or `alpha_i < alpha_cutoff`, and where `T_i <
    transmittance_threshold`.

    All operands are vectors of one type, f32 or f64:

    * positions (3N), log scales (3N), quaternions wxyz (4N), opacities (N) in [0, 1], colours (3N)
    * coefficients of spherical harmonics (3NC, `[N, C, 3]`)
    * the camera (15): position, target, up, field of view in degrees, near, far, background; the last eight of 23
      elements are not read

    The result has 4 numbers a pixel, by rows from the top. The camera has no derivative. The section on splats of
    docs/math.md has all conventions.
    """

    radius_scale: Real = real(default=1.6)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = f"{_CLOUD} `radius_scale` $radius_scale {_PICTURE} {_TYPES}"

    def infer_types(self) -> Sequence[Attribute]:
        self.check_cloud()
        return (self.check_picture(self.opacities),)


class SplatCotangentOp(SplatOp, abc.ABC):
    """An op on a cloud of splats and the cotangent of its picture."""

    d_rgba: Tensor = tensor()


class GaussianSplatRenderBackwardOp(PictureOp, SplatCotangentOp, name="mir.gaussian_splat_render_backward"):
    """
    The cotangents of positions, scales, rotations, opacities, colours, coefficients in `mir.gaussian_splat_render`.

    They are the exact derivatives of that function, where it has them: the visible splats, their order, and the effects
    of cutoff and threshold count as fixed. `d_rgba` is the cotangent of the picture, alpha included; with
    `loss_grad_clip` its elements are clamped to [-clip, clip] first.
    """

    radius_scale: Real = real(default=1.6)
    loss_grad_clip: OptionalReal = real(default=None)
    d_positions = result_def(AnyTensorConstr)
    d_scales = result_def(AnyTensorConstr)
    d_rotations = result_def(AnyTensorConstr)
    d_opacities = result_def(AnyTensorConstr)
    d_colors = result_def(AnyTensorConstr)
    d_sh_coeffs = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = (
        f"{_CLOUD} `,` $d_rgba `radius_scale` $radius_scale {_PICTURE} (`loss_grad_clip` $loss_grad_clip^)? {_TYPES}"
    )

    @property
    def clip(self) -> float | None:
        """The bound on the elements of the cotangent, if there is one."""
        return None if self.loss_grad_clip is None else self.loss_grad_clip.value.data

    def infer_types(self) -> Sequence[Attribute]:
        self.check_cloud()
        picture = self.check_picture(self.opacities)
        if self.d_rgba.type != picture:
            raise VerifyException(f"expected a cotangent of type {picture}, got {self.d_rgba.type}")
        if self.clip is not None and not self.clip >= 0:
            raise VerifyException(f"expected a loss_grad_clip of at least 0, got {self.clip}")
        return [x.type for x in self.cloud]


class GaussianSplatPrepareOp(SplatOp, name="mir.gaussian_splat_prepare"):
    """
    N Gaussians in the view of the camera, sorted by distance from it; the sort is stable.

    `origins` (N x 3) and `frames` (N x 3 x 3) take a ray `camera + t d` to `origin + t frame d` in the frame of the
    splat, in which it is the standard normal density: `frame = diag(1 / max(radius_scale exp(scale), 1e-6 / 3)) R(q)`,
    `origin = frame (camera - position)`. `tints` (N x 3) are colours in the direction of view; `alphas` (N) are
    opacities clamped to [0, 1], 0 for a splat that is not in front of the camera. Operands are as in
    `mir.gaussian_splat_render`.
    """

    radius_scale: Real = real(default=1.6)
    origins = result_def(AnyTensorConstr)
    frames = result_def(AnyTensorConstr)
    tints = result_def(AnyTensorConstr)
    alphas = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> Sequence[Attribute]:
        self.check_cloud()
        return _prepared_types(self.opacities)


def _prepared_types(opacities: SSAValue) -> list[Attribute]:
    (count, *_), element = shape_of(opacities) or (0,), element_of(opacities)
    return [TensorType(element, shape) for shape in ((count, 3), (count, 3, 3), (count, 3), (count,))]


class PreparedSplatsOp(MirOp, abc.ABC):
    """An op on what `mir.gaussian_splat_prepare` gives, and the camera."""

    origins: Tensor = tensor()
    frames: Tensor = tensor()
    tints: Tensor = tensor()
    alphas: Tensor = tensor()
    meta: Tensor = tensor()


class GaussianSplatRasterizeOp(PictureOp, PreparedSplatsOp, name="mir.gaussian_splat_rasterize"):
    """
    The picture of the splats of `mir.gaussian_splat_prepare`, composited in the given order.

    The formulas are those of `mir.gaussian_splat_render`, with `u` the rows of `origins`, `v = frame d` for the ray `d`
    of a pixel, `c` the rows of `tints` and `o` the elements of `alphas`.
    """

    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    @property
    def prepared(self) -> tuple[SSAValue, ...]:
        """Origins, frames, tints, alphas."""
        return self.origins, self.frames, self.tints, self.alphas

    @property
    def count(self) -> int:
        """The number of splats."""
        return shape_of(self.alphas)[0]

    def infer_types(self) -> Sequence[Attribute]:
        check_splats([("alphas", self.alphas, 1)])
        same_element_type(self.alphas, *self.prepared, self.meta)
        expected = _prepared_types(self.alphas)
        for name, value, type_ in zip(("origins", "frames", "tints"), self.prepared, expected, strict=False):
            if value.type != type_:
                raise VerifyException(f"expected {name} of shape {dims(shape_of(type_))}, got {dims(shape_of(value))}")
        check_camera(self.meta)
        return (self.check_picture(self.alphas),)


class SplatBuilder(BuilderCore):
    """Builder methods of this family."""

    gaussian_splat_render = method(GaussianSplatRenderOp)
    gaussian_splat_render_backward = results_of(GaussianSplatRenderBackwardOp)
    gaussian_splat_prepare = results_of(GaussianSplatPrepareOp)
    gaussian_splat_rasterize = method(GaussianSplatRasterizeOp)
