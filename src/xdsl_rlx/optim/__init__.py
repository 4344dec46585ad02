"""Optimisers, schedules and what goes with them, on trees: plain NumPy code, which a traced function makes a part of
its program."""

from xdsl_rlx.optim.adaptive import Adadelta, Adagrad, RMSprop
from xdsl_rlx.optim.gradients import clip_by_global_norm, ema, global_norm
from xdsl_rlx.optim.groups import Groups
from xdsl_rlx.optim.optimisers import SGD, Accumulated, Adafactor, Adam, AdamW, Lion, Muon, NAdam, Optimiser
from xdsl_rlx.optim.schedules import Schedule, constant, cosine, linear, warmup
from xdsl_rlx.optim.sharded import Sharded

__all__ = [
    "SGD",
    "Accumulated",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Groups",
    "Lion",
    "Muon",
    "NAdam",
    "Optimiser",
    "RMSprop",
    "Schedule",
    "Sharded",
    "clip_by_global_norm",
    "constant",
    "cosine",
    "ema",
    "global_norm",
    "linear",
    "warmup",
]
