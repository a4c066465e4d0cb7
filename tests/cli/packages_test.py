"""The packages as a user meets them. RUNNER_THOROUGH=1 makes all three: the archive is unpacked elsewhere and run with an empty environment, the
Debian package's files likewise, and the wheel is installed into a fresh virtual environment, where a plugin is built with it. Without it: what
takes no build.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from program import BINARY, ROOT, environment

THOROUGH = os.environ.get("RUNNER_THOROUGH")
PACKAGES = ROOT / "build/packages"
RELEASE = ROOT / "build/release"
# Everything else has to come with the package: a bare system has nothing more.
ON_EVERY_SYSTEM = re.compile(r"^(linux-vdso|/lib\S*/ld-linux|lib(c|m|mvec|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s)\.so)")
SITE = next(iter((ROOT / ".deps/venv/lib").glob("python3*/site-packages")), None)


def call(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=1500, **options)
    assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def libraries(program):
    """What the program loads, directly or not: names and paths; a path is empty if there is none."""
    folder = program.resolve().parent.parent / "lib"
    for line in call("ldd", folder / "librunner_core.so", env={"LD_LIBRARY_PATH": str(folder)}).splitlines():
        name, path = re.match(r"\s*(\S+)(?: => (.*?))?(?: \(0x[0-9a-f]+\))?$", line).groups()
        yield name, path or ""


def from_elsewhere(program, *folders):
    """Libraries that neither every system has nor one of the folders holds."""
    inside = [str(Path(folder).resolve()) + "/" for folder in folders]
    return [f"{name} => {path}" for name, path in libraries(program)
            if not ON_EVERY_SYSTEM.match(name) and not any(str(Path(path).resolve()).startswith(folder) for folder in inside)]


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def runs(self, program):
        """Nothing of the caller's environment, of this checkout, or of what happens to be installed here."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        bare = {"env": {"HOME": str(home)}, "cwd": home}
        self.assertRegex(call(program, "--version", **bare), r"^runner [\d.]+ \(commit [0-9a-f]{7,}")
        self.assertEqual(from_elsewhere(program, program.parents[1]), [])
        short = ["train.max_steps=3", "dataset.train_limit=200", "dataset.eval_limit=100"]
        call(program, "shapes", *short, "run.dir=run", **bare)
        self.assertTrue((home / "run/model.safetensors").exists())
        recipe = next(program.parents[1].rglob("recipes/shapes.toml"))
        call(program, "launch", "-n", "2", recipe, *short, "run.dir=ranks", **bare)
        self.assertTrue((home / "ranks/ranks").is_dir())

    def builds_a_plugin(self, program, **more):
        tools = {"env": {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", **more}, "cwd": self.folder}
        call(program, "plugin", "new", "my_loss", "--kind", "loss", **tools)
        call(program, "plugin", "build", "my_loss", "--test", **tools)
        self.assertIn("my_loss", call(program, "list", "loss", "--plugin", "my_loss/libmy_loss.so", **tools))

    def test_the_version_names_the_commit(self):
        head = call("git", "rev-parse", "HEAD", cwd=ROOT).strip()
        said = call(BINARY, "--version", env=environment())
        commit = re.search(r"\(commit ([0-9a-f]+)", said)[1]
        self.assertEqual(call("git", "cat-file", "-t", commit, cwd=ROOT).strip(), "commit", head)

    def test_the_script_explains_itself(self):
        call("bash", "-n", ROOT / "scripts/package.sh")
        wrong = subprocess.run(["bash", ROOT / "scripts/package.sh", "rpm"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("usage:", wrong.stderr)

    def test_a_library_that_was_not_packaged_is_noticed(self):
        found = "\n".join(from_elsewhere(BINARY, BINARY.parents[1]))
        self.assertIn("libcurl", found)  # the build folder's program uses the system's
        self.assertIn("libtorch_cpu", found)
        self.assertNotIn("libstdc++", found)
        self.assertNotIn("librunner_core", found)

    def test_a_wheel_names_and_finds_its_torch(self):
        sys.path.insert(0, str(ROOT / "scripts"))
        import make_wheel
        root = self.folder / "runner"
        (root / "lib/cmake/runner").mkdir(parents=True)
        (root / "lib/pkgconfig").mkdir()
        (root / "lib/cmake/runner/runnerConfigVersion.cmake").write_text('set(PACKAGE_VERSION "1.2.3")\n')
        (root / "lib/cmake/runner/runnerConfig.cmake").write_text('set(LIBTORCH_DIR "/build/torch")\n')
        (root / "lib/pkgconfig/runner.pc").write_text("prefix=${pcfiledir}/../..\ntorch=/build/torch\nLibs: -L${torch}/lib\n")
        make_wheel.use_torch_package(root)
        for file in (root / "lib").rglob("*.*"):
            self.assertNotIn("/build/torch", file.read_text() if file.is_file() else "")
        self.assertIn("torch=${prefix}/../torch\n", (root / "lib/pkgconfig/runner.pc").read_text())
        with zipfile.ZipFile(make_wheel.write_wheel(root, self.folder)) as wheel:
            metadata = wheel.read("runner-1.2.3.dist-info/METADATA").decode()
            recorded = wheel.read("runner-1.2.3.dist-info/RECORD").decode()
            self.assertEqual(len(recorded.splitlines()), len(wheel.namelist()))
        self.assertIn("Requires-Dist: torch==2.13.*", metadata)
        self.assertIn("torch_version=2.13.", (ROOT / "scripts/setup.sh").read_text())  # what this program is built with

    def test_the_debian_package_links_its_command_and_manual(self):
        root = {"env": {"DPKG_ROOT": str(self.folder), "PATH": os.environ["PATH"]}}
        command, manual = self.folder / "usr/bin/runner", self.folder / "usr/share/man/man1/runner.1"
        for _ in range(2):  # an upgrade calls it again
            call("sh", ROOT / "cmake/deb/postinst", "configure", **root)
        self.assertEqual(os.readlink(command), "/opt/runner/bin/runner")
        self.assertEqual(os.readlink(manual), "/opt/runner/share/man/man1/runner.1")
        manual.unlink()
        manual.write_text("somebody else's")
        call("sh", ROOT / "cmake/deb/prerm", "remove", **root)
        self.assertFalse(command.is_symlink())
        self.assertTrue(manual.exists())

    @unittest.skipUnless(THOROUGH and RELEASE.exists(), "RUNNER_THOROUGH is not set, or there is no release build")
    def test_archive(self):
        call("bash", ROOT / "scripts/package.sh", "tgz")
        call("tar", "-xzf", next(PACKAGES.glob("runner-*.tar.gz")), "-C", self.folder)
        unpacked = next(self.folder.glob("runner-*"))
        moved = self.folder / "a place with spaces"
        unpacked.rename(moved)
        self.runs(moved / "bin/runner")
        if SITE:  # the archive has no headers of LibTorch
            self.builds_a_plugin(moved / "bin/runner", LIBTORCH_DIR=str(SITE / "torch"))
        self.assertIn("torch=${prefix}\n", next(moved.rglob("runner.pc")).read_text())
        self.assertFalse([file for file in moved.rglob("*") if file.suffix in (".cmake", ".pc") and str(ROOT) in file.read_text()])

    @unittest.skipUnless(THOROUGH and RELEASE.exists() and shutil.which("dpkg-deb"), "RUNNER_THOROUGH is not set, or there is no dpkg-deb")
    def test_debian_package(self):
        call("bash", ROOT / "scripts/package.sh", "deb")
        package = next(PACKAGES.glob("runner_*.deb"))
        self.assertIn("libc6", call("dpkg-deb", "-f", package, "Depends"))
        call("dpkg-deb", "-x", package, self.folder / "root")
        self.runs(self.folder / "root/opt/runner/bin/runner")

    @unittest.skipUnless(THOROUGH and SITE and shutil.which("patchelf"), "RUNNER_THOROUGH is not set, or patchelf or torch is missing")
    def test_wheel(self):
        call("bash", ROOT / "scripts/package.sh", "wheel")
        call("python3", "-m", "venv", self.folder / "venv")
        site = next((self.folder / "venv/lib").glob("python3*/site-packages"))
        for part in (SITE / "torch", *SITE.glob("torch-*.dist-info")):  # as if pip had installed it
            (site / part.name).symlink_to(part)
        call(self.folder / "venv/bin/pip", "install", "--no-index", "--no-deps", next(PACKAGES.glob("runner-*.whl")))
        complaints = subprocess.run([self.folder / "venv/bin/pip", "check"], capture_output=True, text=True).stdout.splitlines()
        self.assertFalse([line for line in complaints if line.startswith("runner ")])  # this torch is one that it asks for
        program = site / "runner/bin/runner"
        self.assertEqual(from_elsewhere(program, site, SITE / "torch"), [])
        home = self.folder / "home"
        home.mkdir()
        bare = {"env": {"HOME": str(home), "PATH": "/usr/bin:/bin"}, "cwd": home}
        self.assertIn("shapes", call(self.folder / "venv/bin/runner", "list", "recipes", **bare))
        call(self.folder / "venv/bin/runner", "shapes", "train.max_steps=3", "dataset.train_limit=200", "dataset.eval_limit=100", "run.dir=run", **bare)
        self.assertTrue((home / "run/model.safetensors").exists())
        self.builds_a_plugin(program)


if __name__ == "__main__":
    unittest.main()
