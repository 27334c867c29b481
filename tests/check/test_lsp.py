# SPDX-License-Identifier: BSD-3-Clause
"""A real session with the language server: a client process talks to `secondpass lsp` over its pipes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

FAULTY = """\
import torch
from torch import nn

cell = nn.GRUCell(3, 4)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(1, 4)
for _ in range(10):
    h = cell(torch.randn(1, 3), h)
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


async def session(file: Path) -> dict[str, object]:
    client = LanguageClient("test", "1")
    told: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def diagnostics(params: lsp.PublishDiagnosticsParams) -> None:
        told.put_nowait(params)

    await client.start_io(sys.executable, "-m", "secondpass", "lsp")
    started = await client.initialize_async(
        lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=file.parent.as_uri())
    )
    client.initialized(lsp.InitializedParams())
    uri = file.as_uri()
    client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, lsp.LanguageKind.Python, 1, FAULTY))
    )
    first = await asyncio.wait_for(told.get(), 60)
    where = first.diagnostics[0].range
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), where, lsp.CodeActionContext(first.diagnostics))
    )
    hover = await client.text_document_hover_async(lsp.HoverParams(lsp.TextDocumentIdentifier(uri), where.start))
    repaired = FAULTY.replace("    opt.step()\n", "    opt.step()\n    h = h.detach()\n")
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(2, uri), [lsp.TextDocumentContentChangeWholeDocument(repaired)]
        )
    )
    second = await asyncio.wait_for(told.get(), 60)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return {"server": started, "first": first, "actions": actions, "hover": hover, "second": second}


def test_a_session_of_an_editor(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(FAULTY)
    seen = asyncio.run(session(file))
    [diagnostic] = seen["first"].diagnostics
    assert diagnostic.code == "SP103"
    assert diagnostic.source == "secondpass"
    assert diagnostic.range.start == lsp.Position(10, 4)
    assert {i.location.range.start.line for i in diagnostic.related_information} == {7, 10}
    action = seen["actions"][0]
    assert action.kind == lsp.CodeActionKind.QuickFix
    [edit] = action.edit.changes[file.as_uri()]
    assert "detach()" in edit.new_text
    assert "SP103 carried-state" in seen["hover"].contents.value
    assert not seen["second"].diagnostics
