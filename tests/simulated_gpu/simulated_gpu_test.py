"""Whole runs on a simulated GPU: same bits as on the CPU, memory of the device untouched by the host, every wait in its place."""

import json
import os
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
from run_helpers import RUNNER, SKIPPED, THOROUGH, environment, main, records

LIBRARY = pathlib.Path(os.environ.get("RUNNER_BINARY_DIR", "build/release")) / "lib/simulated_gpu/librunner_cuda.so"
QUIET = {"time", "data/time"}
# Not the CPU's bits on any other device, on purpose: Muon iterates in bfloat16, GPT's activation is LibTorch's, and an LSTM's cell
# sums in another order.
OTHER_BITS = {"muon", "gpt", "lstm"}
BIG = {"resnet34", "resnet44", "resnet50", "resnet56", "resnet101", "wide_resnet50_2"}  # of the code of smaller ones


def runner(*arguments, check=True, **settings):
    """On the simulated GPU, which a run on the CPU ignores."""
    variables = {name.upper(): str(value) for name, value in settings.items()}
    done = subprocess.run([RUNNER, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env=environment(LD_PRELOAD=str(LIBRARY), **variables))
    if check and done.returncode != 0:
        raise AssertionError(f"runner {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def counts(folder, *arguments, **settings):
    report = folder / "counts.json"
    report.unlink(missing_ok=True)
    runner(*arguments, simulated_gpu_report=report, **settings)
    return [json.loads(line) for line in report.read_text().splitlines()]


# ---- data and recipes --------------------------------------------------------------------------------------------------


def write_tensors(path, tensors):
    """A safetensors file of {name: (type, shape, bytes)}."""
    header, end = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def drawn(count, most, seed=1):
    """Whole numbers below `most`, the same ones everywhere."""
    numbers, state = [], seed
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        numbers.append((state >> 16) % most)
    return numbers


def floats(shape, seed=1, scale=1 / 500):
    count = 1
    for size in shape:
        count *= size
    return ("F32", shape, struct.pack(f"<{count}f", *[number * scale for number in drawn(count, 1000, seed)]))


def integers(shape, most, seed=2):
    count = 1
    for size in shape:
        count *= size
    return ("I64", shape, struct.pack(f"<{count}q", *drawn(count, most, seed)))


EXAMPLES = 24
TARGETS = {
    "classes": integers([EXAMPLES], 5),
    "one": floats([EXAMPLES, 1], 3),
    "labels": floats([EXAMPLES, 5], 4, 1 / 999),
    "shares": ("F32", [EXAMPLES, 5], struct.pack("<f", 0.2) * 5 * EXAMPLES),
}


def data(folder, kind):
    """Settings of a dataset of this kind, whose files are written here."""
    if kind in TARGETS:
        write_tensors(folder / f"{kind}.safetensors", {"input": floats([EXAMPLES, 12]), "target": TARGETS[kind]})
    elif kind == "pixels":
        write_tensors(folder / "pixels.safetensors", {"input": floats([EXAMPLES, 3, 16, 16]), "target": integers([EXAMPLES, 16, 16], 3)})
    elif kind == "translation":
        tokens = {"input": integers([EXAMPLES, 6], 9, 5), "target": integers([EXAMPLES, 6], 9, 6)}
        write_tensors(folder / "translation.safetensors", tokens)
    elif kind == "text":
        words = "the quick brown fox jumps over a lazy dog".split()
        (folder / "words.txt").write_text(" ".join(words[i] for i in drawn(600, len(words))))
        return ["dataset.name=text", f"dataset.file={folder}/words.txt", "dataset.length=16", "dataset.random_offset=false"]
    elif kind == "sentences":
        lines = [f"{word} word {i}" for i, word in enumerate(["good", "bad"] * 20)]
        (folder / "good.txt").write_text("\n".join(lines[0::2]))
        (folder / "bad.txt").write_text("\n".join(lines[1::2]))
        return ["dataset.name=text_classification", f'dataset.files={{ good = "{folder}/good.txt", bad = "{folder}/bad.txt" }}']
    elif kind == "table":
        rows = [f"{a},{b},{'no' if (a + b) % 2 else 'yes'}" for a, b in zip(drawn(40, 9), drawn(40, 7, 5))]
        (folder / "rows.csv").write_text("\n".join(["age,rooms,answer", *rows]))
        return ["dataset.name=csv", f"dataset.train={folder}/rows.csv", f"dataset.eval={folder}/rows.csv", "dataset.target=answer"]
    elif kind == "images":
        return ["dataset.name=shapes", f"dataset.train={EXAMPLES}", "dataset.eval=8"]
    file = folder / f"{kind}.safetensors"
    return ["dataset.name=tensors", f"dataset.train={file}", f"dataset.eval={file}"]


def recipe(folder, kind, model="mlp", loss="cross_entropy", **sections):
    """A recipe of a few steps, as a file."""
    words = {"optimizer": "adamw", "precision": "fp32", **sections}
    path = folder / "recipe.toml"
    model = model if "=" in model else f"model.name={model}"
    path.write_text('[train]\nmax_steps = 4\nlog_every = "1step"\n[loader]\nbatch_size = 7\n[checkpoint]\nevery = "2step"\n'
                    '[run]\nname = "simulated"\nthreads = 1\n')
    return [path, *data(folder, kind), model, f"loss={loss}", *(f"{key}={value}" for key, value in words.items())]


def tell(folder):
    """What a run has measured, and its weights."""
    measured = [{name: value for name, value in record.items() if "time" not in name and "per_second" not in name and "memory" not in name
                 and "flops" not in name and "peak" not in name} for record in records(folder)]
    return measured, (folder / "model.safetensors").read_bytes()


def require_same_bits(folder, words, *more):
    told = []
    equal = not any(str(word).rpartition("=")[2] in OTHER_BITS for word in words)
    for device in ("cpu", "cuda"):
        runner("run", *words, *more, f"run.device={device}", f"run.dir={folder}/{device}")
        told.append(tell(folder / device))
    if equal:
        assert told[0][0] == told[1][0], (words, told[0][0], told[1][0])
        assert told[0][1] == told[1][1], f"the weights differ: {words}"
        return
    for one, other in zip(told[0][0], told[1][0], strict=True):
        for name, value in one.items():
            assert abs(value - other[name]) <= 1e-2 * max(1, abs(value)), (words, name, value, other[name])


def components(kind):
    listed = json.loads(runner("list", kind, "--json").stdout)
    return [component["name"] for component in listed[0]["components"]]


def each(folder, names, run):
    """Runs something for every name, in a folder of its own; says all that fail."""
    failed = []
    for name in names:
        place = folder / name
        place.mkdir()
        try:
            run(place, name)
        except Exception as error:
            failed.append(f"{name}: {str(error)[-700:]}")
    assert not failed, "\n".join(failed)


# ---- same bits -----------------------------------------------------------------------------------------------------------


def every_optimizer(folder):
    each(folder, components("optimizer"), lambda place, name: require_same_bits(
        place, recipe(place, "classes", optimizer=name), "train.clip_norm=0.5", "optimizer.lr=0.01"))


def every_precision(folder):
    each(folder, components("precision"), lambda place, name: require_same_bits(
        place, recipe(place, "classes", precision=name), "train.clip_norm=0.5", "train.accumulation_steps=2", "model.hidden=[32,32]"))


LOSSES = {"bce_with_logits": "labels", "huber": "one", "l1": "one", "mse": "one", "kl_div": "shares", "lm_cross_entropy": "text"}


def every_loss(folder):
    def run(place, name):
        more = {"distillation": ["loss.teacher.name=mlp"], "lm_cross_entropy": ["model.layers=1", "model.heads=2", "model.width=16"]}
        model = "gpt" if name == "lm_cross_entropy" else "mlp"
        words = recipe(place, LOSSES.get(name, "classes"), loss=name, model=model)
        if name == "distillation":
            runner("run", *recipe(place, "classes"), f"run.dir={place}/teacher")
            more[name].append(f"loss.teacher.weights={place}/teacher/model.safetensors")
        require_same_bits(place, words, *more.get(name, []))
    each(folder, components("loss"), run)


HOOKS = {
    "early_stop": 'metric = "eval/loss"',
    "freeze": 'match = ["fc1.*"], until = "2step"',
    "gradient_noise": "every = 2, over = 2",
    "histograms": "every = 2",
    "lr_finder": "steps = 10",
    "profiler": "skip = 1, steps = 1",
    "swa": 'from = "1step", every = "1step"',
    "throughput": "every = 50",  # sooner, it would measure the peak of the device with a product that is large for a CPU
    "time_limit": 'limit = "1h"',
}


def item(name, settings=""):
    return f'{{ name = "{name}"{", " * bool(settings)}{settings} }}'


def every_hook(folder):
    each(folder, components("hook"), lambda place, name: require_same_bits(
        place, recipe(place, "classes"), f"hook=[{item(name, HOOKS.get(name, ''))}]", f"train.max_steps={12 if name == 'lr_finder' else 4}"))


def every_metric(folder):
    """In one run for each kind of data: they only count."""
    by_data = {"one": {"mae", "r2", "rmse"}, "text": {"perplexity"}}
    names = set(components("metric"))
    for kind, chosen in {**by_data, "classes": names - by_data["one"] - by_data["text"]}.items():
        place = folder / kind
        place.mkdir()
        metrics = ", ".join(item(name, "k = 2" if name == "top_k" else "") for name in sorted(chosen))
        small = ["model.layers=1", "model.heads=2", "model.width=16"] if kind == "text" else []
        words = {"one": ("mlp", "mse"), "text": ("gpt", "lm_cross_entropy")}.get(kind, ("mlp", "cross_entropy"))
        require_same_bits(place, recipe(place, kind, *words), f"eval.metric=[{metrics}]", *small)


LANGUAGE = ["model.layers=1", "model.heads=2", "model.width=16"]
MODELS = {
    "autoencoder": ("images", "mse", ["loss.target=input"]), "bert": ("sentences", "cross_entropy", LANGUAGE), "gpt": ("text", "lm_cross_entropy", LANGUAGE),
    "llama": ("text", "lm_cross_entropy", LANGUAGE), "lstm": ("sentences", "cross_entropy", []), "mlp": ("classes", "cross_entropy", []),
    "tabular": ("table", "cross_entropy", []), "text_mean": ("sentences", "cross_entropy", []),
    "transformer": ("translation", "lm_cross_entropy", [*LANGUAGE, "model.vocabulary=9"]), "unet": ("pixels", "cross_entropy", ["model.width=4", "dataset.classes=3"]),
    "vit": ("images", "cross_entropy", [*LANGUAGE, "model.patch=8"]), "wide_resnet": ("images", "cross_entropy", ["model.depth=10", "model.widen=1"]),
}


DECODER = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
           "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 40, "max_position_embeddings": 16, "rms_norm_eps": 1e-6,
           "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False}


def every_model(folder):
    """Those that Python wrote have a test of their own."""
    def run(place, name):
        kind, loss, more = MODELS.get(name, ("images", "cross_entropy", []))
        if name == "decoder":
            (place / "config.json").write_text(json.dumps(DECODER))
            kind, loss, more = "text", "lm_cross_entropy", [f"model.config={place}/config.json"]
        require_same_bits(place, recipe(place, kind, model=name, loss=loss), *more)
    each(folder, [name for name in components("model") if name not in ("torchscript", "exported") and (THOROUGH or name not in BIG)], run)


def accumulation_and_random_transforms(folder):
    require_same_bits(folder, recipe(folder, "images", model="simple_cnn"), "train.accumulation_steps=3", "train.clip_norm=1",
                      "dataset.transform=[{ name = \"random_flip\" }]", "loader.workers=2")


def deterministic(folder):
    require_same_bits(folder, recipe(folder, "classes"), "run.deterministic=true")


# ---- checkpoints, and what is done with a trained model --------------------------------------------------------------------


def resume_on_the_other_device(folder):
    """A run that is stopped and goes on, on the device, the CPU and back, ends with the bits of one that was not."""
    words = recipe(folder, "classes", optimizer="adamw", precision="fp16")
    runner("run", *words, "train.max_steps=6", "run.device=cpu", f"run.dir={folder}/whole")
    for step, device in ((2, "cuda"), (4, "cpu"), (6, "cuda")):
        how = ["run", *words, f"run.dir={folder}/parts"] if step == 2 else ["resume", folder / "parts", "--force"]
        runner(*how, f"train.max_steps={step}", f"run.device={device}")
    assert tell(folder / "parts")[1] == tell(folder / "whole")[1]


def memory_that_runs_out(folder):
    """Micro-batches are divided until they fit into the device's memory; the update is over the same examples."""
    words = recipe(folder, "images", model="simple_cnn", optimizer="sgd")
    runner("run", *words, "run.device=cuda", f"run.dir={folder}/all", "loader.batch_size=24")
    tight = ["run", *words, "run.device=cuda", "loader.batch_size=24"]
    peak = counts(folder, *tight, f"run.dir={folder}/peak")[-1]["peak_bytes"][0]
    refused = runner(*tight, f"run.dir={folder}/stop", check=False, simulated_gpu_memory=peak * 3 // 4)
    assert refused.returncode == 1 and "do not fit into memory" in refused.stderr, refused
    done = runner(*tight, f"run.dir={folder}/split", "train.on_out_of_memory=split", simulated_gpu_memory=peak * 3 // 4)
    assert "using micro-batches of" in done.stdout + done.stderr, done
    one, other = (records(folder / name) for name in ("all", "split"))
    for record, same in zip(one, other, strict=True):
        if "train/loss" in record:
            assert abs(record["train/loss"] - same["train/loss"]) < 1e-4


def trained_models(folder):
    """eval, predict and sample read what was trained on the device; a model divided between two devices says the same."""
    for device in ("cpu", "cuda"):
        runner("run", *recipe(folder, "table", model="tabular"), f"run.device={device}", f"run.dir={folder}/{device}")
    said = [runner("predict", folder / device, folder / "rows.csv", "--format", "json").stdout for device in ("cpu", "cuda")]
    assert said[0] and said[0] == said[1], said
    evaluated = [runner("eval", folder / "cuda", "--json", f"run.device={device}").stdout for device in ("cpu", "cuda")]
    assert "loss" in evaluated[0] and evaluated[0].replace("cpu", "cuda:0") == evaluated[1].replace("cpu", "cuda:0"), evaluated
    runner("run", *recipe(folder, "text", model="llama", loss="lm_cross_entropy"), *LANGUAGE, "model.layers=2", "run.device=cuda",
           f"run.dir={folder}/text")
    places = ([], ["--offload", "--device-map", "*=cpu"], ["--offload", "--device-map", "*.0.*=cuda:0,*=cuda:1"], ["--offload", "--device-map", "auto"])
    written = [runner("sample", folder / "text", "--prompt", "the", "--tokens", 12, *where).stdout for where in places]
    assert len(set(written)) == 1, written


def models_of_python(folder):
    """A module of torch.jit, and a program of torch.export, compute on the device."""
    python = pathlib.Path(os.environ.get("RUNNER_SOURCE_DIR", ".")) / ".deps/venv/bin/python3"
    if not python.exists():
        return print("skipped: scripts/setup.sh --tests installs the Python of this case")
    program = ("import sys, torch; torch.manual_seed(0); m = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.GELU(), torch.nn.Linear(8, 5));"
               " torch.jit.script(m).save(sys.argv[1]); batch = torch.export.Dim('batch', min=2);"
               " torch.export.save(torch.export.export(m, (torch.zeros(4, 12),), dynamic_shapes=({0: batch},)), sys.argv[2])")
    subprocess.run([python, "-c", program, folder / "module.pt", folder / "program.pt2"], check=True, timeout=120)
    for model, file in (("torchscript", "module.pt"), ("exported", "program.pt2")):
        place = folder / model
        place.mkdir()
        require_same_bits(place, recipe(place, "classes", model=model), f"model.file={folder}/{file}", "train.max_steps=3")


# ---- ranks: one simulated GPU each, over the simulated NCCL ------------------------------------------------------------


RANKS = {
    "ddp": [], "zero1": [], "zero2": [], "zero3": ["precision=bf16"], "local_sgd": [],
    "powersgd": ["distributed.compression=powersgd"], "sync_batch_norm": ["distributed.sync_batch_norm=true", "model.name=resnet20"],
}


def ranks(folder):
    """Every strategy has the bits of the same ranks on CPUs."""
    def run(place, name):
        strategy = [] if name in ("powersgd", "sync_batch_norm") else [f"distributed.strategy={name}"]
        words = [*recipe(place, "images", model="simple_cnn"), *strategy, *RANKS[name], "train.clip_norm=0.5", "loader.batch_size=8"]
        told = []
        for device in ("cpu", "cuda"):
            runner("launch", "-n", 2, *words, f"run.device={device}", f"run.dir={place}/{device}")
            told.append(tell(place / device))
        assert told[0] == told[1], (told[0][0], told[1][0])
    each(folder, RANKS, run)


def ranks_need_a_gpu_each(folder):
    """Said before NCCL fails with a message about something else."""
    done = runner("launch", "-n", 2, *recipe(folder, "classes"), "run.device=cuda:1", f"run.dir={folder}/run", check=False)
    assert done.returncode == 1 and "both compute on cuda:1" in done.stdout + done.stderr, done


# ---- what the host waits for ---------------------------------------------------------------------------------------------


def waits_of_a_step(folder, *settings, launch=()):
    """What one more step costs: the difference of two runs that measure nothing, at their busiest rank."""
    words = [*recipe(folder, "images", model="simple_cnn"), "dataset.train=400", "train.log_every=1000step", "eval.every=never",
             "checkpoint.every=1000step", "run.device=cuda", *settings]
    found = []
    for steps in (10, 30):
        told = counts(folder, *(launch or ["run"]), *words, f"train.max_steps={steps}", f"run.dir={folder}/{len(list(folder.iterdir()))}")
        found.append(max(count["host_waits"] for count in told))
        assert not any(count["faults"] for count in told), told
    return (found[1] - found[0]) / 20


def host_waits(folder):
    """A step makes the host wait for the device never; with fp16, whose scaler decides, or with ranks, which tell each other of signals,
    once."""
    for precision, most in (("fp32", 0), ("bf16", 0), ("fp16", 1)):
        waits = waits_of_a_step(folder, f"precision={precision}", "train.clip_norm=1")
        assert waits <= most + 0.1, (precision, waits)
    assert waits_of_a_step(folder, launch=["launch", "-n", 2]) <= 1.1


def graphs(folder):
    """Passes that are replayed give the bits of those that are not; what cannot be replayed is refused."""
    words = recipe(folder, "classes")
    for name, on in (("plain", "false"), ("graphs", "true")):
        runner("run", *words, "run.device=cuda", f"run.dir={folder}/{name}", f"train.cuda_graphs={on}", "train.max_steps=9",
               "loader.batch_size=8", "loss.class_weights=[1,2,1,1,1]")
    assert tell(folder / "plain") == tell(folder / "graphs")
    text = folder / "text"
    text.mkdir()
    refused = runner("check", *recipe(text, "text", model="gpt", loss="lm_cross_entropy"), *LANGUAGE, "train.cuda_graphs=true",
                     "model.checkpoint_activations=true", check=False)
    assert refused.returncode == 2 and "model.checkpoint_activations" in refused.stderr, refused


# ---- what the simulated GPU notices ----------------------------------------------------------------------------------------


FAULTS = {
    "wait": "still writes it: the stream has to wait for it",
    "record_stream": "a record_stream or a wait is missing",
    "host wait": "the host touches page-locked memory during a copy",
    "arrival": "the host touches page-locked memory during a copy",
    "device": "at least two devices, cuda:0 and cuda:1",
    "to": "at least two devices, cuda:0 and cpu",
    "host copy": "the host touches memory of cuda:0, made by",
}


def faults(folder):
    """One program that is right, and all that can be left out of it: each is said with the operator and the memory."""
    program = pathlib.Path(RUNNER).with_name("gpu_faults")
    def run(*without):
        return subprocess.run([program, *without], capture_output=True, text=True, timeout=120, env=environment(LD_PRELOAD=str(LIBRARY)))
    right = run()
    assert right.returncode == 0 and not right.stderr, right
    for without, message in FAULTS.items():
        done = run(without)
        assert done.returncode != 0 and message in done.stderr, (without, done)


def doctor(folder):
    """What the first person with a GPU runs goes through, and says all of it in one file."""
    runner("doctor", "--gpu", folder / "found.json", "--dir", folder, simulated_gpu_devices=2)
    found = json.loads((folder / "found.json").read_text())
    assert found["ok"] and {"GPU 1", "graphs", "model vit", "zero3, 2 GPUs"} <= {check["check"] for check in found["checks"]}, found


# ---- what cannot be ------------------------------------------------------------------------------------------------------


def no_such_device(folder):
    done = runner("run", *recipe(folder, "classes"), "run.device=cuda:1", f"run.dir={folder}/run", check=False, simulated_gpu_devices=1)
    assert done.returncode != 0 and "has 1 CUDA device" in done.stderr, done
    done = runner("run", *recipe(folder, "classes"), "run.device=mps", f"run.dir={folder}/run", check=False)
    assert done.returncode != 0 and "no mps device" in done.stderr, done


def a_model_larger_than_the_device(folder):
    done = runner("run", *recipe(folder, "images", model="resnet18"), "run.device=cuda", f"run.dir={folder}/run", check=False,
                  simulated_gpu_memory=20 << 20)
    assert done.returncode != 0 and "of memory on cuda:0, which has" in done.stderr, done


if __name__ == "__main__":
    if not LIBRARY.exists():
        print(f"skipped: {LIBRARY} is not built here")
        sys.exit(SKIPPED)
    cases = [every_optimizer, every_precision, every_loss, every_hook, every_metric, every_model, accumulation_and_random_transforms,
             deterministic, resume_on_the_other_device, memory_that_runs_out, trained_models, models_of_python, ranks, ranks_need_a_gpu_each,
             host_waits, graphs, faults, doctor, no_such_device, a_model_larger_than_the_device]
    wanted = sys.argv[1:]
    main([case for case in cases if not wanted or case.__name__ in wanted])
