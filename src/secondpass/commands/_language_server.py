# SPDX-License-Identifier: BSD-3-Clause
"""The language server: findings as diagnostics, remedies as quick fixes, pages of causes as hovers."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from .. import __version__
from ..causes import find
from ..check import Settings, read
from ..check.files.sources import cell_lines
from ..record import Edit, Finding, Place, Remedy
from ..remedies import attach

__all__ = ["is_whole", "make_server"]

_FIX_ALL = f"{lsp.CodeActionKind.SourceFixAll.value}.secondpass"
_PLACES = (("built", "built here"), ("freed", "freed or changed here"), ("used", "needed again here"))


class _Read:
    """A file that is open, or the cells of a notebook as one text: what was found in it, and where its lines are."""

    def __init__(self, path: str, parts: list[tuple[str, str]]) -> None:
        """`parts` are documents of the editor with their text: a file, or cells."""
        self.path = path
        self.findings: list[Finding] = []
        self.texts = dict(parts)
        self._uris = [uri for uri, _ in parts]
        self._first: list[int] = []
        lines: list[str] = []
        for _, text in parts:
            self._first.append(len(lines) + 1)
            lines += text.split("\n") if len(parts) == 1 and path.endswith(".py") else cell_lines(text)
        self.text = "\n".join(lines)

    def holds(self, place: Place | Edit | None) -> bool:
        return place is not None and Path(place.file).resolve() == Path(self.path).resolve()

    def at(self, line: int) -> tuple[str, int]:
        """The document that a line is in, and its number there."""
        part = max(0, bisect_right(self._first, line) - 1)
        return self._uris[part], line - self._first[part] + 1

    def of(self, uri: str) -> list[tuple[Finding, int]]:
        """The findings in one document, with their line there."""
        found = [(f, self.at(f.failed.line)) for f in self.findings if f.failed is not None]
        return [(f, line) for f, (where, line) in found if where == uri]


class _Server(LanguageServer):
    """Remembers what was read, by each open document."""

    def __init__(self) -> None:
        super().__init__("secondpass", __version__)
        self.read: dict[str, _Read] = {}

    def source(self, uri: str) -> str:
        text: str = self.workspace.get_text_document(uri).source
        return text


def make_server() -> LanguageServer:
    """A server that speaks on whatever it is started on."""
    server = _Server()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        _check(server, params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        _check(server, params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        _check(server, params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        _forget(server, [params.text_document.uri])

    cells = lsp.NotebookDocumentFilterWithCells(cells=[lsp.NotebookCellLanguage(language="python")])

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_OPEN, lsp.NotebookDocumentSyncOptions(notebook_selector=[cells]))
    def notebook_opened(params: lsp.DidOpenNotebookDocumentParams) -> None:
        _check_notebook(server, params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_changed(params: lsp.DidChangeNotebookDocumentParams) -> None:
        _check_notebook(server, params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_closed(params: lsp.DidCloseNotebookDocumentParams) -> None:
        _forget(server, [cell.uri for cell in params.cell_text_documents])

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll]),
    )
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        known = server.read.get(uri)
        if known is None:
            return []
        if params.context.only:
            if any(str(_FIX_ALL).startswith(_kind(only)) for only in params.context.only):
                return _fix_all(server, known)
            if not any(_kind(only) == "quickfix" for only in params.context.only):
                return []
        lines = range(params.range.start.line, params.range.end.line + 1)
        return [a for f, line in known.of(uri) if line - 1 in lines for a in _actions(server, known, f)]

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        uri = params.text_document.uri
        here = server.read[uri].of(uri) if uri in server.read else []
        return next((_hover(f) for f, line in here if line - 1 == params.position.line), None)

    return server


def _fix_all(server: _Server, known: _Read) -> list[lsp.CodeAction]:
    """The safe edits of all findings as one action; of two that touch the same lines, the first."""
    changes: dict[str, Any] = {}
    taken: set[tuple[str, int]] = set()
    for finding in known.findings:
        remedy = next((r for r in finding.remedies if r.edits and r.safe), None)
        made = _changes(server, known, remedy) if remedy is not None else None
        if remedy is None or made is None:
            continue
        lines = {(e.file, n) for e in remedy.edits for n in range(e.line, e.line + max(1, len(e.old.split("\n"))))}
        if lines & taken:
            continue
        taken |= lines
        for uri, edits in made.items():
            changes.setdefault(uri, []).extend(edits)
    if not changes:
        return []
    return [
        lsp.CodeAction(
            title="secondpass: make all safe repairs", kind=_FIX_ALL, edit=lsp.WorkspaceEdit(changes=changes)
        )
    ]


def _kind(kind: lsp.CodeActionKind | str) -> str:
    return str(kind.value) if isinstance(kind, lsp.CodeActionKind) else kind


def is_whole(text: str) -> bool:
    """Whether a text can be read. While a line is being typed it mostly cannot: then what was found before stays."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _path(uri: str) -> str:
    return unquote(urlparse(uri).path)


def _check(server: _Server, uri: str) -> None:
    _publish(server, _Read(_path(uri), [(uri, server.source(uri))]), [uri])


def _check_notebook(server: _Server, uri: str) -> None:
    notebook = server.workspace.get_notebook_document(notebook_uri=uri)
    if notebook is not None:
        cells = [cell.document for cell in notebook.cells if cell.kind == lsp.NotebookCellKind.Code]
        # As a file of Python beside it, which is not there: the notebook on the disk may be older.
        _publish(server, _Read(_path(uri) + ".py", [(cell, server.source(cell)) for cell in cells]), cells)


def _publish(server: _Server, new: _Read, uris: list[str]) -> None:
    if any(uri in server.read for uri in uris) and not is_whole(new.text):
        return
    for finding in read([new.path], Settings(jobs=1), texts={new.path: new.text}).findings:
        if finding.failed is not None and new.holds(finding.failed):
            new.findings.append(attach(finding, sources={finding.failed.file: new.text}))
    for uri in uris:
        server.read[uri] = new
        found = [_diagnostic(new, f) for f, _ in new.of(uri)]
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found))


def _forget(server: _Server, uris: Iterable[str]) -> None:
    for uri in uris:
        server.read.pop(uri, None)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _location(known: _Read, place: Place) -> lsp.Location:
    uri, line = known.at(place.line) if known.holds(place) else (Path(place.file).resolve().as_uri(), place.line)
    rows = known.text.split("\n")
    row = rows[place.line - 1].rstrip("\r") if known.holds(place) and 0 < place.line <= len(rows) else ""
    start = len(row) - len(row.lstrip())
    return lsp.Location(uri, lsp.Range(lsp.Position(line - 1, start), lsp.Position(line - 1, len(row))))


def _diagnostic(known: _Read, finding: Finding) -> lsp.Diagnostic:
    assert finding.failed is not None
    error = finding.severity == "error"
    return lsp.Diagnostic(
        range=_location(known, finding.failed).range,
        message=finding.message,
        severity=lsp.DiagnosticSeverity.Error if error else lsp.DiagnosticSeverity.Warning,
        code=finding.code,
        source="secondpass",
        related_information=[
            lsp.DiagnosticRelatedInformation(_location(known, place), label)
            for name, label in _PLACES
            if (place := getattr(finding, name)) is not None
        ],
    )


def _actions(server: _Server, known: _Read, finding: Finding) -> list[lsp.CodeAction]:
    possible = [
        (r, changes) for r in finding.remedies if r.edits and (changes := _changes(server, known, r)) is not None
    ]
    return [
        lsp.CodeAction(
            title=f"{finding.code}: {remedy.title}",
            kind=lsp.CodeActionKind.QuickFix,
            is_preferred=number == 0 and remedy.safe,
            edit=lsp.WorkspaceEdit(changes=changes),
        )
        for number, (remedy, changes) in enumerate(possible)
    ]


def _changes(server: _Server, known: _Read, remedy: Remedy) -> dict[str, Any] | None:
    """The edits of a remedy by document; None where the lines that it was made for are there no more."""
    changes: dict[str, list[lsp.TextEdit]] = {}
    for edit in remedy.edits:
        made = _edit(server, known, edit)
        if made is None:
            return None
        changes.setdefault(made[0], []).append(made[1])
    return changes


def _edit(server: _Server, known: _Read, edit: Edit) -> tuple[str, lsp.TextEdit] | None:
    old = edit.old.split("\n") if edit.old else []
    new = edit.new + "\n" if edit.new else ""
    if not known.holds(edit):
        start = lsp.Position(edit.line - 1, 0)
        return Path(edit.file).resolve().as_uri(), lsp.TextEdit(
            lsp.Range(start, lsp.Position(edit.line - 1 + len(old), 0)), new
        )
    # What is put in stands behind the line above it: at the end of a cell, that is not the next one.
    uri, line = known.at(edit.line if old or edit.line == 1 else edit.line - 1)
    first = line - 1 if old or edit.line == 1 else line
    rows = [row.rstrip("\r") for row in known.texts[uri].split("\n")]
    if server.source(uri) != known.texts[uri] or rows[first : first + len(old)] != old:
        return None
    start, end = lsp.Position(first, 0), lsp.Position(first + len(old), 0)
    if first + len(old) >= len(rows):  # the last line has no end
        last = len(rows) - 1
        end = lsp.Position(last, len(rows[last]))
        start, new = (start, edit.new) if old else (end, f"\n{edit.new}")
    return uri, lsp.TextEdit(lsp.Range(start, end), new)


def _hover(finding: Finding) -> lsp.Hover:
    cause = find(finding.cause)
    page = cause.page if cause is not None else finding.message
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, f"**{finding.code} {finding.cause}**\n\n{page}"))
