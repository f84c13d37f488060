# Gives every file of a tree one time, so that the same packages make the same layer on another day and
# builder, and lists the tree for the check of what an image must not hold. What uv notes of a file that it
# installs from, the time of its download, is taken out: it differs on every builder, and uv does not need it.
import glob, json, os, sys

tree, listing = sys.argv[1:3]
EPOCH = 315532800
for note in glob.glob(tree + "/lib/*/site-packages/*.dist-info/uv_cache.json"):
    os.remove(note)
    record = os.path.dirname(note) + "/RECORD"
    with open(record, encoding="utf-8", newline="") as file:
        kept = [line for line in file if ".dist-info/uv_cache.json," not in line]
    with open(record, "w", encoding="utf-8", newline="") as file:
        file.writelines(kept)
lines = []
for folder, folders, files in os.walk(tree):
    for name in folders + files:
        path = os.path.join(folder, name)
        status = os.lstat(path)
        if status.st_mtime_ns != EPOCH * 10**9:
            os.utime(path, (EPOCH, EPOCH), follow_symlinks=False)
        if os.path.islink(path):
            lines.append([path, os.readlink(path)])
        elif name in files:
            lines.append([path])
# The tree's own folder and those above it have been written to as well.
while tree != "/":
    if os.lstat(tree).st_mtime_ns != EPOCH * 10**9:
        os.utime(tree, (EPOCH, EPOCH))
    tree = os.path.dirname(tree)
with open(listing, "w") as out:
    for line in sorted(lines):
        out.write(json.dumps(line, ensure_ascii=True) + "\n")
os.utime(listing, (EPOCH, EPOCH))
