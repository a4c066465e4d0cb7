"""Results as Markdown: medians, their spread, and ratios."""
import statistics

OURS, THEIRS = "runner", "Accelerate, ordinary"
OTHERS = [THEIRS, "runner, exported model", "Accelerate, best settings", "Accelerate, best settings, torch.compile", "bare loop"]


def median(values):
    return statistics.median(values)


def spread(values, scale=1.0, digits=2):
    low, high = min(values) * scale, max(values) * scale
    return f"{median(values) * scale:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def summary(found):
    """Ratios of medians: how many times longer theirs takes, and our memory as a share of theirs."""
    rows = []
    for name, runs in found.items():
        def ratio(contender, key, upside_down=False):
            if contender not in runs:
                return ""
            found = median(runs[contender][key]) / median(runs[OURS][key])
            return f"{1 / found if upside_down else found:.2f}"
        rows.append([name, *(ratio(contender, "step") for contender in OTHERS), ratio(THEIRS, "first"),
                     ratio(THEIRS, "memory", upside_down=True)])
    return table(["work", *(f"step: {name}" for name in OTHERS), f"first step: {THEIRS}", f"memory, ours / {THEIRS}"], rows) + "\n"


def step_tables(found):
    text = ""
    for name, runs in found.items():
        ours = {key: median(values) for key, values in runs[OURS].items()}
        rows = []
        for contender, one in runs.items():
            ratio = lambda key: f"{median(one[key]) / ours[key]:.2f}"
            rows.append([contender, spread(one["step"], 1000), ratio("step"), spread(one["first"]), ratio("first"),
                         f"{median(one['memory']):.0f}", f"{ours['memory'] / median(one['memory']):.2f}"])
        text += f"### {name}\n\n" + table(
            ["", "ms a step", "ratio to ours", "s to the first step", "ratio to ours", "peak MB", "ours / theirs"], rows) + "\n"
    return text


def job_table(found):
    seconds = {name: [one["seconds"] for one in many] for name, many in found.items()}
    rows = [[name, spread(values, digits=1), f"{median(values) / median(seconds[OURS]):.2f}",
             f"{median([one['memory'] for one in found[name]]):.0f}"] for name, values in seconds.items()]
    return "### A whole short job: 5 epochs, 10,000 images, evaluation, TensorBoard, model saved; one core\n\n" + table(
        ["", "s", "ratio to ours", "peak MB"], rows) + "\n"


def loader_table(found):
    names = {"cifar": "CIFAR size, crop and flip", "images": "JPEG files, random resized crop and flip"}
    rows = [[names[kind], spread(rates[OURS], digits=0), spread(rates[THEIRS], digits=0),
             f"{median(rates[OURS]) / median(rates[THEIRS]):.1f}"] for kind, rates in found.items()]
    return "### The loader alone, one worker\n\n" + table(["", "ours, images/s", "theirs, images/s", "ratio"], rows) + "\n"


def growth_table(found):
    rows = [[name, spread(one["first"]), spread(one["step"], 1000), f"{median(one['memory']):.0f}",
             f"{median(one['private']):.0f}"] for name, one in found.items()]
    return "### Growth (mlp, batch 64, one core)\n\n" + table(
        ["", "s for a process of one step", "ms a step", "peak MB", "of it private"], rows) + "\n"


def side_by_side_table(title, found, bound):
    rows = [[name, spread(ratios, digits=3), "above the bound" if median(ratios) > bound else "yes"] for name, ratios in found.items()]
    return f"### {title}\n\n" + table(["", "time of a step, ratio to the run next to it", f"at most {bound}"], rows) + "\n"


def trackers_table(found):
    return side_by_side_table("Trackers (simple_cnn, batch 64, every step logged; next to it: no trackers)", found, 1.02)


def checkpoints_table(found):
    return side_by_side_table("Checkpoints in the background (resnet18, batch 16; next to it: no checkpoints)", found, 1.03)


def strategies_table(found):
    rows = [[name, spread(steps, 1000), f"{median(steps) / median(found['ddp']):.2f}"] for name, steps in found.items()]
    return "### Strategies (simple_cnn, batch 128 over two ranks, one core each)\n\n" + table(
        ["", "ms a step", "ratio to ddp"], rows) + "\n"


def rank_costs_table(found):
    megabytes = 1 / 1e6
    baseline, estimated = median(found["memory"]["ddp"]["measured"]), found["memory"]["ddp"]["estimated"]
    # The process itself takes memory, too: what a strategy saves is the difference.
    rows = [[name, spread(one["measured"], megabytes, 1), f"{(baseline - median(one['measured'])) * megabytes:.1f}",
             f"{(estimated - one['estimated']) * megabytes:.1f}"] for name, one in found["memory"].items()]
    text = "### Memory of a rank (mlp with adamw, two ranks)\n\n" + table(
        ["", "private MB", "less than ddp, MB", "by the estimate, MB"], rows) + "\n"
    rows = [[name, spread(one["measured"], megabytes), f"{one['estimated'] * megabytes:.2f}",
             f"{median(one['measured']) / median(found['sent']['ddp']['measured']):.3f}"]
            for name, one in found["sent"].items() if one["measured"][0] is not None]
    return text + "### Bytes that a rank sends in a step\n\n" + table(
        ["", "MB", "by the estimate, MB", "ratio to ddp"], rows) + "\n"


def sharding_table(found):
    ours = found["runner, zero3"]
    rows = [[name, spread(one["step"], 1000), f"{median(one['step']) / median(ours['step']):.2f}", spread(one["memory"], 1 / 1e6),
             f"{median(one['memory']) / median(ours['memory']):.2f}"] for name, one in found.items()]
    return "### Sharded parameters (mlp with adamw, two ranks, one core each; equal losses)\n\n" + table(
        ["", "ms a step", "ratio", "private MB of a rank", "ratio"], rows) + "\n"


def large_model_table(found):
    def cells(many, key, ours):
        values = [one[key] for one in many if one[key] is not None]
        return [spread(values), f"{median(values) / ours:.2f}"] if values else ["", ""]
    ours = {key: median([one[key] for one in found[OURS]]) for key in ("save", "load")}
    rows = [[name, *cells(many, "save", ours["save"]), *cells(many, "load", ours["load"])] for name, many in found.items()]
    return "### A model of 2 GB, flushed to the disk\n\n" + table(
        ["", "s to save", "ratio to ours", "s to load", "ratio to ours"], rows) + "\n"


def resuming_table(found):
    first = median(next(iter(found.values())))
    rows = [[name, spread(seconds), f"{median(seconds) / first:.2f}"] for name, seconds in found.items()]
    return "### Going on: from the start of the process to the record of its first step\n\n" + table(["", "s", "ratio"], rows) + "\n"


def goodput_text(found):
    return (f"### Killed every 30 s\n\n{found['kills']} kills in {found['seconds']:.0f} s: {found['steps']:,} steps counted, "
            f"{found['share']:.1%} of the time.\n\n")


def ranks_table(found):
    rows = []
    for work, steps in found.items():
        two, one = median(steps["runner, 2 ranks"]), median(steps["runner, 1 rank"])
        for name, values in steps.items():
            # The batch is that of each rank: with two, twice as many examples in the same time are all there is to win.
            efficiency = f"{100 * one / two:.0f} %" if name == "runner, 2 ranks" else ""
            rows.append([work, name, spread(values, 1000), f"{median(values) / two:.2f}", efficiency])
    return "### Two ranks of one core each\n\n" + table(
        ["", "", "ms a step", "ratio to ours", "efficiency, from 1 to 2 ranks"], rows) + "\n"


def markdown(result):
    text = f"Machine: {result['machine']}. Data: {result['data']}. Medians of {result['rounds']} rounds (least to most).\n\n"
    text += f"Best settings {'with' if result['jemalloc'] else 'without'} jemalloc{'' if result['jemalloc'] else ', which is not installed'}.\n\n"
    if result["steps"]:
        text += summary(result["steps"]) + step_tables(result["steps"])
    for key, section in (("job", job_table), ("loader", loader_table), ("growth", growth_table),
                         ("trackers", trackers_table), ("strategies", strategies_table),
                         ("rank_costs", rank_costs_table), ("sharding", sharding_table), ("checkpoints", checkpoints_table),
                         ("large_model", large_model_table), ("resuming", resuming_table), ("goodput", goodput_text),
                         ("ranks", ranks_table)):
        if key in result:
            text += section(result[key])
    return text
