"""Plugins that are refused: in the wrong place, built for another program, broken, or failing. Part of plugins_test.py, which builds them."""

import json
import shutil
import struct

from plugin_build import CLANG, KINDS, PREFIX, THOROUGH, WORK, PluginCase, run, section
from program import ROOT


class Refusals(PluginCase):
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

    def test_code_beside_a_recipe_runs_only_when_it_is_trusted(self):
        stranger = {"XDG_CONFIG_HOME": str(self.folder / "config")}
        shutil.copy(self.library("model"), self.folder)
        recipe = self.recipe('plugins = ["libmy_model.so"]')
        kept = self.folder / "kept"
        self.assertEqual(run(recipe, f"run.dir={kept}", "train.max_steps=2").returncode, 0)
        harmless = [["check"], ["check", "--deep"], ["show"], ["estimate"], ["data"], ["run", "--dry-run"]]
        commands = [[*words, recipe] for words in harmless] + [["resume", "--check", kept], ["resume", kept], ["eval", kept], ["predict", kept, "x"],
                                                               ["track", kept]]
        for command in commands:
            with self.subTest(command[0]):
                self.refused(run(*command, **stranger), "code that you have not trusted yet", "runner plugin trust ")
        remedy = run("check", recipe, **stranger).stderr.split("say so once: runner ")[1].split("\n")[0]
        self.assertEqual(run(*remedy.split(" "), **stranger).returncode, 0)
        for command in (["check", recipe], ["resume", "--check", kept], ["eval", kept]):
            self.assertEqual(run(*command, **stranger).returncode, 0)  # also the copy: it is the same code
        with (self.folder / "libmy_model.so").open("ab") as library:
            library.write(b"\0")
        self.refused(run("check", recipe, **stranger), "which has changed since you trusted it")
        # A library that loads others from its own folder is other code in each folder.
        named = self.folder / "named.so"
        named.write_bytes(self.library("model").read_bytes() + b"$ORIGIN")
        self.assertEqual(run("plugin", "trust", named, **stranger).returncode, 0)
        (self.folder / "own.toml").write_text(recipe.read_text().replace("libmy_model.so", "named.so"))
        self.assertEqual(run("check", self.folder / "own.toml", **stranger).returncode, 0)
        away = self.folder / "away"
        away.mkdir()
        shutil.copy(named, away)
        shutil.copy(self.folder / "own.toml", away)
        self.refused(run("check", away / "own.toml", **stranger), "code that you have not trusted yet")

    def test_a_run_remembers_the_code_that_it_has_used(self):
        user = {"XDG_CONFIG_HOME": str(self.folder / "config")}
        recipe = self.recipe()
        done = run(recipe, f"run.dir={self.folder / 'kept'}", "train.max_steps=2", "--plugin", self.library("model"), **user)
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.move(self.folder / "kept", self.folder / "moved")
        self.assertEqual(run("eval", self.folder / "moved", **user).returncode, 0)

    def test_code_that_everybody_can_write_is_not_loaded(self):
        shutil.copy(self.library("model"), self.folder)
        library = self.folder / "libmy_model.so"
        recipe = self.recipe('plugins = ["libmy_model.so"]')
        named = (["check", recipe], ["check", recipe, "--plugin", library])
        for place, mode in ((library, 0o777), (self.folder, 0o777)):
            before = place.stat().st_mode
            place.chmod(mode)
            for words in named:
                self.refused(run(*words), "everybody can write", f"chmod o-w {place}")
            listed = run("list", "model", RUNNER_PLUGIN_PATH=str(self.folder))
            self.assertIn("everybody can write", listed.stderr)
            self.assertNotIn("my_model", listed.stdout)
            place.chmod(before)
        self.assertEqual(run("check", recipe).returncode, 0)

    def test_many_places_that_do_not_exist_are_one_warning(self):
        listed = run("list", "model", RUNNER_PLUGIN_PATH=":".join(f"/nowhere/{i}" for i in range(2000)))
        self.assertEqual(listed.returncode, 0)
        self.assertLess(len(listed.stderr), 2000, listed.stderr[:500])
        self.assertIn("more", listed.stderr)

    def test_a_stamp_says_nothing_to_the_terminal(self):
        original = self.library("model").read_bytes()
        at, _ = section(self.library("model"))
        forged = bytearray(original)
        forged[at + 40:at + 56] = b"\x1b]0;owned\x07\x1b[2J"[:16].ljust(16, b"\0")
        forged[at + 56:at + 66] = b"\x1b[31mred\xc2\x9b"[:10]
        (self.folder / "forged.so").write_bytes(forged)
        for words in (["plugin", "show", self.folder / "forged.so"], ["list", "model", "--plugin", self.folder / "forged.so"],
                      ["list", "model", "--plugin", self.folder]):
            done = run(*words)
            self.assertIn("\\x1b", done.stdout + done.stderr)
            self.assertNotIn("\x1b", done.stdout + done.stderr)
            self.assertNotIn("\u009b", done.stdout + done.stderr)

    def test_stamps_that_do_not_fit(self):
        original = self.library("model").read_bytes()
        at, _ = section(self.library("model"))
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
        elif kind == "adapter":
            base = run(recipe, "model=mlp", "dataset.train=64", "dataset.eval=64", "train.epochs=1", f"run.dir={self.folder / 'base'}-{way}")
            self.assertEqual(base.returncode, 0, base.stderr)
            change = ["model=mlp", f"model.weights={self.folder / 'base'}-{way}/model.safetensors", "dataset.train=64", "dataset.eval=64",
                      f'model.adapter={{name="broken",way="{way}",targets=["fc*"]}}']
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
        self.assertEqual(run("plugin", "trust", second).returncode, 0)
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
        self.assertIn('RUNNER_PLUGIN_PATH: there is no file or folder /nowhere; skipping it', listed.stderr)
        typed = run("list", "model", "--plugin", "/nowhere")
        self.assertEqual(typed.returncode, 2)
        self.assertIn('--plugin: there is no file or folder "/nowhere"', typed.stderr)
