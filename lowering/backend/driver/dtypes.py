"""The NumPy dtypes of IR dtypes."""

from functools import cache
from typing import Any

import numpy as np

DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "u32": np.uint32,
    "i16": np.int16,
    "i8": np.int8,
    "u8": np.uint8,
    "i1": np.bool_,
    "c64": np.complex64,
    "c128": np.complex128,
}
"""By the names of the IR. That of bf16 is in a package of its own, `ml_dtypes`."""


@cache
def dtype_of(name: str) -> np.dtype[Any]:
    """The NumPy dtype of an IR dtype."""
    if name == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(DTYPES[name])
