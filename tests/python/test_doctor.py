"""`runner doctor` finds that this machine works, and what is broken where something is."""

import json
import socket
import subprocess
import sys
import time

from launch_helpers import ENDLESS, free_address, launch_machine
from run_helpers import RUNNER, SOURCE, Skip, environment, main, run


def doctor(*arguments, **options):
    done = run("doctor", "--json", *arguments, check=False, **options)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] == (done.returncode == 0), report
    return {check["check"]: check for check in report["checks"]}


def state(checks, name, wanted):
    found = checks[name]
    assert found["state"] == wanted, checks
    assert wanted != "problem" or found["remedy"], found
    return found["detail"]


def a_machine_that_works(folder):
    # Settings of the environment are for recipes, not for what is tried here, and the ranks of mpirun are those of another program.
    variables = environment(RUNNER_OPTIMIZER__LR="1e9", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_LOCAL_RANK="0",
                            OMPI_COMM_WORLD_LOCAL_SIZE="2", PMIX_NAMESPACE="4711")
    done = subprocess.run([RUNNER, "doctor", "--dir", folder / "runs/deep", "recipes/shapes.toml", "dataset.train=64"],
                          capture_output=True, text=True, timeout=500, env=variables)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    words = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    assert "problem" not in words and "ready" in done.stdout, done.stdout
    for what in ("processor", "run folder", "loopback", "GPUs", "recipe", "plugins", "data", "training", "precision fp32",
                 "precision bf16", "two ranks"):
        assert any(what in line for line in lines), (what, done.stdout)
    assert not (folder / "runs").exists(), "what was made for the check is removed"


def a_folder_that_cannot_be_written(folder):
    (folder / "file").write_text("")
    assert str(folder) in state(doctor("--quick", "--dir", folder / "file/runs"), "run folder", "problem")


def the_folder_of_the_recipe_is_checked(folder):
    (folder / "file").write_text("")
    quoted = f"run.dir='{folder}/file/runs'"  # as TOML writes a text
    assert f"{folder}/file/runs:" in state(doctor("--quick", "recipes/shapes.toml", quoted), "run folder", "problem")
    (folder / "recipe.toml").write_text(f'extends = "{SOURCE.resolve()}/recipes/shapes.toml"\n[run]\ndir = "{folder}/file/runs"\n')
    state(doctor("--quick", folder / "recipe.toml"), "run folder", "problem")
    assert doctor("--quick", "--dir", folder / "runs", folder / "recipe.toml")["run folder"]["state"] != "problem"


def a_folder_on_a_disk_that_is_read_only(folder):
    script = f"mount -t tmpfs -o ro none {folder} && exec {RUNNER} doctor --json --quick --dir {folder}/runs"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, env=environment(), timeout=300)
    if not done.stdout:
        raise Skip(f"no mounts of its own ({done.stderr.strip()})")
    checks = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 1 and "ead-only" in state(checks, "run folder", "problem"), checks


def a_port_that_is_taken(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        checks = doctor("--quick", "--rendezvous", f"127.0.0.1:{taken.getsockname()[1]}")
    assert "not the store of a run" in state(checks, "rendezvous", "problem")
    assert "ss -ltnp" in checks["rendezvous"]["remedy"]


def a_port_that_is_free_and_one_where_a_run_listens(folder):
    address = free_address()
    assert "can listen" in state(doctor("--quick", "--rendezvous", address), "rendezvous", "ok")
    launcher = launch_machine(0, address, folder, *ENDLESS, f"run.dir={folder}/run")  # waits for the second machine
    try:
        wait_until_listening(address)
        assert "answers" in state(doctor("--quick", "--rendezvous", address), "rendezvous", "ok")
    finally:
        launcher.kill()
        launcher.communicate()


def wait_until_listening(address):
    host, port = address.split(":")
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            return socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nobody listens at {address}")


def a_machine_that_nobody_answers_for(folder):
    # An address that is kept for documentation: nothing is sent far, because no route leads there in a namespace of its own.
    done = subprocess.run(["unshare", "-n", RUNNER, "doctor", "--json", "--quick", "--rendezvous", "192.0.2.1:4711"], capture_output=True,
                          text=True, env=environment(), timeout=300)
    if not done.stdout:
        raise Skip(f"no network namespaces ({done.stderr.strip()})")
    checks = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
    state(checks, "rendezvous", "problem")
    state(checks, "loopback", "problem")  # which is down there, too


def a_recipe_that_does_not_work(folder):
    checks = doctor("--quick", "recipes/shapes.toml", "optimizer.lrr=1")
    assert "lrr" in state(checks, "recipe", "problem")
    checks = doctor("--quick", "recipes/shapes.toml", "dataset=csv", f"dataset.file={folder}/missing.csv", "~dataset.transform")
    assert checks.get("data", checks.get("recipe"))["state"] == "problem", checks


def a_folder_for_temporary_files_that_is_missing(folder):
    done = subprocess.run([RUNNER, "doctor", "--json"], capture_output=True, text=True, env=environment(TMPDIR=str(folder / "nope")), timeout=300)
    assert done.returncode == 1, done
    checks = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
    assert f'TMPDIR is "{folder}/nope"' in state(checks, "temporary files", "problem"), checks


def bad_words_on_the_command_line(folder):
    done = run("doctor", "--rendezvous", "nowhere", check=False)
    assert done.returncode == 2 and "HOST:PORT" in done.stderr, done.stderr


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    cases = [a_machine_that_works, a_folder_that_cannot_be_written, the_folder_of_the_recipe_is_checked,
             a_folder_on_a_disk_that_is_read_only, a_port_that_is_taken,
             a_port_that_is_free_and_one_where_a_run_listens, a_machine_that_nobody_answers_for, a_recipe_that_does_not_work,
             a_folder_for_temporary_files_that_is_missing, bad_words_on_the_command_line]
    main([case for case in cases if not chosen or case.__name__ in chosen])
