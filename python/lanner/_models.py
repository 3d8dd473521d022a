"""What `lanner.build` takes beside files: a network of another framework is exported first, by what the framework has for that.
No framework is imported here: an object of one can only be there when somebody else has."""

import functools
import sys
from typing import TYPE_CHECKING, Any

from lanner import _lanner

_lanner._set_keras_python(sys.executable or "")  # type: ignore[attr-defined]


def _is_one(model: object, names: tuple[str, ...]) -> bool:
    """Whether it is of one of these classes, `package:path.of.Class`, as far as they are imported."""
    for name in names:
        package, _, path = name.partition(":")
        kind: Any = sys.modules.get(package)
        for part in path.split("."):
            kind = getattr(kind, part, None)
        if isinstance(kind, type) and isinstance(model, kind):
            return True
    return False


def _build(model: object, *others: object, **options: Any) -> _lanner.Engine:
    keras = _is_one(model, ("keras:Model",))  # which over torch is a module too
    if not keras and _is_one(model, ("torch:nn.Module", "torch.export:ExportedProgram")):
        from lanner._torch import export

        return export.build_module(model, *others, **options)
    if options.pop("example_inputs", None) is not None:
        raise TypeError(f"example_inputs: expected for a torch.nn.Module alone, got them for a {type(model).__name__}")
    if keras:
        from lanner import _keras

        return _keras.build_model(model, *others, **options)
    return _lanner.build(model, *others, **options)


if TYPE_CHECKING:
    from lanner._lanner import build as build
else:
    build = functools.wraps(_lanner.build)(_build)
