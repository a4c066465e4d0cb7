"""Turns an installation into a Python wheel that takes LibTorch from the torch package it depends on.

    make_wheel.py INSTALLATION FOLDER

Libraries that a bare system lacks are copied in. Needs patchelf and ldd.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

# What every system with this glibc has; what belongs to glibc works with no other version of it.
SYSTEM = re.compile(r"^(ld-linux|lib(c|m|mvec|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s)\.so|linux-vdso)")
# The only version whose libraries fit the program.
TORCH = "torch==2.13.*"
MAIN = '''"""The program of this package: replaces the Python process."""

import os
import sys
from pathlib import Path


def main():
    program = Path(__file__).parent / "bin/runner"
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
'''


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_libraries(file):
    """Name and path of everything that the file loads, directly or not."""
    for line in output("ldd", file).splitlines():
        found = re.match(r"\s*(\S+) => (/\S+)", line)
        if found:
            yield found[1], Path(found[2])


def version_of(root):
    return re.search(r'PACKAGE_VERSION "([\d.]+)"', next(root.rglob("runnerConfigVersion.cmake")).read_text())[1]


def complete(root):
    """Adds what is missing, and lets every file look for LibTorch where pip puts it."""
    libraries = root / "lib"
    own = sorted(libraries.glob("librunner_*.so"))
    for name, path in needed_libraries(libraries / "librunner_core.so"):
        if not SYSTEM.match(name) and not (libraries / name).exists() and "torch" not in path.parts:
            shutil.copy(path, libraries / name)
    for file in own:
        output("patchelf", "--set-rpath", "$ORIGIN:$ORIGIN/../../torch/lib", str(file))
    # DT_RPATH, not DT_RUNPATH: it also holds for what the copied libraries load.
    output("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/../lib:$ORIGIN/../../torch/lib", str(root / "bin/runner"))
    (root / "__init__.py").write_text('"""Declarative training recipes on LibTorch."""\n')
    (root / "__main__.py").write_text(MAIN)
    use_torch_package(root)


def use_torch_package(root):
    """Lets CMake and pkg-config find LibTorch in the torch package beside this one."""
    config = next(root.rglob("runnerConfig.cmake"))
    config.write_text(re.sub(r'set\(LIBTORCH_DIR "/[^"]*"\)', 'set(LIBTORCH_DIR "${CMAKE_CURRENT_LIST_DIR}/../../../../torch")', config.read_text()))
    package = next(root.rglob("runner.pc"))
    package.write_text(re.sub(r"^torch=.*$", "torch=${prefix}/../torch", package.read_text(), flags=re.M))


def write_wheel(root, folder):
    version = version_of(root)
    glibc = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
    tag = f"py3-none-manylinux_{glibc}_{os.uname().machine}"
    info = f"runner-{version}.dist-info"
    metadata = {
        "METADATA": f"Metadata-Version: 2.1\nName: runner\nVersion: {version}\nSummary: Declarative training recipes on LibTorch\n"
                    f"Requires-Dist: {TORCH}\n",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: runner\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": "[console_scripts]\nrunner = runner.__main__:main\n",
    }
    record = []
    wheel = folder / f"runner-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        def add(name, data, mode):
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, mode << 16
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")

        for file in sorted(path for path in root.rglob("*") if path.is_file()):
            add("runner/" + file.relative_to(root).as_posix(), file.read_bytes(), file.stat().st_mode)
        for name, text in metadata.items():
            add(f"{info}/{name}", text.encode(), 0o100644)
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")
    return wheel


def main():
    root, folder = Path(sys.argv[1]), Path(sys.argv[2])
    if not shutil.which("patchelf"):
        sys.exit("make_wheel: patchelf is not installed (apt-get install patchelf)")
    complete(root)
    print(write_wheel(root, folder))


if __name__ == "__main__":
    main()
