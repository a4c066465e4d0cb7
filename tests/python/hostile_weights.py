"""Weights files that try to hurt."""

import json
import os
import pickle
import struct
import zipfile

from hostile_files import ESCAPE, LONG, hostile, recipe


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


@hostile("more objects than any file of weights")
def torch_save_many_names(folder):
    names = b"".join(b"X" + struct.pack("<I", 8) + b"%08d" % i + b"K\x01" for i in range(3_000_000))
    return torch_save(folder, b"\x80\x02}(" + names + b"u.")


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


@hostile('calls "Print"')
def torchscript_that_prints(folder):
    code = f"""def forward(self, x):
  _0 = ops.prim.Print("{ESCAPE!r}")
  return x
"""
    return torchscript(folder, {"code/__torch__.py": code.encode()})


@hostile("torch.jit.save")
def torchscript_damaged(folder):
    return torchscript(folder, {}, b"PK" + b"\x1b[2J" * 30)
