"""Define `Graph` (a mir function built op by op) and `GraphModule` (a module at any stage).

Methods that build ops come from `GraphBuilder`. Passes as functions are in `passes.py`, `derivatives.py` and
`low_precision.py`.
"""

from __future__ import annotations

import keyword
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import lru_cache, wraps
from html import escape
from inspect import isfunction
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeGuard, TypeVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    FunctionType,
    IntAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.hir.block import HirOp
from xdsl_rlx.dialects.hir.hir_builder import HirBuilder
from xdsl_rlx.dialects.lir import ProgramOp
from xdsl_rlx.dialects.locations import source_name
from xdsl_rlx.dialects.mir.core import TensorOp
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.names import fresh_name, hint_of
from xdsl_rlx.dialects.shapes import check_size, dims, integers
from xdsl_rlx.graph_methods.graph_builder import GraphBuilder
from xdsl_rlx.inlined import InlinedOp, Unexpanded, copy_ops, expanded, placed
from xdsl_rlx.lowering.fingerprint import fingerprint
from xdsl_rlx.pass_cache import Derivation, Interface
from xdsl_rlx.transforms.engines.reverse import has_derivative
from xdsl_rlx.transforms.mir_pin_taps import pin
from xdsl_rlx.transforms.signature import KIND, NAME, OPTIONAL, NamedArgument, Signature, graph_of
from xdsl_rlx.transforms.taps import taps_of

if TYPE_CHECKING:
    from xdsl_rlx.op_signatures import PluginMethods  # pyright: ignore[reportMissingModuleSource]
else:
    # a plugin adds them to the builder of rules
    PluginMethods = object

P = ParamSpec("P")
OpT = TypeVar("OpT", bound=Operation)
GraphT = TypeVar("GraphT", bound=GraphBuilder)

STAGES = ("hir", "mir", "lir")


_OF_THE_IR = ("emit", "op", "operand", "operands", "cut", "value", "require_fit")
"""Methods that the others call, with what those have checked."""


def _guarded(cls: type[GraphT]) -> type[GraphT]:
    """Class decorator: every public method checks its arguments, and one that fails leaves the graph as it was."""
    for name in dir(cls):
        function = getattr(cls, name)
        done = name.startswith("_") or name in _OF_THE_IR or hasattr(function, "__wrapped__")
        if isfunction(function) and not done:
            setattr(cls, name, _guarded_method(function))
    return cls


def _guarded_method(function: Callable[..., object]) -> Callable[..., object]:
    convert = checked(function)

    @wraps(function)
    def call(self: Graph, /, *args: object, **kwargs: object) -> object:
        last, arguments = self.end
        try:
            return convert(self, *args, **kwargs)
        except BaseException as error:
            self.cut(last, arguments)
            if isinstance(error, VerifyException):
                raise GraphError(f"{function.__name__}: {error}") from None
            raise

    return call


@_guarded
class Graph(GraphBuilder, PluginMethods):
    """
    A graph under construction: declare inputs and params, build mir ops by methods, then call `set_outputs`.

    `module` is the verified IR, and `str(graph)` its text. Wrong shapes, dtypes or names, and values of another graph,
    raise `GraphError` at the call.

    ```python
    g = Graph("loss")
    x, w = g.input("x", (4, 3)), g.param("w", (3, 2))
    g.set_outputs([g.reduce_sum(g.tanh(x @ w))])
    ```
    """

    stage = "mir"

    def __init__(self, name: str):
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphError(f"expected a name for the graph, got {shown(name)}")
        self.name = name
        self._block = Block()
        self._function = FuncOp(name, ((), ()), Region(self._block))
        self._module = ModuleOp([self._function])
        self._arguments: dict[str, tuple[str, Value]] = {}
        self._may_be_left_out: set[str] = set()
        self._outputs: tuple[Value, ...] = ()
        self._output_names: tuple[str, ...] = ()
        self._replacing: dict[int, str] = {}
        self._sealed = False
        self._whole: ModuleOp | None = None
        """The module with the ops of graphs inlined in the place of those that stand for them."""
        self._names: list[str] = []
        super().__init__(Builder(InsertPoint.at_end(self._block)))

    def input(self, name: str, shape: Sequence[int], dtype: object = "f32") -> Value:
        """Declare an argument that is passed at every call."""
        return self._argument(name, "input", self._type(name, shape, dtype))

    def param(self, name: str, shape: Sequence[int], dtype: object = "f32") -> Value:
        """Declare an argument that a compiled graph keeps between calls."""
        return self._argument(name, "param", self._type(name, shape, dtype))

    def set_outputs(
        self, outputs: Operand | Sequence[Operand] | Mapping[str, Operand], donate: Mapping[str, Operand] | None = None
    ) -> None:
        """
        Set the results, in order; replace the results set before.

        With names, as in `{"loss": loss}`, a compiled graph returns a named tuple. `rlx.grad_with_loss` names gradients
        too, such as `d_w`; results of `rlx.grad`, `rlx.jvp` and `rlx.hvp` have no names. The values of `donate` are
        further results that overwrite the named arguments, as in `rlx.compile`. A number or an array is a constant.
        """
        names = tuple(outputs) if isinstance(outputs, Mapping) else ()
        if isinstance(outputs, Mapping):
            outputs = tuple(outputs.values())
        for name in names:
            if not str(name).isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
                raise GraphError(
                    f"expected a Python identifier as the name of an output of '{self.name}', got {shown(name)}"
                )
        if not isinstance(donate, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphError(f"donate of graph '{self.name}': expected values by argument, got {shown(donate)}")
        given = tuple(outputs) if isinstance(outputs, Sequence) else (outputs,)
        replacing = {len(given) + number: name for number, name in enumerate(donate or ())}
        given += tuple((donate or {}).values())
        if not given:
            raise GraphError(f"graph '{self.name}' needs at least one output")
        self._unseal()
        values = tuple(self._output(number, value) for number, value in enumerate(given))
        for number, name in replacing.items():
            self._check_donation(name, values[number])
        self._outputs, self._replacing, self._output_names = values, replacing, names

    def _check_donation(self, name: str, value: Value) -> None:
        what = f"donate of graph '{self.name}'"
        if name not in self._arguments:
            known = ", ".join(self._arguments) or "none"
            raise GraphError(f"{what}: no argument {shown(name)}; arguments are {known}")
        argument = self._arguments[name][1]
        if name in self._may_be_left_out:
            raise GraphError(f"{what}: '{name}' is an optional argument, which no result overwrites")
        if value.type != argument.type:
            expected, found = (f"{one.dtype}{dims(one.shape)}" for one in (argument, value))
            raise GraphError(f"{what}: '{name}' is {expected}, the value is {found}; cast or reshape it")

    def _output(self, number: int, given: Operand) -> Value:
        try:
            found = self.operand(given)
            if isinstance(given, int) and f32.unpack(f32.pack((given,)), 1)[0] != given:
                raise GraphError(f"{given} is not exact in f32; pass an array of its type, such as np.int64({given})")
        except GraphError as error:
            raise GraphError(f"output {number} of graph '{self.name}': {error}") from None
        return given if isinstance(given, Value) else self.value(found)

    def named(self, name: str) -> AbstractContextManager[None]:
        """
        Set a scope for locations: inside `with g.named("layer3"):`, ops are located at `"layer3"(line)`.

        Passes, reports and launches show the scope, so equal layers can be distinguished. Nested scopes are listed
        outermost first.
        """
        if not name:
            raise GraphError(f"named: expected a non-empty scope in graph '{self.name}', got {shown(name)}")
        return self._part(name)

    @contextmanager
    def _part(self, name: str) -> Generator[None, None, None]:
        self._names.append(name)
        try:
            yield
        finally:
            self._names.pop()

    def _placed(self, location: LocationAttr) -> LocationAttr:
        """A location in the parts that are named."""
        return placed(location, self._names)

    @property
    def module(self) -> ModuleOp:
        """The IR, verified; GraphError if no outputs are set."""
        content = self.content
        if isinstance(content, ModuleOp):
            return content
        if self._whole is None:
            self._whole = expanded(self._function)
        return self._whole

    @property
    def content(self) -> ModuleOp | Unexpanded:
        """The module; while passes of inlined graphs have not run, an object that runs them later."""
        if not self._sealed:
            self._seal()
        if not any(isinstance(op, InlinedOp) for op in self._block.ops):
            return self._module
        return Unexpanded(lambda: self.module, self._module)

    def __str__(self) -> str:
        return str(self.module)

    def inline(self, graph: AnyGraph, *operands: Operand, **bindings: Operand) -> tuple[Value, ...]:
        """
        Copy the ops of another graph into this one and return its outputs.

        `operands` bind its arguments in order, `bindings` by name. An unbound argument becomes an argument of this
        graph with the same name; an existing argument of the same name and type is reused. Optional arguments stay
        optional.
        """
        source = as_graph_module(graph)
        if STAGES.index(source.stage) > STAGES.index("mir") or (source.stage == "hir" and self.stage == "mir"):
            cure = "; rlx.lower_hir lowers blocks" if source.stage == "hir" else ""
            raise GraphError(f"'{source.name}' is at stage {source.stage}, graph '{self.name}' at {self.stage}{cure}")
        interface = source.interface
        signature = interface.arguments
        if len(operands) > len(signature):
            raise GraphError(f"'{source.name}' has {len(signature)} arguments, got {len(operands)}")
        given = dict(zip((a.name for a in signature), operands, strict=False))
        for name, operand in bindings.items():
            if name in given:
                raise GraphError(f"argument '{name}' of '{source.name}' is given by position and by name")
            given[name] = operand
        if unknown := [name for name in given if name not in {a.name for a in signature}]:
            known = ", ".join(a.name for a in signature) or "none"
            raise GraphError(f"'{source.name}' has no argument '{unknown[0]}'; it has {known}")
        bound = [self._bind(source, argument, given) for argument in signature]
        self._unseal()
        # ops of a `Graph` are made already; a body is copied by its op, which does not know what stands in it
        if isinstance(graph, GraphModule) and self.builder.insertion_point.block is self._block:
            op = self.builder.insert(InlinedOp(source, bound, interface.outputs, self._names))
            return tuple(map(self.value, op.results))
        env = dict[SSAValue, SSAValue](zip((a.value for a in source.signature.arguments), bound, strict=True))
        copy_ops(source.signature.block, env, self.builder.insert, self._names)
        return tuple(self.value(env[v]) for v in source.signature.outputs)

    def _bind(self, source: GraphModule, argument: NamedArgument, given: dict[str, Operand]) -> SSAValue:
        if argument.name in given:
            like = self.value(argument.value)
            ssa = self.operand(given[argument.name], like)
            if ssa.type != argument.value.type:
                raise GraphError(
                    f"argument '{argument.name}' of '{source.name}' is {argument.value.type}, got a value of {ssa.type}"
                )
            return ssa
        if (found := self._arguments.get(argument.name)) is not None and found[1].type == argument.value.type:
            return found[1].ssa
        return self._argument(argument.name, argument.kind, argument.value.type, argument.optional).ssa

    def emit(self, make: Callable[P, OpT], *args: P.args, **kwargs: P.kwargs) -> OpT:
        """
        Create an op, verify it, and insert it at the end, located at the caller's line; GraphError if it is invalid.
        """
        op: OpT | None = None
        try:
            op = make(*args, **kwargs)
            if isinstance(op, TensorOp):
                for type_ in op.checked_types:
                    check_size(type_)
            else:
                # what is in its regions was verified when it was built, and is again when the graph is done
                op.verify(verify_nested_ops=False)
        except VerifyException as error:
            if op is not None:
                op.erase()
            raise GraphError(f"{getattr(make, 'name', 'op')}: {error}") from None
        op.location = self._placed(_location_of_caller())
        self._unseal()
        return self.builder.insert(op)

    def operand(self, x: Operand, like: Operand | None = None) -> SSAValue:
        """Return the IR value of an operand; GraphError for a value of another graph, or of a finished body."""
        if not isinstance(x, Value):
            return super().operand(x, like)
        if x.b is not self:
            other = getattr(x.b, "name", None)
            raise GraphError(
                f"a value of {'another graph' if other in (None, self.name) else f'graph {other!r}'} is used in graph "
                f"'{self.name}'; inline that graph, or pass the value as an input"
            )
        if (holder := self._complete(x.ssa)) is not None:
            raise GraphError(f"a value of the body of {holder.name} is used outside of it; return it from the body")
        return x.ssa

    def _complete(self, x: SSAValue) -> Operation | None:
        """The op in whose body a value is; None for a value of the function, and as long as the body is built."""
        owner = x.owner
        block = owner if isinstance(owner, Block) else owner.parent
        return None if block is None or block is self._block else block.parent_op()

    @property
    def end(self) -> tuple[Operation | None, int]:
        """The current end of the graph, its last op and the number of arguments; `cut(*end)` returns to it."""
        last = self._block.last_op
        return last.prev_op if isinstance(last, ReturnOp) else last, len(self._block.args)

    def cut(self, last: Operation | None, arguments: int) -> None:
        """Remove the ops after `last` and all but the first `arguments` arguments, to return to an earlier `end`."""
        if self.end == (last, arguments):
            return
        self._unseal()
        while (op := self._block.last_op) is not None and op is not last:
            op.detach()
            op.erase()
        while len(self._block.args) > arguments:
            self._block.erase_arg(self._block.args[-1])
            name, _ = self._arguments.popitem()
            self._may_be_left_out.discard(name)

    def _type(self, name: str, shape: Sequence[int], dtype: object) -> Attribute:
        extents = integers(f"argument '{name}'", shape)
        if any(n < 0 for n in extents):
            raise GraphError(f"argument '{name}' has shape {extents}; expected integers of at least 0")
        type_ = TensorType(constants.element_type(dtype), extents)
        check_size(type_)
        return type_

    def _argument(self, name: str, kind: str, type_: Attribute, optional: bool = False) -> Value:
        if not str(name).isidentifier():
            raise GraphError(f"an argument of graph '{self.name}' needs an identifier as its name, got {name!r}")
        if (found := self._arguments.get(name)) is not None:
            shape = f"{found[1].dtype}{dims(found[1].shape)}"
            raise GraphError(
                f"graph '{self.name}' already has an argument '{name}', the {found[0]} {shape}; choose another name"
            )
        self._unseal()
        arg = self._block.insert_arg(type_, len(self._block.args))
        arg.name_hint = hint_of(name)
        value = self.value(arg)
        self._arguments[name] = (kind, value)
        if optional:
            self._may_be_left_out.add(name)
        return value

    def _seal(self) -> None:
        if not self._outputs:
            raise GraphError(f"graph '{self.name}' has no outputs; call set_outputs")
        results = [v.ssa for v in self._outputs]
        self._block.add_op(ReturnOp.create(operands=results))
        self._sealed = True
        with ExitStack() as undo:
            undo.callback(self._unseal)
            self._declare(results)
            undo.pop_all()

    def _declare(self, results: Sequence[SSAValue]) -> None:
        """Give the function its type, and its arguments and results their names."""
        self._function.function_type = FunctionType.from_lists(self._block.arg_types, [v.type for v in results])
        self._function.arg_attrs = ArrayAttr(
            DictionaryAttr(
                {
                    NAME: StringAttr(name),
                    KIND: StringAttr(kind),
                    **({OPTIONAL: UnitAttr()} if name in self._may_be_left_out else {}),
                }
            )
            for name, (kind, _) in self._arguments.items()
        )
        self._function.res_attrs = None
        if self._output_names:
            Signature(self._function).name_outputs(self._output_names)
        if self._replacing:
            try:
                Signature(self._function).replace(self._replacing)
            except PassFailedException as error:
                raise GraphError(str(error)) from None
        # every op was verified when it was made, or with the graph that it was copied from
        self._function.verify(verify_nested_ops=False)

    def _unseal(self) -> None:
        self._whole = None
        if self._sealed:
            last = self._block.last_op
            assert isinstance(last, ReturnOp)
            last.detach()
            last.erase()
            self._sealed = False


@_guarded
class HirGraph(HirBuilder, Graph):
    """A graph of blocks; the mir ops may stand between them. A name that both have is that of the block."""

    stage = "hir"


class GraphModule:
    """
    A graph at stage `hir` (blocks), `mir` (tensor ops) or `lir` (a program). Functions on it return new ones.

    Passes may run late: if the cache records that they succeeded on an equal graph before, they run when `module` is
    first read.
    """

    def __init__(self, content: ModuleOp | Derivation | Unexpanded, stage: str):
        self._content = content
        self._stage = stage

    @staticmethod
    def define(name: str, build: Callable[[HirGraph], Value | Sequence[Value]]) -> GraphModule:
        """
        Build a model in `hir`: `build(m)` declares inputs and params, builds blocks by methods of `m`, and returns the
        outputs.
        """
        if not callable(build):
            raise GraphError(f"define: expected a function that builds the model, got {shown(build)}")
        graph = HirGraph(name)
        graph.set_outputs(build(graph))
        return GraphModule(graph.module, "hir")

    @property
    def module(self) -> ModuleOp:
        """The IR; clone it before you change it."""
        content = self._content
        if isinstance(content, Derivation | Unexpanded):
            # of threads that come here at once, all get what the first one made
            content = self.__dict__.setdefault("_made", content.run())
            self._content = content
        return content

    def copy(self) -> ModuleOp:
        """Return a new copy of the IR."""
        pending = self.pending
        # as quick as a copy, and one module less
        return pending.run() if pending is not None and pending.signature_only else self.module.clone()

    @property
    def stage(self) -> str:
        """The stage: `"hir"`, `"mir"` or `"lir"`."""
        return self._stage

    @property
    def pending(self) -> Derivation | None:
        """The passes that have not run yet; None once `module` has been read."""
        return self._content if isinstance(self._content, Derivation) else None

    @property
    def fingerprint(self) -> str:
        """A hash of the IR without locations and names of SSA values; computed without running passes."""
        content = self._content
        if isinstance(content, Derivation):
            return content.outcome.fingerprint
        return fingerprint(content.stands_for if isinstance(content, Unexpanded) else content)

    def __str__(self) -> str:
        return str(self.module)

    def __repr__(self) -> str:
        if self.stage == "lir":
            return f"GraphModule {self.name} at lir"
        interface = self.interface
        given = ", ".join(f"{one.kind} {one.name}: {one.value.type}" for one in interface.arguments)
        return f"GraphModule at {self.stage}\n  ({given})\n  -> ({', '.join(map(str, interface.outputs))})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    @property
    def name(self) -> str:
        """The name of the function or program."""
        for op in self.module.ops:
            if isinstance(op, ProgramOp):
                return op.sym_name.data
        return self.signature.name

    @property
    def interface(self) -> Interface:
        """The arguments and the types of the outputs, without running passes; GraphError for a program."""
        known = None if self.pending is None else self.pending.outcome.interface
        return Interface.of(self.signature) if known is None else known

    @property
    def tangent_names(self) -> dict[str, str]:
        """
        The names of the inputs that the last `jvp` or `hvp` added, by the name of the argument.

        The tangent of `x` is `tangent_x`, or `tangent_x_2` if an argument has that name already, and so on.
        """
        return {a.tangent_of: a.name for a in self.interface.arguments if a.tangent_of is not None}

    @property
    def seed_names(self) -> tuple[str, ...]:
        """
        The names of the inputs that are cotangents of results, in the order in which gradients were taken.

        The first is `d_output` unless an argument has that name; the cotangent of the last gradient is the last.
        """
        return tuple(a.name for a in self.interface.arguments if a.cotangent_of is not None)

    @property
    def signature(self) -> Signature:
        """
        The function of a graph at stage hir or mir, with named arguments and outputs; GraphError if there is none.
        """
        try:
            signature = graph_of(self.module, "a graph")
            _ = signature.arguments, signature.outputs
        except PassFailedException as error:
            raise GraphError(str(error)) from None
        return signature


AnyGraph: TypeAlias = Graph | GraphModule | ModuleOp
"""What functions on graphs take."""


def tapped(graph: Graph, values: Sequence[Value]) -> tuple[GraphModule, list[str]]:
    """
    A copy of a graph in which each of some values has a name, and these names: of an argument, or of a tap.

    GraphError for a value of another graph, or of a finished body, and for one that has no derivative.
    """
    wanted = [graph.operand(value) for value in values]
    if others := [ssa for ssa in wanted if not has_derivative(ssa)]:
        raise GraphError(f"wrt: expected floating-point values, got one of type {others[0].type}")
    content = graph.content
    source = graph_of(content.stands_for if isinstance(content, Unexpanded) else content, "a graph")
    env: dict[SSAValue, SSAValue] = {}
    copy = GraphModule(expanded(source.func, env), graph.stage)
    known = {value: name for name, value in taps_of(copy.signature).items()}
    for value in dict.fromkeys(env[ssa] for ssa in wanted):
        if value not in known:
            name = fresh_name(value.name_hint or "value", set(known.values()))
            known[value] = name
            pin(value, name)
    return copy, [known[env[ssa]] for ssa in wanted]


def is_graph(x: object) -> TypeGuard[AnyGraph]:
    """Whether functions on graphs take it."""
    return isinstance(x, Graph | GraphModule | ModuleOp)


def as_graph_module(graph: AnyGraph) -> GraphModule:
    """The module and its stage; GraphError for what is no graph."""
    if isinstance(graph, GraphModule):
        return graph
    if isinstance(graph, Graph):
        return GraphModule(graph.content, graph.stage)
    return GraphModule(_checked(graph), stage_of(_checked(graph)))


def _checked(graph: object) -> ModuleOp:
    if isinstance(graph, ModuleOp):
        return graph
    raise GraphError(no_graph(graph))


def no_graph(graph: object, otherwise: str = "") -> str:
    """Return the message for what is no graph; `otherwise` is what is accepted beside graphs."""
    cure = "; parse(text) makes one" if isinstance(graph, str) else ""
    if callable(graph):
        cure = "; rlx.trace(function, arguments ..) makes one, and of a compiled function .trace(..) or .compiled(..)"
    return f"expected {otherwise}a Graph, GraphModule or ModuleOp, got {type(graph).__name__}{cure}"


def stage_of(module: ModuleOp) -> str:
    """`lir` if the module holds a program, `hir` if a block is left in it, else `mir`."""
    if any(isinstance(op, ProgramOp) for op in module.ops):
        return "lir"
    return "hir" if any(isinstance(op, HirOp) for op in module.walk()) else "mir"


_NOT_OF_A_USER = ("xdsl_rlx.", "contextlib")
"""Modules whose lines are no places in a user's program: those here, and what calls our functions for decorators."""


def _location_of_caller() -> LocationAttr:
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_NOT_OF_A_USER):
        frame = frame.f_back
    return UNKNOWN_LOC if frame is None else _line(frame.f_code.co_filename, frame.f_lineno)


@lru_cache(maxsize=1024)
def _line(filename: str, line: int) -> LocationAttr:
    return FileLineColLoc(StringAttr(source_name(filename)), IntAttr(line), IntAttr(0))
