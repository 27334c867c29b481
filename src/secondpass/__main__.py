# SPDX-License-Identifier: BSD-3-Clause
"""`python -m secondpass`."""

import sys

if __name__ == "__main__":
    # Python puts the working directory first. What lies there is the user's: we must not import it by accident, and the
    # program is given its own first place before it starts.
    if not sys.flags.safe_path:
        sys.path[0] = sys.executable
    from secondpass.commands import main

    main(prog_name="secondpass")
