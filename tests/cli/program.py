"""The program under test, run as a user runs it."""

import codecs
import os
import pty
import select
import subprocess
import time
from pathlib import Path

ROOT = Path(os.environ.get("RUNNER_SOURCE_DIR", Path(__file__).parents[2]))
BINARY = Path(os.environ.get("RUNNER_BINARY", ROOT / "build/release/bin/runner"))


def environment(**changes):
    """The caller's, without what would change the output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RUNNER_") and name != "NO_COLOR"}
    return {**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **changes}


def run(*arguments, cwd=ROOT, **changes):
    return subprocess.run([BINARY, *arguments], cwd=cwd, env=environment(**changes), capture_output=True, text=True, timeout=300)


class Terminal:
    """A process with a terminal of its own: what is typed goes in, what the screen would get comes out."""

    def __init__(self, command, cwd=ROOT, **changes):
        self.text = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a piece may end within a character
        self.process, self.screen = pty.fork()
        if self.process == 0:
            os.chdir(cwd)
            os.execvpe(command[0], [str(word) for word in command], environment(**changes))

    def type(self, keys):
        os.write(self.screen, keys.encode())

    def read_until(self, wanted, seconds=120):
        """All that came, `wanted` being its end; gives up, loudly, after a while."""
        end = time.monotonic() + seconds
        while wanted not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.screen], [], [], left)[0]:
                raise AssertionError(f"waited for {wanted!r}, got {self.text!r}")
            self.text += self.decoder.decode(os.read(self.screen, 65536))
        end_of_it = self.text.index(wanted) + len(wanted)
        seen, self.text = self.text[:end_of_it], self.text[end_of_it:]
        return seen

    def read_to_end(self):
        while True:
            try:
                piece = os.read(self.screen, 65536)
            except OSError:  # how Linux says that the other side has closed
                piece = b""
            if not piece:
                break
            self.text += self.decoder.decode(piece)
        os.close(self.screen)
        _, status = os.waitpid(self.process, 0)
        return os.waitstatus_to_exitcode(status), self.text
