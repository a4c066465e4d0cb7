"""Data that is moved or changed between the start of a run and its continuation."""

import shutil

from PIL import Image
from run_helpers import main, run

COMMON = """
[model]
name = "mlp"
hidden = [8]
[loader]
batch_size = 4
[optimizer]
name = "sgd"
[train]
max_steps = 4
[checkpoint]
every = "2step"
[dataset]
split = 0.2
"""
TABLE = COMMON + """
name = "csv"
train = "table.csv"
target = "y"
"""
PICTURES = COMMON + """
name = "image_folder"
dir = "pictures"
transform = [{ name = "resize", height = 8, width = 8 }]
"""


def written(path, text):
    path.write_text(text)
    return path


def data_that_was_edited_is_noticed_and_data_that_was_moved_is_not(folder):
    rows = [f"{i % 10},{i // 10 % 10},{i % 2}\n" for i in range(400)]
    table = folder / "table.csv"
    table.write_text("a,b,y\n" + "".join(rows))
    recipe = written(folder / "recipe.toml", TABLE)
    run(recipe, f"run.dir={folder}/run", "train.max_steps=20")
    table.touch()
    shutil.copy(table, folder / "copy.csv")
    done = run("resume", "--check", folder / "run", f"dataset.train={folder}/copy.csv")
    assert "harmless: the contents are the same" in " ".join(done.stdout.split()), done.stdout
    rows[123] = rows[123].replace("3", "7", 1)
    table.write_text("a,b,y\n" + "".join(rows))
    shown = run("resume", "--check", folder / "run", check=False)
    assert shown.returncode == 2 and "dataset.train" in shown.stdout and "other contents  changes the results" in shown.stdout, shown
    refused = run(recipe, f"run.dir={folder}/run", "train.max_steps=30", check=False)
    assert refused.returncode == 2 and f"{recipe}:17:9: error: " in refused.stderr and "other contents" in refused.stderr, refused
    run(recipe, f"run.dir={folder}/run", "train.max_steps=30", "--force")
    run(recipe, f"run.dir={folder}/run", "train.max_steps=40")  # the newest checkpoint was written with this data


def a_folder_of_data_may_move_and_what_changed_in_it_is_said(folder):
    for number in range(20):
        picture = folder / f"pictures/{'ab'[number % 2]}/{number}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (12 * number, 255 - 12 * number, 100)).save(picture)
    recipe = written(folder / "recipe.toml", PICTURES)
    run(recipe, f"run.dir={folder}/run", "train.max_steps=4")
    (folder / "pictures").rename(folder / "moved")
    moved = f"dataset.dir={folder}/moved"
    done = run("resume", "--check", folder / "run", moved)
    assert "harmless: the contents are the same" in " ".join(done.stdout.split()), done.stdout
    run(recipe, f"run.dir={folder}/run", "train.max_steps=6", moved)
    Image.effect_noise((8, 8), 90).convert("RGB").save(folder / "moved/a/0.png")
    done = run("resume", "--check", folder / "run", moved)
    assert "other contents" in done.stdout and "added, removed or resized" in " ".join(done.stdout.split()), done.stdout
    done = run(recipe, f"run.dir={folder}/run", "train.max_steps=8", moved)
    assert "other contents" in done.stderr, done.stderr


main([data_that_was_edited_is_noticed_and_data_that_was_moved_is_not, a_folder_of_data_may_move_and_what_changed_in_it_is_said])
