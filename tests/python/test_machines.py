"""Ranks on two machines, each a network namespace or a launcher of its own: they restart, end and go on together."""

import os
import re
import signal
import sys

from launch_helpers import ENDLESS, RESUMABLE, SMALL, TwoMachines, compare, free_address, launch_machine, ranks_of, wait_for_text
from run_helpers import SHAPES, THOROUGH, main, records, run, wait_for_steps, wait_until


def two_machines_restart_together(folder):
    run(*RESUMABLE, f"run.dir={folder}/quiet")
    address = free_address()
    launchers = [launch_machine(number, address, folder, "--max-restarts", 1, *RESUMABLE, "distributed.timeout=60s", f"run.dir={folder}/run")
                 for number in (0, 1)]
    wait_for_steps(folder / "run", launchers[0], wanted=12)
    os.kill(ranks_of(launchers[1])[1], signal.SIGKILL)
    outputs = [launcher.communicate(timeout=300)[0] for launcher in launchers]
    assert all(launcher.returncode == 0 for launcher in launchers), outputs
    assert all("restarting with 2 ranks" in output for output in outputs), outputs
    assert "rank 1" in outputs[1] and "failed first: signal 9" in outputs[1], outputs[1]
    compare(folder / "quiet", folder / "run", tolerance=1e-4)


def a_lost_network_ends_both_machines(folder):
    with TwoMachines() as machines:
        launchers = [machines.launch(number, folder, *ENDLESS, "distributed.timeout=10s", f"run.dir={folder}/run") for number in (0, 1)]
        wait_for_steps(folder / "run", launchers[0])
        machines.ip("-n", machines.names[0], "link", "set", "cable0", "down")
        outputs = [launcher.communicate(timeout=300)[0] for launcher in launchers]
        assert all(launcher.returncode == 1 for launcher in launchers), outputs
        assert re.search(r"rank 1 \(host .*\) (does not respond|died)", outputs[0]), outputs[0]
        assert re.search(r"rank 0 \(host .*, process \d+\) and the run's store on its machine do not respond", outputs[1]), outputs[1]
        assert "machine 0 does not respond at 10.77.0.1:4711" in outputs[1], outputs[1]
        assert not any("failed first" in output for output in outputs), outputs


def a_machine_that_never_starts_is_named(folder):
    address = free_address()
    for number, said in (0, "machine 1 of 2 did not start within 2 s (distributed.timeout)"), (1, f"machine 0 does not respond at {address}"):
        launcher = launch_machine(number, address, folder, *ENDLESS, "distributed.timeout=2s", f"run.dir={folder}/run")
        output = launcher.communicate(timeout=300)[0]
        assert launcher.returncode == 1 and said in output and "failed first" not in output, output


def a_machine_that_cannot_join_is_told_why(folder):
    """With another secret, or with the number of a machine that is there already."""
    address = free_address()
    common = [SHAPES, "dataset.train=64", "dataset.eval=16", "loader.batch_size=16", "train.max_steps=2", f"run.dir={folder}/run"]
    launcher = launch_machine(0, address, folder, *common)
    (folder / "stranger").mkdir()
    stranger = launch_machine(1, address, folder / "stranger", *common)
    output = stranger.communicate(timeout=300)[0]
    assert stranger.returncode == 1 and "belongs to another run: its secret is not the one given here" in output, output
    launcher.send_signal(signal.SIGTERM)
    said = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 128 + signal.SIGTERM and "wanted to join with another secret" in " ".join(said.split()), said

    address = free_address()
    twins = [launch_machine(1, address, folder, *common, machines=3) for _ in range(2)]
    first = launch_machine(0, address, folder, *common, machines=3)
    wait_until(lambda: any(twin.poll() is not None for twin in twins))
    refused, accepted = sorted(twins, key=lambda twin: twin.poll() is None)
    output = refused.communicate(timeout=10)[0]
    assert refused.returncode == 1, output
    assert re.search(rf"machine 1 has a launcher already \(host .*, process {accepted.pid}\): give every machine a --node-rank", output), output
    for launcher in (first, accepted):  # that still wait for the third machine
        launcher.send_signal(signal.SIGINT)
        output = launcher.communicate(timeout=300)[0]
        assert launcher.returncode == 128 + signal.SIGINT, output


def machines_may_have_different_numbers_of_ranks(folder):
    common = [*SMALL, "train.epochs=1", "distributed.timeout=60s"]
    run(*common, f"run.dir={folder}/one")
    address = free_address()
    launchers = [launch_machine(number, address, folder, *common, f"run.dir={folder}/three", ranks=ranks) for number, ranks in ((1, 1), (0, 2))]
    outputs = [launcher.communicate(timeout=300)[0] for launcher in launchers]
    assert all(launcher.returncode == 0 for launcher in launchers), outputs
    compare(folder / "one", folder / "three")


def an_elastic_run_goes_on_without_a_machine(folder):
    """First a rank of the second machine is killed, and there is another; then the machine's launcher."""
    common = [*RESUMABLE, "train.max_steps=60", "distributed.timeout=60s", "optimizer=sgd", "optimizer.lr=0.001"]
    run(*common, f"run.dir={folder}/quiet")
    address = free_address()
    launchers = [launch_machine(number, address, folder, "--elastic", "1:3", "--max-restarts", 3, *common, f"run.dir={folder}/run", ranks=number + 1)
                 for number in (0, 1)]
    wait_for_steps(folder / "run", launchers[0], wanted=12)
    os.kill(ranks_of(launchers[1])[2], signal.SIGKILL)
    wait_for_text(folder / "run/log.txt", "resumed from", launchers[0])
    steps = len(records(folder / "run"))
    wait_for_steps(folder / "run", launchers[0], wanted=steps + 8)
    launchers[1].kill()
    outputs = [launcher.communicate(timeout=300)[0] for launcher in launchers]
    assert launchers[0].returncode == 0, outputs
    assert "restarting with 2 ranks (restart 1 of 3)" in outputs[0] and "restarting with 1 rank (restart 2 of 3)" in outputs[0], outputs
    assert "rank 2" in outputs[1] and "failed first: signal 9" in outputs[1], outputs
    compare(folder / "quiet", folder / "run", tolerance=1e-4)


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    cases = [two_machines_restart_together, a_machine_that_never_starts_is_named, a_machine_that_cannot_join_is_told_why,
             machines_may_have_different_numbers_of_ranks]
    if THOROUGH or chosen:
        cases += [a_lost_network_ends_both_machines, an_elastic_run_goes_on_without_a_machine]
    main([case for case in cases if not chosen or case.__name__ in chosen])
