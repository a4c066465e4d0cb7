"""A TorchScript file is a program: the rules for plugins say which one a recipe may name, and operators with effects outside
of tensors are refused wherever they stand in it."""

import shutil
import subprocess
import zipfile

import torch

from run_helpers import RUNNER, environment, main, run

RECIPE = """
[model]
name = "torchscript"
file = "{file}"
[dataset]
name = "synthetic"
shape = [16]
train = 32
eval = 8
[loader]
batch_size = 8
[optimizer]
name = "sgd"
lr = 0.1
[train]
max_steps = 2
"""


class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 10)

    def forward(self, x):
        return self.layer(x)


def written(folder, file, name="recipe.toml"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(RECIPE.format(file=file))
    return path


def a_recipe_names_only_what_lies_beside_it_or_is_trusted(folder):
    own, away = folder / "own", folder / "away"
    for place in (own, own / "deep", away):
        place.mkdir(parents=True, exist_ok=True)
        torch.jit.script(Plain()).save(str(place / "model.pt"))
    (own / "link.pt").symlink_to(away / "model.pt")
    for file in ("model.pt", "deep/model.pt", own / "model.pt"):
        run("check", "--deep", written(own, file))
    for file in ("../away/model.pt", away / "model.pt", "link.pt", "deep/../../away/model.pt"):
        recipe = written(own, file)
        for command in (["check"], ["check", "--deep"], ["estimate"], ["run"]):
            done = run(*command, recipe, f"run.dir={folder}/run", check=False)
            assert done.returncode == 2 and "names a file of code outside the recipe's folder" in done.stderr, (command, file, done)
            assert "recipe.toml:4:8" in done.stderr and "model.file=" in done.stderr, done.stderr
        assert not (folder / "run").exists()
    recipe = written(own, away / "model.pt")
    run("check", recipe, f"model.file={away}/model.pt")  # the user typed it
    trusted = subprocess.run([RUNNER, "check", str(recipe)], env=environment(RUNNER_PLUGIN_PATH=str(away)), capture_output=True,
                             text=True)
    assert trusted.returncode == 0, trusted
    (away / "base.toml").write_text(RECIPE.format(file="model.pt"))
    (own / "child.toml").write_text('extends = "../away/base.toml"\n')
    done = run("check", own / "child.toml", check=False)  # it trusts no other folder than its own
    assert done.returncode == 2 and "base.toml:4:8" in done.stderr and "outside the recipe's folder" in done.stderr, done


def a_run_keeps_its_code(folder):
    away = folder / "away"
    away.mkdir()
    torch.jit.script(Plain()).save(str(away / "model.pt"))
    recipe = written(folder / "own", "model.pt")
    run(recipe, f"model.file={away}/model.pt", f"run.dir={folder}/run")
    again = run(recipe, f"model.file={away}/model.pt", f"run.dir={folder}/run", "train.max_steps=3")
    assert "model.file" not in again.stderr, again.stderr
    shutil.rmtree(away)
    shutil.move(folder / "run", folder / "moved")  # the copy is enough, wherever the folder goes
    run("eval", folder / "moved")
    run("resume", folder / "moved", "train.max_steps=4")


def effects_are_found_wherever_they_stand(folder):
    owned = str(folder / "owned")

    class Method(Plain):
        def __init__(self):
            super().__init__()
            self.target: str = owned

        @torch.jit.export
        def other(self, x):
            torch.save(x, self.target)
            return x

        def forward(self, x):
            return self.layer(self.other(x))

    class Unused(Method):
        def forward(self, x):
            return self.layer(x)

    class Nested(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Sequential(Method())

        def forward(self, x):
            return self.inner(x)

    class Printing(Plain):
        def forward(self, x):
            print("x")
            return self.layer(x)

    for kind, word in ((Method, '"save"'), (Unused, '"save"'), (Nested, '"save"'), (Printing, "prints")):
        torch.jit.script(kind()).save(str(folder / "model.pt"))
        for command in (["check", "--deep"], ["estimate"], ["run"]):
            done = run(*command, written(folder, "model.pt"), f"run.dir={folder}/run", check=False)
            assert done.returncode == 2 and word in done.stderr, (kind, command, done)
    assert not (folder / "owned").exists()


def written_by_hand(path, records, first=b""):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in records.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    path.write_bytes(first + path.read_bytes()[len(first):])


def what_is_checked_is_what_is_loaded(folder):
    """LibTorch guesses the format of a file, and looks names up in its own way: none of it gets code past the check."""
    owned = folder / "owned"

    class Writing(Plain):
        def __init__(self):
            super().__init__()
            self.target: str = str(owned)

        def forward(self, x):
            torch.save(x, self.target)
            return self.layer(x)

    def records(kind):
        torch.jit.script(kind()).save(str(folder / "model.pt"))
        with zipfile.ZipFile(folder / "model.pt") as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def in_capitals(name):
        return name[:-3] + ".PY" if name.endswith(".py") else name

    harmless, harmful = records(Plain), records(Writing)
    code = next(name for name in harmful if name.endswith("__torch__.py"))
    long = "model/code/" + "x" * 600 + ".py"
    values = "model/data.pkl"
    foreign = harmless[values].replace(b"c__torch__\nPlain", b"c__torch__.torch\nclasses.x")
    hostile = {
        "another format": (harmless, b"PK\x03\x04PTMF"),
        '"save"': ({in_capitals(name): content for name, content in harmful.items()}, b""),
        "twice": ({**harmful, code: harmless[code], in_capitals(code): harmful[code]}, b""),
        "name that is too long": ({**harmless, long: harmful[code]}, b""),
        "classes that are not LibTorch's own": ({**harmless, values: foreign}, b""),
    }
    for words, (content, first) in hostile.items():
        written_by_hand(folder / "hostile.pt", content, first)
        for command in (["check", "--deep"], ["estimate"], ["run"]):
            done = run(*command, written(folder, "hostile.pt"), f"run.dir={folder}/run", check=False)
            assert done.returncode == 2 and words in done.stderr, (words, command, done)
            assert not owned.exists(), (words, command)
    written_by_hand(folder / "again.pt", harmless)
    run("check", "--deep", written(folder, "again.pt"))


def exported_modules_are_refused_with_the_reason(folder):
    torch.export.save(torch.export.export(Plain(), (torch.zeros(2, 16),)), folder / "model.pt2")
    for command in (["check", "--deep"], ["run"]):
        done = run(*command, written(folder, "model.pt2"), f"run.dir={folder}/run", check=False)
        assert done.returncode == 2 and "was written by torch.export" in done.stderr and 'model.name = "exported"' in done.stderr, done


main([a_recipe_names_only_what_lies_beside_it_or_is_trusted, a_run_keeps_its_code, effects_are_found_wherever_they_stand,
      what_is_checked_is_what_is_loaded, exported_modules_are_refused_with_the_reason])
