# Runs the build command of a wheel: once a slot of the builder is free, and with as many jobs as there is room for by
# then. It becomes that command, which so holds the lock of its slot: the kernel takes a lock back from whoever ends,
# also from one that is killed.
# Arguments: wheel; how many compiles may run on this builder (0: any number); jobs and megabytes of a job (0: what is
# usual); and the command.
import fcntl, os, sys, time

SLOTS, WAITED, CGROUPS = "/wheelbase/slots", "/tmp/waited", "/sys/fs/cgroup"
name = sys.argv[1]
slots, jobs, megabytes = map(int, sys.argv[2:5])
command = sys.argv[5:]


def say(text):
    print(f"wheelbase: {name}: {text}", flush=True)


def words(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().split()
    except OSError:
        return []


def lock(file_name, flags=fcntl.LOCK_NB):
    """The file, locked; None when somebody else has it."""
    file = os.open(os.path.join(SLOTS, file_name), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | flags)
        return file
    except BlockingIOError:
        os.close(file)
        return None


def free():
    """A slot, locked, or None; and who has one. Whoever asks must have the queue, or two would count each other."""
    mine, holders, number = None, [], 0
    # Another build may let more compiles run: its slots count too.
    while mine is None or os.path.exists(os.path.join(SLOTS, str(number))):
        file = lock(str(number))
        if file is None:
            holders += words(os.path.join(SLOTS, str(number))) or ["another wheel"]
        elif mine is None:
            mine = file
        else:
            os.close(file)
        number += 1
    if len(holders) < slots:
        return mine, holders
    os.close(mine)
    return None, holders


def take():
    queue = lock("queue")
    # Who starts at the same moment has it for that moment alone.
    for _ in range(20):
        if queue is None:
            time.sleep(0.05)
            queue = lock("queue")
    mine, holders = free() if queue is not None else (None, ["others, which wait too"])
    began = time.monotonic()
    if mine is None:
        say(f"waits for a slot (build.slots = {slots}) behind {', '.join(holders)}")
        # Waiters come to their turns in the order of the queue, so that one which lets few compiles run is not passed
        # over for ever.
        if queue is None:
            queue = lock("queue", 0)
        while mine is None:
            mine, _ = free()
            if mine is None:
                time.sleep(0.2)
        with open(WAITED, "w", encoding="utf-8") as file:
            file.write(str(round(time.monotonic() - began)))
    os.ftruncate(mine, 0)
    os.pwrite(mine, name.encode(), 0)
    os.set_inheritable(mine, True)
    os.close(queue)


def groups(controller):
    """Folders of this process's control groups, innermost first: of version 2, and of version 1 for a controller. What of
    the path cannot be seen from in here is not there."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(":", 2) for line in file]
    for _, controllers, path in lines:
        if controllers and controller not in controllers.split(","):
            continue
        root = os.path.join(CGROUPS, controller) if controllers else CGROUPS
        while path.strip("/"):
            yield root + path
            path = os.path.dirname(path)
        yield root


def cores():
    """Cores that this process may use; quotas count, of which `nproc` knows nothing."""
    most = len(os.sched_getaffinity(0))
    for folder in groups("cpu"):
        quota = words(f"{folder}/cpu.max") or words(f"{folder}/cpu.cfs_quota_us") + words(f"{folder}/cpu.cfs_period_us")
        # `max` and -1 stand for none.
        if len(quota) == 2 and all(word.isdigit() for word in quota):
            most = min(most, -(-int(quota[0]) // int(quota[1])))
    return max(most, 1)


def memory():
    """Bytes that this process may use: the machine's that are not in use, or less where a group has a limit."""
    meminfo = words("/proc/meminfo")
    limits = [1024 * int(meminfo[meminfo.index("MemAvailable:") + 1])]
    for folder in groups("memory"):
        for file in ("memory.max", "memory.high", "memory.limit_in_bytes"):
            limits += [int(word) for word in words(f"{folder}/{file}") if word.isdigit()]
        # Version 1 tells the limits of groups further out, too.
        stat = words(f"{folder}/memory.stat")
        limits += [int(value) for key, value in zip(stat[::2], stat[1::2]) if key == "hierarchical_memory_limit"]
    return min(limits)


def room(usual, threads=1):
    """How many jobs fit at so many megabytes each. All slots may be taken at once, and then they share the memory."""
    share = memory() // max(slots, 1)
    return max(1, min(cores() // threads, share // ((megabytes or usual) * 1000000 * threads)))


if slots:
    take()
# `nvcc --threads` multiplies what a job takes. One is the usual number: it is in the command that a compiler cache
# looks up, so it must not differ from one builder to the next. 0 stands for all cores.
threads = os.environ.setdefault("NVCC_THREADS", "1")
threads = (int(threads) or cores()) if threads.isdigit() else 1
compilers = str(jobs or room(5000, threads))
say(f"{compilers} jobs")
os.environ.update(
    MAX_JOBS=compilers,
    CMAKE_BUILD_PARALLEL_LEVEL=compilers,
    MAKEFLAGS=f"-j{compilers}",
    # rustc takes far less than nvcc.
    CARGO_BUILD_JOBS=str(jobs or room(1000)),
)
os.execvp(command[0], command)
