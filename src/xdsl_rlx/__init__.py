"""xdsl-rlx: a tensor compiler for training on CPUs. All is imported when a name is first used."""

import sys
import threading
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

# at once: a fork waits for threads that import the rest of the package
from xdsl_rlx.forks import at_fork

if TYPE_CHECKING:
    from xdsl_rlx import debug, distributed, init, nn, optim, random, solvers, special, tree
    from xdsl_rlx.builder import Graph, GraphModule, Value
    from xdsl_rlx.checkpoint_files import CheckpointError, load, load_gguf, metadata, save
    from xdsl_rlx.compiled_function import CompiledFunction
    from xdsl_rlx.compiling import (
        asm_source,
        assert_fusion_clean,
        compile,
        fusion_report,
        llvm_source,
        lower,
        memory_report,
        numba_source,
    )
    from xdsl_rlx.custom_derivatives import custom_jvp, custom_vjp
    from xdsl_rlx.custom_ops import CustomKernel, Shaped, custom_op
    from xdsl_rlx.debug import eager
    from xdsl_rlx.derivatives import (
        Jacobians,
        grad,
        grad_with_loss,
        hessian,
        hvp,
        jacfwd,
        jacrev,
        jvp,
        nth_order_grad,
        prepare_for_ad,
        select_outputs,
        value_and_grad,
        vjp,
        vmap,
    )
    from xdsl_rlx.dialects.errors import GraphError, NanError, RlxError
    from xdsl_rlx.exporting import ExportedProgram, export, load_export
    from xdsl_rlx.frontends.aten.imported_module import ImportedModule, from_torch
    from xdsl_rlx.frontends.hosts.to_jax import to_jax
    from xdsl_rlx.frontends.hosts.to_torch import to_torch
    from xdsl_rlx.frontends.jaxpr.imported import Imported, from_jax
    from xdsl_rlx.frontends.shared.errors import FrontendError
    from xdsl_rlx.frontends.stablehlo.imported_program import ImportedProgram, from_stablehlo
    from xdsl_rlx.frontends.stablehlo.write import to_stablehlo
    from xdsl_rlx.indexing import (
        dynamic_index_in_dim,
        dynamic_slice,
        dynamic_slice_in_dim,
        dynamic_update_index_in_dim,
        dynamic_update_slice,
        dynamic_update_slice_in_dim,
    )
    from xdsl_rlx.init import key
    from xdsl_rlx.inspecting import inspect, report
    from xdsl_rlx.linearization import ShapeDtypeStruct, eval_shape, linear_transpose, linearize
    from xdsl_rlx.low_precision import (
        CalibrationEntry,
        calibrate,
        insert_q_dq,
        mixed_precision,
        quantized_weight_bits,
        scale_loss,
    )
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
    from xdsl_rlx.lowering.backend.runtime.weights import Weights
    from xdsl_rlx.lowering.reports.fusion_report import FusionReport
    from xdsl_rlx.lowering.run_errors import ArgumentError, OutOfBoundsError
    from xdsl_rlx.op_functions import dropout, softmax_cross_entropy
    from xdsl_rlx.passes import (
        lower_hir,
        parse,
        run_passes,
    )
    from xdsl_rlx.scipy_functions import ScipyFunction, scipy_fun
    from xdsl_rlx.segments import segment_max, segment_min, segment_prod, segment_sum
    from xdsl_rlx.sized import (
        argwhere,
        bincount,
        flatnonzero,
        histogram,
        intersect1d,
        nonzero,
        setdiff1d,
        union1d,
        unique,
    )
    from xdsl_rlx.tracing import trace
    from xdsl_rlx.training import TrainingProgram, compile_training
    from xdsl_rlx.training_loop import Batches, fit
    from xdsl_rlx.transforms.precision import PrecisionPolicy
    from xdsl_rlx.tree_control import associative_scan, cond, fori_loop, map, remat, scan, switch, while_loop

__version__ = "0.2.0"

__all__ = [
    "ArgumentError",
    "Batches",
    "CalibrationEntry",
    "CheckpointError",
    "CompiledFunction",
    "CompiledGraph",
    "CustomKernel",
    "ExportedProgram",
    "FrontendError",
    "FusionReport",
    "Graph",
    "GraphError",
    "GraphModule",
    "Imported",
    "ImportedModule",
    "ImportedProgram",
    "Jacobians",
    "NanError",
    "OutOfBoundsError",
    "PrecisionPolicy",
    "RlxError",
    "ScipyFunction",
    "ShapeDtypeStruct",
    "Shaped",
    "TrainingProgram",
    "Value",
    "Weights",
    "argwhere",
    "asm_source",
    "assert_fusion_clean",
    "associative_scan",
    "bincount",
    "calibrate",
    "compile",
    "compile_training",
    "cond",
    "custom_jvp",
    "custom_op",
    "custom_vjp",
    "debug",
    "distributed",
    "dropout",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "eager",
    "eval_shape",
    "export",
    "fit",
    "flatnonzero",
    "fori_loop",
    "from_jax",
    "from_stablehlo",
    "from_torch",
    "fusion_report",
    "grad",
    "grad_with_loss",
    "hessian",
    "histogram",
    "hvp",
    "init",
    "insert_q_dq",
    "inspect",
    "intersect1d",
    "jacfwd",
    "jacrev",
    "jvp",
    "key",
    "linear_transpose",
    "linearize",
    "llvm_source",
    "load",
    "load_export",
    "load_gguf",
    "lower",
    "lower_hir",
    "map",
    "memory_report",
    "metadata",
    "mixed_precision",
    "nn",
    "nonzero",
    "nth_order_grad",
    "numba_source",
    "optim",
    "parse",
    "prepare_for_ad",
    "quantized_weight_bits",
    "random",
    "remat",
    "report",
    "run_passes",
    "save",
    "scale_loss",
    "scan",
    "scipy_fun",
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "select_outputs",
    "setdiff1d",
    "softmax_cross_entropy",
    "solvers",
    "special",
    "switch",
    "to_jax",
    "to_stablehlo",
    "to_torch",
    "trace",
    "tree",
    "union1d",
    "unique",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

_HOMES = {
    "xdsl_rlx.passes": (
        "lower_hir",
        "parse",
        "run_passes",
    ),
    "xdsl_rlx.compiling": (
        "asm_source",
        "assert_fusion_clean",
        "compile",
        "fusion_report",
        "llvm_source",
        "lower",
        "memory_report",
        "numba_source",
    ),
    "xdsl_rlx.derivatives": (
        "Jacobians",
        "grad",
        "grad_with_loss",
        "hessian",
        "hvp",
        "jacfwd",
        "jacrev",
        "jvp",
        "nth_order_grad",
        "prepare_for_ad",
        "select_outputs",
        "value_and_grad",
        "vjp",
        "vmap",
    ),
    "xdsl_rlx.indexing": (
        "dynamic_index_in_dim",
        "dynamic_slice",
        "dynamic_slice_in_dim",
        "dynamic_update_index_in_dim",
        "dynamic_update_slice",
        "dynamic_update_slice_in_dim",
    ),
    "xdsl_rlx.linearization": ("ShapeDtypeStruct", "eval_shape", "linear_transpose", "linearize"),
    "xdsl_rlx.sized": (
        "argwhere",
        "bincount",
        "flatnonzero",
        "histogram",
        "intersect1d",
        "nonzero",
        "setdiff1d",
        "union1d",
        "unique",
    ),
    "xdsl_rlx.compiled_function": ("CompiledFunction",),
    "xdsl_rlx.tracing": ("trace",),
    "xdsl_rlx.tree_control": (
        "associative_scan",
        "cond",
        "fori_loop",
        "map",
        "remat",
        "scan",
        "switch",
        "while_loop",
    ),
    "xdsl_rlx.op_functions": ("dropout", "softmax_cross_entropy"),
    "xdsl_rlx.init": ("key",),
    "xdsl_rlx.checkpoint_files": ("CheckpointError", "load", "load_gguf", "metadata", "save"),
    "xdsl_rlx.training_loop": ("Batches", "fit"),
    "xdsl_rlx.builder": ("Graph", "GraphModule", "Value"),
    "xdsl_rlx.custom_derivatives": ("custom_jvp", "custom_vjp"),
    "xdsl_rlx.custom_ops": ("CustomKernel", "Shaped", "custom_op"),
    "xdsl_rlx.debug": ("eager",),
    "xdsl_rlx.dialects.errors": ("GraphError", "NanError", "RlxError"),
    "xdsl_rlx.segments": ("segment_max", "segment_min", "segment_prod", "segment_sum"),
    "xdsl_rlx.scipy_functions": ("ScipyFunction", "scipy_fun"),
    "xdsl_rlx.inspecting": ("inspect", "report"),
    "xdsl_rlx.training": ("TrainingProgram", "compile_training"),
    "xdsl_rlx.low_precision": (
        "CalibrationEntry",
        "calibrate",
        "insert_q_dq",
        "mixed_precision",
        "quantized_weight_bits",
        "scale_loss",
    ),
    "xdsl_rlx.transforms.precision": ("PrecisionPolicy",),
    "xdsl_rlx.lowering.reports.fusion_report": ("FusionReport",),
    "xdsl_rlx.lowering.run_errors": ("ArgumentError", "OutOfBoundsError"),
    "xdsl_rlx.lowering.backend.runtime.compiled_graph": ("CompiledGraph",),
    "xdsl_rlx.lowering.backend.runtime.weights": ("Weights",),
}


_FRONTENDS = {
    "FrontendError": "xdsl_rlx.frontends.shared.errors",
    "Imported": "xdsl_rlx.frontends.jaxpr.imported",
    "ImportedModule": "xdsl_rlx.frontends.aten.imported_module",
    "from_jax": "xdsl_rlx.frontends.jaxpr.imported",
    "ImportedProgram": "xdsl_rlx.frontends.stablehlo.imported_program",
    "from_stablehlo": "xdsl_rlx.frontends.stablehlo.imported_program",
    "from_torch": "xdsl_rlx.frontends.aten.imported_module",
    "to_jax": "xdsl_rlx.frontends.hosts.to_jax",
    "to_stablehlo": "xdsl_rlx.frontends.stablehlo.write",
    "to_torch": "xdsl_rlx.frontends.hosts.to_torch",
    "ExportedProgram": "xdsl_rlx.exporting",
    "export": "xdsl_rlx.exporting",
    "load_export": "xdsl_rlx.exporting",
}
"""Names of front ends and exports, which are imported when they are asked for: most programs need none."""

_MODULES = ("debug", "distributed", "init", "nn", "optim", "random", "solvers", "special", "tree")

_ELSEWHERE = {
    "block_until_ready": "the results of a call, which are computed when it returns",
    "checkpoint": "rlx.remat to compute again in a gradient, rlx.save and rlx.load for files",
    "device_put": "NumPy arrays: there is one device",
    "disable_jit": "rlx.eager",
    "jacobian": "rlx.jacrev or rlx.jacfwd",
    "jit": "rlx.compile",
    "lax": "rlx itself, which has scan, cond, while_loop and others of jax.lax",
    "make_jaxpr": "rlx.trace, or rlx.inspect for the stages of the compiler",
    "numpy": "NumPy's functions, whose calls on traced values are traced",
    "pmap": "rlx.vmap in rlx.compile, which runs on several threads",
    "tree_map": "rlx.tree.map",
    "tree_util": "rlx.tree",
}
"""What takes the place of names that users of JAX look for."""

_LATE = (
    "xdsl_rlx.dialects.lir.schedule",
    "xdsl_rlx.frontends.numpy.functions",
    "xdsl_rlx.distributed",
    "xdsl_rlx.frontends.shared.needed",
    "xdsl_rlx.gguf_file",
    "xdsl_rlx.jacobian_columns",
    "xdsl_rlx.lowering.reports.memory_report",
    "xdsl_rlx.lowering.prepare.mir_fit_memory",
    "xdsl_rlx.lowering.prepare.mir_prepare_for_fusion",
    "xdsl_rlx.lowering.kernels.custom",
    "xdsl_rlx.lowering.backend.runtime.launch_times",
    "xdsl_rlx.lowering.backend.runtime.rlx_to_lir",
    "xdsl_rlx.nan_search",
    "xdsl_rlx.random",
    "xdsl_rlx.transforms.rules.custom",
    "xdsl_rlx.tree_functions",
)
"""
What functions import when they are called, beside the homes, and beside the emitters. Those are left to who compiles,
since a program of the cache needs none: their package imports nothing, so no two threads wait for each other there.
"""

_importing = threading.RLock()
at_fork.hold(_importing)


@cache
def _import_all() -> None:
    """
    Import what any use may need, with the lock `_importing`.

    Python's import has a lock for each module. A thread that imports `p.m` has that of `p.m` and waits for that of `p`,
    and one that imports `p` has that and waits for `p.m` if `p` needs it: two threads that begin with this package at
    the same time would each wait for the other, which Python raises as a deadlock.
    """
    for name in (*_HOMES, *_LATE):
        import_module(name)


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _importing:
        _import_all()
        if name in _MODULES:
            return import_module(f"xdsl_rlx.{name}")
        if name in _FRONTENDS:
            return getattr(import_module(_FRONTENDS[name]), name)
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(home), name)
            globals()[name] = value
            return value
    ops = import_module("xdsl_rlx.op_functions")
    if name in ops.names():
        return ops.function(name)
    hint = f"; use {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    with _importing:
        _import_all()
    ops = import_module("xdsl_rlx.op_functions").names()
    own = {name for name in globals() if name.startswith("__") and name not in ("__getattr__", "__dir__")}
    return sorted({*own, *__all__, *ops})
