# SPDX-License-Identifier: BSD-3-Clause
"""A remedy as a patch: one file per kind turns a finding and the source into edits.

`attach` fills the edits of the remedies that a cause proposed. `candidates` gives every form that could be right, best
first; `proof` runs them until one holds.
"""

from ._attach import attach, candidates

__all__ = ["attach", "candidates"]
