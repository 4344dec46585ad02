"""Train an LSTM to add numbers: it reads "27+58=" and writes "85", the last digit first.

With `i, f, o, g` the quarters of `[x_t, h_(t-1), 1] W`: `c_t = s(f) c_(t-1) + s(i) tanh(g)` and `h_t = s(o) tanh(c_t)`,
where `s` is the logistic function. The time loop is a Python loop.
"""

import numpy as np

import xdsl_rlx as rlx

LETTERS = "0123456789+="
DIGITS = 2


def initial(rng, letters, width):
    weights = rng.standard_normal((letters + width + 1, 4 * width)) / np.sqrt(letters + width)
    weights[-1, width : 2 * width] = 1.0
    return {"gates": weights, "output": rng.standard_normal((width + 1, letters)) / np.sqrt(width)}


def sigmoid(x):
    return 0.5 * (np.tanh(x / 2) + 1)


def with_one(x):
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


def stepped(params, state, x):
    hidden, cell = state
    i, f, o, g = np.split(np.hstack((x, with_one(hidden))) @ params["gates"], 4, axis=1)
    cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(cell), cell


def log_probabilities(params, questions):
    """Return the log probabilities of the next letters of texts `[texts, times, letters]`, a list by time."""
    width = params["output"].shape[0] - 1
    state = np.zeros((len(questions), width)), np.zeros((len(questions), width))
    found = []
    for time in range(questions.shape[1]):
        state = stepped(params, state, questions[:, time])
        z = with_one(state[0]) @ params["output"]
        z = z - z.max(axis=1, keepdims=True)
        found.append(z - np.log(np.exp(z).sum(axis=1, keepdims=True)))
    return found


def loss(params, texts):
    logs = log_probabilities(params, texts[:, :-1])[-DIGITS - 1 :]
    return -sum(
        np.mean(np.sum(one * texts[:, time], axis=1)) for time, one in enumerate(logs, texts.shape[1] - len(logs))
    )


def sums(rng, count):
    """Return one-hot texts such as `27+58=580`: the sum reversed, padded with 0."""
    pairs = rng.integers(10**DIGITS, size=(count, 2))
    texts = [f"{a:0{DIGITS}}+{b:0{DIGITS}}=" + f"{a + b:0{DIGITS + 1}}"[::-1] for a, b in pairs]
    return np.eye(len(LETTERS))[[[LETTERS.index(letter) for letter in text] for text in texts]]


def example():
    return initial(np.random.default_rng(0), len(LETTERS), 5), sums(np.random.default_rng(1), 4)


def main():
    rng = np.random.default_rng(0)
    params = initial(rng, len(LETTERS), 64)
    adam = rlx.optim.Adam(rlx.optim.cosine(0.015, 1200), clip_norm=1.0)

    @rlx.compile
    def step(params, state, texts):
        value, grads = rlx.value_and_grad(loss)(params, texts)
        return value, *adam.update(grads, state, params)

    state = adam.init(params)
    for _ in range(1200):
        value, params, state = step(params, state, sums(rng, 64))
    texts = sums(rng, 1000)
    logs = log_probabilities(params, texts[:, :-1])[-DIGITS - 1 :]
    right = np.all([one.argmax(1) == texts[:, n - DIGITS - 1].argmax(1) for n, one in enumerate(logs)], axis=0)
    print(f"loss {float(value):.3f}; {100 * np.mean(right):.1f} % of new sums are right")


if __name__ == "__main__":
    main()
