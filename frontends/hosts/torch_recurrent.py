"""Recurrent layers of PyTorch as operators of graphs: AOTAutograd would unroll them over time."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false, reportUntypedFunctionDecorator=false
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import library

_KINDS = ("lstm", "gru", "rnn_tanh", "rnn_relu")

_LIBRARY = library.Library("xdsl_rlx", "FRAGMENT")
_ARGUMENTS = "Tensor x, Tensor h, Tensor? c, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? b_hh, Tensor? w_hr"
_LIBRARY.define(f"recurrent_layer({_ARGUMENTS}, str kind, bool reverse) -> ({', '.join(['Tensor'] * 5)})")
_LIBRARY.define(
    f"recurrent_layer_backward(Tensor d_out, Tensor d_h, Tensor d_c, {_ARGUMENTS}, str kind, bool reverse,"
    f" Tensor out, Tensor gates, Tensor cells) -> ({', '.join(['Tensor'] * 8)})"
)
"""
Results: outputs `[B, T, H]`, the last states, and of all times what the gates read `[T, B, G H]` and cell states.

Of a GRU the gates read the contributions of the inputs and of the state, one behind the other; `[T, B, 6 H]`.
"""


def with_recurrent_layers(module: Any) -> Any:
    """Return the graph of Dynamo with each call of a recurrent layer as calls of `recurrent_layer`."""
    targets = {getattr(torch._VF, kind): kind for kind in _KINDS} | {getattr(torch, kind): kind for kind in _KINDS}
    calls = [node for node in module.graph.nodes if node.op == "call_function" and node.target in targets]
    # the form for packed sequences has a tensor in the place of the weights
    found = [node for node in calls if isinstance(node.args[2], list | tuple)]
    if not found:
        return module
    names = {node.name: targets[node.target] for node in found}
    new = torch.fx.GraphModule(module, module.graph.__class__())
    new.graph.output(new.graph.graph_copy(module.graph, {}))
    for node in new.graph.nodes:
        if node.name in names:
            node.target = _LAYERS[names[node.name]]
    new.graph.lint()
    new.recompile()
    return new


def _layers(kind: str) -> Callable[..., Any]:
    """A function with the arguments of `torch.lstm` and its like."""

    def call(
        x: Any,
        hx: Any,
        params: Sequence[Any],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Any, ...]:
        single = x.dim() == 2
        states = list(hx) if isinstance(hx, list | tuple) else [hx]
        if single:
            x, states = x.unsqueeze(0), [one.unsqueeze(1) for one in states]
        elif not batch_first:
            x = x.transpose(0, 1)
        directions = 2 if bidirectional else 1
        each = len(params) // (num_layers * directions)
        lasts: list[list[Any]] = [[] for _ in states]
        for number in range(num_layers):
            if number and dropout and train:
                x = torch.dropout(x, dropout, train)
            outputs: list[Any] = []
            for direction in range(directions):
                at = number * directions + direction
                weights = _arguments(params[at * each : (at + 1) * each], has_biases)
                starts = [one[at] for one in states] + [None] * (2 - len(states))
                out, *last = torch.ops.xdsl_rlx.recurrent_layer(x, *starts, *weights, kind, direction == 1)
                outputs.append(out)
                for several, one in zip(lasts, last[:2], strict=False):
                    several.append(one)
            x = outputs[0] if directions == 1 else torch.cat(outputs, dim=-1)
        found = [torch.stack(one) for one in lasts]
        if single:
            return x.squeeze(0), *(one.squeeze(1) for one in found)
        return x if batch_first else x.transpose(0, 1), *found

    call.__name__ = f"{kind}_layers"
    return call


def _arguments(params: Sequence[Any], has_biases: bool) -> list[Any]:
    """Two weights, two biases or None, and a projection or None."""
    weights, rest = list(params[:2]), list(params[2:])
    biases = [rest.pop(0), rest.pop(0)] if has_biases else [None, None]
    return [*weights, *biases, rest[0] if rest else None]


_LAYERS = {kind: _layers(kind) for kind in _KINDS}


def _reference(args: Sequence[Any]) -> tuple[Any, Any, Any]:
    """PyTorch's own computation of a layer."""
    x, h, c, *weights, kind, reverse = args
    params = [one for one in weights if one is not None]
    hx = h[None] if c is None else [h[None], c[None]]
    x = x.flip(1) if reverse else x
    has_biases = weights[2] is not None
    out, *last = getattr(torch, kind)(x, hx, params, has_biases, 1, 0.0, False, False, True)
    out = out.flip(1) if reverse else out
    return out, last[0][0], last[1][0] if len(last) > 1 else x.new_empty(0)


def _kept(args: Sequence[Any], out: Any) -> tuple[Any, Any]:
    """What the gates read at all times, and the cell states."""
    x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, kind, reverse = args
    if w_hr is not None:
        return x.new_empty(0), x.new_empty(0)
    before = torch.cat([out[:, 1:], h[:, None]] if reverse else [h[:, None], out[:, :-1]], 1)
    taken, own = (torch.nn.functional.linear(*one).transpose(0, 1) for one in ((x, w_ih, b_ih), (before, w_hh, b_hh)))
    if kind == "gru":
        return torch.cat([taken, own], -1), x.new_empty(0)
    gates = taken + own
    if c is None:
        return gates, x.new_empty(0)
    cells = torch.empty(*gates.shape[:2], c.shape[-1], dtype=x.dtype)
    for n in range(len(gates))[:: -1 if reverse else 1]:
        i, f, g, _ = gates[n].chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        cells[n] = c
    return gates, cells


@library.impl(_LIBRARY, "recurrent_layer", "CompositeExplicitAutograd")
def _forward(*args: Any) -> tuple[Any, ...]:
    found = _reference(args)
    return tuple(one.contiguous().clone() for one in (*found, *_kept(args, found[0])))


@library.impl(_LIBRARY, "recurrent_layer_backward", "CompositeExplicitAutograd")
def _backward(d_out: Any, d_h: Any, d_c: Any, *args: Any) -> tuple[Any, ...]:
    with torch.enable_grad():
        # what was kept is for our own gradient
        given = [one.detach().requires_grad_() if isinstance(one, torch.Tensor) else one for one in args[:10]]
        tensors = [one for one in given if isinstance(one, torch.Tensor)]
        results = [one for one in _reference(given) if one.numel()]
        cotangents = [d_out, d_h, d_c][: len(results)]
        found = iter(torch.autograd.grad(results, tensors, cotangents, allow_unused=True))
    return tuple((next(found) if isinstance(one, torch.Tensor) else args[0].new_empty(0)) for one in args[:8])


@library.register_fake("xdsl_rlx::recurrent_layer")
def _fake(
    x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, w_hr: Any, kind: str, reverse: bool
) -> Any:
    batch, times = x.shape[:2]
    out = x.new_empty((batch, times, h.shape[1]))
    last = torch.empty_like(h), x.new_empty(0) if c is None else torch.empty_like(c)
    if w_hr is not None:
        return out, *last, x.new_empty(0), x.new_empty(0)
    gates = x.new_empty((times, batch, w_hh.shape[0] * (2 if kind == "gru" else 1)))
    return out, *last, gates, x.new_empty(0) if c is None else x.new_empty((times, batch, c.shape[1]))


@library.register_fake("xdsl_rlx::recurrent_layer_backward")
def _fake_backward(d_out: Any, d_h: Any, d_c: Any, *args: Any) -> tuple[Any, ...]:
    return tuple(args[0].new_empty(0) if one is None else args[0].new_empty(one.shape) for one in args[:8])


def _saved(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
    ctx.kind, ctx.reverse = inputs[8:]
    ctx.given = [one is not None for one in inputs[:8]]
    out, _, _, *kept = output
    ctx.mark_non_differentiable(*kept)
    ctx.save_for_backward(*(one for one in inputs[:8] if one is not None), out, *kept)


def _gradients(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
    saved = iter(ctx.saved_tensors)
    args = [next(saved) if here else None for here in ctx.given]
    found = torch.ops.xdsl_rlx.recurrent_layer_backward(*cotangents[:3], *args, ctx.kind, ctx.reverse, *saved)
    return *(one if here else None for one, here in zip(found, ctx.given, strict=True)), None, None


library.register_autograd("xdsl_rlx::recurrent_layer", _gradients, setup_context=_saved)
