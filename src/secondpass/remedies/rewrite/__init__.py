# SPDX-License-Identifier: BSD-3-Clause
"""What is written there: statements moved, repeated, wrapped or taken out."""
