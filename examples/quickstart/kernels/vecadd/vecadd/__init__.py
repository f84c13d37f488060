"""Element-wise sum of two arrays."""

import numpy as np

from . import _native


def cuda_available():
    """Whether there is a GPU that CUDA can use."""
    return _native.cuda_available()


def add(x, y, *, device="auto"):
    """`x + y` for two arrays of one shape, as float32 or, if either is float64, float64.

    `device` is "cuda", "cpu", or "auto" for the first of them that there is.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f'device is "auto", "cpu" or "cuda", not {device!r}')
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape:
        raise ValueError(f"shapes differ: {x.shape} and {y.shape}")
    dtype = np.float64 if np.float64 in (x.dtype, y.dtype) else np.float32
    x, y = np.ascontiguousarray(x, dtype), np.ascontiguousarray(y, dtype)
    z = np.empty(x.shape, dtype)
    native = _native.add_float64 if dtype is np.float64 else _native.add_float32
    native(x, y, z, device == "cuda" or (device == "auto" and cuda_available()))
    return z
