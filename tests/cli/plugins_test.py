"""Plugins as a user meets them: built against an installed copy, named in recipes, refused when they do not fit. One, a model, is
built by `runner plugin build`; those of all other kinds, a plugin with a kind of its own, and programs of examples/ in one
CMake project (plugin_project/), which takes a third of the time. RUNNER_THOROUGH=1 builds all programs, and all with g++, too.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from plugin_build import CLANG, COMPILERS, KINDS, PREFIX, THOROUGH, WORK, build_with, compile, install, run, section
from program import ROOT, environment


def need(tool):
    if not shutil.which(tool):
        print(f"skipped: {tool} is not installed")
        sys.exit(77)


class Plugins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        install()
        for compiler in COMPILERS:
            build_with(compiler)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(dir=WORK))
        self.addCleanup(shutil.rmtree, self.folder)

    def library(self, kind):
        return WORK / CLANG / kind / f"libmy_{kind}.so"

    def recipe(self, *lines, name="recipe.toml"):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / "examples/plugin/model/my_model.toml").read_text().replace('plugins = ["libmy_model.so"]', "\n".join(lines))
        file.write_text(text)
        return file

    def refused(self, outcome, *wanted):
        self.assertEqual(outcome.returncode, 2, outcome.stdout + outcome.stderr)
        for text in wanted:
            self.assertIn(text, outcome.stderr)

    def stamped(self, source, name="libmade.so"):
        """A plugin of a few lines that need no header; its stamp is the model example's."""
        (self.folder / "made.cpp").write_text(source)
        stamp = next((WORK / CLANG / "model/build").rglob("plugin_stamp.cpp.o"))
        compile(self.folder / "made.cpp", stamp, "-o", self.folder / name)
        return self.folder / name

    def renamed(self, number):
        """A plugin of its own with the model m<number>_model. (The end of the name is also the name of the kind.)"""
        library = self.folder / f"libm{number}_model.so"
        library.write_bytes(self.library("model").read_bytes().replace(b"my_model\0", b"m%d_model\0" % number))
        return library

    def test_there_is_an_example_of_every_kind(self):
        kinds = run("list", "--json").stdout
        self.assertEqual(KINDS, sorted({component["kind"] for component in json.loads(kinds)}))

    def test_every_kind_trains(self):
        for compiler in COMPILERS:
            for kind in KINDS:
                with self.subTest(compiler=compiler, kind=kind):
                    folder = WORK / compiler / kind
                    done = run(f"my_{kind}.toml", "run.dir=runs/one", "dataset.train_limit=200", "dataset.eval_limit=100", cwd=folder)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(f"my_{kind}@1", (folder / "runs/one/recipe.toml").read_text())
                    if kind == "tracker":
                        self.assertIn("train/loss", (folder / "runs/one/measurements.txt").read_text())
                    if kind == "dataset":
                        found = run("data", "my_dataset.toml", "--json", cwd=folder)
                        self.assertEqual(found.returncode, 0, found.stderr)
                        self.assertEqual([each["examples"] for each in json.loads(found.stdout)["sets"]], [4000, 500])
                    if kind == "metric":
                        self.assertIn("eval/my_metric", (folder / "runs/one/metrics.jsonl").read_text())

    def test_a_new_kind_is_there_like_the_others(self):
        folder = WORK / CLANG / "new_kind"
        plugin = ["--plugin", folder / "libpoints.so"]
        self.assertIn("ring", run("list", "sampler", *plugin).stdout)
        self.assertIn("Inner radius.", run("describe", "sampler", "ring", *plugin).stdout)
        self.assertIn("sampler/ring", json.loads(run("schema", *plugin).stdout)["$defs"])
        self.assertIn("square", run("__complete", *plugin, "--", "describe", "sampler", "sq").stdout)
        recipe = folder / "points.toml"
        self.refused(run("check", recipe, "dataset.sampler=rnig"), 'unknown sampler "rnig"', 'did you mean "ring"?')
        self.refused(run("check", recipe, "dataset.sampler.iner=1"), 'did you mean "inner"?')
        self.refused(run("check", recipe, "dataset.sampler.inner=9"), "must be below outer")
        for sampler in ("ring", "square"):
            done = run(recipe, f"dataset.sampler={sampler}", f"run.dir={self.folder / sampler}", "train.epochs=1")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"{sampler}@1", (self.folder / sampler / "recipe.toml").read_text())

    def test_ten_plugins_are_each_loaded_once_and_nothing_with_them(self):
        recipe = self.recipe('plugins = ["m0_model"]')
        recipe.write_text(recipe.read_text().replace('"my_model"', '"m3_model"'))
        for number in range(10):
            self.renamed(number)

        def initialised(*words):
            """What the dynamic linker initialised, in order."""
            done = run("check", *words, LD_DEBUG="files")
            self.assertEqual(done.returncode, 0, done.stderr)
            return re.findall(r"calling init: (\S+)", done.stderr)

        plain = self.recipe(name="plain.toml")
        plain.write_text(plain.read_text().replace('"my_model"', '"mlp"').replace("width", "#"))
        without, with_ten = initialised(plain), initialised(recipe, "--plugin", self.folder)
        self.assertEqual(sorted(set(with_ten) - set(without)), sorted(str(file) for file in self.folder.glob("*.so")))
        self.assertEqual(len(with_ten), len(without) + 10)

    def test_a_run_keeps_its_plugins(self):
        shutil.copy(self.library("model"), self.folder)
        recipe = self.recipe('plugins = ["libmy_model.so"]')
        done = run(recipe, "run.dir=kept", "train.max_steps=2", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = json.loads((self.folder / "kept/plugins.json").read_text())
        checksum = hashlib.sha256(self.library("model").read_bytes()).hexdigest()
        self.assertEqual([entry["sha256"] for entry in kept], [checksum])
        self.assertEqual(kept[0]["components"], ["model my_model@1"])
        self.assertIn(checksum, (self.folder / "kept/log.txt").read_text())
        (self.folder / "libmy_model.so").unlink()  # the copy is enough
        measured = run("eval", "kept", cwd=self.folder)
        self.assertEqual(measured.returncode, 0, measured.stderr)
        checkpoint = next((self.folder / "kept/checkpoints").glob("step-*"))
        self.assertIn("my_model@1", (checkpoint / "recipe.toml").read_text())
        versions = json.loads((checkpoint / "manifest.json").read_text())["versions"]
        self.assertEqual([versions["plugin " + Path(one["file"]).name] for one in kept], ["sha256 " + one["sha256"] for one in kept])
        (self.folder / "kept/plugins/libmy_model.so").unlink()
        for command in ("eval", "resume"):
            self.refused(run(command, "kept", cwd=self.folder), 'there is no plugin "plugins/libmy_model.so"')

    def test_trials_of_a_sweep_get_the_plugins_of_the_command_line(self):
        done = run("sweep", self.recipe(), "run.seed=range(0,1)", "train.max_steps=2", "--metric", "eval/accuracy", "--plugin", self.library("model"),
                   "--dir", self.folder / "s")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("my_model@1", (self.folder / "s/trials/0000/recipe.toml").read_text())

    def test_a_run_that_continues_with_another_build_says_so(self):
        shutil.copy(self.library("model"), self.folder)
        recipe = self.recipe('plugins = ["libmy_model.so"]')
        self.assertEqual(run(recipe, "run.dir=kept", "train.max_steps=2", cwd=self.folder).returncode, 0)
        with (self.folder / "libmy_model.so").open("ab") as library:
            library.write(b"\0")
        continued = run("resume", "kept", "train.max_steps=4", "--plugin", "libmy_model.so", cwd=self.folder)
        self.assertEqual(continued.returncode, 0, continued.stderr)
        self.assertIn("continues with a different build", continued.stderr)
        checksum = hashlib.sha256((self.folder / "libmy_model.so").read_bytes()).hexdigest()
        self.assertEqual([entry["sha256"] for entry in json.loads((self.folder / "kept/plugins.json").read_text())], [checksum])

    def test_what_is_loaded_is_said_whether_it_is_used_or_not(self):
        shutil.copy(self.library("model"), self.folder)
        recipe = self.recipe('plugins = ["libmy_model.so"]')
        unused = self.library("loss")
        self.assertEqual(run(recipe, "run.dir=kept", "train.max_steps=2", "--plugin", unused, cwd=self.folder).returncode, 0)
        entry = next(entry for entry in json.loads((self.folder / "kept/plugins.json").read_text()) if "file" not in entry)
        self.assertEqual(entry, {"from": str(unused), "sha256": hashlib.sha256(unused.read_bytes()).hexdigest(), "components": []})
        self.assertIn(f"{entry['sha256']}: loaded, not used", (self.folder / "kept/log.txt").read_text())

    def test_two_used_plugins_with_one_file_name(self):
        for number, place in enumerate(("a", "b")):
            (self.folder / place).mkdir()
            self.renamed(number).rename(self.folder / place / "libmine.so")
        recipe = self.recipe('plugins = ["a/libmine.so", "b/libmine.so"]')
        recipe.write_text(recipe.read_text().replace('"my_model"', '"m0_model"'))
        one = run(recipe, "run.dir=one", "train.max_steps=2", cwd=self.folder)
        self.assertEqual(one.returncode, 0, one.stderr)  # only one of them is used
        recipe.write_text(recipe.read_text() + '[loss]\nname = "distillation"\nteacher = { name = "m1_model", width = 32, weights = "one/model.safetensors" }\n')
        both = run(recipe, "run.dir=both", "train.max_steps=2", cwd=self.folder)
        self.assertNotEqual(both.returncode, 0)
        self.assertIn("which have the same name: rename one of them", both.stderr)

    def test_it_is_there_like_a_built_in(self):
        plugin = ["--plugin", self.library("model")]
        self.assertIn("my_model", run("list", "model", *plugin).stdout)
        self.assertIn("my_model", run("list", "model", RUNNER_PLUGIN_PATH=str(self.library("model").parent)).stdout)
        self.assertNotIn("my_model", run("list", "model").stdout)
        self.assertIn("Units of the hidden layer.", run("describe", "model", "my_model", *plugin).stdout)
        schema = json.loads(run("schema", *plugin).stdout)
        self.assertIn("model/my_model", schema["$defs"])
        self.assertIn("my_model@1", json.dumps(schema["$defs"]["model"]))
        self.assertIn("my_model", run("__complete", *plugin, "--", "describe", "model", "my").stdout)
        recipe = self.recipe(name="plain.toml")
        self.refused(run("check", recipe), 'unknown model "my_model"')
        self.assertEqual(run("check", recipe, *plugin).returncode, 0)
        self.refused(run("check", recipe, "model=my_modle", *plugin), 'did you mean "my_model"?')
        self.refused(run("check", recipe, "model.widht=3", *plugin), 'did you mean "width"?')
        written = run("new", recipe, "-o", self.folder / "new.toml", *plugin)
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertIn("Units of the hidden layer.", (self.folder / "new.toml").read_text())
        (self.folder / "recipe.toml").write_text(f'plugins = ["libmy_model.so"]\n{recipe.read_text()}')
        shutil.copy(self.library("model"), self.folder)
        completed = run("__complete", "--", "check", "recipe.toml", "model.", cwd=self.folder)
        self.assertIn("model.width=", completed.stdout)

    def test_recipes_beside_a_plugin_are_found_by_name(self):
        shutil.copy(self.library("model"), self.folder)
        self.recipe('plugins = ["libmy_model.so"]', name="recipes/brought.toml")
        listed = run("list", "recipes", RUNNER_PLUGIN_PATH=str(self.folder))
        self.assertIn("brought", listed.stdout)
        self.assertIn("A model from a plugin", listed.stdout)
        done = run("brought", "--dry-run", "--plugin", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_recipe_from_standard_input(self):
        text = self.recipe().read_text()
        self.assertEqual(run("check", "-", "--plugin", self.library("model"), stdin=text).returncode, 0)
        done = run("-", "--dry-run", "--plugin", self.library("model"), "model.width=4", stdin=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refused(run("-", stdin="[run"), "standard input:1")

    def test_what_a_recipe_may_load(self):
        shutil.copytree(self.library("model").parent, self.folder / "elsewhere", ignore=shutil.ignore_patterns("build", "runs"))
        outside = self.folder / "elsewhere/libmy_model.so"
        own = self.folder / "own"
        cases = {
            "absolute": (str(outside), "an absolute path"),
            "upwards": ("../elsewhere/libmy_model.so", "which is outside the recipe's folder"),
            "upwards and back": ("sub/../../elsewhere/libmy_model.so", "which is outside the recipe's folder"),
            "a link": ("link.so", "a symlink that points outside"),
            "a linked folder": ("linked/libmy_model.so", "a symlink that points outside"),
            "the default of a variable": (f"${{env:NOPE:{outside}}}", "an absolute path"),
            "missing": ("libmy_modle.so", 'there is no plugin "libmy_modle.so"'),
        }
        own.mkdir()
        (own / "link.so").symlink_to(outside)
        (own / "linked").symlink_to(outside.parent)
        for case, (name, message) in cases.items():
            with self.subTest(case):
                recipe = self.recipe(f'plugins = ["{name}"]', name="own/recipe.toml")
                self.refused(run("check", recipe), message, "recipe.toml:", "--plugin")
        for case, line, variables in (("a list in a default", f"""plugins = '${{env:NOPE:["{outside}"]}}'""", {}),
                                      ("a list in a variable", "plugins = '${env:LIST}'", {"LIST": f'["{outside}"]'}),
                                      ("by another key", f"""other = '${{env:NOPE:["{outside}"]}}'\nplugins = '${{other}}'""", {})):
            with self.subTest(case):
                recipe = self.recipe(line, name="own/recipe.toml")
                self.refused(run("check", recipe, **variables), "an absolute path", "--plugin")
        recipe = self.recipe('plugins = ["my_model"]', name="own/recipe.toml")
        for allowed in (dict(RUNNER_PLUGIN_PATH=str(outside.parent)), dict(RUNNER_PLUGIN_PATH=str(outside))):
            self.assertEqual(run("check", recipe, **allowed).returncode, 0)
        self.assertEqual(run("check", recipe, "--plugin", outside).returncode, 0)
        self.assertEqual(run("check", recipe, f'plugins=["{outside}"]').returncode, 0)  # the user typed it
        # A file that the recipe extends trusts no other folder than the recipe does.
        base = self.recipe('plugins = ["libmy_model.so"]', name="elsewhere/base.toml")
        (own / "child.toml").write_text(f'extends = "{base}"\n')
        self.refused(run("check", own / "child.toml"), f"in {base}, which is outside the recipe's folder", "--plugin")
        self.assertEqual(run("check", own / "child.toml", "--plugin", outside).returncode, 0)
        self.assertEqual(run("check", base).returncode, 0)
        shutil.copytree(outside.parent, own / "below")
        (own / "child.toml").write_text('extends = "below/base.toml"\n')
        self.assertEqual(run("check", own / "child.toml").returncode, 0)
        # The folder of standard input is the current one.
        text = base.read_text()
        self.assertEqual(run("check", "-", stdin=text, cwd=outside.parent).returncode, 0)
        self.refused(run("check", "-", stdin=text, cwd=self.folder), "there is no plugin")

    def test_stamps_that_do_not_fit(self):
        original = self.library("model").read_bytes()
        at, size = section(self.library("model"))
        # Places in the stamp: magic 0, size 16, interface 20, runner 24, libtorch 40, compiler 56, library 104, build 128.
        forgeries = {
            "magic": (0, b"something", "its stamp was not written by runner"),
            "size": (16, struct.pack("<I", 7), "its stamp has a wrong size"),
            "interface": (20, struct.pack("<I", 99), "was built for interface version 99, this program for interface version"),
            "libtorch": (40, b"1.0.0\0", "was built with LibTorch 1.0.0, this program with LibTorch"),
            "library": (104, b"libc++\0", "was built with the C++ library libc++"),
            "build": (128, b"with assertions\0", "was built with assertions, this program without assertions"),
            "a type": (152 + 24, struct.pack("<I", 5), "was built from other headers"),
        }
        for case, (offset, content, message) in forgeries.items():
            with self.subTest(case):
                forged = bytearray(original)
                forged[at + offset:at + offset + len(content)] = content
                (self.folder / "forged.so").write_bytes(forged)
                self.refused(run("list", "model", "--plugin", self.folder / "forged.so"), "forged.so", message)
        compiler = bytearray(original)  # g++ and clang fit together
        compiler[at + 56:at + 60] = b"g++\0"
        (self.folder / "other.so").write_bytes(compiler)
        self.assertEqual(run("list", "model", "--plugin", self.folder / "other.so").returncode, 0)
        shown = run("plugin", "show", self.folder / "forged.so")
        self.assertIn("no: it was built from other headers", shown.stdout)

    def test_a_plugin_that_does_not_fit_does_not_block_its_repair(self):
        library = self.folder / "old.so"
        library.write_bytes(self.library("model").read_bytes()[:5000])
        broken = dict(RUNNER_PLUGIN_PATH=str(library))
        self.refused(run("list", **broken), "old.so")
        for words in (("plugin", "new", "mine", "--output", self.folder / "mine"), ("env",), ("completions", "bash"), ("--version",)):
            with self.subTest(words):
                done = run(*words, **broken)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_files_that_are_no_plugins(self):
        original = self.library("model").read_bytes()
        (self.folder / "text.so").write_text("not a library\n")
        (self.folder / "empty.so").write_bytes(b"")
        (self.folder / "arm.so").write_bytes(original[:18] + struct.pack("<H", 0xB7) + original[20:])
        (self.folder / "object.so").write_bytes(original[:16] + struct.pack("<H", 1) + original[18:])
        self.stamped("")
        shutil.copy(next(PREFIX.rglob("librunner_registry.so")), self.folder / "library.so")
        for name, message in {"text.so": "is not a shared library", "empty.so": "empty", "missing.so": "missing.so",
                              "arm.so": "another kind of processor", "object.so": "another kind of ELF file",
                              "library.so": "it has no stamp", "libmade.so": "registers no component"}.items():
            with self.subTest(name):
                self.refused(run("list", "--plugin", self.folder / name), name, message)
        size = len(original)
        cuts = (1, 63, 64, 4096, size - 1) + ((3, 4, 20, 200, size // 2, size - 4096, size - 64) if THOROUGH else ())
        for cut in cuts:
            with self.subTest(cut=cut):
                (self.folder / "cut.so").write_bytes(original[:cut])
                self.refused(run("list", "--plugin", self.folder / "cut.so"), "cut.so")

    def test_a_plugin_that_failed_fails_again(self):
        self.stamped("int missing(); int got = missing();")
        recipe = self.recipe('plugins = ["libmade.so"]')
        checked = run("check", recipe, RUNNER_PLUGIN_PATH=str(self.folder))
        self.refused(checked, "libmade.so cannot be loaded", "; skipping it", "recipe.toml:")
        self.assertNotIn("unknown model", checked.stderr)

    def test_plugins_that_fail_while_they_register(self):
        plugin = self.stamped("int missing(); int got = missing();")
        self.refused(run("list", "--plugin", plugin), "libmade.so cannot be loaded", "undefined symbol", "runner plugin build")
        plugin = self.stamped("struct Bad { Bad() { throw 1; } } bad;")
        thrown = run("list", "--plugin", plugin)
        self.assertNotEqual(thrown.returncode, 0)
        self.assertIn("libmade.so", thrown.stderr)
        plugin = self.stamped("struct Bad { Bad() { *(volatile int*)0 = 1; } } bad;")
        crashed = run("list", "--plugin", plugin)
        self.assertLess(crashed.returncode, 0)
        self.assertIn("libmade.so crashed while being loaded", crashed.stderr)

    def test_plugins_that_end_the_program_while_they_register(self):
        ended = run("list", "--plugin", self.stamped("#include <cstdlib>\nstruct Bad { Bad() { std::exit(0); } } bad;"))
        self.assertIn("libmade.so ended the program while being loaded", ended.stderr)

    def broken(self, kind, way):
        """A run whose component of that kind cannot be built."""
        recipe, component = ROOT / "recipes/shapes.toml", f'{{name="broken",way="{way}"}}'
        if kind == "tokenizer":
            recipe, change = ROOT / "examples/plugin/tokenizer/my_tokenizer.toml", [f"dataset.tokenizer={component}", "~plugins"]
            (self.folder / "text.txt").write_text("some text, again and again. " * 50)
            change += [f"dataset.file={self.folder / 'text.txt'}", "~dataset.fallback"]
        else:
            lists = {"hook": "hook", "tracker": "tracker", "metric": "eval.metric", "transform": "dataset.transform"}
            change = [f"{lists[kind]}+={component}" if kind in lists else f"{kind}={component}"]
            change += ["dataset.train=64", "dataset.eval=64"] if kind != "dataset" else []
        return run(recipe, "--plugin", WORK / CLANG / "broken/libbroken.so", *change, "train.epochs=1", f"run.dir={self.folder / kind}-{way}")

    def test_components_that_cannot_be_built_are_named(self):
        for number, kind in enumerate(KINDS):
            ways = {"number": "it threw an exception of type int", "nothing": "build() returned nullptr"}
            for way in ways if THOROUGH else [list(ways)[number % 2]]:
                with self.subTest(kind=kind, way=way):
                    self.refused(self.broken(kind, way), f'{kind} "broken" could not be built: {ways[way]}')
        self.refused(self.broken("loss", "error"), "the width must be even")
        self.refused(self.broken("loss", "bug"), 'loss "broken" could not be built: ')
        ended = self.broken("loss", "exit")
        self.assertEqual(ended.returncode, 3)
        self.assertIn('loss "broken" ended the program while it was being built: it called exit()', ended.stderr)

    def test_a_plugin_that_throws_while_training_leaves_a_failed_run(self):
        done = run(ROOT / "recipes/shapes.toml", "--plugin", WORK / CLANG / "broken/libbroken.so", "hook+=thrower", "dataset.train=64",
                   "dataset.eval=64", f"run.dir={self.folder / 'run'}")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("A component threw an exception of type int", done.stderr)
        self.assertEqual(json.loads((self.folder / "run/result.json").read_text())["outcome"], "failed")
        # Its static objects outlive its components, and what they print is not the program's affair.
        self.assertTrue(done.stderr.endswith("farewell of the plugin, 0 alive\n"), done.stderr)

    def test_two_plugins_with_one_component(self):
        first, second = self.folder / "first.so", self.folder / "second.so"
        shutil.copy(self.library("model"), first)
        second.write_bytes(self.library("model").read_bytes() + b"\0")  # another file with the same components
        both = run("list", "--plugin", first, "--plugin", second)
        self.assertNotEqual(both.returncode, 0)
        for text in ('the model "my_model" is registered twice', str(first), str(second)):
            self.assertIn(text, both.stderr)
        recipe = self.recipe('plugins = ["first.so", "second.so"]')
        self.refused(run("check", recipe), "recipe.toml:", "is registered twice", "a recipe can use only one of them")
        shutil.copy(first, second)  # an equal copy is the same plugin
        self.assertEqual(run("list", "--plugin", first, "--plugin", second).returncode, 0)

    def test_a_plugin_cannot_take_the_name_of_a_built_in(self):
        library = self.folder / "libtaken.so"
        points = WORK / CLANG / "new_kind/libpoints.so"
        library.write_bytes(points.read_bytes().replace(b"points\0", b"shapes\0"))
        taken = run("list", "--plugin", library)
        self.assertNotEqual(taken.returncode, 0)
        for text in ('the dataset "shapes" is registered twice', "components/datasets/", str(library)):
            self.assertIn(text, taken.stderr)

    def test_a_folder_with_something_broken_in_it(self):
        shutil.copy(self.library("model"), self.folder)
        (self.folder / "broken.so").write_bytes(self.library("model").read_bytes()[:5000])
        listed = run("list", "model", RUNNER_PLUGIN_PATH=str(self.folder))
        self.assertIn("my_model", listed.stdout)
        self.assertIn("broken.so", listed.stderr)
        self.assertIn("skipping it", listed.stderr)

    def test_a_path_that_leads_nowhere(self):
        listed = run("list", "model", RUNNER_PLUGIN_PATH=f"/nowhere:{self.library('model')}")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("my_model", listed.stdout)
        self.assertIn('RUNNER_PLUGIN_PATH: there is no file or folder "/nowhere"; skipping it', listed.stderr)
        typed = run("list", "model", "--plugin", "/nowhere")
        self.assertEqual(typed.returncode, 2)
        self.assertIn('--plugin: there is no file or folder "/nowhere"', typed.stderr)

    def test_skeletons(self):
        made = run("plugin", "new", "two_towers", cwd=self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        source = (self.folder / "two_towers/two_towers.cpp").read_text()
        self.assertIn('"two_towers"', source)
        self.assertIn("struct TwoTowers", source)
        self.assertNotIn("my_model", source)
        again = run("plugin", "new", "two_towers", cwd=self.folder)
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("exists already", again.stderr)
        self.refused(run("plugin", "new", "Two-Towers", cwd=self.folder), "is not a valid plugin name")
        self.refused(run("plugin", "new", "x", "--kind", "modle", cwd=self.folder), 'did you mean "model"?')
        self.refused(run("plugin", "build", self.folder), "there is no CMakeLists.txt in")
        self.refused(run("plugin", "make", "x"), 'unknown action "make"; use new, build or show')

    def test_a_build_that_fails_is_noticed_whatever_the_caller_does_with_signals(self):
        (self.folder / "CMakeLists.txt").write_text("message(FATAL_ERROR broken)")
        ignoring = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        done = subprocess.run([PREFIX / "bin/runner", "plugin", "build", self.folder], preexec_fn=ignoring, env=environment(), capture_output=True, timeout=600)
        self.assertEqual(done.returncode, 1, done)
        self.assertNotIn(b"--build", done.stdout)

    def program(self, name, *arguments):
        done = subprocess.run([WORK / CLANG / "build" / name, *arguments], cwd=self.folder, capture_output=True, text=True, env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_program_writes_its_recipe_in_code(self):
        (self.folder / "written.toml").write_text(self.program("train"))
        self.assertEqual(run("check", self.folder / "written.toml").returncode, 0)

    def test_a_program_uses_a_plugin(self):
        (self.folder / "written.toml").write_text(self.program("train", self.library("model")))
        self.assertIn("my_model@1", (self.folder / "written.toml").read_text())
        kept = next((self.folder / "runs").rglob("plugins.json"))
        self.assertEqual(json.loads(kept.read_text())[0]["components"], ["model my_model@1"])
        missing = subprocess.run([WORK / CLANG / "build/train", "nowhere.so"], cwd=self.folder, capture_output=True, text=True, env=environment())
        self.assertEqual(missing.returncode, 2)
        self.assertIn('there is no plugin "nowhere.so"', missing.stderr)

    def test_the_examples_of_the_library_use_the_package(self):
        self.assertIn("50 updates", self.program("accumulation"))

    def test_pkg_config_names_what_a_compiler_needs(self):
        if not shutil.which("pkg-config"):
            self.skipTest("pkg-config is not installed")
        (self.folder / "main.cpp").write_text('#include "registry/registry.hpp"\nint main() { return runner::Registry::of_linked().find("model", "mlp") ? 0 : 1; }\n')
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "runner"], check=True, capture_output=True, text=True,
                               env={**os.environ, "PKG_CONFIG_PATH": str(next(PREFIX.rglob("pkgconfig")))})
        words = shlex.split(flags.stdout)
        libraries = [f"-Wl,-rpath,{word[2:]}" for word in words if word.startswith("-L")]
        subprocess.run([CLANG, self.folder / "main.cpp", "-o", self.folder / "main", *words, *libraries], check=True)
        self.assertEqual(subprocess.run([self.folder / "main"]).returncode, 0)


if __name__ == "__main__":
    for tool in ("cmake", CLANG):
        need(tool)
    # Of a build with a sanitizer the plugin would have to be one, too; the examples do not know about that.
    if "RUNNER_SANITIZED" in os.environ:
        print("skipped: plugins are not built with a sanitizer")
        sys.exit(77)
    unittest.main()
