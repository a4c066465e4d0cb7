"""The same training on two ranks here and in two processes of Accelerate: the losses and the final weights agree."""

import json
import os
import subprocess
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    from accelerate import Accelerator
except ImportError:
    print("skipped: accelerate is not installed; scripts/setup.sh --tests does it")
    sys.exit(77)

from run_helpers import environment, main, run, series
from test_training_parity import SimpleCnn

RANKS, STEPS, BATCH, RATE, CLIP = 2, 6, 8, 0.01, 0.5


def peer(folder, accumulation, rank):
    """One of Accelerate's processes: the loop that its documentation shows."""
    torch.set_num_threads(1)
    # They meet in a file: a port that was free when it was chosen may be taken when it is used.
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulation)
    model = SimpleCnn()
    model.load_state_dict(load_file(folder / "initial.safetensors"))
    data = load_file(folder / "data.safetensors")
    loader = DataLoader(TensorDataset(data["input"], data["target"]), batch_size=BATCH)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), RATE), loader)
    losses, window = [], []
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            optimizer.zero_grad()
        window.append(accelerator.gather(loss.detach()).mean().item())
        if len(window) == accumulation:
            losses.append(sum(window) / accumulation)
            window = []
    if accelerator.is_main_process:
        save_file(accelerator.unwrap_model(model).state_dict(), folder / "theirs.safetensors")
        (folder / "losses.json").write_text(json.dumps(losses))
    accelerator.end_training()


def run_peers(folder, accumulation):
    processes = []
    for rank in range(RANKS):
        with open(folder / f"peer-{rank}.log", "w") as log:
            processes.append(subprocess.Popen([sys.executable, __file__, folder, str(accumulation), str(rank)], stdout=log, stderr=log,
                                              env=environment(PYTHONPATH=os.environ.get("PYTHONPATH", ""), GLOO_SOCKET_IFNAME="lo",
                                                              WORLD_SIZE=str(RANKS), LOCAL_WORLD_SIZE=str(RANKS), RANK=str(rank),
                                                              LOCAL_RANK=str(rank))))
    codes = [process.wait(timeout=400) for process in processes]
    for rank, code in enumerate(codes):
        assert code == 0, f"process {rank} of Accelerate: exit code {code}\n{(folder / f'peer-{rank}.log').read_text()}"


def compare(folder, accumulation):
    torch.manual_seed(5)
    examples = STEPS * accumulation * RANKS * BATCH
    save_file({"input": torch.randn(examples, 3, 32, 32), "target": torch.randint(0, 10, (examples,))}, folder / "data.safetensors")
    save_file(SimpleCnn().state_dict(), folder / "initial.safetensors")
    run_peers(folder, accumulation)
    run("launch", "-n", RANKS, "tests/python/parity.toml", f"model.weights={folder}/initial.safetensors",
        f"dataset.train={folder}/data.safetensors", f"dataset.eval={folder}/data.safetensors", f"loader.batch_size={BATCH}",
        "optimizer=adamw", f"optimizer.lr={RATE}", "optimizer.weight_decay=0.01", f"train.max_steps={STEPS}",
        f"train.accumulation_steps={accumulation}", f"train.clip_norm={CLIP}", "eval.every=never", f"run.dir={folder}/run")
    ours, theirs = series(folder / "run", "train/loss"), json.loads((folder / "losses.json").read_text())
    assert len(ours) == len(theirs) == STEPS, (ours, theirs)
    assert all(abs(a - b) <= 1e-5 * max(1, abs(b)) for a, b in zip(ours, theirs)), (ours, theirs)
    weights, expected = load_file(folder / "run/model.safetensors"), load_file(folder / "theirs.safetensors")
    assert weights.keys() == expected.keys()
    for name in expected:
        error = ((weights[name] - expected[name]).norm() / expected[name].norm()).item()
        assert error <= 1e-4, f"{name}: off by {error}"


def two_ranks_are_two_processes(folder):
    compare(folder, accumulation=1)


def also_with_accumulation(folder):
    compare(folder, accumulation=3)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        peer(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    else:
        main([two_ranks_are_two_processes, also_with_accumulation])
