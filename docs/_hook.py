# SPDX-License-Identifier: BSD-3-Clause
"""Pages that are written elsewhere: one per cause from its docstring, and the files at the top of the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from secondpass.causes import CAUSES

ROOT = Path(__file__).parents[1]
COPIED = {"changes.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the causes where the navigation has their index."""
    made = {"causes/index.md", *COPIED}
    there = [i for i in config.nav or [] for page in i.values() if page in made or Path(config.docs_dir, page).exists()]
    config.nav = [_with_causes(item) for item in there]
    return config


def _with_causes(item: dict[str, Any]) -> dict[str, Any]:
    [(title, target)] = item.items()
    if target != "causes/index.md":
        return item
    pages = [{f"{cause.code} {cause.name}": f"causes/{cause.name}.md"} for cause in _sorted()]
    return {title: [{"All causes": target}, *pages]}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages."""
    for cause in _sorted():
        files.append(File.generated(config, f"causes/{cause.name}.md", content=page(cause)))
    files.append(File.generated(config, "causes/index.md", content=index()))
    for name, source in COPIED.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def page(cause: Any) -> str:
    """A cause's page: the docstring under its name."""
    body = cause.page.strip()
    title = f"# {cause.code} {cause.name}\n\n"
    return body if body.startswith("# ") else title + body + "\n"


def index() -> str:
    """The table of all causes."""
    rows = "\n".join(f"| {c.code} | [{c.name}]({c.name}.md) | {c.title} | {', '.join(c.remedies)} |" for c in _sorted())
    return (
        "# Causes\n\nWhat kind of mistake it is. The name is the same everywhere: in messages, in JSON, in "
        "`# noqa: SP103`, and in `secondpass explain carried-state`, which prints these pages in the terminal. The "
        "programs on the pages run without PyTorch too: `import secondpass.autograd as torch`.\n\n"
        f"| code | cause | what happened | remedies, best first |\n| --- | --- | --- | --- |\n{rows}\n"
    )


def _sorted() -> list[Any]:
    return sorted(CAUSES.values(), key=lambda cause: str(cause.code))
