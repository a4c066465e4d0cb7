"""Tokenizer files that try to hurt."""

import json

from hostile_files import ESCAPE, LONG, hostile, recipe


def tokenizer(folder, settings, text="To be, or not to be, that is the question. " * 200):
    (folder / "tokenizer.json").write_text(settings if isinstance(settings, str) else json.dumps(settings))
    (folder / "text.txt").write_text(text)
    made = recipe(folder, f'''
model = {{ name = "gpt", layers = 1, heads = 1, width = 8 }}
dataset = {{ name = "text", file = {json.dumps(str(folder / "text.txt"))}, length = 8, tokenizer = {{ name = "file", path = {json.dumps(str(folder / "tokenizer.json"))} }} }}
loss = "lm_cross_entropy"
optimizer = {{ name = "sgd", lr = 0.1 }}
train = {{ max_steps = 1 }}
run = {{ dir = {json.dumps(str(folder / "run"))} }}
''')
    return ["run", made]


VOCABULARY = {letter: number for number, letter in enumerate("abcdefghijklmnopqrstuvwxyz ,.TO[UNK]#")}
MODEL = {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##a": 2}, "unk_token": "[UNK]"}


def nested(kind, inner, depth=20_000):
    return f'{{"type":"Sequence","{kind}":[' * depth + inner + "]}" * depth


def with_part(key, text):
    return f'{{"model":{json.dumps(MODEL)},"{key}":{text}}}'


@hostile("nested more than")
def tokenizer_deep_normalizers(folder):
    return tokenizer(folder, with_part("normalizer", nested("normalizers", '{"type":"NFC"}')))


@hostile("nested more than")
def tokenizer_deep_pre_tokenizers(folder):
    return tokenizer(folder, with_part("pre_tokenizer", nested("pretokenizers", '{"type":"Digits"}')))


@hostile("nested more than")
def tokenizer_deep_decoders(folder):
    return tokenizer(folder, with_part("decoder", nested("decoders", '{"type":"Fuse"}')))


@hostile("nested more than")
def tokenizer_deep_processors(folder):
    return tokenizer(folder, with_part("post_processor", nested("processors", '{"type":"ByteLevel"}')))


@hostile("nested more than")
def tokenizer_deep_vocabulary(folder):
    return tokenizer(folder, '{"model":{"type":"BPE","merges":[],"vocab":' + '{"a":' * 20_000)


@hostile("nested more than")
def tokenizer_deep_merges(folder):
    return tokenizer(folder, '{"model":{"type":"BPE","vocab":{"a":0},"merges":' + "[" * 20_000)


@hostile("6000000 values")
def tokenizer_of_nothing(folder):
    return tokenizer(folder, '{"model":[' + "[]," * 30_000_000 + "[]]}")


@hostile("takes too long")
def tokenizer_catastrophic_expression(folder):
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    return tokenizer(folder, {"model": MODEL, "pre_tokenizer": split}, ("a" * 60 + "!") * 100)


@hostile("takes too long")
def tokenizer_slow_expression_for_many_texts(folder):
    """Each text takes a fraction of a second."""
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    (folder / "tokenizer.json").write_text(json.dumps({"model": MODEL, "pre_tokenizer": split}))
    (folder / "said.csv").write_text("text,label\n" + "".join(f"{'a' * 22}!,{i % 2}\n" for i in range(400)))
    made = recipe(folder, f'''
model = "text_mean"
dataset = {{ name = "text_classification", file = {json.dumps(str(folder / "said.csv"))}, text = "text", label = "label", split = 0.5, length = 8, tokenizer = {{ name = "file", path = {json.dumps(str(folder / "tokenizer.json"))} }} }}
loss = "cross_entropy"
optimizer = {{ name = "sgd", lr = 0.1 }}
train = {{ max_steps = 1 }}
run = {{ dir = {json.dumps(str(folder / "run"))} }}
''')
    return ["run", made]


@hostile("", accepted=True)
def tokenizer_100000_equal_added_tokens(folder):
    added = [{"id": 3, "content": "same", "special": False, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}]
    return tokenizer(folder, {"model": MODEL, "added_tokens": added * 100_000}, "same " * 20_000)


@hostile("32 times")
def tokenizer_replace_bomb(folder):
    steps = [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}] * 6
    return tokenizer(folder, {"model": MODEL, "normalizer": {"type": "Sequence", "normalizers": steps}}, "a" * 1000)


@hostile("64 bytes")
def tokenizer_prepend_bomb(folder):
    step = {"type": "Prepend", "prepend": "a" * 50_000_000}
    return tokenizer(folder, {"model": MODEL, "normalizer": step})


@hostile("32 times")
def tokenizer_metaspace_bomb(folder):
    steps = [{"type": "Metaspace", "replacement": "    ", "prepend_scheme": "never", "split": False}] * 60
    return tokenizer(folder, {"model": MODEL, "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}})


@hostile("max_input_chars_per_word")
def tokenizer_endless_words(folder):
    return tokenizer(folder, {"model": MODEL | {"max_input_chars_per_word": 10**9}}, "a" * 200_000)


@hostile("more than 100 normalizers")
def tokenizer_100000_steps(folder):
    steps = [{"type": "Lowercase"}] * 100_000
    return tokenizer(folder, {"model": MODEL, "normalizer": {"type": "Sequence", "normalizers": steps}})


@hostile("not supported")
def tokenizer_escapes_in_names(folder):
    return tokenizer(folder, {"model": MODEL | {"type": ESCAPE}})


@hostile("not supported")
def tokenizer_long_names(folder):
    return tokenizer(folder, {"model": MODEL | {LONG: 1}})


@hostile("the number")
def tokenizer_long_number(folder):
    return tokenizer(folder, {"model": MODEL | {"vocab": {"a": [LONG]}}})
