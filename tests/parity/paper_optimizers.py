"""Optimizers that torch.optim lacks, step by step as their papers write them, in double precision."""

import unittest.mock

import torch


class PaperOptimizer(torch.optim.Optimizer):
    """`change(weight, gradient, state, number, group)` gives what is subtracted from the weight at update `number`."""

    def __init__(self, params, **settings):
        super().__init__(params, settings)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                state["number"] = state.get("number", 0) + 1
                weight, gradient = parameter.double(), parameter.grad.double()
                parameter.copy_(weight - self.change(weight, gradient, state, state["number"], group))


class Lion(PaperOptimizer):
    """Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2."""

    def change(self, weight, gradient, state, number, group):
        beta1, beta2 = group["betas"]
        momentum = state.get("momentum", torch.zeros_like(weight))
        direction = torch.sign(beta1 * momentum + (1 - beta1) * gradient)
        state["momentum"] = beta2 * momentum + (1 - beta2) * gradient
        return group["lr"] * (direction + group["weight_decay"] * weight)


class Lamb(PaperOptimizer):
    """You et al. 2020, "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", algorithm 2."""

    def change(self, weight, gradient, state, number, group):
        beta1, beta2 = group["betas"]
        m = state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * gradient
        v = state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * gradient * gradient
        ratio = (m / (1 - beta1**number)) / (torch.sqrt(v / (1 - beta2**number)) + group["eps"])
        update = ratio + group["weight_decay"] * weight
        trust = weight.norm() / update.norm()
        if weight.dim() == 1 and not group.get("adapt_all", True):
            trust = 1.0
        return group["lr"] * trust * update


class Lars(PaperOptimizer):
    """You, Gitman and Ginsburg 2017, "Large Batch Training of Convolutional Networks", algorithm 1."""

    def change(self, weight, gradient, state, number, group):
        decay = group["weight_decay"]
        local = group["trust_coefficient"] * weight.norm() / (gradient.norm() + decay * weight.norm())
        if weight.dim() == 1 and not group.get("adapt_all", True):
            local = 1.0
        step = group["lr"] * local * (gradient + decay * weight)
        state["velocity"] = group["momentum"] * state.get("velocity", 0) + step
        return state["velocity"]


class MuonAndAdamW:
    """torch.optim.Muon for the matrices, torch.optim.AdamW for the rest. Muon computes in 32 bits here, as the runner does
    on processors: what 16 bits give depends on the machine."""

    def __init__(self, parameters, adamw, **muon):
        self.parts = [torch.optim.Muon([p for p in parameters if p.dim() == 2], **muon),
                      torch.optim.AdamW([p for p in parameters if p.dim() != 2], **adamw)]

    @property
    def param_groups(self):
        return [group for part in self.parts for group in part.param_groups]

    def step(self):
        with unittest.mock.patch("torch.Tensor.bfloat16", torch.Tensor.clone):
            for part in self.parts:
                part.step()
