"""Code of NVIDIA's guide to TF-TRT, taken from its text beside the project, and the repairs of what print broke in it."""

import re
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "tf-trt-user-guide.txt"

# Names whose underscores were lost.
NAMES = """batch_size calib_table calibration_data conversion_params feed_dict fetch_names frozen_func frozen_graph graph_func
input_data input_graph_def input_map_fn input_tensor max_workspace_size_bytes maximum_cached_engines nodes_blacklist
num_calib_inputs num_runs output_node_names output_saved_model_dir output_tensor precision_mode return_elements saved_model
trt_convert trt_graph use_calibration""".split()

# What is repaired beside them: as printed, as it should be, and what is wrong. docs/tf-trt.md lists the third column.
REPAIRS = [
    ("params. replace(", "params._replace(", "underscores are lost in names"),
    ('.replace("/", " ")', '.replace("/", "_")', "underscores are lost in names"),
    ("(11<32)", "(1<<32)", "`11<32` is `1<<32`"),
    ("Inp1 =", "inp1 =", "`Inp1` is `inp1`"),
    ("constants(\n        tf.get_default_graph()", "constants(\n        sess, tf.get_default_graph()", "`convert_variables_to_constants` lacks its argument `sess`"),
    ("sess.run(output_node)", "sess.run(output_node, feed_dict=feed_dict)", "`sess.run(output_node)` lacks its `feed_dict`"),
    ("frozen_func(input_data)", "frozen_func(*input_data)", "`frozen_func` of a network with two inputs is given one"),
    ("TFRecordDataset(data_files)", "TFRecordDataset(data_files).map(parse)", "records are not parsed"),
    (
        "tf.quantize_and_dequantize_v2(x, ",
        "tf.quantization.quantize_and_dequantize_v2(x, range_given=True, ",
        "`quantize_and_dequantize_v2` is in `tf.quantization`, and its ranges need `range_given=True`",
    ),
    ('"/path/to/your/frozen/graph.pb"', "frozen_graph_file", "paths"),
    ('"/path/to/your/model.ckpt.meta"', 'checkpoint + ".meta"', "paths"),
    ('"/path/to/your/model.ckpt"', "checkpoint", "paths"),
]


def blocks():
    return re.findall(r"^```\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


def repaired(code):
    for name in NAMES:
        code = re.sub(rf"(?<![A-Za-z0-9_]){name.replace('_', '[ _]')}(?![A-Za-z0-9_])", name, code)
    for printed, right, _ in REPAIRS:
        code = code.replace(printed, right)
    return _indented(code)


def _indented(code):
    """Indents lines that print has moved: those of an open bracket do not matter, those of a block get four spaces a level."""
    made, depth, levels = [], 0, [-1]
    opened = False
    for line in code.splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        width = len(line) - len(line.lstrip())
        if depth == 0:
            if opened:
                levels.append(max(width, levels[-1] + 1))
            else:
                tolerance = 0 if text.startswith("else") else 1  # one space is an error of print
                while len(levels) > 1 and width < levels[-1] - tolerance:
                    levels.pop()
        made.append(" " * 4 * (len(levels) - 1 + (depth > 0)) + text)
        code_only = re.sub(r"'[^']*'|\"[^\"]*\"|#.*", "", text)
        depth += sum(code_only.count(c) for c in "([{") - sum(code_only.count(c) for c in ")]}")
        opened = depth == 0 and code_only.rstrip().endswith(":")
    return "\n".join(made) + "\n"


def example(*numbers):
    """Code of these blocks, one after the other, repaired."""
    every = blocks()
    return repaired("".join(every[number] for number in numbers))


if __name__ == "__main__":
    for number, block in enumerate(blocks()):
        print(f"-------- {number}\n{repaired(block)}", end="")
