#!/usr/bin/env python3
"""Writes reference.txt: what Pillow, Python's colorsys and PyTorch make of the pattern image of tests/support/images.hpp.

One line a result: name, channels, height, width, then the bytes, one plane after the other.
Run with the packages of tests/requirements.txt: python3 make_reference.py
"""

import colorsys
import pathlib

import numpy as np
import torch
from PIL import Image


def pattern(channels, height, width):
    c, y, x = np.meshgrid(np.arange(channels), np.arange(height), np.arange(width), indexing="ij")
    return ((37 * c + 11 * y * y + 29 * x + 5 * ((x * y * 7) % 13) * (c + 1)) % 256).astype(np.uint8)


def resized(pixels, height, width, how):
    planes = [Image.fromarray(plane).resize((width, height), how) for plane in pixels]
    return np.stack([np.asarray(plane) for plane in planes])


def blend(pixels, other, factor):
    return (factor * pixels + (1.0 - factor) * other).clamp(0, 255).to(torch.uint8)


def grey(pixels):
    return (0.2989 * pixels[0] + 0.587 * pixels[1] + 0.114 * pixels[2]).to(torch.uint8)


def hue(pixels, shift):
    out = np.empty_like(pixels)
    for at in np.ndindex(pixels.shape[1:]):
        h, s, v = colorsys.rgb_to_hsv(*(pixels[:, at[0], at[1]] / 255.0))
        out[:, at[0], at[1]] = [int(value * 255.999) for value in colorsys.hsv_to_rgb((h + shift) % 1.0, s, v)]
    return out


results = {}
source = pattern(3, 13, 17)
filters = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
for name, how in filters.items():
    for height, width in [(7, 9), (20, 31), (4, 25), (20, 9), (5, 14)]:
        results[f"{name}_{height}x{width}"] = resized(source, height, width, how)

pixels = torch.from_numpy(pattern(3, 6, 9))
mean = grey(pixels).to(torch.float32).mean()
for factor in [0.4, 1.7]:
    results[f"brightness_{factor}"] = blend(pixels, torch.zeros_like(pixels), factor).numpy()
    results[f"contrast_{factor}"] = blend(pixels, mean, factor).numpy()
    results[f"saturation_{factor}"] = blend(pixels, grey(pixels), factor).numpy()
for shift in [-0.3, 0.17, 0.5]:
    results[f"hue_{shift}"] = hue(pattern(3, 6, 9), shift)

with open(pathlib.Path(__file__).with_name("reference.txt"), "w") as file:
    for name, values in results.items():
        print(name, *values.shape, *values.ravel(), file=file)
