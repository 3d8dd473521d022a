"""Speed against other products: `./dev bench` runs this after the build.

Every system runs in a process of its own and waits while another is measured. One pair is a measurement of Lanner and of a
rival, one right after the other; the ratio is taken pair by pair, so that a machine that changes its speed changes both.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

import nets
import video

HERE = pathlib.Path(__file__).resolve().parent


def machine():
    """What the figures were taken on, without its name."""
    model = next(
        (line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")),
        platform.machine(),
    )
    facts = {"date": datetime.date.today().isoformat(), "cpu": model, "cores": os.cpu_count(), "python": platform.python_version()}
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        facts["gpu"], facts["driver"] = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
    return facts


def parse_options():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", default=["nets", "video"], help="nets, video (default: both)")
    parser.add_argument("--nets", default="resnet50,mobilenet_v2,vgg16,bert_base,mlp", help="names that make_nets.py knows, comma separated")
    parser.add_argument("--batch", default="1,8", help="batch sizes, comma separated (default: 1,8)")
    parser.add_argument("--threads", type=int, default=2, help="of every system that runs networks (default: 2)")
    parser.add_argument("--codec-threads", type=int, default=2 * os.cpu_count(), help="of every system that decodes (default: twice the cores, as frame threads wait for each other)")
    parser.add_argument("--pairs", type=int, default=20, help="measurements of each rival against Lanner (default: 20)")
    parser.add_argument("--budget", type=float, help="seconds that tuning may take (default: Lanner's own, as users get it)")
    parser.add_argument("--device", default="cpu", help="where video is decoded: cpu, or cuda:0 beside PyNvVideoCodec (default: cpu)")
    parser.add_argument("--clips", type=pathlib.Path, help="folder in which the clips are kept and looked for")
    parser.add_argument("--json", type=pathlib.Path, help="file that gets every measurement")
    return parser.parse_args()


def table(rows):
    """Markdown: a line for each network and rival."""
    lines = ["| job | Lanner | rival | | ratio (95 % interval) | budget, build |", "|---|---|---|---|---|---|"]
    for row in rows:
        low, high = row["interval"]
        lines.append(
            f"| {row['job']} | {row['lanner']} | {row['rival_name']} | {row['rival']} | "
            f"**{row['ratio']:.2f}** ({low:.2f} to {high:.2f}) | {row.get('built', '')} |"
        )
    return "\n".join(lines)


def main():
    options = parse_options()
    unknown = set(options.suites) - {"nets", "video"}
    if unknown:
        print(f"bench: unknown suite {', '.join(sorted(unknown))}; known are nets, video", file=sys.stderr)
        return 2
    rows = []
    with tempfile.TemporaryDirectory(prefix="lanner-bench-") as folder:
        folder = pathlib.Path(folder)
        try:
            if "nets" in options.suites:
                rows += nets.measure(folder, options)
            if "video" in options.suites:
                rows += video.measure(folder, options)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"bench: {error}", file=sys.stderr)
            return 1
    print(table(rows))
    best = [row["ratio"] for row in rows if row.get("best")]
    if best:
        print(f"\nmedian ratio to the better rival over {len(best)} networks and batches: {statistics.median(best):.2f}")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
