# Lists a filesystem that is mounted at the first argument.
import json, os, sys

root, listing = sys.argv[1:3]
lines = []
for folder, folders, files in os.walk(root):
    for name in folders + files:
        path = os.path.join(folder, name)
        shown = path[len(root.rstrip("/")):]
        if os.path.islink(path):
            lines.append([shown, os.readlink(path)])
        elif name in files or not os.listdir(path):
            lines.append([shown])
with open(listing, "w") as out:
    for line in sorted(lines):
        out.write(json.dumps(line, ensure_ascii=True) + "\n")
os.utime(listing, (315532800, 315532800))
