"""Everything that remembers something from one update to the next is in the list that a checkpoint holds.

Each class below components/ and runner/ that derives from Stateful or declares save() of a State has an entry here: the name
it is saved under in Run::stateful, or what saves it. A new class without one fails; so does a name that is no longer in the list,
and a class with such a save() that does not derive from Stateful. A hook declares that it keeps no state exactly if it has no save().
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
    "PowerSgd": "compression",
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
    "DividedOptimizer": "Accelerator::save_state()",
    "PartsOfRanks": "Accelerator::save_state()",
    "LoaderPlace": "Accelerator::save_state()",
    "DividedOptimizer": "Accelerator::save_state()",
}
CLASS = re.compile(r"\b(?:class|struct) ([\w:]+)(?: final)?\s*(?::\s*([^{;()]*))?$")
SAVE = re.compile(r"\bState save\(\) const")
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')


def classes_of(source: str):
    """Yields (name, bases, whether it declares save() itself) of each class that the source defines."""
    code = COMMENT_OR_TEXT.sub("", source)
    open_scopes, start = [], 0  # of each brace: [name, bases, declares save()], or None if it is no class
    for at, c in enumerate(code):
        if c not in "{};":
            continue
        head = code[start:at].strip()
        if SAVE.search(head) and open_scopes and open_scopes[-1]:
            open_scopes[-1][2] = True
        start = at + 1
        if c == "{":
            found = CLASS.search(head)
            open_scopes.append([found[1], re.findall(r"\w+(?=\s*(?:,|$|<))", found[2] or ""), False] if found else None)
        elif c == "}" and open_scopes and (ended := open_scopes.pop()):
            yield ended


def self_test():
    source = """class A final : public Stateful { State save() const override; };
    struct B { struct Inner { int x; }; State save() const { return {}; } };
    class C : public Hook, private Other<int> { void load(); };"""
    assert {name: (bases, saves) for name, bases, saves in classes_of(source)} == {
        "A": (["Stateful"], True), "Inner": ([], False), "B": ([], True), "C": (["Hook", "Other"], False)}, list(classes_of(source))


def main():
    self_test()
    problems, bases_of, paths, saving = [], {}, {}, []
    for folder in ("components", "runner"):
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            for name, bases, saves in classes_of(path.read_text()):
                bases_of.setdefault(name, set()).update(bases)
                paths[name] = path.relative_to(ROOT)
                if saves:
                    saving.append(name)

    def is_stateful(name):
        return name == "Stateful" or any(is_stateful(base) for base in bases_of.get(name, ()) if base != name)

    found = {name: paths[name] for name, bases in bases_of.items() if "Stateful" in bases}
    for name in saving:
        if not is_stateful(name):
            problems.append(f"{paths[name]}: {name} declares save() but does not derive from Stateful")
    for name, path in found.items():
        if name not in SAVED_AS and name not in SAVED_BY:
            problems.append(f"{path}: {name} is Stateful: add it to Run::stateful, and say here under which name it is saved")
    for name in [*SAVED_AS, *SAVED_BY]:
        if name not in found:
            problems.append(f"{name} is listed here, but no class of that name is Stateful")
    listed = "".join((ROOT / "runner/train" / file).read_text() for file in ("training_run.cpp", "train_recipe.cpp"))
    listed = "".join(listed.split())
    for name, saved_as in SAVED_AS.items():
        if f'{{"{saved_as}",&' not in listed and f'emplace_back("{saved_as}' not in listed:
            problems.append(f'"{saved_as}" ({name}) is not in Run::stateful')
    for path in sorted((ROOT / "components/hooks").glob("*.cpp")):
        if "Registration<HookKind>" not in path.read_text():
            continue  # a helper of hooks
        if ("keeps_state = false" in path.read_text()) == bool(SAVE.search(path.read_text())):
            problems.append(f"{path.relative_to(ROOT)}: facts() says keeps_state = false if, and only if, the hook has no save()")
    print("\n".join(problems) or f"{len(found)} classes that hold state are all saved")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
