# Imports modules as a container of the image will, each group in a process of its own, and writes down which one of a group
# fails. On a builder without a GPU the libraries of NVIDIA's driver are missing: what is linked against one is loaded
# with a stub of it, which has the functions that are asked for and nothing in them.
# Arguments: the environment, a folder for stubs, the list to write, and the groups: names with blanks between them.
import json, mmap, os, re, signal, struct, subprocess, sys

environment, stubs, listing, *groups = sys.argv[1:]

# How the functions of a library begin. cudaMalloc and cublasCreate_v2 are not the driver's.
DRIVER = {
    "libcuda.so.1": "cu[A-Z]",
    "libnvidia-ml.so.1": "nvml",
    "libnvcuvid.so.1": "cuvid",
    "libnvidia-encode.so.1": "NvEnc",
}

# Number of the machine in ELF, and a function that gives back 34, CUDA_ERROR_STUB_LIBRARY.
MACHINES = {
    "x86_64": (62, b"\xb8\x22\0\0\0\xc3"),
    "aarch64": (183, b"\x40\x04\x80\x52\xc0\x03\x5f\xd6"),
}

IMPORT = """
import importlib, sys
for name in sys.argv[2:] + [""]:
    with open(sys.argv[1], "w") as file:
        file.write(name)
    if name:
        importlib.import_module(name)
"""


def asked(data):
    """The libraries that a 64-bit little-endian file needs, and the symbols that it lacks."""
    if data[:6] != b"\x7fELF\x02\x01":
        return set(), set()
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * index) for index in range(count)]

    def rows(kind, form):
        for _, found, _, _, offset, length, link, *_ in heads:
            if found == kind:
                for row in struct.iter_unpack(form, data[offset:offset + length]):
                    yield heads[link][4], row

    def text(at):
        return data[at:data.find(b"\0", at)].decode("utf-8", "replace")

    needed = {text(texts + value) for texts, (tag, value) in rows(6, "<qQ") if tag == 1}
    if not needed & DRIVER.keys():
        return set(), set()
    lacking = {text(texts + name) for texts, (name, _, _, section, _, _) in rows(11, "<IBBHQQ") if section == 0}
    return needed, lacking


def stub(library, functions):
    """A shared library with these functions."""
    machine, code = MACHINES[os.uname().machine]
    names = b"\0" + b"".join(name.encode() + b"\0" for name in [library, *functions])
    place, symbols = 1 + len(library) + 1, [bytes(24)]
    table = 64 + 4 * 56
    chains = table + 24 * (len(functions) + 1)
    texts = chains + 4 * (len(functions) + 4)
    body = -(-(texts + len(names)) // 16) * 16
    for name in functions:
        symbols.append(struct.pack("<IBBHQQ", place, 0x12, 0, 1, body, len(code)))
        place += len(name.encode()) + 1
    # One chain of all symbols.
    chain = [0, *range(2, len(functions) + 1), 0] if functions else [0]
    hashes = struct.pack(f"<{3 + len(chain)}I", 1, len(functions) + 1, 1 if functions else 0, *chain)
    entries = -(-(body + len(code)) // 16) * 16
    # The loader writes into the dynamic section, and not into code: a page of its own, of the largest size there is.
    apart = entries + 0x10000
    tags = [(14, 1), (4, chains), (5, texts), (6, table), (10, len(names)), (11, 24), (0, 0)]
    dynamic = b"".join(struct.pack("<qQ", *tag) for tag in tags)
    length = len(dynamic)
    segments = [
        (1, 5, 0, 0, 0, entries, entries, 0x10000),
        (1, 6, entries, apart, apart, length, length, 0x10000),
        (2, 6, entries, apart, apart, length, length, 8),
        (0x6474E551, 6, 0, 0, 0, 0, 0, 16),
    ]
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, len(segments), 64, 0, 0)
    head += b"".join(struct.pack("<IIQQQQQQ", *segment) for segment in segments)
    head += b"".join(symbols) + hashes + names
    return (head.ljust(body, b"\0") + code).ljust(entries, b"\0") + dynamic


def loads(library):
    code = f"import ctypes; ctypes.CDLL({library!r})"
    done = subprocess.run([environment + "/bin/python", "-I", "-S", "-c", code], stderr=subprocess.DEVNULL)
    return done.returncode == 0


def make_stubs():
    wanted = {}
    for folder, _, files in os.walk(environment):
        for name in files:
            path = os.path.join(folder, name)
            if ".so" not in name or os.path.islink(path) or os.path.getsize(path) < 64:
                continue
            try:
                with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    needed, lacking = asked(data)
            except (struct.error, ValueError, IndexError):
                # A file that only begins like one of ELF.
                continue
            for library in needed & DRIVER.keys():
                wanted.setdefault(library, set()).update(name for name in lacking if re.match(DRIVER[library], name))
    for library in sorted(wanted):
        if not loads(library):
            os.makedirs(stubs, exist_ok=True)
            with open(os.path.join(stubs, library), "wb") as file:
                file.write(stub(library, sorted(wanted[library])))
            print(f"wheelbase: a stub stands in for {library}", file=sys.stderr)


def failure(modules):
    """The module of a group that cannot be imported, and why; None when all can."""
    note = listing + ".module"
    path = stubs + ":" + os.environ.get("LD_LIBRARY_PATH", "")
    given = {**os.environ, "LD_LIBRARY_PATH": path.rstrip(":")} if os.path.isdir(stubs) else os.environ
    done = subprocess.run([environment + "/bin/python", "-c", IMPORT, note, *modules], env=given, stderr=subprocess.PIPE)
    said = done.stderr.decode("utf-8", "replace")
    sys.stderr.write(said)
    with open(note) as file:
        module = file.read()
    os.remove(note)
    if not module:
        print(f"wheelbase: imported {' '.join(modules)}", file=sys.stderr)
        return None
    lines = said.strip().splitlines()
    if done.returncode < 0:
        says = f"it is killed by {signal.Signals(-done.returncode).name}"
    elif done.returncode == 1 and lines:
        says = lines[-1]
    else:
        says = f"it ends the process with {done.returncode}"
    return [module, says[:400]]


make_stubs()
with open(listing, "w") as out:
    for group in groups:
        out.write(json.dumps(failure(group.split()), ensure_ascii=True) + "\n")
os.utime(listing, (315532800, 315532800))
