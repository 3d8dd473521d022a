"""Saves networks of Keras, and files that must not be run: in TensorFlow's own Python."""

import json
import os
import pickle
import sys
import zipfile
from pathlib import Path

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402

root = Path(sys.argv[1])
keras.utils.set_random_seed(0)
x = inputs = keras.Input((16, 16, 3), name="image")
x = keras.layers.Conv2D(8, 3, padding="same", activation="relu")(x)
x = keras.layers.BatchNormalization()(x)
x = keras.layers.Dense(5, activation="softmax")(keras.layers.GlobalAveragePooling2D()(x))
model = keras.Model(inputs, x)
model.compile("adam", "categorical_crossentropy")
model.save(root / "m.keras")
model.save(root / "m.h5")
model.save_weights(root / "only.weights.h5")
given = np.random.default_rng(0).normal(size=(3, 16, 16, 3)).astype(np.float32)
(root / "answers.pickle").write_bytes(pickle.dumps((given, model(given, training=False).numpy())))

a = keras.Input((4,))
coded = keras.Model(a, keras.layers.Lambda(lambda v: v + 1)(a))
coded.save(root / "lambda.keras")
coded.save(root / "lambda.h5")


def rewritten(name, change):
    """m.keras with another configuration."""
    with zipfile.ZipFile(root / "m.keras") as old, zipfile.ZipFile(root / name, "w") as new:
        for entry in old.namelist():
            data = old.read(entry)
            if entry == "config.json":
                config = json.loads(data)
                change(config["config"]["layers"][1])
                data = json.dumps(config)
            new.writestr(entry, data)


mark = str(root / "run")
rewritten("module.keras", lambda layer: layer.update(module="os", class_name="system", config=f"touch {mark}"))
rewritten("function.keras", lambda layer: layer["config"].update(activation={"class_name": "function", "module": "keras.utils", "config": "get_file"}))
rewritten("vocabulary.keras", lambda layer: layer.update(module="keras.layers", class_name="StringLookup", config={"vocabulary": "/etc/passwd"}))
deep = {}
for _ in range(300):
    deep = {"x": deep}
rewritten("deep.keras", lambda layer: layer.update(more=deep))

for name in ("link", "external"):
    (root / f"{name}.h5").write_bytes((root / "m.h5").read_bytes())
with h5py.File(root / "link.h5", "a") as file:
    file["model_weights/other"] = h5py.ExternalLink("m.h5", "/model_weights")
with h5py.File(root / "external.h5", "a") as file:
    file.create_dataset("model_weights/other", (4,), "u1", external=[("/etc/passwd", 0, 4)])
