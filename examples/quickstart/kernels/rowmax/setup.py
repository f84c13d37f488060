"""One extension module from csrc/: nvcc for CUDA, g++ for C++, one call for each file, MAX_JOBS at once.

One call for each file, always with the same relative paths: that is what a compiler cache can answer.
"""

import os
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CUDA_HOME = os.environ.get("CUDA_HOME", "/usr/local/cuda")


def gencode(archs):
    """Flags for `8.0;9.0a;12.0+PTX`: machine code for each architecture, PTX where it is asked for."""
    for arch in archs.split(";"):
        number = arch.removesuffix("+PTX").replace(".", "")
        yield f"-gencode=arch=compute_{number},code=sm_{number}"
        if arch.endswith("+PTX"):
            yield f"-gencode=arch=compute_{number},code=compute_{number}"


class BuildCuda(build_ext):
    def build_extension(self, extension):
        # Not asked of a GPU: the machine that builds need not have one.
        archs = os.environ.get("TORCH_CUDA_ARCH_LIST")
        if not archs:
            raise SystemExit("set TORCH_CUDA_ARCH_LIST, such as 8.0;9.0")
        nvcc = [f"{CUDA_HOME}/bin/nvcc", *gencode(archs), "-Xcompiler", "-fPIC"]
        gxx = ["g++", "-fPIC", f"-I{CUDA_HOME}/include", f"-I{sysconfig.get_path('include')}"]
        objects = Path(self.build_temp, extension.name)
        objects.mkdir(parents=True, exist_ok=True)

        def compile(source):
            output = str(objects / f"{Path(source).name}.o")
            compiler = nvcc if source.endswith(".cu") else gxx
            subprocess.run([*compiler, "-O3", "-std=c++17", "-c", source, "-o", output], check=True)
            return output

        with ThreadPoolExecutor(int(os.environ.get("MAX_JOBS") or 1)) as pool:
            outputs = list(pool.map(compile, extension.sources))

        # The static CUDA runtime looks for the driver when it is first called: the module imports without a GPU,
        # and in an image without the toolkit. Symbols are stripped because nvcc puts its process id into some.
        cudart = [f"-L{CUDA_HOME}/lib64", "-lcudart_static", "-ldl", "-lrt", "-lpthread"]
        library = self.get_ext_fullpath(extension.name)
        Path(library).parent.mkdir(parents=True, exist_ok=True)
        link = ["g++", "-shared", "-s", "-Wl,--exclude-libs,ALL", *outputs, "-o", library, *cudart]
        subprocess.run(link, check=True)


sources = sorted(str(path) for path in Path("csrc").iterdir() if path.suffix in (".cpp", ".cu"))
setup(ext_modules=[Extension("rowmax._native", sources)], cmdclass={"build_ext": BuildCuda})
