"""The quantile of the normal distribution, and of a part of it, on traced values.

This package needs it for small probabilities only, which an inverse of the error function does not resolve in f32.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.op_functions import function

_CENTRE = (
    (
        *(3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4),
        *(4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    ),
    (
        *(1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3),
        *(2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
    ),
)
_TAIL = (
    (
        *(1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0),
        *(1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    ),
    (
        *(1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1),
        *(1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
    ),
)
_FAR_TAIL = (
    (
        *(6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1),
        *(2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    ),
    (
        *(1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2),
        *(7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
    ),
)
"""Numerators and denominators of Wichura's algorithm AS 241 (1988), which is exact to 1e-16."""


def _ratio(parts: tuple[Sequence[float], Sequence[float]], x: Any) -> Any:
    above, below = (function("zeros_like")(x) + part[-1] for part in parts)
    for a, b in zip(reversed(parts[0][:-1]), reversed(parts[1][:-1]), strict=True):
        above, below = above * x + a, below * x + b
    return above / below


def lower_quantile(p: Any) -> Any:
    """The `x <= 0` with `ndtr(x) = p`, for `0 < p <= 1/2`."""
    r = np.sqrt(-np.log(p))
    centre = (p - 0.5) * _ratio(_CENTRE, 0.180625 - (p - 0.5) * (p - 0.5))
    tail = -np.where(r <= 5.0, _ratio(_TAIL, r - 1.6), _ratio(_FAR_TAIL, r - 5.0))
    return np.where(p >= 0.075, centre, tail)


DEEP = 10.0
"""Intervals beyond this many standard deviations are drawn from by `_tail_quantile`: their mass in f32 ends at 14."""


def _mills(y: Any) -> Any:
    """`(1 - ndtr(y)) / density(y)` for `y >= 10`: eight steps of a continued fraction, exact to 2e-13."""
    found = y
    for n in range(8, 0, -1):
        found = y + n / found
    return 1.0 / found


def _tail_quantile(far: Any, near: Any, w: Any) -> Any:
    """
    The `y` of `[near, far]`, `near >= 10`, with the mass beyond it `w` of the way from that beyond `far` to `near`'s.

    Newton's method for `y^2/2 - ln mills(y)`, whose derivative is `1 / mills(y)`, from `sqrt(near^2 - 2 ln v)`.
    """
    mills = _mills(near)
    # the mass beyond `far` by that beyond `near`; 0 for an infinite end
    share = np.exp((near - far) * (near + far) * 0.5) * _mills(far) / mills
    log_v = np.log(share + w * (1.0 - share))
    y = np.sqrt(near * near - 2.0 * log_v)
    for _ in range(2):
        new = _mills(y)
        y = y - ((y - near) * (y + near) * 0.5 - np.log(new / mills) + log_v) * new
    return y


def truncated_quantile(lower: Any, upper: Any, w: Any, deep: bool) -> Any:
    """
    The `x` of `[lower, upper]` up to which a share `w` of the normal distribution in that interval lies.

    An interval whose middle is positive is mirrored, so that masses are differences of small numbers. With `deep`, some
    interval may be beyond 10 standard deviations.
    """
    flip = lower + upper > 0
    a, b, w = np.where(flip, -upper, lower), np.where(flip, -lower, upper), np.where(flip, 1.0 - w, w)
    ndtr = function("ndtr")
    mass = ndtr(b) - ndtr(a)
    below, above = ndtr(a) + w * mass, ndtr(-b) + (1.0 - w) * mass
    x = lower_quantile(np.minimum(below, above))
    x = np.where(below <= above, x, -x)
    if deep:
        is_deep = b < -DEEP
        # numbers that do no harm stand where the other branch is meant
        far = np.where(is_deep, np.minimum(-a, 1e18), 2.0 * DEEP)
        x = np.where(is_deep, -_tail_quantile(far, np.where(is_deep, -b, DEEP), w), x)
    return np.clip(np.where(flip, -x, x), lower, upper)


def truncated_slopes(lower: Any, upper: Any, x: Any, w: Any) -> tuple[Any, Any]:
    """`dx/dlower = (1 - w) density(lower) / density(x)` and `dx/dupper = w density(upper) / density(x)`."""
    return tuple(share * np.exp((x - bound) * (x + bound) * 0.5) for bound, share in ((lower, 1.0 - w), (upper, w)))
