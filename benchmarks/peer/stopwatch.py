"""Counts steps: the first is told apart, a few warm up, the rest are timed."""
import json
import time


class Stopwatch:
    def __init__(self, steps):
        self.steps, self.warm_up, self.done = steps, min(5, steps), 0

    def step(self):
        """A step is done; true: it was the last."""
        self.done += 1
        if self.done == 1:
            self.first_step = time.time()
        if self.done == self.warm_up:
            self.began = time.time()
        return self.done == self.steps + self.warm_up

    def tell(self):
        print(json.dumps({"first_step_at": self.first_step, "step_seconds": (time.time() - self.began) / self.steps}))
