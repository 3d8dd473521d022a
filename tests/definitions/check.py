"""Runs cases by Lanner and by the oracles, and judges the results."""

from dataclasses import dataclass, field

import onnx

from definitions import elementwise, layers, movement  # noqa: F401, their cases register themselves
from definitions.case import Case
from definitions.differences import DIFFERENCES, REFUSED, reason_of
from definitions.oracles import ORACLES, NoAnswer, by_lanner, compare


@dataclass
class Verdict:
    case: Case
    agreed: list[str] = field(default_factory=list)
    differs: dict[str, str] = field(default_factory=dict)  # By oracle, an error that no entry explains.
    known: dict[str, str] = field(default_factory=dict)  # By oracle, the reason of the entry.
    refused: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.differs) or bool(self.refused)

    def __str__(self) -> str:
        words = [f"refused: {self.refused}"] if self.refused else []
        words += [f"{oracle}: {what}" for oracle, what in self.differs.items()]
        return f"{self.case.name}: {'; '.join(words)}" + (f" (as {', '.join(self.agreed)} has it)" if self.agreed else "")


def valid(model: onnx.ModelProto) -> bool:
    """Whether ONNX's own inference accepts the case: for models that it rejects nothing is defined."""
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception:  # of several types
        return False
    return True


def judge(case: Case) -> Verdict | None:
    """None where the case is not a valid model, or no oracle can run it."""
    model = case.model()
    if not valid(model):
        return None
    answers = {}
    for oracle, ask in ORACLES.items():
        try:
            answers[oracle] = ask(case, model)
        except NoAnswer:
            continue
    if not answers:
        return None
    verdict = Verdict(case)
    try:
        got = by_lanner(case, model)
    except Exception as error:
        if not reason_of(REFUSED, "lanner", case):
            verdict.refused = str(error).splitlines()[0]
        return verdict
    for oracle, expected in answers.items():
        wrong, reason = compare(expected, got), reason_of(DIFFERENCES, oracle, case)
        if not wrong:
            verdict.agreed.append(oracle)
        elif reason:
            verdict.known[oracle] = reason
        else:
            verdict.differs[oracle] = wrong
    return verdict
