"""Prints what the two sides cost, and whether the claims hold; exits with 1 when one does not.

usage: report.py FOLDER [--small]    FOLDER has SIDE-STEP.json of measure.py for both sides and all steps

Of a step that was measured several times (STEP-2, STEP-3) the one with the middle value of the seconds counts. With
--small, what is said of seconds is left out: they mean something for big images alone.
"""

import json
import sys
from pathlib import Path

STEPS = {
    "cold": "cold",
    "edit": "lock edit of a package that the image has not",
    "bump": "bump of one small package",
    "noop": "no-op",
}


def read(folder, side):
    """The side's steps, each with the layers that the step before had not; before a cold build there is none."""
    steps, known = {}, set()
    for step in STEPS:
        runs = []
        for path in [folder / f"{side}-{step}.json", *sorted(folder.glob(f"{side}-{step}-[0-9].json"))]:
            found = json.loads(path.read_text())
            known = set() if step == "cold" else known
            fresh = {digest: size for digest, size in found["layers"] if digest not in known}
            known = {digest for digest, _ in found["layers"]}
            runs.append(found | {"new": len(fresh), "bytes": sum(fresh.values())})
        steps[step] = sorted(runs, key=lambda run: run["seconds"])[len(runs) // 2]
        # What is said of one holds for all.
        steps[step]["executed"] = max((run["executed"] for run in runs), key=len)
        steps[step]["new"] = max(run["new"] for run in runs)
    return steps


def main(folder, small):
    ours, theirs = read(folder, "wheelbase"), read(folder, "dockerfile")
    times = {step: theirs[step]["seconds"] / ours[step]["seconds"] for step in STEPS}
    head = "{:<46} {:>8} {:>5} {:>7} {:>9}   {:>8} {:>5} {:>7} {:>9}   {:>8}"
    print(head.format("", "frontend", "", "new", "new", "Docker-", "", "new", "new", ""))
    print(head.format("", "seconds", "execs", "layers", "MB", "file s", "execs", "layers", "MB", "faster"))
    for step, title in STEPS.items():
        cells = []
        for side in (ours, theirs):
            found = side[step]
            cells += [f"{found['seconds']:.2f}", len(found["executed"]), found["new"], f"{found['bytes'] / 1e6:.2f}"]
        print(head.format(title, *cells, f"{times[step]:.1f} x"))
    print()
    bump = ours["bump"]
    claims = [
        ("an edit that the image does not use executes nothing", not ours["edit"]["executed"], f"{len(ours['edit']['executed'])} executed"),
        ("an edit that the image does not use makes no layer", ours["edit"]["new"] == 0, f"{ours['edit']['new']} layers"),
        ("a bump of a small package executes one step", len(bump["executed"]) == 1, ", ".join(bump["executed"]) or "none"),
        ("a bump of a small package makes one layer", bump["new"] == 1, f"{bump['new']} layers, {bump['bytes']} bytes"),
        ("a no-op executes nothing", not ours["noop"]["executed"], f"{len(ours['noop']['executed'])} executed"),
    ]
    if not small:
        claims += [
            (f"{words} is at least {least} times faster than with the Dockerfile", times[step] >= least, f"{times[step]:.1f} times")
            for step, words, least in [
                ("edit", "an edit that the image does not use", 100),
                ("bump", "a bump of a small package", 100),
                ("cold", "a cold build", 2.5),
            ]
        ]
    for claim, holds, figure in claims:
        print(f"{'ok' if holds else 'short':<6} {claim} ... {figure}")
    short = sum(not holds for _, holds, _ in claims)
    print(f"bench-torch: {len(claims) - short} ok, {short} short")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--small" in sys.argv[2:]))
