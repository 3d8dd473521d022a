"""TensorFlow's own tf_trt_integration_test_base, which its wheel still has, over two networks: run by test_trt_convert.py."""

import gc
import json
import os
import sys
import unittest
from pathlib import Path

os.environ["TF_TRT_OP_DENYLIST"] = "Erfc"  # which TF-TRT did not convert
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.compiler.tensorrt.test import tf_trt_integration_test_base as base  # noqa: E402

import lanner  # noqa: E402

RANDOM = np.random.default_rng(0)
FIRST, SECOND = RANDOM.normal(0, 0.3, (3, 3, 2, 6)).astype(np.float32), RANDOM.normal(0, 0.3, (3, 3, 6, 4)).astype(np.float32)


class OneEngine(base.TfTrtIntegrationTestBase):
    def network(self, x):
        y = tf.nn.conv2d(x, tf.constant(FIRST, name="weights"), [1, 2, 2, 1], "SAME", name="conv")
        y = tf.nn.relu(tf.nn.bias_add(y, tf.constant([0.5] * 6, name="bias"), name="bias_add"), name="relu")
        y = tf.nn.max_pool2d(tf.identity(y, name="identity"), 2, 2, "VALID", name="pool")
        return tf.identity(y, name="output_0")

    def GetParams(self):  # noqa: N802 - TensorFlow's names
        return self.BuildParams(self.network, tf.float32, [[16, 24, 24, 2]], [[16, 6, 6, 6]])

    def ExpectedEnginesToBuild(self, run_params):  # noqa: N802
        return {"TRTEngineOp_000": ["weights", "conv", "bias", "bias_add", "relu", "identity", "pool"]}


class TwoEngines(base.TfTrtIntegrationTestBase):
    def network(self, x):
        y = tf.nn.relu(tf.nn.conv2d(x, tf.constant(FIRST, name="weights"), 1, "SAME", name="conv"), name="relu")
        y = self.trt_incompatible_op(y, name="incompatible")
        y = tf.nn.conv2d(y, tf.constant(SECOND, name="weights1"), 1, "SAME", name="conv1")
        return tf.identity(tf.nn.relu(y, name="relu1"), name="output_0")

    def GetParams(self):  # noqa: N802
        known = [[False, True, True, True]]
        return self.BuildParamsWithMask(
            self.network,
            tf.float32,
            [[8, 12, 12, 2]],
            [[8, 12, 12, 4]],
            input_mask=known,
            output_mask=known,
            extra_inputs=[[[4, 12, 12, 2]]],
            extra_outputs=[[[4, 12, 12, 4]]],
        )

    def ShouldRunTest(self, run_params):  # noqa: N802
        return not base.IsQuantizationMode(run_params.precision_mode), "calibration takes one shape"

    def ExpectedEnginesToBuild(self, run_params):  # noqa: N802
        return {"TRTEngineOp_000": ["weights1", "conv1", "relu1"], "TRTEngineOp_001": ["weights", "conv", "relu"]}


for each in (OneEngine, TwoEngines):
    base._AddTests(each)

if __name__ == "__main__":
    lanner.tf.register(budget=0)  # to be quick
    gc.freeze()  # the base class collects garbage after each test
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(each) for each in (OneEngine, TwoEngines))
    result = unittest.TextTestRunner().run(suite)
    failed = [f"{test}: {text[-2000:]}" for test, text in [*result.failures, *result.errors]]
    (Path(sys.argv[1]) / "results.json").write_text(json.dumps({"ran": result.testsRun - len(result.skipped), "failed": failed}))
