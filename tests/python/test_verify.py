"""runner verify: steps that are repeated and compared with what the run recorded."""

import hashlib
import json
import shutil
import signal
import subprocess

from run_helpers import RUNNER, environment, main, run, wait_until
from safetensors.torch import load_file, save_file
from small_run import RECIPE, handles, start, write_recipe


def a_run_can_be_verified(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run")
    done = run("verify", folder / "run")
    assert "steps 51 to 60 match the recorded run" in done.stdout and "all tensors" in done.stdout, done.stdout
    assert "steps 51 to 56 match" in run("verify", folder / "run", "--steps", "6").stdout
    nothing = run("verify", folder / "run", "--steps", "3", check=False)  # the first record is at step 55
    assert nothing.returncode == 1 and "nothing to compare" in nothing.stderr, nothing
    # With as many threads as the run had, whatever this machine or shell would choose.
    done = subprocess.run([RUNNER, "verify", folder / "run"], env=environment(OMP_NUM_THREADS="2"), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "match the recorded run" in done.stdout, done
    bad = run("verify", folder / "run", "--steps", "few", check=False)
    assert bad.returncode == 2 and "--steps needs a whole number" in bad.stderr, bad
    # A record that this machine does not compute is found.
    metrics = folder / "run/metrics.jsonl"
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    for line in lines:
        if line["step"] == 55 and "train/loss" in line:
            line["train/loss"] += 1e-6
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("verify", folder / "run", check=False)
    assert done.returncode == 1 and "the training loss at step 55: recorded" in done.stdout, done.stdout


def a_tensor_that_comes_out_differently_is_named(folder):
    run(write_recipe(folder), f"run.dir={folder}/run")
    newest = folder / "run/checkpoints/step-00000060"
    weights = load_file(newest / "model.safetensors")
    weights["fc2.bias"][3] = -weights["fc2.bias"][3]
    save_file(weights, newest / "model.safetensors", {"format": "pt"})
    manifest = json.loads((newest / "manifest.json").read_text())
    data = (newest / "model.safetensors").read_bytes()
    manifest["files"]["model.safetensors"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (newest / "manifest.json").write_text(json.dumps(manifest))
    done = run("verify", folder / "run", check=False)
    assert done.returncode == 1 and 'the tensor "model fc2.bias" at step 60' in done.stdout, done.stdout


def a_replay_that_is_interrupted_accuses_nobody(folder):
    run(write_recipe(folder), f"run.dir={folder}/run", "train.max_steps=6000", "checkpoint.every=3000step", "eval.every=never",
        "train.log_every=100step")
    process = start("verify", folder / "run")
    wait_until(lambda: handles(process, signal.SIGINT), process)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT and "nothing was compared" in said and not out, (process.returncode, out, said)


def a_replay_does_not_depend_on_the_clock(folder):
    text = RECIPE.replace("max_steps = 60", 'max_time = "1s"').replace('"5step"', '"0.02s"').replace('"20step"', '"0.1s"')
    run(write_recipe(folder, text + '[scheduler]\nname = "plateau"\npatience = 0\n'), f"run.dir={folder}/run", "checkpoint.every=30step")
    done = run("verify", folder / "run")
    assert "match the recorded run" in done.stdout and "all tensors" in done.stdout, done.stdout


def a_replay_does_not_depend_on_the_time_limit_of_a_job(folder):
    text = RECIPE.replace('"5step"', '"1step"') + '[[hook]]\nname = "time_limit"\nlimit = "0.001s"\nmargin = "0s"\n'
    recipe = write_recipe(folder, text.replace("[checkpoint]", "[checkpoint]\nkeep = 9"))
    for _ in range(3):  # each process makes one step
        done = run(recipe, f"run.dir={folder}/run", check=False)
        assert done.returncode == 128 + signal.SIGTERM, done
    shutil.rmtree(folder / "run/checkpoints/step-00000002")
    done = run("verify", folder / "run")
    assert "steps 2 to 3 match" in done.stdout, done.stdout


def a_forced_change_is_no_false_alarm(folder):
    recipe = write_recipe(folder)
    run(recipe, f"run.dir={folder}/run", "train.max_steps=30")
    run("resume", folder / "run", "optimizer.lr=0.5", "train.max_steps=45", "--force")
    done = run("verify", folder / "run")  # 40 to 45; not 30 to 40, which was another learning rate in part
    assert "steps 41 to 45 match" in done.stdout, done.stdout


main([a_run_can_be_verified, a_tensor_that_comes_out_differently_is_named, a_replay_that_is_interrupted_accuses_nobody,
      a_replay_does_not_depend_on_the_clock, a_replay_does_not_depend_on_the_time_limit_of_a_job, a_forced_change_is_no_false_alarm])
