"""What the cases of plugins_test.py share: an installed copy of the program, and plugins of every kind and programs built against it."""

import os
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import BINARY, ROOT, environment

BINARY_DIR = Path(os.environ.get("RUNNER_BINARY_DIR", BINARY.parents[1]))
# Always the same place, so that the compiler cache knows it again.
WORK = BINARY_DIR / "plugin-test"
PREFIX = WORK / "installed"
CONFIG = WORK / "config"  # of a user who trusts what is built here
THOROUGH = bool(os.environ.get("RUNNER_THOROUGH"))
CLANG = "clang++-19"
COMPILERS = [CLANG, "g++"] if THOROUGH else [CLANG]
KINDS = sorted(folder.name for folder in (ROOT / "examples/plugin").iterdir())
# As the build of this tree does it: the cache understands precompiled headers.
CCACHE = ["cmake", "-E", "env", "CCACHE_INODECACHE=true", "CCACHE_DEPEND=true",
          "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime", "ccache"] if shutil.which("ccache") else []
STAMP_SECTION = b"runner_plugin"


def run(*words, cwd=WORK, stdin=None, **changes):
    command = [PREFIX / "bin/runner", *words]
    trusting = {"XDG_CONFIG_HOME": str(CONFIG), **changes}
    return subprocess.run(command, cwd=cwd, input=stdin, env=environment(**trusting), capture_output=True, text=True, timeout=600)


def compile(*words):
    subprocess.run([os.environ.get("CXX", CLANG), "-shared", "-fPIC", *words], check=True)


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def install():
    WORK.mkdir(exist_ok=True)
    shutil.rmtree(PREFIX, ignore_errors=True)
    shutil.rmtree(CONFIG, ignore_errors=True)
    subprocess.run(["cmake", "--install", BINARY_DIR, "--prefix", PREFIX], check=True, stdout=subprocess.DEVNULL)


def build_with(compiler):
    """WORK/<compiler>/<kind>/libmy_<kind>.so, WORK/<compiler>/new_kind/libpoints.so and WORK/<compiler>/build/<program>."""
    place = WORK / compiler
    for kind in KINDS:
        shutil.rmtree(place / kind, ignore_errors=True)
        made = run("plugin", "new", f"my_{kind}", "--kind", kind, "--output", place / kind)
        assert made.returncode == 0, made.stderr
    shutil.rmtree(place / "new_kind", ignore_errors=True)
    shutil.copytree(ROOT / "examples/new_kind", place / "new_kind", ignore=shutil.ignore_patterns("build", "runs", "*.so"))
    built = run("plugin", "build", place / "model", "--test", CXX=compiler, **({"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"} if CCACHE else {}))
    assert built.returncode == 0, built.stdout + built.stderr
    shutil.rmtree(place / "broken", ignore_errors=True)
    shutil.copytree(ROOT / "tests/cli/plugin_project/broken", place / "broken")
    plugins = [place / kind for kind in KINDS if kind != "model"] + [place / "new_kind", place / "broken"]
    programs = [ROOT / "examples/recipe_in_code/train.cpp", *sorted((ROOT / "examples/library").glob("*.cpp" if THOROUGH else "accumulation.cpp"))]
    call("cmake", "-S", ROOT / "tests/cli/plugin_project", "-B", place / "build", f"-DCMAKE_PREFIX_PATH={PREFIX}", "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_CXX_FLAGS_RELEASE=", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={';'.join(CCACHE)}",
         f"-DPLUGINS={';'.join(map(str, plugins))}", f"-DPROGRAMS={';'.join(map(str, programs))}")
    call("cmake", "--build", place / "build", "--parallel")
    call("ctest", "--test-dir", place / "build", "--output-on-failure")
    for library in place.glob("*/*.so"):
        if library.parent.name != "model":  # `runner plugin build` has done that
            trusted = run("plugin", "trust", library)
            assert trusted.returncode == 0, trusted.stderr


def section(file):
    """Offset and size of the stamp, read with Python's own means."""
    data = Path(file).read_bytes()
    table, entry, count, names = (struct.unpack_from(form, data, at)[0] for form, at in (("<Q", 40), ("<H", 58), ("<H", 60), ("<H", 62)))
    header = lambda i: struct.unpack_from("<IIQQQQ", data, table + i * entry)
    for i in range(count):
        name, _, _, _, offset, size = header(i)
        start = header(names)[4] + name
        if data[start:data.index(b"\0", start)] == STAMP_SECTION:
            return offset, size
    raise AssertionError(f"{file} has no section {STAMP_SECTION}")


class PluginCase(unittest.TestCase):
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
