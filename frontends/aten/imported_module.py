"""`rlx.from_torch`: a module of PyTorch as a function on its own memory."""

# Objects of torch, which is not installed everywhere, and trees of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false

from __future__ import annotations

import sysconfig
import traceback
from collections import Counter
from collections.abc import Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.frontends.aten import table, walk
from xdsl_rlx.frontends.aten.decompositions import without_rows
from xdsl_rlx.frontends.aten.values import dtype_of
from xdsl_rlx.frontends.shared.errors import FrontendError, missing_ops
from xdsl_rlx.frontends.shared.needed import torch_module
from xdsl_rlx.tracing import builder_of

assert table.ROWS

Tree = Any


@dataclass(frozen=True)
class _Exported:
    """A module exported for one signature."""

    graph: Any
    constants: Mapping[str, Any]
    sources: tuple[tuple[str, str], ...]
    """Of each placeholder the kind ("param", "buffer", "constant" or "input") and the name."""
    mutated: tuple[str, ...]
    """Names of the buffers whose new values are the first outputs."""
    results: Any
    """The tree of the results, as torch has it."""


class ImportedModule:
    """
    A module of PyTorch as a function: `function(params, buffers, *inputs, key=None) -> (outputs, new_buffers)`.

    `params` and `buffers` are dicts of arrays by the names of `named_parameters` and `named_buffers`. The arrays are
    the memory of the module: what is written into them, as by a compiled step that donates them, the module has. A
    parameter with several names has the first one.
    """

    params: dict[str, np.ndarray[Any, Any]]
    buffers: dict[str, np.ndarray[Any, Any]]

    def __init__(self, module: Any, args: Sequence[Any], kwargs: Mapping[str, Any], dynamic: bool | None, train: bool):
        self.module = module
        self._train = train
        self._dynamic = dynamic
        self._exported: dict[Hashable, _Exported] = {}
        self._names = _names_of_tensors(module)
        self.params = {name: _memory(x, name) for name, x in module.named_parameters()}
        self.buffers = {name: _memory(x, name) for name, x in module.named_buffers()}

        def call(params: Tree, buffers: Tree, inputs: Tree, key: Tree, kwargs: Tree) -> Tree:
            return self._built(params, buffers, *inputs, key=key, **kwargs)

        self._compiled = CompiledFunction(call)
        self._export(args, kwargs)

    def __repr__(self) -> str:
        return f"<{type(self.module).__name__} of PyTorch, exported for {len(self._exported)} signatures>"

    @property
    def report(self) -> Mapping[str, int]:
        """How often each operator of the first export occurs, with the way it is translated."""
        found: Counter[str] = Counter()
        for (name, status), times in walk.fired(next(iter(self._exported.values())).graph).items():
            found[f"{name} ({status})"] += times
        return dict(found.most_common())

    def function(
        self,
        params: Mapping[str, Any],
        buffers: Mapping[str, Any],
        /,
        *inputs: Tree,
        key: Any = None,
        **kwargs: Tree,
    ) -> tuple[Tree, dict[str, Any]]:
        """
        Return the outputs of the module and the new values of its buffers.

        Inputs of other shapes than those of the example export the module again. `key` is needed by modules that draw
        random numbers, such as dropout in training. Raises FrontendError for names that are missing or unknown.
        """
        if builder_of(params, buffers, inputs, kwargs) is None:
            return self._compiled(params, buffers, inputs, key, kwargs)
        return self._built(params, buffers, *inputs, key=key, **kwargs)

    def _built(
        self, params: Mapping[str, Any], buffers: Mapping[str, Any], /, *inputs: Tree, key: Any = None, **kwargs: Tree
    ) -> tuple[Tree, dict[str, Any]]:
        _check_names("params", params, self.params)
        _check_names("buffers", buffers, self.buffers)
        exported = self._export(inputs, kwargs)
        leaves = iter(_leaves((tuple(inputs), kwargs)))
        given = {"param": params, "buffer": buffers, "constant": exported.constants}
        found = [next(leaves) if kind == "input" else given[kind][name] for kind, name in exported.sources]
        values = [_array(one) for one in found]
        found = walk.run(exported.graph, values, exported.constants, key)
        new = dict(zip(exported.mutated, found, strict=False))
        outputs = exported.results.unflatten(found[len(exported.mutated) :])
        return _plain(outputs), {name: new.get(name, old) for name, old in buffers.items()}

    def _export(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Exported:
        """The module exported for arguments of this signature, which are arrays, values or tensors."""
        leaves = _leaves((tuple(args), dict(kwargs)))
        key = tuple(_signature(leaf) for leaf in leaves)
        if key not in self._exported:
            if self._exported and self._dynamic is False:
                raise FrontendError(
                    f"{type(self.module).__name__}: expected inputs of the example's shapes, got {shown(key)}; "
                    "omit dynamic=False"
                )
            self._exported[key] = self._made(args, kwargs)
        return self._exported[key]

    def _made(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Exported:
        torch = torch_module("from_torch")
        name = type(self.module).__name__
        example, named = _mapped(torch, (tuple(args), dict(kwargs)))
        with _mode(self.module, self._train):
            hook = self.module.register_forward_hook(_without_objects)
            try:
                program = torch.export.export(self.module, example, named)
            except Exception as error:
                raise FrontendError(_not_captured(name, error)) from error
            finally:
                hook.remove()
            program = program.run_decompositions(without_rows())
        if found := walk.missing(program.graph):
            raise missing_ops(name, found, "Replace them in the model, or take that part out of it.")
        return self._read(program)

    def _read(self, program: Any) -> _Exported:
        signature = program.graph_signature
        kinds = {"PARAMETER": "param", "BUFFER": "buffer", "CONSTANT_TENSOR": "constant", "USER_INPUT": "input"}
        sources: list[tuple[str, str]] = []
        for one in signature.input_specs:
            if (kind := kinds.get(one.kind.name)) is None:
                raise FrontendError(f"{type(self.module).__name__}: an input of kind {one.kind.name} cannot be read")
            target = str(one.target)
            sources.append((kind, self._names.get(target, target)))
        mutated: list[str] = []
        for one in signature.output_specs:
            if one.kind.name == "BUFFER_MUTATION":
                mutated.append(self._names.get(str(one.target), str(one.target)))
            elif one.kind.name != "USER_OUTPUT":
                raise FrontendError(
                    f"{type(self.module).__name__}: the module overwrites '{one.target}' ({one.kind.name}); return the "
                    "new value, or keep it in a buffer"
                )
        constants = {name: walk.constant(x) for name, x in program.constants.items()}
        return _Exported(program.graph, constants, tuple(sources), tuple(mutated), program.call_spec.out_spec)


def from_torch(
    module: Any, *example: Any, dynamic: bool | None = None, train: bool = True, **kwargs: Any
) -> ImportedModule:
    """
    Return a module of PyTorch as a function with this package's transformations.

    `example` and `kwargs` are arguments of the module: tensors or arrays, whose values do not matter. The module is
    exported in training mode, or with `train=False` for inference. Its parameters and buffers are read and written in
    place; see `ImportedModule`. With `dynamic=False`, inputs of other shapes are an error; by default the module is
    exported again for them. An entry of a dict of outputs that is not a tensor, such as a cache, is omitted.

    ```python
    model = rlx.from_torch(net, x)


    def loss(params, buffers, x, y):
        out, buffers = model.function(params, buffers, x)
        return rlx.nn.cross_entropy(out, y), buffers


    grad = rlx.compile(rlx.value_and_grad(loss, has_aux=True))
    (value, buffers), grads = grad(model.params, model.buffers, x, y)
    ```

    Raises FrontendError if torch is not installed, if the module cannot be captured, and for operators without a
    translation, all of which the message lists.
    """
    torch = torch_module("from_torch")
    if not isinstance(module, torch.nn.Module):
        if not callable(module):
            raise FrontendError(f"from_torch: module: expected a torch.nn.Module, got {shown(module)}")
        module = _as_module(torch, module)
    return ImportedModule(module, example, kwargs, dynamic, train)


def _as_module(torch: Any, function: Any) -> Any:
    """A module that calls a function."""

    class Function(torch.nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    return Function()


def _names_of_tensors(module: Any) -> dict[str, str]:
    """The first name of each parameter and buffer by every name that it has."""
    first: dict[int, str] = {}
    found: dict[str, str] = {}
    every = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    for name, x in every:
        found[name] = first.setdefault(id(x), name)
    return found


def _memory(x: Any, name: str) -> np.ndarray[Any, Any]:
    """The array that is a tensor's memory."""
    if x.device.type != "cpu":
        raise FrontendError(f"'{name}' is on device {x.device}: expected a tensor on the CPU; call module.cpu() first")
    array = read_array(x.detach())
    if array is None:
        raise FrontendError(f"'{name}' is a tensor of type {x.dtype}, layout {x.layout}: it is not supported")
    return array


def _check_names(what: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise FrontendError(f"{what}: expected a dict of arrays by name, got {shown(given)}")
    for name, array in known.items():
        if name not in given:
            raise FrontendError(f"{what}: '{name}' is missing; pass all of .{what}, or a dict with its names")
        if np.shape(given[name]) != array.shape:
            raise FrontendError(
                f"{what}: '{name}': expected shape {list(array.shape)}, as the module has it, got "
                f"{list(np.shape(given[name]))}"
            )
    for name in given:
        if name not in known:
            raise FrontendError(f"{what}: the module has no '{name}'; its names are those of .{what}")


def _leaves(tree: Tree) -> list[Any]:
    from torch.utils import _pytree

    return _pytree.tree_flatten(tree)[0]


def _signature(leaf: Any) -> Hashable:
    """What an export depends on: type and shape of a tensor, and other arguments themselves."""
    if isinstance(leaf, Value):
        return str(leaf.dtype), leaf.shape
    if isinstance(leaf, bool | int | float | complex | str) or leaf is None:
        return type(leaf), leaf
    array = read_array(leaf)
    if array is None:
        raise FrontendError(f"expected tensors, arrays and numbers as inputs of a module, got {shown(leaf)}")
    return dtype_of(array), array.shape


def _mapped(torch: Any, tree: Tree) -> Tree:
    """Tensors for what is to be exported."""
    from torch.utils import _pytree

    types = {name: getattr(torch, text.removeprefix("torch.")) for text, name in walk.DTYPES.items()}

    def one(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor | bool | int | float | complex | str) or leaf is None:
            return leaf
        dtype, shape = _signature(leaf)  # pyright: ignore[reportGeneralTypeIssues]
        return torch.zeros(shape, dtype=types[dtype])

    return _pytree.tree_map(one, tree)


@contextmanager
def _mode(module: Any, train: bool) -> Generator[None]:
    """The module in training mode or not, and afterwards as it was."""
    before = [(one, one.training) for one in module.modules()]
    module.train(train)
    try:
        yield
    finally:
        for one, training in before:
            one.training = training


def _array(x: Any) -> Any:
    """A tensor of torch that a traced function has got hold of, as an array; anything else as it is."""
    return walk.constant(x) if hasattr(x, "detach") else x


def _without_objects(module: Any, args: Any, output: Any) -> Any:
    """A hook that leaves entries out of the output that torch cannot take apart, such as a cache of keys."""
    if not isinstance(output, Mapping):
        return output
    known = {name: one for name, one in output.items() if all(map(_is_plain, _leaves(one)))}
    return output if len(known) == len(output) else known


def _is_plain(leaf: Any) -> bool:
    return leaf is None or isinstance(leaf, bool | int | float | complex | str) or hasattr(leaf, "detach")


def _plain(tree: Tree) -> Tree:
    """Containers of other libraries, such as the outputs of transformers, as dicts."""
    if isinstance(tree, Mapping):
        return {name: _plain(one) for name, one in tree.items() if one is not None}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*map(_plain, tree))
    if isinstance(tree, list | tuple):
        return type(tree)(map(_plain, tree))
    return tree


_BY_VALUES = ("data-dependent", "unbacked", "Unbacked")
"""Words of messages about what depends on the values of tensors."""


def _not_captured(name: str, error: Exception) -> str:
    """Why a module cannot be exported, where in its source, and what to do."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not _is_of_libraries(one.filename)]
    place = f", at {frames[-1].filename}:{frames[-1].lineno}, {frames[-1].line}" if frames else ""
    lines = [line for line in str(error).strip().splitlines() if line.strip()] or [type(error).__name__]
    message = f"{name}: torch.export cannot capture the module{place}: {lines[0]}"
    if any(word in str(error) for word in _BY_VALUES):
        message += (
            "\nA branch, a shape or the length of a loop depends on the values of tensors: use torch.where, torch.cond "
            "or a fixed number of iterations, or leave that part out of the module"
        )
    return message


def _is_of_libraries(filename: str) -> bool:
    if filename.startswith(("<", sysconfig.get_path("stdlib"))):
        return True
    return any(f"/{package}/" in filename for package in ("torch", "xdsl_rlx", "frontends"))
