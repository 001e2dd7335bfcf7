"""The files of the project: tracked ones and new ones that git does not ignore."""

import pathlib
import subprocess

SKIPPED_FOLDERS = {".git", ".venv", ".cache", "__pycache__", ".pytest_cache", "dist", "_skbuild", "run-artifacts"}


def _from_git(root: pathlib.Path) -> list[pathlib.Path] | None:
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        out = subprocess.run(command, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [root / name for name in out.decode().split("\0") if name]


def _from_walk(root: pathlib.Path) -> list[pathlib.Path]:
    """A copy without git: everything but build products."""
    files = []
    for path in root.iterdir():
        if path.name in SKIPPED_FOLDERS or (path.is_dir() and path.name.startswith("build")):
            continue
        files += [path] if path.is_file() else path.rglob("*")
    return [
        f for f in files
        if f.suffix not in (".so", ".pyc") and not SKIPPED_FOLDERS & set(f.relative_to(root).parts)
    ]  # fmt: skip


def project_files(root: pathlib.Path) -> list[pathlib.Path]:
    files = _from_git(root)
    if files is None:
        files = _from_walk(root)
    return sorted(f for f in set(files) if f.is_file() and not f.is_symlink())
