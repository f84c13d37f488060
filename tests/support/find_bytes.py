"""Looks for texts in an OCI layout that is a tar archive: in every file of it, and in what compressed blobs hold.

    find_bytes.py ARCHIVE TEXT...

A line of JSON: how many bytes were looked at, and for each text the media types of the blobs that hold it.
"""

import gzip
import json
import sys
import tarfile

archive, *texts = sys.argv[1:]
needles = [text.encode() for text in texts]
longest = max(map(len, needles))
found = {text: set() for text in texts}
looked = 0


def media_types(layout):
    """What a blob is, as the manifests of the layout say, by its digest."""
    types = {}
    for member in layout.getmembers():
        if not member.isfile() or member.size > 1 << 20:
            continue
        try:
            document = json.load(layout.extractfile(member))
        except ValueError:
            continue
        if not isinstance(document, dict):
            continue
        listed = [document.get("config"), *(document.get("layers") or []), *(document.get("manifests") or [])]
        types |= {item["digest"]: item["mediaType"] for item in listed if isinstance(item, dict) and "digest" in item}
    return types


def look(stream, what):
    global looked
    before = b""
    while chunk := stream.read(1 << 22):
        looked += len(chunk)
        data = before + chunk
        for text, needle in zip(texts, needles):
            if needle in data:
                found[text].add(what)
        before = data[-longest:]


with tarfile.open(archive) as layout:
    types = media_types(layout)
    for member in layout.getmembers():
        if not member.isfile():
            continue
        what = types.get("sha256:" + member.name.rpartition("/")[2], member.name)
        look(layout.extractfile(member), what)
        head = layout.extractfile(member).read(4)
        if head[:2] == b"\x1f\x8b":
            look(gzip.open(layout.extractfile(member)), what)
        elif head == b"\x28\xb5\x2f\xfd":
            sys.exit(f"{member.name} is compressed with zstd, which cannot be looked into")
print(json.dumps({"bytes": looked, "found": {text: sorted(types) for text, types in found.items()}}))
