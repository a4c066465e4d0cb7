"""Every shipped recipe, shortened: it checks, it fits, it trains and evaluates."""

import os

from run_helpers import DATA, SOURCE, Skip, main, run, series

RECIPES = SOURCE / "recipes"
SHORT = ["train.max_steps=2", "loader.batch_size=8", "loader.eval_batch_size=100"]
FASHION = "/usr/share/datasets/fashion-mnist"


def needs(path):
    if DATA and os.path.exists(os.path.join(DATA, path)):
        return os.path.join(DATA, path)
    raise Skip(f"{path} is not in RUNNER_TEST_DATA")


def every_recipe_is_right(_):
    for recipe in sorted(RECIPES.glob("*.toml")):
        run("check", recipe)
        head = recipe.read_text().split("\n\n")[0]
        assert head.startswith("#") and "Needs:" in recipe.read_text() and "Run:" in recipe.read_text(), recipe


def shapes(folder):
    run(RECIPES / "shapes.toml", *SHORT, "dataset.eval=100", f"run.dir={folder}/run")
    assert series(folder / "run", "eval/accuracy")


def cifar10_without_the_data_says_so(folder):
    done = run(RECIPES / "cifar10.toml", *SHORT, "dataset.download=false", f"dataset.dir={folder}/nothing",
               "dataset.fallback.eval=100", "dataset.fallback.train=100", "model=simple_cnn", f"run.dir={folder}/run")
    assert "STAND-IN" in done.stderr and "STAND-IN" in done.stdout, done.stderr
    assert (folder / "run/STAND-IN-DATA.txt").exists()
    done = run(RECIPES / "cifar10.toml", "~dataset.fallback", "dataset.download=false", f"dataset.dir={folder}/nothing",
               f"run.dir={folder}/none", check=False)
    assert done.returncode == 2 and "data_batch_1.bin" in done.stderr, done.stderr
    assert not (folder / "none").exists()


def cifar10(folder):
    data = needs("cifar-10-batches-bin")
    run("run", "--dry-run", RECIPES / "cifar10.toml", "loader.batch_size=8", "loader.eval_batch_size=8",
        f"dataset.dir={data}", cwd=folder)


def cifar10_simple_cnn(folder):
    data = needs("cifar-10-batches-bin")
    run(RECIPES / "cifar10_simple_cnn.toml", *SHORT, f"dataset.dir={data}", f"run.dir={folder}/run")


def the_trained_resnet20_is_as_good_here(folder):
    data, weights = needs("cifar-10-batches-bin"), needs("resnet20-cifar10")
    run(RECIPES / "cifar10_resnet20_eval.toml", f"dataset.dir={data}",
        f"model.weights={weights}/resnet20-12fca82f.th", f"run.dir={folder}/run")
    assert series(folder / "run", "eval/accuracy") == [0.9173], series(folder / "run", "eval/accuracy")


def fashion_mnist(folder):
    if not os.path.isdir(FASHION):
        raise Skip("dataset-fashion-mnist is not installed")
    run(RECIPES / "fashion_mnist.toml", *SHORT, "loader.eval_batch_size=1000", f"run.dir={folder}/run")


def sign_digits(folder):
    data = needs("sign-digits")
    run(RECIPES / "sign_digits.toml", *SHORT, "scheduler.warmup=0step", f"dataset.dir={data}", f"run.dir={folder}/run")
    assert series(folder / "run", "eval/accuracy")


def adult_tabular(folder):
    data = needs("adult")
    run(RECIPES / "adult_tabular.toml", f"dataset.train={data}/adult.data", f"dataset.eval={data}/adult.test",
        "train.epochs=1", "run.threads=1", f"run.dir={folder}/run")
    assert series(folder / "run", "eval/accuracy")[-1] > 0.84, series(folder / "run", "eval/accuracy")


def finetune_resnet20(folder):
    data, weights = needs("sign-digits"), needs("resnet20-cifar10")
    run(RECIPES / "finetune_resnet20.toml", *SHORT, "scheduler.warmup=0step", f"dataset.dir={data}",
        f"model.weights={weights}/resnet20-12fca82f.th", f"run.dir={folder}/run")
    assert series(folder / "run", "eval/accuracy")


def autoencoder(folder):
    run(RECIPES / "autoencoder.toml", "train.max_steps=120", "dataset.eval=100", "loader.batch_size=16", "run.threads=1",
        f"run.dir={folder}/run")
    assert series(folder / "run", "eval/loss")[-1] < 0.9, series(folder / "run", "eval/loss")


def distillation(folder):
    data, weights = needs("cifar-10-batches-bin"), needs("resnet20-cifar10")
    run("run", "--dry-run", RECIPES / "distillation.toml", "loader.batch_size=8", "loader.eval_batch_size=8",
        f"dataset.dir={data}", f"loss.teacher.weights={weights}/resnet20-12fca82f.th", cwd=folder)


def shakespeare_gpt(folder):
    for name in ("generated", "real"):
        data = f"{folder}/nothing" if name == "generated" else needs("tinyshakespeare/input.txt")
        run(RECIPES / "shakespeare_gpt.toml", *SHORT, "scheduler.warmup=0step", "dataset.eval_limit=20",
            f"dataset.file={data}", f"run.dir={folder}/{name}")
        assert series(folder / name, "eval/perplexity")
        assert (folder / name / "STAND-IN-DATA.txt").exists() == (name == "generated")
        assert run("sample", folder / name, "--prompt", "the ", "--tokens", "20").stdout.startswith("the ")


def sentiment(folder):
    for name in ("generated", "real"):
        data = f"{folder}/nothing" if name == "generated" else needs("rt-polarity")
        run(RECIPES / "sentiment.toml", "train.epochs=1", "run.threads=1", f"run.dir={folder}/{name}",
            *(f"dataset.files.{label}={data}/rt-polarity.{label[:3]}" for label in ("negative", "positive")))
        assert series(folder / name, "eval/accuracy")[-1] > 0.6, series(folder / name, "eval/accuracy")
        assert (folder / name / "STAND-IN-DATA.txt").exists() == (name == "generated")
        told = run("predict", folder / name, "a film to remember").stdout
        assert "positive" in told or "negative" in told, told


if __name__ == "__main__":
    main([every_recipe_is_right, shapes, cifar10_without_the_data_says_so, cifar10, cifar10_simple_cnn,
          the_trained_resnet20_is_as_good_here, fashion_mnist, sign_digits,
          adult_tabular, finetune_resnet20, autoencoder, distillation, shakespeare_gpt, sentiment])
