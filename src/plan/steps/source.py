# Makes a source ready to be built from: unpacks it and applies patches to it, as `git apply` does. Python is in
# every tier by then; patch and git are not.
# Arguments: the shape of the source (archive | unpacked, which is what BuildKit has made of an archive | folder), where
# it is, the folder with patches named 0, 1 and so on, the folder to fill, and the names of the patches.
import os, re, shutil, stat, sys, tarfile, zipfile

shape, SOURCE, PATCHES, OUT, *patches = sys.argv[1:]


def fail(words):
    sys.exit("wheelbase: " + words)


def top(names):
    """The one folder that all is in, with a slash; empty when there is none."""
    tops = {name.partition("/")[0] for name in names}
    only = next(iter(tops)) if len(tops) == 1 else ""
    return only + "/" if only and only not in names else ""


def untar(path):
    with tarfile.open(path) as archive:
        members = [member for member in archive if member.name.strip("./")]
        for member in members:
            member.name = os.path.normpath(member.name)
            if member.islnk():
                member.linkname = os.path.normpath(member.linkname)
        prefix = top([member.name for member in members if not member.isdir()])
        kept = []
        for member in members:
            if not member.name.startswith(prefix):
                continue
            member.name = member.name[len(prefix):]
            if member.islnk():
                member.linkname = member.linkname[len(prefix):]
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            kept.append(member)
        checked = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
        archive.extractall(OUT, kept, **checked)


def unzip(path):
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        prefix = top([member.filename for member in members if not member.is_dir()])
        for member in members:
            if not member.filename.startswith(prefix) or member.filename == prefix:
                continue
            member.filename = member.filename[len(prefix):]
            mode = member.external_attr >> 16
            if stat.S_ISLNK(mode):
                write(member.filename, archive.read(member), mode)
                continue
            made = archive.extract(member, OUT)
            if not member.is_dir() and mode & 0o111:
                os.chmod(made, 0o755)


def unpack():
    (name,) = os.listdir(SOURCE)
    path = os.path.join(SOURCE, name)
    try:
        unzip(path) if name.endswith(".zip") else untar(path)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        fail(f"{name} cannot be unpacked: {error}")


def take(folder):
    shutil.copytree(folder, OUT, symlinks=True, dirs_exist_ok=True)


def place(name, patch):
    path = os.path.normpath(os.path.join(OUT, name))
    if not path.startswith(OUT + os.sep):
        fail(f"{patch}: {name} is not below the source")
    return path


def read(name, patch):
    path = place(name, patch)
    if os.path.islink(path):
        return os.fsencode(os.readlink(path)), 0o120000
    if not os.path.isfile(path):
        fail(f"{patch}: the source has no file {name}")
    with open(path, "rb") as file:
        return file.read(), os.stat(path).st_mode


def write(name, data, mode, patch="the archive"):
    path = place(name, patch)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.remove(path)
    if stat.S_ISLNK(mode):
        os.symlink(os.fsdecode(data), path)
        return
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o755 if mode & 0o111 else 0o644)


def unquoted(text):
    """A file name as diff and git write it: up to a tab, or in quotes with the escapes of C."""
    if not text.startswith(b'"'):
        return text.split(b"\t")[0].rstrip(b"\r\n")
    plain = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}

    def escape(match):
        code = match[1]
        return bytes([int(code, 8)]) if code.isdigit() else plain.get(code, code)

    inner = re.match(rb'"((?:[^"\\]|\\.)*)"', text)[1]
    return re.sub(rb"\\([0-7]{3}|.)", escape, inner)


def stripped(text):
    """A name without its first part; None for no file."""
    name = unquoted(text)
    return None if name == b"/dev/null" else os.fsdecode(name.partition(b"/")[2] or name)


def cut(text):
    """A line without its end."""
    return text[:-1] if text.endswith(b"\n") else text


def lines_of(data):
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def same(rest):
    """The one name of `diff --git a/NAME b/NAME`, where nothing else says it."""
    rest = rest.rstrip(b"\r\n")
    if rest.startswith(b'"'):
        return stripped(rest)
    return os.fsdecode(rest[:len(rest) // 2].partition(b"/")[2])


HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def parse(lines, patch):
    """The changes of a patch, each of one file."""
    changes, at = [], 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(b"diff --git "):
            name = same(line[11:])
            changes.append({"old": name, "new": name, "hunks": []})
        elif line.startswith(b"--- ") and at + 1 < len(lines) and lines[at + 1].startswith(b"+++ "):
            if not changes or changes[-1]["hunks"] or "named" in changes[-1]:
                changes.append({"hunks": []})
            old, new = stripped(line[4:]), stripped(lines[at + 1][4:])
            if old and new and "old" not in changes[-1]:
                # Not git's: one of the names may be that of a copy, `file.orig`.
                old = new
            changes[-1].update(old=old, new=new, named=True)
            at += 1
        elif changes and (hunk := HUNK.match(line)):
            start, old, new = int(hunk[1]), int(hunk[2] or 1), int(hunk[4] or 1)
            body = []
            while old > 0 or new > 0:
                at += 1
                text = lines[at] if at < len(lines) else b"end"
                if text.startswith(b"\\") and body:
                    body[-1] = (body[-1][0], cut(body[-1][1]))
                    continue
                # An editor may have taken the blank from an empty line of context.
                kind, text = (b" ", text) if text.strip(b"\r\n") == b"" else (text[:1], text[1:])
                if kind not in (b" ", b"-", b"+"):
                    fail(f"{patch}: line {at + 1}: the hunk ends early")
                old -= kind in b" -"
                new -= kind in b" +"
                body.append((kind, text))
            if at + 1 < len(lines) and lines[at + 1].startswith(b"\\"):
                at += 1
                body[-1] = (body[-1][0], cut(body[-1][1]))
            changes[-1]["hunks"].append((start if hunk[2] != b"0" else start + 1, body))
        elif changes and "named" not in changes[-1]:
            change = changes[-1]
            if line.startswith(b"new file mode "):
                change.update(old=None, mode=int(line[14:], 8))
            elif line.startswith(b"deleted file mode "):
                change["new"] = None
            elif line.startswith(b"new mode "):
                change["mode"] = int(line[9:], 8)
            elif line.startswith((b"rename from ", b"copy from ")):
                change["old"] = os.fsdecode(unquoted(line.split(b" from ", 1)[1]))
                change["copy"] = line.startswith(b"copy")
            elif line.startswith((b"rename to ", b"copy to ")):
                change["new"] = os.fsdecode(unquoted(line.split(b" to ", 1)[1]))
            elif line.startswith((b"GIT binary patch", b"Binary files ")):
                fail(f"{patch}: {change['new']} is changed as a binary file, which cannot be applied")
        at += 1
    return changes


def patched(data, hunks, what):
    """The text after all hunks. Each matches exactly, at its line or the nearest one to it."""
    have = lines_of(data)
    moved = 0
    for number, (start, body) in enumerate(hunks, 1):
        old = [text for kind, text in body if kind in b" -"]
        new = [text for kind, text in body if kind in b" +"]
        wanted = start - 1 + moved
        places = sorted(range(len(have) - len(old) + 1), key=lambda at: abs(at - wanted))
        found = next((at for at in places if have[at:at + len(old)] == old), None)
        if found is None:
            fail(f"{what}: hunk {number}, of line {start}, does not match the source")
        have[found:found + len(old)] = new
        moved += len(new) - len(old) + found - wanted
    return b"".join(have)


def apply(path, patch):
    with open(path, "rb") as file:
        changes = parse(lines_of(file.read()), patch)
    if not changes:
        fail(f"{patch}: this is no patch: no line of it names a file")
    for change in changes:
        old, new = change["old"], change["new"]
        what = f"{patch}: {new or old}"
        adds = all(kind == b"+" for _, body in change["hunks"] for kind, _ in body)
        if old and old == new and adds and change["hunks"] and not os.path.lexists(place(old, patch)):
            # `diff -N` names a file that is not there.
            old = None
        data, mode = read(old, patch) if old else (b"", 0o644)
        if not old and os.path.lexists(place(new, patch)):
            fail(f"{what} is there already")
        data = patched(data, change["hunks"], what)
        if not new and data:
            fail(f"{what} is to be removed, but holds more than the patch says")
        if new:
            write(new, data, change.get("mode", mode), patch)
        if old and old != new and not change.get("copy"):
            os.remove(place(old, patch))


os.makedirs(OUT, exist_ok=True)
if shape == "archive":
    unpack()
elif shape == "unpacked":
    names = os.listdir(SOURCE)
    only = os.path.join(SOURCE, names[0]) if len(names) == 1 else SOURCE
    if os.path.isfile(only):
        fail(f"{names[0]} cannot be unpacked by this builder; give it as .tar.gz or .tar.xz")
    take(only)
else:
    take(SOURCE)
for number, patch in enumerate(patches):
    apply(os.path.join(PATCHES, str(number)), patch)
