"""Weights quantised in the blocks of GGUF, and ops on those of several experts."""

from xdsl_rlx.plugins import Plugin

PLUGIN = Plugin(
    ops=("xdsl_rlx.plugins.gguf.ops",),
    rules=("xdsl_rlx.plugins.gguf.rules",),
    loops=("xdsl_rlx.plugins.gguf.normal_forms",),
    kernels=("xdsl_rlx.plugins.gguf.kernels",),
    schemes={
        "gguf_q4_0": (32, 18),
        "gguf_q8_0": (32, 34),
        "gguf_q2_k": (256, 84),
        "gguf_q3_k": (256, 110),
        "gguf_q4_k": (256, 144),
        "gguf_q5_k": (256, 176),
        "gguf_q6_k": (256, 210),
        "gguf_q8_k": (256, 292),
    },
)
