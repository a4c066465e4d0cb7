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
import subprocess
import sys
import unittest
from pathlib import Path

from plugin_build import CLANG, COMPILERS, KINDS, PREFIX, WORK, PluginCase, build_with, install, run
from plugin_refusals import Refusals  # its cases run here, after the one build
from program import environment


def need(tool):
    if not shutil.which(tool):
        print(f"skipped: {tool} is not installed")
        sys.exit(77)


def setUpModule():
    install()
    for compiler in COMPILERS:
        build_with(compiler)


class Plugins(PluginCase):
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
                    if kind == "adapter":
                        done = run("my_adapter.toml", "~model.adapter", "~model.weights", "run.dir=runs/base", cwd=folder)
                        self.assertEqual(done.returncode, 0, done.stderr)
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
            self.assertEqual(run("plugin", "trust", self.renamed(number).rename(self.folder / place / "libmine.so")).returncode, 0)
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
        self.refused(run("plugin", "new", "accuracy", "--kind", "metric", cwd=self.folder), 'there is a metric called "accuracy" already')
        self.refused(run("plugin", "new", "x", "--kind", "modle", cwd=self.folder), 'did you mean "model"?')
        self.refused(run("plugin", "build", self.folder), "there is no CMakeLists.txt in")
        self.refused(run("plugin", "make", "x"), 'unknown action "make"; use new, build, show or trust')

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
        # Those of CMake's package are the same: otherwise types would differ between the two.
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(flags CXX)\nfind_package(runner REQUIRED)\n"
            "add_executable(main main.cpp)\ntarget_link_libraries(main PRIVATE runner::runner)\n")
        subprocess.run(["cmake", "-B", "build", f"-DCMAKE_CXX_COMPILER={CLANG}", f"-DCMAKE_PREFIX_PATH={PREFIX}", "-DCMAKE_BUILD_TYPE=Debug",
                        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        compiled = shlex.split(json.loads((self.folder / "build/compile_commands.json").read_text())[0]["command"])
        self.assertEqual({word for word in compiled if word.startswith("-D")}, {word for word in words if word.startswith("-D")})


if __name__ == "__main__":
    for tool in ("cmake", CLANG):
        need(tool)
    # Of a build with a sanitizer the plugin would have to be one, too; the examples do not know about that.
    if "RUNNER_SANITIZED" in os.environ:
        print("skipped: plugins are not built with a sanitizer")
        sys.exit(77)
    unittest.main()
