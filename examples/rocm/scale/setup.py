"""One extension module from csrc/: hipcc for HIP, g++ for C++, one call for each file, MAX_JOBS at once.

One call for each file, always with the same relative paths: that is what a compiler cache can answer.
"""

import os
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROCM_PATH = os.environ.get("ROCM_PATH", "/opt/rocm")


class BuildHip(build_ext):
    def build_extension(self, extension):
        # Not asked of a GPU: the machine that builds need not have one.
        archs = os.environ.get("PYTORCH_ROCM_ARCH")
        if not archs:
            raise SystemExit("set PYTORCH_ROCM_ARCH, such as gfx90a;gfx1030")
        targets = [f"--offload-arch={arch}" for arch in archs.split(";")]
        hipcc = [f"{ROCM_PATH}/bin/hipcc", *targets, "-fPIC"]
        gxx = ["g++", "-fPIC", f"-I{sysconfig.get_path('include')}"]
        objects = Path(self.build_temp, extension.name)
        objects.mkdir(parents=True, exist_ok=True)

        def compile(source):
            output = str(objects / f"{Path(source).name}.o")
            compiler = hipcc if source.endswith(".hip") else gxx
            subprocess.run([*compiler, "-O3", "-std=c++17", "-c", source, "-o", output], check=True)
            return output

        with ThreadPoolExecutor(int(os.environ.get("MAX_JOBS") or 1)) as pool:
            outputs = list(pool.map(compile, extension.sources))

        library = self.get_ext_fullpath(extension.name)
        Path(library).parent.mkdir(parents=True, exist_ok=True)
        link = ["g++", "-shared", "-s", *outputs, "-o", library, f"-L{ROCM_PATH}/lib", "-lamdhip64"]
        subprocess.run(link, check=True)


sources = sorted(str(path) for path in Path("csrc").iterdir() if path.suffix in (".cpp", ".hip"))
setup(ext_modules=[Extension("scale._native", sources)], cmdclass={"build_ext": BuildHip})
