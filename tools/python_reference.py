#!/usr/bin/env python3
"""Writes docs/python.md, the reference of the Python package, from its stub, its modules and their docstrings.

    python tools/python_reference.py --write
    python tools/python_reference.py --check     # fails where the page differs from what --write would write

A docstring is a paragraph or more; lines `name: meaning` in it, after an empty line, describe parameters.
"""

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "python" / "lanner"
STUB = ROOT / "build" / "python" / "lanner" / "_lanner.pyi"
PAGE = ROOT / "docs" / "python.md"
PARTS = ROOT / "tools" / "python_reference.md"  # the sections, and the text before each
COMMAND = "./dev docs"

# Special methods as users write them.
SYNTAX = {
    "__len__": "`len(x)`",
    "__iter__": "`for ... in x`",
    "__reversed__": "`reversed(x)`",
    "__enter__": "`with x`",
    "__bool__": "`bool(x)`",
    "__eq__": "`x == y`",
    "__array__": "`numpy.asarray(x)`",
    "__array_interface__": "`numpy.asarray(x)`",
    "__dlpack__": "DLPack (`torch.from_dlpack(x)`)",
    "__cuda_array_interface__": "CuPy and Numba (`__cuda_array_interface__`)",
    "__reduce__": "`pickle`",
}
CALLED = ("__call__", "__getitem__")
# Classes whose keywords other classes accept too: described once.
SHARED = {"Preprocess": "preprocessing keywords", "VideoReader": "keywords"}
LONGEST_LINE = 100


@dataclass
class Parameter:
    name: str
    kind: str
    default: str


@dataclass
class Docs:
    text: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


@dataclass
class Function:
    name: str
    parameters: list[tuple[str, Parameter]]  # with `*` or `` in front
    result: str
    docs: Docs


class Names:
    """Where public names are defined."""

    def __init__(self) -> None:
        self.trees: dict[str, ast.Module] = {}

    def tree(self, module: str) -> ast.Module:
        if module not in self.trees:
            self.trees[module] = ast.parse(self.path(module).read_text())
        return self.trees[module]

    @staticmethod
    def path(module: str) -> Path:
        if module == "lanner._lanner":
            return STUB
        inside = SOURCES.joinpath(*module.split(".")[1:])
        return inside / "__init__.py" if inside.is_dir() else inside.with_suffix(".py")

    def public(self, module: str) -> list[str]:
        for node in self.tree(module).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
                return [str(name) for name in ast.literal_eval(node.value)]
        raise SystemExit(f"{self.path(module)}: expected a list __all__ of public names, got none")

    def definition(self, module: str, name: str) -> ast.ClassDef | ast.FunctionDef | None:
        """The definition of a class or function, for overloads the last, which has the docstring; None for a module or number."""
        found: ast.ClassDef | ast.FunctionDef | None = None
        body = list(self.tree(module).body)
        for node in body:
            if isinstance(node, ast.If | ast.Try):  # under `if`, as of TYPE_CHECKING, and under `try`, for what an interpreter may lack
                body += node.body
            elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lanner"):
                for alias in node.names:
                    if name == (alias.asname or alias.name) and node.module != "lanner":
                        return self.definition(node.module, alias.name)
            elif isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
                found = node
        return found


def docs_of(node: ast.AST, names: list[str]) -> Docs:
    """Lines of parameters begin with a name or several names."""
    text = ast.get_docstring(node) if isinstance(node, ast.ClassDef | ast.FunctionDef) else None
    return split_docs(text or "", names)


def split_docs(text: str, names: list[str]) -> Docs:
    docs = Docs()
    rest: list[str] = []
    for line in inspect.cleandoc(text).split("\n"):
        found = re.match(r"(\w+): +(.+)", line)
        if found and found.group(1) in names:
            docs.parameters[found.group(1)] = found.group(2)
        else:
            rest.append(line)
    docs.text = re.sub(r"\n{3,}", "\n\n", "\n".join(rest)).strip()
    return docs


def shown_type(node: ast.expr | None) -> str:
    if node is None:
        return ""
    text = ast.unparse(node)
    text = re.sub(r"\b(collections\.abc|numpy\.typing|typing|fractions|io)\.", "", text)
    return text.replace("str | os.PathLike[str]", "path").replace("Any", "object") if text != "Any" else text


def parameters_of(node: ast.FunctionDef) -> list[tuple[str, Parameter]]:
    given = node.args
    found: list[tuple[str, Parameter]] = []
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    for argument, default in zip(positional, defaults, strict=True):
        if argument.arg not in ("self", "cls"):
            found.append(("", parameter(argument, default)))
    if given.vararg:
        found.append(("", Parameter("*" + given.vararg.arg, shown_type(given.vararg.annotation), "")))
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append(("*", parameter(argument, default)))
    if given.kwarg:
        found.append(("*", Parameter("**" + given.kwarg.arg, shown_type(given.kwarg.annotation), "")))
    return found


def parameter(argument: ast.arg, default: ast.expr | None) -> Parameter:
    return Parameter(argument.arg, shown_type(argument.annotation), "" if default is None else ast.unparse(default))


def function_of(node: ast.FunctionDef, name: str) -> Function:
    parameters = parameters_of(node)
    return Function(name, parameters, shown_type(node.returns), docs_of(node, [one.name for _, one in parameters]))


def methods_of(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """For overloads the last, which has the docstring."""
    return {one.name: one for one in node.body if isinstance(one, ast.FunctionDef) and not is_setter(one)}


def overloads_of(node: ast.ClassDef, name: str) -> list[ast.FunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == name and not is_setter(one)]


def is_setter(node: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr == "setter" for one in node.decorator_list)


def is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id in ("property", "cached_property") for one in node.decorator_list)


def fields_of(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of properties, and of a dataclass's fields with the string below them."""
    writable = {one.name for one in node.body if isinstance(one, ast.FunctionDef) and is_setter(one)}
    for i, one in enumerate(node.body):
        if isinstance(one, ast.FunctionDef) and is_property(one) and not one.name.startswith("_"):
            meaning = docs_of(one, []).text
            yield one.name, shown_type(one.returns), meaning + (" May be set." if one.name in writable else "")
        elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and not one.target.id.startswith("_"):
            after = node.body[i + 1] if i + 1 < len(node.body) else None
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            yield one.target.id, shown_type(one.annotation), str(text)


class Page:
    def __init__(self) -> None:
        self.names = Names()
        self.lines: list[str] = []
        self.links: dict[str, str] = {}
        self.shared: dict[str, list[str]] = {}
        for name in SHARED:
            node = self.names.definition("lanner", name)
            assert isinstance(node, ast.ClassDef)
            keywords = parameters_of(methods_of(node)["__init__"])
            self.shared[name] = [one.name for star, one in keywords if star]

    def cell(self, text: str) -> str:
        return " ".join(text.split()).replace("|", "\\|")

    def type_cell(self, text: str) -> str:
        """As code; classes of the page are links."""
        shown = text.removesuffix(" | None") if text else "object"
        return f"`{self.cell(shown)}`"

    def code_of(self, function: Function, end: str = "") -> str:
        """A signature, one parameter a line where it is long; types are in the table."""
        texts, starred = [], False
        for star, one in function.parameters:
            if star and not starred and not one.name.startswith("**"):
                texts.append("*")
                starred = True
            texts.append(one.name + (f"={one.default}" if one.default else ""))
        result = f" -> {function.result}" if function.result and function.result != "None" else ""
        line = f"{function.name}({', '.join(texts)}){result}{end}"
        if len(line) <= LONGEST_LINE:
            return line
        rows: list[str] = [""]
        for text in texts:
            if len(rows[-1]) + len(text) > LONGEST_LINE - 8:
                rows.append("")
            rows[-1] += (" " if rows[-1] else "") + text + ","
        body = "\n".join("    " + row for row in rows).rstrip(",")
        return f"{function.name}(\n{body}\n){result}{end}"

    def repeated(self, function: Function, owner: str) -> tuple[str, set[str]]:
        """The class whose keywords this one accepts too, and their names."""
        names = {one.name for _, one in function.parameters}
        for name, keywords in self.shared.items():
            if owner != name and set(keywords) <= names:
                return name, set(keywords)
        return "", set()

    def add_function(self, function: Function, owner: str = "") -> None:
        shared, told = self.repeated(function, owner)
        short = Function(function.name, [(star, one) for star, one in function.parameters if one.name not in told],
                         function.result, function.docs)
        if shared:
            short.parameters.append(("*", Parameter(f"**{SHARED[shared].replace(' ', '_')}", "", "")))
        self.lines += ["```python", self.code_of(short), "```", ""]
        if function.docs.text:
            self.lines += [function.docs.text, ""]
        self.add_parameters(short)
        if shared:
            self.lines += [f"`{short.parameters[-1][1].name}`: those of [{shared}](#{self.links[shared]}).", ""]

    def add_parameters(self, function: Function) -> None:
        rows = [one for _, one in function.parameters if not one.name.startswith("*")]
        if not rows:
            return
        defaults = [f"`{self.cell(one.default)}`" if one.default not in ("", "None", "...") else "" for one in rows]
        column = any(defaults)  # what None stands for is part of the meaning
        self.lines += ["| parameter | type |" + (" default |" if column else "") + " meaning |", "|---|---|---|" + ("---|" if column else "")]
        for one, default in zip(rows, defaults, strict=True):
            meaning = self.cell(function.docs.parameters.get(one.name, ""))
            between = f"{default} | " if column else ""
            self.lines.append(f"| `{one.name}` | {self.type_cell(one.kind)} | {between}{meaning} |")
        self.lines.append("")

    def add_class(self, name: str, module: str, node: ast.ClassDef) -> None:
        bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) not in ("object", "ast")]
        inherits = f" Is a {', '.join(f'[{base}](#{self.links[base]})' for base in bases)}." if all(base in self.links for base in bases) and bases else ""
        self.lines += [(docs_of(node, []).text + inherits).strip(), ""]
        methods = methods_of(node)
        if "__init__" in methods:
            made = function_of(methods["__init__"], f"{module}.{name}")
            made.result = ""
            self.add_function(made, name)
        fields = list(fields_of(node))
        if fields:
            self.lines += ["| property | type | meaning |", "|---|---|---|"]
            self.lines += [f"| `{one}` | `{self.cell(kind)}` | {self.cell(text)} |" for one, kind, text in fields] + [""]
        for method, one in methods.items():
            if (not method.startswith("_") or method in CALLED) and not is_property(one):
                self.add_method(name, module, overloads_of(node, method))
        syntax = list(dict.fromkeys(text for method, text in SYNTAX.items() if method in methods))
        if syntax:
            self.lines += [f"Also: {', '.join(syntax)}.", ""]

    def add_method(self, owner: str, module: str, variants: list[ast.FunctionDef]) -> None:
        """Signatures of all overloads, then the docstring of the last one."""
        shown = [function_of(one, one.name) for one in variants]
        texts = [one.docs for one in shown if one.docs.text]
        for one, node in zip(shown, variants, strict=True):
            object_name = re.findall(r"[A-Z][a-z]*", owner)[-1].lower()
            static = any(isinstance(two, ast.Name) and two.id == "staticmethod" for two in node.decorator_list)
            one.name = f"{module}.{owner}.{one.name}" if static else object_name + ("" if one.name == "__call__" else f".{one.name}")
        if len(shown) > 1 and all(one.docs.text for one in shown):
            for one in shown:
                self.add_function(one, owner)
            return
        for one in shown:
            one.docs = texts[-1] if one is shown[-1] and texts else Docs()
            code = self.code_of(one)
            if variants[0].name == "__getitem__":
                one.name = one.name.removesuffix(".__getitem__")
                code = f"{one.name}[{one.parameters[0][0]}{one.parameters[0][1].name}: {one.parameters[0][1].kind}] -> {one.result}"
            if one is not shown[-1] or variants[0].name == "__getitem__":
                self.lines += ["```python", code, "```", ""]
        if variants[0].name == "__getitem__":
            self.lines += [shown[-1].docs.text, ""]
        else:
            self.add_function(shown[-1], owner)

    def add_errors(self, names: list[str]) -> None:
        self.lines += ["| exception | is also | `code` | raised when |", "|---|---|---|---|"]
        for name in names:
            node = self.names.definition("lanner", name)
            assert isinstance(node, ast.ClassDef)
            also = ", ".join(f"`{ast.unparse(base)}`" for base in node.bases if ast.unparse(base) != "Error")
            code = next(ast.literal_eval(one.value) for one in node.body if isinstance(one, ast.Assign))
            self.lines.append(f"| `lanner.{name}` | {also} | `{code}` | {self.cell(docs_of(node, []).text)} |")
        self.lines.append("")

    def add(self, module: str, name: str) -> None:
        node = self.names.definition(module, name)
        heading = f"{module}.{name}"
        self.lines += [f"### {heading}", ""]
        if isinstance(node, ast.ClassDef):
            self.add_class(name, module, node)
        elif isinstance(node, ast.FunctionDef):
            self.add_function(function_of(node, heading))
        else:
            raise SystemExit(f"{heading}: no class and no function of that name was found")

    def expanded(self, names: list[str], listed: set[str]) -> list[str]:
        """`lanner.tasks.*` stands for the module's other public names."""
        found: list[str] = []
        for name in names:
            module = name.removesuffix(".*")
            rest = [f"{module}.{one}" for one in self.names.public(module)] if module != name else [name]
            found += [one for one in rest if one == name or one not in listed]
        return found

    def text(self) -> str:
        parts = read_parts()
        everything = {f"lanner.{name}" for name in self.names.public("lanner") if name not in ("__version__", "tasks", "tf")}
        for module in ("lanner.tasks", "lanner.tf"):
            everything |= {f"{module}.{name}" for name in self.names.public(module)}
        for part in parts:
            part.names = self.expanded(part.names, {name for other in parts for name in other.names})
        told = [name for part in parts for name in part.names]
        if missing := sorted(everything - set(told)):
            raise SystemExit(f"{PARTS.name} names {', '.join(missing)} in no part: add each to a part")
        for name in told:
            self.links[name.rpartition(".")[2]] = name.lower().replace(".", "")
        for part in parts:
            self.lines += [f"## {part.title}", "", part.text, ""]
            if part.title == "Errors":
                self.add_errors([name.rpartition(".")[2] for name in part.names])
                continue
            for name in part.names:
                module, _, last = name.rpartition(".")
                self.add(module, last)
        return "\n".join([*heading(parts), *map(linked, self.lines)]).rstrip() + "\n"


@dataclass
class Part:
    title: str
    names: list[str]
    text: str


def read_parts() -> list[Part]:
    """`## Title`, then a line of names, then text. `module.*` stands for names that no section has."""
    parts = []
    for section in re.split(r"^## ", PARTS.read_text(), flags=re.MULTILINE)[1:]:
        title, _, rest = section.partition("\n")
        names, _, text = rest.strip().partition("\n")
        parts.append(Part(title.strip(), names.split(), text.strip()))
    return parts


def linked(line: str) -> str:
    """`docs/x.md` as a link."""
    return re.sub(r"\bdocs/([\w-]+\.md)", r"[\1](\1)", line)


def heading(parts: list[Part]) -> list[str]:
    introduction = re.split(r"^## ", PARTS.read_text(), flags=re.MULTILINE)[0].strip()
    lines = [introduction, "", "| part | names |", "|---|---|"]
    for part in parts:
        names = ", ".join(f"[{name.removeprefix('lanner.')}](#{name.lower().replace('.', '')})" for name in part.names)
        if part.title == "Errors":
            names = ", ".join(name.removeprefix("lanner.") for name in part.names)
        lines.append(f"| [{part.title}](#{re.sub(r'[^a-z0-9 -]', '', part.title.lower()).replace(' ', '-')}) | {names} |")
    return [*lines, ""]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--write", action="store_true", help=f"write docs/{PAGE.name}")
    which.add_argument("--check", action="store_true", help="fail where the page is stale")
    options = parser.parse_args()
    if not STUB.is_file():
        raise SystemExit(f"{STUB}: is missing; run ./dev build first")
    text = Page().text()
    if options.write:
        PAGE.write_text(text)
        return 0
    if not PAGE.is_file() or PAGE.read_text() != text:
        print(f"docs/{PAGE.name} is out of date with the package; run {COMMAND}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
