"""Small generators of files and settings that try to hurt: each writes what it needs into a folder and returns the
arguments that make the program read it, or a list of such commands. The program has to refuse every one of them, except where
only the text in a valid file is hostile (see test_hostile.py)."""

import gzip
import io
import json
import os
import pickle
import struct
import zipfile
import zlib

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x1b[31m"
LONG = "x" * 20_000_000

GENERATORS = []


def hostile(expected, accepted=False):
    """`expected` is a part of what is said: a case must not be refused for another reason."""
    def add(make):
        make.expected, make.accepted = expected, accepted
        GENERATORS.append(make)
        return make

    return add


def recipe(folder, text, name="recipe.toml"):
    path = folder / name
    path.write_text(text)
    return path


# Weights ------------------------------------------------------------------------------------------------------------


def weights(folder, file):
    """A run of a small model that starts from this file."""
    made = recipe(folder, f'''
model = {{ name = "mlp", hidden = [4], weights = {json.dumps(str(file))} }}
dataset = {{ name = "synthetic", train = 8, eval = 8 }}
loss = "cross_entropy"
optimizer = {{ name = "sgd", lr = 0.1 }}
train = {{ max_steps = 1 }}
run = {{ dir = {json.dumps(str(folder / "run"))} }}
''')
    return ["run", made]


def safetensors(folder, header, data=b""):
    file = folder / "hostile.safetensors"
    text = header if isinstance(header, bytes) else header.encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return weights(folder, file)


def entry(name, begin=0, end=0, shape="[0]"):
    return f'{json.dumps(name)}:{{"dtype":"F32","shape":{shape},"data_offsets":[{begin},{end}]}}'


@hostile("nested too deep")
def safetensors_deep_arrays(folder):
    return safetensors(folder, '{"a":{"shape":' + "[" * 100_000)


@hostile("no safetensors file has")
def safetensors_deep_objects(folder):
    return safetensors(folder, '{"a":' * 100_000)


@hostile("is not a string")
def safetensors_deep_metadata(folder):
    return safetensors(folder, '{"__metadata__":{"a":' + "[" * 100_000)


@hostile("500000 tensors")
def safetensors_large_header(folder):
    return safetensors(folder, "{" + ",".join(entry(f"t{i}") for i in range(1_600_000)) + "}")


@hostile("do not fit the model")
def safetensors_200000_tensors(folder):
    return safetensors(folder, "{" + ",".join(entry(f"t{i}") for i in range(200_000)) + "}")


@hostile("64 dimensions")
def safetensors_list_of_nothing(folder):
    return safetensors(folder, '{"a":{"dtype":"F32","shape":[' + "0," * 40_000_000 + "0]}}")


@hostile("100000 entries")
def safetensors_large_metadata(folder):
    return safetensors(folder, '{"__metadata__":{' + ",".join(f'"{i}":""' for i in range(5_000_000)) + "}}")


@hostile("do not fit the model")
def safetensors_escapes_in_names(folder):
    return safetensors(folder, "{" + entry(ESCAPE, 0, 4, "[1]") + "}", b"\0" * 4)


@hostile("do not fit the model")
def safetensors_long_name(folder):
    return safetensors(folder, "{" + entry(LONG, 0, 4, "[1]") + "}", b"\0" * 4)


@hostile("not valid JSON")
def safetensors_long_token(folder):
    return safetensors(folder, '{"a":' + "t" * 20_000_000 + "}")


@hostile("larger than any memory")
def safetensors_huge_shape(folder):
    return safetensors(folder, "{" + entry("a", 0, 8, "[4611686018427387904,4]") + "}", b"\0" * 8)


def torch_save(folder, payload, storages=()):
    file = folder / "hostile.pt"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("hostile/data.pkl", payload)
        for name, data in storages:
            archive.writestr(f"hostile/data/{name}", data)
        archive.writestr("hostile/version", "3\n")
    return weights(folder, file)


def tensor_pickle(sizes, strides, count):
    """{"a": torch._utils._rebuild_tensor_v2(storage, 0, sizes, strides, False, OrderedDict())}"""
    def number(value):
        return b"J" + struct.pack("<i", value) if -2**31 <= value < 2**31 else b"\x8a\x08" + struct.pack("<q", value)

    def numbers(values):
        return b"(" + b"".join(map(number, values)) + b"t"

    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value

    storage = b"(" + text(b"storage") + b"ctorch\nFloatStorage\n" + text(b"0") + text(b"cpu") + number(count) + b"tQ"
    call = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(0) + numbers(sizes) + numbers(strides)
    call += b"\x89" + b"ccollections\nOrderedDict\n)Rt" + b"R"
    return b"\x80\x02}" + text(b"a") + call + b"s."


@hostile("stores only")
def torch_save_stride_0(folder):
    return torch_save(folder, tensor_pickle([2**45], [0], 1), [("0", b"\0" * 4)])


@hostile("stores only")
def torch_save_several_strides_of_0(folder):
    return torch_save(folder, tensor_pickle([2**30, 2**30], [0, 0], 1), [("0", b"\0" * 4)])


@hostile("asks for")
def torch_save_that_calls(folder):
    class Call:
        def __reduce__(self):
            return os.system, (f"touch {folder}/owned",)

    return torch_save(folder, pickle.dumps({"a": Call()}, 2))


@hostile("asks for")
def torch_save_escapes_in_names(folder):
    module, name = ESCAPE.encode(), b"x" * 5_000_000
    return torch_save(folder, b"\x80\x02c" + module + b"\n" + name + b"\n.")


@hostile("no weights")
def torch_save_deep(folder):
    return torch_save(folder, b"\x80\x02" + b"]" * 500_000 + b"a" * 499_999 + b".")


@hostile("no weights")
def torch_save_nested_copies(folder):
    body = b"\x80\x02]q\x00"
    for level in range(1, 60):
        body += b"]" + b"(" + b"h" + bytes([level - 1]) + b"h" + bytes([level - 1]) + b"e" + b"q" + bytes([level])
    return torch_save(folder, body + b".")


@hostile("beside it")
def index_that_leads_out(folder):
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../../etc/passwd"}}))
    return weights(folder, folder)


@hostile("nested more than")
def index_deep(folder):
    (folder / "model.safetensors.index.json").write_text("[" * 1_000_000)
    return weights(folder, folder)


@hostile("nested more than")
def config_deep(folder):
    (folder / "config.json").write_text('{"model_type":' + '{"a":' * 500_000)
    return safetensors(folder, "{" + entry("a", 0, 4, "[1]") + "}", b"\0" * 4)


def torchscript(folder, records, first=b""):
    file = folder / "hostile.pt"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {"version": b"3\n", "byteorder": b"little", "data.pkl": b"\x80\x02}.", **records}.items():
            archive.writestr(f"hostile/{name}", content)
    file.write_bytes(first + file.read_bytes()[len(first):])
    made = recipe(folder, f'''
model = {{ name = "torchscript", file = "hostile.pt" }}
dataset = {{ name = "synthetic", train = 8, eval = 8 }}
loss = "cross_entropy"
optimizer = {{ name = "sgd", lr = 0.1 }}
train = {{ max_steps = 1 }}
run = {{ dir = {json.dumps(str(folder / "run"))} }}
''')
    return [[*command, made] for command in (["run"], ["check", "--deep"], ["estimate"])]


@hostile("another format")
def torchscript_and_flatbuffer(folder):
    return torchscript(folder, {"code/__torch__.py": b"pass\n"}, b"PK\x03\x04PTMF")


@hostile("64 MB of code")
def torchscript_code_bomb(folder):
    return torchscript(folder, {"code/__torch__.py": b" " * (1 << 30)})


@hostile('"save"')
def torchscript_code_in_capitals(folder):
    return torchscript(folder, {"code/__torch__.PY": f'torch.save(x, "{folder}/owned")\n'.encode()})


@hostile("torch.jit.save")
def torchscript_damaged(folder):
    return torchscript(folder, {}, b"PK" + b"\x1b[2J" * 30)


# Tokenizers ---------------------------------------------------------------------------------------------------------


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
    added = [{"id": 3, "content": "same", "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}]
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


# Tables and other data ----------------------------------------------------------------------------------------------


def table(folder, text, target="y", more=""):
    (folder / "table.csv").write_text(text)
    made = recipe(folder, f'''
model = {{ name = "tabular", hidden = [4] }}
dataset = {{ name = "csv", train = {json.dumps(str(folder / "table.csv"))}, split = 0.5, target = {json.dumps(target)} {more} }}
loss = "cross_entropy"
optimizer = {{ name = "sgd", lr = 0.1 }}
train = {{ max_steps = 1 }}
run = {{ dir = {json.dumps(str(folder / "run"))} }}
''')
    return ["run", made]


@hostile("1000000 values")
def csv_commas_alone(folder):
    return table(folder, "," * 100_000_000)


@hostile("has no column")
def csv_100000_columns(folder):
    names = ",".join(f"c{i}" for i in range(100_000))
    row = ",".join(["1"] * 100_000)
    return table(folder, f"{names}\n{row}\n{row}\n", target="none of them")


@hostile("has no column")
def csv_escapes_in_header(folder):
    return table(folder, f"{ESCAPE},b\n1,2\n3,4\n")


@hostile("\\x1b")
def csv_escapes_in_cell(folder):
    rows = "".join(f"{i},{i % 2}\n" for i in range(100))
    return table(folder, f"x,y\n{rows}{ESCAPE},1\n")


@hostile("xxx..")
def csv_long_cell(folder):
    rows = "".join(f"{i},{i % 2}\n" for i in range(100))
    return table(folder, f"x,y\n{rows}{LONG},1\n")


@hostile("has no column")
def csv_long_header(folder):
    return table(folder, f"{LONG},b\n1,2\n3,4\n")


@hostile("UTF-8")
def csv_broken_utf8(folder):
    made = table(folder, "")
    (folder / "table.csv").write_bytes(b"x,y\n" + b"\xff\xfe\x1b[31m" * 1_000_000 + b",1\n")
    return made


def every_command(folder, made, row):
    """A run, and each command that shows what it left."""
    left = folder / "run"
    return [["check", "--deep", made], ["data", made], ["run", made], ["eval", left], ["predict", left, row], ["compare", left, left],
            ["runs", folder], ["checkpoints", left], ["report", left, "-o", folder / "report.html"]]


@hostile("", accepted=True)
def csv_hostile_text_that_is_valid(folder):
    """Names of columns and classes, values of categories: all of them may be any text."""
    names = [ESCAPE.replace("]", "}") + "a", "x" * 2_000_000]
    rows = "".join(f"{i},{names[i % 2]},{ESCAPE if i % 3 else 'b'}\n" for i in range(40))
    command, made = table(folder, f"{ESCAPE},y,{'c' * 100_000}\n{rows}")
    with open(made, "a") as file:
        file.write('eval = { metric = ["loss", "confusion_matrix"] }\ncheckpoint = { best = { metric = "eval/loss" } }\n')
    return every_command(folder, made, f"1,{ESCAPE}")


@hostile("", accepted=True)
def csv_100000_columns_that_are_valid(folder):
    names = ",".join(f"c{i}" for i in range(20_000))
    rows = "".join(",".join([str(i)] * 20_000) + f",{i % 2}\n" for i in range(8))
    command, made = table(folder, f"{names},y\n{rows}")
    return [["check", "--deep", made], ["data", made], ["run", made]]


@hostile("", accepted=True)
def image_folder_hostile_names(folder):
    picture = b"\x89PNG\r\n\x1a\n"
    for kind, body in ((b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(4 * 13))), (b"IEND", b"")):
        picture += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    for split in ("train", "val"):
        for name in (ESCAPE.replace("/", ""), "\u202egnp.b"):
            (folder / "images" / split / name).mkdir(parents=True)
            for i in range(4):
                (folder / "images" / split / name / f"{i}{ESCAPE}.png").write_bytes(picture)
    made = recipe(folder, f'''
model = {{ name = "mlp", hidden = [4] }}
dataset = {{ name = "image_folder", dir = {json.dumps(str(folder / "images"))}, transform = [{{ name = "resize", height = 4, width = 4 }}] }}
loss = "cross_entropy"
optimizer = {{ name = "sgd", lr = 0.1 }}
train = {{ max_steps = 1 }}
eval = {{ metric = ["loss", "confusion_matrix"] }}
run = {{ dir = {json.dumps(str(folder / "run"))} }}
''')
    picture_file = next((folder / "images/train").rglob("*.png"))
    return every_command(folder, made, picture_file)


@hostile("\\x1b")
def data_command_escapes_in_cell(folder):
    return ["data", csv_escapes_in_cell(folder)[1]]


@hostile("xxx..")
def deep_check_long_cell(folder):
    return ["check", "--deep", csv_long_cell(folder)[1]]


@hostile("hundred times")
def idx_gzip_bomb(folder):
    (folder / "images").mkdir()
    for name, shape in (("train-images", (8_000_000, 28, 28)), ("train-labels", (8_000_000,))):
        header = bytes([0, 0, 8, len(shape)]) + b"".join(struct.pack(">I", size) for size in shape)
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as out:
            out.write(header)
            for _ in range(300):
                out.write(bytes(1 << 20))
        (folder / "images" / f"{name}.gz").write_bytes(packed.getvalue())
    files = {f"{part}_{kind}": str(folder / "images" / f"train-{kind}.gz") for part in ("train", "eval") for kind in ("images", "labels")}
    settings = ", ".join(f"{key} = {json.dumps(value)}" for key, value in files.items())
    made = recipe(folder, f'''
model = {{ name = "mlp", hidden = [4] }}
dataset = {{ name = "idx", dir = {json.dumps(str(folder))}, {settings} }}
loss = "cross_entropy"
optimizer = {{ name = "sgd", lr = 0.1 }}
train = {{ max_steps = 1 }}
run = {{ dir = {json.dumps(str(folder / "run"))} }}
''')
    return ["run", made]


@hostile("limit of")
def sparse_image(folder):
    for split in ("train", "val"):
        for name in ("a", "b"):
            (folder / "images" / split / name).mkdir(parents=True)
            with open(folder / "images" / split / name / "1.png", "wb") as file:
                file.write(b"\x89PNG\r\n\x1a\n")
                file.truncate(3 << 30)
    made = recipe(folder, f'''
model = {{ name = "mlp", hidden = [4] }}
dataset = {{ name = "image_folder", dir = {json.dumps(str(folder / "images"))}, transform = [{{ name = "resize", height = 8, width = 8 }}] }}
loss = "cross_entropy"
optimizer = {{ name = "sgd", lr = 0.1 }}
train = {{ max_steps = 1 }}
run = {{ dir = {json.dumps(str(folder / "run"))} }}
''')
    return ["run", made]


@hostile("has no tensor")
def tensors_with_escapes(folder):
    text = ("{" + entry(ESCAPE, 0, 4, "[1]") + "}").encode()
    (folder / "data.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"\0" * 4)
    data = json.dumps(str(folder / "data.safetensors"))
    made = recipe(folder, f'''
model = {{ name = "mlp", hidden = [4] }}
dataset = {{ name = "tensors", train = {data}, eval = {data} }}
loss = "cross_entropy"
optimizer = {{ name = "sgd", lr = 0.1 }}
train = {{ max_steps = 1 }}
run = {{ dir = {json.dumps(str(folder / "run"))} }}
''')
    return ["run", made]


# Recipes ------------------------------------------------------------------------------------------------------------

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


# Models that no machine holds ---------------------------------------------------------------------------------------

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
