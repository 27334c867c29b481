# SPDX-License-Identifier: BSD-3-Clause
"""The language server: findings as diagnostics, remedies as quick fixes, pages of causes as hovers."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from .. import __version__
from ..causes import find
from ..check import Settings, read
from ..record import Edit, Finding, Place, Remedy
from ..remedies import attach

__all__ = ["fix_all", "is_whole", "make_server"]

_FIX_ALL = f"{lsp.CodeActionKind.SourceFixAll.value}.secondpass"
_PLACES = (("built", "built here"), ("freed", "freed or changed here"), ("used", "needed again here"))


class _Server(LanguageServer):
    """Remembers the findings of every open file."""

    def __init__(self) -> None:
        super().__init__("secondpass", __version__)
        self.findings: dict[str, list[Finding]] = {}


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
        server.findings.pop(params.text_document.uri, None)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll]),
    )
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        lines = range(params.range.start.line, params.range.end.line + 1)
        found = server.findings.get(params.text_document.uri, [])
        if params.context.only:
            if any(str(_FIX_ALL).startswith(_kind(only)) for only in params.context.only):
                return fix_all(found)
            if not any(_kind(only) == "quickfix" for only in params.context.only):
                return []
        return [a for f in found if f.failed is not None and f.failed.line - 1 in lines for a in _actions(server, f)]

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        for finding in server.findings.get(params.text_document.uri, []):
            if finding.failed is not None and finding.failed.line - 1 == params.position.line:
                return _hover(finding)
        return None

    return server


def fix_all(findings: list[Finding]) -> list[lsp.CodeAction]:
    """The safe edits of all findings as one action; of two that touch the same lines, the first."""
    changes: dict[str, Any] = {}
    taken: set[tuple[str, int]] = set()
    for finding in findings:
        remedy = next((r for r in finding.remedies if r.edits and r.safe), None)
        if remedy is None:
            continue
        lines = {(e.file, n) for e in remedy.edits for n in range(e.line, e.line + max(1, len(e.old.split("\n"))))}
        if lines & taken:
            continue
        taken |= lines
        for uri, edits in _changes(remedy).items():
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
    path = _path(uri)
    document = server.workspace.get_text_document(uri)
    text = document.source
    if uri in server.findings and not is_whole(text):
        return
    report = read([path], Settings(jobs=1), texts={path: text})
    found = []
    for finding in report.findings:
        if finding.failed is not None and Path(finding.failed.file).resolve() == Path(path).resolve():
            found.append(attach(finding, sources={finding.failed.file: text}))
    server.findings[uri] = found
    diagnostics = [_diagnostic(f, text) for f in found]
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics))


def _range(line: int, text: str) -> lsp.Range:
    rows = text.split("\n")
    row = rows[line - 1].rstrip("\r") if 0 < line <= len(rows) else ""
    start = len(row) - len(row.lstrip())
    return lsp.Range(lsp.Position(line - 1, start), lsp.Position(line - 1, len(row)))


def _diagnostic(finding: Finding, text: str) -> lsp.Diagnostic:
    assert finding.failed is not None
    error = finding.severity == "error"
    return lsp.Diagnostic(
        range=_range(finding.failed.line, text),
        message=finding.message,
        severity=lsp.DiagnosticSeverity.Error if error else lsp.DiagnosticSeverity.Warning,
        code=finding.code,
        source="secondpass",
        related_information=[
            lsp.DiagnosticRelatedInformation(_location(place, text), label)
            for name, label in _PLACES
            if (place := getattr(finding, name)) is not None
        ],
    )


def _location(place: Place, text: str) -> lsp.Location:
    return lsp.Location(Path(place.file).resolve().as_uri(), _range(place.line, text))


def _actions(server: _Server, finding: Finding) -> list[lsp.CodeAction]:
    return [
        lsp.CodeAction(
            title=f"{finding.code}: {remedy.title}",
            kind=lsp.CodeActionKind.QuickFix,
            is_preferred=number == 0 and remedy.safe,
            edit=lsp.WorkspaceEdit(changes=_changes(remedy)),
        )
        for number, remedy in enumerate(r for r in finding.remedies if r.edits)
    ]


def _changes(remedy: Remedy) -> dict[str, Any]:
    changes: dict[str, list[lsp.TextEdit]] = {}
    for edit in remedy.edits:
        changes.setdefault(Path(edit.file).resolve().as_uri(), []).append(_edit(edit))
    return changes


def _edit(edit: Edit) -> lsp.TextEdit:
    count = len(edit.old.split("\n")) if edit.old else 0
    span = lsp.Range(lsp.Position(edit.line - 1, 0), lsp.Position(edit.line - 1 + count, 0))
    return lsp.TextEdit(span, edit.new + "\n" if edit.new else "")


def _hover(finding: Finding) -> lsp.Hover:
    cause = find(finding.cause)
    page = cause.page if cause is not None else finding.message
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, f"**{finding.code} {finding.cause}**\n\n{page}"))
