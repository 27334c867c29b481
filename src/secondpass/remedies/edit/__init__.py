# SPDX-License-Identifier: BSD-3-Clause
"""Text: a parsed file with positions, changes to it, and writing them to the disk."""
