# SPDX-License-Identifier: BSD-3-Clause
"""One reader of the user's Python, on `ast`: files, statements, loops, and one table of what a call does to history."""

from .effects import (
    STORES,
    Effect,
    EffectKind,
    base_of,
    clears_gradients,
    close_long_files,
    cut_of,
    effects,
    is_number,
    records_nothing,
    root_of,
    switches_recording,
)
from .reader import Source, assigned, expression, given, heads, joined, names_in, parsed, reads, texts_read, uncollected

__all__ = [
    "STORES", "Effect", "EffectKind", "Source", "assigned", "base_of", "clears_gradients", "close_long_files", "cut_of",
    "effects", "expression", "given", "heads", "is_number", "joined", "names_in", "parsed", "reads", "records_nothing",
    "root_of", "switches_recording", "texts_read", "uncollected",
]  # fmt: skip
