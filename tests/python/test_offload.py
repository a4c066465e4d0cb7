"""Models larger than memory: the program under a limit (RLIMIT_DATA), and models that HuggingFace wrote in several files."""

import json
import subprocess
import sys

import torch
from run_helpers import RUNNER, SANITIZED, Skip, environment, main, run
from safetensors.torch import load_file, save_file

try:
    import transformers
except ImportError:
    raise SystemExit(77)  # installed with the other tools of the tests

MEGABYTE = 1 << 20
CONTEXT, VOCABULARY = 64, 128  # tokens are ASCII, so that any text can be printed
WIDTH, LAYERS = 1024, 10  # 40 MiB a layer
SIZES = {"heads": 8, "width": WIDTH, "context": CONTEXT, "vocabulary": VOCABULARY}


def leave_run(folder, model):
    """A run folder as training leaves it, but for its weights."""
    folder.mkdir(exist_ok=True)
    lines = {f"model.{key}": value for key, value in model.items()}
    lines |= {"dataset.name": "text", "dataset.file": "nowhere.txt", "dataset.tokenizer": "byte", "run.threads": 1}
    lines |= {"loss.name": "lm_cross_entropy", "optimizer.name": "sgd", "optimizer.lr": 0.1, "train.max_steps": 1}
    (folder / "recipe.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items()))
    spec = {"input_shape": [CONTEXT], "input_type": "int64", "target_shape": [CONTEXT], "target_type": "int64", "vocabulary": VOCABULARY}
    spec |= {"classes": VOCABULARY, "class_names": [], "categories": [], "images": False, "mean": [], "deviation": [], "train_examples": 1}
    (folder / "data_spec.json").write_text(json.dumps(spec))
    (folder / "dataset.json").write_text('{"tokenizer": "byte"}')
    return folder


def gpt_weights(layers):
    random = torch.Generator().manual_seed(1)

    def normal(*shape):
        return torch.empty(*shape).normal_(0, 0.02, generator=random)

    weights = {"transformer.wte.weight": normal(VOCABULARY, WIDTH), "transformer.wpe.weight": normal(CONTEXT, WIDTH)}
    linear = {"attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH), "mlp.c_fc": (WIDTH, 4 * WIDTH), "mlp.c_proj": (4 * WIDTH, WIDTH)}
    for layer in range(layers):
        for name, (inputs, outputs) in linear.items():
            weights[f"transformer.h.{layer}.{name}.weight"] = normal(inputs, outputs)
            weights[f"transformer.h.{layer}.{name}.bias"] = torch.zeros(outputs)
    norms = ["transformer.ln_f"] + [f"transformer.h.{layer}.ln_{i}" for layer in range(layers) for i in (1, 2)]
    for norm in norms:
        weights |= {f"{norm}.weight": torch.ones(WIDTH), f"{norm}.bias": torch.zeros(WIDTH)}
    return weights


# Of a process that was this one before, the most memory would be that of this one: a small one in between starts the program.
LAUNCHER = """
import json, os, resource, sys
limit, words = int(sys.argv[1]), sys.argv[2:]
process = os.fork()
if process == 0:
    if limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    os.dup2(1, 2)
    os.execv(words[0], words)
status, used = os.wait4(process, 0)[1:]
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024]))
"""


def limited(limit, *arguments):
    """The program with so many bytes of data; its exit code, what it printed, and the most memory it had."""
    words = [sys.executable, "-S", "-c", LAUNCHER, str(limit or 0), RUNNER, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=500)
    *said, measured = done.stdout.splitlines()
    code, memory = json.loads(measured)
    return code, "\n".join(said), memory


def data_needed(*arguments):
    """The smallest limit, to 16 MiB, that the program works under."""
    low, high = 0, 1024 * MEGABYTE
    while high - low > 16 * MEGABYTE:
        middle = (low + high) // 2
        low, high = (low, middle) if limited(middle, *arguments)[0] == 0 else (middle, high)
    assert high < 1024 * MEGABYTE, limited(None, *arguments)[1]
    return high


def sampling(folder, *more):
    return ["sample", folder, "--prompt", "To be", "--tokens", 4, "--temperature", 0, *more]


def test_memory_is_bounded(folder):
    if SANITIZED:
        raise Skip("the sanitizer takes more memory than the test leaves")
    small = leave_run(folder / "small", {"name": "gpt", "layers": 1, **SIZES | {"width": 8}})
    large = leave_run(folder / "large", {"name": "gpt", "layers": LAYERS, **SIZES})
    weights = gpt_weights(LAYERS)
    save_file(weights, large / "model.safetensors", {"format": "pt"})
    small_weights = {name: tensor[tuple(slice(0, max(1, 8 * (size // WIDTH)) if size % WIDTH == 0 else size) for size in tensor.shape)].clone()
                     for name, tensor in weights.items() if ".h." not in name or ".h.0." in name}
    save_file(small_weights, small / "model.safetensors", {"format": "pt"})
    model = sum(tensor.nbytes for tensor in weights.values())
    largest = max(tensor.nbytes for tensor in weights.values())
    del weights
    base = data_needed(*sampling(small))
    _, _, base_memory = limited(None, *sampling(small))
    print(f"        model {model // MEGABYTE} MiB, largest tensor {largest // MEGABYTE}; without it data {base // MEGABYTE}, memory {base_memory // MEGABYTE}")

    code, expected, memory = limited(None, *sampling(large))
    assert code == 0, expected
    print(f"        whole: memory {memory // MEGABYTE} MiB")
    # The model and one tensor: twice the model would be 400 MiB more.
    assert memory < base_memory + model + largest + 48 * MEGABYTE, memory
    code, said, _ = limited(base + model + largest + 48 * MEGABYTE, *sampling(large))
    assert (code, said) == (0, expected), said

    # Two units of 32 MiB come and go; the model does not fit.
    limit = base + 96 * MEGABYTE
    assert limited(limit, *sampling(large))[0] != 0
    code, said, memory = limited(limit, *sampling(large, "--offload"))
    assert (code, said) == (0, expected), said
    print(f"        --offload: memory {memory // MEGABYTE} MiB")
    assert memory < base_memory + 112 * MEGABYTE, memory
    code, said, _ = limited(limit, *sampling(large, "--offload", "--device-map", "transformer.h.0=cpu"))
    assert (code, said) == (0, expected), said

    for kind in ("safetensors", "pt"):
        out = folder / f"exported.{kind}"
        code, said, memory = limited(limit, "export", large, "-o", out)
        assert code == 0, said
        print(f"        export to .{kind}: memory {memory // MEGABYTE} MiB")
        assert memory < base_memory + 3 * largest + 16 * MEGABYTE, memory
        exported = load_file(out) if kind == "safetensors" else torch.load(out, weights_only=True, mmap=True)
        original = load_file(large / "model.safetensors")
        assert exported.keys() == original.keys()
        assert all(exported[name].equal(original[name]) for name in original)
        out.unlink()


def randomise(model):
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)
    return model.eval()


def test_huggingface_models_in_shards(folder):
    torch.manual_seed(1)
    llama = transformers.LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=CONTEXT, hidden_size=32, intermediate_size=48,
                                     num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2)
    gpt = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=32, n_layer=3, n_head=4)
    cases = (
        ("llama", transformers.LlamaForCausalLM(llama), {"layers": 3, "heads": 4, "key_heads": 2, "width": 32, "hidden": 48}),
        ("gpt", transformers.GPT2LMHeadModel(gpt), {"layers": 3, "heads": 4, "width": 32}),
    )
    for name, model, settings in cases:
        theirs = folder / f"{name}-pretrained"
        randomise(model).save_pretrained(theirs, max_shard_size="20KB")
        assert len(list(theirs.glob("model-*.safetensors"))) > 2
        ours = leave_run(folder / name, {"name": name, "context": CONTEXT, "vocabulary": VOCABULARY, **settings})
        prompt = "To be"
        tokens = torch.tensor([list(prompt.encode())])
        expected = model.generate(tokens, max_new_tokens=20, do_sample=False, pad_token_id=0, eos_token_id=None)[0]
        arguments = ["sample", ours, "--weights", theirs, "--prompt", prompt, "--tokens", 20, "--temperature", 0]
        whole, offloaded = run(*arguments).stdout, run(*arguments, "--offload").stdout
        assert offloaded == whole
        text = bytes(expected.tolist()).decode().replace("\r\n", "\n").replace("\r", "\n")  # as subprocess reads it
        assert offloaded == text + "\n", (offloaded, text)

        out = folder / f"{name}.safetensors"
        run("export", ours, "--weights", theirs, "-o", out)
        joined = load_file(out)
        assert joined.keys() <= model.state_dict().keys() and len(joined) > 20
        assert all(tensor.equal(model.state_dict()[key]) for key, tensor in joined.items())


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    main([test_memory_is_bounded, test_huggingface_models_in_shards])
