# SPDX-License-Identifier: BSD-3-Clause
"""The language server, asked as an editor asks it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp

from secondpass.commands._language_server import make_server

FAULTY = (Path(__file__).parents[2] / "examples" / "carried_state.py").read_text(encoding="utf-8")


class Editor:
    """What the server sees of an editor: the text of one document, and what is published."""

    def __init__(self, file: Path) -> None:
        self.uri, self.text = file.as_uri(), ""
        self.server: Any = make_server()
        self.features = self.server.protocol.fm.features
        self.published: list[list[lsp.Diagnostic]] = []
        workspace = SimpleNamespace(get_text_document=lambda uri: SimpleNamespace(source=self.text))
        self.server.protocol._workspace = workspace
        self.server.text_document_publish_diagnostics = lambda params: self.published.append(list(params.diagnostics))

    def type(self, text: str) -> None:
        self.text = text
        document = lsp.VersionedTextDocumentIdentifier(version=1, uri=self.uri)
        self.features[lsp.TEXT_DOCUMENT_DID_CHANGE](lsp.DidChangeTextDocumentParams(document, []))

    def actions(self, line: int, only: list[Any] | None = None) -> list[lsp.CodeAction]:
        here = lsp.Range(lsp.Position(line, 0), lsp.Position(line, 0))
        context = lsp.CodeActionContext([], only=only)
        params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(self.uri), here, context)
        found: list[lsp.CodeAction] = self.features[lsp.TEXT_DOCUMENT_CODE_ACTION](params)
        return found


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    file = tmp_path / "train.py"
    file.write_text(FAULTY, encoding="utf-8")
    return Editor(file)


def test_diagnostics_stay_while_a_line_is_being_typed(editor: Editor) -> None:
    editor.type(FAULTY)
    assert [d.code for d in editor.published[-1]] == ["SP103"]
    editor.type(FAULTY + "print(")
    assert len(editor.published) == 1, "nothing was published, so the editor keeps what it has"
    editor.type("x = 1\n")
    assert editor.published[-1] == []


def test_all_safe_repairs_at_once(editor: Editor) -> None:
    editor.type(FAULTY)
    line = editor.published[-1][0].range.start.line
    assert {a.kind for a in editor.actions(line)} == {lsp.CodeActionKind.QuickFix}
    for only in ([lsp.CodeActionKind.SourceFixAll], ["source.fixAll.secondpass"], ["source"]):
        (action,) = editor.actions(0, only)
        assert action.edit is not None and action.edit.changes is not None
        (edits,) = action.edit.changes.values()
        assert any("detach()" in edit.new_text for edit in edits)
    assert editor.actions(line, [lsp.CodeActionKind.RefactorExtract]) == []


def test_no_repair_is_offered_for_lines_that_have_changed(editor: Editor) -> None:
    editor.type(FAULTY)
    line = editor.published[-1][0].range.start.line
    editor.type("import os(\n" + FAULTY)
    assert editor.actions(line) == editor.actions(0, ["source.fixAll"]) == []


def test_cells_of_a_notebook(tmp_path: Path) -> None:
    server: Any = make_server()
    published: dict[str, list[lsp.Diagnostic]] = {}
    server.text_document_publish_diagnostics = lambda p: published.update({p.uri: list(p.diagnostics)})
    first = "%matplotlib inline\nimport torch\ncell = torch.nn.GRUCell(3, 4)\nh = torch.zeros(1, 4)"
    second = "for _ in range(10):\n    h = cell(torch.randn(1, 3), h)\n    loss = h.pow(2).mean()\n    loss.backward()"
    texts = {"cell:1": first, "cell:2": second, "cell:3": "print(h)"}
    documents = [lsp.NotebookCell(lsp.NotebookCellKind.Code, uri) for uri in texts]
    server.protocol._workspace = SimpleNamespace(
        get_text_document=lambda uri: SimpleNamespace(source=texts[uri]),
        get_notebook_document=lambda notebook_uri: SimpleNamespace(cells=documents),
    )
    features = server.protocol.fm.features
    notebook = lsp.NotebookDocument((tmp_path / "train.ipynb").as_uri(), "jupyter-notebook", 1, documents)
    features[lsp.NOTEBOOK_DOCUMENT_DID_OPEN](lsp.DidOpenNotebookDocumentParams(notebook, []))
    assert {uri: [(d.code, d.range.start.line) for d in found] for uri, found in published.items()} == {
        "cell:1": [],
        "cell:2": [("SP103", 3)],
        "cell:3": [],
    }
    here = lsp.Range(lsp.Position(3, 0), lsp.Position(3, 0))
    context = lsp.CodeActionContext([])
    action = features[lsp.TEXT_DOCUMENT_CODE_ACTION](
        lsp.CodeActionParams(lsp.TextDocumentIdentifier("cell:2"), here, context)
    )[0]
    ((uri, (edit,)),) = action.edit.changes.items()
    # Behind the last line of its cell, which has no end.
    assert (uri, edit.new_text) == ("cell:2", "\n    h = h.detach()")
    assert edit.range.start == edit.range.end == lsp.Position(3, len("    loss.backward()"))
