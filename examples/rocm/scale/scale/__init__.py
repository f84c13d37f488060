"""Multiplies an `array.array` of floats by a number, in place."""

from scale import _native

gpu_available = _native.gpu_available


def scale(factor, x):
    """x *= factor, on the GPU where there is one. `x` is an `array.array` of type `f` or `d`."""
    functions = {"f": _native.scale_float32, "d": _native.scale_float64}
    if x.typecode not in functions:
        raise TypeError(f"expected floats, not type {x.typecode!r}")
    functions[x.typecode](factor, x, gpu_available())
