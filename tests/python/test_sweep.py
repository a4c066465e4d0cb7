"""Sweeps of real runs: what is tried, what a kill leaves, what comes out."""

import json
import os
import signal
import subprocess

import browser
from run_helpers import RUNNER, SHAPES, environment, main, records, run, series, wait_until

SMALL = ["dataset.train=64", "dataset.eval=64", "loader.batch_size=32", "train.epochs=2", "--metric", "eval/accuracy"]


def events(folder):
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def a_grid_tries_everything_and_says_what_was_best(folder):
    done = run("sweep", SHAPES, "optimizer.lr=choice(0.1,0.001)", "run.seed=range(0,2)", *SMALL, "-j", 2, "--dir", folder / "s")
    ended = {event["trial"]: event for event in events(folder / "s") if "outcome" in event}
    assert sorted(ended) == [0, 1, 2, 3] and all(event["outcome"] == "finished" for event in ended.values()), ended
    best = max(ended.values(), key=lambda event: event["value"])
    assert f"best: trial {best['trial']}, eval/accuracy" in done.stdout, done.stdout
    for number, event in ended.items():
        lines = [json.loads(line) for line in (folder / f"s/trials/{number:04}/metrics.jsonl").read_text().splitlines()]
        assert event["value"] == max(line["eval/accuracy"] for line in lines if "eval/accuracy" in line)
    threads = json.loads(run("show", folder / "s/trials/0000/recipe.toml", "--json").stdout)["run"]["threads"]
    assert threads == max(1, len(os.sched_getaffinity(0)) // 2), threads
    if browser.available():
        with browser.Browser() as page:
            page.open(folder / "s/sweep.html")
            words = page.run("return document.body.innerText")
            assert "Best trial" in words and "Importance" in words, words
            assert page.run("return document.querySelectorAll('.parallel polyline').length") == 4
            assert page.console() == []


def outcomes(folder):
    return {event["trial"]: event["outcome"] for event in events(folder) if "outcome" in event}


def failed_trials_are_listed_and_run_again_only_on_request(folder):
    missing = folder / "nothing.safetensors"
    command = ["sweep", SHAPES, f"model.weights=choice({missing})", "run.seed=range(0,2)", *SMALL, "--dir", folder / "s"]
    done = run(*command, check=False)
    assert done.returncode == 1, done
    assert "trial 0 failed: " in done.stdout and "nothing.safetensors" in done.stdout, done.stdout
    run(SHAPES, "dataset.train=64", "dataset.eval=64", "train.max_steps=1", f"run.dir={folder}/run")
    (folder / "run/model.safetensors").rename(missing)  # what was missing is there now
    assert run(*command, check=False).returncode == 1
    assert outcomes(folder / "s") == {0: "failed", 1: "failed"}
    run(*command, "--retry-failed")
    assert outcomes(folder / "s") == {0: "finished", 1: "finished"}


def a_trial_whose_metric_was_never_a_number_says_so(folder):
    done = run("sweep", SHAPES, "optimizer.lr=choice(1e25)", "train.on_divergence=continue", *SMALL[:-1], "eval/loss", "--dir", folder / "s", check=False)
    assert "trial 0 failed: eval/loss was never finite" in done.stdout, done.stdout + done.stderr


def a_trial_that_diverged_says_so(folder):
    done = run("sweep", SHAPES, "optimizer.lr=choice(1e30)", *SMALL, "--dir", folder / "s", check=False)
    assert "trial 0 failed: the loss is" in done.stdout, done.stdout + done.stderr


def an_edited_recipe_is_another_sweep(folder):
    file = folder / "recipe.toml"
    file.write_text(f'extends = "{SHAPES}"\n')
    command = ["sweep", file, "run.seed=range(0,1)", *SMALL, "--dir", folder / "s"]
    run(*command)
    file.write_text(f'extends = "{SHAPES}"\n# a comment changes nothing\n')
    run(*command)
    file.write_text(f'extends = "{SHAPES}"\n[optimizer]\nlr = 0.5\n')
    done = run(*command, check=False)
    assert done.returncode == 2 and "the recipe has been changed since" in done.stderr, done.stderr


def mistakes_cost_no_trial(folder):
    for words in (["optimizer.lr=choice(0.1,-3)"], ["optimizer.lrr=choice(1,2)"], ["optimizer.lr=uniform(0.1,0.2)"], [],
                  ["optimizer.lr=choice(0.1"], ["optimizer.lr=choice(0.1)", "--search", "magic"],
                  ["optimizer.lr=choice(0.1)", "optimizer.lr=choice(0.2)"], ["optimizer.lr=choice(0.1)", "optimizer.lr=0.5"],
                  ["optimizer.lr=choice(0.1)", "run.dir=x"], ["run.dir=choice(a,b)"]):
        done = run("sweep", SHAPES, *words, *SMALL, "--dir", folder / "s", check=False)
        assert done.returncode == 2 and "error" in done.stderr, (words, done)
    fixed = folder / "fixed.toml"
    for setting, told in (("run.dir = 'x'", "run.dir cannot be set"), ("checkpoint.resume = 'never'", "checkpoint.resume cannot be set")):
        fixed.write_text(f"extends = '{SHAPES.absolute()}'\n{setting}\n")
        done = run("sweep", fixed, "optimizer.lr=choice(0.1)", *SMALL, "--dir", folder / "s", check=False)
        assert done.returncode == 2 and told in done.stderr, (setting, done)
    assert not (folder / "s/trials").exists()
    run("sweep", SHAPES, "run.seed=range(0,1)", *SMALL, "--dir", folder / "s")
    other = run("sweep", SHAPES, "run.seed=range(0,2)", *SMALL, "--dir", folder / "s", check=False)
    assert other.returncode == 2 and "holds another sweep" in other.stderr, other.stderr
    assert '["run.seed=range(0,1)"], and here it is ["run.seed=range(0,2)"]' in other.stderr, other.stderr
    whole = run("sweep", SHAPES, "loader.batch_size=uniform(16,64)", "--samples", 2, "--dir", folder / "t", check=False)
    assert whole.returncode == 2 and "must be an integer" in whole.stderr and "range(low, high)" in whole.stderr, whole.stderr
    both = run("sweep", SHAPES, "run.seed=range(0,1)", *SMALL, "--halving", "--no-halving", "--dir", folder / "t", check=False)
    assert both.returncode == 2 and "contradict" in both.stderr, both.stderr


def killed_and_started_again_it_repeats_no_finished_trial(folder):
    command = ["sweep", SHAPES, "run.seed=range(0,4)", *SMALL, "--dir", folder / "s"]
    journal = folder / "s/trials.jsonl"
    ended = lambda: journal.exists() and sum('"outcome"' in line for line in journal.read_text().splitlines())
    process = subprocess.Popen([RUNNER, *map(str, command)], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: ended() and (folder / "s/trials/0001").exists(), process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    first = (folder / "s/trials/0000/model.safetensors").stat()
    run(*command)
    outcomes = [event["trial"] for event in events(folder / "s") if "outcome" in event]
    assert sorted(outcomes) == [0, 1, 2, 3], outcomes
    assert (folder / "s/trials/0000/model.safetensors").stat().st_mtime_ns == first.st_mtime_ns, "a finished trial was run again"
    before = journal.read_text()
    run(*command)
    assert journal.read_text() == before


def an_unfinished_trial_goes_on_from_its_checkpoint(folder):
    command = ["sweep", SHAPES, "run.seed=range(0,1)", *SMALL, "~train.epochs", "train.max_steps=300", "train.log_every=1step", "--dir", folder / "s"]
    process = subprocess.Popen([RUNNER, *map(str, command)], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    metrics = folder / "s/trials/0000/metrics.jsonl"
    wait_until(lambda: metrics.exists() and metrics.read_text().count("\n") > 20, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    run(*command)
    said = (folder / "s/trials/0000.log").read_text()
    assert "resumed from" in said, said
    steps = [json.loads(line)["step"] for line in metrics.read_text().splitlines() if "train/loss" in line]
    assert steps == list(range(1, 301)), "each step once"


def kill_when(condition, command):
    process = subprocess.Popen([RUNNER, *map(str, command)], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(condition, process)
    process.send_signal(signal.SIGKILL)
    process.wait()


def killed_at_any_moment_every_trial_comes_to_its_end(folder):
    def lines(file):
        return file.read_text().count("\n") if file.exists() else 0

    moments = {"the first trial is noted": lambda s: lines(s / "trials.jsonl") > 0,
               "it has its folder": lambda s: (s / "trials/0000/recipe.toml").exists(),
               "two have logged something": lambda s: lines(s / "trials/0000/metrics.jsonl") > 0 and lines(s / "trials/0001/metrics.jsonl") > 0,
               "one has a checkpoint": lambda s: any((s / "trials/0000/checkpoints").glob("step-*"))}
    for number, (moment, condition) in enumerate(moments.items()):
        sweep = folder / f"s{number}"
        command = ["sweep", SHAPES, "optimizer.lr=choice(0.003,1e-12,1e-11)", *SMALL, "train.epochs=9", "--halving", "--dir", sweep]
        kill_when(lambda: condition(sweep), [*command, "-j", 2])
        again = run(*command, "-j", 1)  # with other threads a trial would be another run; each keeps its own
        found = outcomes(sweep)
        assert sorted(found) == [0, 1, 2] and "failed" not in found.values(), (moment, found, again.stdout)
        assert events(sweep)[0]["threads"] == max(1, len(os.sched_getaffinity(0)) // 2), events(sweep)


def ctrl_c_leaves_trials_to_go_on_with(folder):
    command = ["sweep", SHAPES, "run.seed=range(0,2)", *SMALL, "train.epochs=500", "eval.every=500ep", "--dir", folder / "s"]
    process = subprocess.Popen([RUNNER, *map(str, command)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    metrics = folder / "s/trials/0000/metrics.jsonl"
    wait_until(lambda: metrics.exists() and metrics.stat().st_size > 0, process)
    process.send_signal(signal.SIGUSR1)  # a request for a checkpoint, which a sweep does not pass on
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130 and "run the same command again to continue" in said, (process.returncode, said)
    assert not [event for event in events(folder / "s") if "outcome" in event]


def hopeless_trials_are_stopped_early(folder):
    # The first finds its way; the others, whose learning rate is nothing, never get better than chance.
    run("sweep", SHAPES, "optimizer.lr=choice(0.003,1e-12,1e-11,1e-10)", "dataset.train=640", "dataset.eval=200", "loader.batch_size=32",
        "train.epochs=9", "--metric", "eval/loss", "--mode", "min", "--halving", "--dir", folder / "s")
    outcomes = {event["trial"]: event["outcome"] for event in events(folder / "s") if "outcome" in event}
    assert outcomes[0] == "finished", outcomes
    assert sum(outcome == "stopped early" for outcome in outcomes.values()) >= 2, outcomes


def a_recipe_can_say_what_to_try(folder):
    file = folder / "recipe.toml"
    file.write_text(f'extends = "{SHAPES}"\n[sweep]\nover = ["optimizer.lr=log_uniform(1e-4, 1e-2)"]\nsearch = "random"\nsamples = 2\n'
                    "halving = true\n")
    run("sweep", file, *SMALL, "--no-halving", "--dir", folder / "s")
    told = json.loads((folder / "s/sweep.json").read_text())
    assert told["search"] == "random" and told["halving"] is False, told  # an option wins over the recipe
    rates = [event["point"][0] for event in events(folder / "s") if "point" in event]
    assert len(rates) == 2 and all(1e-4 <= rate <= 1e-2 for rate in rates) and rates[0] != rates[1], rates
    run(file, "dataset.train=64", "dataset.eval=64", "train.max_steps=1", f"run.dir={folder}/run")  # a run by itself is one run


def trials_run_on_several_ranks(folder):
    command = ["sweep", SHAPES, "run.seed=range(0,2)", *SMALL, "--dir", folder / "s"]
    run(*command, "--ranks", 2, "-j", 2)
    assert outcomes(folder / "s") == {0: "finished", 1: "finished"}
    for number in (0, 1):
        assert (folder / f"s/trials/{number:04}/ranks").is_dir(), "one rank wrote no output of its own"
    assert events(folder / "s")[0]["threads"] == max(1, len(os.sched_getaffinity(0)) // 4), events(folder / "s")
    same = ["dataset.train=64", "dataset.eval=64", "loader.batch_size=32", "train.epochs=2", "run.seed=1", "checkpoint.best={metric=\"eval/accuracy\"}"]
    run("launch", "-n", 2, SHAPES, *same, "run.threads=1", f"run.dir={folder}/alone")
    assert series(folder / "alone", "eval/loss") == series(folder / "s/trials/0001", "eval/loss"), "the same run by itself"
    other = run(*command, check=False)
    assert other.returncode == 2 and "its number of ranks is 2, and here it is 1" in other.stderr, other.stderr
    many = run("sweep", SHAPES, "run.seed=range(0,2)", *SMALL, "--ranks", 20, "-j", 100, "--dir", folder / "t", check=False)
    assert many.returncode == 2 and "2000 ranks on a machine with" in many.stderr, many.stderr


def a_killed_trial_of_several_ranks_goes_on_from_its_checkpoint(folder):
    command = ["sweep", SHAPES, "run.seed=range(0,1)", *SMALL, "~train.epochs", "train.max_steps=200", "train.log_every=1step", "-n", 2,
               "--dir", folder / "s"]
    metrics = folder / "s/trials/0000/metrics.jsonl"
    kill_when(lambda: metrics.exists() and metrics.read_text().count("\n") > 20, command)
    run(*command)
    assert outcomes(folder / "s") == {0: "finished"}, outcomes(folder / "s")
    assert "resumed from" in (folder / "s/trials/0000.log").read_text()
    steps = [record["step"] for record in records(folder / "s/trials/0000") if "train/loss" in record]
    assert steps == list(range(1, 201)), "each step once"


def a_trial_that_fails_on_one_rank_says_why(folder):
    missing = folder / "nothing.safetensors"
    done = run("sweep", SHAPES, f"model.weights=choice({missing})", *SMALL, "--ranks", 2, "--dir", folder / "s", check=False)
    assert done.returncode == 1 and "trial 0 failed: " in done.stdout and "nothing.safetensors" in done.stdout, done.stdout


def a_trial_that_fails_again_says_why_it_did_this_time(folder):
    missing = folder / "nothing.safetensors"
    command = ["sweep", SHAPES, f"model.weights=choice({missing})", *SMALL, "train.epochs=500", "eval.every=500ep", "--dir", folder / "s"]
    assert "nothing.safetensors" in run(*command, check=False).stdout
    run(SHAPES, "dataset.train=64", "dataset.eval=64", "train.max_steps=1", f"run.dir={folder}/run")
    (folder / "run/model.safetensors").rename(missing)
    process = subprocess.Popen([RUNNER, *map(str, command), "--retry-failed"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    metrics = folder / "s/trials/0000/metrics.jsonl"
    wait_until(lambda: metrics.exists() and metrics.stat().st_size > 0, process)
    os.kill(int((folder / "s/trials/0000/.lock").read_text().split()[0]), signal.SIGKILL)  # as if there were too little memory
    said, _ = process.communicate(timeout=300)
    assert "trial 0 failed: ended by signal 9" in said, said


def it_ends_even_if_its_parent_ignores_the_end_of_processes(folder):
    run("sweep", SHAPES, "run.seed=range(0,1)", *SMALL, "--dir", folder / "s", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert outcomes(folder / "s") == {0: "finished"}, outcomes(folder / "s")


def a_folder_may_have_a_name_like_a_reference(folder):
    run("sweep", SHAPES, "run.seed=range(0,1)", *SMALL, "--dir", folder / "${x}")
    assert outcomes(folder / "${x}") == {0: "finished"}, outcomes(folder / "${x}")
    run("resume", folder / "${x}/trials/0000", "train.epochs=3")


if __name__ == "__main__":
    main([a_grid_tries_everything_and_says_what_was_best, failed_trials_are_listed_and_run_again_only_on_request, mistakes_cost_no_trial,
          a_trial_whose_metric_was_never_a_number_says_so, a_trial_that_diverged_says_so, an_edited_recipe_is_another_sweep, killed_at_any_moment_every_trial_comes_to_its_end,
          killed_and_started_again_it_repeats_no_finished_trial,
          an_unfinished_trial_goes_on_from_its_checkpoint, ctrl_c_leaves_trials_to_go_on_with, hopeless_trials_are_stopped_early,
          a_recipe_can_say_what_to_try, trials_run_on_several_ranks, a_killed_trial_of_several_ranks_goes_on_from_its_checkpoint,
          a_trial_that_fails_on_one_rank_says_why, a_trial_that_fails_again_says_why_it_did_this_time,
          it_ends_even_if_its_parent_ignores_the_end_of_processes, a_folder_may_have_a_name_like_a_reference])
