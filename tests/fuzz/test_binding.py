"""A transformed function binds its arguments as the plain one does, whatever its signature and its call are.

The reference is the function itself on arrays, and JAX on a function of the chosen arguments alone, so that Python
binds all others.
"""

import copy
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import optree
import pytest
from fuzz.signatures import AXIS, NAMES, Case, case, combined, draw, leaves

import xdsl_rlx as rlx

SPELLINGS = 4
"""Other ways in which a call is written."""


def close(found: Any, wanted: Any, tolerance: float = 1e-9) -> None:
    """The same containers, in the same order, with nearly the same numbers."""
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        found, wanted = list(found.values()), list(wanted.values())
    if isinstance(wanted, list | tuple):
        assert type(found) is type(wanted) and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            close(one, other, tolerance)
    elif wanted is None or isinstance(wanted, str):
        assert found == wanted
    else:
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def statics(made: Case, rng: random.Random, others: Sequence[Any] = ()) -> list[int | str]:
    """Arguments whose truth values decide what is traced, and some more, by position or by name, but none of others."""
    found: list[int | str] = []
    for name, place, value in made.places():
        if place in [other for _, other, _ in others]:
            continue
        plain = all(not isinstance(leaf, np.ndarray) for _, leaf in leaves(value))
        if plain and (any(isinstance(leaf, bool) for _, leaf in leaves(value)) or rng.random() < 0.5):
            found.append(place if rng.random() < 0.5 else name)
    return found


def differentiable(made: Case) -> list[tuple[int | str, int | str, Any]]:
    """The arguments of floats."""
    return [one for one in made.places() if all(isinstance(leaf, float | np.ndarray) for _, leaf in leaves(one[2]))]


def argnums(made: Case, rng: random.Random, name: int | str, place: int | str) -> int | str:
    """One of the ways to name an argument."""
    ways = [name]
    if isinstance(place, int):
        ways.append(place)
    positional = [one.name for one in made.parameters if one.kind in ("only", "any")]
    if name in positional:
        ways.append(positional.index(str(name)))
    return rng.choice(ways)


def with_argument(made: Case, place: int | str, value: Any) -> tuple[list[Any], dict[str, Any]]:
    """The call with another value in a place."""
    args, kwargs = list(made.args), dict(made.kwargs)
    if isinstance(place, int):
        args[place] = value
    else:
        kwargs[place] = value
    return args, kwargs


def of_leaves(made: Case, place: int | str, value: Any) -> tuple[Callable[..., Any], list[Any], Any]:
    """The function of the leaves of one argument, these, and how they are put together."""
    flat, spec = optree.tree_flatten(value)

    def function(*given: Any) -> Any:
        args, kwargs = with_argument(made, place, optree.tree_unflatten(spec, given))
        return made.call(*args, **kwargs)

    return function, flat, spec


def copied(made: Case) -> tuple[list[Any], dict[str, Any]]:
    return copy.deepcopy(made.args), copy.deepcopy(made.kwargs)


def test_compiled_functions(seed: int):
    made, rng = case(seed), random.Random(seed)
    wanted = made.call(*made.args, **made.kwargs)
    run = rlx.compile(made.call, static=statics(made, rng))
    for _ in range(2):
        args, kwargs = copied(made)
        close(run(*args, **kwargs), wanted)
        close([args, kwargs], [made.args, made.kwargs])
    for args, kwargs in made.spellings(rng, SPELLINGS):
        close(run(*args, **kwargs), wanted)
    names = list(made.kwargs)
    rng.shuffle(names)
    shuffled = {name: made.kwargs[name] for name in names}
    close(run(*made.args, **shuffled), made.call(*made.args, **shuffled))


def broken(made: Case, rng: random.Random) -> tuple[list[Any], dict[str, Any]]:
    """A call that may be illegal."""
    args, kwargs = list(made.args), dict(made.kwargs)
    match rng.randrange(4):
        case 0:
            args += [draw(rng, "array")] * rng.randrange(1, 4)
        case 1 if args:
            args.pop()
        case 2 if kwargs:
            del kwargs[rng.choice(list(kwargs))]
        case _:
            kwargs[rng.choice(NAMES)] = draw(rng, "array")
    return args, kwargs


def test_illegal_calls_have_the_text_of_python(seed: int):
    made, rng = case(seed), random.Random(seed)
    static = statics(made, rng)
    changed = [rlx.compile(made.call, static=static)]
    if made.kind not in ("partial", "wrapped"):
        # these say themselves what they cannot take, and whether there is a first argument comes before
        changed += [rlx.grad(made.call), rlx.jacrev(made.call)]
    for _ in range(3):
        args, kwargs = broken(made, rng)
        if made.kind in ("partial", "wrapped") and static:
            # these take any call, so that an array in a static place is found before their own call fails
            continue
        try:
            made.call(*args, **kwargs)
        except TypeError as error:
            for function in changed:
                with pytest.raises(TypeError, match=f"^{re.escape(str(error))}$"):
                    function(*args, **kwargs)


def drawn(seed: int, most: int = 2) -> tuple[Case, random.Random, list[Any], Any]:
    """A call, some of its arguments of floats, and `argnums` that means these: one, or a tuple."""
    made, rng = case(seed), random.Random(seed)
    found = differentiable(made)
    chosen = rng.sample(found, min(rng.randrange(1, most + 1), len(found)))
    which = tuple(argnums(made, rng, name, place) for name, place, _ in chosen)
    return made, rng, chosen, which if len(which) > 1 or rng.random() < 0.3 else which[0]


def by_jax(transform: Callable[..., Any], made: Case, chosen: Sequence[Any], which: Any) -> Any:
    """What a transformation of JAX with `argnums` gives for the arguments chosen, as trees of these."""
    found: list[Any] = []
    for _, place, value in chosen:
        function, flat, spec = of_leaves(made, place, value)
        parts = transform(function, argnums=tuple(range(len(flat))))(*flat)
        found.append(optree.tree_unflatten(spec, [np.asarray(one) for one in parts]))
    return tuple(found) if isinstance(which, tuple) else found[0]


def test_gradients(seed: int):
    made, rng, chosen, which = drawn(seed)
    wanted = by_jax(jax.grad, made, chosen, which)
    close(rlx.grad(made.call, which)(*made.args, **made.kwargs), wanted)
    run = rlx.compile(rlx.value_and_grad(made.call, which), static=statics(made, rng, chosen))
    for _ in range(2):
        value, gradients = run(*made.args, **made.kwargs)
        close(value, made.call(*made.args, **made.kwargs))
        close(gradients, wanted)
    for args, kwargs in made.spellings(rng, SPELLINGS):
        close(run(*args, **kwargs)[1], wanted)


def pair(bound: Any) -> dict[str, Any]:
    """Two results, whose names are not in order."""
    one = combined(bound)
    return {
        "z": np.stack([one, one * one]) if not isinstance(one, jax.Array) else jax.numpy.stack([one, one * one]),
        "a": one,
    }


def test_jacobians(third_seed: int):
    made, rng, chosen, which = drawn(third_seed)
    made.body[0] = pair
    wanted = {
        key: by_jax(lambda f, argnums, key=key: jax.jacrev(lambda *x: f(*x)[key], argnums), made, chosen, which)
        for key in ("z", "a")
    }
    for jacobian in (rlx.jacrev, rlx.jacfwd):
        close(jacobian(made.call, which)(*made.args, **made.kwargs), wanted)
    run = rlx.compile(rlx.jacrev(made.call, which), static=statics(made, rng, chosen))
    close(run(*made.args, **made.kwargs), wanted)


def test_hessians_and_gradients_of_gradients(third_seed: int):
    made, _, chosen, which = drawn(third_seed, 1)
    name, place, value = chosen[0]
    function, flat, spec = of_leaves(made, place, value)
    rows = jax.hessian(function, argnums=tuple(range(len(flat))))(*flat)
    trees = [optree.tree_unflatten(spec, [np.asarray(one) for one in row]) for row in rows]
    wanted = optree.tree_unflatten(spec, trees)
    if isinstance(which, tuple):
        wanted = (optree.tree_unflatten(spec, [(tree,) for tree in trees]),)
    close(rlx.hessian(made.call, which)(*made.args, **made.kwargs), wanted)
    if len(flat) == 1:
        first = rlx.grad(made.call, which if not isinstance(which, tuple) else which[0])

        def summed(*args: Any, **kwargs: Any) -> Any:
            return np.sum(optree.tree_leaves(first(*args, **kwargs))[0])

        second = rlx.grad(summed, place)(*made.args, **made.kwargs)
        close(
            optree.tree_leaves(second)[0],
            np.asarray(rows[0][0]).sum(0) if flat[0] is not None and np.ndim(flat[0]) else rows[0][0],
        )
    assert name is not None


def only_positional(seed: int) -> tuple[Case, random.Random]:
    """A call without names, whose static arguments decide nothing."""
    made, rng = case(seed, positional_only=True), random.Random(seed)
    for number in range(1, 100):
        if not made.kwargs and made.args:
            break
        made = case(seed + 100_000 * number, positional_only=True)
    made.args = [one if not any(isinstance(leaf, bool) for _, leaf in leaves(one)) else 2 for one in made.args]
    return made, rng


def like(value: Any, rng: random.Random) -> Any:
    """A tangent: a tree like a value, where that has floats."""
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    flat, spec = optree.tree_flatten(value)
    found = [numbers.normal(size=np.shape(one)) if isinstance(one, float | np.ndarray) else one for one in flat]
    return optree.tree_unflatten(
        spec, [float(one) if np.ndim(one) == 0 and isinstance(one, np.ndarray) else one for one in found]
    )


def test_tangents_and_cotangents(third_seed: int):
    made, rng = only_positional(third_seed)
    flat, spec = optree.tree_flatten(tuple(made.args))
    moving = [n for n, leaf in enumerate(flat) if isinstance(leaf, float | np.ndarray)]

    def function(*given: Any) -> Any:
        full = list(flat)
        for n, leaf in zip(moving, given, strict=True):
            full[n] = leaf
        return made.call(*optree.tree_unflatten(spec, full))

    primals, tangents = tuple(made.args), tuple(like(one, rng) for one in made.args)
    along = [optree.tree_leaves(tangents)[n] for n in moving]
    value, slope = jax.jvp(function, tuple(flat[n] for n in moving), tuple(np.asarray(one) for one in along))
    for run in (rlx.jvp(made.call), rlx.compile(rlx.jvp(made.call))):
        close(run(primals, tangents), (np.asarray(value), np.asarray(slope)))
    gradients = jax.grad(function, argnums=tuple(range(len(moving))))(*[flat[n] for n in moving])
    every: list[Any] = [None] * len(flat)
    for n, one in zip(moving, gradients, strict=True):
        every[n] = 0.5 * np.asarray(one)
    close(rlx.vjp(made.call)(primals, 0.5), (np.asarray(value), optree.tree_unflatten(spec, every)))
    # the first argument that has only floats, along its tangent
    name, place, chosen = next(one for one in differentiable(made))
    of_one, leaves_of_one, spec_of_one = of_leaves(made, place, chosen)
    direction = tuple(np.asarray(one) for one in optree.tree_leaves(tangents[place]))  # pyright: ignore
    _, curved = jax.jvp(jax.grad(of_one, argnums=tuple(range(len(leaves_of_one)))), tuple(leaves_of_one), direction)
    wanted = optree.tree_unflatten(spec_of_one, [np.asarray(one) for one in curved])
    close(rlx.hvp(made.call, argnums(made, rng, name, place))(primals, tangents[place]), wanted)  # pyright: ignore


def batched(value: Any, rng: random.Random) -> tuple[Any, Any]:
    """A batch of values like one, and what `in_axes` has for it: a position, or a tree; None if it holds no arrays."""
    flat, spec = optree.tree_flatten(value)
    if not all(isinstance(leaf, np.ndarray) for leaf in flat) or not flat:
        return value, None
    axes = [rng.choice([0, 1, -1]) for _ in flat] if rng.random() < 0.5 else [0] * len(flat)
    arrays = [np.stack([leaf * (n + 1) for n in range(AXIS)], axis) for leaf, axis in zip(flat, axes, strict=True)]
    tree = optree.tree_unflatten(spec, axes)
    return optree.tree_unflatten(spec, arrays), 0 if not any(axes) else tree


def test_batches(seed: int):
    made, rng = case(seed), random.Random(seed)
    positional = [one.name for one in made.parameters if one.kind in ("only", "any")]
    args, kwargs, axes = list(made.args), dict(made.kwargs), dict[Any, Any]()
    for place, value in [*enumerate(args), *kwargs.items()]:
        found, axis = batched(value, rng)
        # a hidden keyword is mapped along axis 0, since no name gives it another
        if made.is_hidden(place) and axis != 0:
            found, axis = np.stack([value] * AXIS) if isinstance(value, np.ndarray) else value, 0
            if not isinstance(value, np.ndarray):
                return
        axes[place] = axis
        if isinstance(place, int):
            args[place] = found
        else:
            kwargs[place] = found
    if not any(axis is not None for axis in axes.values()):
        return
    every = [axes[n] for n in range(len(args))]
    rest = len(args) > len(positional)
    given: Any = {positional[n]: axis for n, axis in enumerate(every[: len(positional)])}
    given |= {name: axes[name] for name in kwargs if name not in given}
    named_only = set(kwargs) - set(positional)
    if rest or (rng.random() < 0.5 and not set(kwargs) & set(positional)):
        if any(axes[name] != 0 for name in named_only):
            return
        given = tuple(every) if not set(kwargs) & set(positional) else given
        if isinstance(given, dict) and any(axis != 0 for axis in every[len(positional) :]):
            # names give no axes to the elements of `*args`
            return

    def example(number: int) -> Any:
        def one(value: Any, axis: Any) -> Any:
            if axis is None:
                return value
            flat, spec = optree.tree_flatten(value)
            places = [axis] * len(flat) if isinstance(axis, int) else optree.tree_leaves(axis)
            return optree.tree_unflatten(spec, [x.take(number, at) for x, at in zip(flat, places, strict=True)])

        return made.call(
            *[one(value, axis) for value, axis in zip(args, every, strict=True)],
            **{name: one(value, axes[name]) for name, value in kwargs.items()},
        )

    wanted = np.stack([example(number) for number in range(AXIS)])
    close(rlx.vmap(made.call, in_axes=given)(*args, **kwargs), wanted)
    close(rlx.compile(rlx.vmap(made.call, in_axes=given), static=statics(made, rng))(*args, **kwargs), wanted)


def test_donated_arguments(seed: int):
    made, rng = case(seed), random.Random(seed)
    fitting = [one for one in made.places() if all(isinstance(leaf, np.ndarray) for _, leaf in leaves(one[2]))]
    name, place, value = rng.choice(fitting)

    def both(bound: Any) -> Any:
        return combined(bound), halved(made.bound_to(bound, name))

    made.body[0] = both
    wanted = made.call(*made.args, **made.kwargs)
    run = rlx.compile(
        made.call, static=statics(made, rng, [(name, place, value)]), donate={argnums(made, rng, name, place): 1}
    )
    for _ in range(2):
        args, kwargs = copied(made)
        given = args[place] if isinstance(place, int) else kwargs[place]
        flat = optree.tree_leaves(given)
        found = run(*args, **kwargs)
        close(found, wanted)
        assert all(one is other for one, other in zip(optree.tree_leaves(found[1]), flat, strict=True))
        others = [(other, at) for _, at, other in made.places() if at != place]
        close([args[at] if isinstance(at, int) else kwargs[at] for _, at in others], [other for other, _ in others])


def halved(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: halved(one) for key, one in value.items()}
    return type(value)(halved(one) for one in value) if isinstance(value, list | tuple) else value * 0.5
