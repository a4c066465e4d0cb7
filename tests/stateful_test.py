"""Everything that remembers something from one update to the next is in the list that a checkpoint holds.

Each class below components/ and runner/ that derives from Stateful has an entry here: the name it is saved under in
Run::stateful, or what saves it. A new class without one fails; so does a name that is no longer in the list.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(os.environ.get("RUNNER_SOURCE_DIR", Path(__file__).resolve().parent.parent))

SAVED_AS = {  # the name in Run::stateful
    "ModelWeights": "model",
    "Optimizer": "optimizer",
    "Engine": "engine",
    "Scheduler": "schedule",
    "ProgressState": "progress",
    "Requests": "requests",
    "Generators": "generators",
    "DivergenceGuard": "divergence",
    "TimeLedger": "times",
    "BestModel": "best",
    "Hook": "hook.",
    "Journal": "journal",
    "Trackers": "trackers",
}
SAVED_BY = {  # what saves it with its own state, or hands it over in another's place
    "Precision": "Engine",
    "TrainingLoss": "Journal",
    "Tracker": "Trackers",
    "ShardedWeights": "Engine::weights_state()",
    "WeightsOnOneRank": "Engine::weights_state()",
    "SlicedStateful": "Engine::as_whole()",
    "Shared": "Accelerator::save_state()",
    "GeneratorsOfRanks": "Accelerator::save_state()",
    "LoaderPlace": "Accelerator::save_state()",
}
CLASS = re.compile(r"\b(?:class|struct) (\w+)(?: final)?\s*:\s*([^{;]*)\{")


def stateful_classes():
    for folder in ("components", "runner"):
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            for name, bases in CLASS.findall(path.read_text()):
                if re.search(r"\bStateful\b", bases):
                    yield name, path.relative_to(ROOT)


def main():
    problems = []
    found = dict(stateful_classes())
    for name, path in found.items():
        if name not in SAVED_AS and name not in SAVED_BY:
            problems.append(f"{path}: {name} is Stateful: add it to Run::stateful, and say here under which name it is saved")
    for name in [*SAVED_AS, *SAVED_BY]:
        if name not in found:
            problems.append(f"{name} is listed here, but no class of that name is Stateful")
    listed = "".join((ROOT / "runner/train" / file).read_text() for file in ("run.cpp", "train_recipe.cpp"))
    listed = "".join(listed.split())
    for name, saved_as in SAVED_AS.items():
        if f'{{"{saved_as}",&' not in listed and f'emplace_back("{saved_as}' not in listed:
            problems.append(f'"{saved_as}" ({name}) is not in Run::stateful')
    print("\n".join(problems) or f"{len(found)} classes that hold state are all saved")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
