"""gpt, llama and bert against HuggingFace's: files that one writes are read by the other, with the same numbers."""

import json
import shutil
import unittest

import torch
from model_tool import ModelCase
from run_helpers import run
from safetensors.torch import load_file, save_file

try:
    import transformers
except ImportError:
    raise SystemExit(77)  # installed with the other tools of the tests

TOLERANCE = 1e-4
VOCABULARY, LENGTH = 256, 12

GPT = {"name": "gpt", "layers": 2, "heads": 2, "width": 16}
LLAMA = {"name": "llama", "layers": 2, "heads": 4, "key_heads": 2, "width": 16, "hidden": 24}
BERT = {"name": "bert", "layers": 2, "heads": 2, "width": 16, "hidden": 24, "dropout": 0.0}


def gpt_config(**more):
    off = {"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
    return transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=16, n_layer=2, n_head=2, **off, **more)


def llama_config(**more):
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    return transformers.LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=LENGTH, **sizes, **more)


def bert_config(**more):
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return transformers.BertConfig(vocab_size=VOCABULARY, max_position_embeddings=LENGTH, num_labels=3, **sizes, **off, **more)


def randomise(model):
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
    return model


class HuggingFace(ModelCase):
    def tokens(self):
        return torch.randint(1, VOCABULARY, (3, LENGTH), generator=torch.Generator().manual_seed(2))

    def compare(self, settings, model, file="model.safetensors", own=None, mask=None, data=None, **saving):
        """Writes the model, or `own` of it, as its library does; our outputs and gradients on it are its own."""
        theirs, x = self.folder / "theirs", self.tokens()
        shutil.rmtree(theirs, ignore_errors=True)
        (own or model).save_pretrained(theirs, **saving)
        model.train()
        output = model(x, **({"attention_mask": mask} if mask is not None else {})).logits
        gradient = torch.randn(output.shape, generator=torch.Generator().manual_seed(3))
        model.zero_grad()
        output.backward(gradient)
        tensors = {"input": x, "grad_output": gradient}
        if mask is not None:
            tensors["extra/mask"] = mask
        save_file(tensors, self.folder / "in.safetensors")
        out = self.run_tool(
            settings | {"weights": str(theirs / file)},
            data or {"input_shape": [LENGTH], "target_shape": [LENGTH], "vocabulary": VOCABULARY, "classes": VOCABULARY},
            train=True,
            input=str(self.folder / "in.safetensors"),
        )
        self.assert_close(out["output"], output.detach(), "logits", TOLERANCE)
        self.assert_same_gradients(out, model, TOLERANCE)

    def test_gpt2_files_load_here(self):
        model = randomise(transformers.GPT2LMHeadModel(gpt_config()))
        self.compare(GPT, model)
        self.assertNotIn("lm_head.weight", load_file(self.folder / "theirs" / "model.safetensors"))
        self.compare(GPT, model, own=model.transformer)  # GPT2Model, without the head
        self.compare(GPT | {"checkpoint_activations": True}, model)

    def test_gpt2_variants_load_here(self):
        untied = randomise(transformers.GPT2LMHeadModel(gpt_config(tie_word_embeddings=False)))
        self.compare(GPT | {"tied": False}, untied)
        for activation in ("gelu", "relu"):
            self.compare(GPT | {"activation": activation}, randomise(transformers.GPT2LMHeadModel(gpt_config(activation_function=activation))))

    def test_llama_files_load_here(self):
        model = randomise(transformers.LlamaForCausalLM(llama_config()))
        self.compare(LLAMA, model)
        self.compare(LLAMA | {"checkpoint_activations": True}, model)
        rope = {"rope_type": "default", "rope_theta": 500.0}
        tied = randomise(transformers.LlamaForCausalLM(llama_config(tie_word_embeddings=True, rms_norm_eps=1e-3, rope_parameters=rope)))
        self.compare(LLAMA | {"tied": True, "epsilon": 1e-3, "rope_theta": 500.0}, tied)

    def test_folders_and_shards_load_here(self):
        model = randomise(transformers.LlamaForCausalLM(llama_config()))
        self.compare(LLAMA, model, file="")
        self.compare(LLAMA, model, file="", max_shard_size="4KB")
        self.assertGreater(len(list((self.folder / "theirs").glob("model-*.safetensors"))), 2)
        self.compare(LLAMA, model, file="model.safetensors.index.json", max_shard_size="4KB")

    def test_scaled_rotary_positions(self):
        llama3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
        cases = [
            ({"rope_type": "linear", "factor": 4.0}, LENGTH, {"type": "linear", "factor": 4.0}),
            # Longer than it was trained for: only then is anything scaled.
            ({"rope_type": "dynamic", "factor": 2.0}, LENGTH // 2, {"type": "dynamic", "factor": 2.0, "original_context": LENGTH // 2}),
            ({"rope_type": "dynamic", "factor": 2.0}, LENGTH, {"type": "dynamic", "factor": 2.0, "original_context": LENGTH}),
            ({"rope_type": "llama3", "original_max_position_embeddings": 8} | llama3, LENGTH, {"type": "llama3", "original_context": 8} | llama3),
        ]
        for rope, positions, ours in cases:
            with self.subTest(**rope, positions=positions):
                config = llama_config(rope_parameters=rope | {"rope_theta": 50.0})
                config.max_position_embeddings = positions
                self.compare(LLAMA | {"rope_theta": 50.0, "rope_scaling": ours}, randomise(transformers.LlamaForCausalLM(config)))

    def refused(self, config, kind, settings):
        """What a run says that starts from weights with a config.json that the recipe does not fit."""
        folder = self.folder / "pretrained"
        shutil.rmtree(folder, ignore_errors=True)
        kind(config).save_pretrained(folder)
        (self.folder / "text.txt").write_text("To be, or not to be, that is the question. " * 20)
        lines = {f"model.{key}": value for key, value in settings.items()} | {"model.weights": str(folder)}
        lines |= {"dataset.name": "text", "dataset.file": str(self.folder / "text.txt"), "dataset.tokenizer": "byte", "dataset.length": LENGTH}
        lines |= {"loss.name": "lm_cross_entropy", "optimizer.name": "sgd", "optimizer.lr": 0.1, "train.max_steps": 1, "loader.batch_size": 2}
        (self.folder / "recipe.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items()))
        done = run("run", self.folder / "recipe.toml", f"run.dir={self.folder / 'run'}", check=False)
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        return done.returncode, done.stderr

    def test_a_config_that_does_not_fit_is_an_error_that_says_what_to_set(self):
        llama, gpt = transformers.LlamaForCausalLM, transformers.GPT2LMHeadModel
        llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8, "rope_theta": 10000.0}
        cases = [
            (llama_config(rms_norm_eps=1e-5), llama, LLAMA, "model.epsilon = 1e-05"),
            (llama_config(rope_parameters={"rope_type": "default", "rope_theta": 5e5}), llama, LLAMA, "model.rope_theta = 5e+05"),
            (llama_config(rope_parameters=llama3), llama, LLAMA, 'model.rope_scaling = { type = "llama3", factor = 8.0, original_context = 8'),
            (llama_config(hidden_act="gelu"), llama, LLAMA, 'hidden_act = "gelu"'),
            (llama_config(attention_bias=True), llama, LLAMA, "attention_bias = true"),
            (gpt_config(scale_attn_by_inverse_layer_idx=True), gpt, GPT, "scale_attn_by_inverse_layer_idx = true"),
            (gpt_config(activation_function="relu"), gpt, GPT, 'model.activation = "relu"'),
            (gpt_config(layer_norm_epsilon=1e-3), gpt, GPT, "layer_norm_epsilon = 0.001"),
        ]
        for config, kind, settings, expected in cases:
            with self.subTest(expected):
                code, said = self.refused(config, kind, settings)
                self.assertIn(expected, said)
                self.assertIn("config.json", said)
                self.assertNotEqual(code, 0)
        code, said = self.refused(llama_config(), llama, LLAMA)
        self.assertEqual(code, 0, said)

    def test_a_new_recipe_fits_the_weights(self):
        rope = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8, "rope_theta": 5e5}
        (self.folder / "text.txt").write_text("To be, or not to be, that is the question. " * 20)
        for name, model in (
            ("llama", transformers.LlamaForCausalLM(llama_config(rms_norm_eps=1e-5, rope_parameters=rope))),
            ("gpt", transformers.GPT2LMHeadModel(gpt_config(activation_function="relu"))),
        ):
            with self.subTest(name):
                theirs, recipe = self.folder / name, self.folder / f"{name}.toml"
                model.save_pretrained(theirs)
                run("new", "--from", theirs, "-o", recipe, "dataset=text", f"dataset.file={self.folder / 'text.txt'}", "dataset.tokenizer=byte", f"dataset.length={LENGTH}")
                run("run", recipe, "train.max_steps=1", "loader.batch_size=2", f"run.dir={self.folder / 'run'}-{name}")
        (self.folder / "t5").mkdir()
        (self.folder / "t5" / "config.json").write_text('{"model_type": "t5"}')
        done = run("new", "--from", self.folder / "t5", check=False)
        self.assertIn('"t5"', done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_a_new_recipe_has_the_tokenizer_and_the_classes_of_the_folder(self):
        from tokenizers import Tokenizer, models, pre_tokenizers

        folder, recipe, text = self.folder / "theirs", self.folder / "new.toml", self.folder / "text.txt"
        text.write_text("to be or not to be that is the question " * 20)
        words = {word: i for i, word in enumerate(["[UNK]", "to", "be", "or", "not", "that", "is", "the", "question"])}
        tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        transformers.GPT2LMHeadModel(gpt_config()).save_pretrained(folder)
        tokenizer.save(str(folder / "tokenizer.json"))
        run("new", "--from", folder, "-o", recipe, f"dataset.file={text}", f"dataset.length={LENGTH}")
        written = run("show", recipe).stdout
        self.assertIn(str(folder / "tokenizer.json"), written)
        self.assertNotIn("trained with", run("check", "--deep", recipe).stderr)
        # Another tokenizer gives other tokens the numbers of these.
        said = run("check", "--deep", recipe, 'dataset.tokenizer={ name = "byte" }', "model.vocabulary=256").stderr
        self.assertEqual(said, "")  # as many tokens as the weights have
        said = run("check", "--deep", recipe, 'dataset.tokenizer={ name = "char" }').stderr
        self.assertIn("a token means another word", said)
        self.assertIn(str(folder / "tokenizer.json"), said)

        shutil.rmtree(folder)
        config = bert_config()
        config.vocab_size, config.num_labels, config.id2label = 257, 2, {0: "positive", 1: "negative"}  # and padding
        transformers.BertForSequenceClassification(config).save_pretrained(folder)
        for name in ("negative", "positive"):
            (self.folder / name).write_text(f"{name} film\n" * 8)
        files = [f"dataset.files.{name}={self.folder / name}" for name in ("negative", "positive")]
        done = run("new", "--from", folder, "-o", recipe, "-f", "dataset.tokenizer=byte", f"dataset.length={LENGTH}", "~dataset.file", *files)
        self.assertIn("positive, negative", done.stderr)
        done = run("check", "--deep", recipe, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("another's name", done.stderr)
        run("check", "--deep", recipe, 'model.replace=["classifier"]')
        for name, other in (("negative", "b"), ("positive", "a")):
            (self.folder / name).rename(self.folder / other)
        out = self.folder / "run"
        run("run", recipe, "~dataset.files", f"dataset.files.a={self.folder / 'a'}", f"dataset.files.b={self.folder / 'b'}", "train.max_steps=1", "loader.batch_size=2", f"run.dir={out}")
        self.assertEqual(json.loads((out / "config.json").read_text())["id2label"], {"0": "a", "1": "b"})

    def test_messages_say_what_helps(self):
        folder, recipe = self.folder / "theirs", self.folder / "new.toml"
        config = bert_config()
        config.vocab_size = 257  # with padding
        transformers.BertModel(config).save_pretrained(folder)  # without the head
        for name in ("a", "b"):
            (self.folder / name).write_text(f"{name} film\n" * 8)
        files = [f"dataset.files.{name}={self.folder / name}" for name in ("a", "b")]
        run("new", "--from", folder, "-o", recipe, "dataset.tokenizer=byte", f"dataset.length={LENGTH}", "~dataset.file", *files)
        said = run("check", "--deep", recipe, check=False).stderr
        self.assertIn('model.replace = ["classifier"]', said)
        run("check", "--deep", recipe, 'model.replace=["classifier"]')
        said = run("check", "--deep", recipe, "model.weights=nowhere.safetensors", check=False).stderr
        self.assertIn("nowhere.safetensors", said)

        shutil.rmtree(folder)
        transformers.GPT2LMHeadModel(gpt_config(activation_function="gelu_pytorch_tanh")).save_pretrained(folder)
        (self.folder / "text.txt").write_text("To be, or not to be, that is the question. " * 20)
        run("new", "--from", folder, "-o", recipe, "-f", f"dataset.file={self.folder / 'text.txt'}", "dataset.tokenizer=byte", f"dataset.length={LENGTH}")
        run("check", "--deep", recipe)
        (folder / "config.json").write_text('{"model_type": "distilbert", "n_layers": 6}')
        said = run("check", "--deep", recipe, check=False).stderr
        self.assertIn("distilbert", said)
        self.assertNotIn("model.layers", said)
        said = run("new", "--from", folder, check=False).stderr
        for kind in ("bert", "gpt2", "llama", "mistral"):
            self.assertIn(kind, said)

    def test_bert_files_load_here(self):
        model = randomise(transformers.BertForSequenceClassification(bert_config()))
        data = {"input_shape": [LENGTH], "vocabulary": VOCABULARY, "classes": 3}
        mask = torch.ones(3, LENGTH, dtype=torch.int64)
        mask[1, 7:] = 0
        mask[2, 1:] = 0
        for checkpoint in (False, True):
            settings = BERT | {"padding": 0, "checkpoint_activations": checkpoint}
            self.compare(settings, model, data=data)
            self.compare(settings, model, data=data, mask=mask)

    def trained(self, settings, dataset, loss):
        """A few steps of a real run; the folder with what it saved."""
        recipe = {f"model.{key}": value for key, value in settings.items()} | {f"dataset.{key}": value for key, value in dataset.items()}
        recipe |= {"loss.name": loss, "optimizer.name": "sgd", "optimizer.lr": 0.1, "train.max_steps": 3, "loader.batch_size": 2}
        (self.folder / "recipe.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in recipe.items()))
        folder = self.folder / f"run{len(list(self.folder.glob('run*')))}"
        run("run", self.folder / "recipe.toml", f"run.dir={folder}")
        return folder

    def load_there(self, kind, config, settings, folder, data):
        config.save_pretrained(folder)
        model, report = kind.from_pretrained(folder, output_loading_info=True)
        self.assertFalse(any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), report)
        save_file({"input": self.tokens()}, self.folder / "in.safetensors")
        out = self.run_tool(settings | {"weights": str(folder / "model.safetensors")}, data, input=str(self.folder / "in.safetensors"))
        with torch.no_grad():
            self.assert_close(out["output"], model.eval()(self.tokens()).logits, "logits", TOLERANCE)

    def test_language_models_trained_here_load_there(self):
        (self.folder / "text.txt").write_text("To be, or not to be, that is the question. " * 20)
        dataset = {"name": "text", "file": str(self.folder / "text.txt"), "tokenizer": "byte", "length": LENGTH}
        data = {"input_shape": [LENGTH], "target_shape": [LENGTH], "vocabulary": VOCABULARY, "classes": VOCABULARY}
        for kind, config, settings in (
            (transformers.GPT2LMHeadModel, gpt_config(), GPT),
            (transformers.LlamaForCausalLM, llama_config(), LLAMA),
            (transformers.LlamaForCausalLM, llama_config(tie_word_embeddings=True), LLAMA | {"tied": True}),
        ):
            with self.subTest(**settings):
                self.load_there(kind, config, settings, self.trained(settings, dataset, "lm_cross_entropy"), data)

    def test_a_classifier_trained_here_loads_there(self):
        dataset = {"name": "text_classification", "tokenizer": "byte", "length": LENGTH}
        for name, words in (("a", "good"), ("b", "bad"), ("c", "no")):
            (self.folder / name).write_text(f"{words} film\n{words} book\n{words} song\n")
            dataset[f"files.{name}"] = str(self.folder / name)
        folder = self.trained(BERT, dataset, "cross_entropy")
        config = bert_config()
        config.vocab_size = len(load_file(folder / "model.safetensors")["bert.embeddings.word_embeddings.weight"])
        data = {"input_shape": [LENGTH], "vocabulary": config.vocab_size, "classes": 3}
        self.load_there(transformers.BertForSequenceClassification, config, BERT, folder, data)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    unittest.main(warnings="ignore")
