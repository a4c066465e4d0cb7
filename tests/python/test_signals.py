"""Signals to a run: it stops after the step and saves, or saves on request."""

import json
import signal
import subprocess

from run_helpers import RUNNER, environment, main, run, wait_until
from small_run import RECIPE, endless, keeps, start, write_recipe


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


def a_second_signal_ends_it_at_once(folder):
    # An update of a million micro-batches: the first signal waits for its end.
    recipe = write_recipe(folder, RECIPE.replace("[train]", "[train]\naccumulation_steps = 1000000").replace("train = 400", "train = 9000000"))
    process = start(recipe, f"run.dir={folder}/run")
    wait_until(lambda: (folder / "run/metrics.jsonl").exists(), process)
    process.send_signal(signal.SIGTERM)
    for line in process.stderr:
        if "stopping after this step" in line:
            break
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, process.returncode
    assert not (folder / "run/result.json").exists() and not (folder / "run/checkpoints").exists()


def a_checkpoint_on_demand(folder):
    process = start(write_recipe(folder, RECIPE.replace("max_steps = 60", "max_steps = 100000000")
                                 .replace('every = "10step"', 'every = "never"')), f"run.dir={folder}/run")
    wait_until(lambda: (folder / "run/metrics.jsonl").exists() and (folder / "run/metrics.jsonl").read_text(), process)
    run("checkpoint", folder / "run")
    wait_until(lambda: (folder / "run/checkpoints/latest/manifest.json").exists(), process)
    process.kill()
    process.communicate()


def a_checkpoint_may_be_requested_before_the_run_has_begun(folder):
    process = subprocess.Popen([RUNNER, "run", "-", f"run.dir={folder}/run", "checkpoint.every=never"], stdin=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment())
    wait_until(lambda: keeps(process, signal.SIGUSR1), process)  # it loads libraries, or waits for the recipe
    process.send_signal(signal.SIGUSR1)
    said = process.communicate(RECIPE.replace("max_steps = 60", "max_steps = 3"), timeout=60)
    assert process.returncode == 0, said
    assert (folder / "run/checkpoints/step-00000001").exists(), list((folder / "run").rglob("*"))


def a_signal_in_an_evaluation_stops_it_and_it_is_made_up_for(folder):
    # So many batches that an evaluation takes seconds; the record of step 20 is written right before it.
    text = RECIPE.replace("max_steps = 60", "max_steps = 40").replace("eval = 40", "eval = 20000").replace('"5step"', '"20step"')
    text = text.replace("batch_size = 8", "batch_size = 8\neval_batch_size = 1").replace('[checkpoint]\nevery = "10step"', "")
    text += '[[eval.metric]]\nname = "loss"\n[[hook]]\nname = "early_stop"\nmetric = "eval/loss"\npatience = 9\n'
    recipe = write_recipe(folder, text)
    run(recipe, f"run.dir={folder}/whole")
    metrics = folder / "run/metrics.jsonl"
    for stopped_at in (20, 40):  # in the middle of the run, and in the evaluation at its end
        process = start(recipe, f"run.dir={folder}/run")
        wait_until(lambda: metrics.exists() and f'"step":{stopped_at},' in metrics.read_text(), process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGTERM, process.returncode
        state = json.loads((folder / "run/checkpoints/latest/state.json").read_text())
        assert state["progress"]["integers"]["evaluation_due"] == 1, "the evaluation was over before the signal"
        assert json.loads((folder / "run/result.json").read_text())["outcome"] == "interrupted"
    run(recipe, f"run.dir={folder}/run")
    without_time = lambda one: [{k: v for k, v in json.loads(line).items() if k != "time"}
                                for line in (folder / one / "metrics.jsonl").read_text().splitlines()]
    assert without_time("run") == without_time("whole"), without_time("run")
    assert (folder / "run/model.safetensors").read_bytes() == (folder / "whole/model.safetensors").read_bytes()


main([a_signal_saves_and_says_so, a_second_signal_ends_it_at_once, a_checkpoint_on_demand,
      a_checkpoint_may_be_requested_before_the_run_has_begun, a_signal_in_an_evaluation_stops_it_and_it_is_made_up_for])
