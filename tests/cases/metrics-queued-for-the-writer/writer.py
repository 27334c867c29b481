from queue import Queue


class MetricWriter:
    def __init__(self):
        self.pending = Queue()

    def scalar(self, name, value, step):
        self.pending.put((name, value, step))

    def close(self):
        last = {}
        while not self.pending.empty():
            name, value, step = self.pending.get()
            last[name] = float(value.detach())
        return last
