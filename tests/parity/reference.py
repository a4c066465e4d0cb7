"""What the scripts beside this one share: numbers that look random but are the same in every language, and the file."""

import pathlib
import sys

import torch


def wave(count, start, shape=None):
    """sin(start + 0.7 i) for i in 0 .. count - 1, rounded to float32."""
    numbers = torch.sin(start + 0.7 * torch.arange(count, dtype=torch.float64)).to(torch.float32)
    return numbers.reshape(shape) if shape else numbers


def main(name, lines, digits):
    """Writes (name, numbers) pairs to the file beside this one, or to the path given. 9 digits hold a float exactly, 17 a double."""
    path = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / name
    with open(path, "w") as out:
        for key, numbers in lines():
            out.write(key + " " + " ".join(f"{number:.{digits}g}" for number in numbers) + "\n")
