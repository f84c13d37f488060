"""Runs one build and writes down what it cost, as BuildKit's progress and the image store tell.

usage: measure.py RESULT BLOBS docker buildx build --progress rawjson --metadata-file FILE ...

RESULT gets JSON: seconds of the whole call, names of the executed steps, seconds by kind of work, and the image's
layers (digest and compressed size). BLOBS is the folder of the engine's content store.
"""

import json
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

FETCH, STEPS, EXPORT = "fetch", "steps", "export"


def seconds(text):
    # Nanoseconds are more than `fromisoformat` takes.
    head, _, rest = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(head + "+00:00").timestamp() + float("0." + (rest or "0"))


def vertices(lines):
    """Each vertex with its name, whether it has inputs, and its runs by start: end, and whether it was cached."""
    found = {}
    for line in lines:
        if not line.startswith("{"):
            continue
        for event in json.loads(line).get("vertexes") or []:
            vertex = found.setdefault(event["digest"], {"name": "", "inputs": False, "group": "", "runs": {}})
            vertex["name"] = event.get("name") or vertex["name"]
            vertex["inputs"] |= bool(event.get("inputs"))
            vertex["group"] = (event.get("progressGroup") or {}).get("id") or vertex["group"]
            if event.get("started"):
                run = vertex["runs"].setdefault(event["started"], {"end": None, "cached": False})
                run["end"] = event.get("completed") or run["end"]
                run["cached"] |= event.get("cached", False)
    return list(found.values())


def kind(vertex):
    """What has no inputs is a source or an event of the client; merges of layers start nothing."""
    if vertex["name"].startswith("exporting"):
        return EXPORT
    if not vertex["inputs"]:
        return None if vertex["name"].startswith("[internal]") else FETCH
    return None if vertex["group"].startswith("wheelbase-assemble") else STEPS


def spans(vertex):
    return [(seconds(start), seconds(run["end"])) for start, run in vertex["runs"].items() if run["end"] and not run["cached"]]


def union(intervals):
    """Seconds in which at least one of the intervals ran."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def layers(blobs, digest):
    """Layers of an image of the content store; of an index, those of its one image (the rest are attestations)."""
    document = json.loads((blobs / digest.replace(":", "/")).read_text())
    if "manifests" in document:
        (image,) = [entry for entry in document["manifests"] if entry["platform"]["os"] != "unknown"]
        return layers(blobs, image["digest"])
    return [[layer["digest"], layer["size"]] for layer in document["layers"]]


def main(result, blobs, *command):
    started = time.monotonic()
    build = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wall = time.monotonic() - started
    lines = build.stderr.splitlines()
    Path(result).with_suffix(".progress").write_text(build.stderr)
    if build.returncode:
        sys.exit("\n".join(line for line in lines if not line.startswith("{")) or build.stderr[-4000:])
    ran = [vertex for vertex in vertices(lines) if spans(vertex)]
    metadata = json.loads(Path(command[command.index("--metadata-file") + 1]).read_text())
    parts = {part: union(span for vertex in ran if kind(vertex) == part for span in spans(vertex)) for part in (FETCH, STEPS, EXPORT)}
    measured = {
        "seconds": wall,
        "executed": [vertex["name"] for vertex in ran if kind(vertex) == STEPS],
        "parts": parts,
        "layers": layers(Path(blobs), metadata["containerimage.digest"]),
    }
    Path(result).write_text(json.dumps(measured, indent=1))
    print(f"{wall:.1f} s, {len(measured['executed'])} executed; " + ", ".join(f"{part} {spent:.1f} s" for part, spent in parts.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
