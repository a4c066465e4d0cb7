"""Results as Markdown: medians, their spread, and ratios."""
import statistics

OURS, THEIRS = "runner", "Accelerate, ordinary"
OTHERS = [THEIRS, "Accelerate, best settings", "Accelerate, best settings, torch.compile", "bare loop"]


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


def trackers_table(found):
    rows = [[cores, name, spread(steps, 1000), f"{median(steps) / median(one['no trackers']):.3f}"]
            for cores, one in found.items() for name, steps in one.items()]
    return "### Trackers (simple_cnn, batch 64, every step logged)\n\n" + table(["", "", "ms a step", "ratio to no trackers"], rows) + "\n"


def markdown(result):
    text = f"Machine: {result['machine']}. Data: {result['data']}. Medians of {result['rounds']} rounds (least to most).\n\n"
    text += f"Best settings {'with' if result['jemalloc'] else 'without'} jemalloc{'' if result['jemalloc'] else ', which is not installed'}.\n\n"
    if result["steps"]:
        text += summary(result["steps"]) + step_tables(result["steps"])
    for key, section in (("job", job_table), ("loader", loader_table), ("growth", growth_table),
                         ("trackers", trackers_table)):
        if key in result:
            text += section(result[key])
    return text
