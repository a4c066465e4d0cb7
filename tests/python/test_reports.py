"""Looking at runs: the page of a run in a real browser, the tables, the live curves."""

import json
import math
import os
import random
import re
import sys

import browser
from run_helpers import SHAPES, main, records, run

SMALL = ["dataset.train=256", "dataset.eval=128", "loader.batch_size=32", "train.log_every=1step", "train.epochs=2", "train.clip_norm=1",
         "eval.metric+=confusion_matrix", "hook+=sample_predictions"]


def write_run(folder, name, lines, points, metrics=4):
    """A run folder as a long run leaves it."""
    folder.mkdir(parents=True)
    (folder / "recipe.toml").write_text(f'[run]\nname = "{name}"\n[optimizer]\nname = "sgd"\nlr = {points / 1000}\n[[eval.metric]]\nname = "accuracy"\n')
    noise = random.Random(points)
    with open(folder / "metrics.jsonl", "w") as file:
        for step in range(1, lines + 1):
            values = {f"train/m{i}": noise.random() for i in range(metrics - 1)}
            if step == lines // 3:
                values["train/m0"] = 12345.678
            file.write(json.dumps({"step": step, "epoch": step / 100, "time": step / 50, "train/loss": math.exp(-step / lines), **values}) + "\n")


def hover(page, chart, share):
    """Moves the mouse over a curve and returns what is shown: [line, step, value]."""
    box = page.run("""const canvas = document.querySelector(`[data-chart="${arguments[0]}"] canvas`);
                      canvas.scrollIntoView({block: 'center'});
                      const box = canvas.getBoundingClientRect();
                      return [box.left, box.top, box.width, box.height];""", chart)
    page.move_mouse(box[0] + box[2] * share, box[1] + box[3] / 2)
    return page.run("""return [...document.querySelectorAll(`[data-chart="${arguments[0]}"] .tip:not([hidden]) [data-line]`)].map(
                          line => [line.dataset.line, Number(line.dataset.step), Number(line.dataset.value), line.innerText]);""", chart)


def a_run_leaves_a_page_that_shows_what_it_measured(folder):
    run(SHAPES, *SMALL, f"run.dir={folder}/run")
    file = folder / "run/report.html"
    with browser.Browser() as page:
        page.open(file)
        seen = set()
        for share in (0.3, 0.5, 0.7, 0.97):
            shown = hover(page, "loss", share)
            seen |= {line for line, *_ in shown}
            for line, step, value, text in shown:
                measured = [record[f"{line}/loss"] for record in records(folder / "run") if record["step"] == step and f"{line}/loss" in record]
                assert measured == [value], (line, step, value, measured)
                assert f"{value:.4f}"[:5] in text, (value, text)
        assert seen == {"train", "eval"}, seen
        words = page.run("return document.body.innerText")
        for expected in ("Results", "Curves", "Configuration", "optimizer.lr", "eval/confusion_matrix", "sample predictions",
                         "Where the time went", "forward and backward", "Environment", "libtorch"):
            assert expected in words, expected
        charts = page.run("return [...document.querySelectorAll('[data-chart]')].map(chart => chart.dataset.chart)")
        assert {"loss", "accuracy", "lr", "steps_per_second", "grad_norm"} <= set(charts), charts
        for chart, name in (("lr", "train/lr"), ("grad_norm", "train/grad_norm")):
            ((_, step, value, _),) = hover(page, chart, 0.5)
            assert value == next(record[name] for record in records(folder / "run") if record["step"] == step and name in record)
        pictures = page.run("return [...document.querySelectorAll('.samples img')].map(image => [image.naturalWidth, image.naturalHeight])")
        assert len(pictures) == 8 and all(size == [32, 32] for size in pictures), pictures
        counts = page.run("return [...document.querySelectorAll('.matrix td')].map(cell => Number(cell.innerText)).reduce((a, b) => a + b, 0)")
        assert counts == 128, counts
        asked_for = [address for address in page.requests() if not address.startswith(("file:", "data:"))]
        assert not asked_for, asked_for
        assert page.console() == []


def a_run_of_several_ranks_leaves_one_page(folder):
    """Rank 0 writes it: what all ranks measured together, each evaluation example counted once."""
    run("launch", "-n", 2, SHAPES, *SMALL, "distributed.batch=global", f"run.dir={folder}/run")
    run("report", folder / "run", "-o", folder / "again.html")
    with browser.Browser() as page:
        page.open(folder / "again.html")
        for line, step, value, _ in hover(page, "loss", 0.97):
            measured = [record[f"{line}/loss"] for record in records(folder / "run") if record["step"] == step and f"{line}/loss" in record]
            assert measured == [value], (line, step, value, measured)
        counts = page.run("return [...document.querySelectorAll('.matrix td')].map(cell => Number(cell.innerText)).reduce((a, b) => a + b, 0)")
        assert counts == 128, counts
        assert page.console() == []
    assert sorted(file.name for file in (folder / "run").glob("*.html")) == ["report.html"]
    assert len({record["step"] for record in records(folder / "run") if "train/loss" in record}) == 16  # one record a step, not one a rank


def stand_in_data_is_told_in_red_and_warnings_stand_out(folder):
    write_run(folder / "one", "one", 50, 50)
    (folder / "one/STAND-IN-DATA.txt").write_text("Drawn shapes instead of CIFAR-10.\n")
    (folder / "one/log.txt").write_text("2026-01-31 12:00:00.000 info: fine\n2026-01-31 12:00:01.000 warning: odd things happen\n")
    run("report", folder / "one")
    with browser.Browser() as page:
        page.open(folder / "one/report.html")
        assert "Drawn shapes instead of CIFAR-10." in page.run("return document.querySelector('.alert').innerText")
        colour = page.run("return getComputedStyle(document.querySelector('.alert')).color")
        red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
        assert red > 150 and red > 2 * green and red > 2 * blue, colour
        assert page.run("return [...document.querySelectorAll('.warning')].map(each => each.innerText)") == ["odd things happen"]
        assert "fine" not in page.run("return document.body.innerText")
        page.screenshot("report-stand-in.png")


def drawn(page, chart):
    """What a curve looks like: the pixels of its canvas, once they have settled."""
    return page.run("""return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
                          done(document.querySelector(`[data-chart="${arguments[0]}"] canvas`).toDataURL()))))""", chart)


def the_page_zooms_smooths_and_has_a_logarithmic_scale(folder):
    write_run(folder / "one", "one", 200, 200)
    run("report", folder / "one")
    with browser.Browser() as page:
        page.open(folder / "one/report.html")
        pictures = [drawn(page, "m1")]
        for control in ("document.querySelector('.controls input[type=checkbox]').click()",
                        "const slider = document.querySelector('.controls input[type=range]'); slider.value = 0.9; slider.dispatchEvent(new Event('input'))"):
            page.run(control)
            pictures.append(drawn(page, "m1"))
        assert len(set(pictures)) == 3, "the log scale or the smoothing changes nothing"
        page.open(folder / "one/report.html")
        before = hover(page, "loss", 0.5)[0][1]
        box = page.run("const box = document.querySelector('[data-chart=loss] canvas').getBoundingClientRect(); return [box.left, box.top, box.width]")
        page.drag_mouse(box[0] + box[2] * 0.7, box[0] + box[2] * 0.9, box[1] + 50)
        after = hover(page, "loss", 0.5)[0][1]
        assert 80 < before < 120 and 140 < after < 180, (before, after)
        page.run("""document.querySelector('.controls input[type=checkbox]').click();
                    const slider = document.querySelector('.controls input[type=range]');
                    slider.value = 0.9;
                    slider.dispatchEvent(new Event('input'));
                    document.querySelector('.controls select').value = 'time';
                    document.querySelector('.controls select').dispatchEvent(new Event('change'));""")
        _, step, value, _ = hover(page, "loss", 0.5)[0]
        assert value == records(folder / "one")[int(step) - 1]["train/loss"], "smoothing must not change the value that is shown"
        assert "after" in page.run("return document.querySelector('[data-chart=loss] .tip').innerText")
        page.run("document.querySelector('[data-chart=loss] canvas').focus()")
        assert page.console() == []


def a_flat_curve_is_drawn_flat(folder):
    """Differences of rounding are not spread over the whole height."""
    write_run(folder / "one", "one", 50, 50)  # its speed is 50 steps per second, computed from times
    run("report", folder / "one")
    with browser.Browser() as page:
        page.open(folder / "one/report.html")
        page.run("document.querySelector('[data-chart=steps_per_second]').scrollIntoView({block: 'center'})")
        drawn(page, "steps_per_second")
        area = page.run("return charts_of(read_data().runs, ['one'], new View()).filter(chart => chart.title === 'steps_per_second')"
                        ".map(chart => { chart.measure(); return [chart.area.y0, chart.area.y1]; })[0]")
        assert area[0] < 46 and area[1] > 54, area


def axes_and_charts_say_what_they_show(folder):
    lines = [{"step": step, "epoch": 1, "time": step, "train/loss": -step, "big/value": 1e12 * step, "tiny/value": 1e-9 * step,
              "norms/conv1/weight": 1, "norms/conv1/bias": 2, "eval/loss": "NaN"} for step in range(1, 60)]
    write_run(folder / "one", "one", 1, 1)
    (folder / "one/metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "one/result.json").write_text(json.dumps({"outcome": "failed", "last": {"eval/loss": "NaN", "eval/accuracy": 0.5}}))
    run("report", folder / "one")
    assert json.loads(run("runs", folder, "--json").stdout)[0]["last"] == {"eval/loss": "NaN", "eval/accuracy": 0.5}
    with browser.Browser() as page:
        page.open(folder / "one/report.html")
        # What cannot be compared is not in one chart, and what is not a number is among the results.
        lines = page.run("return Object.fromEntries(charts_of(read_data().runs, ['one'], new View()).map(each => [each.title, each.lines.length]))")
        assert lines == {"loss": 2, "big/value": 1, "tiny/value": 1, "norms/conv1": 2, "steps_per_second": 1}, lines
        assert "eval/loss\tNaN" in page.run("return document.body.innerText")
        texts = lambda low, high: page.run("return tick_texts(round_ticks(...arguments, 4))", low, high)
        assert texts(1e12, 59e12) == ["20T", "40T"], texts(1e12, 59e12)
        assert page.run("return round_ticks(1e16, 1e16 + 4, 4).values.length") < 10  # it ends, although 1e16 + 1 is 1e16
        assert texts(1000000, 1000004) == ["1M", "1.000001M", "1.000002M", "1.000003M", "1.000004M"], texts(1000000, 1000004)
        assert texts(0.0009, 0.0012) == ["0.0009", "0.001", "0.0011", "0.0012"], texts(0.0009, 0.0012)
        assert texts(0, 4e-8) == ["0", "1e-8", "2e-8", "3e-8", "4e-8"], texts(0, 4e-8)
        page.run("document.querySelector('.controls input[type=checkbox]').click()")
        drawn(page, "loss")
        assert "nothing is above 0" in page.run("return document.querySelector('[data-chart=loss] h3').innerText")


def pages_fit_a_phone_and_the_dark(folder):
    write_run(folder / "one", "one", 50, 50)
    write_run(folder / "two", "two", 50, 60)
    run("report", folder / "one", folder / "two", "-o", folder / "both.html")
    with browser.Browser() as page:
        page.open(folder / "both.html")
        shown = {line: (step, value) for line, step, value, _ in hover(page, "loss", 0.5)}
        assert set(shown) == {"one train", "two train"}, shown
        for name in ("one", "two"):
            step, value = shown[f"{name} train"]
            assert value == records(folder / name)[step - 1]["train/loss"], (name, step, value)
        page.screenshot("report-two-runs.png")
    with browser.Browser(dark=True) as page:
        page.open(folder / "both.html")
        page.screenshot("report-two-runs-dark.png")
    with browser.Browser(390, 800, dark=True) as page:
        page.open(folder / "both.html")
        page.screenshot("report-two-runs-phone.png")
        assert page.run("return document.documentElement.scrollWidth") <= 390
        assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
        assert page.run("return document.querySelectorAll('tr.differs').length") >= 2  # run.name and optimizer.lr
        assert page.console() == []


def a_long_name_leaves_room_for_the_number_on_a_phone(folder):
    write_run(folder / "one", "one", 50, 50)
    with open(folder / "one/metrics.jsonl", "a") as file:
        file.write(json.dumps({"step": 51, "epoch": 1, "time": 2, "eval/" + 40 * "long_": 0.125}) + "\n")
    run("report", folder / "one")
    with browser.Browser(390, 800) as page:
        page.open(folder / "one/report.html")
        right = page.run("return [...document.querySelectorAll('td')].find(cell => cell.innerText === '0.125').getBoundingClientRect().right")
        assert right <= 390, right
        assert "51 steps · 1 epoch · " in page.run("return document.body.innerText")


def many_points_and_a_hundred_runs_stay_small(folder):
    for i in range(100):
        write_run(folder / f"runs/{i:03}", f"run{i}", 2500, i + 1)  # with 4 metrics each: a million points
    run("report", folder / "runs", "-o", folder / "all.html")
    assert (folder / "all.html").stat().st_size < 5e6, (folder / "all.html").stat().st_size
    with browser.Browser() as page:
        page.open(folder / "all.html")
        took = page.run("const [entry] = performance.getEntriesByType('navigation'); return entry.loadEventEnd - entry.startTime")
        print(f"        {(folder / 'all.html').stat().st_size / 1e6:.1f} MB, loaded in {took:.0f} ms")
        peaks = page.run("return read_data().runs.map(run => Math.max(...run.series.find(series => series.name === 'train/m0').y))")
        assert peaks == [12345.678] * 100, "an extreme was lost"
        assert page.console() == []


def runs_are_listed_filtered_and_sorted(folder):
    run(SHAPES, *SMALL, "train.max_steps=2", f"run.dir={folder}/runs/a/1", "optimizer=sgd", "run.name=a")
    run(SHAPES, *SMALL, "train.max_steps=4", f"run.dir={folder}/runs/b/1", "optimizer=adam", "run.name=b")
    listed = json.loads(run("runs", folder / "runs", "--json", "--sort", "steps").stdout)
    assert [(entry["name"], entry["steps"]) for entry in listed] == [("a", 2), ("b", 4)], listed
    assert listed[1]["best"]["metric"] == "eval/loss" and listed[1]["last"]["eval/loss"] == records(folder / "runs/b/1")[-1]["eval/loss"]
    chosen = json.loads(run("runs", folder / "runs", "--json", "--where", "optimizer.name=sgd", "--where", "steps>1").stdout)
    assert [entry["name"] for entry in chosen] == ["a"]
    assert run("runs", "--sort", "colour", check=False).returncode == 2
    assert run("runs", folder / "runs", "--where", "nonsense", check=False).returncode == 2
    assert len(json.loads(run("runs", folder / "runs", "--json", "--where", "duration<1h").stdout)) == 2
    for wrong in ("duration<soon", "best>abc", "steps>1h"):
        done = run("runs", folder / "runs", "--where", wrong, check=False)
        assert done.returncode == 2 and "not a number" in done.stderr, done
    mistyped = run("runs", folder / "runs", "--where", "optimizer.nme=sgd", check=False)
    assert mistyped.returncode == 2 and 'did you mean "optimizer.name"?' in mistyped.stderr, mistyped
    table = run("runs", folder / "runs", "--reverse", "--sort", "name").stdout.splitlines()
    assert table[0].split()[:3] == ["name", "status", "steps"] and table[1].startswith("b") and table[2].startswith("a"), table


def runs_whose_best_value_is_no_number_come_first(folder):
    for name, value in (("a", 0.9), ("b", "NaN"), ("c", 0.1), ("d", "NaN"), ("e", 0.5)):
        write_run(folder / name, name, 1, 1)
        best = {"metric": "eval/accuracy", "value": value, "step": 1, "epoch": 1}
        (folder / name / "result.json").write_text(json.dumps({"outcome": "finished", "steps": 1, "best": best}))
    listed = [entry["name"] for entry in json.loads(run("runs", folder, "--json", "--sort", "best").stdout)]
    assert sorted(listed[:2]) == ["b", "d"] and listed[2:] == ["c", "e", "a"], listed


def a_run_folder_from_elsewhere_cannot_control_the_terminal(folder):
    write_run(folder / "one", "one", 1, 1)
    (folder / "one/result.json").write_text(json.dumps({"outcome": "\x1b[2Jfinished", "message": "\x1b[2J"}))
    listed = run("runs", folder).stdout
    assert "[2Jfinished" in listed and "\x1b" not in listed, listed


def predictions_of_another_program_do_not_spoil_the_page(folder):
    write_run(folder / "one", "one", 1, 1)
    (folder / "one/sample_predictions.json").write_text('{"step": 1}')
    run("report", folder / "one")
    assert '"predictions"' not in (folder / "one/report.html").read_text()


def a_resumed_run_started_when_it_first_did(folder):
    words = [SHAPES, *SMALL, f"run.dir={folder}/run"]
    run(*words, "train.epochs=1")
    first = json.loads(run("runs", folder, "--json").stdout)[0]["started"]
    os.utime(folder / "run/recipe.toml", (first + 5000, first + 5000))  # as a resume much later leaves it
    run(*words)
    (resumed,) = json.loads(run("runs", folder, "--json").stdout)
    assert resumed["steps"] == 16 and resumed["started"] == first, (first, resumed)


def runs_are_compared(folder):
    for name, rate in (("a", 0.1), ("b", 0.01)):
        run(SHAPES, *SMALL, "train.max_steps=2", f"run.dir={folder}/{name}", f"run.name={name}", f"optimizer.lr={rate}")
    different = json.loads(run("diff", folder / "a", folder / "b", "--json").stdout)
    assert different["recipe"]["optimizer.lr"] == ["0.1", "0.01"]
    assert "optimizer.name" not in different["recipe"] and different["data"] == {}
    assert "optimizer.lr" in run("compare", folder / "a", folder / "b").stdout
    assert "optimizer.name" in run("compare", folder / "a", folder / "b", "--all").stdout
    assert json.loads(run("diff", folder / "a", folder / "a", "--json").stdout)["results"] == {}


def runs_on_other_data_or_threads_differ(folder):
    recipe = folder / "recipe.toml"
    recipe.write_text('model = "mlp"\ndataset = {name = "csv", train = "rows.csv", split = 0.5, target = "y"}\noptimizer = "sgd"\nloader.batch_size = 2\n')
    for name, value in (("a", 1), ("b", 2)):
        (folder / "rows.csv").write_text("x,y\n" + "".join(f"{i * value},{'yes' if i % 2 else 'no'}\n" for i in range(10, 14)))
        run(recipe, "train.max_steps=2", f"run.dir={folder}/{name}", f"run.threads={value}")
    (folder / "b/result.json").unlink()  # as if it had been killed
    different = json.loads(run("diff", folder / "a", folder / "b", "--json").stdout)
    assert list(different["data"]) == ["dataset.train"] and different["data"]["dataset.train"][0].startswith("30 bytes, sha256 "), different["data"]
    assert different["versions"] == {"threads": ["1", "2"]}, different["versions"]
    header = run("diff", f"{folder}/a/", f"{folder}/b/").stdout.splitlines()[0]  # the slash is from the completion of a shell
    assert header.split() == ["a", "b"], header


def a_run_is_watched(folder):
    write_run(folder / "one", "one", 300, 300)
    drawn = run("watch", folder / "one", "--metric", "train/loss").stdout
    assert "step 300, epoch 3" in drawn and "train/loss" in drawn and "train/m1" not in drawn, drawn
    assert "300 steps" in drawn, drawn
    assert "no metric so far starts with nosuch" in run("watch", folder / "one", "--metric", "nosuch").stdout


if __name__ == "__main__":
    if not browser.available():
        print("skipped: chromium and chromium-driver are not installed; scripts/setup.sh --tests does it")
        sys.exit(77)
    main([a_run_leaves_a_page_that_shows_what_it_measured, a_run_of_several_ranks_leaves_one_page, stand_in_data_is_told_in_red_and_warnings_stand_out,
          the_page_zooms_smooths_and_has_a_logarithmic_scale, a_flat_curve_is_drawn_flat, axes_and_charts_say_what_they_show,
          pages_fit_a_phone_and_the_dark, a_long_name_leaves_room_for_the_number_on_a_phone, many_points_and_a_hundred_runs_stay_small,
          runs_are_listed_filtered_and_sorted, runs_whose_best_value_is_no_number_come_first, a_run_folder_from_elsewhere_cannot_control_the_terminal,
          predictions_of_another_program_do_not_spoil_the_page, a_resumed_run_started_when_it_first_did, runs_are_compared,
          runs_on_other_data_or_threads_differ, a_run_is_watched])
