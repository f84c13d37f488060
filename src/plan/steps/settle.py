# Gives every file of a tree one time, so that the same packages make the same layer on another day and
# builder, and lists the tree for the check of what an image must not hold.
import json, os, sys

tree, listing = sys.argv[1:3]
EPOCH = 315532800
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
if os.lstat(tree).st_mtime_ns != EPOCH * 10**9:
    os.utime(tree, (EPOCH, EPOCH))
with open(listing, "w") as out:
    for line in sorted(lines):
        out.write(json.dumps(line, ensure_ascii=True) + "\n")
os.utime(listing, (EPOCH, EPOCH))
