# Lists the shared libraries that the files of wheels name as needed (DT_NEEDED of ELF), for the check that an image
# has them. Arguments: the folder with the wheels, the list to write, and the packages that count.
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


lines = set()
for name in sorted(os.listdir(folder)):
    package = re.sub(r"[-_.]+", "-", name.split("-")[0]).lower()
    if not name.endswith(".whl") or package not in packages:
        continue
    with zipfile.ZipFile(os.path.join(folder, name)) as wheel:
        for member in wheel.infolist():
            with wheel.open(member) as file:
                if file.read(4) != b"\x7fELF":
                    continue
            # Kernels of many architectures are large; unpacked they need not be in memory.
            path = wheel.extract(member, "/tmp/needed")
            try:
                with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    lines.update((member.filename, library) for library in needed(data))
            except (struct.error, ValueError):
                # A file that only begins like one of ELF.
                pass
            os.remove(path)
with open(listing, "w") as out:
    for line in sorted(lines):
        out.write(json.dumps(line, ensure_ascii=True) + "\n")
os.utime(listing, (315532800, 315532800))
