"""A small network trained by Python under autocast and GradScaler: its losses and loss scales, written to precisions.txt."""

import torch

import reference

STEPS, ROWS, IN, HIDDEN, OUT = 20, 32, 16, 32, 16


def network():
    return (
        torch.nn.Parameter(0.3 * reference.wave(HIDDEN * IN, 0.1, (HIDDEN, IN))),
        torch.nn.Parameter(0.1 * reference.wave(HIDDEN, 0.2)),
        torch.nn.Parameter(0.3 * reference.wave(OUT * HIDDEN, 0.3, (OUT, HIDDEN))),
        torch.nn.Parameter(0.1 * reference.wave(OUT, 0.4)),
    )


def forward(weights, x):
    hidden = torch.nn.functional.linear(x, weights[0], weights[1]).relu()
    return torch.nn.functional.linear(hidden, weights[2], weights[3])


def train(dtype):
    weights = network()
    optimizer = torch.optim.SGD(weights, lr=0.2)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=dtype == torch.float16)
    losses = []
    for step in range(STEPS):
        x = reference.wave(ROWS * IN, 3.0 + step, (ROWS, IN))
        y = (torch.arange(ROWS) + step) % OUT
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = torch.nn.functional.cross_entropy(forward(weights, x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses, torch.cat([w.detach().flatten() for w in weights]).tolist()


def scales():
    """The scale after each update, for gradients that are infinite or NaN at these steps; and which were skipped."""
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=4)
    weight = torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    values, skipped, gradients = [], [], []
    for step in range(24):
        weight.grad = None
        scaler.scale(weight.sum() * 0.5).backward()
        if step in (0, 1, 9, 15):
            weight.grad[step % 2] = float("inf") if step % 2 else float("nan")
        scaler.unscale_(optimizer)
        gradients.append(weight.grad[1 - step % 2].item())
        before = weight.detach().clone()
        scaler.step(optimizer)
        skipped.append(float(torch.equal(before, weight.detach())))
        scaler.update()
        values.append(scaler.get_scale())
    return values, skipped, gradients


def lines():
    torch.set_num_threads(1)
    for name, dtype in (("fp32", None), ("bf16", torch.bfloat16), ("fp16", torch.float16)):
        losses, weights = train(dtype)
        yield name + ".losses", losses
        yield name + ".weights", weights
    values, skipped, gradients = scales()
    yield "scaler.scales", values
    yield "scaler.skipped", skipped
    yield "scaler.gradients", gradients


if __name__ == "__main__":
    reference.main("precisions.txt", lines, digits=9)
