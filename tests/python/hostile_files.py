"""Small generators of files and settings that try to hurt: each writes what it needs into a folder and returns the
arguments that make the program read it, or a list of such commands. The program has to refuse every one of them, except where
only the text in a valid file is hostile (see test_hostile.py)."""

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x1b[31m"
LONG = "x" * 20_000_000

GENERATORS = []


def hostile(expected, accepted=False):
    """`expected` is a part of what is said: a case must not be refused for another reason."""
    def add(make):
        make.expected, make.accepted = expected, accepted
        GENERATORS.append(make)
        return make

    return add


def recipe(folder, text, name="recipe.toml"):
    path = folder / name
    path.write_text(text)
    return path
