"""What a run leaves that is stopped from outside: a signal, a terminal that closes, a closed pipe, a kill."""

import fcntl
import os
import pty
import signal
import termios

from run_helpers import SHAPES, main, series, wait_for_steps
from safetensors.numpy import load_file
from shapes_run import SMALL, start


def stopped_by(number, folder):
    process = start(SHAPES, *SMALL, "train.epochs=100000", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", process)
    process.send_signal(number)
    message = process.communicate(timeout=120)[0]
    assert process.returncode == 128 + number, (process.returncode, message)
    assert "stop" in message and "model.safetensors" in message, message
    assert load_file(folder / "run/model.safetensors")["fc2.bias"].shape == (10,)


def one_interrupt_stops_after_the_step_and_saves(folder):
    stopped_by(signal.SIGINT, folder)


def so_does_a_request_to_terminate(folder):
    stopped_by(signal.SIGTERM, folder)


def so_does_a_lost_connection(folder):
    stopped_by(signal.SIGHUP, folder)


def a_terminal_that_closes_stops_and_saves_though_nobody_reads(folder):
    master, slave = pty.openpty()
    process = start(SHAPES, *SMALL, "train.epochs=100000", f"run.dir={folder}/run", stdin=slave, stdout=slave, stderr=slave,
                    start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    wait_for_steps(folder / "run", process)
    os.close(master)  # the kernel sends SIGHUP, and what is written from now on fails
    assert process.wait(timeout=120) == 128 + signal.SIGHUP
    assert load_file(folder / "run/model.safetensors")["fc2.bias"].shape == (10,)
    assert "interrupted" in (folder / "run/log.txt").read_text()


def nohup_is_respected(folder):
    process = start(SHAPES, *SMALL, "train.epochs=100000", f"run.dir={folder}/run",
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_steps(folder / "run", process)
    process.send_signal(signal.SIGHUP)
    before = len(series(folder / "run", "train/loss"))
    wait_for_steps(folder / "run", process, before + 20)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM


def a_closed_pipe_does_not_end_a_run(folder):
    process = start(SHAPES, *SMALL, "train.epochs=2", f"run.dir={folder}/run")
    process.stdout.readline()
    process.stdout.close()  # as `runner X 2>&1 | head -1` does
    assert process.wait(timeout=120) == 0
    log = (folder / "run/log.txt").read_text()
    assert "finished after" in log and "eval  epoch 2" in log, log
    assert (folder / "run/model.safetensors").exists()


def a_killed_run_leaves_readable_measurements(folder):
    process = start(SHAPES, *SMALL, "train.epochs=100000", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", process)
    process.kill()
    process.wait()
    assert len(series(folder / "run", "train/loss")) >= 3
    assert not (folder / "run/model.safetensors").exists()


main([one_interrupt_stops_after_the_step_and_saves, so_does_a_request_to_terminate, so_does_a_lost_connection,
      a_terminal_that_closes_stops_and_saves_though_nobody_reads, nohup_is_respected, a_closed_pipe_does_not_end_a_run,
      a_killed_run_leaves_readable_measurements])
