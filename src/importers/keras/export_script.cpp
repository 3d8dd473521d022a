#include "importers/keras/keras_export.h"

namespace lanner::keras {

// What the file says is checked before Keras sees it: classes and functions that are not Keras' own, code in
// the file, layers that read other files, and links out of an HDF5 file. Older releases of Keras let some of
// these pass in spite of safe_mode.
const char* const export_script = R"python(import json
import re
import resource
import signal
import sys
import zipfile

MODEL, FOLDER, LIMIT = sys.argv[1], sys.argv[2], int(sys.argv[3])
BAD, UNSUPPORTED, NO_KERAS = 3, 4, 5
OWN = re.compile(r"keras(\.src)?(\.(layers|models|engine|ops|initializers|regularizers|constraints|activations|losses"
                 r"|metrics|optimizers|dtype_policies|mixed_precision|quantizers|random|applications)(\.\w+)*)?")
CODE = {"Lambda", "__lambda__", "PythonLambda", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer"}


def stop(code, message):
    print("\n" + " ".join(str(message).split())[:1000], flush=True)
    sys.exit(code)


def limit_process():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with its parent
    except Exception:
        pass


def check_config(value, depth=0):
    if depth > 200:
        stop(BAD, "its configuration is nested more than 200 deep")
    if isinstance(value, list):
        for one in value:
            check_config(one, depth + 1)
    if not isinstance(value, dict):
        return
    kind, module = value.get("class_name"), value.get("module")
    if isinstance(kind, str) and kind.split(">")[-1] in CODE:
        stop(UNSUPPORTED, f"it has a {kind}, whose code is not run; replace it by layers of Keras, or export the model yourself")
    if kind is not None and isinstance(module, str) and module != "builtins" and not OWN.fullmatch(module):
        stop(UNSUPPORTED, f"{kind} of {module} is not Keras' own, and code of others is not run; export the model yourself")
    if isinstance(value.get("vocabulary"), str) and value["vocabulary"]:
        stop(UNSUPPORTED, "a layer reads its vocabulary from another file; export the model yourself")
    for name, one in value.items():
        if name != "compile_config":
            check_config(one, depth + 1)


def check_hdf5(group, seen):
    import h5py

    for name in group:
        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            stop(BAD, f"its entry {name} is a link to another file")
        one = group.get(name)
        if one is None:
            continue
        where = h5py.h5o.get_info(one.id).addr
        if where in seen:
            continue
        seen.add(where)
        if isinstance(one, h5py.Group):
            check_hdf5(one, seen)
        elif isinstance(one, h5py.Dataset) and (one.external or one.is_virtual):
            stop(BAD, f"the values of {name} are in another file")


def check_model():
    import h5py

    if MODEL.endswith(".h5"):
        with h5py.File(MODEL, "r") as file:
            check_hdf5(file, set())
            config = file.attrs.get("model_config")
        if config is None:
            stop(BAD, "it has weights but no network")
        check_config(json.loads(config))
        return
    with zipfile.ZipFile(MODEL) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > LIMIT:
            stop(BAD, f"its parts are larger than the limit of {LIMIT} bytes")
        check_config(json.loads(archive.read("config.json")))
        with archive.open("model.weights.h5") as weights, h5py.File(weights, "r") as file:
            check_hdf5(file, set())


def main():
    limit_process()
    try:
        check_model()
        import tensorflow  # noqa: F401

        import keras
    except ImportError as error:
        stop(NO_KERAS, error)
    load = keras.saving.load_model if hasattr(keras, "saving") else keras.models.load_model
    model = load(MODEL, compile=False, safe_mode=True)
    try:
        model.export(FOLDER, verbose=False)
    except TypeError:  # before Keras 3
        model.export(FOLDER)


try:
    main()
except MemoryError:
    stop(BAD, "memory was refused by the system")
except Exception as error:
    stop(BAD, f"{type(error).__name__}: {error}")
)python";

} // namespace lanner::keras
