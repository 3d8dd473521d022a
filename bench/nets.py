"""Networks against ONNX Runtime, OpenVINO and PyTorch, on a quiet and on a loaded machine."""

import contextlib
import os

import cgroup
import jobs
import states
from busy import Busy
from machine import Others
from pairs import alternate, spread, summary, tell
from systems import Broken, Missing, Worker

LANNER = "lanner"
RIVALS = ("onnxruntime", "openvino", "torch")
# Of the sums of the first output. Quantisers choose other ranges.
AGREE = {"fp32": 1e-3, "bf16": 2e-2, "int8": 1e-1, "qdq": 3e-2}
LEAST_RUNS = 5  # So that 20 measurements of a slow network have 100 runs, of which p99 is one.


def rate(seconds, batch):
    return f"{seconds * 1e3:.2f} ms, {batch / seconds:.0f}/s"


def check_answers(ours, name, rival, precision):
    """Fails for a rival with different answers. `ours`, `rival`: answers to `load`."""
    if not abs(ours["sum"] - rival["sum"]) <= AGREE[precision] * abs(rival["sum"]):
        raise Broken(f"Lanner's and {name}'s answers differ: the sums of the first output are {ours['sum']:g} and {rival['sum']:g}")


class Measured:
    """A system's measurements: each call is one, and single runs are stored."""

    def __init__(self, runs):
        self.ask, self.runs = runs, []

    def __call__(self):
        return self.take(self.ask())

    def take(self, times):
        """Mean seconds of a run."""
        self.runs += times
        return sum(times) / len(times)


class Comparison:
    """One network at one batch size in the requested states. Passes rows to `add` as they are measured."""

    def __init__(self, job, options, add):
        self.job, self.options, self.add = job, options, add
        self.loading = {"model": str(job.model), "feed": str(job.feed), "threads": options.threads, "budget": options.budget, "precision": job.precision}

    def facts(self, state, name):
        same = {"job": self.job.label, "network": self.job.network, "batch": self.job.batch, "precision": self.job.precision, "state": state.text, "rival_name": name}
        return same | {"threads": self.options.threads, "budget": self.options.budget}

    def label(self, state, name):
        return f"{self.job.label}, {name}, {state.text}"

    def left_out(self, which, names, **why):
        """`why`: skipped, or failed."""
        for name in names:
            for state in which:
                self.add(self.facts(state, name) | why)

    def measured(self, state, name, loaded, ours, rival, found):
        batch, budget = self.job.batch, self.options.budget
        versions = {"lanner_version": loaded[0]["version"], "rival_version": loaded[1]["version"]}
        self.add(
            self.facts(state, name)
            | {
                "lanner": rate(found["seconds"], batch),
                "rival": rate(found["rival_seconds"], batch),
                "lanner_runs": spread(ours.runs),
                "rival_runs": spread(rival.runs),
                "built": f"{'default' if budget is None else f'{budget:g} s'}, {loaded[0]['build']:.1f} s",
            }
            | versions
            | found
        )

    @contextlib.contextmanager
    def reported(self, which, names):
        """An error inside becomes rows for the states that the block has not measured yet: `which` is a list that the
        block removes states from."""
        try:
            yield
        except (Missing, cgroup.NoCgroup) as error:
            self.left_out(which, names, skipped=str(error))
        except Broken as error:
            self.left_out(which, names, failed=str(error))

    def apart(self, which, place=contextlib.nullcontext):
        """Each system in a process of its own, in one state after the other; engines are made before the load starts. `place()`
        returns the cgroup for a process, if any."""
        with contextlib.ExitStack() as stack:
            with self.reported(which, self.options.rivals):
                ours, own = self.ready(stack, LANNER, place)
                for name in self.options.rivals:
                    left = list(which)
                    with self.reported(left, [name]), contextlib.ExitStack() as inner:
                        rival, theirs = self.ready(inner, name, place)
                        check_answers(own, name, theirs, self.job.precision)
                        while left:
                            self.beside(left[0], name, (own, theirs), (ours, rival))
                            del left[0]

    def ready(self, stack, name, place):
        """A process with the system in it, and its answer to `load`."""
        group = stack.enter_context(place())
        worker = stack.enter_context(Worker())
        if group:
            worker.enter(group)
        return worker, worker.load(name, self.loading)

    def beside(self, state, name, loaded, workers):
        ours, rival = (
            Measured(lambda worker=worker, system=system: worker.run(system, self.options.seconds, LEAST_RUNS))
            for worker, system in zip(workers, (LANNER, name), strict=True)
        )
        with Busy(state.busy) as busy:
            with Others([process.pid for process in [*busy.processes, *(worker.process for worker in workers)]]) as others:
                found = summary(*alternate(ours, rival, self.options.pairs, self.label(state, name)))
            busy.check()
        self.measured(state, name, loaded, ours, rival, found | {"others": others.cores})

    def together(self, state):
        """Lanner and one rival in one process. The rival is loaded first, as Lanner is the newcomer in a script."""
        for name in self.options.rivals:
            with self.reported([state], [name]), Worker() as both:
                theirs = both.load(name, self.loading)
                own = both.load(LANNER, self.loading)
                check_answers(own, name, theirs, self.job.precision)
                self.in_turn(state, name, (own, theirs), both)

    def in_turn(self, state, name, loaded, both):
        ours, rival, means = Measured(None), Measured(None), []
        with Others([both.process.pid]) as others:
            for pair in range(self.options.pairs):
                tell(self.label(state, name), pair, self.options.pairs)
                order = (LANNER, name) if pair % 2 == 0 else (name, LANNER)
                times = both.turns(order, self.options.seconds, LEAST_RUNS, self.options.burst)
                means.append((ours.take(times[LANNER]), rival.take(times[name])))
        found = summary(*map(list, zip(*means, strict=True)))
        self.measured(state, name, loaded, ours, rival, found | {"others": others.cores})


class Groups:
    """Makes a cgroup of that many cores for each process, so that spinning threads spend their own share."""

    def __init__(self, cores):
        self.cores, self.count, self.machine = cores, 0, cgroup.Machine()

    def __call__(self):
        self.count += 1
        return self.machine.quota(self.cores, f"lanner-bench-{os.getpid()}-{self.count}")


def measure_one(job, options, add):
    comparison, which = Comparison(job, options, add), states.chosen(options)
    beside = [state for state in which if state.kind in (states.QUIET, states.BUSY)]
    if beside:
        comparison.apart(beside)
    for state in which:
        if state.kind == states.QUOTA:
            comparison.apart([state], Groups(state.amount))
        elif state.kind == states.TOGETHER:
            comparison.together(state)


def measure(folder, options, add):
    for job in jobs.chosen(folder, options):
        if isinstance(job, jobs.Skipped):
            add({"job": job.label, "state": "", "rival_name": "", "skipped": job.reason})
        else:
            measure_one(job, options, add)
