"""Reads what Docker says of a build, for the demo.

usage: read.py executed PROGRESS     names of the steps that were carried out, one a line
       read.py cache PROGRESS        calls of compilers, and how many the compiler cache answered
       read.py new BEFORE AFTER      layers that only the second manifest has: how many, and their bytes

PROGRESS is the output of `docker buildx build --progress rawjson`, BEFORE and AFTER are manifests of a registry.
"""

import base64
import json
import re
import sys


def vertices(path):
    """Each vertex with its name, group, inputs, runs and log."""
    found = {}
    for line in open(path, encoding="utf-8"):
        if not line.startswith("{"):
            continue
        status = json.loads(line)
        for event in status.get("vertexes") or []:
            vertex = found.setdefault(event["digest"], {"name": "", "group": "", "inputs": [], "runs": {}, "log": b""})
            vertex["name"] = event.get("name") or vertex["name"]
            vertex["inputs"] = event.get("inputs") or vertex["inputs"]
            vertex["group"] = (event.get("progressGroup") or {}).get("id") or vertex["group"]
            if event.get("started"):
                run = vertex["runs"].setdefault(event["started"], {})
                run["ended"] = run.get("ended") or event.get("completed")
                run["cached"] = run.get("cached") or event.get("cached", False)
        for log in status.get("logs") or []:
            if log["vertex"] in found:
                found[log["vertex"]]["log"] += base64.b64decode(log["data"])
    return found.values()


def executed(path):
    """A vertex without inputs is a source or an event of the client; a merge of layers starts nothing."""
    for vertex in vertices(path):
        ran = any(run["ended"] and not run["cached"] for run in vertex["runs"].values())
        if ran and vertex["inputs"] and not vertex["group"].startswith("wheelbase-assemble"):
            yield vertex["name"]


def cache(path):
    log = b"".join(vertex["log"] for vertex in vertices(path)).decode("utf-8", "replace")
    counts = [tuple(map(int, pair)) for pair in re.findall(r"ccache hits=(\d+) misses=(\d+)", log)]
    return sum(hits + misses for hits, misses in counts), sum(hits for hits, _ in counts)


def layers(path):
    return {layer["digest"]: layer["size"] for layer in json.load(open(path, encoding="utf-8"))["layers"]}


def new(before, after):
    known = layers(before)
    sizes = [size for digest, size in layers(after).items() if digest not in known]
    return len(sizes), sum(sizes)


if __name__ == "__main__":
    what, paths = sys.argv[1], sys.argv[2:]
    if what == "executed":
        print("".join(f"{name}\n" for name in executed(*paths)), end="")
    else:
        print(*{"cache": cache, "new": new}[what](*paths))
