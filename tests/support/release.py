"""Makes a new release of a wheel: same files, another version, so that no cache can know it.

usage: release.py WHEEL VERSION FOLDER

Prints the new file's path, SHA-256 and size. Everything of the wheel that carries the version is changed with it.
"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path


def release(wheel, version, folder):
    name, old, tags = Path(wheel).name.split("-", 2)
    target = Path(folder, f"{name}-{version}-{tags}")
    info = f"{name}-{version}.dist-info"
    record = []
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as after:
        for member in before.infolist():
            path = member.filename.replace(f"{name}-{old}.dist-info", info)
            if path == f"{info}/RECORD":
                continue
            data = before.read(member)
            if path == f"{info}/METADATA":
                data = data.replace(f"\nVersion: {old}\n".encode(), f"\nVersion: {version}\n".encode(), 1)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")
            after.writestr(zipfile.ZipInfo(path), data)
        record.append(f"{info}/RECORD,,")
        after.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "\n".join(record) + "\n")
    data = target.read_bytes()
    return target, hashlib.sha256(data).hexdigest(), len(data)


if __name__ == "__main__":
    print(*release(*sys.argv[1:4]))
