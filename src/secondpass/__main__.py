# SPDX-License-Identifier: BSD-3-Clause
"""`python -m secondpass`."""

from .commands import main

if __name__ == "__main__":
    main(prog_name="secondpass")
