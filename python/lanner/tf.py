"""TensorFlow models, converted in whole or in part, without TensorFlow in the process.

>>> model = lanner.tf.convert("saved_model/")
>>> model.build([{"x": x[:1]}, {"x": x}])
>>> model({"x": x})["y"]
>>> model.engines[0]["hits"]
>>> model.save("converted/")
>>> lanner.tf.load("converted/")
"""

from lanner._lanner import ConvertedModel, parse_example
from lanner._lanner import tf_convert as convert
from lanner._lanner import tf_load as load
from lanner._records import records
from lanner._tf_operators import engine_statistics, register

__all__ = ["ConvertedModel", "convert", "engine_statistics", "load", "parse_example", "records", "register"]
