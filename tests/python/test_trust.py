"""A recipe and a run folder are data: one that a stranger wrote sends no secret to a server of its choice, writes nothing through a link, and
keeps no reader waiting. What the user says once, on the command line, in the environment or with `runner trust`, still works."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from run_helpers import RUNNER, environment, main
from tracker_tools import Stub

RECIPE = """
[model]
name = "mlp"
hidden = [8]
[dataset]
name = "synthetic"
shape = [16]
train = 64
eval = 16
[loader]
batch_size = 8
[optimizer]
name = "sgd"
lr = 0.1
[train]
max_steps = 4
[checkpoint]
every = "2step"
"""
SECRET = "hush-hush-token"


class User:
    """Runs the program with a configuration of its own."""

    def __init__(self, folder):
        self.folder, self.config = folder, folder / "config"

    def run(self, *words, code=None, **variables):
        done = subprocess.run([RUNNER, *map(str, words)], capture_output=True, text=True, cwd=self.folder, timeout=120,
                              env=environment(XDG_CONFIG_HOME=str(self.config), **variables))
        assert code is None or done.returncode == code, (words, done)
        assert SECRET not in done.stdout + done.stderr, done
        done.said = " ".join((done.stdout + done.stderr).split())
        return done

    def recipe(self, more="", name="recipe.toml"):
        path = self.folder / name
        path.write_text(RECIPE + more)
        return path


def mlflow(_, path, body):
    if "get-by-name" in path:
        return {"experiment": {"experiment_id": "1"}}
    if "runs/create" in path:
        return {"run": {"info": {"run_id": "r", "artifact_uri": "s3://elsewhere"}}}
    return {"run": {"data": {}}} if "runs/get" in path else {}


def remedy(done, start):
    """What a hint tells the user to type: the words after `runner`."""
    line = next(line for line in done.stderr.splitlines() if f"runner {start}" in line)
    return line.split("runner ", 1)[1].strip().split(" ")


def credentials_go_only_where_the_user_says(folder):
    with Stub(mlflow) as stub:
        tracker = f'[[tracker]]\nname = "mlflow"\nurl = "{stub.address}"\n'

        def sent(words, variables, user, code=0):
            stub.authorization.clear()
            done = user.run(*words, code=code, MLFLOW_TRACKING_TOKEN=SECRET, **variables)
            return done, f"Bearer {SECRET}" in stub.authorization

        for number, (more, variables) in enumerate([
                ((), {}), (("tracker.0.url=" + stub.address,), {}), ((), {"MLFLOW_TRACKING_URI": stub.address + "/"}),
                ((), {"RUNNER_TRACKER__0__URL": stub.address})]):
            user = User(folder / str(number))
            user.folder.mkdir()
            recipe = user.recipe(tracker)
            named = bool(more or variables)
            done, gone = sent((recipe, "run.dir=run", *more), variables, user, 0 if named else 2)
            assert gone == named, (more, variables, done)
            assert sent(("check", recipe, *more), variables, user, 0 if named else 2)[1] is False
            if named:
                # The run is a stranger's to everybody else: its saved recipe has the address.
                assert sent(("resume", "run", "train.max_steps=6"), {}, user, 2)[1] is False
                assert sent(("track", "run"), {}, user, 2)[1] is False
                continue
            assert "MLFLOW_TRACKING_TOKEN" in done.said and "only the recipe names" in done.said, done.said
            user.run(*remedy(done, "trust server"), code=0)
            assert sent((recipe, "run.dir=run"), {}, user)[1]
            shown, _ = sent(("check", recipe), {}, user)
            assert f"mlflow: MLFLOW_TRACKING_TOKEN goes to {stub.address}" in shown.stdout, shown.stdout
            other = Stub(mlflow)  # another port is another server
            done, _ = sent((recipe, "run.dir=other", ), {"MLFLOW_TRACKING_URI": stub.address}, user)
            user.recipe(tracker.replace(stub.address, other.address))
            done, _ = sent((recipe, "run.dir=other"), {"MLFLOW_TRACKING_URI": stub.address}, user, 2)
            assert other.authorization == set(), other.authorization
        user = User(folder)
        user.run(user.recipe(tracker), "run.dir=plain", code=0)  # without a secret, nothing has to be said


def a_file_that_a_recipe_names_is_no_secret_of_its_choice(folder):
    user = User(folder)
    (folder / "token").write_text(SECRET)
    with Stub(mlflow) as stub:
        tracker = f'[[tracker]]\nname = "mlflow"\nurl = "{stub.address}"\ntoken_file = "token"\n'
        recipe = user.recipe(tracker)
        named = {"MLFLOW_TRACKING_URI": stub.address}
        for variables in ({}, named):
            done = user.run(recipe, "run.dir=run", code=2, **variables)
            assert "only the recipe says that the content of" in done.said, done.said
        assert stub.authorization == set()
        user.run(*remedy(done, "trust file"), code=0)
        done = user.run(recipe, "run.dir=run", code=2)  # the server is still only the recipe's
        assert "only the recipe names" in done.said, done.said
        user.run(recipe, "run.dir=run", code=0, **named)
        assert f"Bearer {SECRET}" in stub.authorization
        typed = User(folder / "typed")
        typed.folder.mkdir()
        typed.run(recipe, "run.dir=run", f"tracker.0.token_file={folder}/token", code=0, **named)


def variables_are_sent_only_with_consent(folder):
    user = User(folder)
    received = []

    def answer(method, path, body):
        received.append(body)
        return mlflow(method, path, body)

    with Stub(answer) as stub:
        tracker = f'[[tracker]]\nname = "mlflow"\nurl = "{stub.address}"\n[run]\n'
        for line in ('name = "x-${env:PRECIOUS}"', 'tags = ["${env:PRECIOUS}"]', 'name = "x-${run.tags.0}"\ntags = ["${env:PRECIOUS}"]'):
            recipe = user.recipe(tracker + line + "\n")
            for command in ((recipe, "run.dir=run"), ("check", recipe)):
                done = user.run(*command, code=2, PRECIOUS=SECRET)
                assert "environment variable PRECIOUS would be sent" in done.said, done.said
        assert not any(SECRET.encode() in body for body in received)
        user.run(recipe, "run.dir=typed", "run.name=mine", 'run.tags=["${env:HOME}"]', code=0, PRECIOUS=SECRET)  # the user typed it
        user.run(recipe, "run.dir=unset", "run.name=mine", "run.tags=[]", code=0)
        user.run(*remedy(done, "trust variable"), code=0)
        user.run(recipe, "run.dir=run", code=0, PRECIOUS="harmless")
        local = user.recipe('[[tracker]]\nname = "csv"\n[run]\nname = "x-${env:WHO}"\n', "local.toml")
        user.run(local, "run.dir=local", code=0, WHO="me")  # nothing leaves the machine


def what_is_trusted_is_private_and_listed(folder):
    user = User(folder)
    assert "nothing is trusted yet" in user.run("trust", code=0).said
    user.run("trust", "server", "https://MLflow.example.org/x", code=0)
    assert user.run("trust", code=0).stdout == "server https://mlflow.example.org:443\n"
    for words, said in ((("servr", "x"), 'did you mean "server"?'), (("server", "x y"), "is not the address"), (("variable", "A=B"), "is not the name"),
                        (("plugin", "x.so"), "runner plugin trust x.so"), (("server",), "which server")):
        assert said in user.run("trust", *words, code=2).said, words
    listed = user.config / "runner/trusted"
    listed.write_text("anything goes\n")
    assert "it must begin with" in user.run("check", user.recipe(), code=2).said
    listed.write_text("")
    listed.chmod(0o666)
    assert "everybody can write" in user.run("check", user.recipe(), code=2).said


def a_key_named_authorization_is_not_shown(folder):
    for line in (f'authorization = {SECRET}', f'authorization = "{SECRET}"', f'passphrase = "{SECRET}" x'):
        user = User(folder)
        said = user.run("check", user.recipe(f'[[tracker]]\nname = "csv"\n{line}\n'), code=2).said
        assert "recipe.toml:2" in said, said  # the place is named; run() looks for the secret


def nothing_is_written_through_a_link(folder):
    user = User(folder)
    user.run(user.recipe('[[tracker]]\nname = "csv"\n[[tracker]]\nname = "tensorboard"\n'), "run.dir=made", code=0)
    places = [".lock", "metrics.jsonl", "texts.jsonl", "log.txt", "metrics.csv", "result.json", "run.json", "data.json", "recipe.toml", "tracking",
              "tracking/lock", "tracking/csv.spool", "tracking/csv.json", "tracking/csv.spool.sent", "checkpoints", "checkpoints/latest", "best",
              "tensorboard", "plugins", "ranks", "model.safetensors", "report.html", "checkpoints/.unfinished-x-1", "deep/er"]
    for number, place in enumerate(places):
        run, outside = folder / f"run{number}", folder / f"outside{number}"
        shutil.copytree(folder / "made", run, symlinks=True)
        link = run / place
        if link.is_symlink():
            shutil.copytree(link, outside)
            link.unlink()
        elif link.is_dir():
            shutil.move(link, outside)
        elif link.exists():
            shutil.copy(link, outside)
            link.unlink()
        elif number % 3:
            outside.write_text("precious\n")  # otherwise the link leads to what is not there yet
        link.parent.mkdir(exist_ok=True, parents=True)
        link.symlink_to(outside if number % 2 else os.path.relpath(outside, link.parent))
        before = state_of(outside)
        commands = [("resume", run, "train.max_steps=6"), ("track", run), ("resume", "--check", run), ("verify", run), ("report", run), ("eval", run),
                    (folder / "recipe.toml", f"run.dir={run}", "train.max_steps=6")]
        for words in commands if number < 2 else commands[number % 2::5]:
            done = user.run(*words, code=2)
            assert f"{place} is a link that leaves the run folder" in done.said, (place, words, done)
            assert state_of(outside) == before, (place, words)
    user.run(*done.said.split("runner ")[-1].split(" ")[:3], code=0)
    user.run("resume", run, "train.max_steps=6", code=0)  # the user put it there


def state_of(path):
    files = sorted(path.rglob("*")) if path.is_dir() else [path] if path.exists() else []
    return [(str(file), file.lstat().st_size, file.lstat().st_mtime_ns) for file in files]


def a_run_folder_may_be_a_link_and_hold_links_of_its_own(folder):
    user = User(folder)
    (folder / "disk").mkdir()
    user.run(user.recipe(), "run.dir=disk/made", code=0)
    (folder / "linked").symlink_to("disk/made")
    for words in (("resume", "linked", "train.max_steps=6"), ("checkpoints", "linked"), ("report", "linked"), ("resume", "linked", "train.max_steps=8")):
        user.run(*words, code=0)
    user.run(folder / "recipe.toml", "run.dir=linked", "train.max_steps=10", code=0)


if __name__ == "__main__":
    main([credentials_go_only_where_the_user_says, a_file_that_a_recipe_names_is_no_secret_of_its_choice, variables_are_sent_only_with_consent, a_key_named_authorization_is_not_shown,
          what_is_trusted_is_private_and_listed, nothing_is_written_through_a_link, a_run_folder_may_be_a_link_and_hold_links_of_its_own])
