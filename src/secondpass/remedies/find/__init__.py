# SPDX-License-Identifier: BSD-3-Clause
"""Where in the user's files an edit belongs: who reads and writes a name, who calls whom, where a state crosses over."""
