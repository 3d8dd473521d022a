"""Control groups with a CPU quota, as containers have them: version 2, and version 1 where the machine has it."""

import contextlib
import os
import pathlib
import time

PERIOD_US = 100_000  # The period of container engines.
LEAST_CORES = 0.01  # The kernel's smallest quota is a millisecond a period.


class NoCgroup(Exception):
    """No group can be made here; the text says why."""


def reason(error):
    """Readable reason of an OSError."""
    why = {
        "PermissionError": "no permission: run as root",
        "FileNotFoundError": "not found",
    }.get(type(error).__name__, (error.strerror or str(error)).lower())
    return f"{error.filename}: {why}" if error.filename else why


def enter(folder):
    """Moves the calling process, all its threads, into the group."""
    (pathlib.Path(folder) / "cgroup.procs").write_text("0", encoding="ascii")


class Group:
    """One group; processes `enter` its folder."""

    def __init__(self, folder, version):
        self.folder, self.version = pathlib.Path(folder), version

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="ascii")

    def limit(self, cores):
        """Limits the group to this many seconds of processor time a second."""
        quota = round(cores * PERIOD_US)
        if self.version == 2:
            self.write("cpu.max", f"{quota} {PERIOD_US}")
        else:
            self.write("cpu.cfs_period_us", str(PERIOD_US))
            self.write("cpu.cfs_quota_us", str(quota))

    def remove(self):
        """Removes it after its processes have ended, which the kernel may notice with a delay."""
        for _ in range(100):
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.02)


class Machine:
    """Where groups can be made, from the tables that the kernel shows this process."""

    def __init__(self, mounts=None, own=None):
        """`mounts` and `own`: texts like /proc/self/mounts and /proc/self/cgroup."""
        self.mounts = read("/proc/self/mounts") if mounts is None else mounts
        self.own = read("/proc/self/cgroup") if own is None else own

    def parents(self):
        """Groups in which a new one may be made, each with its version: this process's own first, then its parents."""
        for place, kind, options in mounted(self.mounts):
            if kind == "cgroup" and "cpu" in options.split(","):
                path = next((path for names, path in owned(self.own) if "cpu" in names.split(",")), "/")
                yield from ((folder, 1) for folder in upwards(place, path))
            elif kind == "cgroup2":
                path = next((path for names, path in owned(self.own) if not names), "/")
                yield from ((folder, 2) for folder in upwards(place, path) if has_cpu(folder))

    @contextlib.contextmanager
    def quota(self, cores, name):
        """A group with that quota, removed at the end. NoCgroup where none can be made."""
        group, undo = self.made(cores, name)
        try:
            yield group
        finally:
            group.remove()
            undo()

    def made(self, cores, name):
        """The group, and functions that undo the changes around it."""
        refusals = []
        for parent, version in self.parents():
            undo = lambda: None  # noqa: E731
            group = Group(parent / name, version)
            try:
                if version == 2:
                    undo = with_cpu(parent)
                group.folder.mkdir()
            except OSError as error:
                undo()
                refusals.append(reason(error))
                continue
            try:
                group.limit(cores)
            except OSError as error:
                group.remove()
                undo()
                refusals.append(reason(error))
                continue
            return group, undo
        raise NoCgroup(f"no cgroup with a quota can be made: {refusals[0] if refusals else 'none with the controller cpu is mounted'}")


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def mounted(mounts):
    """Folder, type and options of each mount. The kernel writes a space in a name as \\040."""
    for line in mounts.splitlines():
        _, place, kind, options, *_ = line.split(" ")
        yield pathlib.Path(place.replace("\\040", " ")), kind, options


def owned(own):
    """Controllers (none for version 2) and path of each group that the process is in."""
    for line in own.splitlines():
        _, names, path = line.split(":", 2)
        yield names, path


def upwards(place, path):
    """The folder of the group `path` of the hierarchy at `place`, then of each parent. A container may see a path
    of its host that does not exist inside."""
    parts = [] if ".." in path.split("/") else path.strip("/").split("/")
    for count in range(len(parts), -1, -1):
        folder = place.joinpath(*parts[:count])
        if folder.is_dir():
            yield folder


def has_cpu(folder):
    return "cpu" in read(folder / "cgroup.controllers").split()


def with_cpu(parent):
    """Enables limiting the processor for groups in `parent`. Returns a function that undoes it if it was not enabled before."""
    control = parent / "cgroup.subtree_control"
    if "cpu" in read(control).split():
        return lambda: None
    control.write_text("+cpu", encoding="ascii")

    def undo():
        with contextlib.suppress(OSError):  # Another process uses it by now.
            control.write_text("-cpu", encoding="ascii")

    return undo
