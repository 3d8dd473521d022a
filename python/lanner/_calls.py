"""One line for a call that fits no function, of its signature and of what was given. Imported when that happens."""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lanner import _lanner

LONGEST_VALUE = 80
FIRST_32_BITS = range(-(2**31), 2**32)
FIRST_64_BITS = range(-(2**63), 2**64)


@dataclass
class Parameter:
    name: str
    annotation: ast.expr | None
    optional: bool
    keyword_only: bool

    @property
    def expected(self) -> str:
        return f"; expected {ast.unparse(self.annotation)}" if self.annotation else ""


def parameters_of(signature: str, bound: bool) -> list[Parameter]:
    """Of `def save(self, path: str, weights: bool = \\0) -> None`, where nanobind has a number for a default."""
    text = re.sub(r"\\=?\d+", "...", signature.strip().rsplit("\n", 1)[-1])
    node = ast.parse(text + ": ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    places = node.args.posonlyargs + node.args.args
    optional = [False] * (len(places) - len(node.args.defaults)) + [True] * len(node.args.defaults)
    found = [Parameter(one.arg, one.annotation, has, False) for one, has in zip(places, optional, strict=True)]
    for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        found.append(Parameter(one.arg, one.annotation, default is not None, True))
    return found[1:] if bound else found


def shown(value: object) -> str:
    """As the rest of the module shows a value: what Python prints, on one line and not long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = object.__repr__(value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "..."


def fits_number(value: object, most: range) -> bool:
    if not hasattr(type(value), "__index__"):
        return False
    try:
        return value.__index__() in most  # type: ignore[attr-defined]
    except Exception:
        return False


def is_pair_of(elements: list[ast.expr], value: object, most: range) -> bool:
    if not isinstance(value, tuple | list):
        return False
    if len(elements) == 2 and ast.unparse(elements[1]) == "...":
        return all(fits(elements[0], one, most) for one in value)
    return len(value) == len(elements) and all(fits(*pair, most) for pair in zip(elements, value, strict=True))


PLAIN: dict[str, Callable[[object, range], bool]] = {
    "None": lambda value, _: value is None,
    "bool": lambda value, _: isinstance(value, bool),
    "int": fits_number,
    "float": lambda value, _: hasattr(type(value), "__float__") or hasattr(type(value), "__index__"),
    "str": lambda value, _: isinstance(value, str),
    "bytes": lambda value, _: isinstance(value, bytes),
    "dict": lambda value, _: isinstance(value, dict),
    "Mapping": lambda value, _: isinstance(value, Mapping) or hasattr(type(value), "keys"),
    "Callable": lambda value, _: callable(value),
    "PathLike": lambda value, _: hasattr(type(value), "__fspath__"),
    "list": lambda value, _: isinstance(value, list | tuple),
    "Sequence": lambda value, _: hasattr(type(value), "__len__") and not isinstance(value, str | bytes),
    "Iterable": lambda value, _: hasattr(type(value), "__iter__") and not isinstance(value, str | bytes),
}


def fits(annotation: ast.expr | None, value: object, most: range) -> bool:
    """Whether a value can be of the type; True where that is not known."""
    if isinstance(annotation, ast.BinOp):
        return fits(annotation.left, value, most) or fits(annotation.right, value, most)
    if isinstance(annotation, ast.Subscript):
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        name = ast.unparse(annotation.value).rsplit(".", 1)[-1]
        if name == "Literal":
            return value in [one.value for one in inner if isinstance(one, ast.Constant)]
        if name == "tuple":
            return is_pair_of(inner, value, most)
        return fits(annotation.value, value, most)
    if annotation is None:
        return True
    name = ast.unparse(annotation).rsplit(".", 1)[-1]
    if name in PLAIN:
        return PLAIN[name](value, most)
    known = getattr(_lanner, name, None)
    return isinstance(value, known) if isinstance(known, type) else True


def fault_of(parameters: list[Parameter], arguments: tuple[object, ...], options: dict[str, object]) -> str:
    """What is wrong, as far as the signature tells."""
    places = [one for one in parameters if not one.keyword_only]
    names = [one.name for one in parameters]
    for name in options:
        if name not in names:
            known = f"; known are {', '.join(names)}" if names else "; it has none"
            meant: str = _lanner._did_you_mean(name, names)  # type: ignore[attr-defined]
            return f"unknown option '{name}'{meant or known}"
    if len(arguments) > len(places):
        rest = [one.name for one in parameters if one.keyword_only]
        named = f"; options have names, like {rest[0]}=..." if rest else ""
        return f"{shown(arguments[len(places)])} is one argument too many; expected {len(places) or 'none'}{' at most' if places else ''}{named}"
    given = dict(zip([one.name for one in places], arguments, strict=False))
    for name in options:
        if name in given:
            return f"{name} is given twice, in its place and by its name"
    given |= options
    for one in parameters:
        if one.name not in given and not one.optional:
            return f"{one.name} is missing{one.expected}"
    for most in (FIRST_64_BITS, FIRST_32_BITS):
        for one in parameters:
            if one.name in given and not fits(one.annotation, given[one.name], most):
                return f"{one.name}: {shown(given[one.name])} is of the wrong type or size{one.expected}"
    values = [f"{one.name}={shown(given[one.name])}" for one in parameters if one.name in given]
    return f"({', '.join(values)}) is of the wrong types or sizes; expected ({', '.join(one.name + ': ' + ast.unparse(one.annotation or ast.Constant(...)) for one in parameters)})"


def explain(scope: Any, name: str, bound: object, arguments: tuple[object, ...], options: dict[str, object]) -> str:
    """The line of a TypeError: which function, what was given, what was expected."""
    function = getattr(scope, name)
    is_class = isinstance(scope, type)
    signatures = [text for text, *_ in function.__nb_signature__ if not text.endswith("(...)")]
    title = scope.__name__ if is_class and name == "__init__" else f"{scope.__name__}.{name}" if is_class else name
    method = type(function).__name__ == "nb_method"
    faults = [fault_of(parameters_of(text, method), arguments, options) for text in signatures]
    # Of several signatures the one whose types alone do not fit was meant.
    return f"{title}: {next((fault for fault in faults if 'of the wrong type' in fault), faults[0])}"
