"""Fits a line by gradient descent. The sum in each step is the kernel's."""

import attrs
import numpy as np
import vecadd


@attrs.frozen
class Result:
    """What a run has found."""

    weights: np.ndarray
    loss: float
    device: str


def fit(steps, *, rate=0.5, points=1024, seed=0):
    """Finds slope and intercept of `y = 3x - 1` from noisy points."""
    random = np.random.default_rng(seed)
    x = np.stack([random.uniform(-1, 1, points), np.ones(points)], axis=1)
    y = x @ [3, -1] + random.normal(0, 0.1, points)
    weights = np.zeros(2)
    for _ in range(steps):
        gradient = x.T @ (x @ weights - y) / points
        weights = vecadd.add(weights, -rate * gradient)
    loss = float(np.mean((x @ weights - y) ** 2))
    return Result(weights, loss, "cuda" if vecadd.cuda_available() else "cpu")
