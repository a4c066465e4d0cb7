"""The data of the comparison: real where the environment points to it, generated otherwise."""
import os
import random
from pathlib import Path

import numpy as np
from PIL import Image


class Data:
    def __init__(self, scratch):
        self.cifar = os.environ.get("CIFAR10_DIR") or self.make_cifar(Path(scratch) / "cifar")
        self.text = os.environ.get("TEXT_FILE") or self.make_text(Path(scratch) / "text.txt")
        self.images = os.environ.get("IMAGES_DIR") or self.make_images(Path(scratch) / "images")

    def describe(self):
        kind = lambda name: "real" if os.environ.get(name) else "generated"
        return f"CIFAR-10: {kind('CIFAR10_DIR')}; text: {kind('TEXT_FILE')}; JPEG files: {kind('IMAGES_DIR')}"

    def of(self, work):
        return {"cifar": self.cifar, "text": self.text, "images": self.images}[work.data]

    def overrides(self, work):
        return [f"dataset.{'file' if work.data == 'text' else 'dir'}={self.of(work)}"]

    @staticmethod
    def make_cifar(folder):
        folder.mkdir()
        noise = np.random.default_rng(0)
        for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
            rows = noise.integers(0, 256, (10000, 3073), np.uint8)
            rows[:, 0] %= 10
            rows.tofile(folder / name)
        (folder / "batches.meta.txt").write_text("\n".join(f"class{i}" for i in range(10)) + "\n")
        return str(folder)

    @staticmethod
    def make_text(file):
        alphabet = "".join(map(chr, range(32, 96))) + "\n"  # 65 characters, as many as Shakespeare takes
        choose = random.Random(0)
        file.write_text("".join(choose.choice(alphabet) for _ in range(1_000_000)))
        return str(file)

    @staticmethod
    def make_images(folder):
        noise = np.random.default_rng(0)
        for part, count in (("train", 50), ("val", 2)):
            for label in range(10):
                (folder / part / str(label)).mkdir(parents=True)
                for index in range(count):
                    small = Image.fromarray(noise.integers(0, 256, (12, 12, 3), np.uint8))
                    small.resize((200, 200), Image.BICUBIC).save(folder / part / str(label) / f"{index}.jpg", quality=90)
        return str(folder)
