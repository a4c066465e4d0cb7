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
    assert nothing.returncode == 2 and "nothing to compare" in nothing.stderr, nothing
    # With as many threads as the run had, whatever this machine or shell would choose.
    done = subprocess.run([RUNNER, "verify", folder / "run"], env=environment(OMP_NUM_THREADS="2"), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "match the recorded run" in done.stdout, done
    bad = run("verify", folder / "run", "--steps", "few", check=False)
    assert bad.returncode == 2 and "--steps needs a whole number" in bad.stderr, bad
    # A value that this machine does not compute is found, of evaluations, too.
    metrics = folder / "run/metrics.jsonl"
    records = metrics.read_text()
    for step, name in ((55, "train/loss"), (60, "eval/loss")):
        lines = [json.loads(line) for line in records.splitlines()]
        for line in lines:
            if line["step"] == step and name in line:
                line[name] += 1e-6
        metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = run("verify", folder / "run", check=False)
        assert done.returncode == 1 and f"First difference: {name} at step {step}: recorded" in done.stdout, done.stdout


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
    assert done.returncode == 1 and 'First difference: the tensor "model fc2.bias" at step 60' in done.stdout, done.stdout
    # A damaged checkpoint is not used, and is named.
    (newest / "model.safetensors").write_bytes(data[:-1])
    done = run("verify", folder / "run")
    assert "match the recorded run" in done.stdout and f"The checkpoint {newest} is damaged: model.safetensors has" in done.stderr, done


def updates_that_were_skipped_are_no_difference(folder):
    recipe = write_recipe(folder, RECIPE + '[precision]\nname = "fp16"\ninit_scale = 1e30\ngrowth_interval = 2\ngrowth_factor = 4.0\n')
    run(recipe, f"run.dir={folder}/run", "train.max_steps=8", "train.log_every=0.02ep", "checkpoint.every=1step", "checkpoint.keep=20")
    skipped = json.loads((folder / "run/result.json").read_text())["skipped_steps"]
    assert skipped > 2, skipped
    for step in range(1, 8):
        done = run("verify", folder / "run", "--from", step)
        assert "match the recorded run" in done.stdout, done


def what_a_run_did_at_its_end_is_repeated(folder):
    # The weights of swa are evaluated with statistics of random batches; the last evaluation is not a regular one.
    recipe = write_recipe(folder, RECIPE.replace('"20step"', '"7step"') + '[[hook]]\nname = "swa"\nfrom = "10step"\nevery = "3step"\n')
    run(recipe, f"run.dir={folder}/run")
    done = run("verify", folder / "run")
    assert "steps 51 to 60 match the recorded run" in done.stdout, done.stdout
    metrics = folder / "run/metrics.jsonl"
    text = metrics.read_text()
    end = text.rindex('"swa/loss":') + len('"swa/loss":')
    metrics.write_text(text[:end] + "9" + text[end:])
    done = run("verify", folder / "run", check=False)
    assert done.returncode == 1 and "First difference: swa/loss at step 60" in done.stdout, done.stdout


def a_run_that_was_interrupted_after_skipped_updates_is_no_difference(folder):
    # The third update diverges, and the hook skips all others. Each process makes one.
    recipe = write_recipe(folder, RECIPE.replace("lr = 0.01", "lr = 1e30").replace('"20step"', '"never"').replace("[checkpoint]", "[checkpoint]\nkeep = 9")
                          + '[scheduler]\nname = "constant"\nwarmup = "4step"\n[[hook]]\nname = "nan_guard"\naction = "skip"\n'
                          + '[[hook]]\nname = "time_limit"\nlimit = "0.001s"\nmargin = "0s"\n')
    for _ in range(4):
        run(recipe, f"run.dir={folder}/run", check=False)
    state = json.loads((folder / "run/checkpoints/latest/state.json").read_text())["progress"]["integers"]
    assert state["skipped_steps"] > 0 and state["step"] > 1, state
    done = run("verify", folder / "run")
    assert "match the recorded run" in done.stdout and "all tensors" in done.stdout, done.stdout


def an_update_that_only_one_of_them_skipped_is_a_difference(folder):
    run(write_recipe(folder), f"run.dir={folder}/run", "checkpoint.every=40step", "checkpoint.at_end=false")
    metrics = folder / "run/metrics.jsonl"
    records = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert "steps 41 to 60 match the recorded run: 4 records" in run("verify", folder / "run", "--from", 40).stdout
    update = 8 / 400  # in epochs
    for key, more, difference in (("step", 1, "step at epoch 0.9: recorded 46, recomputed 45"), ("epoch", update, "epoch at step 45: recorded")):
        changed = [{**line, key: line[key] + more} if line["step"] > 40 else line for line in records]
        metrics.write_text("".join(json.dumps(line) + "\n" for line in changed))
        done = run("verify", folder / "run", "--from", 40, check=False)
        assert done.returncode == 1 and f"First difference: {difference}" in done.stdout, done


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


def what_the_machine_cannot_be_blamed_for_is_named(folder):
    recipe = write_recipe(folder, RECIPE.replace('"mlp"\nhidden = [32, 32]', '"tabular"').replace(
        '"synthetic"\nshape = [16]\ntrain = 400\neval = 40', f'"csv"\ntrain = "{folder}/table.csv"\ntarget = "y"\nsplit = 0.25'))
    table = folder / "table.csv"
    table.write_text("x,y\n" + "".join(f"{i * 7 % 40},{'abc'[i % 3]}\n" for i in range(40)))
    run(recipe, f"run.dir={folder}/run", "train.max_steps=40")
    assert "match the recorded run" in run("verify", folder / "run").stdout
    done = subprocess.run([RUNNER, "verify", folder / "run"], env=environment(RUNNER_OPTIMIZER__LR="0.5"), capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "optimizer.lr  0.01 -> 0.5" in done.stderr and "nothing to compare" in done.stderr, done
    table.write_text(table.read_text().replace("7,b", "8,b"))
    done = run("verify", folder / "run", check=False)
    assert done.returncode == 2 and "dataset.train" in done.stderr and "other contents" in done.stderr, done
    # The steps that were trained on the edited table can be compared.
    run("resume", folder / "run", "train.max_steps=60", "--force")
    assert "steps 51 to 60 match" in run("verify", folder / "run").stdout


main([a_run_can_be_verified, what_the_machine_cannot_be_blamed_for_is_named, updates_that_were_skipped_are_no_difference, what_a_run_did_at_its_end_is_repeated, a_run_that_was_interrupted_after_skipped_updates_is_no_difference, an_update_that_only_one_of_them_skipped_is_a_difference, a_tensor_that_comes_out_differently_is_named, a_replay_that_is_interrupted_accuses_nobody,
      a_replay_does_not_depend_on_the_clock, a_replay_does_not_depend_on_the_time_limit_of_a_job, a_forced_change_is_no_false_alarm])
