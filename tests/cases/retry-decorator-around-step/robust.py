import functools


def retry(times):
    """Tries a training step again when the device hiccups."""
    def wrap(fn):
        @functools.wraps(fn)
        def inner(*args, **kw):
            for _ in range(times):
                try:
                    return fn(*args, **kw)
                except RuntimeError as e:
                    last = e
            print("gave up:", str(last)[:40])
            return None
        return inner
    return wrap
