"""TensorFlow's own tf_trt_integration_test_base, which its wheel still has, over the networks of trt_integration_networks.py: run by
test_trt_convert.py, as FOLDER PART PARTS."""

import gc
import json
import os
import sys
import unittest
from pathlib import Path

os.environ["TF_TRT_OP_DENYLIST"] = "Erfc"  # which TF-TRT did not convert
import tensorflow as tf  # noqa: E402
import trt_integration_networks as networks  # noqa: E402
from tensorflow.python.compiler.tensorrt.test import tf_trt_integration_test_base as base  # noqa: E402

import lanner  # noqa: E402


class Integration(base.TfTrtIntegrationTestBase):
    case = None

    def network(self, *inputs):
        networks.RANDOM = networks.np.random.default_rng(0)  # a network is made several times
        outputs = self.case.network(*inputs)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        return [tf.identity(output, name=f"output_{number}") for number, output in enumerate(outputs)]

    # TensorFlow's names
    def GetParams(self):  # noqa: N802
        case = self.case
        if case.open is None and not case.more:
            return self.BuildParams(self.network, case.dtype, case.inputs, case.outputs)
        known = [case.open or [[False] + [True] * (len(shape) - 1) for shape in shapes] for shapes in (case.inputs, case.outputs)]
        inputs, outputs = [list(each) for each in zip(*case.more, strict=True)]
        return self.BuildParamsWithMask(self.network, case.dtype, case.inputs, case.outputs, *known, inputs, outputs)

    def ShouldRunTest(self, run_params):  # noqa: N802
        run, why = super().ShouldRunTest(run_params)
        mode = "profiles" if run_params.dynamic_shape else "dynamic" if run_params.dynamic_engine else "static"
        run = run and not run_params.convert_online and (run_params.is_v2 or not self.case.only_2)
        return run and {mode, run_params.precision_mode} <= set(self.case.modes), why

    def ExpectedEnginesToBuild(self, run_params):  # noqa: N802
        return self.case.engines

    def ExpectedAbsoluteTolerance(self, run_params):  # noqa: N802
        return self.case.atol if run_params.precision_mode == "FP16" else super().ExpectedAbsoluteTolerance(run_params)


def classes():
    for case in networks.CASES:
        made = type(case.name, (Integration,), {"case": case})
        base._AddTests(made)
        yield made


def run(prefix):
    """Runs a part of the tests whose names begin so."""
    part, parts = map(int, sys.argv[2:])
    lanner.tf.register(budget=0)  # to be quick
    gc.freeze()  # the base class collects garbage after each test
    cases = [test for each in list(classes())[part::parts] for test in unittest.defaultTestLoader.loadTestsFromTestCase(each) if prefix in test.id()]
    result = unittest.TextTestRunner().run(unittest.TestSuite(cases))
    failed = [f"{test}: {text[-2000:]}" for test, text in [*result.failures, *result.errors]]
    (Path(sys.argv[1]) / "results.json").write_text(json.dumps({"ran": result.testsRun - len(result.skipped), "failed": failed}))


if __name__ == "__main__":
    run("testTfTrtV2_")
