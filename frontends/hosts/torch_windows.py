"""Calls of compiled programs on tensors, whose addresses are put into arrays that are made once."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from xdsl_rlx.frontends.hosts.torch_memory import array_of, tensor_of
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.driver.layout import NumpyArray
from xdsl_rlx.lowering.backend.runtime.binding import layout_is_known
from xdsl_rlx.lowering.backend.runtime.compiled_graph import OBSERVER, CompiledGraph

TENSORS = (torch.Tensor, torch.nn.Parameter)


class Windows:
    """
    A compiled program as a function of tensors.

    To make an array of a tensor takes 1.5 us, to write its address into an array of that type 0.1 us. The arrays of a
    call are taken from those of calls that have ended, so that threads do not share them. They are valid in a call
    only, as the program reads their addresses before it runs.
    """

    def __init__(self, compiled: CompiledGraph):
        self._compiled = compiled
        count = len(compiled.inputs)
        self._sizes = [spec.nbytes for spec in compiled.inputs]
        self._dtypes = [torch_dtype(spec.dtype) for spec in compiled.inputs]
        has_bf16 = any(spec.dtype == "bf16" for spec in compiled.outputs)
        self._tensor_of = tensor_of if has_bf16 else torch.from_numpy
        self._free: list[tuple[list[np.ndarray[Any, Any]], list[Any]]] = []
        # an array of no elements has an address, such a tensor has none
        self._is_known = layout_is_known() and all(self._sizes) and count > 0

    def __call__(self, tensors: Sequence[Any], are_dense: bool = False) -> list[Any]:
        """
        Return the results as tensors, for tensors or arrays.

        `are_dense` says that all are dense tensors on the CPU.
        """
        fit = self._fit if are_dense else self._fit_any
        if not self._is_known or OBSERVER.get() is not None or not fit(tensors):
            arrays = [array_of(x) if isinstance(x, torch.Tensor) else x for x in tensors]
            return list(map(self._tensor_of, self._compiled(*arrays)))
        try:
            one = self._free.pop()
        except IndexError:
            one = self._made()
        arrays, addresses = one
        for address, x in zip(addresses, tensors, strict=True):
            address.value = x.data_ptr()
        found = self._compiled(*arrays)
        self._free.append(one)
        return list(map(self._tensor_of, found))

    def _fit(self, tensors: Sequence[Any]) -> bool:
        """Whether the memory of all these dense tensors is as the program reads it."""
        for x, size, dtype in zip(tensors, self._sizes, self._dtypes, strict=True):
            if (
                x.dtype is not dtype
                or x.nbytes != size
                or not x.is_contiguous()
                # elements in memory that are still to be negated or conjugated
                or x.is_neg()
                or x.is_conj()
            ):
                return False
        return True

    def _fit_any(self, tensors: Sequence[Any]) -> bool:
        """Whether all are dense tensors whose memory is as the program reads it."""
        return all(map(is_dense, tensors)) and self._fit(tensors)

    def _made(self) -> tuple[list[np.ndarray[Any, Any]], list[Any]]:
        arrays: list[np.ndarray[Any, Any]] = []
        for spec in self._compiled.inputs:
            dtype = dtype_of(spec.dtype)
            steps = [dtype.itemsize]
            for extent in reversed(spec.shape[1:]):
                steps.append(steps[-1] * max(1, extent))
            strides = tuple(reversed(steps[: len(spec.shape)]))
            arrays.append(np.lib.stride_tricks.as_strided(np.zeros(1, dtype), spec.shape, strides))
        addresses = [ctypes.c_int64.from_address(id(x) + NumpyArray.DATA) for x in arrays]
        return arrays, addresses


def is_dense(x: Any) -> bool:
    """Whether this is a plain dense tensor on the CPU."""
    return type(x) in TENSORS and x.is_cpu and x.layout is torch.strided


def torch_dtype(name: str) -> Any:
    """Return the type of tensors whose elements are of a type of this package, such as "f32"."""
    return getattr(torch, dtype_of(name).name)
