"""The TPE search of `runner sweep` against Optuna's default sampler, on functions whose minimum is known.

Every seed is fixed, so that the outcome is the same each time. What Optuna finds is recorded here; RUNNER_THOROUGH=1 asks Optuna itself.
"""

import math
import os
import statistics
import subprocess
import sys

from run_helpers import SKIPPED, THOROUGH

if THOROUGH:
    try:
        import optuna
    except ImportError:
        print("skipped: Optuna is not installed; scripts/setup.sh --tests does it")
        sys.exit(SKIPPED)

TOOL = os.path.join(os.environ.get("RUNNER_BINARY_DIR", "build/release"), "bin/search")
SEEDS, SAMPLES = 25, 60
RANDOM_SEEDS = SEEDS if THOROUGH else 12

# The least value that Optuna 5.0.0 finds with the seeds 0 to 24.
RECORDED = {
    "training": [
        0.305326, 0.0689143, 0.0358764, 0.00867064, 0.0304589, 0.00129, 0.0253622, 0.124444, 0.0200871, 0.00313031, 0.0817005,
        0.343707, 0.0478174, 0.114447, 0.00585707, 0.0397058, 0.0778457, 0.00233493, 0.00309714, 0.000750724, 0.0394717,
        0.388499, 0.60655, 0.000346937, 0.0227246],
    "branin": [
        0.493986, 0.417087, 0.419572, 0.435196, 0.415805, 0.536348, 0.861796, 0.540454, 0.405996, 0.642532, 0.403095,
        0.491018, 0.431862, 0.567714, 0.873366, 0.401119, 0.579069, 0.520772, 0.66209, 0.43358, 0.954638, 0.462293, 0.40447,
        0.522193, 1.21104],
}


def training(rate, momentum, layers, activation):
    """Like tuning a network: a narrow valley in the learning rate, a weaker one in the others. At best 0."""
    return ((math.log10(rate) + 2.5) ** 2 + 4 * (momentum - 0.7) ** 2 + 0.1 * abs(layers - 5)
            + {"relu": 0, "tanh": 0.3, "sigmoid": 0.6}[activation])


def branin(x, y):
    """Three minima of 0.397887."""
    return ((y - 5.1 / (4 * math.pi ** 2) * x * x + 5 / math.pi * x - 6) ** 2
            + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


TRAINING_SPACE = ["rate=log_uniform(1e-5,1)", "momentum=uniform(0,1)", "layers=range(1,11)", "activation=choice(relu,tanh,sigmoid)"]
BRANIN_SPACE = ["x=uniform(-5,10)", "y=uniform(0,15)"]


def best_of_ours(how, seed, space, worth):
    process = subprocess.Popen([TOOL, how, str(seed), str(SAMPLES), *space], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    best = math.inf
    for line in process.stdout:
        value = worth(line.split())
        best = min(best, value)
        print(value, file=process.stdin, flush=True)
    process.stdin.close()
    assert process.wait() == 0
    return best


def best_of_optuna(name, seed, objective):
    if not THOROUGH:
        return RECORDED[name][seed]
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=SAMPLES)
    return study.best_value


def training_of_trial(trial):
    return training(trial.suggest_float("rate", 1e-5, 1, log=True), trial.suggest_float("momentum", 0, 1),
                    trial.suggest_int("layers", 1, 10), trial.suggest_categorical("activation", ["relu", "tanh", "sigmoid"]))


def training_of_words(words):
    return training(float(words[0]), float(words[1]), int(words[2]), words[3])


def branin_of_trial(trial):
    return branin(trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15))


def branin_of_words(words):
    return branin(*map(float, words))


def better_share(ours, theirs):
    """How often one of ours is the better of a pair: half the time where both are as good."""
    return sum((a < b) + 0.5 * (a == b) for a in ours for b in theirs) / (len(ours) * len(theirs))


def main():
    if THOROUGH:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
    cases = [("training", TRAINING_SPACE, training_of_words, training_of_trial, 0.0),
             ("branin", BRANIN_SPACE, branin_of_words, branin_of_trial, 0.397887)]
    against_optuna = []
    for name, space, of_words, of_trial, least in cases:
        found = {"tpe": [best_of_ours("tpe", seed, space, of_words) - least for seed in range(SEEDS)],
                 "random": [best_of_ours("random", seed, space, of_words) - least for seed in range(RANDOM_SEEDS)],
                 "optuna": [best_of_optuna(name, seed, of_trial) - least for seed in range(SEEDS)]}
        medians = {how: round(statistics.median(values), 4) for how, values in found.items()}
        print(f"{name}: distance of the best of {SAMPLES} from the minimum, median over the seeds: {medians}", flush=True)
        against_optuna.append(better_share(found["tpe"], found["optuna"]))
        against_random = better_share(found["tpe"], found["random"])
        print(f"{name}: better than chance in {against_random:.2f} of the pairs", flush=True)
        assert against_random > 0.7, (name, "no better than chance", against_random)
    print(f"better than Optuna in {[round(share, 2) for share in against_optuna]} of the pairs")
    # 0.5 means as good. With 150 seeds each the shares were 0.54 and 0.52. Another choice of 25 seeds moves the mean over both functions by
    # 0.06 (one standard deviation): 0.35 is clearly worse, and not a different rounding of a logarithm on another machine.
    assert statistics.mean(against_optuna) > 0.35, against_optuna


if __name__ == "__main__":
    main()
