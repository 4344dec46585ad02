"""Docstrings of ops as functions: that of the builder method, then what each option may be, then an example."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

from xdsl_rlx.dialects.calls import hint_of

_SPATIAL = frozenset(("stride", "strides", "padding", "dilation", "dilations", "kernel_size", "output_padding"))
"""Options of the type `int | Sequence[int]` that have an entry for each spatial axis."""

_TEXTS = {
    "Operand": "an array, a number or a traced value",
    "Operand | None": "an array, a number or a traced value, or None",
    "Sequence[Operand]": "a sequence of arrays, numbers or traced values",
    "Function": "a Python function of traced values",
    "Steps": "an integer for all spatial axes, or one per axis",
    "Padding": "'same', 'valid', an integer for all spatial axes, or one or a pair (before, after) per axis",
    "Steps | None": "an integer for all spatial axes, or one per axis, or None for that of the kernel",
    "Axes": "an axis, several axes, or None for all",
    "int | Sequence[int] | None": "an axis, several axes, or None for the default",
    "PadWidth": "one number for all axes, a pair (before, after), or a pair per axis",
}

EXAMPLES = {
    "attention": """
        >>> q, k = np.ones((1, 2, 3, 8), np.float32), np.ones((1, 2, 5, 8), np.float32)  # [batch, heads, length, size]
        >>> rlx.attention(q, k, k, layout="bhsd").shape
        (1, 2, 3, 8)""",
    "concat": """
        >>> rlx.concat([np.zeros((2, 3)), np.ones((1, 3))], axis=0).shape
        (3, 3)""",
    "conv": """
        >>> x, w = np.ones((1, 3, 8, 8), np.float32), np.ones((16, 3, 3, 3), np.float32)
        >>> rlx.conv(x, w, stride=2, padding=1).shape  # (8 + 2 * 1 - (3 - 1) - 1) // 2 + 1 = 4
        (1, 16, 4, 4)""",
    "conv_transpose2d": """
        >>> x, w = np.ones((1, 16, 4, 4), np.float32), np.ones((16, 3, 2, 2), np.float32)
        >>> rlx.conv_transpose2d(x, w, stride=2).shape  # (4 - 1) * 2 + (2 - 1) + 1 = 8
        (1, 3, 8, 8)""",
    "cumsum": """
        >>> rlx.cumsum(np.array([1.0, 2.0, 3.0]))
        array([1., 3., 6.])""",
    "einsum": """
        >>> rlx.einsum("bij,bjk->bik", np.ones((2, 3, 4)), np.ones((2, 4, 5))).shape
        (2, 3, 5)""",
    "embedding": """
        >>> rlx.embedding(np.array([2, 0]), np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
        array([[4., 5.],
               [0., 1.]])""",
    "gather": """
        >>> rlx.gather(np.array([10.0, 20.0, 30.0]), np.array([2, 0, 2]))
        array([30., 10., 30.])""",
    "gelu": """
        >>> rlx.gelu(np.array([-1.0, 0.0, 1.0])).round(4)
        array([-0.1587,  0.    ,  0.8413])""",
    "group_norm": """
        >>> x, ones, zeros = np.ones((2, 6, 4, 4)), np.ones(6), np.zeros(6)
        >>> rlx.group_norm(x, ones, zeros, num_groups=3).shape
        (2, 6, 4, 4)""",
    "layer_norm": """
        >>> rlx.layer_norm(np.array([[1.0, 2.0, 3.0]])).round(4)
        array([[-1.2247,  0.    ,  1.2247]])""",
    "linear": """
        >>> rlx.linear(np.ones((4, 3)), np.ones((3, 2)), np.zeros(2), activation="relu").shape
        (4, 2)""",
    "logsumexp": """
        >>> rlx.logsumexp(np.zeros((2, 4)), axis=1).round(4)
        array([1.3863, 1.3863])""",
    "one_hot": """
        >>> rlx.one_hot(np.array([1, 0]), 3)
        array([[0., 1., 0.],
               [1., 0., 0.]], dtype=float32)""",
    "pad": """
        >>> rlx.pad(np.ones(2), (1, 2), constant_values=7)
        array([7., 1., 1., 7., 7.])""",
    "pool": """
        >>> rlx.pool(np.arange(16.0).reshape(1, 1, 4, 4), "max", kernel_size=2)  # (4 - 2) // 2 + 1 = 2
        array([[[[ 5.,  7.],
                 [13., 15.]]]])""",
    "reduce_sum": """
        >>> rlx.reduce_sum(np.ones((2, 3)), axes=1)
        array([3., 3.])""",
    "rms_norm": """
        >>> rlx.rms_norm(np.array([3.0, 4.0])).round(4)
        array([0.8485, 1.1314])""",
    "rng_normal": """
        >>> rlx.rng_normal(rlx.key(0), (2, 3)).shape
        (2, 3)""",
    "rope": """
        >>> angles = np.outer(np.arange(5), 1.0 / 100.0 ** np.arange(0, 1, 0.25)).astype(np.float32)
        >>> x = np.ones((1, 5, 2, 8), np.float32)  # [batch, length, heads, size]
        >>> rlx.rope(x, np.cos(angles), np.sin(angles), layout="bshd").shape
        (1, 5, 2, 8)""",
    "scatter_add": """
        >>> rlx.scatter_add(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), 3)
        array([2., 5., 0.])""",
    "softmax": """
        >>> rlx.softmax(np.array([[0.0, 0.0], [0.0, np.log(3.0)]]), axis=1)
        array([[0.5 , 0.5 ],
               [0.25, 0.75]])""",
    "softmax_cross_entropy_with_logits": """
        >>> rlx.softmax_cross_entropy_with_logits(np.zeros((2, 4)), np.array([0, 3])).round(4)
        array([1.3863, 1.3863])""",
    "topk": """
        >>> rlx.topk(np.array([3.0, 9.0, 5.0]), 2)
        array([1, 2])""",
    "where": """
        >>> rlx.where(np.array([True, False]), np.ones(2), -1.0)
        array([ 1., -1.])""",
}
"""Of the ops that programs use most."""


def help_of(name: str, method: Callable[..., Any]) -> str:
    """The docstring of an op as a function."""
    parts = [inspect.getdoc(method) or ""]
    groups: dict[str, list[str]] = {}
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if text := _said(parameter, method.__module__):
            groups.setdefault(text, []).append(parameter.name)
    lines = [f"  {', '.join(names)}: {text}" for text, names in groups.items()]
    parts += ["\n".join(["Arguments:", *lines])] if lines else []
    if name in EXAMPLES:
        parts.append(f"Example:\n{inspect.cleandoc(EXAMPLES[name])}")
    return "\n\n".join(parts)


def _said(parameter: inspect.Parameter, module: str) -> str:
    """What an argument may be; "" for a type that says so itself."""
    written = str(parameter.annotation).replace("collections.abc.", "")
    if parameter.name == "dtype" or written == "object":
        return "an element type: 'f32', np.float32" + (", or None for the default" if parameter.default is None else "")
    if parameter.name in _SPATIAL and written.startswith("int | Sequence[int]"):
        return _TEXTS["Steps"] + (", or None for that of the kernel" if written.endswith("None") else "")
    if written in _TEXTS:
        return _TEXTS[written]
    words = _words_of(parameter.annotation, module)
    if not words:
        return ""
    optional = " or None" if written.endswith("None") else ""
    return f"one of {', '.join(map(repr, words))}{optional}"


@cache
def _words_of(annotation: Any, module: str) -> tuple[str, ...]:
    """The words of an option that is a member of an enum."""
    hint = hint_of(annotation, module)
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(
        str(member.value) for one in members if isinstance(one, type) and issubclass(one, Enum) for member in one
    )
