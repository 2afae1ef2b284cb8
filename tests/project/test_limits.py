"""How long functions and modules may be, and how many parameters a function may take."""

import ast
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
ROOMS: Final = ("spec", "reference", "golden", "columnar", "spark", "conformance", "cli")
LINES: Final = 60
PARAMETERS: Final = 6
MODULE_LINES: Final = 400

_OPTIONS: Final = "options, each by its keyword"
_VERB: Final = "one parameter for each option of the verb, as typer reads them"


_RULES: Final = "as many values as the Java constructor takes, and the rules of the release"

EXCEPTIONS: Final = {
    "cli/rocketspec/_decode.py:read_table": _OPTIONS,
    "cli/rocketspec/_search.py:explain": _OPTIONS,
    "cli/rocketspec/_search.py:find": _OPTIONS,
    "cli/rocketspec/verbs/audit/verb.py:audit": _VERB,
    "cli/rocketspec/verbs/conform.py:conform": _VERB,
    "cli/rocketspec/verbs/decode/verb.py:decode": _VERB,
    "cli/rocketspec/verbs/digest.py:digest": _VERB,
    "cli/rocketspec/verbs/inspect/verb.py:inspect": _VERB,
    "cli/rocketspec/verbs/mutants.py:mutants": _VERB,
    "cli/rocketspec/verbs/repair.py:repair": _VERB,
    "cli/rocketspec/verbs/query/verb.py:query": _VERB,
    "cli/rocketspec/verbs/rebuild.py:rebuild": _VERB,
    "cli/rocketspec/verbs/spark/audit.py:audit": _VERB,
    "cli/rocketspec/verbs/spark/decode.py:decode": _VERB,
    "cli/rocketspec/verbs/spark/fleet.py:digest": _VERB,
    "cli/rocketspec/verbs/spark/fleet.py:query": _VERB,
    "cli/rocketspec/verbs/spark/rebuild.py:rebuild": _VERB,
    "cli/rocketspec/verbs/workload.py:workload": _VERB,
    "columnar/rocket_columnar/audit/store_audit.py:audit": _OPTIONS,
    "columnar/rocket_columnar/decode/tables.py:decode": _OPTIONS,
    "columnar/rocket_columnar/findings/forms.py:finding": _OPTIONS,
    "columnar/rocket_columnar/query/broker_query.py:query": _OPTIONS,
    "columnar/rocket_columnar/query/explanation.py:explain": _OPTIONS,
    "columnar/rocket_columnar/rebuild/plan.py:plan_rebuild": _OPTIONS,
    "columnar/rocket_columnar/rebuild/store_rebuild.py:rebuild": _OPTIONS,
    "columnar/rocket_columnar/report/store_report.py:audit": _OPTIONS,
    "conformance/rocket_conformance/properties/_service_files.py:lay_file": _OPTIONS,
    "conformance/rocket_conformance/store_verdict/restart_judge.py:judge_crashes": _OPTIONS,
    "reference/rocket_reference/consume_queue_store.py:__init__": _RULES,
    "reference/rocket_reference/index_file.py:open_index_file": _RULES,
    "reference/rocket_reference/index_service.py:__init__": _RULES,
    "reference/rocket_reference/query_message.py:query_message": "as many values as the Java object or frame has",
    "reference/rocket_reference/queue_table.py:__init__": "as many values as the Java object or frame has",
    "reference/rocket_reference/record_bytes.py:encode_record": "as many values as the Java object or frame has",
    "reference/rocket_reference/store_start.py:__init__": "as many values as the Java object or frame has",
    "spark/rocket_spark/output/check.py:check_out": _OPTIONS,
    "spark/rocket_spark/tasks.py:run_tasks": _OPTIONS,
}
"""Functions and modules beyond the limits, and why."""


def product_files() -> list[Path]:
    return [
        path
        for room in ROOMS
        for package in (ROOT / room).iterdir()
        if (package / "__init__.py").exists()
        for path in sorted(package.rglob("*.py"))
        if "_generated" not in path.parts
    ]


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The number of parameters, `self` and `cls` left out."""
    names = [
        parameter.arg
        for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    ]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The number of lines from `def` to the end, the docstring left out."""
    assert function.end_lineno is not None
    first = function.body[0]
    docstring = 0
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        assert first.end_lineno is not None
        docstring = first.end_lineno - first.lineno + 1
    return function.end_lineno - function.lineno + 1 - docstring


def beyond(path: Path) -> dict[str, str]:
    """What of a file is beyond the limits, by name, and by how much."""
    text = path.read_text(encoding="utf-8")
    module = path.relative_to(ROOT).as_posix()
    found = {}
    if text.count("\n") > MODULE_LINES:
        found[module] = f"{text.count(chr(10))} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
            lines(node) > LINES or parameters(node) > PARAMETERS
        ):
            found[f"{module}:{node.name}"] = f"{lines(node)} lines, {parameters(node)} parameters"
    return found


def test_functions_and_modules_are_short() -> None:
    found = {name: size for path in product_files() for name, size in beyond(path).items()}
    assert {name: size for name, size in found.items() if name not in EXCEPTIONS} == {}
    assert [name for name in EXCEPTIONS if name not in found] == [], (
        "within the limits: take it off EXCEPTIONS"
    )
