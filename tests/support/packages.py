"""Makes wheels of Python packages that do nothing, in the sizes that packages have.

usage: packages.py FOLDER SEED COUNT        COUNT packages at version 1.0.0, three of them large
       packages.py FOLDER SEED NAME VERSION  one package at a version

What they hold is random, and the same for the same seed, name and version.
"""

import base64
import hashlib
import random
import sys
import zipfile
from pathlib import Path

# Kilobytes of the first packages; the others have 10 to 400, half of them less than 63.
LARGE = [20_000, 10_000, 6_000, 2_000, 1_000]


def name_of(number):
    return f"package-{number:03}"


def wheel(folder, seed, name, version):
    number = int(name.rsplit("-", 1)[1])
    # Not of the version: a release is about as large as the one before.
    exponent = random.Random(f"{seed} {name}").uniform(1, 2.6)
    kilobytes = LARGE[number] if number < len(LARGE) else int(10**exponent)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    members = {
        f"{module}/__init__.py": f'__version__ = "{version}"\n'.encode(),
        f"{module}/data.bin": random.Random(f"{seed} {name} {version}").randbytes(kilobytes * 1000),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    with zipfile.ZipFile(Path(folder, f"{module}-{version}-py3-none-any.whl"), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for path, data in members.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(data)}\n"
            out.writestr(zipfile.ZipInfo(path), data)
        out.writestr(zipfile.ZipInfo(f"{info}/RECORD"), f"{record}{info}/RECORD,,\n")


if __name__ == "__main__":
    folder, seed, *what = sys.argv[1:]
    if len(what) == 2:
        wheel(folder, seed, *what)
    else:
        for number in range(int(what[0])):
            wheel(folder, seed, name_of(number), "1.0.0")
