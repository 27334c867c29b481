# SPDX-License-Identifier: BSD-3-Clause
"""Lets a folder be called: `secondpass.watch` is both a package and the verb it is known for."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__all__ = ["callable_as"]


class _Verb(ModuleType):
    # Importing any submodule binds the package as an attribute of its parent, whatever stood there before. So the
    # package itself must be callable: a function put in its place would come and go with the order of imports.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self.__dict__["_verb"])(*args, **kwargs)


def callable_as(module: str, function: str) -> None:
    """Makes calling the module call one of its functions."""
    found = sys.modules[module]
    found.__dict__["_verb"] = function
    found.__class__ = _Verb
