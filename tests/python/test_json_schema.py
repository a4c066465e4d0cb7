"""The JSON Schema of recipes: accepted by a real validator, and of one mind with `runner check`."""

import json
import sys
import tomllib
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
import jsonschema
from program import BINARY, ROOT, run

ERRORS = ROOT / "tests/cli/errors"

# Mistakes that one file's schema cannot see: rules across keys, and what is in other files or variables.
BEYOND_A_SCHEMA = {
    "best_by_what_nothing_measures", "best_in_the_wrong_direction", "best_without_prefix", "best_without_metrics", "same_metric_twice",
    "warmup_longer_than_the_run", "warmup_longer_than_the_steps", "no_limit", "unknown_device", "device_without_colon",
    "run_name_with_slash", "run_name_too_long", "two_equal_trackers", "rule_across_fields", "prefetch_without_workers",
    "extends_missing_file", "extends_circle", "mistake_in_the_base",
    "reference_to_nothing", "reference_circle", "reference_unfinished", "reference_of_the_wrong_type", "variable_not_set",
}

# What only a schema with all its branches gets right; the key says what is tried.
RIGHT = """
[run]
seed = 1
[model]
name = "simple_cnn"
[dataset]
name = "shapes"
[optimizer]
name = "sgd"
[train]
max_steps = 10
"""
SNIPPETS_RIGHT = {
    "nothing but what is needed": RIGHT,
    "parts as bare names": 'model = "simple_cnn"\ndataset = "shapes"\noptimizer = "sgd"\n[train]\nepochs = 1\n',
    "references for values": RIGHT + '[loader]\nbatch_size = "${run.seed}"\n[eval]\nevery = "${train.log_every}"\n[[tracker]]\nname = "${env:NAME:csv}"\n',
    "whole numbers as floats": RIGHT.replace("max_steps = 10", "max_steps = 1e3"),
    "durations": RIGHT + '[eval]\nevery = "0.25run"\n[scheduler]\nname = "constant"\nwarmup = "0step"\n',
    "lists of parts": RIGHT + '[[tracker]]\nname = "csv"\n[[hook]]\nname = "early_stop"\nmetric = "eval/accuracy"\n[[eval.metric]]\nname = "accuracy"\n',
    "a list of names": RIGHT + '[eval]\nmetric = ["accuracy", { name = "loss" }]\n',
    "the default part, not named": RIGHT + '[loss]\nlabel_smoothing = 0.1\n[scheduler]\nwarmup = "2step"\n',
    "parameter groups": RIGHT + '[[optimizer.group]]\nmatch = "*.bias"\nlr_multiplier = 2\n',
}
SNIPPETS_WRONG = {
    "no model": RIGHT.replace('[model]\nname = "simple_cnn"\n', ""),
    "a parameter of another part": RIGHT.replace('name = "sgd"', 'name = "sgd"\nbetas = [0.9, 0.99]'),
    "what the default part does not have": RIGHT + '[loss]\ndelta = 0.1\n',
    "a name in a list that is none": RIGHT + '[eval]\nmetric = ["acuracy"]\n',
    "an element without a name": RIGHT + "[[tracker]]\ndir = 'x'\n",
    "zero where it must be above": RIGHT + '[eval]\nevery = "0ep"\n',
    "a unit that is not allowed": RIGHT + '[scheduler]\nname = "constant"\nwarmup = "5min"\n',
    "a list for a table": RIGHT + "loader = []\n".replace("loader", "[loader]\nbatch_size"),
    "a boolean for a number": RIGHT.replace("max_steps = 10", "max_steps = true"),
}


class JsonSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = run("schema")
        assert done.returncode == 0, done.stderr
        cls.schema = json.loads(done.stdout)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def accepts(self, text):
        return self.validator.is_valid(tomllib.loads(text))

    def verdicts(self, files):
        """What `runner check` says of each file."""
        report = json.loads(run("check", "--json", *map(str, files), cwd=ERRORS).stdout)
        return {Path(entry["recipe"]).name: entry["ok"] for entry in report["recipes"]}

    def test_a_real_validator_accepts_it(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)
        self.assertEqual(self.schema["$schema"], "https://json-schema.org/draft/2020-12/schema")

    def test_every_reference_leads_somewhere(self):
        from urllib.parse import unquote

        def references(node):
            if isinstance(node, dict):
                if isinstance(node.get("$ref"), str):
                    yield node["$ref"]
                node = list(node.values())
            if isinstance(node, list):
                for item in node:
                    yield from references(item)

        found = set(references(self.schema))
        self.assertGreater(len(found), 20)
        for reference in found:
            name = unquote(reference.removeprefix("#/$defs/")).replace("~1", "/")
            self.assertIn(name, self.schema["$defs"])
            self.assertIsInstance(self.schema["$defs"][name], dict, name)

    def test_editors_find_documentation(self):
        sgd = self.schema["$defs"]["optimizer/sgd"]
        self.assertIn("learning rate", sgd["properties"]["lr"]["description"].lower())
        self.assertEqual(sgd["properties"]["lr"]["default"], json.loads(run("describe", "optimizer", "sgd", "--json").stdout)["parameters"][0]["default"])

    def test_recipes_that_come_with_the_program(self):
        files = sorted((ROOT / "recipes").glob("*.toml"))
        self.assertTrue(files)
        for file in files:
            problems = [error.message for error in self.validator.iter_errors(tomllib.loads(file.read_text()))]
            self.assertEqual(problems, [], file)

    def test_it_agrees_with_check_on_mistakes(self):
        files = [file for file in sorted(ERRORS.glob("*.toml")) if not file.read_text().startswith(("# arguments", "# environment"))]
        verdicts = self.verdicts(files)
        compared = 0
        for file in files:
            try:
                accepted = self.accepts(file.read_text())
            except tomllib.TOMLDecodeError:
                self.assertFalse(verdicts[file.name], file)
                continue
            expected = verdicts[file.name] or file.stem in BEYOND_A_SCHEMA
            with self.subTest(file.stem):
                self.assertEqual(accepted, expected)
            compared += 1
        self.assertGreaterEqual(compared, 40)

    def test_it_agrees_with_check_on_snippets(self):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            files = {}
            for name, text in {**SNIPPETS_RIGHT, **SNIPPETS_WRONG}.items():
                files[name] = Path(folder) / (name.replace(" ", "_") + ".toml")
                files[name].write_text(text)
            verdicts = self.verdicts(files.values())
        for name, text in {**SNIPPETS_RIGHT, **SNIPPETS_WRONG}.items():
            with self.subTest(name):
                self.assertEqual(verdicts[name.replace(" ", "_") + ".toml"], name in SNIPPETS_RIGHT)
                self.assertEqual(self.accepts(text), name in SNIPPETS_RIGHT)


if __name__ == "__main__":
    if not BINARY.exists():
        print(f"skipped: {BINARY} is not built")
        sys.exit(77)
    unittest.main()
