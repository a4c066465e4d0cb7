"""Recipes that try to hurt, and models that no machine holds."""

import json
import os

from hostile_files import hostile, recipe


SHAPES = '''
model = "simple_cnn"
dataset = "shapes"
loss = "cross_entropy"
optimizer = { name = "sgd", lr = 0.1 }
train = { max_steps = 1 }
'''


@hostile("16 MB")
def recipe_that_refers_to_a_long_list(folder):
    values = ",".join(["1"] * 300_000)
    return ["check", recipe(folder, f"a = [{values}]\n" + "".join(f'b{i} = "${{a}}"\n' for i in range(1000)) + SHAPES)]


@hostile("not set")
def recipe_with_unknown_references(folder):
    keys = "".join(f"key_number_{i} = {i}\n" for i in range(200_000))
    return ["check", recipe(folder, "".join(f'b{i} = "${{t.nothing_{i}}}"\n' for i in range(200)) + SHAPES + "[t]\n" + keys)]


@hostile("16 MB")
def recipe_with_exponential_references(folder):
    lines = 'a0 = "xxxxxxxxxx"\n' + "".join(f'a{i} = "{f"${{a{i - 1}}}" * 10}"\n' for i in range(1, 20))
    return ["check", recipe(folder, lines + SHAPES)]


@hostile("8 MB in all")
def recipe_that_extends_a_large_base_often(folder):
    recipe(folder, "".join(f"k{i} = 1\n" for i in range(400_000)), "base.toml")
    names = []
    for i in range(100):
        recipe(folder, 'extends = "base.toml"\n', f"middle{i}.toml")
        names.append(f"middle{i}.toml")
    return ["check", recipe(folder, f"extends = {json.dumps(names)}\n" + SHAPES)]


@hostile("not a regular file")
def recipe_that_is_a_pipe(folder):
    os.mkfifo(folder / "recipe.toml")
    return ["check", folder / "recipe.toml"]


@hostile("not a regular file")
def recipe_that_extends_a_pipe(folder):
    os.mkfifo(folder / "pipe.toml")
    return ["check", recipe(folder, 'extends = "pipe.toml"\n' + SHAPES)]


@hostile("has no")
def recipe_with_escapes(folder):
    return ["check", recipe(folder, SHAPES + '"\\u001b]0;owned\\u0007" = "\\u001b[31m"\n')]


@hostile("has no")
def recipe_with_long_names(folder):
    return ["check", recipe(folder, SHAPES + "k" * 5_000_000 + " = 1\n")]


LLAMA = '''
model = { name = "llama", layers = 2, heads = 8, width = 64, vocabulary = 256 }
dataset = { name = "text", file = "generated", tokenizer = "byte", length = 64 }
loss = "lm_cross_entropy"
optimizer = { name = "adamw", lr = 0.001 }
train = { max_steps = 1 }
'''


def llama(folder, command, *settings):
    (folder / "text.txt").write_text("To be, or not to be. " * 200)
    text = LLAMA.replace('"generated"', json.dumps(str(folder / "text.txt")))
    return [*command, recipe(folder, text), *settings, f"run.dir={folder / 'run'}"]


@hostile("must be 1 to 4096")
def estimate_of_endless_layers(folder):
    return llama(folder, ["estimate"], "model.layers=2147483648")


@hostile("must be 1 to 4096")
def deep_check_of_endless_layers(folder):
    return llama(folder, ["check", "--deep"], "model.layers=2147483648")


@hostile("must be 1 to 4096")
def run_of_endless_layers(folder):
    return llama(folder, ["run"], "model.layers=2147483648")


@hostile("100000 parameters and buffers")
def estimate_of_very_many_layers(folder):
    hidden = ",".join(["1"] * 100_000)
    made = recipe(folder, f'''
model = {{ name = "mlp", hidden = [{hidden}] }}
dataset = {{ name = "synthetic", train = 8, eval = 8 }}
loss = "cross_entropy"
optimizer = {{ name = "sgd", lr = 0.1 }}
train = {{ max_steps = 1 }}
''')
    return ["estimate", made]


@hostile("of memory")
def run_of_70_billion_parameters(folder):
    return llama(folder, ["run"], "model.layers=80", "model.heads=64", "model.width=8192", "model.vocabulary=128256")
