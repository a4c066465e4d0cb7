"""`runner new --task`: looks at files of the user's own and writes a recipe that runs as it is."""

import numpy
from PIL import Image

from run_helpers import main, records, run


def tried(folder, task, data, note=""):
    recipe = folder / "recipe.toml"
    made = run("new", "--task", task, data, "-o", recipe, "-f")
    # Which columns were chosen is always said.
    said = "".join(line + "\n" for line in made.stderr.splitlines() if not line.endswith("=NAME"))
    assert note in said if note else said == "", said
    run("check", "--deep", recipe)
    left = folder / f"run of {data.name}"
    run(recipe, "train.max_steps=3", f"run.dir={left}")
    assert records(left)[-1]["step"] == 3
    return recipe.read_text()


def images(folder):
    numbers = numpy.random.default_rng(0)
    for kind in ("cat", "dog"):
        (folder / "photos" / kind).mkdir(parents=True)
        for i in range(12):
            size = (40 + i, 32)
            Image.fromarray(numbers.integers(0, 256, (size[1], size[0], 3), dtype="uint8")).save(folder / "photos" / kind / f"{i}.png")
    assert "photos" in tried(folder, "images", folder / "photos")


def images_behind_links_one_broken_and_another_model(folder):
    """What is set for the model of the template is not set for another."""
    images(folder)
    (folder / "linked").mkdir()
    for kind in ("cat", "dog"):
        (folder / "linked" / kind).symlink_to(folder / "photos" / kind)
    (folder / "photos/cat/0.png").write_bytes(b"")
    recipe = folder / "linked.toml"
    run("new", "--task", "images", folder / "linked", "model=simple_cnn", "loader.on_error=skip", "-o", recipe)
    run("check", "--deep", recipe)
    (folder / "book.txt").write_text("To be, or not to be, that is the question.\n" * 300)
    run("new", "--task", "language-model", folder / "book.txt", "--model", "lstm", "-o", folder / "book.toml")
    run("check", "--deep", folder / "book.toml")


def text(folder):
    lines = ["text,label"] + [f"this is sentence {i} and it is {'good' if i % 2 else 'bad'},{'pos' if i % 2 else 'neg'}" for i in range(60)]
    (folder / "said.csv").write_text("\n".join(lines) + "\n")
    tried(folder, "text", folder / "said.csv")


def table(folder):
    rows = ["age;city;price"] + [f"{20 + i % 50};{'Rome' if i % 3 else 'Oslo'};{1000 + 7 * i}" for i in range(120)]
    (folder / "prices.csv").write_text("\n".join(rows) + "\n")
    tried(folder, "table", folder / "prices.csv")


def row_numbers_that_pandas_wrote_are_ignored(folder):
    rows = [",age,buys"] + [f"{i},{20 + i * 7 % 50},{'yes' if i < 30 else 'no'}" for i in range(60)]
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    assert 'ignore = [""]' in tried(folder, "table", folder / "people.csv")
    said = run("check", "--deep", folder / "recipe.toml", "dataset.ignore=[]").stderr
    assert 'column "" counts the rows' in said, said
    assert "counts the rows" not in run("check", "--deep", folder / "recipe.toml", 'dataset.ignore=[]', 'dataset.numeric=[""]').stderr


def all_row_numbers_are_ignored_if_pandas_wrote_the_table_twice(folder):
    rows = ["Unnamed: 0.1,Unnamed: 0,,age,buys"] + [f"{i},{i},{i},{20 + i * 7 % 50},{'yes' if i < 30 else 'no'}" for i in range(60)]
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    made = run("new", "--task", "table", folder / "people.csv").stdout
    assert 'ignore = ["Unnamed: 0.1", "Unnamed: 0", ""]' in made, made


def text_with_tabs_and_semicolons(folder):
    for name, separator in (("said.txt", "\t"), ("said.csv", ";")):
        lines = [f"text{separator}label"] + [f"sentence {i}, and it is {'good' if i % 2 else 'bad'}{separator}{i % 2}" for i in range(60)]
        (folder / name).write_text("\n".join(lines) + "\n")
        tried(folder, "text", folder / name)


def text_in_files_that_differ_in_their_endings(folder):
    """As of the movie reviews by Pang and Lee, rt-polarity.neg and .pos, which are Latin-1, too."""
    data = folder / "reviews"
    data.mkdir()
    for kind in ("neg", "pos"):
        (data / f"reviews.{kind}").write_bytes("".join(f"a {kind} clich\u00e9 {i}\n" for i in range(40)).encode("latin1"))
    recipe = tried(folder, "text", data)
    assert "reviews.neg" in recipe and "latin-1" in recipe, recipe


def table_without_header_with_decimal_commas(folder):
    rows = [f"0,{i};{i % 7},5;{30 + 3 * i},25" for i in range(100)]
    (folder / "numbers.csv").write_text("\n".join(rows) + "\n")
    recipe = tried(folder, "table", folder / "numbers.csv", note="numbers.csv is taken as data")
    assert 'decimal = ","' in recipe and '"column3"' in recipe and "column4" not in recipe, recipe


def images_in_folders_for_training_and_validation(folder):
    """They are not taken for two classes, under any of their usual names."""
    images(folder)
    for train, eval in (("Train", "Test"), ("training", "validation")):
        for part in (train, eval):
            (folder / f"data {train}").mkdir(exist_ok=True)
            (folder / f"data {train}" / part).symlink_to(folder / "photos")
        recipe = tried(folder, "images", folder / f"data {train}")
        assert f'train = "{train}"' in recipe and f'eval = "{eval}"' in recipe, recipe


def table_with_numbers_as_names_and_a_separator_at_the_end(folder):
    rows = ["0,1,price,"] + [f"{20 + i % 50},{'Rome' if i % 3 else 'Oslo'},{i % 5}.37," for i in range(60)]
    (folder / "prices.csv").write_text("\n".join(rows) + "\n")
    recipe = tried(folder, "table", folder / "prices.csv")
    assert 'target = "price"' in recipe and 'task = "regression"' in recipe and "column1" not in recipe, recipe


def a_guess_that_does_not_fit_is_told(folder):
    rows = ["length,width,kind"] + [f"5.{i},3.{i},{i % 3}" for i in range(60)] + ["5.1,3.1"]
    (folder / "iris.csv").write_text("\n".join(rows) + "\n")
    done = run("new", "--task", "table", folder / "iris.csv", "-o", folder / "recipe.toml")
    assert "does not fit the data yet" in done.stderr and "iris.csv:62" in done.stderr and "check --deep" in done.stderr, done


def language_model(folder):
    (folder / "book.txt").write_text("To be, or not to be, that is the question.\n" * 300)
    tried(folder, "language-model", folder / "book.txt")


def what_is_not_there_is_said(folder):
    (folder / "empty").mkdir()
    for task, data in (("images", folder / "empty"), ("images", folder / "nowhere"), ("table", folder / "nowhere.csv"),
                       ("language-model", folder / "empty"), ("poems", folder / "empty")):
        done = run("new", "--task", task, data, "-o", folder / "recipe.toml", check=False)
        assert done.returncode != 0 and len(done.stderr) > 20 and "terminate" not in done.stderr, (task, done)
        assert not (folder / "recipe.toml").exists()


main([images, images_in_folders_for_training_and_validation, table_with_numbers_as_names_and_a_separator_at_the_end, images_behind_links_one_broken_and_another_model, row_numbers_that_pandas_wrote_are_ignored,
      all_row_numbers_are_ignored_if_pandas_wrote_the_table_twice, text, text_with_tabs_and_semicolons, text_in_files_that_differ_in_their_endings, table,
      table_without_header_with_decimal_commas, a_guess_that_does_not_fit_is_told, language_model, what_is_not_there_is_said])
