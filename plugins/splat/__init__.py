"""Gaussian splats: a scene of three-dimensional Gaussians as a picture, and the derivative of the picture."""

from xdsl_rlx.plugins import Plugin

_FUSE = "xdsl_rlx.plugins.splat.mir_fuse_gaussian_splat"

PLUGIN = Plugin(
    ops=("xdsl_rlx.plugins.splat.ops",),
    rules=("xdsl_rlx.plugins.splat.rules",),
    kernels=("xdsl_rlx.plugins.splat.kernels", "xdsl_rlx.plugins.splat.backward"),
    passes=(_FUSE,),
    before_ad=(_FUSE,),
)
