"""Checkpoints from outside: killed processes, damaged files, two processes for one run, PyTorch's readers."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys

import torch
from run_helpers import RUNNER, SOURCE, environment, main, run, wait_until
from safetensors.torch import load_file, save_file
from small_run import RECIPE, endless, write_recipe


def two_processes_cannot_share_a_run(folder):
    process = endless(folder)
    wait_until(lambda: (folder / "run/metrics.jsonl").exists(), process)
    second = run(folder / "recipe.toml", f"run.dir={folder}/run", "train.max_steps=5", check=False)
    assert second.returncode == 1 and f"process {process.pid}" in second.stderr and socket.gethostname() in second.stderr, second.stderr
    process.kill()
    process.communicate()
    # A lock left by a dead process does not block a new one.
    run(folder / "recipe.toml", f"run.dir={folder}/run", "train.max_steps=5")


def damaged_weights_are_not_used(folder):
    run(write_recipe(folder), f"run.dir={folder}/run")
    weights = bytearray((folder / "run/model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "run/model.safetensors").write_bytes(weights)
    for command in (["eval", folder / "run"], ["export", folder / "run", "-o", folder / "out.safetensors"]):
        refused = run(*command, check=False)
        assert refused.returncode == 1 and f"{folder}/run/model.safetensors is damaged" in refused.stderr, refused.stderr
    assert not (folder / "out.safetensors").exists()


def a_damaged_checkpoint_is_skipped(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/whole")
    run(recipe, f"run.dir={folder}/run", "train.max_steps=35")
    newest = folder / "run/checkpoints/step-00000035"
    weights = bytearray((newest / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (newest / "model.safetensors").write_bytes(weights)
    listed = json.loads(run("checkpoints", folder / "run", "--json").stdout)["checkpoints"]
    assert [one["complete"] for one in listed] == [False, True], listed
    assert "checksum" in listed[0]["damage"]
    done = run(recipe, f"run.dir={folder}/run")
    assert "step-00000035" in done.stderr and "Skipping it" in done.stderr, done.stderr
    assert (folder / "run/model.safetensors").read_bytes() == (folder / "whole/model.safetensors").read_bytes()
    shutil.copytree(folder / "run/checkpoints/latest", folder / "copy")
    (folder / "copy/state.json").write_text("{}")
    refused = run(recipe, "--resume", folder / "copy", f"run.dir={folder}/new", check=False)
    assert refused.returncode == 2 and "damaged" in refused.stderr and f"| --resume {folder}/copy" in refused.stderr, refused.stderr


def what_was_mistyped_is_bad_input_and_is_shown_with_its_place(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run", "train.max_steps=20")
    (folder / "empty").mkdir()
    for given, why in ((folder / "nowhere", "There is no checkpoint"), (folder / "empty", "is not a complete checkpoint"),
                       (recipe, "There is no checkpoint"), (folder / "run", "whose newest checkpoint is")):
        done = run(recipe, "--resume", given, f"run.dir={folder}/new", check=False)
        assert done.returncode == 2 and why in done.stderr and f"| --resume {given}" in done.stderr, done
    done = run(recipe, "--resume", folder / "run/checkpoints/latest", "model.hidden=[8]", f"run.dir={folder}/new", check=False)
    assert done.returncode == 2 and "does not fit" in done.stderr, done
    done = run(recipe, f"run.dir={folder}/run", "optimizer.lr=0.5", check=False)
    assert done.returncode == 2 and "command line: error: " in done.stderr and "| optimizer.lr=0.5" in done.stderr and "--force" in done.stderr, done
    recipe.write_text(RECIPE.replace("[32, 32]", "[8]"))
    done = run(recipe, f"run.dir={folder}/run", check=False)
    assert done.returncode == 2 and f"{recipe}:4:10: error: " in done.stderr and "impossible" in done.stderr, done
    for words in (["resume", folder / "nowhere"], ["resume", ""], ["checkpoints", "nowhere"], ["export", "nowhere", "-o", "x.pt"],
                  ["eval", folder / "run", "--weights", "nowhere"], ["export", folder / "run", "-o", "x.pt", "--step", 7]):
        done = run(*words, check=False)
        assert done.returncode == 2 and done.stderr.startswith("runner: error: "), done


def a_copy_without_links_is_resumed(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/whole")
    run(recipe, f"run.dir={folder}/run", "train.max_steps=20")
    for name in ("copy", "newest", "other"):
        shutil.copytree(folder / "run", folder / name)  # follows links, as cp -rL does
        assert not (folder / name / "checkpoints/latest").is_symlink()
    shutil.rmtree(folder / "newest/checkpoints/step-00000020")  # only `latest` was copied
    shutil.rmtree(folder / "newest/checkpoints/step-00000010")
    (folder / "other/checkpoints/latest/manifest.json").unlink()  # not a checkpoint: kept, under another name
    for name in ("copy", "newest", "other"):
        run(recipe, f"run.dir={folder}/{name}")
        assert (folder / name / "checkpoints/latest").is_symlink()
        assert (folder / name / "model.safetensors").read_bytes() == (folder / "whole/model.safetensors").read_bytes()
        assert (folder / name / "checkpoints/latest-copy").exists() == (name == "other")


def a_folder_without_a_manifest_is_named(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run", "train.max_steps=20")
    broken = folder / "run/checkpoints/step-00000020"
    (broken / "manifest.json").unlink()
    listed = run("checkpoints", folder / "run").stdout
    assert "step-00000020" in listed and "damaged: manifest.json is missing" in listed and "complete" in listed, listed
    # Every command takes the one before it.
    checked = run("resume", "--check", folder / "run").stdout
    assert "resumes at step 10 from step-00000010" in checked and "the recipe is the same" in checked, checked
    done = run("resume", folder / "run", "train.max_steps=30")
    assert f"{broken} is not a complete checkpoint" in done.stderr and "Skipping it" in done.stderr, done.stderr
    assert [one["step"] for one in json.loads(run("checkpoints", folder / "run", "--json").stdout)["checkpoints"]] == [30, 20]


def what_was_left_is_cleared(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run", "train.max_steps=20")
    leftover = folder / "run/checkpoints/.unfinished-step-00000030-1"
    shutil.copytree(folder / "run/checkpoints/step-00000020", leftover)
    run(recipe, f"run.dir={folder}/run")
    assert not leftover.exists()


def weights_go_to_pytorch_and_back(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run")
    weights = load_file(folder / "run/checkpoints/latest/model.safetensors")
    run("export", folder / "run", "-o", folder / "model.pt")
    loaded = torch.load(folder / "model.pt", weights_only=True)
    assert loaded.keys() == weights.keys() and all(torch.equal(loaded[k], weights[k]) for k in weights)
    bad = run("export", folder / "run", "--step", "last", "-o", folder / "model.pt", check=False)
    assert bad.returncode == 2 and "--step needs a whole number" in bad.stderr, bad
    assert load_file(folder / "run/checkpoints/latest/optimizer.safetensors")


def the_python_code_of_the_documentation_works(folder):
    """The weights of a run in a PyTorch model, and those of a PyTorch model in a run."""
    block = next(part for part in (SOURCE / "docs/checkpoints.md").read_text().split("```") if part.startswith("python\n"))
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/runs/mine")

    class Mlp(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2, self.fc3 = torch.nn.Linear(16, 32), torch.nn.Linear(32, 32), torch.nn.Linear(32, 10)

    model = Mlp()
    torch.nn.init.zeros_(model.fc1.weight)
    before = os.getcwd()
    os.chdir(folder)
    try:
        exec(block.removeprefix("python\n"), {"model": model})
    finally:
        os.chdir(before)
    trained = load_file(folder / "runs/mine/model.safetensors")
    assert model.state_dict().keys() == trained.keys()
    assert all(torch.equal(tensor, trained[name]) for name, tensor in model.state_dict().items())
    changed = {name: tensor * 2 for name, tensor in load_file(folder / "changed.safetensors").items()}
    save_file(changed, folder / "changed.safetensors")
    run(recipe, f"run.dir={folder}/again", "run.seed=5", f"model.weights={folder}/changed.safetensors", "train.max_steps=0")
    again = load_file(folder / "again/model.safetensors")
    assert all(torch.equal(again[name], tensor) for name, tensor in changed.items())


def large_models_are_sharded(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run", 'checkpoint.max_shard_size="2kB"', "train.max_steps=20")
    latest = folder / "run/checkpoints/latest"
    index = json.loads((latest / "model.safetensors.index.json").read_text())
    whole = load_file(folder / "run/model.safetensors")
    assert set(index["weight_map"]) == set(whole) and len(set(index["weight_map"].values())) > 1
    for name, file in index["weight_map"].items():
        assert torch.equal(load_file(latest / file)[name], whole[name])
    run(recipe, f"run.dir={folder}/run", 'checkpoint.max_shard_size="2kB"')


def what_would_change_is_shown(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run", "train.max_steps=20")
    harmless = run("resume", "--check", folder / "run", "train.max_steps=30")
    assert "train.max_steps" in harmless.stdout and "20 -> 30" in harmless.stdout and "harmless" in harmless.stdout, harmless.stdout
    for override, effect in (("optimizer.lr=0.5", "changes the results"), ("model.hidden=[8]", "impossible")):
        done = run("resume", "--check", folder / "run", override, check=False)
        assert done.returncode == 2 and effect in done.stdout, done
    assert run("resume", "--check", folder / "run", "optimizer.lr=0.5", "--force").returncode == 0
    assert json.loads((folder / "run/result.json").read_text())["steps"] == 20  # nothing was run


def a_run_that_cannot_be_continued_is_told_before(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run", "train.max_steps=20")

    def refused(why, *overrides):
        checked = run("resume", "--check", folder / "run", *overrides, check=False)
        assert checked.returncode == 2 and why in checked.stderr, checked
        assert run("resume", folder / "run", *overrides, check=False).returncode == 2

    refused('checkpoint.resume is "never"', "checkpoint.resume=never")
    manifests = sorted((folder / "run/checkpoints").glob("step-*/manifest.json"))
    for manifest in manifests:
        manifest.unlink()
    refused("is damaged")
    shutil.rmtree(folder / "run/checkpoints")
    refused("a finished run with no checkpoint")
    (folder / "run/result.json").unlink()  # as if it had been killed before its first checkpoint
    assert "starts over" in run("resume", "--check", folder / "run").stdout


def the_file_of_initial_weights_may_be_gone(folder):
    recipe = write_recipe(folder)
    run(recipe, "train.max_steps=1", f"run.dir={folder}/pretraining")
    weights = folder / "weights.safetensors"
    (folder / "pretraining/model.safetensors").rename(weights)
    run(recipe, f"model.weights={weights}", f"run.dir={folder}/run")
    weights.unlink()
    assert "match the recorded run" in run("verify", folder / "run").stdout
    run("resume", folder / "run", "train.max_steps=65", "--force")
    assert json.loads((folder / "run/result.json").read_text())["steps"] == 65


def a_requeued_job_continues_what_it_started_from_another_run(folder):
    recipe = write_recipe(folder)
    run(recipe, "train.max_steps=20", f"run.dir={folder}/first")
    command = [recipe, "train.max_steps=40", f"run.dir={folder}/second", "--resume", folder / "first/checkpoints/latest"]
    run(*command)
    assert "resumed from" in run(*command).stderr
    other = run(*command[:-1], folder / "first/checkpoints/step-00000010", check=False)
    assert other.returncode == 2 and "was started from" in other.stderr, other.stderr


def a_run_that_has_not_ended_is_exported_from_its_newest_checkpoint(folder):
    process = endless(folder)
    try:
        wait_until(lambda: (folder / "run/checkpoints/latest/manifest.json").exists(), process)
        done = run("export", folder / "run", "-o", folder / "out.safetensors")
        assert "has not ended" in done.stderr and "step-" in done.stderr, done.stderr
        assert load_file(folder / "out.safetensors")
    finally:
        process.kill()
        process.communicate()


def hooks_without_state_come_and_go(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run", "train.max_steps=20")
    watch = 'hook+={name="time_limit", limit="10h"}'
    for changes in ([watch, "train.max_steps=30"], ["hook=[]", "train.max_steps=40"]):
        assert "only observe" in run("resume", "--check", folder / "run", *changes).stdout
        run("resume", folder / "run", *changes)
    freeze = 'hook+={name="freeze", match=["*.bias"]}'
    for changes in ([freeze, "train.max_steps=50"], ["hook=[]", "train.max_steps=60"]):
        assert "changes the results" in run("resume", "--check", folder / "run", *changes, "--force").stdout
        run("resume", folder / "run", *changes, "--force")
    # One with state would miss it: this is said before anything is tried.
    done = run("resume", "--check", folder / "run", 'hook+={name="early_stop", metric="eval/loss"}', "--force", check=False)
    assert done.returncode == 2 and "impossible" in done.stdout, done


def the_best_are_kept(folder):
    recipe = write_recipe(folder, RECIPE.replace('every = "20step"', 'every = "5step"\nmetric = ["loss"]'))
    best = 'checkpoint.best={metric="eval/loss", keep=3}'
    run(recipe, best, f"run.dir={folder}/whole")
    measured = {}
    for line in map(json.loads, (folder / "whole/metrics.jsonl").read_text().splitlines()):
        if "eval/loss" in line:
            measured[line["step"]] = line["eval/loss"]
    wanted = sorted(measured, key=lambda step: (measured[step], step))[:3]
    listed = json.loads(run("checkpoints", folder / "whole", "--json").stdout)["best"]
    assert [one["step"] for one in listed] == wanted, (listed, measured)
    assert [one["value"] for one in listed] == [measured[step] for step in wanted]
    assert f"best/step-{wanted[0]:08}.safetensors" in run("checkpoints", folder / "whole").stdout
    assert (folder / "whole/best.safetensors").read_bytes() == (folder / f"whole/best/step-{wanted[0]:08}.safetensors").read_bytes()
    # "best" may be another step than the last.
    run("export", folder / "whole", "--best", "-o", folder / "best.pt")
    exported, kept = torch.load(folder / "best.pt", weights_only=True), load_file(folder / "whole/best.safetensors")
    assert exported.keys() == kept.keys() and all(torch.equal(exported[name], kept[name]) for name in kept), exported.keys()
    # The same after an interruption, and with files of an attempt that came further than its checkpoint.
    run(recipe, best, f"run.dir={folder}/run", "train.max_steps=25")
    (folder / "run/best/step-00000099.safetensors").write_bytes(b"left by an attempt that died")
    (folder / "run/best.safetensors").unlink()
    run(recipe, best, f"run.dir={folder}/run")
    files = lambda one: {path.name: path.read_bytes() for path in sorted((folder / one / "best").iterdir())}
    assert files("run") == files("whole"), (files("run").keys(), files("whole").keys())
    assert (folder / "run/best.safetensors").read_bytes() == (folder / "whole/best.safetensors").read_bytes()
    # Keeping the best may start and end in the middle of a run.
    run(recipe, f"run.dir={folder}/late", "train.max_steps=20")
    run(recipe, best, f"run.dir={folder}/late", "train.max_steps=40")
    assert [one["step"] > 20 for one in json.loads(run("checkpoints", folder / "late", "--json").stdout)["best"]] == [True] * 3
    run(recipe, f"run.dir={folder}/late", "train.max_steps=50")
    # A new run that starts from the state of this one does not have its files.
    done = run(recipe, best, "--resume", folder / "run/checkpoints/latest", f"run.dir={folder}/new", "train.max_steps=65")
    assert len(json.loads(run("checkpoints", folder / "new", "--json").stdout)["best"]) == 1, done.stderr
    # A damaged file hides no other, and nothing that a file says reaches the terminal as it is.
    os.truncate(folder / f"whole/best/step-{wanted[0]:08}.safetensors", 5)
    other = folder / f"whole/best/step-{wanted[1]:08}.safetensors"
    save_file(load_file(other), other, {"metric": "eval/\x1b[31mloss", "mode": "min", "value": "1", "step": str(wanted[1])})
    manifest = folder / "whole/checkpoints/latest/manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"created": "\x1b[2Jnow"}))
    told = run("checkpoints", folder / "whole").stdout
    assert "damaged" in told and f"step-{wanted[2]:08}" in told and "now" in told and "\x1b" not in told, told
    listed = json.loads(run("checkpoints", folder / "whole", "--json").stdout)["best"]
    assert ["damage" in one for one in listed] == [False, False, True], listed
    # It no longer counts as one of the best.
    damaged = folder / f"whole/best/step-{wanted[0]:08}.safetensors"
    said = run(recipe, best, f"run.dir={folder}/whole", "train.max_steps=61").stderr
    assert f"{damaged} is damaged" in said and not damaged.exists(), said


def records_that_are_gone_are_missed(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run", "train.max_steps=20")
    (folder / "run/metrics.jsonl").write_text("")
    said = run(recipe, f"run.dir={folder}/run", "train.max_steps=30").stderr
    assert "metrics.jsonl ends at step 0, but the run had recorded step 20" in said, said


def a_run_of_several_ranks_is_not_continued_alone(folder):
    recipe = write_recipe(folder)
    launched = lambda *words: run("launch", "-n", "2", recipe, f"run.dir={folder}/run", *words)
    launched("train.max_steps=20")
    done = run("resume", folder / "run", "train.max_steps=30", check=False)
    assert done.returncode == 2 and "the run used 2 ranks" in done.stderr, done
    checked = run("resume", "--check", folder / "run", "train.max_steps=30").stdout
    assert "20 -> 30" in checked and "resumed with: runner launch -n 2 " in checked, checked
    assert run("resume", "--check", folder / "run", "optimizer.lr=0.5", check=False).returncode == 2  # as for one rank
    forced = run("resume", "--check", "--force", folder / "run", "train.max_steps=30").stdout
    assert "ranks: 2 -> 1" in forced and "examples in a batch of all ranks: " in forced, forced
    verified = run("verify", folder / "run", check=False)
    assert verified.returncode == 2 and "2 ranks" in verified.stderr, verified
    command = done.stderr[done.stderr.index("runner launch"):].splitlines()[0].split()
    run(*command[1:])
    assert json.loads((folder / "run/result.json").read_text())["steps"] == 30
    alone = run("resume", folder / "run", "train.max_steps=32", "--force").stderr
    assert "examples in a batch of all ranks: " in " ".join(alone.split()), alone


def the_batch_script_of_the_documentation_requeues_itself(folder):
    """With the variables and signals of Slurm, and srun and scontrol that do what theirs do on one machine."""
    block = next(part for part in (SOURCE / "docs/checkpoints.md").read_text().split("```") if "#SBATCH" in part)
    recipe = write_recipe(folder, RECIPE.replace("max_steps = 60", "max_steps = 1000"))
    (folder / "job.sh").write_text(block[block.index("#!"):].replace("recipes/cifar10.toml", str(recipe)))
    tools = {"srun": 'exec "$@"', "scontrol": f'echo "$@" >> {folder}/asked', "runner": f'exec {os.path.abspath(RUNNER)} "$@"'}
    (folder / "bin").mkdir()
    for name, line in tools.items():
        (folder / "bin" / name).write_text(f"#!/bin/bash\n{line}\n")
        (folder / "bin" / name).chmod(0o755)
    slurm = {"SLURM_JOB_ID": "17", "SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_LOCALID": "0", "SLURM_NNODES": "1",
             "SLURM_STEP_NODELIST": "localhost", "SCRATCH": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    job = lambda: subprocess.Popen(["bash", folder / "job.sh"], env=environment(**slurm), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
    first = job()
    wait_until(lambda: (folder / "cifar10/checkpoints/latest").exists(), first)
    trains = int((folder / "cifar10/.lock").read_text().split()[0])
    os.kill(trains, signal.SIGTERM)  # Slurm sends it to the step, not to the script
    first.communicate(timeout=60)
    assert first.returncode == 143 and (folder / "asked").read_text() == "requeue 17\n"
    second = job()
    said = second.communicate(timeout=120)
    assert second.returncode == 0, said
    assert "resumed from" in said[1] and json.loads((folder / "cifar10/result.json").read_text())["steps"] == 1000, said
    assert (folder / "asked").read_text() == "requeue 17\n"


def kills_at_random_moments(_):
    campaign = SOURCE / "tests/campaigns/kill.py"
    done = subprocess.run([sys.executable, campaign, "--kills", "6", "--seed", str(os.getpid()), "--binary", RUNNER],
                          text=True, capture_output=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


main([records_that_are_gone_are_missed, two_processes_cannot_share_a_run, damaged_weights_are_not_used, a_damaged_checkpoint_is_skipped, what_was_mistyped_is_bad_input_and_is_shown_with_its_place,
      a_copy_without_links_is_resumed, a_folder_without_a_manifest_is_named, what_was_left_is_cleared, weights_go_to_pytorch_and_back,
      the_python_code_of_the_documentation_works, large_models_are_sharded, what_would_change_is_shown, a_run_that_cannot_be_continued_is_told_before,
      the_file_of_initial_weights_may_be_gone, a_requeued_job_continues_what_it_started_from_another_run,
      a_run_that_has_not_ended_is_exported_from_its_newest_checkpoint, hooks_without_state_come_and_go, the_best_are_kept,
      a_run_of_several_ranks_is_not_continued_alone, the_batch_script_of_the_documentation_requeues_itself, kills_at_random_moments])
