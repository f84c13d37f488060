# Lists the shared libraries that the files of wheels name as needed (DT_NEEDED of ELF), for the check that an image
# has them, and for which of NVIDIA's GPUs they have code. Arguments: the folder with the wheels, the list to write, and the
# packages that count. A line is a file and a library; or a file, `sm` or `ptx`, and a number such as 90; or a file and `other`,
# `0`: code that is in a file of its own; or the metadata, `requires`, and what it asks for.
import json, mmap, os, re, struct, sys, zipfile

folder, listing, *packages = sys.argv[1:]


def needed(data):
    """The names in the dynamic section of a 64-bit little-endian file; nothing of any other."""
    if data[:6] != b"\x7fELF\x02\x01":
        return
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data, start + size * index) for index in range(count)]
    for kind, _, offset, _, _, length in segments:
        if kind != 2:
            continue
        entries = list(struct.iter_unpack("<qQ", data[offset:offset + length - length % 16]))
        (address,) = [value for tag, value in entries if tag == 5][:1] or [0]
        for load, _, offset, virtual, _, length in segments:
            if load == 1 and virtual <= address < virtual + length:
                texts = offset + address - virtual
                for tag, value in entries:
                    if tag == 1:
                        end = data.find(b"\0", texts + value)
                        yield data[texts + value:end].decode("utf-8", "replace")


def code(data):
    """Kinds and architectures of what nvcc has put into a file."""
    if data[:6] != b"\x7fELF\x02\x01":
        return
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    heads = [struct.unpack_from("<IIQQQQ", data, start + size * index) for index in range(count)]
    for head in heads:
        name = heads[names][4] + head[0]
        if data[name:data.find(b"\0", name)] not in (b".nv_fatbin", b"__nv_relfatbin"):
            continue
        at, end = head[4], head[4] + head[5]
        while at + 16 <= end:
            magic, _, length, rest = struct.unpack_from("<IHHQ", data, at)
            if magic != 0xBA55ED50:
                at += 8
                continue
            entry, at = at + length, at + length + rest
            while entry + 32 <= min(at, end):
                kind, _, length, rest = struct.unpack_from("<HHIQ", data, entry)
                (number,) = struct.unpack_from("<I", data, entry + 28)
                if kind in (1, 2):
                    yield ("ptx", "sm")[kind - 1], str(number)
                if length == 0:
                    break
                entry += length + rest


lines = set()
for name in sorted(os.listdir(folder)):
    package = re.sub(r"[-_.]+", "-", name.split("-")[0]).lower()
    if not name.endswith(".whl") or package not in packages:
        continue
    with zipfile.ZipFile(os.path.join(folder, name)) as wheel:
        for member in wheel.infolist():
            if re.fullmatch(r"[^/]+\.dist-info/METADATA", member.filename):
                head = wheel.read(member).decode("utf-8", "replace").replace("\r\n", "\n").partition("\n\n")[0]
                asked = re.findall(r"^Requires-Dist:[ \t]*(.+)$", head, re.MULTILINE | re.IGNORECASE)
                lines.update((member.filename, "requires", text.strip()) for text in asked)
            with wheel.open(member) as file:
                if member.filename.endswith((".cubin", ".ptx", ".fatbin")):
                    lines.add((member.filename, "other", "0"))
                if file.read(4) != b"\x7fELF":
                    continue
            # Kernels of many architectures are large; unpacked they need not be in memory.
            path = wheel.extract(member, "/tmp/needed")
            try:
                with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    lines.update((member.filename, library) for library in needed(data))
                    lines.update((member.filename, *found) for found in code(data))
            except (struct.error, ValueError, IndexError):
                # A file that only begins like one of ELF.
                pass
            os.remove(path)
with open(listing, "w") as out:
    for line in sorted(lines):
        out.write(json.dumps(line, ensure_ascii=True) + "\n")
os.utime(listing, (315532800, 315532800))
