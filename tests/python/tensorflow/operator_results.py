"""Writes src/importers/tensorflow/operator_results.inc: the results of the operators that TensorFlow's registry has, of those that
the rules name. In a Python with TensorFlow:

    python tests/python/tensorflow/operator_results.py          # prints it
"""

import os
import re
from pathlib import Path

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
from tensorflow.python.framework import op_def_registry  # noqa: E402

FOLDER = Path(__file__).parents[3] / "src" / "importers" / "tensorflow"
NOT_REGISTERED = {  # those of builds for GPUs, and of copies between devices
    "FusedConv2DBiasActivation": "output=T",
    "_CopyFromGpuToHost": "output=T",
    "_CopyFromHostToGpu": "output=T",
    "LogicalXor": "z=10",  # TensorFlow makes it of others
}


def spec(op, result):
    """`name`, `*count attribute`, and `=number` of a type, `=attribute` or `@attribute` with a list, `|default`."""
    text = result.name + (f"*{result.number_attr}" if result.number_attr else "")
    attribute = result.type_attr or result.type_list_attr
    if not attribute:
        return f"{text}={result.type}"
    defaults = [attr.default_value.type for attr in op.attr if attr.name == attribute and attr.HasField("default_value")]
    return text + ("=" if result.type_attr else "@") + attribute + (f"|{defaults[0]}" if defaults and defaults[0] else "")


def named_operators():
    """Every name in the rules that may be an operator's."""
    sources = [*(FOLDER / "rules").glob("*.cpp"), *(FOLDER / "control_flow").glob("*.cpp")]
    names = {name for path in sources for text in re.findall(r'"([\w ]+)"', path.read_text()) for name in text.split()}
    others = {"PartitionedCall", "StatefulPartitionedCall", "InitializeTable", "InitializeTableV2", "LookupTableImportV2"}
    others |= {"InitializeTableFromTextFile", "InitializeTableFromTextFileV2", "LookupTableInsertV2", "LookupTableRemoveV2"}
    others |= {f"SparseSegment{kind}WithNumSegments" for kind in ("Mean", "SqrtN", "Sum")}
    return sorted(name for name in names | others if re.match(r"_?[A-Z]", name))


def table():
    entries = dict(NOT_REGISTERED)
    for name in named_operators():
        op = op_def_registry.get(name)
        if op is not None:
            entries[name] = " ".join(spec(op, result) for result in op.output_arg)
    lines, line = ["// Written by tests/python/tensorflow/operator_results.py."], ""
    for name, results in sorted(entries.items()):
        entry = f"{name} {results}".strip() + ";"
        if len(line) + len(entry) > 100:
            lines.append(f'"{line}"')
            line = ""
        line += entry
    return "\n".join([*lines, f'"{line}"', ""])


if __name__ == "__main__":
    print(table(), end="")
