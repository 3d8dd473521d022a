"""Whether a row of Lanner's is right, by the rule stated in the tables."""

import math
from collections.abc import Iterable

from networks.comparison import BROKEN
from networks.jobs import RANGE, shown

# Relative to the rival's noise (mean square), which rounding hardly changes, and to its largest difference, which is
# one number's luck.
NOISE_FACTOR, ERROR_FACTOR = 2.0, 4.0
UNIT = {"fp32": 2.0**-23, "fp16": 2.0**-10}
# Units in the last place that are ignored.
NOISE_UNITS, ERROR_UNITS = 2, 4
# For a shape that the rival does not run.
WITHOUT_RIVAL = {"fp32": 1e-4, "fp16": 2e-2}
# Share of the boxes that the rival finds; or one box a picture less, if those are few.
MATCHED_LESS = 0.05
# Above this error of the rival, a network amplifies rounding so much that it is compared in pieces too.
AMPLIFIES = {"fp32": 1e-4, "fp16": 5e-2}

Rivals = dict[tuple[str, str, str, str], dict]
"""Rows by network, label, device and precision."""


def by_place(rows: Iterable[dict]) -> Rivals:
    return {(row["network"], row["label"], row["device"], row["precision"]): row for row in rows}


def rival_outputs(row: dict, rivals: Rivals, same_device: bool = True) -> dict[str, dict]:
    """The rival's row for the same network, device, precision and shape, or shapes; with `same_device` the larger errors of two rivals, on
    the CPU and on the device itself."""
    if "rival_outputs" in row:
        return row["rival_outputs"]

    def outputs(label: str) -> dict[str, dict]:
        found = rivals.get((row["network"], label, row["device"], row["precision"]), {})
        there = found.get("same_device", {}).get("outputs", {}) if same_device else {}
        return {name: laxer(one, there.get(name)) for name, one in found.get("outputs", {}).items()}

    if row["label"] != RANGE:
        return outputs(row["label"])
    return {shown(label, name): one for label in ("exported", "other") for name, one in outputs(label).items()}


def laxer(one: dict, other: dict | None) -> dict:
    """The larger errors of two rivals."""
    if other is None or "matched" in one or one["unlike"] or other["unlike"]:
        return one
    return {"unlike": "", "error": max(one["error"], other["error"]), "snr": min(one["snr"], other["snr"])}


def amplifies(rival: dict) -> bool:
    return worst_error(rival.get("outputs", {})) > AMPLIFIES[rival["precision"]]


def failures(row: dict, rivals: Rivals, same_device: bool = True) -> list[str]:
    """What is wrong with a row, as text; empty if nothing is."""
    if "failure" in row:
        fault = row["failure"]
        return [f"{fault['kind']} ({fault['stage'] or 'start'}): {fault['text']}"]
    found = []
    rival, precision = rival_outputs(row, rivals, same_device), row["precision"]
    for name, ours in row["outputs"].items():
        text = wrong_output(ours, rival.get(name), precision)
        if text:
            found.append(f"{name}: {text}")
    for field, text in (("spread", "runs differ"), ("beside", "two contexts at once differ from one")):
        if row.get(field, 0.0) > ERROR_UNITS * UNIT[precision]:
            found.append(f"{text} by {row[field]:.2g}")
    return found


def noise(output: dict) -> float:
    """Its root mean square relative to the signal's."""
    return 10 ** (-output["snr"] / 20)


def wrong_output(ours: dict, rival: dict | None, precision: str) -> str:
    if ours["unlike"]:
        return "" if too_large_for_both(ours, rival) else ours["unlike"]
    usable = rival is not None and not rival["unlike"]
    if "matched" in ours:
        theirs = rival["matched"] if usable else 1.0
        less = max(MATCHED_LESS, ours.get("one_box", 0.0))
        return f"{ours['matched']:.0%} of the boxes found, by the rival {theirs:.0%}" if ours["matched"] < theirs - less - 1e-9 else ""
    if not usable:
        return f"error {ours['error']:.2g}, no rival ran it" if ours["error"] > WITHOUT_RIVAL[precision] else ""
    unit = UNIT[precision]
    noisy = noise(ours) > max(NOISE_FACTOR * noise(rival), NOISE_UNITS * unit)
    far = ours["error"] > max(ERROR_FACTOR * rival["error"], ERROR_UNITS * unit)
    if not noisy and not far:
        return ""
    return f"error {ours['error']:.2g} at {ours['snr']:.0f} dB, the rival's {rival['error']:.2g} at {rival['snr']:.0f} dB"


def too_large_for_both(ours: dict, rival: dict | None) -> bool:
    """Whether the network leaves the range of its type: the rival's numbers are NaN or infinite too."""
    return all(one is not None and one["unlike"].endswith(BROKEN) for one in (ours, rival))


def beyond_the_type(row: dict, rivals: Rivals) -> list[str]:
    """Outputs that neither Lanner nor its rival can compute in this precision."""
    rival = rival_outputs(row, rivals)
    return [name for name, ours in row.get("outputs", {}).items() if too_large_for_both(ours, rival.get(name))]


def worst_error(outputs: dict[str, dict]) -> float:
    return max((math.inf if one["unlike"] else one.get("error", 0.0) for one in outputs.values()), default=0.0)


def min_snr(outputs: dict[str, dict]) -> float:
    return min((-math.inf if one["unlike"] else one.get("snr", math.inf) for one in outputs.values()), default=math.inf)
