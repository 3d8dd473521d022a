"""The load that `./dev bench nets` puts on the machine: busy processes, cgroups with a quota."""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.insert(0, str(BENCH))

import busy  # noqa: E402
import cgroup  # noqa: E402
import machine as measured_on  # noqa: E402
import states  # noqa: E402

SECONDS = 60  # Longest wait for an expected event.


def is_running(process):
    """Whether a process of that pid exists and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def ticks(process):
    """Processor time that it used."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11])


def wait_until(happened, what):
    end = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < end, what
        time.sleep(0.01)


# --- Busy processes ---


@pytest.mark.parametrize("count", [0, 1, 3])
def test_busy_processes_compute_within_the_block_and_are_gone_after_it(count):
    with busy.Busy(count) as others:
        numbers = [process.pid for process in others.processes]
        assert len(set(numbers)) == count
        for number in numbers:
            wait_until(lambda: ticks(number) > 20, "a busy process does not compute")  # noqa: B023
            assert os.getpriority(os.PRIO_PROCESS, number) == os.getpriority(os.PRIO_PROCESS, 0)
            assert os.getsid(number) == os.getsid(0)
        others.check()
    assert not any(map(is_running, numbers))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_busy_processes_are_gone_after_an_error(error):
    with pytest.raises(error), busy.Busy(2) as others:
        numbers = [process.pid for process in others.processes]
        assert all(map(is_running, numbers))
        raise error
    assert not any(map(is_running, numbers))


def test_started_busy_processes_end_where_another_cannot_start(monkeypatch):
    started, start = [], busy.start

    def only_one():
        if started:
            raise OSError("no more processes")
        started.append(start())
        return started[0]

    monkeypatch.setattr(busy, "start", only_one)
    with pytest.raises(OSError, match="no more"), busy.Busy(2):
        pass
    assert not is_running(started[0].pid)


def test_idle_busy_process_is_an_error(monkeypatch):
    def ended():
        return subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"], stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(busy, "start", ended)
    with pytest.raises(RuntimeError, match="did not start: exit code 3"), busy.Busy(1):
        pass


def test_busy_process_that_ends_early_is_an_error():
    with busy.Busy(2) as others:
        others.processes[1].kill()
        others.processes[1].wait()
        with pytest.raises(RuntimeError, match="exit code -9"):
            others.check()


def test_busy_processes_end_with_a_killed_parent():
    script = f"""
import sys, time
sys.path.insert(0, {str(BENCH)!r})
import busy
with busy.Busy(2) as others:
    print(*(process.pid for process in others.processes), flush=True)
    time.sleep({SECONDS})
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        numbers = [int(number) for number in parent.stdout.readline().split()]
        assert len(numbers) == 2
        assert all(map(is_running, numbers))
        parent.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, numbers)), "a busy process outlives its parent")


def test_busy_process_without_a_parent_ends():
    never = "0"  # Not the pid of any parent.
    done = subprocess.run([sys.executable, BENCH / "busy.py", never], capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stdout) == (1, "")


def test_cores_of_other_programs_are_separated_from_measured_ones(monkeypatch):
    used = iter([100.0, 110.0])
    own = {7: iter([1.0, 4.0]), 8: iter([2.0, 3.0]), os.getpid(): iter([5.0, 5.0])}
    clock = iter([50.0, 54.0])
    monkeypatch.setattr(measured_on, "seconds_in_use", lambda: next(used))
    monkeypatch.setattr(measured_on, "seconds_of", lambda process: next(own[process]))
    monkeypatch.setattr(measured_on.time, "monotonic", lambda: next(clock))
    with measured_on.Others([7, 8]) as others:
        pass
    assert others.cores == (10 - 3 - 1) / 4


def test_processor_time_of_a_process_and_of_the_machine():
    before = measured_on.seconds_in_use()
    with busy.Busy(1) as others:
        number = others.processes[0].pid
        wait_until(lambda: measured_on.seconds_of(number) > 0.1, "no time of a process is counted")
        wait_until(lambda: measured_on.seconds_in_use() >= before + 0.1, "no time of the machine is counted")
    assert measured_on.seconds_of(2**30) == 0  # No such process.


# --- Options ---


def test_busy_counts():
    assert states.busy_counts("2,0,1,1") == [0, 1, 2]


@pytest.mark.parametrize("text", ["", "a", "-1", "1.5", "1,", "²"])
def test_wrong_busy_counts_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="0,1,2"):
        states.busy_counts(text)


def test_quotas():
    assert states.quotas("1.5,0.5") == [0.5, 1.5]


@pytest.mark.parametrize("text", ["", "half", "0", "-1", "nan", "inf", "0.001", "0.5,"])
def test_wrong_quotas_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="expected cores"):
        states.quotas(text)


def test_states_have_names():
    options = argparse.Namespace(busy=[0, 1, 2], same_process=True, quota=[0.5, 1])
    assert [(state.text, state.busy) for state in states.chosen(options)] == [
        ("quiet", 0),
        ("1 busy process", 1),
        ("2 busy processes", 2),
        ("one process, in turn", 0),
        ("quota of 0.5 cores", 0),
        ("quota of 1 core", 0),
    ]


# --- Control groups ---


@pytest.fixture
def forgiving(monkeypatch):
    """A cgroup's stand-in: a folder with files, which the kernel's groups do not have."""
    monkeypatch.setattr(cgroup.pathlib.PosixPath, "rmdir", lambda folder: shutil.rmtree(folder))


def machine(folder, kind, options, own):
    return cgroup.Machine(f"proc /proc proc rw 0 0\ncgroup {folder} {kind} {options} 0 0\n", own)


def second_version(folder, controllers="cpuset cpu memory", subtree=""):
    folder.mkdir(exist_ok=True)
    (folder / "cgroup.controllers").write_text(controllers)
    (folder / "cgroup.subtree_control").write_text(subtree)


def test_version_1_limits_by_quota_and_period(tmp_path, forgiving):
    (tmp_path / "docker" / "abc").mkdir(parents=True)
    with machine(tmp_path, "cgroup", "rw,relatime,cpu,cpuacct", "3:cpu,cpuacct:/docker/abc\n0::/\n").quota(0.5, "mine") as group:
        assert group.folder == tmp_path / "docker" / "abc" / "mine"
        assert (group.folder / "cpu.cfs_period_us").read_text() == "100000"
        assert (group.folder / "cpu.cfs_quota_us").read_text() == "50000"
    assert not group.folder.exists()


def test_version_1_in_a_container_with_the_hosts_path(tmp_path, forgiving):
    with machine(tmp_path, "cgroup", "rw,cpu", "1:cpu:/docker/abc\n").quota(1, "mine") as group:
        assert group.folder == tmp_path / "mine"


def test_other_controllers_of_version_1_are_left_alone(tmp_path):
    assert not list(machine(tmp_path, "cgroup", "rw,cpuset", "1:cpuset:/\n").parents())


def test_version_2_limits_by_cpu_max(tmp_path, forgiving):
    second_version(tmp_path, subtree="cpu memory")
    with machine(tmp_path, "cgroup2", "rw,nsdelegate", "0::/\n").quota(1.5, "mine") as group:
        assert (group.folder / "cpu.max").read_text() == "150000 100000"
    assert not group.folder.exists()
    assert (tmp_path / "cgroup.subtree_control").read_text() == "cpu memory"


def test_version_2_lets_groups_limit_the_processor_while_it_needs_them(tmp_path, forgiving):
    second_version(tmp_path)
    with machine(tmp_path, "cgroup2", "rw", "0::/\n").quota(1, "mine"):
        assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu"
    assert (tmp_path / "cgroup.subtree_control").read_text() == "-cpu"


def test_cgroup_is_searched_in_parent_folders(tmp_path):
    inner = tmp_path / "user" / "session"
    inner.mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "user", inner):
        second_version(folder, "cpu" if folder != inner else "memory")
    found = machine(tmp_path, "cgroup2", "rw", "0::/user/session\n").parents()
    assert list(found) == [(tmp_path / "user", 2), (tmp_path, 2)]


def test_path_outside_of_the_namespace_stays_within_the_mount(tmp_path):
    second_version(tmp_path)
    assert list(machine(tmp_path, "cgroup2", "rw", "0::/../other\n").parents()) == [(tmp_path, 2)]


def test_missing_controller_is_explained():
    with pytest.raises(cgroup.NoCgroup, match="none with the controller cpu is mounted"):
        cgroup.Machine("proc /proc proc rw 0 0\n", "0::/\n").made(1, "mine")


@pytest.mark.parametrize(
    "error, said",
    [
        (PermissionError(13, "Permission denied", "/g/mine"), "/g/mine: no permission: run as root"),
        (OSError(30, "Read-only file system", "/g/mine"), "/g/mine: read-only file system"),
    ],
)
def test_cgroup_that_cannot_be_made_is_explained(tmp_path, monkeypatch, error, said):
    def refuse(folder):
        raise error

    monkeypatch.setattr(cgroup.pathlib.PosixPath, "mkdir", refuse)
    with pytest.raises(cgroup.NoCgroup, match=said):
        machine(tmp_path, "cgroup", "ro,cpu", "1:cpu:/\n").made(1, "mine")


def test_a_group_that_refuses_its_quota_is_removed(tmp_path, forgiving, monkeypatch):
    def refuse(group, cores):
        raise OSError(22, "Invalid argument", str(group.folder / "cpu.cfs_quota_us"))

    monkeypatch.setattr(cgroup.Group, "limit", refuse)
    with pytest.raises(cgroup.NoCgroup, match="cpu.cfs_quota_us: invalid argument"):
        machine(tmp_path, "cgroup", "rw,cpu", "1:cpu:/\n").made(1, "mine")
    assert not (tmp_path / "mine").exists()


def test_a_real_group_holds_its_process_and_is_removed():
    name = f"lanner-test-{os.getpid()}"
    with contextlib.ExitStack() as stack:
        try:
            group = stack.enter_context(cgroup.Machine().quota(0.5, name))
        except cgroup.NoCgroup as reason:
            pytest.skip(str(reason))
        script = f"import sys; sys.path.insert(0, {str(BENCH)!r}); import cgroup; cgroup.enter({str(group.folder)!r}); print(open('/proc/self/cgroup').read())"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"a process cannot enter a cgroup: {done.stderr.splitlines()[-1]}")
        assert any(line.endswith(f"/{name}") for line in done.stdout.splitlines())
    assert not group.folder.exists()
