"""What the tests of several ranks share: starting them, watching them, comparing what they leave."""

import ctypes
import os
import pathlib
import re
import subprocess
import sys

try:
    from safetensors.numpy import load_file
except ImportError:
    print("skipped: safetensors is not installed; scripts/setup.sh --tests does it")
    sys.exit(77)

from run_helpers import RUNNER, SHAPES, Skip, environment, run, series, wait_until

# 70 examples in batches of 32, 32 and 6, and 6 do not divide by 4.
SMALL = [SHAPES, "dataset.train=70", "dataset.eval=50", "loader.batch_size=32", "loader.eval_batch_size=16",
         "train.log_every=1step", "distributed.batch=global", "checkpoint.every=never"]
ENDLESS = [SHAPES, "dataset.train=512", "dataset.eval=32", "loader.batch_size=32", "train.epochs=100000",
           "train.log_every=1step", "eval.every=100000ep"]
RESUMABLE = [SHAPES, "dataset.train=256", "dataset.eval=64", "loader.batch_size=32", "train.epochs=100", "train.max_steps=40",
             "train.log_every=1step", "checkpoint.every=5step", "distributed.batch=global"]


def start(*words, at=None, **more):
    return subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=at,
                            env=environment(**more), start_new_session=True)


def launch(count, *arguments, **options):
    return run("launch", "-n", count, *arguments, **options)


def launch_machine(number, rendezvous, folder, *arguments, through=(), ranks=1, machines=2):
    """The launcher of one of two machines."""
    secret = folder / "secret"
    if not secret.exists():
        secret.write_text(os.urandom(32).hex())
        secret.chmod(0o600)
    return start(*through, RUNNER, "launch", "--nodes", machines, "--node-rank", number, "--rendezvous", rendezvous,
                 "--secret-file", secret, "-n", ranks, *arguments)


def free_address(used=[0]):
    """A loopback address that no other test uses: a port that was free when it was chosen may be taken when it is used."""
    used[0] += 1
    return f"127.{used[0]}.{os.getpid() // 256 % 256}.{os.getpid() % 256}:4711"


def compare(one, other, tolerance=2e-5):
    left, right = series(one, "train/loss"), series(other, "train/loss")
    assert len(left) == len(right) > 0, (left, right)
    assert all(abs(a - b) <= tolerance * max(1, abs(a)) for a, b in zip(left, right)), (left, right)
    for name in ("eval/accuracy", "eval/loss"):
        a, b = series(one, name), series(other, name)
        assert len(a) == len(b) > 0 and all(abs(x - y) <= tolerance for x, y in zip(a, b)), (name, a, b)
    first, second = load_file(one / "model.safetensors"), load_file(other / "model.safetensors")
    assert first.keys() == second.keys()
    for name in first:
        assert abs(first[name] - second[name]).max() <= tolerance, name


def wait_for_text(file, text, process):
    wait_until(lambda: file.exists() and text in file.read_text(), process)


def ranks_of(launcher):
    """The processes of the ranks, by rank."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int(re.search(r"^PPid:\s+(\d+)", (entry / "status").read_text(), re.M)[1])
            if parent != launcher.pid:
                continue
            variables = (entry / "environ").read_bytes().split(b"\0")
        except (OSError, TypeError):
            continue
        for variable in variables:
            if variable.startswith(b"RUNNER_RANK="):
                found[int(variable.split(b"=")[1])] = int(entry.name)
    return found


def connections_of(process):
    """The TCP sockets of a process: descriptor, own port, the other's port (0 while it listens)."""
    ports = {}
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            ports[fields[9]] = [int(address.split(":")[1], 16) for address in fields[1:3]]
    for entry in pathlib.Path(f"/proc/{process}/fd").iterdir():
        if (socket := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry))) and socket[1] in ports:
            yield int(entry.name), *ports[socket[1]]


def listening_ports(process):
    return {own for _, own, other in connections_of(process) if other == 0}


def hold_connections(process, without):
    """Descriptors of our own for the connections of a process: they stay open when it ends. Not for those to the ports `without`."""
    pidfd_getfd = 438  # the system call
    call = ctypes.CDLL(None, use_errno=True).syscall
    handle = os.pidfd_open(process)
    held = []
    for descriptor, _, other in connections_of(process):
        if other == 0 or other in without:
            continue
        held.append(call(pidfd_getfd, handle, descriptor, 0))
        if held[-1] < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
    os.close(handle)
    return held


def gone(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def wait_until_gone(processes):
    wait_until(lambda: all(gone(process) for process in processes))  # a rank must not outlive its launcher


class TwoMachines:
    """Two network namespaces with a cable between them; None where that is not allowed."""

    def __enter__(self):
        self.names = [f"runner{os.getpid() % 100000}{letter}" for letter in "ab"]
        try:
            for name in self.names:
                self.ip("netns", "add", name)
            self.ip("link", "add", "cable0", "netns", self.names[0], "type", "veth", "peer", "name", "cable1", "netns", self.names[1])
            for number, name in enumerate(self.names):
                self.ip("-n", name, "addr", "add", f"10.77.0.{number + 1}/24", "dev", f"cable{number}")
                self.ip("-n", name, "link", "set", "lo", "up")
                self.ip("-n", name, "link", "set", f"cable{number}", "up")
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            raise Skip(f"no network namespaces ({error})") from error
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True, stderr=subprocess.DEVNULL)

    def launch(self, number, folder, *arguments):
        return launch_machine(number, "10.77.0.1:4711", folder, *arguments, through=("ip", "netns", "exec", self.names[number]))


def whole_checkpoints(folder):
    """The steps of a run's checkpoints, all of which have to be complete."""
    listed = run("checkpoints", folder).stdout
    steps = sorted(int(path.name.split("-")[1]) for path in (folder / "checkpoints").glob("step-*"))
    assert steps and "damaged" not in listed and "incomplete" not in listed, listed
    return steps
