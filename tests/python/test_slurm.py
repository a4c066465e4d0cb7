"""Slurm itself, if it is installed: a controller and a node on this machine, in a folder of their own, for this user alone."""

import contextlib
import getpass
import json
import os
import shutil
import socket
import subprocess
import sys

import small_run
from run_helpers import RUNNER, SKIPPED, SOURCE, THOROUGH, environment, main, records, run, wait_until

os.environ["PATH"] += ":/usr/sbin"  # where daemons are
if missing := [tool for tool in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(tool)]:
    print(f"skipped: {', '.join(missing)} not found; on Debian: apt-get install slurm-wlm munge")
    sys.exit(SKIPPED)

CONFIGURATION = """
ClusterName=test
SlurmctldHost=localhost
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/linear
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
NodeName=localhost CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
"""  # cred_expire is also how long a job waits after it was requeued

def write_recipe(folder, steps):
    (folder / "small.toml").write_text(small_run.RECIPE)
    recipe = folder / "recipe.toml"
    recipe.write_text(f"""
        extends = "small.toml"
        run = {{threads = 1}}
        train = {{max_steps = {steps}, log_every = "100step"}}
        eval = {{every = "500step"}}
        checkpoint = {{every = "1000step"}}
        """)
    return recipe


def free_ports(count):
    with contextlib.ExitStack() as taken:
        sockets = [taken.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Slurm:
    def __init__(self, folder):
        self.folder = folder
        self.daemons = contextlib.ExitStack()
        for name in ("state", "spool", "munge", "bin"):
            (folder / name).mkdir()
        (folder / "munge").chmod(0o755)  # munged insists
        (folder / "bin/runner").symlink_to(os.path.abspath(RUNNER))
        configuration = folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(user=getpass.getuser(), folder=folder, ports=free_ports(2)))
        self.environment = environment(SLURM_CONF=str(configuration), SCRATCH=str(folder), PATH=f"{folder}/bin:{os.environ['PATH']}")

    def __enter__(self):
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = [f"--{name}={self.folder}/munge/{name.removesuffix('-file')}" for name in
                 ("socket", "key-file", "pid-file", "seed-file", "log-file")]
        with self.daemons:
            self.start("munged", "--foreground", "--force", *files)
            wait_until((self.folder / "munge/socket").exists)
            self.start("slurmctld", "-D", "-c")
            self.start("slurmd", "-D", "-N", "localhost")
            wait_until(lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T", check=False))
            self.daemons = self.daemons.pop_all()
        return self

    def __exit__(self, *_):
        self.daemons.close()

    def start(self, *words):
        with open(self.folder / f"{words[0]}.out", "w") as output:
            daemon = subprocess.Popen(words, env=self.environment, stdout=output, stderr=output)
        self.daemons.callback(daemon.wait)
        self.daemons.callback(daemon.terminate)

    def ask(self, *words, check=True):
        return subprocess.run(list(map(str, words)), env=self.environment, check=check, capture_output=True, text=True, timeout=120).stdout

    def job(self, number):
        """What Slurm says of a job: JobState, ExitCode, Restarts .."""
        return dict(word.split("=", 1) for word in self.ask("scontrol", "show", "job", number).split() if "=" in word)

    def submit(self, script, *options):
        return self.ask("sbatch", "--parsable", "--chdir", self.folder, "--output", self.folder / "job.out", *options, script).strip()

    def wait_for_end(self, number, seconds=240):
        wait_until(lambda: self.job(number)["JobState"] in ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL"), seconds=seconds)
        return self.job(number)


def documented_job(folder, steps):
    """The batch script of the documentation, with another recipe."""
    recipe, script = write_recipe(folder, steps), folder / "job.sh"
    block = next(part for part in (SOURCE / "docs/checkpoints.md").read_text().split("```") if "#SBATCH" in part)
    script.write_text(block[block.index("#!"):].replace("recipes/cifar10.toml", str(recipe)))
    return recipe, script


def without_times(folder):
    return [{name: value for name, value in record.items() if name != "time" and "per_second" not in name} for record in records(folder)]


def same_as_undisturbed(folder, recipe):
    run(recipe, f"run.dir={folder}/undisturbed")
    weights = [(folder / name / "model.safetensors").read_bytes() for name in ("cifar10", "undisturbed")]
    assert weights[0] == weights[1], "other weights"
    assert without_times(folder / "cifar10") == without_times(folder / "undisturbed")


def ends_as_if_undisturbed(slurm, job, recipe):
    told = slurm.wait_for_end(job)
    output = (slurm.folder / "job.out").read_text()
    assert told["JobState"] == "COMPLETED" and int(told["Restarts"]) >= 1, (told, output)
    assert "resumed from" in output, output
    same_as_undisturbed(slurm.folder, recipe)


def a_job_that_is_told_to_stop_requeues_itself(folder):
    with Slurm(folder) as slurm:
        recipe, script = documented_job(folder, steps=8000)
        job = slurm.submit(script)
        wait_until((folder / "cifar10/checkpoints/latest").exists)
        slurm.ask("scancel", "--signal=TERM", job)  # to its steps, as at the time limit
        ends_as_if_undisturbed(slurm, job, recipe)


def a_job_is_warned_before_its_time_limit(folder):
    """Slurm looks at limits every 30 s, and they are whole minutes: with two of them, the two minutes' warning of the script comes at once."""
    with Slurm(folder) as slurm:
        recipe, script = documented_job(folder, steps=60000)
        ends_as_if_undisturbed(slurm, slurm.submit(script, "--time=2"), recipe)


def tasks_of_srun_are_ranks(folder):
    with Slurm(folder) as slurm:
        recipe = write_recipe(folder, steps=50)
        slurm.ask("srun", "-n", "2", "runner", recipe, f"run.dir={folder}/srun")
        run("launch", "-n", "2", recipe, f"run.dir={folder}/launch")
        assert json.loads((folder / "srun/checkpoints/latest/manifest.json").read_text())["ranks"] == 2
        weights = [(folder / name / "model.safetensors").read_bytes() for name in ("srun", "launch")]
        assert weights[0] == weights[1], "other weights than with runner launch"


main([a_job_that_is_told_to_stop_requeues_itself, tasks_of_srun_are_ranks] + ([a_job_is_warned_before_its_time_limit] if THOROUGH else []))
