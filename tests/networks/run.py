"""Every network of the zoo with Lanner, against onnxruntime and a float64 run: `./dev networks`.

    ./dev networks --nets tv_resnet50,hf_bert        # errors, repeated and concurrent runs, steps by time
    ./dev networks --device cuda:0 --precision fp32,fp16
    ./dev networks --time                            # seconds of a run against the rival's, on a quiet machine
    ./dev networks --torchvision --torch ~/torch/bin/python
                                                     # every model of torchvision, random weights, by both exporters
    ./dev networks --write                           # docs/networks.md from the log; --log may be given often

Measurements in the log folder are not repeated, unless --again is given. Exit code 1 where a check failed."""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))


def argument_parser() -> argparse.ArgumentParser:
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(prog="./dev networks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", default="", help="names, comma separated (default: all)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda:0")
    parser.add_argument("--precision", default="fp32", help="fp32, fp16, comma separated")
    parser.add_argument("--batches", default="", help="further batch sizes where a network's is open, comma separated")
    parser.add_argument("--budget", type=float, default=10, help="tuning budget in seconds (default: 10, as for users)")
    parser.add_argument("--threads", type=int, default=cores, help=f"of Lanner and of its rival (default: {cores})")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no measurement after this many seconds")
    parser.add_argument("--share", default="0/1", metavar="I/N", help="every Nth network, beginning with the Ith (from 0): several runs may share a log")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each stage of a measurement (default: 600)")
    parser.add_argument("--run-seconds", type=float, default=60, help="seconds for ten runs of a slow network, after which they stop (default: 60)")
    parser.add_argument("--memory", type=float, help="GiB for each measurement (default: 8, with --torchvision 24)")
    parser.add_argument("--log", type=Path, action="append", help="folder of the log, answers and models (default: networks)")
    parser.add_argument("--again", action="store_true", help="measure Lanner again, even if the log has it")
    parser.add_argument("--locate", action="store_true", help="for a wrong network, find the first wrong node")
    parser.add_argument("--time", action="store_true", help="time runs against the rival's instead of checking them")
    parser.add_argument("--pairs", type=int, default=10, help="measurements of each with --time (default: 10)")
    parser.add_argument("--torchvision", action="store_true", help="every model of torchvision by both of torch's exporters instead: --nets selects some")
    parser.add_argument("--torch", default=sys.executable, metavar="PYTHON", help="with --torchvision: a Python that has torch, torchvision and onnxscript (default: this one)")
    parser.add_argument("--write", action="store_true", help="write docs/networks.md from the logs and measure nothing")
    parser.add_argument("--list", action="store_true", help="print the networks' names and shapes")
    return parser


def listed(names: tuple[str, ...]) -> None:
    from networks.catalogue import Network

    for name in names:
        network = Network(name)
        shapes = [" ".join(f"{value}:{'x'.join(map(str, shape))}" for value, shape in network.shapes(case).items()) for case in network.cases()]
        print(name, *shapes, sep="; ")


def chosen(text: str) -> tuple[str, ...]:
    from networks import catalogue

    known = catalogue.names()
    if not known:
        raise ValueError(f"no networks at {catalogue.ZOO}: nothing can be measured")
    names = tuple(text.split(",")) if text else tuple(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"--nets: no network is called {', '.join(unknown)}; --list prints their names")
    return names


def shared(text: str, names: tuple[str, ...]) -> tuple[str, ...]:
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and int(part) < int(parts)):
        raise ValueError(f"--share: expected I/N with I below N, as 0/4, got {text}")
    return names[int(part) :: int(parts)]


def measure(options: argparse.Namespace, names: tuple[str, ...]) -> int:
    from networks.machine import machine
    from networks.session import Session, Settings, say

    settings = Settings(
        folder=options.log[0],
        networks=names,
        device=options.device,
        precisions=tuple(options.precision.split(",")),
        batches=tuple(int(batch) for batch in options.batches.split(",") if batch),
        budget=options.budget,
        threads=options.threads,
        seconds=options.timeout,
        run_seconds=options.run_seconds,
        memory=int((options.memory or 8) * 2**30),
        machine=machine(options.device),
        again=options.again,
        locate=options.locate,
        pairs=options.pairs if options.time else 0,
        until=time.monotonic() + options.seconds,
    )
    failed = Session(settings).run()
    say(f"{failed} failed" if failed else "none failed")
    return 1 if failed else 0


def torchvision(options: argparse.Namespace, without: dict[str, object]) -> int:
    """`without`: options that do not apply to these models, with their defaults."""
    from networks import torchvision_models
    from networks.log import NAME, Log

    if given := [f"--{name.replace('_', '-')}" for name, value in without.items() if getattr(options, name) != value]:
        raise ValueError(f"{', '.join(given)}: only for the zoo's networks; --torchvision has --nets, --share, --seconds, --timeout, --memory, --log and --again")
    settings = torchvision_models.Settings(options.torch, options.timeout, int((options.memory or 24) * 2**30), time.monotonic() + options.seconds, options.again)
    names = shared(options.share, torchvision_models.chosen(options.torch, options.nets))
    failed = torchvision_models.run(Log(options.log[0] / NAME), names, settings)
    print(f"{failed} failed" if failed else "none failed")
    return 1 if failed else 0


def main() -> int:
    from networks import log, table

    parser = argument_parser()
    options = parser.parse_args()
    options.log = options.log or [Path("networks")]
    warnings.simplefilter("ignore")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(options.threads))
    try:
        if options.torchvision:
            return torchvision(options, {name: parser.get_default(name) for name in ("device", "precision", "batches", "budget", "threads", "run_seconds", "locate", "time", "pairs", "write", "list")})
        names = shared(options.share, () if options.write else chosen(options.nets))
        if options.list:
            listed(names)
            return 0
        if options.write:
            table.write(log.read([folder / log.NAME for folder in options.log]))
            return 0
        return measure(options, names)
    except ValueError as error:
        print(f"networks: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
