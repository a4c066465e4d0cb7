"""Ranks and launchers that are stopped by SIGSTOP or Ctrl-Z: frozen ranks are named, and ranks of a suspended launcher go on."""

import os
import re
import signal
import time

from launch_helpers import ENDLESS, ranks_of, start, wait_until_gone, whole_checkpoints
from run_helpers import RUNNER, main, records, wait_for_steps


def a_frozen_rank_is_named_within_the_timeout(folder):
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, "checkpoint.every=2step", "distributed.timeout=8s", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    ranks = ranks_of(launcher)
    os.kill(ranks[1], signal.SIGSTOP)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode != 0, output
    assert re.search(r"rank 1 \(host .*\) does not respond: frozen or disconnected; last seen at step \d+", output), output
    assert f"rank 1 (process {ranks[1]}) was stopped by a signal (SIGSTOP)" in output, output
    wait_until_gone(ranks.values())
    whole_checkpoints(folder / "run")


def ranks_that_are_all_frozen_are_noticed_by_the_launcher(folder):
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, "distributed.timeout=3s", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    ranks = ranks_of(launcher)
    for process in ranks.values():
        os.kill(process, signal.SIGSTOP)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 128 + signal.SIGKILL, output
    for rank, process in ranks.items():
        assert f"rank {rank} (process {process}) was stopped by a signal (SIGSTOP)" in output, output


def ranks_go_on_while_their_launcher_is_suspended(folder):
    """Ctrl-Z, for longer than ranks wait for each other, and fg."""
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, "distributed.timeout=3s", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    os.killpg(launcher.pid, signal.SIGTSTP)
    suspended_at = len(records(folder / "run"))
    time.sleep(8)
    wait_for_steps(folder / "run", launcher, wanted=suspended_at + 20)
    os.killpg(launcher.pid, signal.SIGCONT)
    launcher.send_signal(signal.SIGTERM)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 128 + signal.SIGTERM, output


def a_suspended_launcher_is_not_taken_for_a_dead_one(folder):
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, "distributed.timeout=3s", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    ranks = ranks_of(launcher)
    launcher.send_signal(signal.SIGSTOP)
    time.sleep(8)  # longer than a rank waits for the store
    launcher.send_signal(signal.SIGCONT)
    steps = len(records(folder / "run"))
    wait_for_steps(folder / "run", launcher, wanted=steps + 20)
    os.kill(ranks[1], signal.SIGKILL)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 128 + signal.SIGKILL, output
    assert re.search(r"Rank 0 stopped in .*: rank 1 \(host .*\) died without an error message; last seen at step \d+", output), output


if __name__ == "__main__":
    main([a_frozen_rank_is_named_within_the_timeout, ranks_that_are_all_frozen_are_noticed_by_the_launcher,
          ranks_go_on_while_their_launcher_is_suspended,
          a_suspended_launcher_is_not_taken_for_a_dead_one])
