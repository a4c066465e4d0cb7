"""`runner data`: what is wrong with a dataset is said before training, for every kind of dataset."""

import csv
import json
import pathlib
import random
import struct
import sys

try:
    from PIL import Image
except ImportError:
    print("skipped: Pillow is not installed; scripts/setup.sh --tests does it")
    sys.exit(77)

import numpy
from safetensors.numpy import save_file

import browser
from run_helpers import DATA, SOURCE, Skip, main, run

OPTIMIZER = '[optimizer]\nname = "sgd"\n[train]\nepochs = 1\n'


def recipe(folder, dataset, model='name = "mlp"'):
    file = folder / "recipe.toml"
    file.write_text(f"[model]\n{model}\n[dataset]\n{dataset}\n{OPTIMIZER}")
    return file


def found(*arguments, check=True):
    return json.loads(run("data", *arguments, "--json", check=check).stdout)


def picture(path, seed):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.frombytes("RGB", (16, 16), random.Random(seed).randbytes(16 * 16 * 3)).save(path)


def images(folder):
    for i in range(30):
        picture(folder / f"train/cat/{i}.png", i)
    picture(folder / "train/dog/0.png", 100)
    for i in range(4):
        picture(folder / f"val/cat/{i}.png", 200 + i)
        picture(folder / f"val/dog/{i}.png", 300 + i)
    picture(folder / "val/cat/copy.png", 7)  # is in train/cat too
    (folder / "train/cat/broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and then nothing")
    return recipe(folder, f'name = "image_folder"\ndir = "{folder}"\n[[dataset.transform]]\nname = "resize"\nheight = 16\nwidth = 16\n'
                  '[[dataset.transform]]\nname = "random_flip"\n[[dataset.transform]]\nname = "random_crop"\npadding = 4\n', 'name = "simple_cnn"')


def broken_rare_and_repeated_images_are_named(folder):
    file = images(folder)
    seen = found(file)
    words = "\n".join(seen["problems"])
    assert "1 of 32 training examples cannot be read" in words and "broken.png" in words, words
    assert "1 validation example (11 %) is also in the training set" in words, words
    assert seen["duplicate_count"] == 1
    assert 'Class "cat" has 30 training examples and "dog" only 1' in words, words
    assert [(row["name"], row["training"], row["validation"]) for row in seen["classes"]] == [("cat", 30, 5), ("dog", 1, 4)]
    assert run("data", file, "--strict", check=False).returncode == 1
    assert run("data", file).returncode == 0


def targets_that_are_not_finite_and_a_single_class_are_named(folder):
    numbers = numpy.random.default_rng(0).normal(size=(20, 3)).astype("float32")
    targets = numbers.sum(1)
    targets[4] = numpy.inf
    save_file({"input": numbers, "target": targets}, folder / "data.safetensors")
    file = recipe(folder, f'name = "tensors"\ntrain = "{folder}/data.safetensors"\neval = "{folder}/data.safetensors"')
    assert "1 training example has targets that are not finite numbers" in "\n".join(found(file, "loss=mse")["problems"])
    save_file({"input": numbers, "target": numpy.zeros(20, dtype="int64")}, folder / "data.safetensors")
    assert "All training examples are of the same class: there is nothing to learn." in found(file)["problems"]


def clean_data_has_no_problem(folder):
    assert run("data", SOURCE / "recipes/shapes.toml", "dataset.train=300", "dataset.eval=60", "--strict").stdout.startswith("no problem found")


def examples_of_many_classes_are_shown(folder):
    """Examples that lie in turns, one of each class, would be of few classes at even distances."""
    shown = {sample["label"] for sample in found(SOURCE / "recipes/shapes.toml", "dataset.train=9600")["samples"]}
    assert len(shown) > 6, shown


def the_page_shows_augmented_samples(folder):
    if not browser.available():
        raise Skip("no chromium")
    run("data", images(folder), "-o", folder / "data.html")
    with browser.Browser() as page:
        page.open(folder / "data.html")
        sizes = page.run("return [...document.querySelectorAll('.samples img')].map(image => image.naturalWidth)")
        assert len(sizes) == 24 and set(sizes) == {16}, sizes
        words = page.run("return document.body.innerText")
        assert words.index("Problems") < words.index("Classes") and "broken.png" in words
        page.screenshot("data.png")
        assert page.console() == []


def gaps_and_constant_columns_of_a_table_are_counted(folder):
    noise = random.Random(0)
    with open(folder / "table.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "height", "always", "town", "label"])
        for i in range(200):
            writer.writerow([i if i % 2 else "", noise.random(), 7, "?" if i % 4 == 0 else noise.choice("abc"), "yes" if i % 3 else "no"])
    seen = found(recipe(folder, f'name = "csv"\ntrain = "{folder}/table.csv"\nsplit = 0.2\ntarget = "label"\nmissing = ["", "?"]', 'name = "tabular"'))
    columns = {column["name"]: column for column in seen["columns"]}
    assert set(columns) == {"age", "height", "always", "town"}, columns
    assert 0.45 < columns["age"]["missing"] < 0.55 and 0.2 < columns["town"]["missing"] < 0.3 and columns["height"]["missing"] == 0
    assert abs(columns["height"]["mean"] - 0.5) < 0.1 and abs(columns["height"]["std"] - 1 / 12 ** 0.5) < 0.05, columns["height"]
    assert abs(columns["age"]["max"] - 199) < 1e-3 and 95 < columns["age"]["mean"] < 105, columns["age"]  # in the units of the file
    assert "mean" not in columns["town"], columns["town"]  # categories have none
    assert sorted(value for value, _ in columns["town"]["values"]) == ["a", "b", "c"], columns["town"]
    words = "\n".join(seen["problems"])
    assert 'Column "age" has no value' in words and 'Column "always" has the same value' in words, words


def lengths_and_unknown_words_of_texts_are_counted(folder):
    (folder / "good.txt").write_text("".join(f"good film number {i} is fine\n" for i in range(40)))
    (folder / "bad.txt").write_text("".join(f"bad\n" if i % 2 else "a very long and bad film that never ends at all\n" for i in range(40)))
    seen = found(recipe(folder, f'name = "text_classification"\nfiles = {{good = "{folder}/good.txt", bad = "{folder}/bad.txt"}}\n'
                        'tokenizer = {name = "word", vocab_size = 12}\nlength = 8', 'name = "text_mean"'))
    train = seen["sets"][0]
    assert train["unknown_tokens"] > 0.1 * train["tokens"], train
    assert seen["lengths"]["min"] == 1 and seen["lengths"]["max"] == 11  # before they are cut
    words = "\n".join(seen["problems"])
    assert "unknown to the vocabulary" in words and "tokens and are cut off" in words, words
    assert any("film" in sample["text"] for sample in seen["texts"]), seen["texts"]


def idx(path, shape, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack(">HBB", 0, 8, len(shape)) + struct.pack(f">{len(shape)}I", *shape) + bytes(values))


def safetensors(path, examples):
    noise = random.Random(examples)
    inputs = struct.pack(f"<{3 * examples}f", *(noise.random() for _ in range(3 * examples)))
    targets = struct.pack(f"<{examples}q", *(i % 2 for i in range(examples)))
    header = json.dumps({"input": {"dtype": "F32", "shape": [examples, 3], "data_offsets": [0, len(inputs)]},
                         "target": {"dtype": "I64", "shape": [examples], "data_offsets": [len(inputs), len(inputs) + len(targets)]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + inputs + targets)


def every_kind_of_dataset_is_examined(folder):
    noise = random.Random(1)
    (folder / "text.txt").write_text("".join(noise.choice("abcdefgh \n") for _ in range(4000)))
    for name, count in (("train", 30), ("t10k", 10)):
        idx(folder / f"idx/{name}-images-idx3-ubyte", (count, 28, 28), noise.randbytes(28 * 28 * count))
        idx(folder / f"idx/{name}-labels-idx1-ubyte", (count,), [i % 10 for i in range(count)])
    safetensors(folder / "train.safetensors", 20)
    safetensors(folder / "eval.safetensors", 7)
    datasets = {"text": (f'file = "{folder}/text.txt"\nlength = 16', 'name = "gpt"', None),
                "tensors": (f'train = "{folder}/train.safetensors"\neval = "{folder}/eval.safetensors"', 'name = "mlp"', (20, 7)),
                "idx": (f'dir = "{folder}/idx"', 'name = "mlp"', (30, 10)),
                "fashion_mnist": (f'dir = "{folder}/idx"', 'name = "mlp"', (30, 10)),
                "cifar10": (f'dir = "{folder}/none"\ndownload = false\nfallback = "shapes"', 'name = "simple_cnn"', None),
                "cifar100": (f'dir = "{folder}/none"\ndownload = false\nfallback = {{name = "synthetic", shape = [3, 32, 32], classes = 100}}', 'name = "simple_cnn"', None),
                "synthetic": ("train = 40\neval = 8", 'name = "mlp"', (40, 8)),
                "shapes": ("train = 40\neval = 8", 'name = "simple_cnn"', (40, 8))}
    for name, (settings, model, sizes) in datasets.items():
        seen = found(recipe(folder, f'name = "{name}"\n{settings}', model), "--examples", 200)
        assert [each["name"] for each in seen["sets"]] == ["training", "validation"], (name, seen["sets"])
        assert all(each["examined"] > 0 and each["broken"] == 0 for each in seen["sets"]), (name, seen["sets"])
        if sizes:
            assert tuple(each["examples"] for each in seen["sets"]) == sizes, (name, seen["sets"])
        if name.startswith("cifar"):
            assert seen["stand_in"] and seen["problems"][0] == seen["stand_in"], (name, seen)
    left = {each["name"] for each in json.loads(run("list", "dataset", "--json").stdout)[0]["components"]} - set(datasets)
    assert left == {"image_folder", "csv", "text_classification", "chat"}, left  # which have tests of their own


def real_data_is_examined(folder):
    if not DATA:
        raise Skip("no real data sets at hand")
    data = pathlib.Path(DATA)
    seen = found(SOURCE / "recipes/adult_tabular.toml", f"dataset.train={data}/adult/adult.data", f"dataset.eval={data}/adult/adult.test")
    gaps = {column["name"]: column["missing"] for column in seen["columns"]}
    lines = [line.split(", ") for line in (data / "adult/adult.data").read_text().split("\n") if line.strip()]
    for place, name in ((1, "workclass"), (6, "occupation"), (13, "native_country")):
        expected = sum(line[place] == "?" for line in lines) / len(lines)
        assert abs(gaps[name] - expected) < 1e-9, (name, gaps[name], expected)
    # Rows that are equal in all that the model sees, counted by hand.
    seen_columns = [i for i in range(14) if i != 2]
    row = lambda line: tuple(line[i] for i in seen_columns)
    training = {row(line) for line in lines}
    evaluation = [line.split(", ") for line in (data / "adult/adult.test").read_text().split("\n")[1:] if line.strip()]
    assert seen["duplicate_count"] == sum(row(line) in training for line in evaluation), seen["duplicate_count"]


if __name__ == "__main__":
    main([broken_rare_and_repeated_images_are_named, targets_that_are_not_finite_and_a_single_class_are_named, clean_data_has_no_problem,
          examples_of_many_classes_are_shown, the_page_shows_augmented_samples,
          every_kind_of_dataset_is_examined, gaps_and_constant_columns_of_a_table_are_counted, lengths_and_unknown_words_of_texts_are_counted, real_data_is_examined])
