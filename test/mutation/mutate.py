#!/usr/bin/env python3
"""Shows that the differential test notices a wrong simulator and a wrong evaluator.

    mutate.py BUILD [--seed N] [--count N] [--kind data|arithmetic|all] [--all] [--threshold PERCENT]

For each side (lib/Sim, lib/Evaluator) a number of mutants is drawn from the seed: one source file with one
small change (see sites.py). The changed file is compiled with the command of the build into a scratch
folder and linked into a copy of the test program, before the library whose member it replaces. Sources
and build stay untouched. The differential test must then fail:

    killed      it failed, crashed, or ran far longer or larger than without the change
    survived    it passed, although the changed place was executed
    unreached   it passed, and never came to the changed place (not counted; another one is drawn)

A mutant that does not compile is no mutant: another one is drawn. Equivalent changes, which no test can
notice, are listed with their reason in equivalent.txt and never drawn. The order of the draw depends on
the seed and on the text of the changed statement, so that work elsewhere in a file keeps the choice.

The exit code is 1 when no mutant of a side, or too small a share of them, is killed; 2 when nothing can be
said, since the test fails with an unchanged file linked in the same way.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import sites

SIDES = ("lib/Sim", "lib/Evaluator")
# A file that computes values calls the numerics library, and what moves them is called a unit. The others
# watch, measure, plan and hand over.
DATA_FILE = re.compile(r"Units?$")
DATA_PATH = re.compile(r"F32\(|__builtin_fma|deviceToFloat|floatToDevice|dl16ToFloat|floatToDl16")
# What --kind takes: arithmetic includes its statements on data.
KINDS = {
    sites.DATA: {sites.DATA},
    sites.ARITHMETIC: {sites.DATA, sites.ARITHMETIC},
    "all": {sites.DATA, sites.ARITHMETIC, sites.CONTROL},
}
PROGRAM = "BackEndTests"
FILTER = "*Differential*"
MEMORY_BYTES = 2 << 30
# `probe->*x` binds tighter than every binary operator, so it can stand before any operand.
PROBE = """
namespace spyre::mutation {
struct Probe {};
template <typename T> T &&operator->*(Probe, T &&value) { __builtin_trap(); return static_cast<T &&>(value); }
}
"""


class Problem(Exception):
    pass


class Build:
    """How the build compiles one source and links the test program."""

    def __init__(self, folder: pathlib.Path, source: pathlib.Path):
        self.folder, self.source = folder, source
        database = folder / "compile_commands.json"
        if not database.is_file():
            raise Problem(f"{database} is missing; configure the build with Ninja")
        self.compile = {}
        for entry in json.loads(database.read_text()):
            file = pathlib.Path(entry["directory"], entry["file"]).resolve()
            if file.is_relative_to(source) and "command" in entry:
                self.compile[file.relative_to(source).as_posix()] = shlex.split(entry["command"])
        if not (folder / "bin" / PROGRAM).is_file():
            raise Problem(f"bin/{PROGRAM} is missing in {folder}; build that target")
        self.link = self._link_command()

    def _link_command(self) -> list[str]:
        cache = (self.folder / "CMakeCache.txt").read_text().splitlines()
        ninja = [line.split("=", 1)[1] for line in cache if line.startswith("CMAKE_MAKE_PROGRAM:")]
        if not ninja or "ninja" not in pathlib.Path(ninja[0]).name:
            raise Problem("the build does not use Ninja; configure it with -G Ninja")
        command = [ninja[0], "-C", str(self.folder), "-t", "commands", f"bin/{PROGRAM}"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        words = [w for w in shlex.split(lines[-1]) if w not in (":", "&&")]
        if f"bin/{PROGRAM}" not in words or "-o" not in words:
            raise Problem(f"the last command of {PROGRAM} is not its link command: {lines[-1][:200]}")
        return words

    def compile_command(self, name: str, text: pathlib.Path, out: pathlib.Path) -> list[str]:
        words = list(self.compile[name])
        if pathlib.Path(words[0]).name.startswith(("ccache", "sccache")):
            words = words[1:]
        words = [w for w in words if w != "-Werror"]
        words[words.index("-o") + 1] = str(out)
        words[words.index("-c") + 1] = str(text)
        # Headers beside the source are included by name only. One optimisation level is as good as another.
        return [*words, "-iquote", str((self.source / name).parent), "-w", "-O1"]

    def link_command(self, changed: pathlib.Path, out: pathlib.Path) -> list[str]:
        words = list(self.link)
        words[words.index("-o") + 1] = str(out)
        first = next(i for i, w in enumerate(words) if w.endswith(".a"))
        return [*words[:first], str(changed), *words[first:]]

    def run_tool(self, command: list[str]) -> bool:
        environment = dict(os.environ, CCACHE_DISABLE="1")
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode and "duplicate symbol" in done.stderr + done.stdout:
            raise Problem("the changed object does not replace its library member: " + done.stderr[:400])
        return done.returncode == 0

    def make(self, name: str, text: str, folder: pathlib.Path) -> pathlib.Path | None:
        """A test program with the file `name` replaced by `text`, or None when it does not compile."""
        file, out, program = folder / pathlib.Path(name).name, folder / "changed.o", folder / PROGRAM
        file.write_text(text)
        if not self.run_tool(self.compile_command(name, file, out)):
            return None
        return program if self.run_tool(self.link_command(out, program)) else None


def resident_bytes(pid: int) -> int:
    try:
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0


def passes(program: pathlib.Path, seconds: float) -> bool:
    """Whether the differential tests pass within the time and in decent memory."""
    command = [str(program), f"--gtest_filter={FILTER}", "--gtest_brief=1", "--gtest_fail_fast"]
    nowhere = subprocess.DEVNULL
    # A mutant that lives runs the whole sample: more mutants say more than a larger sample.
    environment = {name: value for name, value in os.environ.items() if name != "SPYRE_TEST_LONG"}
    with subprocess.Popen(command, cwd=program.parent, stdout=nowhere, stderr=nowhere, env=environment) as process:
        end = time.monotonic() + seconds
        while process.poll() is None:
            if time.monotonic() > end or resident_bytes(process.pid) > MEMORY_BYTES:
                process.kill()
                process.wait()
                return False
            try:
                process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                pass
        return process.returncode == 0


class Mutant:
    def __init__(self, name: str, text: str, site: sites.Site, rank: str):
        self.name, self.text, self.site, self.rank = name, text, site, rank

    def describe(self) -> str:
        change = f"{self.text[self.site.begin:self.site.end]} -> {self.site.replacement}"
        return f"{self.name}:{self.site.line(self.text)}: {self.site.statement}   [{change}]"

    def probed(self) -> str:
        at = self.site.probe
        return PROBE + self.text[:at] + "::spyre::mutation::Probe{}->*" + self.text[at:]

    def judge(self, build: Build, seconds: float) -> str:
        with tempfile.TemporaryDirectory(prefix="spyre-mutant-") as scratch:
            folder = pathlib.Path(scratch)
            program = build.make(self.name, self.site.apply(self.text), folder)
            if program is None:
                return "no mutant"
            if not passes(program, seconds):
                return "killed"
            program = build.make(self.name, self.probed(), folder)
            # A probe that does not compile proves nothing: the mutant counts.
            return "unreached" if program and passes(program, seconds) else "survived"


def equivalents() -> set[tuple[str, str]]:
    """(file, statement with the marked place) of equivalent.txt."""
    found = set()
    for line in pathlib.Path(__file__).with_name("equivalent.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, statement = line.split(": ", 1)
            found.add((name, statement.strip()))
    return found


def draw(build: Build, side: str, seed: int, kind: str) -> list[Mutant]:
    """All mutants of a side, in the order of the seed."""
    known, mutants = equivalents(), []
    for name in sorted(build.compile):
        file = build.source / name
        inside = pathlib.PurePosixPath(name).parent.is_relative_to(side)
        if not inside or not file.is_file():
            continue
        text, seen = file.read_text(), {}
        if not DATA_FILE.search(file.stem) and not DATA_PATH.search(text):
            continue
        for site in sites.find_sites(text):
            if site.kind not in KINDS[kind] or (name, site.statement) in known:
                continue
            key = f"{seed}|{name}|{site.statement}|{site.replacement}"
            seen[key] = seen.get(key, 0) + 1
            rank = hashlib.sha256(f"{key}|{seen[key]}".encode()).hexdigest()
            mutants.append(Mutant(name, text, site, rank))
    return sorted(mutants, key=lambda mutant: mutant.rank)


def time_limit(build: Build, control: Mutant) -> float:
    """Seconds a mutant may take. The file of the first one, unchanged, goes the same way and must pass: else
    every verdict would be void."""
    with tempfile.TemporaryDirectory(prefix="spyre-mutant-") as scratch:
        program = build.make(control.name, control.text, pathlib.Path(scratch))
        if program is None:
            raise Problem(f"{control.name} does not compile or link without any change; is the build up to date?")
        begin = time.monotonic()
        if not passes(program, 600):
            raise Problem(f"{FILTER} fails without any change; repair that first")
        # Generous: another job may be running. A mutant that needs longer hangs.
        return 10 + 5 * (time.monotonic() - begin)


def run_side(build: Build, side: str, args: argparse.Namespace) -> dict[str, list[Mutant]]:
    """Judges mutants in the order of the draw until `count` of them were executed by the test."""
    queue = draw(build, side, args.seed, args.kind)
    if not queue:
        raise Problem(f"no place to change in {side}; has the code moved?")
    seconds = time_limit(build, queue[0])
    wanted = len(queue) if args.all else args.count
    verdicts: dict[str, list[Mutant]] = {"killed": [], "survived": [], "unreached": [], "no mutant": []}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        while queue and len(verdicts["killed"]) + len(verdicts["survived"]) < wanted:
            missing = wanted - len(verdicts["killed"]) - len(verdicts["survived"])
            batch, queue = queue[:missing], queue[missing:]
            for mutant, verdict in zip(batch, pool.map(lambda m: m.judge(build, seconds), batch)):
                verdicts[verdict].append(mutant)
                print(f"{verdict:9} {mutant.describe()}", flush=True)
    return verdicts


def report(side: str, verdicts: dict[str, list[Mutant]], threshold: float) -> bool:
    killed, survived = len(verdicts["killed"]), len(verdicts["survived"])
    rate = 100.0 * killed / (killed + survived) if killed + survived else 0.0
    good = killed > 0 and rate >= threshold
    print(
        f"mutation {side}: {killed} of {killed + survived} killed ({rate:.0f} %, wanted {threshold:.0f} %), "
        f"{len(verdicts['unreached'])} unreached, {len(verdicts['no mutant'])} not compilable"
        + ("" if good else "  <- too few")
    )
    return good


def arguments() -> argparse.Namespace:
    long = os.environ.get("SPYRE_TEST_LONG") == "1"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="a Ninja build with the target " + PROGRAM)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20 if long else 2, help="per side (20 with SPYRE_TEST_LONG=1)")
    kind = sites.ARITHMETIC if long else sites.DATA
    parser.add_argument("--kind", choices=sorted(KINDS), default=kind, help="which changes (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="every site instead of a drawn number")
    parser.add_argument("--threshold", type=float, default=75.0 if long else 100.0, help="percent killed per side")
    parser.add_argument("--side", choices=SIDES, help="only this one")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def main() -> int:
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that scratch folders are removed
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # mutants crash
    source = pathlib.Path(__file__).resolve().parents[2]
    try:
        build = Build(args.build.resolve(), source)
        chosen = [args.side] if args.side else SIDES
        good = [report(side, run_side(build, side, args), args.threshold) for side in chosen]
    except (Problem, subprocess.CalledProcessError) as problem:
        print(f"mutation: {problem}", file=sys.stderr)
        return 2
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
