# SPDX-License-Identifier: BSD-3-Clause
"""secondpass inside the tools that people use: one small file per tool, none imported unless asked for."""
