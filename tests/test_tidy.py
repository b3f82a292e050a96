"""The house rules of docs/architecture.md that a machine can check."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = ("console", "ledger", "providers", "examples", "clients")
MOST_BY_PLACE = 3  # what is acted on; all that says how comes by name
LONGEST_LINE, LONGEST_FUNCTION, LONGEST_VIEW, LONGEST_FILE, DEEPEST_NESTING = 100, 50, 25, 400, 3

Function = ast.FunctionDef | ast.AsyncFunctionDef
NESTING = (
    ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match, ast.AsyncFor, ast.AsyncWith,
)  # fmt: skip


def files(*endings: str, folders: tuple[str, ...] = (*OURS, "tests")) -> list[Path]:
    """Our own files with one of the endings: nothing made, nothing vendored."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return sorted(
        path
        for path in [*found, ROOT / "manage.py"]
        if path.suffix in endings and path.is_file() and "vendor" not in path.parts
    )


@cache
def tree(path: Path) -> ast.Module:
    """The parsed file."""
    return ast.parse(path.read_text())


def name_of(path: Path) -> str:
    """The path inside the repository."""
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[Function]:
    """Every function of the file, methods and inner ones too."""
    for node in ast.walk(tree(path)):
        if isinstance(node, Function):
            yield node


def none(problems: Iterator[str]) -> None:
    """Fail with the list of problems, if there are any."""
    found = list(problems)
    assert not found, "\n" + "\n".join(found)


# --- size ---


def test_lines_are_at_most_100_columns() -> None:
    none(
        f"{name_of(path)}:{number}: {len(line)} columns"
        for path in files(".py", ".sql", ".js", ".css", folders=(*OURS, "tests", "static"))
        if "migrations" not in path.parts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE
    )


def test_files_are_at_most_400_lines() -> None:
    none(
        f"{name_of(path)}: {count} lines"
        for path in files(".py", ".sql", ".js")
        if (count := len(path.read_text().splitlines())) > LONGEST_FILE
        and "migrations" not in path.parts
    )


def test_functions_are_at_most_50_lines_and_views_25() -> None:
    none(
        f"{name_of(path)}:{function.lineno}: {function.name} has {length} lines"
        for path in files(".py")
        for function in functions(path)
        if (length := length_of(function)) > longest(path, function)
    )


def length_of(function: Function) -> int:
    """The lines of the function without its decorators."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def longest(path: Path, function: Function) -> int:
    """How long the function may be: a view takes a request, or who is here, in views/ or api/."""
    first = function.args.args[0].arg if function.args.args else ""
    is_view = first in ("request", "here") and bool({"views", "api"} & set(path.parts))
    return LONGEST_VIEW if is_view else LONGEST_FUNCTION


def test_nesting_is_at_most_three_deep() -> None:
    none(
        f"{name_of(path)}:{function.lineno}: {function.name} is nested {depth} deep"
        for path in files(".py")
        for function in functions(path)
        if (depth := nesting(function.body)) > DEEPEST_NESTING
    )


def nesting(body: list[ast.stmt]) -> int:
    """How deep blocks lie in blocks; `elif` does not count, an inner function starts anew."""
    deepest = 0
    for node in body:
        if isinstance(node, NESTING):
            deepest = max(deepest, 1 + max(map(nesting, blocks(node)), default=0), chain(node))
    return deepest


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement, without the branches of an `elif`."""
    yield getattr(node, "body", [])
    yield getattr(node, "finalbody", [])
    for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
        yield part.body
    if not is_elif(node):
        yield getattr(node, "orelse", [])


def is_elif(node: ast.stmt) -> bool:
    """Whether the statement's `else` is nothing but another `if`."""
    other = getattr(node, "orelse", [])
    return isinstance(node, ast.If) and len(other) == 1 and isinstance(other[0], ast.If)


def chain(node: ast.stmt) -> int:
    """The depth of the branches after `elif`, which stand as deep as the first."""
    return nesting(node.orelse) if isinstance(node, ast.If) and is_elif(node) else 0


# --- shape ---


def test_every_module_says_in_its_first_line_what_it_is() -> None:
    none(
        f"{name_of(path)}: no docstring, or its first line is no sentence"
        for path in files(".py")
        if not re.match(r".+[.!?]$", (ast.get_docstring(tree(path)) or "").split("\n")[0])
    )


def test_public_names_have_a_docstring() -> None:
    none(
        f"{name_of(path)}:{node.lineno}: {node.name} has no docstring"
        for path in files(".py", folders=OURS)
        if "migrations" not in path.parts
        for node in public(tree(path))
        if not ast.get_docstring(node)
    )


def public(scope: ast.Module | ast.ClassDef) -> Iterator[Function | ast.ClassDef]:
    """The scope's classes, functions and methods that are not private, Django's Meta apart."""
    for node in scope.body:
        if isinstance(node, (*Function.__args__, ast.ClassDef)):
            if node.name.startswith("_") or node.name == "Meta" or is_stub(node):
                continue
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node)


def is_stub(node: Function | ast.ClassDef) -> bool:
    """A protocol's method with nothing but dots: its class says what it is for."""
    last = node.body[-1]
    is_dots = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    return isinstance(node, Function) and is_dots and last.value.value is ...


PLAIN = re.compile(r"(^|_)(utils?|helpers?|managers?|handlers?|services?|common|misc)($|_)")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
KNOWN = {
    "AccountManager",  # Django's own word for what `objects` is
}


def test_nothing_has_a_name_that_says_nothing() -> None:
    none(
        f"{name_of(path)}: {name}"
        for path in files(".py")
        for name in names_in(path)
        if name not in KNOWN
        and PLAIN.search("_".join(WORD.findall(name)).lower())
        and not name.startswith("_django")
    )


def names_in(path: Path) -> Iterator[str]:
    """The file's own name and those of its classes and functions; tests are sentences."""
    yield path.stem
    for node in ast.walk(tree(path)):
        if isinstance(node, (*Function.__args__, ast.ClassDef)) and node.name[:5] != "test_":
            yield node.name


def test_a_test_is_named_by_a_sentence() -> None:
    none(
        f"{name_of(path)}:{function.lineno}: {function.name}"
        for path in files(".py", folders=("tests",))
        for function in functions(path)
        if function.name.startswith("test_") and function.name.count("_") < 3
    )


def test_at_most_three_parameters_are_given_by_place() -> None:
    none(
        f"{name_of(path)}:{node.lineno}: {node.name}({', '.join(given)})"
        for path in files(".py", folders=("ledger", "providers", "console"))
        if not {"migrations", "views", "templatetags", "management"} & set(path.parts)
        for node in public(tree(path))
        if isinstance(node, Function) and len(given := positional(node)) > MOST_BY_PLACE
        if given[0] != "request" and name_of(path) not in CALLED_BY_OTHERS
    )


# Signatures that a framework, or the language's own protocols, lay down.
CALLED_BY_OTHERS = {"console/routers.py", "console/checks.py", "console/middleware.py"}


def positional(function: Function) -> list[str]:
    """The parameters that may be given by place, `self`, `cls` and *args apart."""
    given = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
    return given[1:] if given[:1] in (["self"], ["cls"]) else given


# --- one home per concept ---

# What may be imported or named in these files alone.
HOMES = {
    r"^(from|import) hashlib|sha256\(": {
        "ledger/rules/digest.py": "the one hash of the record",
        "ledger/migrations": "the guards' own hash is SQL",
        "manage.py": "compares lock files; no record is hashed",
        "console/state.py": "shortens a path; no record is hashed",
        "tests": "a test counts again by its own hand",
        "console/people.py": "names a session without telling its key",
    },
    r"^(from|import) (httpx|requests|aiohttp|urllib3|urllib\.request)\b": {
        "providers/http.py": "the one door to the network",
        "tests": "tests ask their own servers",
        "examples": "an example is somebody else's program",
    },
    r"timezone\.now|datetime\.now\(|utcnow\(|datetime\.today\(": {
        "ledger/clock.py": "the one clock",
        "providers/sandbox": "another company's clock",
        "examples": "somebody else's program",
        "tests": "a test asks for real time",
    },
    r"\.objects\.(create|bulk_create)\b|\.save\(": {
        "ledger": "verbs and writers",
        "console/management": "commands",
        "console/people.py": "accounts",
        "console/heartbeat.py": "the deployment's own row",
        "console/views": "the session",
        "examples": "its own tables",
        "tests": "each test makes its own rows",
    },
}
NOWHERE = {
    r"django\.contrib\.admin": "there is no second way to write",
    r"db\.models\.signals|django\.dispatch": "no signals",
    r"mark_safe|\|safe\b": "text is escaped",
    r"csrf_exempt": "every form is checked",
    r"FloatField|DecimalField|^(from|import) decimal": "amounts are integers",
    r"unittest\.mock|MagicMock": "nothing of ours is mocked",
    r"except Exception: *pass|except: ": "nothing is swallowed",
    r"yaml\.load\(|pickle\.load|eval\(|exec\(": "no code in data",
}


@pytest.mark.parametrize("pattern", HOMES)
def test_each_thing_has_one_home(pattern: str) -> None:
    homes = HOMES[pattern]
    none(
        f"{place}: {line.strip()}"
        for place, line in lines_with(pattern)
        if not any(place.startswith(home) for home in homes)
    )


@pytest.mark.parametrize("pattern", NOWHERE)
def test_some_things_have_no_home(pattern: str) -> None:
    none(
        f"{place}: {line.strip()} ({NOWHERE[pattern]})"
        for place, line in lines_with(pattern)
        if not place.startswith(("tests/test_tidy.py", "tests/test_repository.py"))
    )


def lines_with(pattern: str) -> Iterator[tuple[str, str]]:
    """Where the pattern stands in our Python: "path:number" and the line."""
    for path in files(".py"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(pattern, line):
                yield f"{name_of(path)}:{number}", line


def test_tests_wait_for_a_condition_and_never_for_a_time() -> None:
    polls = {"tests/servers.py", "tests/providers/conftest.py", "tests/stack/held_task.py"}
    none(
        f"{place}: {line.strip()}"
        for place, line in lines_with(r"\bsleep\(")
        if place.startswith("tests/") and place.split(":")[0] not in polls | {"tests/test_tidy.py"}
    )


def test_models_have_no_save_of_their_own() -> None:
    none(
        f"{name_of(path)}:{function.lineno}"
        for path in files(".py", folders=("ledger", "console"))
        for function in functions(path)
        if function.name in ("save", "delete") and "models" in name_of(path)
    )
