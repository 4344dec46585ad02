"""Run all programs of this folder, or the named ones, and print their descriptions: `run.py [--list] [name ..]`."""

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def programs():
    """Return the names of all programs with the first lines of their docstrings."""
    names = sorted(path.stem for path in FOLDER.glob("*.py") if path != Path(__file__).resolve())
    return {name: (FOLDER / f"{name}.py").read_text().split("\n", 1)[0].strip('"') for name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="list the programs and run none")
    parser.add_argument("names", nargs="*", help="programs to run (default: all)")
    given, every = parser.parse_args(), programs()
    if unknown := set(given.names) - set(every):
        parser.error(f"there is no program {sorted(unknown)[0]}; there are {', '.join(every)}")
    sys.path.insert(0, str(FOLDER))
    for name in given.names or every:
        print(f"{name}: {every[name]}")
        if not given.list:
            begin = time.perf_counter()
            import_module(name).main()
            print(f"({time.perf_counter() - begin:.1f} s)\n")


if __name__ == "__main__":
    main()
