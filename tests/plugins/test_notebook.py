# SPDX-License-Identifier: BSD-3-Clause
"""The extension in a real kernel, through nbclient: what a reader of the notebook sees."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.xdist_group("notebook")  # one kernel runs all cells

pytest.importorskip("ipykernel")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

CELLS = {
    "load": "%load_ext secondpass",
    "setup": """
import torch, secondpass
cell = torch.nn.GRUCell(1, 8)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
hidden = torch.zeros(1, 8)
""",
    "fails": """
for step in range(3):
    hidden = cell(torch.ones(1, 1), hidden)
    loss = (hidden ** 2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "asked": "%secondpass",
    "explained": "secondpass.explain(show=False)",
    "finding": "secondpass.explain(show=False).findings[0]",
    "leaks": """
log, w = [], torch.ones(1000, requires_grad=True)
descent = torch.optim.SGD([w], lr=0.1)
for i in range(10):
    loss = (w ** 2).sum()
    descent.zero_grad()
    loss.backward()
    descent.step()
    log.append(loss)
""",
    "silent": "%secondpass",
    "whole cell": """
%%secondpass
kept = []
for i in range(10):
    loss = (w.exp() ** 2).sum()
    loss.backward()
    kept.append(w.exp())
""",
    "piling up": """
%%secondpass
for i in range(10):
    loss = (w.exp() ** 2).sum()
    loss.backward()
    descent.step()
""",
    "sound": "%%secondpass\n(torch.ones(3, requires_grad=True) ** 2).sum().backward()",
    "ledger": "secondpass.ledger((cell(torch.ones(1, 1), torch.zeros(1, 8)) ** 2).sum())",
    "made in a loop": "for i in range(2):\n    total = (w ** 2).sum()\n    total.backward()",
    "made anew": "total = (w.exp() ** 2).sum()",
    "twice": "total.backward()\ntotal.backward()",
    "asked too much": "%secondpass off",
    "session": "with secondpass.watch() as watch:\n    (w ** 2).sum().backward()\nwatch",
    "unload": "%unload_ext secondpass",
}


@pytest.fixture(scope="module")
def outputs():
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(text.strip()) for text in CELLS.values()]
    nbclient.NotebookClient(book, timeout=300, allow_errors=True, kernel_name="python3").execute()
    return {name: done.outputs for name, done in zip(CELLS, book.cells, strict=True)}


def text(outputs):
    """Everything that is text in some outputs, without its colours."""
    parts = ["\n".join(o["traceback"]) if o["output_type"] == "error" else o.get("text", "") for o in outputs]
    return re.sub(r"\x1b\[[0-9;]*m", "", "".join(parts))


def test_a_failing_cell_is_explained(outputs):
    (error,) = outputs["fails"]
    assert error["output_type"] == "error"
    shown = text([error])
    assert "--> Cell In[3], line 5" in shown
    assert "1 | for step in range(3):" in shown
    assert "2 |     hidden = cell(torch.ones(1, 1), hidden)" in shown
    assert "(likely)" not in shown
    assert "\x1b[1;31mSP103 carried-state" in "\n".join(error["traceback"])


def test_what_was_seen_is_no_guess(outputs):
    shown = text(outputs["asked"])
    assert "SP103 carried-state: `hidden`" in shown and "guess" not in shown
    assert "freed in iteration 1, needed again in iteration 2" in shown


def test_reports_and_findings_show_themselves(outputs):
    (shown,) = outputs["explained"]
    assert shown["data"]["text/plain"] == "<Report: 1 finding (SP103)>"
    page = shown["data"]["text/html"]
    assert "Cell In[3], line 5" in page and "hidden = cell(torch.ones(1, 1), hidden)" in page and "<script" not in page
    (one,) = outputs["finding"]
    assert one["data"]["text/plain"] == "<Finding SP103 carried-state at Cell In[3], line 5>"
    assert "SP103 carried-state" in one["data"]["text/html"]


def test_silent_findings_of_cells(outputs):
    shown = text(outputs["silent"])
    assert "SP401 graph-leak: `log`" in shown and "--> Cell In[7], line 8" in shown
    assert "SP407" not in shown, "an exception that somebody has read was not swallowed"
    whole = text(outputs["whole cell"])
    assert "SP401 graph-leak: `kept`" in whole and "of saved tensors" in whole and "`log`" not in whole
    assert "--> Cell In[9], line 6" in whole, whole
    assert "SP403 missing-zero-grad" in text(outputs["piling up"]), "gradients were there before the cell"
    assert text(outputs["sound"]) == "secondpass: nothing is wrong (1 pass seen)\n"


def test_ledgers_show_themselves(outputs):
    (shown,) = outputs["ledger"]
    assert re.fullmatch(r"<Ledger: [\d.]+ \w+ in \d+ saved tensors? behind \d+ nodes>", shown["data"]["text/plain"])
    assert "<table" in shown["data"]["text/html"]


def test_a_name_comes_from_the_last_cell_that_made_it(outputs):
    shown = text(outputs["twice"])
    assert "SP101 repeated-backward" in shown
    assert "--> Cell In[14], line 1\n     1 | total = (w.exp() ** 2).sum()" in shown


def test_arguments_that_there_are_not(outputs):
    assert "%secondpass takes no arguments" in text(outputs["asked too much"])


def test_a_watch_shows_itself(outputs):
    (shown,) = outputs["session"]
    assert shown["data"]["text/plain"] == "<Session: 1 pass>"
