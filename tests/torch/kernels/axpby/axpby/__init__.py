"""a * x + b * y, elementwise."""

import torch  # noqa: F401, its libraries are what ours is linked against

from ._C import axpby

__all__ = ["axpby"]
