"""Speed against other products: `./dev bench` runs this after the build.

Every system runs in a process of its own and is idle while another is measured, unless --same-process puts two into one. A pair
is a measurement of Lanner and of a rival, one right after the other; the ratio is taken pair by pair, so that changes
of the machine's speed affect both.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import cuda
import encode
import encode_page
import jobs
import labels
import machine
import nets
import states
import table
import video
from history import History


SUITES = {"nets", "video", "run", "cuda", "encode"}
PAIRS = 20


def batches(text):
    sizes = text.split(",")
    if not all(size.isascii() and size.isdigit() and int(size) for size in sizes):
        raise argparse.ArgumentTypeError(f"expected sizes such as 1,8, got '{text}'")
    return [int(size) for size in sizes]


def some_of(what, known):
    """A parser of names that are separated by commas."""

    def parse(text):
        chosen = text.split(",")
        unknown = sorted(set(chosen) - set(known))
        if unknown:
            raise argparse.ArgumentTypeError(f"no {what} '{', '.join(unknown)}': expected {', '.join(known)}")
        return chosen

    return parse


def at_least_one(text):
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got '{text}'")
    return int(text)


def parse_options():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", default=["nets", "video"], help="nets, video, run: a clip to labels, cuda: networks on a GPU, encode: video on a CPU (default: nets, video)")
    parser.add_argument("--pairs", type=at_least_one, help=f"measurements of each rival against Lanner (default: {PAIRS}, of encode {encode.PAIRS})")
    parser.add_argument("--log", type=pathlib.Path, help="file of JSON lines, to which each row of nets and encode is appended; nets takes its quiet rows for ratios to the quiet machine, encode does not measure again what it holds")
    parser.add_argument("--json", type=pathlib.Path, help="JSON file for all measurements, written at the end")
    add_nets_options(parser.add_argument_group("networks"))
    add_states(parser.add_argument_group("networks on a loaded machine", "each adds rows"))
    group = parser.add_argument_group("video")
    threads = "of every system that decodes (default: twice the cores, as frame threads wait for each other)"
    group.add_argument("--codec-threads", type=int, default=2 * os.cpu_count(), help=threads)
    group.add_argument("--device", default="cpu", help="device that decodes video: cpu, or cuda:0 against PyNvVideoCodec (default: cpu)")
    group.add_argument("--clips", type=pathlib.Path, help="folder of the clips, which are made if missing")
    group = parser.add_argument_group("a clip to labels", "on --device, with --pairs and --clips")
    group.add_argument("--run-model", type=pathlib.Path, help="classifier of [N, 3, 224, 224] as ONNX (default: ResNet-50 of make_nets.py)")
    group.add_argument("--run-input", default="input", help="name of its input (default: input)")
    group.add_argument("--run-batch", type=at_least_one, default=32, help="frames in one run (default: 32)")
    group = parser.add_argument_group("networks on a GPU", "on --device, with --pairs, --budget and --seconds")
    group.add_argument("--cuda-nets", default="", help=f"of {', '.join(cuda.NETWORKS)}, comma separated (default: all)")
    group.add_argument("--max-autotune", action="store_true", help="try Inductor in that mode too and take the faster one; takes minutes a network")
    group.add_argument("--both-formats", action="store_true", help="try Inductor row-major and channels last and take the faster one")
    encode.add_options(parser.add_argument_group("encoding", "with --pairs and --log"), at_least_one)
    options = parser.parse_args()
    unknown = sorted(set(options.suites) - SUITES)
    if unknown:
        parser.error(f"unknown suite {', '.join(unknown)}; known are {', '.join(sorted(SUITES))}")
    if "nets" not in options.suites and (options.busy != [0] or options.same_process or options.quota or options.zoo):
        parser.error("--busy, --same-process, --quota and --zoo are about networks, got the suite video alone; add nets")
    if options.write and options.suites != ["encode"]:
        parser.error("--write is about the suite encode alone: ./dev bench encode --log FILE --write")
    return options


def add_nets_options(group):
    group.add_argument("--nets", default="resnet50,mobilenet_v2,vgg16,bert_base,mlp", help="names that make_nets.py knows, comma separated; '' for none")
    group.add_argument("--zoo", default="", help=f"also networks of ../shared/data/zoo, by name; small: {','.join(jobs.SMALL)}")
    group.add_argument("--rivals", type=some_of("rival", nets.RIVALS), default=["onnxruntime", "openvino"], help="of onnxruntime, openvino, torch (default: the first two)")
    group.add_argument("--batch", type=batches, default=[1, 8], help="batch sizes, comma separated (default: 1,8)")
    group.add_argument(
        "--precision", type=some_of("precision", jobs.PRECISIONS), default=["fp32"], metavar="P,...",
        help="of fp32, bf16, int8: each system by its own quantiser (OpenVINO's is NNCF), qdq: the file of onnxruntime's quantiser in all (default: fp32)",
    )
    group.add_argument("--threads", type=at_least_one, default=2, help="of every system (default: 2)")
    group.add_argument("--budget", type=float, help="tuning budget in seconds (default: Lanner's default)")
    group.add_argument("--seconds", type=float, default=0.15, help="duration of a measurement (default: 0.15), at least five runs")


def add_states(group):
    group.add_argument(
        "--busy", type=states.busy_counts, default=[0], metavar="N,...",
        help="with N processes that load a core each; 0: a quiet machine (default: 0)",
    )
    group.add_argument("--same-process", action="store_true", help="Lanner and a rival in one process, alternating runs")
    group.add_argument("--burst", type=at_least_one, default=1, help="with --same-process: this many runs of one, then of the other (default: 1)")
    group.add_argument(
        "--quota", type=states.quotas, default=[], metavar="CORES,...",
        help="each system in a cgroup with this many cores, such as 0.5; skipped where no cgroup can be made",
    )


def stopped(number, frame):
    """Like Ctrl-C: ends what was started; the table shows what was measured."""
    raise KeyboardInterrupt


def measure(options, history, clips, networks, encodes):
    """Exit code. Rows are in `history`; `clips`, `networks` and `encodes` as far as they were made."""
    try:
        with tempfile.TemporaryDirectory(prefix="lanner-bench-") as folder:
            folder = pathlib.Path(folder)
            if "encode" in options.suites:
                encode.measure(folder, options, encode.Log(options.log, history.machine), encodes.append)
            options.pairs = options.pairs or PAIRS
            if "nets" in options.suites:
                nets.measure(folder, options, history.add)
            if "video" in options.suites:
                clips += video.measure(folder, options)
            if "cuda" in options.suites:
                cuda.measure(folder, options, networks.append)
            if "run" in options.suites:
                clips += labels.measure(folder, options.run_model or jobs.made(folder, "resnet50"), options)
    except (RuntimeError, ValueError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    return 0


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, stopped)
    facts, clips, networks, encodes = machine.facts(), [], [], []
    try:
        if options.write:
            print(encode_page.write(encode.Log(options.log, facts)))
            return 0
        history = History(options.log, facts)
    except (RuntimeError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    code = measure(options, history, clips, networks, encodes)
    print("\n\n".join(filter(None, [table.report(history.rows, clips, networks), encode_page.report(encodes) if encodes else ""])))
    rows = history.rows + clips + networks + encodes
    if code == 0 and options.json:
        options.json.write_text(json.dumps({"machine": facts, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return code or int(any("failed" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main())
