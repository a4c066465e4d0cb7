"""predict, held against PyTorch and against what the run measured."""

import csv
import io
import json
import math
import os
import random
import shutil

import numpy
import torch
from PIL import Image, ImageOps
from safetensors.torch import load_file

from run_helpers import DATA, SOURCE, Skip, main, run
from trained_table import QUICK, TABLE, trained_table, write_people

TEXTS = """
model = "text_mean"
dataset = { name = "text_classification", files = { good = "good.txt", bad = "bad.txt" }, split = 0.5, length = 8 }
optimizer = "sgd"
train = { epochs = 1 }
"""


def rows_are_predicted_as_pytorch_does(folder):
    done = trained_table(folder)
    (folder / "new.csv").write_text('city,weight,age\nRome,50,30\n"New\nYork",,70\nParis,60.5,44\n')
    said = json.loads(run("predict", done, "new.csv", "--top", 2, "--format", "json", cwd=folder).stdout)
    learned, weights = json.loads((done / "dataset.json").read_text()), load_file(done / "model.safetensors")
    (age, weight), (city,) = learned["numeric"], learned["categorical"]
    rows = [(30, 50, "Rome"), (70, None, "New\nYork"), (44, 60.5, "Paris")]
    given = torch.tensor([[(value if value is not None else column["mean"]) - column["mean"]
                           for value, column in zip(row, (age, weight))] for row in rows], dtype=torch.float64)
    given /= torch.tensor([age["deviation"], weight["deviation"]])
    one_hot = torch.tensor([[float(row[2] == value) for value in city["values"]] for row in rows])
    x = torch.cat([given.float(), one_hot], 1)
    x = torch.relu(torch.nn.functional.linear(x, weights["fc1.weight"], weights["fc1.bias"]))
    expected = torch.nn.functional.linear(x, weights["fc2.weight"], weights["fc2.bias"]).softmax(1)
    assert learned["classes"] == ["no", "yes"] and len(said) == 3
    for row, entry in enumerate(said):
        assert entry["input"] == f"new.csv row {row + 1}"
        for one in entry["classes"]:
            wanted = expected[row, learned["classes"].index(one["class"])].item()
            assert math.isclose(one["probability"], wanted, abs_tol=1e-6), (one, wanted)
        assert entry["classes"][0]["probability"] >= entry["classes"][1]["probability"]


def an_output_that_is_no_number_is_no_prediction(folder):
    from safetensors.torch import save_file
    done = trained_table(folder)
    weights = load_file(done / "model.safetensors")
    save_file({**weights, "fc2.bias": weights["fc2.bias"] * math.nan}, folder / "nan.safetensors")
    refused = run("predict", done, "30,Rome,50", "--weights", "nan.safetensors", cwd=folder, check=False)
    assert refused.returncode == 1 and "30,Rome,50: the model's output is not a finite number" in refused.stderr, refused
    assert refused.stdout == "", refused
    refused = run("predict", done, "1e300,Rome,50", cwd=folder, check=False)
    assert refused.returncode == 1 and '"1e300" is too large' in refused.stderr and refused.stdout == "", refused


def inputs_come_from_files_and_standard_input_and_results_go_to_files(folder):
    done = trained_table(folder)
    (folder / "people.csv").unlink()  # the data is not needed
    rows = ["30,Rome,50", '70,"Oslo",']
    (folder / "rows.txt").write_text("\r\n".join(rows) + "\n\n")
    listed = run("predict", done, "@rows.txt", "--format", "csv", cwd=folder).stdout
    assert listed == run("predict", done, *rows, "--format", "csv", cwd=folder).stdout
    assert listed == run("predict", done, "-", "--format", "csv", cwd=folder, input="\n".join(rows)).stdout
    run("predict", done, *rows, "--format", "csv", "-o", "said.csv", cwd=folder)
    assert (folder / "said.csv").read_text() == listed
    table = list(csv.DictReader(io.StringIO(listed)))
    assert [row["input"] for row in table] == rows and all(row["rank"] == "1" for row in table), table


def predictions_match_lines_one_to_one(folder):
    done = trained_table(folder)
    told = run("predict", done, "-", cwd=folder, input="30,Rome,50\n\n70,Oslo,\n", check=False)
    assert told.returncode == 1 and "Line 2 of standard input is empty" in told.stderr and told.stdout == "", told
    (folder / "good.txt").write_text("what a fine day\na fine film\n" * 4)
    (folder / "bad.txt").write_text("what a poor day\na poor film\n" * 4)
    (folder / "text.toml").write_text(TEXTS)
    run("text.toml", f"run.dir={folder}/texts", cwd=folder)
    lines = ["a fine film", "", "a poor day", ""]
    said = json.loads(run("predict", folder / "texts", "-", "--format", "json", cwd=folder, input="\n".join(lines) + "\n").stdout)
    assert [entry["input"] for entry in said] == lines, said


def the_name_of_a_file_is_not_a_sentence(folder):
    (folder / "good.txt").write_text("what a fine day\na fine film\n" * 4)
    (folder / "bad.txt").write_text("what a poor day\na poor film\n" * 4)
    (folder / "text.toml").write_text(TEXTS)
    run("text.toml", f"run.dir={folder}/texts", cwd=folder)
    for given, remedy in (("good.txt", "good.txt is a file: write @good.txt to classify its lines"), ("texts", "texts is a folder: write @FILE")):
        told = run("predict", "texts", "a fine film", given, cwd=folder, check=False)
        assert told.returncode == 2 and remedy in " ".join(told.stderr.split()) and told.stdout == "", told
    said = json.loads(run("predict", "texts", "@good.txt", "--format", "json", cwd=folder).stdout)
    assert len(said) == 8 and said[1]["input"] == "a fine film", said
    (folder / "marked.txt").write_text("a fine film\n", encoding="utf-8-sig")
    said = json.loads(run("predict", "texts", "@marked.txt", "--format", "json", cwd=folder).stdout)
    assert [entry["input"] for entry in said] == ["a fine film"], said
    said = json.loads(run("predict", "texts", "--format", "json", "--", "- not fine", cwd=folder).stdout)
    assert [entry["input"] for entry in said] == ["- not fine"], said
    told = run("predict", "texts", "@anna fine", cwd=folder, check=False)
    assert told.returncode == 2 and "give it on standard input (-)" in " ".join(told.stderr.split()), told
    said = json.loads(run("predict", "texts", "-", "--format", "json", cwd=folder, input="good.txt\n").stdout)
    assert [entry["input"] for entry in said] == ["good.txt"], said


def a_photograph_is_turned_upright_if_the_recipe_says_so(folder):
    numbers = numpy.random.default_rng(3).integers(0, 255, (6, 2, 12, 8, 3), dtype=numpy.uint8)
    for i, (one, other) in enumerate(numbers):
        for name, pixels in (("a", one), ("b", other)):
            (folder / "images" / name).mkdir(parents=True, exist_ok=True)
            turned = Image.Exif()
            turned[0x0112] = 1 + (i + 5) % 8  # the first one is turned by 90 degrees
            Image.fromarray(pixels).save(folder / f"images/{name}/{i}.jpg", exif=turned)
    (folder / "images.toml").write_text("""
model = { name = "mlp", hidden = [4] }
optimizer = "sgd"
train = { epochs = 1 }
[dataset]
name = "image_folder"
dir = "images"
split = 0.5
transform = [{ name = "resize", height = 12, width = 12 }]
""")
    photograph = folder / "images/a/0.jpg"
    ImageOps.exif_transpose(Image.open(photograph)).save(folder / "upright.png")
    Image.open(photograph).save(folder / "stored.png", exif=b"")
    for setting, same in (("true", "upright.png"), ("false", "stored.png")):
        done = run("images.toml", f"dataset.exif={setting}", f"run.dir={folder}/{setting}", cwd=folder)
        assert ("taken with the camera turned" in " ".join(done.stderr.split())) == (setting == "false"), done.stderr
        said = [entry["classes"] for entry in json.loads(run("predict", folder / setting, photograph, folder / same, "--format", "json", "--top", 2, cwd=folder).stdout)]
        assert said[0] == said[1], said
    told = run("data", "images.toml", cwd=folder)
    assert "dataset.exif = true" in " ".join((told.stdout + told.stderr).split()), told


def what_cannot_be_predicted_is_told_and_nothing_is_written(folder):
    done = trained_table(folder)
    for words, why, code in [((done, "30,Rome,50", "x,Rome,50", "-o", "said.csv"), 'row "x,Rome,50":1: column "age": "x" is not a number', 1),
                             ((done, "nowhere.csv", "-o", "said.csv"), "neither a file nor a row", 1),
                             ((done, "@nowhere.txt"), "There is no file nowhere.txt", 2),
                             ((folder / "nowhere", "30,Rome,50"), "There is no run folder", 2),
                             ((done, "30,Rome,50", "--weights", "best"), "no best.safetensors", 1)]:
        told = run("predict", *words, check=False, cwd=folder)
        assert told.returncode == code and why in told.stderr and told.stdout == "", (words, told)
    assert not (folder / "said.csv").exists()
    for words in ((done, "1,a,2", "--top", "none"), (done, "1,a,2", "--format", "xml")):
        assert run("predict", *words, check=False, cwd=folder).returncode == 2
    (folder / "rows.csv").write_text("age,city,income\n30,Rome,50\n")
    (folder / "list.txt").write_text("31,Rome,50\nrows.csv\n")
    weights = (done / "model.safetensors").read_bytes()
    for given, out in (("rows.csv", "./rows.csv"), ("@rows.csv", "./rows.csv"), ("@list.txt", "./rows.csv"),
                       ("30,Rome,50", done / "model.safetensors"), ("30,Rome,50", done / "recipe.toml")):
        told = run("predict", done, given, "-o", out, check=False, cwd=folder)
        assert told.returncode == 2 and "is read for the predictions and would be overwritten" in " ".join(told.stderr.split()), told
    assert (done / "model.safetensors").read_bytes() == weights
    assert (folder / "rows.csv").read_text() == "age,city,income\n30,Rome,50\n"
    told = run("predict", done, "30,Rome,50", "-o", "nowhere/said.csv", check=False, cwd=folder)
    assert told.returncode == 1 and "No such file or directory" in told.stderr, told
    assert run("eval", done, "optimizer.lrr=1", check=False, cwd=folder).returncode == 2
    told = run("eval", done, "eval.metric=[]", check=False, cwd=folder)
    assert told.returncode == 1 and "names no metric" in told.stderr, told.stderr


def numbers_are_predicted_where_the_target_is_one(folder):
    done = trained_table(folder, "dataset.target=age", "dataset.task=regression", "loss=mse", "eval.metric=['loss']",
                         "optimizer.lr=0.0001")
    entry, = json.loads(run("predict", done, "Rome,50,no", "--format", "json", cwd=folder).stdout)
    assert len(entry["values"]) == 1 and 0 < entry["values"][0] < 100, entry
    listed = run("predict", done, "Rome,50,no", "--format", "csv", cwd=folder).stdout
    assert listed.splitlines()[0] == "input,output,value", listed


def images_are_seen_as_in_the_evaluation(folder):
    if not DATA or not os.path.isdir(os.path.join(DATA, "sign-digits")):
        raise Skip("sign-digits is not in RUNNER_TEST_DATA")
    shutil.copytree(os.path.join(DATA, "sign-digits"), folder / "signs")
    run(SOURCE / "recipes/sign_digits.toml", "dataset.dir=signs", "model=simple_cnn", "train.epochs=4", "run.threads=1",
        "scheduler.warmup=0step", f"run.dir={folder}/run", cwd=folder)
    accuracy = json.loads(run("eval", folder / "run", "--json", cwd=folder).stdout)["metrics"]["eval/accuracy"]
    (folder / "signs").rename(folder / "elsewhere")
    images = sorted((folder / "elsewhere/val").glob("*/*"))
    said = json.loads(run("predict", folder / "run", *images, "--format", "json", cwd=folder).stdout)
    right = [entry["classes"][0]["class"] == image.parent.name for entry, image in zip(said, images, strict=True)]
    assert numpy.isclose(numpy.mean(right), accuracy) and accuracy > 0.2, (numpy.mean(right), accuracy)
    told = run("predict", folder / "run", images[0], folder / "no.png", check=False, cwd=folder)
    assert told.returncode == 1 and "no.png" in told.stderr and told.stdout == "", told


def a_file_with_a_header_is_read_by_it_though_training_had_none(folder):
    write_people(folder / "people.csv")
    rows = (folder / "people.csv").read_text().split("\n", 1)[1]
    (folder / "people.csv").write_text(rows)  # training without a header
    (folder / "table.toml").write_text(TABLE.replace('target = "buys"', 'target = "buys", columns = ["age", "city", "weight", "buys"]'))
    run("table.toml", *QUICK, f"run.dir={folder}/run", cwd=folder)
    (folder / "plain.csv").write_text("30,Rome,50\n70,Oslo,60.5\n")
    (folder / "named.csv").write_text("city,weight,age\nRome,50,30\nOslo,60.5,70\n")
    said = [json.loads(run("predict", folder / "run", name, "--format", "json", cwd=folder).stdout) for name in ("plain.csv", "named.csv")]
    assert len(said[1]) == 2 and [one["classes"] for one in said[0]] == [one["classes"] for one in said[1]], said


def a_file_may_lack_the_header_or_have_another_separator(folder):
    done = trained_table(folder)
    expected = run("predict", done, "30,Rome,50", "70,Oslo,", "--format", "json", cwd=folder).stdout
    expected = [entry["classes"] for entry in json.loads(expected)]
    for text in ("30,Rome,50\n70,Oslo,\n", "30,Rome,50,no\n70,Oslo,,yes\n", "age;city;weight\n30;Rome;50\n70;Oslo;\n",
                 "city\tweight\tage\nRome\t50\t30\nOslo\t\t70\n", "30;Rome;50\n70;Oslo;\n"):
        (folder / "new.csv").write_text(text)
        said = json.loads(run("predict", done, "new.csv", "--format", "json", cwd=folder).stdout)
        assert [entry["classes"] for entry in said] == expected, (text, said)
    (folder / "new.csv").write_text("years,town,kilos\n30,Rome,50\n")  # names, but not those of the columns
    assert 'has no column "age"' in run("predict", done, "new.csv", cwd=folder, check=False).stderr


def numbers_far_from_zero_keep_their_digits(folder):
    chance = random.Random(1)
    rows = [chance.random() for _ in range(60)]
    (folder / "table.csv").write_text("x,z,y\n" + "".join(f"{x},{x * x},{1e9 + 3 * x}\n" for x in rows))
    (folder / "table.toml").write_text(TABLE.replace("people.csv", "table.csv").replace('"buys"', '"y", task = "regression"')
                                       .replace('["loss", "accuracy"]', '["mae"]') + 'loss = "mse"\n')
    run("table.toml", *QUICK, "train.epochs=30", f"run.dir={folder}/run", cwd=folder)
    exact = [entry["values"][0] for entry in json.loads(run("predict", folder / "run", "table.csv", "--format", "json", cwd=folder).stdout)]
    assert len(set(exact)) == 60
    table = list(csv.DictReader(io.StringIO(run("predict", folder / "run", "table.csv", "--format", "csv", cwd=folder).stdout)))
    assert [float(row["value"]) for row in table] == exact
    shown = run("predict", folder / "run", "0.5,0.25", cwd=folder).stdout.split()[-1]
    assert abs(float(shown) - 1e9 - 1.5) < 1 and "." in shown, shown  # not 1e+09


def a_folder_of_images_is_each_image_in_it(folder):
    from PIL import Image
    run(SOURCE / "recipes/shapes.toml", *QUICK, "dataset.train=64", "dataset.eval=32", "train.max_steps=2", f"run.dir={folder}/run")
    for name in ("b.png", "a.jpg", "in/c.png"):
        (folder / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(numpy.full((40, 40, 3), 90, dtype=numpy.uint8)).save(folder / "photos" / name)
    (folder / "photos/notes.txt").write_text("no image")
    for name in ("._a.jpg", "in/._c.png", ".thumbnails/b.png"):  # which macOS and file managers leave behind
        (folder / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "photos" / name).write_text("no image")
    said = json.loads(run("predict", folder / "run", "photos", "--format", "json", cwd=folder).stdout)
    assert [one["input"] for one in said] == ["photos/a.jpg", "photos/b.png", "photos/in/c.png"], said
    photo = (folder / "photos/b.png").read_bytes()
    refused = run("predict", folder / "run", "photos", "-o", "photos/b.png", cwd=folder, check=False)
    assert refused.returncode == 2 and "would be overwritten" in " ".join(refused.stderr.split()), refused
    assert (folder / "photos/b.png").read_bytes() == photo
    told = run("predict", folder / "run", "photos", cwd=folder).stderr
    assert "neither JPEG nor PNG: 1, for example photos/notes.txt" in " ".join(told.split()), told
    (folder / "photos/gone.png").symlink_to("/nowhere/gone.png")
    refused = run("predict", folder / "run", "photos", cwd=folder, check=False)
    assert refused.returncode == 1 and "photos/gone.png is a link to /nowhere/gone.png, which is missing" in " ".join(refused.stderr.split()), refused
    assert refused.stdout == "", refused
    (folder / "empty").mkdir()
    refused = run("predict", folder / "run", "empty", cwd=folder, check=False)
    assert refused.returncode == 1 and "no image" in refused.stderr, refused.stderr


def a_file_of_tensors_is_predicted_as_pytorch_does(folder):
    from safetensors.torch import save_file
    torch.manual_seed(0)
    inputs = torch.randn(40, 3)
    targets = (inputs.sum(1) > 0).long()
    for name in ("train", "eval"):
        save_file({"input": inputs, "target": targets}, folder / f"{name}.safetensors")
    save_file({"input": inputs[:5]}, folder / "new.safetensors")
    (folder / "numbers.toml").write_text('model = { name = "mlp", hidden = [4] }\noptimizer = "sgd"\ntrain = { epochs = 2 }\n'
                                         'dataset = { name = "tensors", train = "train.safetensors", eval = "eval.safetensors" }\n')
    run("numbers.toml", *QUICK, f"run.dir={folder}/run", cwd=folder)
    said = json.loads(run("predict", folder / "run", "new.safetensors", "--top", 2, "--format", "json", cwd=folder).stdout)
    weights = load_file(folder / "run/model.safetensors")
    x = torch.relu(torch.nn.functional.linear(inputs[:5], weights["fc1.weight"], weights["fc1.bias"]))
    expected = torch.nn.functional.linear(x, weights["fc2.weight"], weights["fc2.bias"]).softmax(1)
    assert len(said) == 5
    for row, one in enumerate(said):
        for entry in one["classes"]:
            assert math.isclose(entry["probability"], expected[row, int(entry["class"])].item(), abs_tol=1e-6), (row, one)
    # Whole numbers are numbers, too.
    save_file({"input": torch.tensor([[1, 2, 3]])}, folder / "whole.safetensors")
    save_file({"input": torch.tensor([[1.0, 2.0, 3.0]])}, folder / "numbers.safetensors")
    whole, numbers = (json.loads(run("predict", folder / "run", f"{name}.safetensors", "--format", "json", cwd=folder).stdout)
                      for name in ("whole", "numbers"))
    assert whole[0]["classes"] == numbers[0]["classes"]
    for wrong, words in ((torch.randn(5, 4), "new.safetensors: the model cannot take examples of the shape [4]; it was trained with [3]."),
                         (torch.randn(0, 3), "new.safetensors has no examples.")):
        save_file({"input": wrong}, folder / "new.safetensors")
        done = run("predict", folder / "run", "new.safetensors", cwd=folder, check=False)
        assert done.returncode == 1 and words in done.stderr, done


if __name__ == "__main__":
    main([a_file_with_a_header_is_read_by_it_though_training_had_none, a_file_may_lack_the_header_or_have_another_separator,
          numbers_far_from_zero_keep_their_digits, a_folder_of_images_is_each_image_in_it, a_file_of_tensors_is_predicted_as_pytorch_does,
          rows_are_predicted_as_pytorch_does, an_output_that_is_no_number_is_no_prediction,
          inputs_come_from_files_and_standard_input_and_results_go_to_files, predictions_match_lines_one_to_one,
          the_name_of_a_file_is_not_a_sentence, a_photograph_is_turned_upright_if_the_recipe_says_so,
          what_cannot_be_predicted_is_told_and_nothing_is_written, numbers_are_predicted_where_the_target_is_one,
          images_are_seen_as_in_the_evaluation])
