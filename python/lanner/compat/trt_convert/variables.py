"""Environment variables of TF-TRT."""

import os

from lanner.compat.trt_convert import logs

_WITHOUT_EFFECT = {
    "TF_TRT_OP_FAKELIST": "operators are not converted in pretence; the report names those that stay native",
    "TF_TRT_ABORT_CUDA_ENGINE_BUILD": "it is for tests of TF-TRT's own builds",
    "TF_TRT_ENABLE_LAYOUT_OPTIMIZER": "layouts are chosen for each engine",
    "TF_DEBUG_TRT_ALLOW_INEFFICIENT_TRANSPOSE": "every transpose is converted",
}
_KNOWN = {
    "TF_TRT_OP_DENYLIST",
    "TF_TRT_OP_BLACKLIST",
    "TF_TRT_MAX_ALLOWED_ENGINES",
    "TF_TRT_SHOW_DETAILED_REPORT",
    "TF_TRT_EXPORT_GRAPH_VIZ_PATH",
    "TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION",  # read where the model runs
    "TF_TRT_EXPERIMENTAL_FEATURES",
}
_FEATURES = {"remove_native_segments"}
DEFAULT_MAXIMUM_ENGINES = 20


def tell_of_those_without_effect() -> None:
    """Names each variable that is set and has no effect in one line, once in a process."""
    for name in sorted(os.environ):
        if name in _WITHOUT_EFFECT:
            logs.tell_once(f"{name} has no effect: {_WITHOUT_EFFECT[name]}.")
        elif name.startswith("TF_TRT_") and name not in _KNOWN:
            logs.tell_once(f"{name} has no effect: Lanner does not know it.")
    for feature in sorted(experimental_features() - _FEATURES):
        reason = "variables become constants always" if feature == "disable_graph_freezing" else "Lanner has no such feature"
        logs.tell_once(f"TF_TRT_EXPERIMENTAL_FEATURES={feature} has no effect: {reason}.")


def denied_operators() -> list[str]:
    listed = (os.environ.get(name, "") for name in ("TF_TRT_OP_DENYLIST", "TF_TRT_OP_BLACKLIST"))
    return sorted({op.strip() for text in listed for op in text.split(",") if op.strip()})


def maximum_engines() -> int:
    """How many engines a conversion may make; 0: no limit."""
    text = os.environ.get("TF_TRT_MAX_ALLOWED_ENGINES", "")
    try:
        number = int(text) if text else DEFAULT_MAXIMUM_ENGINES
    except ValueError:
        raise ValueError(f"TF_TRT_MAX_ALLOWED_ENGINES: expected a number, got '{text}'") from None
    if number <= 0:
        logs.write(logs.WARNING, "segment", "TF_TRT_MAX_ALLOWED_ENGINES is <= 0: the number of engines is not limited.")
    return max(number, 0)


def detailed_report() -> tuple[bool, str]:
    """Whether the reasons are shown, and the CSV file that they are written to, if any."""
    value = os.environ.get("TF_TRT_SHOW_DETAILED_REPORT", "")
    try:
        return int(value or 0) >= 1, ""
    except ValueError:
        return True, value


def graph_viz_path() -> str:
    return os.environ.get("TF_TRT_EXPORT_GRAPH_VIZ_PATH", "")


def experimental_features() -> set[str]:
    return {feature for feature in os.environ.get("TF_TRT_EXPERIMENTAL_FEATURES", "").split(",") if feature}
