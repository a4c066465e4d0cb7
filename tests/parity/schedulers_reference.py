"""Every schedule of torch.optim.lr_scheduler that the runner has, at each update of a whole run, written to schedulers.txt."""

import math
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


def measured(update):
    """What an evaluation after each update says: falls, then wavers."""
    return 1 / (1 + 0.5 * update) + 0.1 * math.sin(0.7 * update)


def plateau_factors(**settings):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    scheduler = lrs.ReduceLROnPlateau(optimizer, eps=0, **settings)
    values = []
    for update in range(STEPS):
        values.append(optimizer.param_groups[0]["lr"] / PEAK)
        scheduler.step(measured(update))
    return values


def warmup_stable_decay(shape, decay, end=0.0):
    """Linear, cosine: the schedules of torch.optim one after the other. sqrt: 1 - sqrt(share), as it is defined."""
    falls = {
        "linear": lambda o: lrs.LinearLR(o, start_factor=1.0, end_factor=end, total_iters=decay),
        "cosine": lambda o: lrs.CosineAnnealingLR(o, T_max=decay, eta_min=end * PEAK),
        "sqrt": lambda o: lrs.LambdaLR(o, lambda step: end + (1 - end) * (1 - math.sqrt(step / decay))),
    }
    stable = STEPS - decay
    return lambda o: lrs.SequentialLR(o, [lrs.LambdaLR(o, lambda step: 1.0), falls[shape](o)], milestones=[stable])


def sequence(o):
    parts = [lrs.LinearLR(o, start_factor=1.0, end_factor=0.0, total_iters=12), lrs.ExponentialLR(o, gamma=0.9),
             lrs.CosineAnnealingLR(o, T_max=12)]
    return lrs.SequentialLR(o, parts, milestones=[12, 28])


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
        "cosine_restarts": lambda o: lrs.CosineAnnealingWarmRestarts(o, T_0=8),
        "cosine_restarts_growth": lambda o: lrs.CosineAnnealingWarmRestarts(o, T_0=6, T_mult=2, eta_min=0.1 * PEAK),
        "inverse_sqrt": after_warmup(8, 0.01, lambda o: lrs.LambdaLR(o, lambda step: math.sqrt(8 / (8 + step)))),
        "warmup_stable_decay": warmup_stable_decay("linear", 8),
        "warmup_stable_decay_cosine": warmup_stable_decay("cosine", 20, end=0.1),
        "warmup_stable_decay_sqrt": warmup_stable_decay("sqrt", 20),
        "sequential": sequence,
        "chained": lambda o: lrs.ChainedScheduler(
            [lrs.ConstantLR(o, factor=0.1, total_iters=10), lrs.StepLR(o, step_size=7, gamma=0.5)]),
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
    yield "plateau", plateau_factors(patience=2, factor=0.5)
    yield "plateau_cooldown", plateau_factors(patience=1, factor=0.3, cooldown=3, min_lr=0.05 * PEAK)
    yield "plateau_max", plateau_factors(mode="max", patience=3, factor=0.7, threshold=0.02)
    yield "plateau_abs", plateau_factors(patience=2, factor=0.5, threshold=0.05, threshold_mode="abs")
    yield "plateau_max_abs", plateau_factors(mode="max", patience=0, factor=0.9, threshold=0.05, threshold_mode="abs")


if __name__ == "__main__":
    reference.main("schedulers.txt", lines, digits=17)
