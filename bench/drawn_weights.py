"""Random weights of a seed by NumPy alone, and saved models that travel without them.

    python drawn_weights.py pack networks/vgg16 vgg16.tar.xz
    python drawn_weights.py unpack vgg16.tar.xz networks/vgg16

FOLDER/drawn.json, which tensorflow_models.py writes, says which kernels were drawn and how. In a packed model zeros stand for them, so that a
file of half a gigabyte has less than two megabytes; unpacked it has the same bytes again, on a machine without TensorFlow too.
"""

import argparse
import json
import tarfile
import tempfile
from pathlib import Path

import numpy as np

# What the places of a kernel have in common, beside what each has of its own: a trained network's kernels are mostly smooth. With independent
# places each layer makes noise of a picture's details, and at the end little is left of its class.
COMMON = 1.0
VARIABLES = Path("saved_model", "variables", "variables.data-00000-of-00001")


def drawn_kernel(random, shape):
    """Normal, of variance 1. Places of a convolution's kernel have a part in common."""
    own = random.standard_normal(shape, np.float32)
    if len(shape) < 4:
        return own
    common = random.standard_normal((1, 1, *shape[2:]), np.float32)
    return (own + np.float32(COMMON) * common) / np.float32(np.sqrt(1 + COMMON**2))


def kernels(layer, descriptions):
    """Those of a layer, with the variance of He et al. 2015; layers have generators of their own. A description has the shape, the number of
    values that a sum takes (fan_in), and a divisor for each channel if there is one."""
    random = np.random.default_rng([0, layer])
    for one in descriptions:
        kernel = drawn_kernel(random, one["shape"]) * np.float32(np.sqrt(2 / one["fan_in"]))
        if "divisor" in one:
            kernel = (kernel / np.array(one["divisor"])).astype(np.float32)
        yield kernel


def all_kernels(folder):
    """Layer, place in it, and bytes."""
    for layer, descriptions in json.loads((folder / "drawn.json").read_text()).items():
        for place, kernel in enumerate(kernels(int(layer), descriptions)):
            yield layer, place, kernel.tobytes()


def places_of(kernel, data):
    """Offsets of all copies: Keras' export has each variable twice. A long search would be slow, so its beginning is looked for first."""
    offset = data.find(kernel[:64])
    while offset >= 0:
        if data[offset : offset + len(kernel)] == kernel:
            yield offset
        offset = data.find(kernel[:64], offset + 1)


def pack(folder, packed):
    """Returns how many kernels are left out; the last layer, which was fitted, is not."""
    original = (folder / VARIABLES).read_bytes()
    data = bytearray(original)
    found = []
    for layer, place, kernel in all_kernels(folder):
        offsets = list(places_of(kernel, original))
        for offset in offsets:
            data[offset : offset + len(kernel)] = bytes(len(kernel))
        if offsets:
            found.append([layer, place, offsets])
    with tempfile.TemporaryDirectory() as made, tarfile.open(packed, "w:xz") as tar:
        (Path(made) / "variables").write_bytes(data)
        (Path(made) / "places.json").write_text(json.dumps(found))
        tar.add(Path(made) / "variables", VARIABLES)
        tar.add(Path(made) / "places.json", "places.json")
        tar.add(folder / "drawn.json", "drawn.json")
        for path in sorted((folder / "saved_model").rglob("*")):
            if path.is_file() and path != folder / VARIABLES:
                tar.add(path, path.relative_to(folder))
    return len(found)


def unpack(packed, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(packed) as tar:
        tar.extractall(folder)
    places = {(layer, place): offsets for layer, place, offsets in json.loads((folder / "places.json").read_text())}
    with (folder / VARIABLES).open("r+b") as data:
        for layer, place, kernel in all_kernels(folder):
            for offset in places.get((layer, place), []):
                data.seek(offset)
                data.write(kernel)
    (folder / "places.json").unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["pack", "unpack"])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    if arguments.action == "pack":
        print(f"{pack(arguments.source, arguments.target)} kernels left out, {arguments.target.stat().st_size} bytes")
    else:
        unpack(arguments.source, arguments.target)


if __name__ == "__main__":
    main()
