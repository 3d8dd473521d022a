"""Writes C++ for a host's compiler with the kernels of one .cu file, and a row of emulated::KernelRow for each.

Kernel names are those after the word __global__ in the preprocessed file, as macros generate some of them.
"""

import argparse
import re
import subprocess
from pathlib import Path

KERNEL = re.compile(r"__global__\s+void\s+(\w+)\s*\(")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--depfile", type=Path, required=True)
    parser.add_argument("source", type=Path)
    parser.add_argument("result", type=Path)
    options = parser.parse_args()

    command = [options.compiler, "-std=c++20", "-E", "-P", "-DLANNER_LIST_KERNELS", "-x", "c++"]
    command += [f"-I{folder}" for folder in options.include]
    command += ["-include", "emulated_gpu/device.h", "-MMD", "-MF", str(options.depfile), "-MT", str(options.result)]
    text = subprocess.run([*command, str(options.source)], check=True, capture_output=True, text=True).stdout
    names = KERNEL.findall(text)
    if not names or len(set(names)) < len(names):
        raise SystemExit(f"{options.source}: expected kernels with unique names, got {names}")

    stem = options.source.stem
    rows = "".join(f'    emulated::Entry<&{name}>::row("{name}"),\n' for name in names)
    options.result.write_text(
        f'#include "emulated_gpu/device.h"\n#include "{options.source}"\n\n'
        f"extern const emulated::KernelRow lanner_kernels_{stem}[] = {{\n{rows}    {{}},\n}};\n"
    )


if __name__ == "__main__":
    main()
