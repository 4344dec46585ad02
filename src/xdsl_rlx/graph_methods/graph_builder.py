"""`GraphBuilder`: the builder of programs. It has the functions that build several ops as methods.

`MirBuilder`, by which derivative rules and passes write, has one method per op.
"""

from __future__ import annotations

from xdsl_rlx.dialects.mir import compositions
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.numpy_methods import NumpyFunctions
from xdsl_rlx.graph_methods import contractions, creation, elements, linalg, moves, sorting, spectral, statistics
from xdsl_rlx.graph_methods.einsum import einsum as _einsum


class GraphBuilder(MirBuilder):
    """
    A builder: a method for each op, and for functions of NumPy, SciPy and JAX that build several.

    Definitions and rules of custom ops get one.
    """

    def __numpy__(self) -> NumpyFunctions:
        """NumPy's functions on the values of this builder."""
        from xdsl_rlx.frontends.numpy import functions

        return functions

    argmax = compositions.argmax
    argmin = compositions.argmin
    argsort = compositions.argsort
    clip = compositions.clip
    complex_abs = compositions.complex_abs
    complex_power = compositions.complex_power
    diagonal = compositions.diagonal
    eye = compositions.eye
    frames = compositions.frames
    integer_power = compositions.integer_power
    inv = compositions.inv
    pad = compositions.pad
    power_by_squarings = compositions.power_by_squarings
    repeat = compositions.repeat
    stack = compositions.stack
    tril = compositions.tril
    triu = compositions.triu

    dot = contractions.dot
    einsum = _einsum
    inner = contractions.inner
    kron = contractions.kron
    outer = contractions.outer
    tensordot = contractions.tensordot
    trace = contractions.trace
    vdot = contractions.vdot

    arange = creation.arange
    linspace = creation.linspace
    one_hot = creation.one_hot
    rng_split = creation.rng_split

    angle = elements.angle
    is_finite = elements.is_finite
    is_inf = elements.is_inf
    mulhi = elements.mulhi
    safe_rsqrt = elements.safe_rsqrt
    safe_sqrt = elements.safe_sqrt

    cho_solve = linalg.cho_solve
    norm = linalg.norm

    broadcast_to = moves.broadcast_to
    flatten = moves.flatten
    roll = moves.roll
    split = moves.split
    take_along_axis = moves.take_along_axis
    tile = moves.tile

    cummax = sorting.cummax
    cummin = sorting.cummin
    searchsorted = sorting.searchsorted
    sort = sorting.sort
    topk_values = sorting.topk_values

    fft_axis = spectral.fft_axis
    fft_conv1d = spectral.fft_conv1d
    fft_real = spectral.fft_real
    fftfreq = spectral.fftfreq
    fftn = spectral.fftn
    ifftn = spectral.ifftn
    psd = spectral.psd
    rfftfreq = spectral.rfftfreq
    stft = spectral.stft

    all = statistics.all
    any = statistics.any
    log_softmax = statistics.log_softmax
    logsumexp = statistics.logsumexp
    std = statistics.std
    var = statistics.var
