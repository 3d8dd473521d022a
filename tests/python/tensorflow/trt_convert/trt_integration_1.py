"""The modes of TensorFlow 1 of tf_trt_integration_test_base over the networks of trt_integration_networks.py: run under
`python -m lanner.compat --tf1`.

Those that convert inside a session have no counterpart (`get_tensorrt_rewriter_config`)."""

import trt_integration

from lanner.compat.trt_convert import converter_v1

converter_v1.default_names = "2.x"  # which this release of the base class expects

if __name__ == "__main__":
    trt_integration.run("testTfTrt_")
