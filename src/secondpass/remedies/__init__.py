# SPDX-License-Identifier: BSD-3-Clause
"""A remedy as a patch: one file per kind turns a finding and the source into edits.

`attach` fills the edits of the remedies that a cause proposed. `candidates` gives every form that could be right, best
first; `prove` runs them until one holds.
"""

from .proposals import attach, candidates

__all__ = ["attach", "candidates"]
