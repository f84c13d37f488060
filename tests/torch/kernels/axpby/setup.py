from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="axpby",
    version="1.0",
    packages=["axpby"],
    ext_modules=[CUDAExtension("axpby._C", ["axpby.cpp", "axpby_cuda.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
