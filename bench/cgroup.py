"""Control groups with a share of the processor, as containers have them: version 2, and version 1 where the machine has that."""

import contextlib
import os
import pathlib
import time

PERIOD_US = 100_000  # What container engines use.
LEAST_CORES = 0.01  # The kernel gives no group less than a millisecond a period.


class NoCgroup(Exception):
    """No group can be made here; the text says why."""


def reason(error):
    """Of an OSError, in the words of somebody who wonders why."""
    why = {
        "PermissionError": "no permission: run as root",
        "FileNotFoundError": "it is not there",
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
        """To so many seconds of processor time a second."""
        quota = round(cores * PERIOD_US)
        if self.version == 2:
            self.write("cpu.max", f"{quota} {PERIOD_US}")
        else:
            self.write("cpu.cfs_period_us", str(PERIOD_US))
            self.write("cpu.cfs_quota_us", str(quota))

    def remove(self):
        """Once its processes have ended; the kernel may take a moment to notice."""
        for _ in range(100):
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.02)


class Machine:
    """Where groups can be made, by the tables that the kernel shows this process."""

    def __init__(self, mounts=None, own=None):
        """`mounts` and `own`: texts like /proc/self/mounts and /proc/self/cgroup."""
        self.mounts = read("/proc/self/mounts") if mounts is None else mounts
        self.own = read("/proc/self/cgroup") if own is None else own

    def parents(self):
        """Groups that a new one may be made in, each with its version: this process's own first, then those around it."""
        for place, kind, options in mounted(self.mounts):
            if kind == "cgroup" and "cpu" in options.split(","):
                path = next((path for names, path in owned(self.own) if "cpu" in names.split(",")), "/")
                yield from ((folder, 1) for folder in upwards(place, path))
            elif kind == "cgroup2":
                path = next((path for names, path in owned(self.own) if not names), "/")
                yield from ((folder, 2) for folder in upwards(place, path) if has_cpu(folder))

    @contextlib.contextmanager
    def quota(self, cores, name):
        """A group of that quota, removed at the end. NoCgroup where none can be made."""
        group, undo = self.made(cores, name)
        try:
            yield group
        finally:
            group.remove()
            undo()

    def made(self, cores, name):
        """The group, and what puts back what was changed around it."""
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
    """The folder of the group `path` of the hierarchy at `place`, then of each around it. A container may see a path
    of its host that is not there."""
    parts = [] if ".." in path.split("/") else path.strip("/").split("/")
    for count in range(len(parts), -1, -1):
        folder = place.joinpath(*parts[:count])
        if folder.is_dir():
            yield folder


def has_cpu(folder):
    return "cpu" in read(folder / "cgroup.controllers").split()


def with_cpu(parent):
    """Groups in `parent` may limit the processor. Gives what takes that back where it was not so before."""
    control = parent / "cgroup.subtree_control"
    if "cpu" in read(control).split():
        return lambda: None
    control.write_text("+cpu", encoding="ascii")

    def undo():
        with contextlib.suppress(OSError):  # Somebody else uses it by now.
            control.write_text("-cpu", encoding="ascii")

    return undo
