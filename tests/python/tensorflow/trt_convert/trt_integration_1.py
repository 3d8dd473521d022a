"""The modes of TensorFlow 1 of tf_trt_integration_test_base over the networks of trt_integration.py: run under `python -m lanner.compat --tf1`.

Those that convert inside a session have no counterpart (`get_tensorrt_rewriter_config`)."""

import gc
import json
import sys
import unittest
from pathlib import Path

import trt_integration

import lanner
from lanner.compat.trt_convert import converter_v1

converter_v1.default_names = "2.x"  # which this release of the base class expects


def cases():
    for each in (trt_integration.OneEngine, trt_integration.TwoEngines):
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(each):
            if "testTfTrt_" in test.id() and "OnlineConversion" not in test.id():
                yield test


if __name__ == "__main__":
    lanner.tf.register(budget=0)  # to be quick
    gc.freeze()  # the base class collects garbage after each test
    result = unittest.TextTestRunner().run(unittest.TestSuite(cases()))
    failed = [f"{test}: {text[-2000:]}" for test, text in [*result.failures, *result.errors]]
    (Path(sys.argv[1]) / "results.json").write_text(json.dumps({"ran": result.testsRun - len(result.skipped), "failed": failed}))
