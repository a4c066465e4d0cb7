"""Tables, images and tensors that try to hurt."""

import gzip
import io
import json
import os
import struct
import zlib

from hostile_files import ESCAPE, LONG, hostile, recipe
from hostile_weights import entry


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


@hostile("250000 values")
def csv_commas_alone(folder):
    return table(folder, "," * 100_000_000)


@hostile("has no column")
def csv_100000_columns(folder):
    names = ",".join(f"c{i}" for i in range(100_000))
    row = ",".join(["1"] * 100_000)
    return table(folder, f"{names}\n{row}\n{row}\n", target="none of them")


@hostile("250000 values")
def csv_million_columns(folder):
    row = ",".join(["1"] * 1_000_000)
    return table(folder, ",".join(f"c{i}" for i in range(1_000_000)) + f"\n{row}\n{row}\n{row}\n")


@hostile("more than 32 MB")
def csv_sparse_header(folder):
    made = table(folder, "a,")
    largest = max((file for file in folder.iterdir() if file.is_file()), key=lambda file: file.suffix == ".csv")
    os.truncate(largest, 1 << 30)
    return made


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
    _, made = table(folder, f"{ESCAPE},y,{'c' * 100_000}\n{rows}")
    with open(made, "a") as file:
        file.write('eval = { metric = ["loss", "confusion_matrix"] }\ncheckpoint = { best = { metric = "eval/loss" } }\n')
    return every_command(folder, made, f"1,{ESCAPE}")


@hostile("", accepted=True)
def csv_100000_columns_that_are_valid(folder):
    names = ",".join(f"c{i}" for i in range(20_000))
    rows = "".join(",".join([str(i)] * 20_000) + f",{i % 2}\n" for i in range(8))
    _, made = table(folder, f"{names},y\n{rows}")
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
