"""The host's path beside what torch computes, where there is neither a GPU, nor a driver, nor a compiler."""

import glob

import torch

from . import axpby

x, y = torch.randn(1000, 7), torch.randn(1000, 7)
assert torch.allclose(axpby(2.0, x, -3.0, y), 2 * x - 3 * y)
try:
    axpby(1.0, x, 1.0, y[1:])
except RuntimeError as error:
    assert "other shapes" in str(error), error
else:
    raise AssertionError("other shapes are taken")
assert not torch.cuda.is_available()
assert not glob.glob("/usr/local/cuda/bin/nvcc") and not glob.glob("/usr/**/libcuda.so*", recursive=True)
print("computes with torch", torch.__version__, "for CUDA", torch.version.cuda)
