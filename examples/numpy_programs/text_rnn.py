"""Train a recurrent network to generate a few lines of text, character by character.

The state is `h_t = tanh(W x_t + U h_(t-1) + b)`; the softmax of `V h_t + c` predicts the next character. The time loop
is a Python loop.
"""

from itertools import pairwise

import numpy as np

import xdsl_rlx as rlx

TEXT = """\
the sea at night is black and wide
the stars go slowly with the tide
a lamp is lit a sail is tied
and no one knows who went to hide
"""
LETTERS = sorted(set(TEXT))
TIMES = 24


def one_hot(text):
    return np.eye(len(LETTERS))[[LETTERS.index(letter) for letter in text]]


def initial(rng, letters, width):
    return {
        "first": np.zeros(width),
        "input": 0.1 * rng.standard_normal((letters, width)),
        "again": rng.standard_normal((width, width)) / np.sqrt(width),
        "bias": np.zeros(width),
        "output": 0.1 * rng.standard_normal((width, letters)),
        "shift": np.zeros(letters),
    }


def stepped(params, hidden, x):
    return np.tanh(x @ params["input"] + hidden @ params["again"] + params["bias"])


def log_softmax(z):
    z = z - np.max(z, axis=-1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))


def loss(params, letters):
    """Return the mean cross-entropy of the next letters of texts `[times, texts, letters]`."""
    hidden = np.repeat(params["first"][None], letters.shape[1], axis=0)
    total = 0.0
    for now, following in pairwise(letters):
        hidden = stepped(params, hidden, now)
        logs = log_softmax(hidden @ params["output"] + params["shift"])
        total -= np.sum(logs * following)
    return total / ((letters.shape[0] - 1) * letters.shape[1])


def example():
    return initial(np.random.default_rng(0), len(LETTERS), 6), one_hot(TEXT[:12]).reshape(2, 6, -1).swapaxes(0, 1)


def written(params, begin, length):
    """Continue the text `begin` by greedy decoding."""
    hidden, text = params["first"], begin
    for letter in begin:
        hidden = stepped(params, hidden, one_hot(letter)[0])
    for _ in range(length):
        text += LETTERS[np.argmax(hidden @ params["output"] + params["shift"])]
        hidden = stepped(params, hidden, one_hot(text[-1])[0])
    return text


def main():
    params = initial(np.random.default_rng(0), len(LETTERS), 48)
    adam = rlx.optim.Adam(0.01, clip_norm=1.0)

    @rlx.compile
    def step(params, state, letters):
        value, grads = rlx.value_and_grad(loss)(params, letters)
        return value, *adam.update(grads, state, params)

    starts = np.arange(0, len(TEXT) - TIMES + 1, 3)
    letters, state = one_hot(TEXT)[np.arange(TIMES)[:, None] + starts], adam.init(params)
    for _ in range(300):
        value, params, state = step(params, state, letters)
    print(f"{float(value):.3f} nats a letter; after 'the':")
    print(written(params, "the", 60))


if __name__ == "__main__":
    main()
