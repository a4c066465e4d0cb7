"""How the program behaves towards terminals, pipes and shells."""

import os
import subprocess
import sys
import unittest

from program import BINARY, Terminal, environment, run

ESCAPE = "\033["
MISTAKE = "tests/cli/errors/unknown_parameter.toml"


class Colours(unittest.TestCase):
    def test_output_is_plain_when_piped(self):
        for arguments in (["list"], ["describe", "optimizer", "sgd"], ["--help"], ["env"], ["check", MISTAKE]):
            done = run(*arguments)
            self.assertNotIn(ESCAPE, done.stdout + done.stderr, arguments)

    def test_output_is_coloured_on_a_terminal(self):
        for arguments in (["list"], ["--help"], ["check", MISTAKE]):
            _, text = Terminal([BINARY, *arguments]).read_to_end()
            self.assertIn(ESCAPE, text, arguments)

    def test_no_color_is_respected(self):
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            _, text = Terminal([BINARY, "check", MISTAKE], **variables).read_to_end()
            self.assertIn("momentun", text)
            self.assertNotIn(ESCAPE, text, variables)

    def test_an_empty_no_color_means_nothing(self):
        _, text = Terminal([BINARY, "list"], NO_COLOR="").read_to_end()
        self.assertIn(ESCAPE, text)


class Streams(unittest.TestCase):
    def test_errors_go_to_stderr_and_results_to_stdout(self):
        wrong = run("check", MISTAKE)
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("momentun", wrong.stderr)
        right = run("check", "tests/cli/errors/bases/right.toml")
        self.assertEqual((right.returncode, right.stderr), (0, ""))

    def test_a_reader_that_leaves_is_no_error(self):
        line = f'"{BINARY}" schema | head -1'
        done = subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, text=True, timeout=300)
        self.assertEqual((done.stdout, done.stderr), ("{\n", ""))

    def test_a_reader_that_leaves_is_no_error_where_the_signal_is_ignored(self):
        line = f'trap "" PIPE; "{BINARY}" schema | true; echo ${{PIPESTATUS[0]}}'
        done = subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, text=True, timeout=300)
        self.assertEqual((done.stdout, done.stderr), ("141\n", ""))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, "list"], env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not be written", done.stderr)


class FirstWords(unittest.TestCase):
    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^runner \d+\.\d+\.\d+( \(commit [0-9a-f]+(-dirty)?\))?\n$")

    def test_nothing_at_all_shows_the_help(self):
        done = run()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("Usage", done.stderr)

    def test_an_unknown_command_gets_a_suggestion(self):
        done = run("chekc", "recipes/shapes.toml")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('did you mean "check"?', done.stderr)

    def test_a_recipe_that_is_not_there(self):
        done = run("recipes/shape.toml")
        self.assertEqual(done.returncode, 2)
        self.assertIn('there is no file "recipes/shape.toml"', done.stderr)
        self.assertIn('did you mean "recipes/shapes.toml"?', done.stderr)

    def test_a_recipe_may_be_named(self):
        done = run("shapes", "optimizer.momentun=1")
        self.assertEqual(done.returncode, 2)
        self.assertIn('optimizer "adam" has no parameter "momentun"', done.stderr)

    def test_the_name_of_a_component_for_a_command(self):
        self.assertIn("runner describe optimizer sgd", run("sgd").stderr)

    def test_overrides_before_the_recipe(self):
        done = run("optimizer.lr=1", "recipes/shapes.toml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the recipe comes first", done.stderr)

    def test_a_bare_recipe_is_checked_before_it_runs(self):
        for words in ([MISTAKE], ["run", MISTAKE]):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn('has no parameter "momentun"', done.stderr)

    def test_a_folder_for_a_recipe(self):
        done = run("recipes")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is a folder", done.stderr)

    def test_it_works_from_any_folder_and_through_a_link(self):
        self.assertEqual(run("list", cwd="/").returncode, 0)


if __name__ == "__main__":
    if not BINARY.exists():
        print(f"skipped: {BINARY} is not built")
        sys.exit(77)
    unittest.main()
