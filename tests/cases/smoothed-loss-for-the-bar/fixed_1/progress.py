class Progress:
    """What the bar shows: a debiased moving average of the loss."""

    def __init__(self, beta=0.98):
        self.beta, self.count, self.average = beta, 0, 0.0

    def update(self, value):
        self.count += 1
        self.average = self.beta * self.average + (1 - self.beta) * value

    @property
    def smooth(self):
        return self.average / (1 - self.beta ** self.count)
