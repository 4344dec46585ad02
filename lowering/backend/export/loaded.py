"""Exported programs in Python: called through their C interface, from the description beside the library."""

from __future__ import annotations

import _ctypes
import ctypes
import json
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.driver.manifest import TensorSpec
from xdsl_rlx.lowering.backend.export.write_library import FORMAT
from xdsl_rlx.lowering.backend.runtime.arguments import check_updated, to_array
from xdsl_rlx.lowering.backend.runtime.compiled_graph import named_results
from xdsl_rlx.lowering.run_errors import ArgumentError, ArgumentTypeError, MissingParamError, RlxError

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import Results

Array = NDArray[Any]


class ExportedProgram:
    """
    A program of a library that `rlx.export` wrote, as an instance of its own: params, memory and threads.

    Calls take arrays by name, or by position in the order of `inputs`, and return a tuple of new arrays, a named tuple
    if the results have names. Inputs in `updated` are overwritten. Calls from several threads are safe and run one
    after the other.
    """

    def __init__(self, path: Path, threads: int) -> None:
        about = _description(path)
        self.name = str(about["graph"])
        self.inputs = tuple(map(_spec, about["inputs"]))
        self.params = tuple(map(_spec, about["params"]))
        self.outputs = tuple(map(_spec, about["results"]))
        self.updated = frozenset(one["name"] for one in about["inputs"] if one.get("updated"))
        self._optional = frozenset(one["name"] for one in about["inputs"] if one.get("optional"))
        self._index = {spec.name: number for number, spec in enumerate(self.inputs)}
        self._named = named_results(self.name, self.outputs)
        library = path.with_name(about["library"])
        # the system would end the process at the first access to what is cut off
        if (size := library.stat().st_size) != about["bytes"]:
            raise RlxError(f"{library} has {size} bytes; expected {about['bytes']}: export the program again")
        self._functions = _Functions(library, str(about["name"]))
        if self._functions.version() != about["version"]:
            self._functions.close()
            raise RlxError(
                f"{library} is not the library that {path} describes: either the files are of two exports, or this "
                "process still uses an older one, which stays loaded; drop that, or export under another name"
            )
        handle = self._functions.create(threads)
        if not handle:
            error = self._functions.error()
            self._functions.close()
            raise RlxError(f"{path}: {error}")
        self._handle = ctypes.c_void_p(handle)
        weakref.finalize(self, self._functions.end, self._handle)
        if (weights := about.get("weights")) is not None:
            self.load_params(path.with_name(weights))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{spec.name}: {spec}" for spec in self.inputs)
        return f"ExportedProgram {self.name}({arguments}) -> ({', '.join(map(str, self.outputs))})"

    def __call__(self, /, *args: object, **kwargs: object) -> Results:
        values = self._bind(args, kwargs)
        results = [np.empty(spec.shape, dtype_of(spec.dtype)) for spec in self.outputs]
        inputs = (ctypes.c_void_p * max(len(values), 1))(*(None if x is None else x.ctypes.data for x in values))
        places = (ctypes.c_void_p * max(len(results), 1))(*(x.ctypes.data for x in results))
        if self._functions.run(self._handle, inputs, places):
            raise ArgumentError(f"{self.name}: {self._functions.error()}")
        found: Any = tuple(results)
        return found if self._named is None else self._named(found)

    def set_param(self, name: str, value: object) -> None:
        """Copy a param's value. Raises `ArgumentError` if it does not fit, `MissingParamError` for another name."""
        array = to_array(self._param(name), value, f"param {name!r} of {self.name}")
        if self._functions.set_param(self._handle, name.encode(), array.ctypes.data, array.nbytes):
            raise ArgumentError(f"{self.name}: {self._functions.error()}")

    def param(self, name: str) -> np.ndarray[Any, Any]:
        """Return a copy of a param's value. Raises `MissingParamError` if there is none."""
        spec = self._param(name)
        array = np.empty(spec.shape, dtype_of(spec.dtype))
        if self._functions.get_param(self._handle, name.encode(), array.ctypes.data, array.nbytes):
            raise MissingParamError(f"{self.name}: {self._functions.error()}")
        return array

    def load_params(self, path: str | os.PathLike[str]) -> None:
        """Set all params from a safetensors file. Raises RlxError, and sets none, for a file without one of them."""
        if self._functions.load_params(self._handle, os.fsencode(path)):
            raise RlxError(f"{self.name}: {self._functions.error()}")

    def _param(self, name: str) -> TensorSpec:
        for spec in self.params:
            if spec.name == name:
                return spec
        names = ", ".join(spec.name for spec in self.params) or "none"
        raise MissingParamError(f"{self.name} has no param {name!r}; params: {names}")

    def _bind(self, args: Sequence[object], kwargs: dict[str, object]) -> list[Array | None]:
        if len(args) > len(self.inputs):
            raise ArgumentTypeError(f"{self.name} takes {len(self.inputs)} inputs, got {len(args)} by position")
        given = dict(enumerate(args))
        for name, value in kwargs.items():
            number = self._index.get(name)
            if number is None or number in given:
                fault = "no input" if number is None else "two values for"
                raise ArgumentTypeError(f"{self.name} has {fault} {name!r}; inputs: {', '.join(self._index)}")
            given[number] = value
        return [self._array(number, spec, given) for number, spec in enumerate(self.inputs)]

    def _array(self, number: int, spec: TensorSpec, given: dict[int, object]) -> Array | None:
        if number not in given:
            if spec.name in self._optional:
                return None
            raise ArgumentTypeError(f"input {spec.name!r} of {self.name} is missing: expected {spec}")
        convert = check_updated if spec.name in self.updated else to_array
        return convert(spec, given[number], f"input {spec.name!r} of {self.name}")


class _Functions:
    """The C interface of a library."""

    def __init__(self, library: Path, name: str) -> None:
        try:
            loaded = ctypes.CDLL(str(library.resolve()))
        except OSError as error:
            raise RlxError(f"cannot load {library}: {error}") from None
        pointer, number, text, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t
        self.create = _function(loaded, f"{name}_create", pointer, number)
        self.set_param = _function(loaded, f"{name}_set_param", number, pointer, text, pointer, size)
        self.get_param = _function(loaded, f"{name}_get_param", number, pointer, text, pointer, size)
        self.load_params = _function(loaded, f"{name}_load_params", number, pointer, text)
        self.run = _function(loaded, f"{name}_run", number, pointer, pointer, pointer)
        self.destroy = _function(loaded, f"{name}_destroy", None, pointer)
        self._version = _function(loaded, f"{name}_version", text)
        self._last_error = _function(loaded, f"{name}_last_error", text)
        self._loaded = loaded

    def version(self) -> str:
        """Which export this is."""
        return self._version().decode()

    def end(self, handle: ctypes.c_void_p) -> None:
        """Destroy an instance, the only one of these functions."""
        self.destroy(handle)
        self.close()

    def close(self) -> None:
        """Unload the library, unless others of this process use it: a later export can take its place."""
        _ctypes.dlclose(self._loaded._handle)

    def error(self) -> str:
        """What the last function that failed in this thread says."""
        return self._last_error().decode(errors="replace")


def _function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    try:
        function = library[name]
    except AttributeError:
        raise RlxError(f"{library._name} has no function {name}; export the program again") from None
    function.restype, function.argtypes = result, list(arguments)
    return function


def _description(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise RlxError(f"{path} has format {about['format']}; expected {FORMAT}: export the program again")
        for group in ("inputs", "params", "results"):
            list(map(_spec, about[group]))
        if not all(isinstance(about[name], str) for name in ("graph", "library", "name", "version")):
            raise TypeError("a name is no text")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RlxError(f"{path} does not describe an exported program: {error!r}") from None
    return about


def _spec(fields: dict[str, Any]) -> TensorSpec:
    shape = tuple(fields["shape"])
    if not all(type(extent) is int and extent >= 0 for extent in shape):
        raise ValueError(f"wrong shape {shape}")
    dtype_of(fields["dtype"])
    return TensorSpec(str(fields["name"]), shape, str(fields["dtype"]))
