"""Every optimizer that the runner has, by torch.optim or by its paper: the weights after 1 and after 12 updates, written to optimizers.txt."""

import torch

import reference
from paper_optimizers import Lamb, Lars, Lion, MuonAndAdamW

STEPS = 12


def parameters():
    return {
        "fc.weight": torch.nn.Parameter(reference.wave(12, 0.1, (3, 4))),
        "fc.bias": torch.nn.Parameter(reference.wave(3, 0.2)),
        "norm.weight": torch.nn.Parameter(reference.wave(4, 0.3)),
    }


def gradient(step, index, shape):
    count = 1
    for size in shape:
        count *= size
    return reference.wave(count, 1.0 + 0.9 * step + 2.0 * index, shape)


def run(make, sparse=False):
    named = parameters()
    optimizer = make(named)
    peaks = [group["lr"] for group in optimizer.param_groups]
    lines = []
    for step in range(STEPS):
        for index, parameter in enumerate(named.values()):
            missing = sparse and index == 1 and step % 3 != 1
            parameter.grad = None if missing else gradient(step, index, parameter.shape)
        for group, peak in zip(optimizer.param_groups, peaks):
            group["lr"] = peak / (1 + 0.1 * step)
        optimizer.step()
        if step in (0, STEPS - 1):
            lines.append(torch.cat([parameter.detach().flatten() for parameter in named.values()]).tolist())
    return lines


def all_of(kind, **settings):
    return lambda named: kind(list(named.values()), **settings)


def grouped(kind, **settings):
    """fc.* at half the learning rate and a weight decay of its own; the rest as it is."""
    def make(named):
        fc = [p for name, p in named.items() if name.startswith("fc.")]
        rest = [p for name, p in named.items() if not name.startswith("fc.")]
        return kind([{"params": fc, "lr": settings["lr"] * 0.5, "weight_decay": 0.2}, {"params": rest}], **settings)
    return make


def spared(kind, **settings):
    """No weight decay on parameters of one dimension."""
    def make(named):
        flat = [p for p in named.values() if p.dim() <= 1]
        rest = [p for p in named.values() if p.dim() > 1]
        return kind([{"params": rest}, {"params": flat, "weight_decay": 0.0}], **settings)
    return make


def cases():
    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    return {
        "sgd": (all_of(sgd, lr=0.1), False),
        "sgd_momentum": (all_of(sgd, lr=0.1, momentum=0.9), False),
        "sgd_dampening": (all_of(sgd, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.05), False),
        "sgd_nesterov": (all_of(sgd, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.05), False),
        "sgd_groups": (grouped(sgd, lr=0.1, momentum=0.9, weight_decay=0.05), False),
        "sgd_spared": (spared(sgd, lr=0.1, momentum=0.9, weight_decay=0.05), False),
        "sgd_sparse": (all_of(sgd, lr=0.1, momentum=0.9, dampening=0.3), True),
        "adam": (all_of(adam, lr=0.01), False),
        "adam_decay": (all_of(adam, lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1), False),
        "adam_amsgrad": (all_of(adam, lr=0.01, amsgrad=True, weight_decay=0.1), False),
        "adam_groups": (grouped(adam, lr=0.01), False),
        "adam_sparse": (all_of(adam, lr=0.01), True),
        "adamw": (all_of(adamw, lr=0.01), False),
        "adamw_amsgrad": (all_of(adamw, lr=0.01, amsgrad=True, weight_decay=0.1), False),
        "adamw_groups": (grouped(adamw, lr=0.01, weight_decay=0.1), False),
        "adamw_spared": (spared(adamw, lr=0.01, weight_decay=0.1), False),
        **more_cases(),
    }


def more_cases():
    optim = torch.optim
    lion = {"lr": 0.01, "betas": (0.9, 0.99), "weight_decay": 0.1}
    lamb = {"lr": 0.01, "betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 0.1}
    lars = {"lr": 0.5, "momentum": 0.9, "weight_decay": 0.05, "trust_coefficient": 0.02}
    return {
        "adagrad": (all_of(optim.Adagrad, lr=0.1), False),
        "adagrad_everything": (all_of(optim.Adagrad, lr=0.1, lr_decay=0.1, weight_decay=0.05,
                                      initial_accumulator_value=0.3, eps=1e-6), False),
        "adagrad_groups": (grouped(optim.Adagrad, lr=0.1), False),
        "adagrad_sparse": (all_of(optim.Adagrad, lr=0.1, lr_decay=0.2), True),
        "rmsprop": (all_of(optim.RMSprop, lr=0.01), False),
        "rmsprop_momentum": (all_of(optim.RMSprop, lr=0.01, momentum=0.9, weight_decay=0.05, alpha=0.9), False),
        "rmsprop_centered": (all_of(optim.RMSprop, lr=0.01, centered=True, eps=1e-6), False),
        "rmsprop_everything": (grouped(optim.RMSprop, lr=0.01, centered=True, momentum=0.8, weight_decay=0.05), False),
        "rmsprop_sparse": (all_of(optim.RMSprop, lr=0.01, centered=True, momentum=0.8), True),
        "adadelta": (all_of(optim.Adadelta, lr=1.0), False),
        "adadelta_groups": (grouped(optim.Adadelta, lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.05), False),
        "adadelta_sparse": (all_of(optim.Adadelta, lr=1.0), True),
        "nadam": (all_of(optim.NAdam, lr=0.01), False),
        "nadam_decay": (grouped(optim.NAdam, lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1,
                                momentum_decay=0.1), False),
        "nadam_decoupled": (all_of(optim.NAdam, lr=0.01, weight_decay=0.1, decoupled_weight_decay=True), False),
        "nadam_sparse": (all_of(optim.NAdam, lr=0.01), True),
        "adafactor": (all_of(optim.Adafactor, lr=0.1), False),
        "adafactor_everything": (grouped(optim.Adafactor, lr=0.1, beta2_decay=-0.5, eps=(1e-3, 1e-1), d=1.5,
                                         weight_decay=0.05), False),
        "adafactor_sparse": (all_of(optim.Adafactor, lr=0.1), True),
        "lion": (all_of(Lion, **lion), False),
        "lion_groups": (grouped(Lion, **lion), False),
        "lion_sparse": (all_of(Lion, **dict(lion, betas=(0.8, 0.95))), True),
        "lamb": (all_of(Lamb, **lamb), False),
        "lamb_groups": (grouped(Lamb, **lamb, adapt_all=False), False),
        "lamb_sparse": (all_of(Lamb, **lamb), True),
        "lars": (all_of(Lars, **lars), False),
        "lars_groups": (grouped(Lars, **lars, adapt_all=False), False),
        "lars_sparse": (all_of(Lars, **lars), True),
        "muon": (muon(lr=0.02, weight_decay=0.1), False),
        "muon_everything": (muon(lr=0.02, weight_decay=0.05, momentum=0.8, nesterov=False, ns_steps=3,
                                 ns_coefficients=(2.0, -1.5, 0.5), adjust_lr_fn="match_rms_adamw"), False),
        "muon_sparse": (muon(lr=0.02), True),
    }


def muon(**settings):
    adamw = {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.2}
    return lambda named: MuonAndAdamW(list(named.values()), adamw, **settings)


def lines():
    for name, (make, sparse) in cases().items():
        first, last = run(make, sparse)
        yield name + ".first", first
        yield name + ".last", last


if __name__ == "__main__":
    reference.main("optimizers.txt", lines, digits=9)
