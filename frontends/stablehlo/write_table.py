"""All rows of the writer of StableHLO, by family, and the ops that it refuses."""

from xdsl.ir import Operation

from xdsl_rlx.dialects.mir import collectives, debug, distributions, quant, quant_int
from xdsl_rlx.frontends.stablehlo import (
    write_elements,
    write_factors,
    write_linalg,
    write_loops,
    write_random,
    write_shapes,
    write_windows,
)
from xdsl_rlx.frontends.stablehlo.writer import REFUSED

FAMILIES = (write_elements, write_factors, write_linalg, write_loops, write_random, write_shapes, write_windows)
"""The files of rows."""

_REJECTION = "it draws until a number is accepted; draw with rlx.compile, and pass the numbers as an argument"
_PACKED = "StableHLO has no such packing of weights; dequantise them with rlx.compile, and pass them as an argument"
_INTEGER = "StableHLO has no integer product that rounds as this one does; dequantise the operands"
_SERIES = "StableHLO has no such function; compute it with rlx.compile"

_REASONS: dict[type[Operation], str] = {
    **dict.fromkeys(
        collectives.COLLECTIVES,
        "run the processes by this package, or shard the exported gradient by jax.sharding",
    ),
    debug.DebugPrintOp: "a StableHLO module cannot print; remove rlx.debug.print",
    quant.DequantizeWeightsOp: _PACKED,
    distributions.GammaSlopeOp: _SERIES,
    quant_int.QConv2dOp: _INTEGER,
    quant_int.QMatmulOp: _INTEGER,
    distributions.RngBinomialOp: _REJECTION,
    distributions.RngGammaOp: _REJECTION,
    distributions.RngPermutationOp: "its swaps depend on each other; draw it with rlx.compile, then pass it",
    distributions.RngPoissonOp: _REJECTION,
}
REFUSED.update(_REASONS)
