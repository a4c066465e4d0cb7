"""Models that no machine of ours could hold are counted without being made."""

import json
import os
import resource
import subprocess

from run_helpers import RUNNER, SANITIZED, SOURCE, environment, main


def a_llama_of_70_billion_parameters(folder):
    """Llama 2 70B: 68,976,648,192 parameters, which is what its publishers' files hold."""
    (folder / "text.txt").write_text("To be, or not to be. " * 200)
    (folder / "recipe.toml").write_text("""
[model]
name = "llama"
layers = 80
heads = 64
key_heads = 8
width = 8192
hidden = 28672
vocabulary = 32000
[dataset]
name = "text"
file = "text.txt"
tokenizer = "byte"
length = 64
[loss]
name = "lm_cross_entropy"
[optimizer]
name = "adamw"
[train]
max_steps = 1
""")
    with open(folder / "said", "wb") as out:
        process = subprocess.Popen([RUNNER, "estimate", folder / "recipe.toml", "--json"], stdout=out, env=environment())
        _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    found = json.loads((folder / "said").read_text())
    assert found["parameters"] == 68_976_648_192, found
    assert usage.ru_maxrss * 1024 < 1 << 30, usage.ru_maxrss
    print(f"        {usage.ru_utime + usage.ru_stime:.1f} s of computing, {usage.ru_maxrss >> 10} MB")


def the_time_is_in_proportion_to_the_layers(folder):
    """Processor time, whatever else the machine does: it takes two seconds."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    done = subprocess.run([RUNNER, "estimate", SOURCE / "recipes/shakespeare_gpt.toml", "model.layers=4096", "--json"], capture_output=True,
                          text=True, env=environment(), preexec_fn=None if SANITIZED else limit)
    assert done.returncode == 0, (done.returncode, done.stderr)
    found = json.loads(done.stdout)
    assert found["trained_parameters"] == found["parameters"] and found["gradient_bytes"] == 4 * found["parameters"], found
    assert abs(found["optimizer_bytes"] - 2 * found["gradient_bytes"]) < 1e6, found  # two averages, and counts of steps


main([a_llama_of_70_billion_parameters, the_time_is_in_proportion_to_the_layers])
