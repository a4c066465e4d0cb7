"""`decoder` against HuggingFace's models: random tiny ones of every covered type, with the same logits, gradients and training losses."""

import json
import shutil
import unittest

import torch
from model_tool import ModelCase
from run_helpers import run
from safetensors.torch import save_file

try:
    import transformers
except ImportError:
    raise SystemExit(77)  # installed with the other tools of the tests

VOCABULARY, LENGTH = 256, 24
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 100.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8, "rope_theta": 100.0}

# Each with what distinguishes it switched on: windows shorter than the text, biases, softcaps, multipliers.
CASES = [
    ("llama", {}),
    ("llama", {"rope_parameters": LLAMA3, "tie_word_embeddings": True}),
    ("llama", {"rope_parameters": YARN, "head_dim": 16, "attention_bias": True, "mlp_bias": True}),
    ("llama", {"rope_parameters": YARN | {"mscale": 1.0, "mscale_all_dim": 0.7, "beta_fast": 16.0, "beta_slow": 2.0}}),
    ("mistral", {"sliding_window": 7}),
    ("mistral", {"sliding_window": None, "head_dim": 16}),
    ("qwen2", {}),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1}),
    ("qwen3", {"head_dim": 16}),
    ("gemma", {"head_dim": 16}),
    ("gemma2", {"head_dim": 16, "query_pre_attn_scalar": 24, "sliding_window": 7, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
    ("gemma3_text", {"head_dim": 16, "query_pre_attn_scalar": 24, "sliding_window": 7}),
    ("phi3", {"num_key_value_heads": 2}),
    ("phi3", {"sliding_window": 7, "rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}}),
    ("smollm3", {"no_rope_layer_interval": 2}),
    ("olmo2", {}),
    ("starcoder2", {"sliding_window": 7}),
    ("starcoder2", {"use_bias": False, "tie_word_embeddings": False}),
    ("gpt_neox", {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.25}}),
    ("gpt_neox", {"use_parallel_residual": False, "attention_bias": False}),
    ("granite", {"attention_multiplier": 0.3, "embedding_multiplier": 3.0, "residual_multiplier": 0.4, "logits_scaling": 2.0}),
]


def model_of(kind, more):
    sizes = dict(SIZES)
    if kind == "gpt_neox":
        del sizes["num_key_value_heads"]
    config = transformers.AutoConfig.for_model(kind, **(sizes | more))
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
    return model.float()


class DecoderTest(ModelCase):
    def saved(self, number):
        """A model and the folder that it is saved in."""
        model = model_of(*CASES[number])
        model.save_pretrained(self.folder / str(number))
        return self.folder / str(number), model

    def test_logits_and_gradients(self):
        data = {"input_shape": [LENGTH], "target_shape": [LENGTH], "vocabulary": VOCABULARY, "classes": VOCABULARY}
        for number, (kind, more) in enumerate(CASES):
            with self.subTest(kind, **more):
                folder, model = self.saved(number)
                x = torch.randint(3, VOCABULARY, (2, LENGTH), generator=torch.Generator().manual_seed(2))
                output = model.train()(x).logits
                gradient = torch.randn(output.shape, generator=torch.Generator().manual_seed(3))
                output.backward(gradient)
                save_file({"input": x, "grad_output": gradient}, self.folder / "in.safetensors")
                out = self.run_tool({"name": "decoder", "weights": str(folder)}, data, train=True, input=str(self.folder / "in.safetensors"))
                self.assert_close(out["output"], output.detach(), "logits", 1e-5)
                self.assert_same_gradients(out, model, 1e-4)

    def test_training_losses(self):
        text = "To be, or not to be, that is the question. " * 60
        (self.folder / "text.txt").write_text(text)
        tokens = torch.tensor(list(text.encode()))
        for number, (kind, more) in enumerate(CASES):
            with self.subTest(kind, **more):
                folder, model = self.saved(number)
                recipe = {
                    "model.name": "decoder",
                    "model.weights": str(folder),
                    "dataset.name": "text",
                    "dataset.file": str(self.folder / "text.txt"),
                    "dataset.tokenizer": "byte",
                    "dataset.length": LENGTH,
                    "dataset.random_offset": False,
                    "loader.shuffle": False,
                    "loader.batch_size": 2,
                    "loss.name": "lm_cross_entropy",
                    "optimizer.name": "sgd",
                    "optimizer.lr": 0.05,
                    "optimizer.momentum": 0.0,
                    "train.max_steps": 20,
                    "train.log_every": "1step",
                    "eval.every": "never",
                }
                (folder / "recipe.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in recipe.items()))
                run("run", folder / "recipe.toml", f"run.dir={folder / 'run'}")
                records = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
                ours = [record["train/loss"] for record in records if "train/loss" in record]
                optimizer = torch.optim.SGD(model.train().parameters(), lr=0.05)
                theirs = []
                for step in range(20):
                    starts = [(2 * step + i) * LENGTH for i in range(2)]
                    x = torch.stack([tokens[start : start + LENGTH] for start in starts])
                    y = torch.stack([tokens[start + 1 : start + LENGTH + 1] for start in starts])
                    loss = torch.nn.functional.cross_entropy(model(x).logits.flatten(0, 1), y.flatten())
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    theirs.append(loss.item())
                self.assertEqual(len(ours), 20)
                for a, b in zip(ours, theirs):
                    self.assertAlmostEqual(a, b, delta=1e-5 * max(1.0, b))

    def test_a_folder_is_all_that_new_needs(self):
        (self.folder / "text.txt").write_text("To be, or not to be, that is the question. " * 20)
        folder = self.folder / "theirs"
        model_of("qwen3", {"head_dim": 16}).save_pretrained(folder)
        recipe, out = self.folder / "recipe.toml", self.folder / "run"
        run("new", "--from", folder, "-o", recipe, "dataset=text", f"dataset.file={self.folder / 'text.txt'}", "dataset.tokenizer=byte", f"dataset.length={LENGTH}")
        run("run", recipe, "train.max_steps=1", "loader.batch_size=2", f"run.dir={out}")
        shutil.rmtree(folder)  # the run keeps what it needs
        self.assertTrue(run("sample", out, "--tokens", "3", "--prompt", "To be").stdout)
        transformers.AutoModelForCausalLM.from_pretrained(out)  # and is a folder that others load

    def test_cached_tokens_give_the_same_text(self):
        """The cache of `sample` and its windows against one pass over everything."""
        (self.folder / "text.txt").write_text("To be, or not to be, that is the question. " * 20)
        for kind, more in (("gemma2", dict(CASES[10][1])), ("gemma3_text", dict(CASES[11][1])), ("gpt_neox", dict(CASES[18][1]))):
            with self.subTest(kind):
                folder, recipe, out = self.folder / kind, self.folder / f"{kind}.toml", self.folder / f"run-{kind}"
                model = model_of(kind, more)
                model.save_pretrained(folder)
                run("new", "--from", folder, "-o", recipe, "dataset=text", f"dataset.file={self.folder / 'text.txt'}", "dataset.tokenizer=byte", f"dataset.length={LENGTH}")
                run("run", recipe, "train.max_steps=1", "optimizer.lr=1e-12", "loader.batch_size=2", f"run.dir={out}")
                prompt = "To be, or not"
                said = run("sample", out, "--tokens", "12", "--temperature", "0", "--prompt", prompt).stdout
                tokens = list(prompt.encode())
                with torch.no_grad():
                    for _ in range(12):
                        tokens.append(model.eval()(torch.tensor([tokens])).logits[0, -1].argmax().item())
                self.assertIn(bytes(tokens).decode(errors="replace").strip(), said)

    def test_what_is_not_covered_is_named(self):
        for change, expected in (
            ({"model_type": "mamba"}, "qwen2"),
            ({"hidden_act": "mish"}, 'hidden_act = "mish"'),
            ({"rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0}}, '"longrope"'),
            ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ):
            with self.subTest(expected):
                folder = self.folder / "theirs"
                shutil.rmtree(folder, ignore_errors=True)
                model_of("llama", {}).save_pretrained(folder)
                config = json.loads((folder / "config.json").read_text()) | change
                (folder / "config.json").write_text(json.dumps(config))
                done = run("new", "--from", folder, "dataset=text", "dataset.file=x", check=False)
                self.assertIn(expected, done.stderr)
                self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    unittest.main(warnings="ignore")
