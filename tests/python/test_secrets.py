"""What must not be shown is nowhere: not on the terminal, in no log, checkpoint, recipe or message, and no tracker has it.
Components that are shipped take their secrets from the environment, so the program here has one more (program_with_a_secret.cpp)."""

import http.server
import json
import pathlib
import subprocess
import threading

from run_helpers import RUNNER, environment, main

PROGRAM = pathlib.Path(RUNNER).resolve().parent / "program_with_a_secret"
SECRET = "hunter2-Xyzzy"
RECIPE = """
[model]
name = "mlp"
hidden = [8]
[dataset]
name = "synthetic"
shape = [16]
train = 64
eval = 16
[loader]
batch_size = 8
[optimizer]
name = "sgd"
lr = 0.1
[train]
max_steps = 6
log_every = "2step"
[[eval.metric]]
name = "accuracy"
"""
VAULT = '[[tracker]]\nname = "vault"\n'


def said(*words, code=0, **variables):
    """Everything that the program says; the secret is not in it."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env=environment(**variables), timeout=300)
    assert done.returncode == code, (words, done)
    text = done.stdout + done.stderr
    assert SECRET not in text, (words, text)
    return text


def written(folder, text):
    path = folder / "recipe.toml"
    path.write_text(text)
    return path


class Collector:
    """A server that says yes to everything and remembers what it was sent."""

    def __init__(self):
        received = self.received = []
        answer = json.dumps({"experiment": {"experiment_id": "1"}, "run": {"info": {"run_id": "r"}, "data": {}}}).encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                received.append(self.path.encode() + str(self.headers).encode() + body)
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


def a_run_keeps_its_secret(folder):
    collector = Collector()
    others = "".join(f'[[tracker]]\nname = "{name}"\n' for name in ("csv", "tensorboard", "wandb", "swanlab", "comet", "console"))
    recipe = written(folder, RECIPE + VAULT + f'token = "{SECRET}"\n' + others + f'[[tracker]]\nname = "mlflow"\nurl = "{collector.url}"\n')
    said(recipe, f"run.dir={folder}/run")
    assert (folder / "run/vault.txt").read_text() == str(len(SECRET)), "the secret did not arrive"
    assert any(b"log-batch" in each for each in collector.received), "nothing was sent"
    assert all(SECRET.encode() not in each for each in collector.received)
    files = [path for path in (folder / "run").rglob("*") if path.is_file()]
    assert any("checkpoints" in path.parts for path in files) and any(path.suffix == ".html" for path in files)
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path
    for command in ("show", "check", "estimate"):
        said(command, recipe)
    said("show", recipe, "--json")
    said("report", folder / "run")


def a_secret_comes_from_the_command_line_and_the_environment(folder):
    recipe = written(folder, RECIPE + VAULT)
    said("check", recipe, f"tracker.0.token={SECRET}")
    said("check", recipe, 'tracker.0.token="${env:VAULT_TOKEN}"', VAULT_TOKEN=SECRET)
    said("check", recipe, RUNNER_TRACKER__0__TOKEN=SECRET)
    said("show", recipe, f"tracker.0.token={SECRET}")
    said("show", recipe, 'tracker.0.token="${env:VAULT_TOKEN}"', VAULT_TOKEN=SECRET)
    said(recipe, RUNNER_TRACKER__0__TOKEN=SECRET, code=0, RUNNER_RUN__DIR=f"{folder}/run")
    assert (folder / "run/vault.txt").read_text() == str(len(SECRET))
    # A run does not keep it: to go on it has to be given again.
    assert "token" in said("resume", folder / "run", "train.max_steps=8", code=2)
    said("resume", folder / "run", "train.max_steps=8", f"tracker.0.token={SECRET}")


def mistakes_do_not_show_it(folder):
    for wrong in (f'token = ["{SECRET}"]', f'token = "{SECRET}"\nlevel = 99', f'token = {{ x = "{SECRET}" }}', f'tokn = "{SECRET}"',
                  f'token = "{SECRET}"\ntokn = "{SECRET}"', f'token = "{SECRET}', f'token = """{SECRET}"""\nlevel = "x"'):
        said("check", written(folder, RECIPE + VAULT + wrong + "\n"), code=2)
    recipe = written(folder, RECIPE)
    for key in ("api_key", "token", "password", "passwd", "my_api_key", "secret", "apikey", "accessToken", "pasword"):
        said("check", recipe, f"optimizer.{key}={SECRET}", code=2)
        said("check", written(folder, RECIPE + f'[[hook]]\nname = "nan_guard"\n{key} = "{SECRET}"\n'), code=2)
        said("check", written(folder, f'{key} = "{SECRET}"\n' + RECIPE), code=2)


def values_of_variables_are_not_in_messages(folder):
    recipe = written(folder, RECIPE)
    for key in ("optimizer.lr", "train.max_steps", "eval.every", "run.deterministic", "checkpoint.max_shard_size", "loss", "run.device"):
        text = said("check", recipe, f'{key}="${{env:HELD}}"', code=2, HELD=SECRET)
        assert "env:HELD" in text, text
    said("check", recipe, 'optimizer.lr="x${env:HELD}"', code=2, HELD=SECRET)


def a_password_in_an_address_is_not_printed(folder):
    recipe = written(folder, RECIPE.replace('name = "synthetic"\nshape = [16]\ntrain = 64\neval = 16',
                                            f'name = "cifar10"\ndir = "{folder}/none"\nurl = "http://me:{SECRET}@127.0.0.1:9/x.tar.gz"'))
    for command in (["run"], ["check", "--deep"], ["estimate"], ["data"], ["show"]):
        subject = subprocess.run([PROGRAM, *command, recipe, f"run.dir={folder}/run"], capture_output=True, text=True, timeout=300,
                                 env=environment(no_proxy="127.0.0.1"))
        assert SECRET not in subject.stdout + subject.stderr, (command, subject)


main([a_run_keeps_its_secret, a_secret_comes_from_the_command_line_and_the_environment, mistakes_do_not_show_it,
      values_of_variables_are_not_in_messages, a_password_in_an_address_is_not_printed])
