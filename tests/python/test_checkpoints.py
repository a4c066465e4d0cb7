"""Checkpoints from outside: killed processes, signals, damaged files, two processes for one run, PyTorch's readers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import torch
from run_helpers import RUNNER, SOURCE, environment, main, run
from safetensors.torch import load_file, save_file

RECIPE = """
[model]
name = "mlp"
hidden = [32, 32]
[dataset]
name = "synthetic"
shape = [16]
train = 400
eval = 40
[loader]
batch_size = 8
[optimizer]
name = "adamw"
lr = 0.01
[train]
max_steps = 60
log_every = "5step"
[eval]
every = "20step"
[checkpoint]
every = "10step"
"""


def write_recipe(folder, text=RECIPE):
    path = folder / "recipe.toml"
    path.write_text(text)
    return path


def start(*words):
    return subprocess.Popen([RUNNER, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment())


def wait_until(condition, process):
    """Waits for something that the process will do; fails where it ends first."""
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.01)


def endless(folder):
    """A run that goes on until somebody ends it."""
    recipe = write_recipe(folder, RECIPE.replace("max_steps = 60", "max_steps = 100000000"))
    return start(recipe, f"run.dir={folder}/run")


def a_signal_saves_and_says_so(folder):
    process = endless(folder)
    wait_until(lambda: (folder / "run/checkpoints/latest").exists(), process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, process.returncode
    result = json.loads((folder / "run/result.json").read_text())
    assert result["outcome"] == "interrupted"
    newest = json.loads((folder / "run/checkpoints/latest/manifest.json").read_text())
    assert newest["step"] == result["steps"]
    total = sum(result["time"].values())
    assert abs(total - result["seconds"]) < 0.25 * total + 1, result["time"]


def two_processes_cannot_share_a_run(folder):
    process = endless(folder)
    wait_until(lambda: (folder / "run/metrics.jsonl").exists(), process)
    second = run(folder / "recipe.toml", f"run.dir={folder}/run", "train.max_steps=5", check=False)
    assert second.returncode == 1 and f"process {process.pid}" in second.stderr, second.stderr
    process.kill()
    process.communicate()
    # The lock of a dead process is no obstacle.
    run(folder / "recipe.toml", f"run.dir={folder}/run", "train.max_steps=5")


def a_checkpoint_on_demand(folder):
    process = start(write_recipe(folder, RECIPE.replace("max_steps = 60", "max_steps = 100000000")
                                 .replace('every = "10step"', 'every = "never"')), f"run.dir={folder}/run")
    wait_until(lambda: (folder / "run/metrics.jsonl").exists() and (folder / "run/metrics.jsonl").read_text(), process)
    run("checkpoint", folder / "run")
    wait_until(lambda: (folder / "run/checkpoints/latest/manifest.json").exists(), process)
    process.kill()
    process.communicate()


def a_damaged_checkpoint_is_passed_over(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/whole")
    run(recipe, f"run.dir={folder}/run", "train.max_steps=35")
    newest = folder / "run/checkpoints/step-00000035"
    weights = bytearray((newest / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (newest / "model.safetensors").write_bytes(weights)
    listed = json.loads(run("checkpoints", folder / "run", "--json").stdout)
    assert [one["complete"] for one in listed] == [False, True], listed
    assert "checksum" in listed[0]["damage"]
    done = run(recipe, f"run.dir={folder}/run")
    assert "step-00000035" in done.stderr and "passed over" in done.stderr, done.stderr
    assert (folder / "run/model.safetensors").read_bytes() == (folder / "whole/model.safetensors").read_bytes()
    shutil.copytree(folder / "run/checkpoints/latest", folder / "copy")
    (folder / "copy/state.json").write_text("{}")
    refused = run(recipe, "--resume", folder / "copy", f"run.dir={folder}/new", check=False)
    assert refused.returncode == 1 and "damaged" in refused.stderr, refused.stderr


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
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU(),
                                torch.nn.Linear(32, 10))
    assert {tuple(t.shape) for t in weights.values()} == {tuple(t.shape) for t in model.state_dict().values()}
    changed = {k: v * 2 for k, v in weights.items()}
    save_file(changed, folder / "changed.safetensors")
    run(recipe, f"run.dir={folder}/again", f"model.weights={folder}/changed.safetensors", "train.max_steps=0")
    assert torch.equal(load_file(folder / "again/model.safetensors")[next(iter(weights))], changed[next(iter(weights))])
    assert load_file(folder / "run/checkpoints/latest/optimizer.safetensors")


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


def a_run_can_be_verified(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run")
    done = run("verify", folder / "run")
    assert "came out the same" in done.stdout, done.stdout
    # A record that this machine does not compute is found.
    metrics = folder / "run/metrics.jsonl"
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    for line in lines:
        if line["step"] == 55 and "train/loss" in line:
            line["train/loss"] += 1e-6
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("verify", folder / "run", check=False)
    assert done.returncode == 1 and "step 55" in done.stdout, done.stdout


def kills_at_random_moments(_):
    campaign = SOURCE / "tests/campaigns/kill.py"
    done = subprocess.run([sys.executable, campaign, "--kills", "6", "--seed", str(os.getpid()), "--binary", RUNNER],
                          text=True, capture_output=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


main([a_signal_saves_and_says_so, two_processes_cannot_share_a_run, a_checkpoint_on_demand,
      a_damaged_checkpoint_is_passed_over, what_was_left_is_cleared, weights_go_to_pytorch_and_back,
      large_models_are_sharded, a_run_can_be_verified, kills_at_random_moments])
