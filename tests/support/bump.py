"""Puts another file of a package into a uv.lock, as `uv lock --upgrade-package` would.

usage: bump.py LOCK WHEEL URL

Version, URL, hash and size of the package that WHEEL is of are replaced by the wheel's.
"""

import hashlib
import re
import sys
from pathlib import Path


def bump(lock, wheel, url):
    name, version = Path(wheel).name.split("-")[:2]
    data = Path(wheel).read_bytes()
    packages = Path(lock).read_text().split("[[package]]\n")
    for index, package in enumerate(packages):
        if package.startswith(f'name = "{name}"\n'):
            file = f'url = "{url}", hash = "sha256:{hashlib.sha256(data).hexdigest()}", size = {len(data)}'
            package = re.sub(r'^version = "[^"]*"', f'version = "{version}"', package, count=1, flags=re.MULTILINE)
            package, count = re.subn(r'url = "[^"]*\.whl", hash = "[^"]*", size = \d+', file, package)
            if count != 1:
                sys.exit(f"{lock} has {count} wheels of {name}")
            packages[index] = package
            break
    else:
        sys.exit(f"{lock} has no {name}")
    Path(lock).write_text("[[package]]\n".join(packages))


if __name__ == "__main__":
    bump(*sys.argv[1:4])
