"""Nests as kernels: the body of a function, from its syntax tree, at a place in a kernel.

What is known now (numbers, tuples, objects that a nest closes over) is computed now, by Python: an `if` on it is
decided, a loop over a tuple written out, a function of it called. What is of the kernel (scalars, views, and what holds
some) becomes ops: loops over ranges, branches on scalars, and functions, whose bodies take the place of their calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.arithmetic import Arithmetic, TypesError
from xdsl_rlx.lowering.kernel_dsl.array_views import ArrayView, Views, index_of
from xdsl_rlx.lowering.kernel_dsl.expressions import Expressions
from xdsl_rlx.lowering.kernel_dsl.frames import Callee, CallFrame, Closure
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest, end_block
from xdsl_rlx.lowering.kernel_dsl.language import Indices
from xdsl_rlx.lowering.kernel_dsl.loops import BranchSide, Carried, Choice, Retyped, merged
from xdsl_rlx.lowering.kernel_dsl.meanings import Place, Steps, steps_of
from xdsl_rlx.lowering.kernel_dsl.syntax import assigned, jumps
from xdsl_rlx.lowering.kernel_dsl.trees import leaves, rebuilt

JUMPS = (ast.Return, ast.Break, ast.Continue)


class Ended:
    """How a list of statements ends before its end: by a `return` with its value, or by going on with the loop."""

    def __init__(self, is_return: bool, value: Any = None):
        self.is_return = is_return
        self.value = value


CONTINUE = Ended(False)
BREAK = Ended(False)


class Translator(Expressions):
    """The walk over the functions of a nest."""

    def __init__(self, nest: Nest):
        self.nest = nest
        self.arithmetic = Arithmetic()
        self.views = Views(self.arithmetic)
        self._place = Place(nest, self.arithmetic, self.views)
        self.types: dict[tuple[ast.AST, str, int], Attribute] = {}
        """What numbers that loops carry turned out to be, for the next time that the loop is met."""

    @property
    def place(self) -> Place:
        """Where the kernel is being written."""
        if self._place.nest is not self.nest:
            self._place = Place(self.nest, self.arithmetic, self.views)
        return self._place

    @property
    def names(self) -> dict[str, Any]:
        return self.frame.names

    def inline(self, callee: Callee, names: dict[str, Any]) -> Any:
        """The value of a function whose body takes the place of its call."""
        outer = getattr(self, "frame", None)
        self.frame = CallFrame(callee.name, callee.file, names, callee.around)
        self.file = callee.file
        try:
            if isinstance(callee.tree, ast.Lambda):
                return self.expression(callee.tree.body)
            ended = self.block(callee.tree.body)
            return ended.value if ended is not None else None
        finally:
            if outer is not None:
                self.frame, self.file = outer, outer.file

    def block(self, statements: Sequence[ast.stmt]) -> Ended | None:
        """Statements one after the other, as far as they go."""
        for n, node in enumerate(statements):
            ended: Ended | None = None
            match node:
                case ast.Return(value=value):
                    return Ended(True, self.expression(value) if value is not None else None)
                case ast.Break():
                    return self._break(node)
                case ast.Continue():
                    return CONTINUE
                case ast.If(test=test, body=body, orelse=orelse):
                    condition = self.known_or_scalar(test)
                    if not isinstance(condition, Scalar):
                        ended = self.block(body if condition else orelse)
                    elif jumps(node, JUMPS):
                        rest = statements[n + 1 :]
                        return self._fork(node, condition, [*body, *rest], [*orelse, *rest])
                    else:
                        self._fork(node, condition, body, orelse)
                case ast.For(target=target, iter=values, body=body, orelse=[]):
                    ended = self._for(node, target, values, body)
                case ast.FunctionDef():
                    self._define(node)
                case _:
                    self.statement(node)
            if ended is not None:
                return ended
        return None

    def known_or_scalar(self, test: ast.expr) -> Any:
        """A condition."""
        found = self.expression(test)
        if isinstance(found, Scalar):
            return found if found.type == i1 else self.checked(test, lambda: self.nest.scalars.ne(self.here(found), 0))
        if isinstance(found, ArrayView):
            self.refuse(test, "a window has no truth value; index an element of it")
        return bool(found)

    def here(self, x: Scalar) -> Scalar:
        """A scalar as one to compute with at this place."""
        return self.nest.scalars.of(x.value)

    def checked(self, node: ast.AST, make: Callable[[], Any]) -> Any:
        """What `make` gives; types that do not go together are said with the line."""
        try:
            return make()
        except TypesError as e:
            self.refuse(node, str(e))

    def _define(self, node: ast.FunctionDef) -> None:
        defaults = tuple(self.expression(x) for x in node.args.defaults)
        named = {
            a.arg: self.expression(x) for a, x in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if x
        }
        self.names[node.name] = Closure(node, self.frame, defaults, named)

    def _break(self, node: ast.stmt) -> Ended:
        flag = self.frame.flags[-1]
        if flag is None:
            return BREAK
        self.names[flag] = False
        return CONTINUE

    @contextmanager
    def _inside(self, nest: Nest, names: Mapping[str, Any]) -> Generator[None]:
        """At another place of the kernel, on a copy of the names."""
        place, kept = self.nest, self.frame.names
        self.nest, self.frame.names = nest, dict(names)
        try:
            yield
        finally:
            self.nest, self.frame.names = place, kept

    def _fork(
        self, node: ast.If, condition: Scalar, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]
    ) -> Ended | None:
        """Both sides of a branch, and what is chosen between them."""
        before, sides, ends = self.names, list[BranchSide](), list[Ended | None]()
        for statements in (body, orelse):
            nest = Nest(Block(), self.nest.kernel)
            with self._inside(nest, before):
                ended = self.block(statements)
                if ended is BREAK:
                    self.refuse(node, "an unrolled loop cannot break on a condition that is unknown at compile time")
                ends.append(ended)
                if ended is not None and ended.is_return:
                    self.names["return value"] = ended.value
                sides.append(BranchSide(nest, self.names))
        returns = [ended is not None and ended.is_return for ended in ends]
        if any(returns) and not all(returns):
            if any(ended.value is not None for ended in ends if ended is not None):
                self.refuse(node, "one branch returns a value and the other does not; return one in both")
            for side in sides:
                side.names.pop("return value", None)
        names, pairs = self.checked(node, lambda: merged(sides[0], sides[1], before))
        results = self._branch_op(condition, sides, pairs)
        self.frame.names = {name: self._chosen(value, results) for name, value in names.items()}
        if any(returns):
            return Ended(True, self.frame.names.pop("return value", None))
        return next((ended for ended in ends if ended is not None), None)

    def _chosen(self, value: Any, results: Sequence[SSAValue]) -> Any:
        found = leaves(value)
        if not any(isinstance(leaf, Choice) for leaf in found):
            return value
        made = [self.nest.scalars.of(results[x.number]) if isinstance(x, Choice) else x for x in found]
        return rebuilt(value, iter(made))

    def _branch_op(
        self, condition: Scalar, sides: Sequence[BranchSide], pairs: Sequence[tuple[SSAValue, SSAValue]]
    ) -> Sequence[SSAValue]:
        for n, side in enumerate(sides):
            end_block(side.nest.block, [pair[n] for pair in pairs])
        then, other = (side.nest.block for side in sides)
        has_else = bool(pairs) or other.first_op is not other.last_op
        types = [pair[0].type for pair in pairs]
        return self.nest.choose(condition.value, then, other if has_else else None, types)

    def branch(self, node: ast.If, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        raise AssertionError("branches are translated by `block`")

    def loop(self, node: ast.For, target: ast.expr, values: ast.expr, body: Sequence[ast.stmt]) -> None:
        raise AssertionError("loops are translated by `block`")

    def _for(self, node: ast.For, target: ast.expr, values: ast.expr, body: Sequence[ast.stmt]) -> Ended | None:
        over = self.expression(values)
        if isinstance(over, Indices):
            self._over_indices(node, target, over.extents, (), body)
        elif (steps := steps_of(over)) is not None:
            self._over_steps(node, target, steps, body)
        elif isinstance(over, Iterable) and not isinstance(over, ArrayView):
            return self._written_out(node, target, cast("Iterable[Any]", over), body)
        else:
            self.refuse(
                values, "expected a loop over a range, over ndrange, or over values that are known at compile time"
            )
        return None

    def _written_out(
        self, node: ast.For, target: ast.expr, values: Iterable[Any], body: Sequence[ast.stmt]
    ) -> Ended | None:
        self.frame.flags.append(None)
        try:
            for value in values:
                self.assign(target, value)
                ended = self.block(body)
                if ended is BREAK:
                    break
                if ended is not None and ended.is_return:
                    return ended
        finally:
            self.frame.flags.pop()
        return None

    def _over_indices(
        self,
        node: ast.For,
        target: ast.expr,
        extents: tuple[Any, ...],
        indices: tuple[Any, ...],
        body: Sequence[ast.stmt],
    ) -> None:
        """Loops over what is left of `extents`, those of which `indices` are found around them."""
        if any(jumps(x, (ast.Break,)) for x in body):
            self.refuse(node, "break leaves one loop; write the loops of ndrange one by one")
        if len(indices) == len(extents):
            self.assign(target, indices)
            self._end_of_body(node, self.block(body))
            return
        stem = target.elts[len(indices)] if isinstance(target, ast.Tuple) else target
        name = stem.id if isinstance(stem, ast.Name) else "i"
        if not isinstance(target, ast.Tuple) and len(extents) > 1:
            name += str(len(indices))
        self._counted(
            node,
            Steps(0, extents[len(indices)]),
            name,
            body,
            lambda i: self._over_indices(node, target, extents, (*indices, i), body),
        )

    def _over_steps(self, node: ast.For, target: ast.expr, steps: Steps, body: Sequence[ast.stmt]) -> None:
        if not isinstance(target, ast.Name):
            self.refuse(target, "expected one name as the loop variable")
        if any(jumps(x, (ast.Break,)) for x in body):
            self._leavable(node, target, steps, body)
            return

        def one(i: Any) -> None:
            self.names[target.id] = i
            self._end_of_body(node, self.block(body))

        self._counted(node, steps, target.id, body, one)

    def _end_of_body(self, node: ast.AST, ended: Ended | None) -> None:
        if ended is not None and ended.is_return:
            self.refuse(node, "a function cannot return from inside of a loop; set a name, and break")

    def _leavable(self, node: ast.For, target: ast.Name, steps: Steps, body: Sequence[ast.stmt]) -> None:
        """A loop with a `break` counts by itself."""
        if steps.backwards or steps.mark:
            self.refuse(node, "a loop with break must iterate over a plain range")
        self.names["next " + target.id], self.names["end " + target.id] = steps.start, steps.stop
        self._while(*_as_while(node, steps.step))
        for name in ("next ", "end "):
            self.names.pop(name + target.id)

    def _counted(
        self, node: ast.For, steps: Steps, name: str, body: Sequence[ast.stmt], one: Callable[[Any], None]
    ) -> None:
        """`one` for each number of a range: not at all, once and here, or in a loop."""
        first, stop = steps.start, steps.stop
        if not isinstance(first, Scalar) and not isinstance(stop, Scalar):
            count = len(range(first, stop, steps.step))
            if count < 2:
                if count:
                    before = set(self.names)
                    one(first)
                    self._drop(before)
                return
        self._carry(node, assigned(tuple(body)), lambda carried: self._loop_op(steps, name, carried, one))

    def _drop(self, kept: Iterable[str]) -> None:
        """Forget names that were set inside of a loop."""
        self.frame.names = {name: self.names[name] for name in kept if name in self.names}

    def _carry(self, node: ast.AST, names: Sequence[str], make: Callable[[Carried], Sequence[SSAValue]]) -> None:
        """Write a loop, again where a number that it carries turns out to have a type."""
        for _ in range(8):
            known = {(name, n): type_ for (of, name, n), type_ in self.types.items() if of is node}
            carried = self.checked(node, lambda known=known: Carried.of(names, self.names, known))
            mark = self.nest.kernel.mark()
            try:
                results = self.checked(node, lambda carried=carried: make(carried))
            except Retyped as e:
                self.nest.kernel.restore(mark)
                self.types |= {(node, *key): type_ for key, type_ in e.types.items()}
                continue
            self.names.update(carried.values(self.nest, results))
            return
        self.refuse(node, "cannot infer the type of a number that this loop changes; start from cast(x, type)")

    def _loop_op(self, steps: Steps, name: str, carried: Carried, one: Callable[[Any], None]) -> Sequence[SSAValue]:
        nest, names = self.nest, self.names
        bounds = index_of(nest, steps.start), index_of(nest, steps.stop)
        marks = {} if steps.mark is None else {steps.mark: True}
        values = dict(enumerate(carried.initial(nest)))
        for inside, index in nest.over(bounds, name, values, step=steps.step, **marks):
            with self._inside(inside, names):
                self.names.update(carried.values(inside, list(values.values())))
                i = inside.scalars.of(index)
                if self.arithmetic.is_natural(steps.start):
                    self.arithmetic.mark_natural(index)
                if steps.backwards:
                    i = self._mirrored(steps, i)
                one(i)
                values.update(enumerate(carried.final(self.nest, self.names)))
        return list(values.values())

    def _mirrored(self, steps: Steps, i: Scalar) -> Scalar:
        """The number of the iteration as far from the end as `i` is from the start."""
        last = self.views.add(self.nest.scalars, steps.start, steps.stop)
        last = self.arithmetic.binary(self.nest.scalars, ast.Sub, last, 1) if isinstance(last, Scalar) else last - 1
        made = self.arithmetic.binary(self.nest.scalars, ast.Sub, last, i)
        assert isinstance(made, Scalar)
        if self.arithmetic.is_natural(steps.start):
            self.arithmetic.mark_natural(made.value)
        return made

    def repeat(self, node: ast.While, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        self._while(node, test, body)

    def _while(self, node: ast.stmt, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        flag = None
        if any(jumps(x, (ast.Break,)) for x in body):
            flag = f"goes on {len(self.frame.flags)}"
            self.names[flag] = True
            self.types[node, flag, 0] = i1
            test = _with_flag(test, flag)
        changed = (*assigned(tuple(body)), *([flag] if flag else []))
        self.frame.flags.append(flag)
        try:
            self._carry(node, changed, lambda carried: self._while_op(node, test, body, carried))
        finally:
            self.frame.flags.pop()
        if flag:
            self.names.pop(flag)

    def _while_op(
        self, node: ast.stmt, test: ast.expr, body: Sequence[ast.stmt], carried: Carried
    ) -> Sequence[SSAValue]:
        names = self.names

        def before(inside: Nest, given: tuple[SSAValue, ...]) -> tuple[SSAValue, Sequence[SSAValue]]:
            with self._inside(inside, {**names, **carried.values(inside, given)}):
                condition = self.known_or_scalar(test)
                if not isinstance(condition, Scalar):
                    condition = self.nest.scalars.const(condition, i1)
                return condition.value, given

        def after(inside: Nest, given: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            with self._inside(inside, {**names, **carried.values(inside, given)}):
                self._end_of_body(node, self.block(body))
                return carried.final(self.nest, self.names)

        return self.nest.repeat(carried.initial(self.nest), before, after)


@cache
def _with_flag(test: ast.expr, flag: str) -> ast.expr:
    return ast.copy_location(ast.BoolOp(ast.And(), [ast.Name(flag, ast.Load()), test]), test)


@cache
def _as_while(node: ast.For, step: int) -> tuple[ast.stmt, ast.expr, list[ast.stmt]]:
    """`for i in range(next, end)` as `while next < end: i = next; next += step`, and its body."""
    target = node.target
    assert isinstance(target, ast.Name)
    following = ast.Name("next " + target.id, ast.Load())
    test = ast.Compare(following, [ast.Lt()], [ast.Name("end " + target.id, ast.Load())])
    count: list[ast.stmt] = [
        ast.Assign([ast.Name(target.id, ast.Store())], following),
        ast.AugAssign(ast.Name("next " + target.id, ast.Store()), ast.Add(), ast.Constant(step)),
    ]
    for made in (test, *count):
        ast.copy_location(made, node)
    return node, test, [*count, *node.body]
