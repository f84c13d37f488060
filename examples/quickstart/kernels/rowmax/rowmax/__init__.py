"""The largest element of each row of a matrix."""

import numpy as np

from . import _native


def cuda_available():
    """Whether there is a GPU that CUDA can use."""
    return _native.cuda_available()


def rowmax(matrix, *, device="auto"):
    """Values and columns of the largest elements, one for each row: `matrix.max(1)` and `matrix.argmax(1)`.

    A float64 matrix is compared as it is, everything else as float32.
    `device` is "cuda", "cpu", or "auto" for the first of them that there is.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f'device is "auto", "cpu" or "cuda", not {device!r}')
    matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise ValueError(f"a matrix with at least one column is needed, not one of shape {matrix.shape}")
    dtype = np.float64 if matrix.dtype == np.float64 else np.float32
    matrix = np.ascontiguousarray(matrix, dtype)
    values, indices = np.empty(len(matrix), dtype), np.empty(len(matrix), np.int64)
    native = _native.rowmax_float64 if dtype is np.float64 else _native.rowmax_float32
    native(matrix, values, indices, device == "cuda" or (device == "auto" and cuda_available()))
    return values, indices
