"""Every optimizer of torch.optim that the runner has: the weights after 1 and after 12 updates, written to optimizers.txt."""

import torch

import reference

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
    }


def lines():
    for name, (make, sparse) in cases().items():
        first, last = run(make, sparse)
        yield name + ".first", first
        yield name + ".last", last


if __name__ == "__main__":
    reference.main("optimizers.txt", lines, digits=9)
