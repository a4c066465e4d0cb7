"""Hashes of what short runs learn, to compare before and after a change that must not alter a bit.

    tests/hashes.py [--runner BINARY] [NAME..] > before.txt       a line for each run: name, hash of the weights, hash of the losses
    tests/hashes.py --against before.txt                          the same, and says which differ; exit code 1 if any does

The runs are short variants of the recipes that need no data, every strategy, compression and precision, and a run that is killed and
resumed. They use one thread, so the hashes depend on the processor and on LibTorch, but not on the number of cores.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("RUNNER_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[1]))
IMAGES = [ROOT / "recipes/shapes.toml", "dataset.train=71", "dataset.eval=16", "loader.batch_size=16", "train.epochs=1"]
NORMS = [*IMAGES, "model=resnet20"]
TEXT = [ROOT / "recipes/shakespeare_gpt.toml", "dataset.file=none.txt", "model.layers=2", "model.width=32", "dataset.length=32",
        "eval.every=never", "~scheduler.warmup", "~checkpoint.best"]
ADAM = ["optimizer=adamw", "optimizer.lr=0.002", "distributed.batch=global"]

# name -> (ranks, settings). Those with several ranks train together on this machine.
RUNS = {
    "shapes": (1, IMAGES),
    "batch norm": (1, NORMS),
    "gpt": (1, TEXT),
    "accumulation, clipping": (1, [*IMAGES, "train.accumulation_steps=3", "train.clip_norm=0.5", "loader.batch_size=8"]),
    "bf16": (1, [*IMAGES, "precision=bf16"]),
    "fp16": (1, [*IMAGES, "precision=fp16"]),
    "fp8": (1, [*IMAGES, "precision=fp8"]),
    "ema, freeze": (1, [*IMAGES, 'hook=[{name="ema",decay=0.5},{name="freeze",match=["*.bias"],until="2step"}]']),
    "split": (1, [*IMAGES, "train.on_out_of_memory=split"]),
    "ddp": (2, [*IMAGES, *ADAM]),
    "ddp on 3 ranks": (3, [*NORMS, *ADAM]),
    "ddp, each rank": (2, [*IMAGES, "distributed.batch=rank"]),
    "ddp, accumulation": (2, [*IMAGES, *ADAM, "train.accumulation_steps=2", "train.clip_norm=0.5"]),
    "ddp, small buckets": (2, [*IMAGES, *ADAM, "distributed.bucket_size=2KiB"]),
    "ddp, split": (2, [*IMAGES, *ADAM, "train.on_out_of_memory=split"]),
    "ddp, fp16": (2, [*IMAGES, *ADAM, "precision=fp16"]),
    "ddp, fp8": (2, [*IMAGES, *ADAM, "precision=fp8"]),
    "ddp, bf16 on the wire": (2, [*IMAGES, *ADAM, "distributed.compression=bf16"]),
    "ddp, powersgd": (2, [*IMAGES, *ADAM, "distributed.compression=powersgd"]),
    "batch norm of all ranks": (3, [*NORMS, *ADAM, "distributed.sync_batch_norm=true"]),
    "zero1": (2, [*IMAGES, *ADAM, "distributed.strategy=zero1"]),
    "zero2": (3, [*IMAGES, *ADAM, "distributed.strategy=zero2", "train.clip_norm=0.5"]),
    "zero3": (2, [*IMAGES, *ADAM, "distributed.strategy=zero3", "train.clip_norm=0.5", "distributed.unit_size=8KiB"]),
    "zero3, bf16": (2, [*IMAGES, *ADAM, "distributed.strategy=zero3", "precision=bf16"]),
    "zero3, fp16, accumulation": (2, [*IMAGES, *ADAM, "distributed.strategy=zero3", "precision=fp16", "train.accumulation_steps=2"]),
    "zero3, groups": (4, [*IMAGES, *ADAM, "distributed.strategy=zero3", "distributed.shard_group=2"]),
    "zero3, muon": (2, [*IMAGES, "optimizer=muon", "distributed.strategy=zero3"]),
    "zero3, offload": (2, [*IMAGES, *ADAM, "distributed.strategy=zero3", "distributed.offload=disk"]),
    "local_sgd": (2, [*NORMS, *ADAM, "distributed.strategy=local_sgd", "distributed.average_every=2"]),
    "reproducible": (2, [*NORMS, *ADAM, "distributed.reproducible=true", "loader.batch_size=32"]),
    "reproducible, fp8": (2, [*IMAGES, *ADAM, "distributed.reproducible=true", "precision=fp8"]),
    "gpt, zero3": (2, [*TEXT, "distributed.strategy=zero3", "distributed.batch=global"]),
}
RESUMED = ["shapes", "fp16", "fp8", "ddp", "ddp, powersgd", "zero2", "zero3", "local_sgd", "reproducible"]


def launch(runner, ranks, settings, folder):
    words = [runner, *(["launch", "-n", ranks] if ranks > 1 else ["run"]), *settings, "train.log_every=1step", "run.threads=1",
             f"run.dir={folder}"]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")


def weights_hash(folder):
    """Of the tensors alone, without the metadata of the files."""
    total = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        content = file.read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        tensors = {name: facts for name, facts in json.loads(content[8:8 + length]).items() if name != "__metadata__"}
        for name, facts in sorted(tensors.items()):
            begin, end = (8 + length + offset for offset in facts["data_offsets"])
            total.update(f"{file.name} {name} {facts['dtype']} {facts['shape']}".encode() + content[begin:end])
    return total.hexdigest()[:16]


def losses_hash(folder):
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    losses = [(record["step"], name, record[name]) for record in records for name in ("train/loss", "eval/loss") if name in record]
    return hashlib.sha256(json.dumps(losses).encode()).hexdigest()[:16]


def hashes_of(runner, name):
    ranks, settings = RUNS[name.removesuffix(", resumed")]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "run"
        steps = ["train.max_steps=4", "checkpoint.every=2step"]
        launch(runner, ranks, [*settings, *steps], folder)
        if name.endswith(", resumed"):  # as if it had been killed after the second step
            for later in sorted((folder / "checkpoints").glob("step-*"))[1:]:
                shutil.rmtree(later)
            launch(runner, ranks, [*settings, *steps], folder)
        return f"{weights_hash(folder)} {losses_hash(folder)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runner", default=os.environ.get("RUNNER_BINARY", ROOT / "build/release/bin/runner"))
    parser.add_argument("--against", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    before = {}
    if given.against:
        before = {line[:32].strip(): line[32:].strip() for line in given.against.read_text().splitlines()}
    differ = 0
    for name in given.names or list(before) or [*RUNS, *(f"{name}, resumed" for name in RESUMED)]:
        found = hashes_of(given.runner, name)
        other = before.get(name, found) != found
        differ += other
        print(f"{name:<32}{found}{'   DIFFERS' if other else ''}", flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
