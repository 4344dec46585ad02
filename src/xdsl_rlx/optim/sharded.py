"""An optimiser whose state is divided among the processes of a program (ZeRO, stage 1)."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from xdsl_rlx import distributed
from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.distributed.shards import Layout, Shards, is_shards
from xdsl_rlx.indexing import dynamic_slice_in_dim
from xdsl_rlx.optim.gradients import as_array, clip_by_global_norm
from xdsl_rlx.optim.optimisers import (
    Accumulated,
    Leaf,
    Optimiser,
    Slots,
    State,
    check_optimiser,
    checked_gradients,
    named,
)
from xdsl_rlx.tracing import builder_of
from xdsl_rlx.tree import Tree, flatten, paths, unflatten
from xdsl_rlx.tree import map as map_leaves

_UNDECAYED = "_undecayed"
"""The end of the names of vectors without weight decay."""


@named
@dataclass(frozen=True)
class Sharded(Optimiser):
    """
    An optimiser whose state is divided among the processes (ZeRO, stage 1: Rajbhandari et al., 2020).

    Each process keeps the state of `1 / size` of the elements of all parameters. `update` takes the mean of the
    gradients over all processes, updates these elements of the parameters, and gathers the others. So gradients are
    those of each process; where they are reduced already, as for other optimisers in `Groups`, the mean is the same.
    With one process, it is `inner` itself.

    `inner` is an optimiser with an elementwise rule: `SGD`, `Adam`, `NAdam`, `AdamW`, `Lion`, `Adagrad`, `RMSprop`,
    `Adadelta`, `Accumulated` of one of them, or a class of your own with `elementwise = True`. Raises GraphError for
    others, such as `Muon`, and for complex parameters. `clip_norm`, here or of `inner`, limits the norm of the mean.

    `rlx.save` and `rlx.fit` write the whole state, as `inner` has it. Training continues from it with any number of
    processes, and without `Sharded`.
    """

    inner: Optimiser
    clip_norm: float | None = None

    learning_rate = None

    def __post_init__(self) -> None:
        check_optimiser("Sharded: inner", self.inner)
        last = _last(self.inner)
        if not last.elementwise:
            raise GraphError(
                f"Sharded: the rule of {type(last).__name__} is not elementwise, so its parameters cannot be divided; "
                "use it without Sharded, in Groups beside a Sharded one for other parameters, or set "
                "`elementwise = True` in a class of your own whose rule is"
            )

    def init(self, params: Tree) -> State:
        if distributed.size() == 1:
            return self.inner.init(params)
        layout = self._layout(params)
        return self.inner.init(Shards.of_rank(params, layout, distributed.rank()))

    @checked
    def update(self, grads: Tree, state: State, params: Tree) -> tuple[Tree, State]:
        """As `Optimiser.update`; the gradients are those of each process."""
        count = distributed.size()
        if count == 1:
            grads = grads if self.clip_norm is None else clip_by_global_norm(grads, self.clip_norm)
            return self.inner.update(grads, state, params)
        params = map_leaves(as_array, params)
        leaves, spec = flatten(params)
        layout = self._layout(params)
        self._check_parts(state, layout)
        given = flatten(checked_gradients(params, grads))[0]
        means = {
            name: distributed.reduce_scatter(vector) * (1.0 / count) for name, vector in layout.vectors(given).items()
        }
        mean: Tree = Shards(means, layout)
        mean = mean if self.clip_norm is None else clip_by_global_norm(mean, self.clip_norm)
        number = _rank(params, state)
        parts = {
            name: dynamic_slice_in_dim(vector, number * (n := layout.part(name)), n)
            for name, vector in layout.vectors(leaves).items()
        }
        inner = _with_mask(self.inner) if any(one.endswith(_UNDECAYED) for one in layout.names) else self.inner
        moved, state = inner.update(mean, state, Shards(parts, layout))
        whole = {name: distributed.all_gather(part) for name, part in moved.parts.items()}
        return unflatten(spec, layout.leaves(whole)), state

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return {}

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        return at.p, {}

    def _layout(self, params: Tree) -> Layout:
        """A vector for each element type, of leaves with and without weight decay."""
        params = map_leaves(as_array, params)
        leaves, spec = flatten(params)
        decays = _last(self.inner).decaying(params)
        groups: list[str] = []
        for place, leaf, decay in zip(paths(spec), leaves, decays, strict=True):
            kind = _NAMES.get(str(leaf.dtype))
            if kind is None:
                raise GraphError(
                    f"Sharded: params{place}: expected a real floating-point array, got {leaf.dtype}; "
                    "hold real and imaginary parts as two arrays"
                )
            groups.append(kind if decay else kind + _UNDECAYED)
        return Layout(spec, tuple(tuple(np.shape(leaf)) for leaf in leaves), tuple(groups), distributed.size())

    def _check_parts(self, state: object, layout: Layout) -> None:
        """GraphError for a state that is not in parts of this layout."""
        found = [one for one in flatten(state, is_shards)[0] if isinstance(one, Shards)]
        if any(one.layout != layout for one in found) or (not found and _has_slots(self.inner)):
            had = f"parts of other params, or for {found[0].layout.processes} processes" if found else "no parts"
            raise GraphError(
                f"Sharded: state: expected the result of init(params) for {layout.processes} processes, got {had}; "
                "call rlx.distributed.init() first, then init, and read a file by rlx.load(path, like=init(params))"
            )


_NAMES = {
    **{name: name for name in ("f16", "bf16", "f32", "f64")},
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}
"""Of element types, as values of a graph and as NumPy name them."""


def _last(optimiser: Optimiser) -> Optimiser:
    """The optimiser that moves parameters."""
    while isinstance(optimiser, Accumulated):
        optimiser = optimiser.inner
    return optimiser


def _has_slots(optimiser: Optimiser) -> bool:
    return isinstance(optimiser, Accumulated) or bool(optimiser.slots(np.zeros(1, np.float32)))


def _with_mask(optimiser: Optimiser) -> Optimiser:
    """The optimiser, for the vectors of a layout: those say by their name whether they decay."""
    found = copy.copy(optimiser)
    if isinstance(optimiser, Accumulated):
        object.__setattr__(found, "inner", _with_mask(optimiser.inner))
    else:
        object.__setattr__(found, "decay_mask", _decays)
    return found


def _decays(path: str, leaf: object) -> bool:
    return not path.endswith(_UNDECAYED)


def _rank(*trees: Tree) -> Any:
    """The number of this process. In a traced function it comes from a message: all processes have one program."""
    b = builder_of(*trees)
    if b is None:
        return distributed.rank()
    count = distributed.size()
    return distributed.reduce_scatter(b.constant(np.arange(count)))[0] // count
