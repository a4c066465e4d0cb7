"""Every schedule of torch.optim.lr_scheduler that the runner has, at each update of a whole run, written to schedulers.txt."""

import warnings

import torch
from torch.optim import lr_scheduler as lrs

import reference

STEPS, EPOCH = 40, 8  # updates in the run, updates in an epoch
PEAK = 0.3


def factors(make, per_epoch=False):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    scheduler = make(optimizer)
    values = []
    for step in range(STEPS):
        values.append(optimizer.param_groups[0]["lr"] / PEAK)
        optimizer.step()
        if not per_epoch or (step + 1) % EPOCH == 0:
            scheduler.step()
    return values


def after_warmup(updates, start, make):
    """A linear rise, then the schedule, as SequentialLR composes them."""
    return lambda o: lrs.SequentialLR(
        o, [lrs.LinearLR(o, start_factor=start, end_factor=1.0, total_iters=updates), make(o)], milestones=[updates])


def one_cycle(**settings):
    return lambda o: lrs.OneCycleLR(o, max_lr=PEAK, total_steps=STEPS, cycle_momentum=False, **settings)


def cases():
    by_step = {
        "constant": lambda o: lrs.LambdaLR(o, lambda step: 1.0),
        "constant_warmup": after_warmup(10, 0.1, lambda o: lrs.LambdaLR(o, lambda step: 1.0)),
        "linear": lambda o: lrs.LinearLR(o, start_factor=1.0, end_factor=0.0, total_iters=STEPS),
        "linear_end_length": lambda o: lrs.LinearLR(o, start_factor=1.0, end_factor=0.2, total_iters=24),
        "cosine": lambda o: lrs.CosineAnnealingLR(o, T_max=STEPS),
        "cosine_end": lambda o: lrs.CosineAnnealingLR(o, T_max=STEPS, eta_min=0.05 * PEAK),
        "cosine_warmup": after_warmup(8, 0.01, lambda o: lrs.CosineAnnealingLR(o, T_max=STEPS - 8)),
        "step": lambda o: lrs.StepLR(o, step_size=12, gamma=0.3),
        "step_warmup": after_warmup(4, 0.25, lambda o: lrs.StepLR(o, step_size=12, gamma=0.3)),
        "multi_step": lambda o: lrs.MultiStepLR(o, milestones=[16, 28, 36], gamma=0.5),
        "multi_step_warmup": after_warmup(4, 0.25, lambda o: lrs.MultiStepLR(o, milestones=[12, 24, 32], gamma=0.5)),
        "exponential": lambda o: lrs.ExponentialLR(o, gamma=0.93),
        "polynomial": lambda o: lrs.PolynomialLR(o, total_iters=STEPS, power=2.0),
        "polynomial_length": lambda o: lrs.PolynomialLR(o, total_iters=20, power=0.9),
        "one_cycle": one_cycle(),
        "one_cycle_linear": one_cycle(anneal_strategy="linear", pct_start=0.2, div_factor=10.0, final_div_factor=100.0),
        "one_cycle_three_phase": one_cycle(three_phase=True, pct_start=0.4),
    }
    by_epoch = {
        "cosine_epochs": lambda o: lrs.CosineAnnealingLR(o, T_max=STEPS // EPOCH),
        "step_epochs": lambda o: lrs.StepLR(o, step_size=2, gamma=0.1),
        "multi_step_epochs": lambda o: lrs.MultiStepLR(o, milestones=[1, 3], gamma=0.1),
        "exponential_epochs": lambda o: lrs.ExponentialLR(o, gamma=0.8),
        "linear_epochs": lambda o: lrs.LinearLR(o, start_factor=1.0, end_factor=0.0, total_iters=5),
    }
    return by_step, by_epoch


def lines():
    warnings.simplefilter("ignore")  # SequentialLR calls its parts in a way that they warn about
    by_step, by_epoch = cases()
    for name, make in by_step.items():
        yield name, factors(make)
    for name, make in by_epoch.items():
        yield name, factors(make, per_epoch=True)


if __name__ == "__main__":
    reference.main("schedulers.txt", lines, digits=17)
