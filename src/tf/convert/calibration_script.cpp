#include "tf/convert/tensorflow_run.h"

namespace lanner::tf {

// It needs TensorFlow and NumPy alone: the interpreter may have no lanner. A tensor's bytes are those of
// NumPy, of a type that TensorFlow knows by the name in TYPES.
const char* const calibration_script = R"python(import json
import sys

MODEL, FOLDER, BATCHES = sys.argv[1], sys.argv[2], int(sys.argv[3])
FAILED, NO_TENSORFLOW = 3, 5
TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
         "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool"}


def stop(code, message):
    print("\n" + " ".join(str(message).split())[:1000], flush=True)
    sys.exit(code)


def end_with_parent():
    try:
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    except Exception:
        pass


end_with_parent()
try:
    import numpy as np
    import tensorflow as tf
    from tensorflow.python.saved_model.loader_impl import SavedModelLoader
except Exception as error:
    stop(NO_TENSORFLOW, error)


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name.startswith("="):
            dtype = tf.dtypes.as_dtype(TYPES[entry["dtype"]]).as_numpy_dtype
            begin, end = entry["data_offsets"]
            tensors[name[1:]] = np.frombuffer(data[start + begin : start + end], dtype).reshape(entry["shape"])
    return tensors


def write(path, tensors):
    names = {value: key for key, value in TYPES.items()}
    header, parts, begin = {}, [], 0
    for name, value in tensors.items():
        part = np.ascontiguousarray(value).tobytes()
        dtype = names[tf.dtypes.as_dtype(value.dtype).name]
        header["=" + name] = {"dtype": dtype, "shape": list(np.shape(value)), "data_offsets": [begin, begin + len(part)]}
        parts.append(part)
        begin += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def main():
    session = tf.compat.v1.Session(graph=tf.Graph())
    try:
        with session.graph.as_default():
            signature = SavedModelLoader(MODEL).load(session, ["serve"]).signature_def["calibration"]
    except Exception as error:
        stop(FAILED, f"TensorFlow cannot load the model: {error}")
    outputs = {name: info.name for name, info in signature.outputs.items()}
    for number in range(BATCHES):
        feeds = {signature.inputs[name].name: value for name, value in read(f"{FOLDER}/batch_{number}.safetensors").items()}
        try:
            results = session.run(outputs, feeds)
        except Exception as error:
            stop(FAILED, f"batch {number}: TensorFlow cannot run it: {getattr(error, 'message', error)}")
        write(f"{FOLDER}/result_{number}.safetensors", {name: np.asarray(value) for name, value in results.items()})


main()
)python";

} // namespace lanner::tf
