"""LoRA against PEFT: the same losses and files, in both directions, and merged weights that are the trained model."""

import json
import shutil
import unittest

import torch
from model_tool import ModelCase
from run_helpers import run, series
from safetensors.torch import load_file

try:
    import peft
    import transformers
except ImportError:
    raise SystemExit(77)  # installed with the other tools of the tests

VOCABULARY, LENGTH, STEPS = 256, 16, 20
TEXT = "To be, or not to be, that is the question. " * 60


def llama():
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64
    )
    return "decoder", transformers.LlamaForCausalLM(config)


def qwen2():
    config = transformers.Qwen2Config(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64
    )
    return "decoder", transformers.Qwen2ForCausalLM(config)


def gpt2():
    off = {"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2, **off)
    return "gpt", transformers.GPT2LMHeadModel(config)


GPT = {"layers": 2, "heads": 4, "width": 32}
# What ours is told, and PEFT.
CASES = [
    (llama, {}, {}),
    (llama, {"rank": 4, "alpha": 16, "rslora": True, "targets": ["*_proj"]}, {"r": 4, "lora_alpha": 16, "use_rslora": True, "target_modules": "all-linear"}),
    (llama, {"dora": True, "targets": ["q_proj", "down_proj"]}, {"use_dora": True, "target_modules": ["q_proj", "down_proj"]}),
    (
        llama,
        {"targets": ["q_proj", "k_proj", "v_proj"], "exclude": ["layers.0.self_attn.k_proj"], "rank_pattern": {"k_proj": 2}, "alpha_pattern": {"v_proj": 32}},
        {"target_modules": ["q_proj", "k_proj", "v_proj"], "exclude_modules": ["layers.0.self_attn.k_proj"], "rank_pattern": {"k_proj": 2}, "alpha_pattern": {"v_proj": 32}},
    ),
    (llama, {"modules_to_save": ["lm_head"]}, {"modules_to_save": ["lm_head"]}),
    (qwen2, {"bias": "lora_only"}, {"bias": "lora_only"}),
    (qwen2, {"bias": "all"}, {"bias": "all"}),
    (gpt2, {}, {"fan_in_fan_out": True}),
]


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


class Adapters(ModelCase):
    def setUp(self):
        super().setUp()
        (self.folder / "text.txt").write_text(TEXT)
        torch.manual_seed(1)

    def recipe(self, name, base, adapter, **more):
        lines = {
            "model.name": name,
            "model.weights": str(base),
            "dataset.name": "text",
            "dataset.file": str(self.folder / "text.txt"),
            "dataset.tokenizer": "byte",
            "dataset.length": LENGTH,
            "dataset.random_offset": False,
            "loader.shuffle": False,
            "loader.batch_size": 2,
            "loss.name": "lm_cross_entropy",
            "optimizer.name": "sgd",
            "optimizer.lr": 0.5,
            "optimizer.momentum": 0.0,
            "train.max_steps": STEPS,
            "train.log_every": "1step",
        }
        lines |= {f"model.{key}": value for key, value in (GPT if name == "gpt" else {}).items()}
        lines |= {f"model.adapter.{key}": value for key, value in ({"name": "lora"} | adapter).items()}
        lines |= more
        if lines["optimizer.name"] != "sgd":
            del lines["optimizer.momentum"]
        file = self.folder / "recipe.toml"
        file.write_text("".join(f"{key} = {toml(value)}\n" for key, value in lines.items()))
        return file

    def batches(self, steps=STEPS):
        tokens = torch.tensor(list(TEXT.encode()))
        for step in range(steps):
            starts = [(2 * step + i) * LENGTH for i in range(2)]
            yield torch.stack([tokens[s : s + LENGTH] for s in starts]), torch.stack([tokens[s + 1 : s + LENGTH + 1] for s in starts])

    def test_losses_and_files_are_those_of_peft(self):
        for number, (make, ours, theirs) in enumerate(CASES):
            with self.subTest(make.__name__, **ours):
                name, model = make()
                base, start, out = (self.folder / f"{part}{number}" for part in ("base", "start", "run"))
                model.save_pretrained(base)
                adapted = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **theirs))
                with torch.no_grad():  # B is zero otherwise
                    for parameter in adapted.parameters():
                        if parameter.requires_grad:
                            parameter.add_(torch.randn_like(parameter), alpha=0.02)
                adapted.save_pretrained(start)
                run("run", self.recipe(name, base, ours | {"weights": str(start)}), f"run.dir={out}")
                optimizer = torch.optim.SGD([p for p in adapted.parameters() if p.requires_grad], lr=0.5)
                losses = []
                for x, y in self.batches():
                    loss = torch.nn.functional.cross_entropy(adapted.train()(x).logits.flatten(0, 1), y.flatten())
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.item())
                found = series(out, "train/loss")
                self.assertEqual(len(found), STEPS)
                for a, b in zip(found, losses):
                    self.assertAlmostEqual(a, b, delta=1e-5 * max(1.0, b))

                # PEFT reads the run's adapter, and has the same outputs as after its own training.
                x = next(self.batches(1))[0]
                again = peft.PeftModel.from_pretrained(type(model).from_pretrained(base), out / "adapter").eval()
                with torch.no_grad():
                    self.assert_close(again(x).logits, adapted.eval()(x).logits, "logits", 1e-5)

                # Merged, it is the same model, for us and for transformers.
                done = run("export", out, "--merge", "-o", self.folder / f"merged{number}")
                self.assertIn("differ by at most", done.stdout)
                merged = type(model).from_pretrained(self.folder / f"merged{number}").eval()
                with torch.no_grad():
                    self.assert_close(merged(x).logits, adapted(x).logits, "merged logits", 1e-4)

    def test_only_what_is_trained_is_saved_and_a_run_continues_exactly(self):
        name, model = llama()
        base = self.folder / "base"
        model.save_pretrained(base)
        recipe = self.recipe(name, base, {"dropout": 0.1}, **{"optimizer.name": "adamw", "optimizer.lr": 0.01, "checkpoint.every": "5step", "checkpoint.keep": 10})
        whole, half = self.folder / "whole", self.folder / "half"
        run("run", recipe, f"run.dir={whole}")
        weights = load_file(whole / "model.safetensors")
        self.assertEqual(len(weights), 8)
        self.assertTrue(all("lora_" in name for name in weights), weights.keys())
        self.assertLess(sum(f.stat().st_size for f in (whole / "checkpoints").rglob("model*.safetensors")), 5 * 40_000)
        run("run", recipe, f"run.dir={half}", "train.max_steps=10")
        run("resume", half, f"train.max_steps={STEPS}")
        for key, tensor in load_file(half / "model.safetensors").items():
            self.assertTrue(torch.equal(tensor, weights[key]), key)
        self.assertEqual(series(half, "train/loss"), series(whole, "train/loss"))
        evaluated = json.loads(run("eval", whole, "--json").stdout)["metrics"]
        self.assertAlmostEqual(evaluated["eval/loss"], series(whole, "eval/loss")[-1], delta=1e-6)

        # The weights that it was trained on must be the same.
        with torch.no_grad():
            model.lm_head.weight.add_(1)
        model.save_pretrained(base)
        done = run("resume", half, f"train.max_steps={STEPS + 5}", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("changed", done.stderr)

    def test_ranks(self):
        name, model = llama()
        base = self.folder / "base"
        model.save_pretrained(base)
        recipe = self.recipe(name, base, {"targets": ["*_proj"]}, **{"checkpoint.every": "5step"})
        run("run", recipe, f"run.dir={self.folder / 'one'}")
        expected = series(self.folder / "one", "train/loss")
        for strategy in ("ddp", "zero1", "zero2", "zero3"):
            with self.subTest(strategy):
                out = self.folder / strategy
                run("launch", "-n", "2", recipe, f"run.dir={out}", "loader.batch_size=1", f"distributed.strategy={strategy}", "train.max_steps=10")
                for a, b in zip(series(out, "train/loss"), expected):
                    self.assertAlmostEqual(a, b, delta=1e-5)
                self.assertTrue((out / "adapter" / "adapter_model.safetensors").exists())
                self.assertEqual(set(load_file(out / "model.safetensors")), set(load_file(self.folder / "one" / "model.safetensors")))

    def test_sharded_runs_continue_exactly(self):
        name, model = llama()
        base = self.folder / "base"
        model.save_pretrained(base)
        recipe = self.recipe(name, base, {"targets": ["*_proj"]}, **{"checkpoint.every": "5step", "loader.batch_size": 1, "distributed.strategy": "zero3"})
        whole, half = self.folder / "whole", self.folder / "half"
        run("launch", "-n", "2", recipe, f"run.dir={whole}")
        run("launch", "-n", "2", recipe, f"run.dir={half}", "train.max_steps=10")
        run("launch", "-n", "2", recipe, f"run.dir={half}")
        weights = load_file(whole / "model.safetensors")
        for key, tensor in load_file(half / "model.safetensors").items():
            self.assertTrue(torch.equal(tensor, weights[key]), key)
        self.assertEqual(series(half, "train/loss"), series(whole, "train/loss"))

    def test_bert(self):
        sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": LENGTH, "vocab_size": 257}
        model = transformers.BertForSequenceClassification(transformers.BertConfig(num_labels=2, **sizes))
        base, out = self.folder / "base", self.folder / "run"
        model.save_pretrained(base)
        for name, words in (("a", "good"), ("b", "bad")):
            (self.folder / name).write_text(f"{words} film\n{words} book\n{words} song\n{words} plot\n" * 5)
        lines = {"name": "bert", "layers": 2, "heads": 2, "width": 16, "hidden": 24, "context": LENGTH, "vocabulary": 257, "weights": str(base)}
        lines |= {"adapter.name": "lora", "adapter.modules_to_save": ["classifier"]}
        recipe = {f"model.{key}": value for key, value in lines.items()}
        recipe |= {"dataset.name": "text_classification", "dataset.tokenizer": "byte", "dataset.length": LENGTH, "dataset.files": {"a": str(self.folder / "a"), "b": str(self.folder / "b")}}
        recipe |= {"loss.name": "cross_entropy", "optimizer.name": "adamw", "optimizer.lr": 0.01, "train.max_steps": 5, "loader.batch_size": 4}
        (self.folder / "recipe.toml").write_text("".join(f"{key} = {toml(value)}\n" for key, value in recipe.items()))
        run("run", self.folder / "recipe.toml", f"run.dir={out}")
        there = peft.PeftModel.from_pretrained(transformers.BertForSequenceClassification.from_pretrained(base), out / "adapter")
        ours, theirs = load_file(out / "model.safetensors"), dict(there.named_parameters())
        key = "classifier.modules_to_save.default.weight"
        self.assertTrue(torch.equal(ours["classifier.weight"], theirs[f"base_model.model.{key}"]))

    def refused(self, adapter, base, name="decoder", **more):
        done = run("run", self.recipe(name, base, adapter, **more), f"run.dir={self.folder / 'run'}", check=False)
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_mistakes_are_named(self):
        name, model = llama()
        base, start = self.folder / "base", self.folder / "start"
        model.save_pretrained(base)
        peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", r=4)).save_pretrained(start)
        self.assertIn("model.layers.0.self_attn.q_proj", self.refused({"targets": ["query"]}, base))
        self.assertIn("differs from model.adapter.rank", self.refused({"rank": 8, "weights": str(start)}, base))
        self.assertIn("missing in the folder", self.refused({"targets": ["q_proj", "k_proj"], "weights": str(start)}, base))
        self.assertIn("adapter_config.json", self.refused({"weights": str(base)}, base))
        config = json.loads((start / "adapter_config.json").read_text())
        (start / "adapter_config.json").write_text(json.dumps(config | {"peft_type": "IA3"}))
        self.assertIn("another kind", self.refused({"weights": str(start)}, base))
        (start / "adapter_config.json").write_text(json.dumps(config | {"r": 5}))
        self.assertIn("of another shape", self.refused({"weights": str(start)}, base))


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    unittest.main(warnings="ignore")
