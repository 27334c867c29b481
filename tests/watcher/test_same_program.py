# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass run` is Python: whatever a program can see of itself is as in a plain run."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from .plain import both, run

# Programs without torch: what the loader and the launcher could spoil. Each is run plain and watched; its whole output,
# its messages and its exit status must be equal.
PROGRAMS = {
    "itself": """
        import sys
        print(__name__, __file__, __package__, __spec__, type(__loader__).__name__, __builtins__.__name__)
        print(sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
        print(sorted(n for n in globals() if not n.startswith("_sp_")))
    """,
    "docstring": '"""What it does."""\nprint(__doc__)\n\n\ndef f():\n    """Doc of f."""\n\n\nprint(f.__doc__, f())\n',
    "future": '"""Doc."""\nfrom __future__ import annotations\n\n\ndef f(x: nowhere) -> never: ...\n\n\nprint(f.__annotations__)\n',
    "annotations": """
        x: int = 3
        y: "str"
        print(__annotations__)
    """,
    "exit none": "import sys\nprint('a')\nsys.exit()\n",
    "exit number": "import sys\nprint('a')\nsys.exit(7)\n",
    "exit word": "import sys\nsys.exit('that is all')\n",
    "exit object": "import sys\nsys.exit(['a', 1])\n",
    "exit strange": """
        import sys
        class Strange:
            def __eq__(self, other):
                raise RuntimeError("compared")
            def __str__(self):
                return "strange"
        sys.exit(Strange())
    """,
    "exit false": "raise SystemExit(False)\n",
    "exit in atexit": """
        import atexit, sys
        atexit.register(lambda: print("first registered"))
        atexit.register(sys.exit, 5)
    """,
    "raise": """
        def deep(n):
            if n:
                deep(n - 1)
            else:
                raise ValueError("x")

        def outer():
            try:
                deep(2)
            except ValueError as error:
                raise KeyError("y") from error

        outer()
    """,
    "raise in context": """
        def a():
            try:
                1 / 0
            finally:
                b()
        def b():
            {}["x"]
        a()
    """,
    "assert": "x = 3\nassert x == 4, 'not four'\n",
    "group": "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])\n",
    "eof": "raise EOFError('no more')\n",
    "broken pipe": "import errno\nraise OSError(errno.EPIPE, 'pipe')\n",
    "hook of its own": """
        import sys
        def hook(kind, error, traceback):
            print("hook", kind.__name__, error, traceback.tb_frame.f_code.co_name, traceback.tb_lineno)
        sys.excepthook = hook
        1 / 0
    """,
    "hook that fails": """
        import sys
        def hook(kind, error, traceback):
            raise RuntimeError("hook failed")
        sys.excepthook = hook
        1 / 0
    """,
    "recursion": """
        def f(n):
            return f(n + 1)
        try:
            f(0)
        except RecursionError as error:
            print(str(error)[:32])
    """,
    "long chain of elifs": "x = 700\nif x == 0:\n    pass\n" + "".join(f"elif x == {n}:\n    print({n})\n" for n in range(1, 900)),
    "import that fails": """
        import json, sys, types
        open("other.py", "w").write("def f():\\n    import json\\n    return 1 / 0\\nf()\\n")
        import other
    """,
    "kernels of others": """
        import dis
        def jit(f):
            return f
        @jit
        def kernel(x):
            total = 0
            for i in range(x):
                total += i
            return total
        print(kernel(3), kernel.__code__.co_names)
    """,
    "long sum": "x = 1\nprint(" + " + ".join(["x"] * 3000) + ")\n",
    "generators": """
        def count(n):
            try:
                for i in range(n):
                    got = yield i
                    if got:
                        print("got", got)
            finally:
                print("closed")
        def both(n):
            yield from count(n)
            return "end"
        g = both(3)
        print(next(g), g.send("x"), list(g))
        g = count(9)
        next(g)
        g.close()
        print([x for x in count(2)], sum(x for x in (1, 2)))
    """,
    "async": """
        import asyncio
        class Context:
            async def __aenter__(self):
                return 1
            async def __aexit__(self, *rest):
                print("left")
        async def numbers():
            for i in range(3):
                await asyncio.sleep(0)
                yield i
        async def main():
            async with Context() as c:
                async for n in numbers():
                    print(n + c)
            return [n async for n in numbers()]
        print(asyncio.run(main()))
    """,
    "match": """
        def which(x):
            match x:
                case {"a": int(n)} if n > 1:
                    return "dict"
                case [first, *rest]:
                    return first, rest
                case str() | bytes():
                    return "text"
                case _:
                    return None
        print(which({"a": 2}), which([1, 2, 3]), which("x"), which(4))
    """,
    "classes": """
        import dataclasses, enum, typing
        @dataclasses.dataclass(order=True)
        class Point:
            "A point."
            x: int
            y: int = 2
            def __post_init__(self):
                self.__hidden = self.x
            def hidden(self):
                return self.__hidden
        class Colour(enum.Enum):
            RED = enum.auto()
            BLUE = enum.auto()
            def shout(self):
                return self.name.upper()
        class Named(typing.NamedTuple):
            a: int
            b: str = "b"
        class Typed(typing.TypedDict):
            a: int
        class Base:
            def __init_subclass__(cls, **kwargs):
                print(cls.__name__, sorted(vars(cls)), kwargs)
        class Child(Base, key=1):
            __slots__ = ("a",)
            def f(self):
                return super().__init__(), __class__.__name__
            x = [__name__ for _ in range(2)]
            if x:
                y = 1
            else:
                z = 1
        print(Point(1), Point.__doc__, vars(Point(1)), Point(1) < Point(2), Point(4).hidden())
        print(list(Colour), Colour.RED.shout(), Named(1), Typed.__annotations__, Child().f(), Child.__qualname__)
    """,
    "namespace that answers everything": """
        class Names(dict):
            def __missing__(self, name):
                if name.startswith("__"):
                    raise KeyError(name)
                self[name] = len(self)
                return self[name]
        class Meta(type):
            @classmethod
            def __prepare__(meta, name, bases):
                return Names()
        class Words(metaclass=Meta):
            one
            two
            def method(self):
                return 1
            three
        print({k: v for k, v in vars(Words).items() if not k.startswith("__") and k != "method"})
    """,
    "names": """
        total = 0
        def outer():
            count = 0
            def inner(*args, step=1, **kwargs):
                nonlocal count
                global total
                count += step
                total += len(args) + len(kwargs)
                return count
            inner(1, 2, a=3)
            inner(*range(3), **{"b": 1})
            return inner(step=5), sorted(locals())
        print(outer(), total)
        def empty(): ...
        def only_doc():
            "doc"
        lam = lambda x, *y, z=3: (x, y, z)
        print(empty(), only_doc(), lam(1, 2), outer.__code__.co_varnames, outer.__code__.co_freevars)
        if (n := len("abc")) > 2:
            print(n)
        for i in range(3):
            if i == 1:
                continue
            print(i)
        else:
            print("else")
        while True:
            break
        else:
            print("never")
        try:
            pass
        except* ValueError:
            pass
        with open(__file__) as f, open(__file__) as g:
            print(f.read() == g.read())
        del n
        print("n" in globals())
    """,
    "decorators": """
        import functools
        def twice(f):
            @functools.wraps(f)
            def inner(*a):
                return f(*a), f(*a)
            return inner
        class K:
            @staticmethod
            def s():
                return 1
            @classmethod
            def c(cls):
                return cls.__name__
            @property
            def p(self):
                return 2
            @functools.lru_cache
            def cached(self, x):
                return x
        @twice
        @twice
        def f(x):
            return x
        print(f(1), f.__name__, K.s(), K.c(), K().p, K().cached(3))
    """,
    "source": """
        import inspect, linecache, sys
        def f(x):
            # a comment
            return x + 1
        class K:
            def m(self):
                return inspect.currentframe().f_lineno
        print(inspect.getsource(f), inspect.getsource(K), inspect.getsourcelines(K.m), inspect.signature(f))
        print(inspect.getsourcefile(f), K().m(), f.__code__.co_filename, f.__code__.co_firstlineno)
        print(linecache.getline(__file__, 2), open(__file__).read().count("comment"))
    """,
    "warnings": """
        import warnings
        def f():
            warnings.warn("old", DeprecationWarning)
            warnings.warn("user", stacklevel=2)
        for _ in range(2):
            f()
        warnings.simplefilter("error")
        try:
            f()
        except DeprecationWarning as error:
            print("raised", error)
    """,
    "warnings of the compiler": "import re\nprint(re.match('\\d', '1'))\nx = 1\nprint(x is 1)\n",
    "breakpoint": """
        import sys
        def stop(*args):
            frame = sys._getframe(1)
            print("stopped", frame.f_lineno, frame.f_code.co_name, sorted(frame.f_locals))
        sys.breakpointhook = stop
        def f(x):
            y = x
            breakpoint()
            return y
        f(1)
    """,
    "trace": """
        import sys
        def f(x):
            y = x + 1
            if y:
                y += 1
            return y
        def tracer(frame, event, arg):
            if frame.f_code.co_filename == __file__ and event == "line":
                lines.append(frame.f_lineno)
            return tracer
        lines = []
        sys.settrace(tracer)
        f(1)
        sys.settrace(None)
        print(list(dict.fromkeys(lines)))
    """,
    "pickle": """
        import copy, pickle
        class Thing:
            def __init__(self, x):
                self.x = x
            def __eq__(self, other):
                return vars(self) == vars(other)
        def function(x):
            return x + 1
        back = pickle.loads(pickle.dumps((Thing(3), function, Thing)))
        print(back[0] == Thing(3), back[1] is function, back[2] is Thing, Thing.__module__)
        print(copy.deepcopy(Thing([1])).x, copy.copy(function) is function, pickle.dumps(Thing(3)))
    """,
    "fork": """
        import os, sys
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            print("child")
            sys.stdout.flush()
            sys.exit(3)
        print("parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """,
    "fork that fails": """
        import os, sys
        child = os.fork()
        if child == 0:
            raise ValueError("in the child")
        print("parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """,
    "processes": """
        import multiprocessing, sys
        def work(x):
            return x * 2, __name__
        def fail(x):
            raise ValueError(x)
        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                context = multiprocessing.get_context(method)
                with context.Pool(2) as pool:
                    print(pool.map(work, range(3)))
                    try:
                        pool.map(fail, [1])
                    except ValueError as error:
                        print("failed", error)
                p = context.Process(target=work, args=(1,))
                p.start()
                p.join()
                print(p.exitcode)
    """,
    "threads": """
        import threading
        def work(x):
            out.append(x)
        out = []
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(sorted(out))
        late = threading.Thread(target=lambda: (__import__("time").sleep(0.2), print("late", len(out), __name__)))
        late.start()
    """,
    "thread that fails": """
        import threading
        def work():
            raise ValueError("in a thread")
        t = threading.Thread(target=work, name="worker")
        t.start()
        t.join()
    """,
    "at exit": """
        import atexit
        def last():
            print("last", helper(), __name__)
        def helper():
            return 3
        atexit.register(last)
    """,
    "functions in other globals": """
        import types
        def f(x):
            y = x + 1
            return y
        g = types.FunctionType(f.__code__, {"__builtins__": __builtins__})
        print(g(1))
        exec("def h(x):\\n    return x\\nprint(h(2))", {})
    """,
    "stdin": "import sys\nprint(sys.stdin.read(), input.__name__)\n",
}  # fmt: skip


def write(folder: Path, name: str, source: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(source).lstrip("\n"), encoding="utf-8")


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, tmp_path):
    write(tmp_path, "prog.py", PROGRAMS[name])
    both(tmp_path, "prog.py", "--lr", "3e-4", "-q", "--json", "x", "--help", stdin="typed\n").agree()


def test_deeper_and_absolute_paths(tmp_path):
    write(
        tmp_path,
        "sub/prog.py",
        "import sys, helper\nprint(__file__, sys.argv, sys.path[0], helper.here)\nhelper.fail()\n",
    )
    write(
        tmp_path,
        "sub/helper.py",
        "here = __file__, __name__, __spec__.origin\n\n\ndef fail():\n    raise ValueError(here[1])\n",
    )
    both(tmp_path, "sub/prog.py").agree()
    both(tmp_path / "sub", str(tmp_path / "sub/prog.py")).agree()
    both(tmp_path, "./sub/../sub/prog.py").agree()


def test_links(tmp_path):
    write(tmp_path, "real/prog.py", "import sys, helper\nprint(__file__, sys.argv, sys.path[0])\n")
    write(tmp_path, "real/helper.py", "print(__file__)\n")
    (tmp_path / "link.py").symlink_to(tmp_path / "real/prog.py")
    both(tmp_path, "link.py").agree()


def test_folder_with_a_main(tmp_path):
    write(
        tmp_path,
        "app/__main__.py",
        "import sys, other\nprint(__name__, __package__, __file__, sys.argv, sys.path[0], other.x)\n",
    )
    write(tmp_path, "app/other.py", "x = 1\n")
    both(tmp_path, "app", "a").agree()


def test_modules_and_packages(tmp_path):
    write(tmp_path, "pkg/__init__.py", "from .sub import value\nprint('package', __name__)\n")
    write(tmp_path, "pkg/sub/__init__.py", "from ..deep import value\n")
    write(tmp_path, "pkg/deep.py", "value = 5\n")
    write(
        tmp_path,
        "pkg/__main__.py",
        "from . import value\nimport sys\nprint(__name__, __package__, __spec__.name, __file__, value, sys.argv)\n",
    )
    write(
        tmp_path,
        "pkg/train.py",
        """
        import sys
        from .deep import value
        from . import sub

        class Thing: ...

        def main():
            import pickle
            print(value, sub.__name__, __name__, __package__, __spec__.name, sys.argv[1:], sys.path[0], pickle.dumps(Thing))
            raise KeyError("here")

        if __name__ == "__main__":
            main()
        """,
    )
    both(tmp_path, ["-m", "pkg.train"], "--x", "1").agree(err=False)
    both(tmp_path, ["-m", "pkg"], "--x", "1").agree(err=False)
    write(tmp_path, "alone.py", "import sys\nprint(__name__, __package__, __spec__.name, __file__, sys.argv)\n")
    both(tmp_path, ["-m", "alone"], "-m", "b").agree()


def test_traceback_of_a_module(tmp_path):
    write(tmp_path, "pkg/__init__.py", "")
    write(tmp_path, "pkg/train.py", "def main():\n    raise KeyError('here')\n\n\nmain()\n")
    result = both(tmp_path, ["-m", "pkg.train"])
    # Python itself shows two lines of runpy before those of the program.
    plain = [line for line in result.plain.err.splitlines() if "runpy" not in line]
    assert result.watched.err.splitlines() == plain
    assert result.watched.status == result.plain.status


def test_spawned_workers_of_a_module(tmp_path):
    write(tmp_path, "pkg/__init__.py", "")
    write(tmp_path, "pkg/deep.py", "value = 5\n")
    write(
        tmp_path,
        "pkg/train.py",
        """
        import multiprocessing
        from .deep import value

        def work(x):
            return x + value

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(work, [1, 2]))
        """,
    )
    both(tmp_path, ["-m", "pkg.train"]).agree()


def test_coding_cookies(tmp_path):
    (tmp_path / "latin.py").write_bytes("# -*- coding: latin-1 -*-\nprint(ascii('déjà'))\n".encode("latin-1"))
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbfprint(ascii('d\xc3\xa9j\xc3\xa0'))\n")
    (tmp_path / "dos.py").write_bytes(b"x = '''a\r\nb'''\r\nprint(repr(x))\r\n1/0\r\n")
    (tmp_path / "none.py").write_bytes("print('déjà')\n".encode("latin-1"))
    for program in ("latin.py", "bom.py", "dos.py"):
        both(tmp_path, program).agree()
    result = both(tmp_path, "none.py")
    assert result.plain.status == result.watched.status == 1
    assert result.plain.err.splitlines()[-1].partition(":")[0] in result.watched.err


def test_own_modules_with_the_names_of_others(tmp_path):
    """We import click, dataclasses, ast... before the program; a program that has its own must still get its own."""
    for name in ("click", "queue", "ast", "dataclasses", "inspect", "record", "watch"):
        write(tmp_path, f"{name}.py", f"print('own {name}')\nvalue = 1\n")
    write(tmp_path, "rich/__init__.py", "print('own rich')\n")
    write(
        tmp_path,
        "prog.py",
        "import click, queue, rich, record, watch\nprint(click.value, queue.value, rich.__file__)\n",
    )
    both(tmp_path, "prog.py").agree()


def test_flags(tmp_path):
    write(
        tmp_path,
        "prog.py",
        "'doc'\nimport sys\nassert sys.argv == 3\nprint(__debug__, __doc__, sys.flags.optimize, sys.path[0])\n",
    )
    both(tmp_path, "prog.py", flags=("-O",)).agree()
    both(tmp_path, "prog.py", flags=("-OO",)).agree()
    write(tmp_path, "safe.py", "import sys\nprint(sys.path)\n")
    both(tmp_path, "safe.py", flags=("-P",)).agree()


def test_breakpoints_go_where_they_are_sent(tmp_path):
    write(tmp_path, "prog.py", "import os\nprint('before')\nbreakpoint()\nprint('after')\n")
    write(tmp_path, "mine.py", "import sys\ndef stop():\n    print('here', sys._getframe(1).f_lineno)\n")
    both(tmp_path, "prog.py", env={"PYTHONBREAKPOINT": "mine.stop"}).agree()
    both(tmp_path, "prog.py", env={"PYTHONBREAKPOINT": "0"}).agree()


def test_debugger(tmp_path):
    write(
        tmp_path,
        "prog.py",
        """
        def f(x):
            y = x + 1
            if y > 1:
                return y
            y = 5
            return y

        breakpoint()
        z = f(3)
        print(z)
        """,
    )
    for typed in ("n\np z\nn\nc\n", "b 4\nc\np y\nw\nc\n", "n\nu\nd\nl\nc\n"):
        result = both(tmp_path, "prog.py", stdin=typed)
        here = [
            line for line in result.watched.out.splitlines() if "secondpass" not in line and "exec(code" not in line
        ]
        if "w\n" in typed or "u\n" in typed:
            wanted = [line for line in result.plain.out.splitlines() if line.startswith(("->", "(Pdb) 4", "> "))]
            assert [line for line in wanted if line not in here] == []
        else:
            assert result.watched.out == result.plain.out


@pytest.mark.parametrize("way", [[], ["-m", "secondpass", "run"]])
def test_interrupt(way, tmp_path):
    """Ctrl-C: the program's own traceback, and death by the signal, as shells and launchers expect."""
    write(
        tmp_path,
        "prog.py",
        "import time\nprint('ready', flush=True)\ntry:\n    time.sleep(60)\nfinally:\n    print('cleaned', flush=True)\n",
    )
    process = subprocess.Popen(
        [sys.executable, *way, "prog.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "cleaned\n"
    assert err.splitlines()[0] == "Traceback (most recent call last):"
    assert err.splitlines()[1:] == [
        f'  File "{tmp_path}/prog.py", line 4, in <module>',
        "    time.sleep(60)",
        "KeyboardInterrupt",
    ]
    assert process.returncode == -signal.SIGINT


def test_changed_while_running(tmp_path):
    write(
        tmp_path,
        "prog.py",
        "import helper\nopen(__file__, 'a').write('# more')\nopen(helper.__file__, 'w').write('')\nprint(helper.f())\n",
    )
    write(tmp_path, "helper.py", "def f():\n    return 3\n")
    assert run(["-m", "secondpass", "run", "prog.py"], tmp_path).out == "3\n"


def test_by_value_pickles_hold_no_log(tmp_path):
    """Libraries that send functions to workers by value take our mark along: it must be small, and work elsewhere."""
    pytest.importorskip("cloudpickle")
    write(
        tmp_path,
        "prog.py",
        """
        import cloudpickle, subprocess, sys
        def f(x):
            total = 0
            for i in range(x):
                total += i
            return total
        f(100_000)
        data = cloudpickle.dumps(f)
        print(len(data) < 5000)
        code = "import sys, pickle; f = pickle.load(sys.stdin.buffer); print(f(10), 'secondpass' in sys.modules)"
        print(subprocess.run([sys.executable, "-c", code], input=data, capture_output=True).stdout)
        """,
    )
    both(tmp_path, "prog.py").agree()
