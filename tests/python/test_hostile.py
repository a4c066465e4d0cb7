"""Every hostile input (hostile_*.py) is refused: exit code 1 or 2, in less than 5 seconds of computing, with little more
memory than the file has bytes, and with a message that is short, says nothing to the terminal but text, and has no
backtrace. Files that are valid and only hold hostile text are used, and keep to the same limits."""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import hostile_data  # noqa: F401
import hostile_recipes  # noqa: F401
import hostile_runs  # noqa: F401
import hostile_tokenizers  # noqa: F401
import hostile_weights  # noqa: F401
from hostile_files import GENERATORS
from run_helpers import RUNNER, SANITIZED, environment

MOST_SECONDS = 100 if SANITIZED else 5  # of computing
MOST_BYTES = 1 << 30
LONGEST_MESSAGE = 4096
LONGEST_REPORT = 16384  # what a whole run says
HANGS = 120


def measured(arguments, folder):
    """Exit code, what was said, seconds of computing, peak memory in bytes."""
    said = folder / "said"
    with open(said, "wb") as out:
        child = subprocess.Popen([RUNNER, *map(str, arguments)], stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=environment(),
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (HANGS, HANGS)))
        _, status, usage = os.wait4(child.pid, 0)
    return os.waitstatus_to_exitcode(status), said.read_bytes(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def problems(make, folder, base):
    """All commands of a case: figures, what is wrong, what was said."""
    made = make(folder)
    commands = made if isinstance(made[0], list) else [made]
    for command in commands:
        figures, found, said = problems_of(command, make, folder, base)
        if found:
            found[0] = f"{command[0]}: {found[0]}"
            break
    return figures, found, said


def problems_of(arguments, make, folder, base):
    largest = max((path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()), default=0)
    code, said, seconds, memory = measured(arguments, folder)
    found = []
    if code not in ((0,) if make.accepted else (1, 2)):
        found.append(f"exit code {code}")
    if seconds > MOST_SECONDS:
        found.append(f"{seconds:.1f} s")
    if memory > base + largest + MOST_BYTES:
        found.append(f"{memory >> 20} MB for a file of {largest >> 20} MB")
    if b"\x1b" in said or b"\x07" in said or b"\xc2\x9b" in said or b"\xe2\x80\xae" in said:
        found.append("an escape sequence")
    errors = said.count(b": error: ")  # a recipe's are told all at once
    longest = LONGEST_REPORT if make.accepted else max(LONGEST_MESSAGE, errors * LONGEST_MESSAGE // 8)
    if len(said) > longest:
        found.append(f"{len(said)} bytes of text")
    if b"frame #" in said or b"Exception raised from" in said or b"std::" in said:
        found.append("a backtrace")
    if not said.strip():
        found.append("not a word")
    if make.expected.encode() not in said:
        found.append(f"another reason than {make.expected!r}")
    if (folder / "owned").exists():
        found.append("code was run")
    figures = f"{seconds:5.1f} s {memory >> 20:6} MB"
    return figures, found, said


def main():
    wanted = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        base = measured(["list"], pathlib.Path(folder))[3]
    for make in GENERATORS:
        if wanted and make.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            figures, found, said = problems(make, pathlib.Path(folder), base)
        failed += bool(found)
        print(f"{'FAILED ' if found else 'ok     '} {figures}  {make.__name__}  {', '.join(found)}", flush=True)
        if found or wanted:
            print("    " + repr(said[:600]), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
