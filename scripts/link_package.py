#!/usr/bin/env python3
"""Development link: makes the Python that runs this script use torch_spyre from this source folder.

Writes into its site-packages what `pip install` would, but with a path instead of copies:

    torch_spyre.pth                      adds the source folder to sys.path
    torch_spyre-<version>.dist-info/     name, version, and the entry point by which
                                         `import torch` loads the plug-in by itself

Running it again changes nothing; `pip uninstall torch_spyre` removes it. Why not an editable
install: docs/adr/0009-development-link.md.
"""

import argparse
import base64
import hashlib
import pathlib
import shutil
import sys
import sysconfig
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def package_files(project: dict, root: pathlib.Path) -> dict[str, str]:
    """Relative path in site-packages -> contents."""
    name, version = project["name"], project["version"]
    info = f"{name}-{version}.dist-info"
    entries = []
    for group, points in project.get("entry-points", {}).items():
        entries += [f"[{group}]"] + [f"{key} = {value}" for key, value in points.items()] + [""]
    return {
        f"{name}.pth": f"{root}\n",
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            f"Summary: {project['description']}\n"
        ),
        f"{info}/INSTALLER": "link_package.py\n",
        f"{info}/entry_points.txt": "\n".join(entries),
    }


def record(files: dict[str, str], info: str) -> str:
    """RECORD as pip expects it: path, hash, size."""
    rows = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.append(f"{path},sha256={digest.decode()},{len(text.encode())}")
    return "\n".join(rows + [f"{info}/RECORD,,", ""])


def link(site: pathlib.Path, root: pathlib.Path = ROOT) -> bool:
    """True when something had to be written."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    files = package_files(project, root)
    info = f"{project['name']}-{project['version']}.dist-info"
    files[f"{info}/RECORD"] = record(files, info)
    for other in site.glob(f"{project['name']}-*.dist-info"):
        if other.name != info:  # another version: two of them would load the plug-in twice
            shutil.rmtree(other)
    if all((site / path).is_file() and (site / path).read_text() == text for path, text in files.items()):
        return False
    (site / info).mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        (site / path).write_text(text)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--site", type=pathlib.Path, help="site-packages folder; default: of the Python that runs this"
    )
    site = parser.parse_args().site
    if site is None:
        if sys.prefix == sys.base_prefix:
            print("link_package.py: run it with .venv/bin/python, not with the system's Python", file=sys.stderr)
            return 1
        site = pathlib.Path(sysconfig.get_paths()["purelib"])
    if link(site):
        print("link: torch_spyre in .venv now points at this folder")
    return 0


if __name__ == "__main__":
    sys.exit(main())
