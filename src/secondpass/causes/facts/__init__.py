# SPDX-License-Identifier: BSD-3-Clause
"""What causes ask of a trace, each derived once: nothing here knows a cause by name."""
