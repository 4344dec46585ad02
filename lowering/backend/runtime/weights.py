"""`Weights`: the values of params, which compiled graphs may share. Programs read them, and update them, in place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.lowering.backend.driver.arena import aligned_bytes
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.driver.layout import CACHE_LINE
from xdsl_rlx.lowering.backend.driver.manifest import TensorSpec
from xdsl_rlx.lowering.backend.driver.process import address, copy_between_runs, making
from xdsl_rlx.lowering.backend.runtime.arguments import to_array
from xdsl_rlx.lowering.run_errors import ArgumentError, ArgumentTypeError, MissingParamError

if TYPE_CHECKING:
    from _typeshed import SupportsKeysAndGetItem

Array = NDArray[Any]


class WeightReader(Protocol):
    """Who has to know where the value of a param lies."""

    def found(self, name: str, place: int) -> None:
        """The value lies at this address from now on."""
        ...


@dataclass
class _Entry:
    spec: TensorSpec
    readers: WeakSet[Any] = field(default_factory=WeakSet[Any])
    memory: NDArray[np.uint8] | None = None
    """None until a value is set."""


class Weights(MutableMapping[str, Array]):
    """
    Values of params by name, stored once and shared by all graphs that are compiled with this object.

    `weights["w"] = array` copies in, and `weights["w"]` copies out; both wait for a run to end. The first graph that
    declares a param sets its shape and dtype. Iteration covers the params that have a value. Values given to the
    constructor are checked when a graph declares them.
    """

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self._entries: dict[str, _Entry] = {}
        try:
            self._given: dict[str, object] = {} if values is None else dict(values)
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"Weights: values: expected a dict from the names of params to arrays, got {shown(values)}"
            ) from None

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "Weights cannot be pickled or copied, as they are memory of this process; pass dict(weights)"
        )

    def __getitem__(self, name: str) -> Array:
        entry = self._known(name)
        if entry.memory is None:
            raise MissingParamError(f"param {name!r} has no value: expected {entry.spec}; set weights[{name!r}]")
        array = np.empty(entry.spec.shape, dtype_of(entry.spec.dtype))
        copy_between_runs(address(array), entry.memory)
        return array

    def __setitem__(self, name: str, value: object) -> None:
        entry = self._known(name)
        source = to_array(entry.spec, value, f"param {name!r}").reshape(-1).view(np.uint8)
        with making:
            if entry.memory is None:
                self._set_first(name, entry, source)
                return
        # another thread may be running with the value that is replaced
        copy_between_runs(address(entry.memory), source)

    def _set_first(self, name: str, entry: _Entry, source: NDArray[np.uint8]) -> None:
        memory = aligned_bytes(source.nbytes, CACHE_LINE)
        memory[:] = source
        for reader in entry.readers:
            reader.found(name, address(memory))
        # after the readers have it: a call that finds that there is a value takes it from their tables
        entry.memory = memory

    if TYPE_CHECKING:
        # a value that is set may be whatever an array is made of, as by `__setitem__`

        def update(
            self,
            m: SupportsKeysAndGetItem[str, object] | Iterable[tuple[str, object]] = (),
            /,
            **kwargs: object,
        ) -> None: ...
        def setdefault(self, key: str, default: object = None) -> Array: ...

    def __delitem__(self, name: str) -> NoReturn:
        raise ArgumentTypeError(f"param {name!r} cannot be deleted: programs read it")

    def __iter__(self) -> Iterator[str]:
        # a copy: another thread may declare params
        return (name for name, entry in list(self._entries.items()) if entry.memory is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._entries and self._entries[str(name)].memory is not None

    def __repr__(self) -> str:
        entries = list(self._entries.items())
        described = (f"{name}: {e.spec}{'' if e.memory is not None else ' (no value)'}" for name, e in entries)
        return f"Weights({', '.join(described)})"

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return sum(entry.spec.nbytes for entry in list(self._entries.values()) if entry.memory is not None)

    def address(self, name: str) -> int:
        """Return the address of the value of a param; it is the same for all graphs, once the value is set."""
        memory = self._known(name).memory
        if memory is None:
            raise MissingParamError(f"param {name!r} has no value yet")
        return address(memory)

    def declare(self, specs: Sequence[TensorSpec], reader: WeightReader | None = None) -> None:
        """
        Declare the params that a program reads.

        Raises ArgumentError, and declares none, if a declared param of the same name has another shape or dtype, or if
        a value given for it does not fit.
        """
        # before the lock is held: an object that is converted runs code of its own
        waiting = dict(self._given)
        given = {
            spec.name: to_array(spec, waiting[spec.name], f"param {spec.name!r}")
            for spec in specs
            if spec.name in waiting
        }
        with making:
            for spec in specs:
                if (entry := self._entries.get(spec.name)) is not None and entry.spec != spec:
                    raise ArgumentError(f"param {spec.name!r} is {spec} here, and {entry.spec} in another graph")
            for spec in specs:
                entry = self._entries.setdefault(spec.name, _Entry(spec))
                if reader is not None:
                    entry.readers.add(reader)
                if entry.memory is not None and reader is not None:
                    reader.found(spec.name, address(entry.memory))
                elif spec.name in given:
                    self[spec.name] = given[spec.name]
                    self._given.pop(spec.name, None)

    def _known(self, name: str) -> _Entry:
        if name in self._entries:
            return self._entries[name]
        names = list(self._entries)
        close = difflib.get_close_matches(str(name), names, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"params: {', '.join(names) or 'none'}"
        raise MissingParamError(f"no graph of these weights has a param {name!r}: {hint}")
