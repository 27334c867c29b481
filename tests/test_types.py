# SPDX-License-Identifier: BSD-3-Clause
"""What editors and type checkers know of the public names."""

from __future__ import annotations

import inspect
from importlib.resources import files

import pytest

import secondpass

VERBS = ["backward", "bptt", "detach", "explain", "grads", "install", "keep", "ledger", "uninstall"]
USE = """
import secondpass
{lines}
with secondpass.watch() as session:
    reveal_type(session)
with secondpass.kept():
    pass
secondpass.explain(show="yes")
"""


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_a_plain_function_whose_parameters_have_types(name):
    verb = getattr(secondpass, name)
    assert inspect.isfunction(verb)
    signature = inspect.signature(verb)
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())


def test_the_package_says_that_it_has_types():
    assert files(secondpass).joinpath("py.typed").is_file()


def test_every_public_name_is_one_that_type_checkers_see():
    import ast
    from pathlib import Path

    tree = ast.parse(Path(secondpass.__file__).read_text())
    (block,) = [n for n in tree.body if isinstance(n, ast.If)]
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == secondpass._HOMES
    assert sorted({*seen, "__version__"}) == secondpass.__all__


@pytest.mark.slow  # mypy reads torch
def test_a_type_checker_sees_the_signatures(tmp_path):
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text(USE.format(lines="\n".join(f"reveal_type(secondpass.{name})" for name in VERBS)))
    out, _, _ = api.run([str(program), "--cache-dir", str(tmp_path / "cache"), "--strict", "--follow-imports=silent"])
    told = [line.partition("Revealed type is ")[2] for line in out.splitlines() if "Revealed type" in line]
    assert len(told) == len(VERBS) + 1
    assert all(line.startswith(('"def ', '"Overload(def ')) for line in told[:-1]), told
    assert told[-1] == '"secondpass.session.session.Session"'
    assert 'Argument "show" to "explain" has incompatible type "str"; expected "bool"' in out
