"""Experiment files that went wrong in any way: told in sentences, at once, and nothing is written.

A case is a number: it seeds the mutations of one real file, so that a case that fails can be had again by
``check(project, number)``. What fails names the case and shows the file.
"""

import json
import random
import re
import shutil
import signal
import time
import tomllib
import warnings
from contextlib import contextmanager
from copy import deepcopy
from datetime import date, datetime
from functools import lru_cache

import pytest
from conftest import EXPERIMENT, REPOSITORY, WORKLOAD

from sim.report.answers import check_answer
from sim.study.config import load
from sim.study.errors import InputError

CASES, CHUNKS = 2_000, 20
MANY = 50_000
RUN, RUN_MANY = 60, 2_000
"""How many go through the command as well, and are run if nothing is wrong with them."""

SLOWEST_S = 5.0

FOLDER = "experiments"
PARTS = {
    "workloads": "workload",
    "crashes": "crash",
    "receivers": "receiver",
    "providers": "provider",
    "downtimes": "downtime",
}
TEST_BED = """
title = "A file by its name"
question = "Is it right?"
seed = 1
replications = 10
headline = ["p_duplicate"]
"""
SLOW = {
    "crash-laws": 90,
    "save-gap": 20,
    "keys": 15,
    "order": 15,
    "systems": 20,
    "timeouts": 15,
    "placement": 12,
}
"""How much rarer than others a file is that takes long to load."""

HUGE = 10**400
NUMBERS = ["-1", "0", "1", "2", "-0.0", "0.5", "1.0", "1e-300", "1e-9", "1e6", "1e16", "1e308", "-1e308"]
NUMBERS += ["nan", "inf", "-inf", str(HUGE), str(2**63), "9" * 5000, "1_0", "0x10", "1e999"]
OTHERS = ["true", "false", '""', '"text"', "[]", "{}", "[1, 2]", "[[]]", "{ a = 1 }", "1979-05-27"]
OTHERS += ["07:32:00", '"\\u0000"', '"a.b"', '"a & b"', '"…"', '"/dev/zero"', '"forever"']
OTHERS += ['"' + "long " * 20_000 + '"']
TEMPLATES = [
    "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
    "{% for i in range(10**9) %}x{% endfor %}",
    "{{ 'x' * 10**10 }}",
    "{{ 10 ** 10 ** 10 }}",
    "{{ 1 / 0 }}",
    "{{ 1 // 0 }}",
    "{{ 1 % 0 }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ est.__globals__ }}",
    "{{ scenario.absent.more }}",
    "{{ absent }}",
    "{{ est('p_duplicate', where={'a': 1}) }}",
    "{{ est(1, 2, 3, 4) }}",
    "{{ est }}",
    "{{ number('x') }}",
    "{{ number(none) }}",
    "{{ number(1, 10**9) }}",
    "{{ number(1, -5) }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%d' | format('x') }}",
    "{{ '{:>999999999}'.format(1) }}",
    "{{ 'x' | center(999999999) }}",
    "{{ lipsum(100000) }}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% macro f(n) %}{{ f(n+1) }}{{ f(n+1) }}{% endmacro %}{{ f(0) }}",
    "{% for x in [1, 2] recursive %}{% if loop.depth < 60 %}{{ loop([1, 2]) }}{% endif %}{% endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "{% include 'x' %}",
    "{% extends 'x' %}",
    "{% import 'x' as x %}",
    "{% call est() %}{% endcall %}",
    "{% filter upper %}x{% endfilter %}",
    "{% if %}",
    "{{",
    "{% raw %}",
    "{# ",
    "{{ 'x' | absent }}",
    "{{ 1 is absent }}",
    "{{ range(10**30) }}",
    "{{ [1] | map('attr', '__class__') | list }}",
    "{{ crossing('p_duplicate', 0.5, along='absent') }}",
    "{{ mean({'law': 'absent'}) }}",
    "{{ mean(3) }}",
    "{{ young(-1, 0) }}",
    "{{ dict(**{'a': 1}) }}",
    "{{ 'x'.join([1]) }}",
    "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "{{ " + "-" * 5000 + "1 }}",
    "{{ " + "1+" * 5000 + "1 }}",
    "{% if 1 %}" * 500 + "{% endif %}" * 500,
    "{{ 9" + "0" * 5000 + " }}",
]
PARAMETERS = {
    "exponential": ["mean"],
    "weibull": ["mean", "shape"],
    "lognormal": ["median", "sigma"],
    "gamma": ["mean", "shape"],
    "lomax": ["c", "scale"],
    "uniform": ["low", "high"],
    "constant": ["value"],
    "hyperexponential": ["mean", "squared_cv"],
    "bathtub": ["infancy", "chance", "wear"],
    "preemptible": ["share", "early", "late", "deadline"],
    "fisk": ["c", "scale"],
    "norm": ["loc", "scale"],
    "levy": ["scale"],
    "empirical": [],
}
WRAPPERS = {"scaled": "by", "shifted": "by", "truncated": "above", "aged": "age", "equilibrium": None}
SIZES = [0, 0.5, 1, 2, 3.0, 60.0, 3600.0, 1e-300, 1e-9, 1e-3, 1e4, 1e9, 1e100, 1e300, 1e308, -1, HUGE]
SIZES += [float("nan"), float("inf"), True, "x"]
PLAIN_SIZES = [0.5, 1.0, 2.0, 30.0]
PATHS = [
    "seed",
    "replications",
    "precision",
    "engine",
    "answer",
    "headline",
    "contrasts",
    "figures",
    "published",
    "scenario.crash.start",
    "scenario.crash.match",
    "scenario.crash.exposure",
    "scenario.client.timeout",
    "scenario.client.retries",
    "scenario.supervision.lease",
    "scenario.supervision.stalls.every",
    "scenario.supervision.stalls.lasts",
    "scenario.supervision.step_timeout",
    "scenario.limits.attempts",
    "scenario.limits.tries",
    "scenario.limits.makespan",
    "scenario.downtime.backoff.first",
    "scenario.downtime.backoff.factor",
    "scenario.downtime.replay",
    "scenario.store.growth",
    "scenario.workload.work_scale",
    "scenario.provider.up",
    "scenario.provider.down",
    "scenario.receiver.keys.ttl",
    "scenario.receiver.outages.up",
]


class TooLong(BaseException):
    """A case takes too long; no handler of the product takes it for anything."""


@contextmanager
def stopped_after(seconds):
    """Stop what takes too long, where that can be."""

    def stop(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---------------------------------------------------------------- mutations of bytes


def of_bytes(data, rng):
    at, to = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    piece = data[at : min(to, at + 200)]
    match rng.randrange(10):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 2:
            return data[:at] + b"\0" + data[at:]
        case 3:
            return rng.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\x00"]) + data
        case 4:
            return data.decode("utf-8", "replace").replace("e", "é", 3).encode("latin-1", "replace")
        case 5:
            return data.decode("utf-8", "replace").encode("utf-16")
        case 6:
            return data[:at] + data[at + len(piece) :]
        case 7:
            return data[:at] + piece * rng.choice([2, 3, 1000]) + data[at + len(piece) :]
        case 8:
            return data.replace(b"\n", rng.choice([b"\r", b"\r\n", b"\x0b", b"\n\n", b""]))
        case _:
            return data[:at] + bytes([data[at % len(data)] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


# ---------------------------------------------------------------- mutations of words and lines

NUMBER = re.compile(r"(?<![\w.\"-])-?\d[\d_.e-]*(?![\w\"])")
TEXT = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'')
KEY = re.compile(r"^\s*\"?([\w.-]+)\"? *=|(?<=[{,] )(\w+) =", re.MULTILINE)


def of_words(text, rng):
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(8):
        case 0 | 1:
            return replaced(text, NUMBER, rng.choice(NUMBERS + OTHERS * (rng.random() < 0.3)), rng)
        case 2:
            return replaced(text, TEXT, rng.choice(OTHERS + NUMBERS), rng)
        case 3:
            found = [match.span(1 if match.group(1) else 2) for match in KEY.finditer(text)]
            if not found:
                return text
            begin, end = rng.choice(found)
            key = text[begin:end]
            k = rng.randrange(len(key))
            wrong = [key[:k] + key[k + 1 :], key[:k] + "x" + key[k:], key.upper(), f"{key}.{key}", "law", ""]
            return text[:begin] + rng.choice(wrong) + text[end:]
        case 4:
            del lines[at]
        case 5:
            lines.insert(other, lines[at])
        case 6:
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines.insert(at, rng.choice(deep_texts(rng)))
    return "\n".join(lines)


def replaced(text, pattern, by, rng):
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + by + text[match.end() :]


def deep_texts(rng):
    deep, path = rng.choice([30, 120, 3000]), rng.choice(["a", "scenario", "scenario.crash.law", "sweep"])
    return [
        "x = " + "[" * deep + "]" * deep,
        f"{path}.x = " + "{ a = " * deep + "1" + " }" * deep,
        "[" + ".".join([path] + ["a"] * deep) + "]",
        ".".join([path] + ["of"] * deep) + " = 1",
        '"' + ".".join(["crash"] + ["law"] * deep) + '" = [1, 2]',
        f"{path} = [" + "1, " * rng.choice([30, 300, 30_000]) + "]",
        "x = '''",
        "[[figures]]",
        "=" * deep,
    ]


# ---------------------------------------------------------------- mutations of tables


def of_tables(tables, rng):
    match rng.randrange(10):
        case 0 | 1 | 2 | 3:
            table, key = some_place(tables, rng)
            table[key] = odd(rng)
        case 4:
            table, key = some_place(tables, rng)
            del table[key]
        case 5:
            (first, one), (second, other) = some_place(tables, rng), some_place(tables, rng)
            first[one], second[other] = deepcopy(second[other]), deepcopy(first[one])
        case 6:
            put(tables, rng.choice(PATHS), odd(rng), rng)
        case 7:
            tables["answer"] = rng.choice(["", "{{ est('p_duplicate') }} "]) + rng.choice(TEMPLATES)
        case 8:
            tables.pop("sweeps", None)
            axes = [f"crash.law.{name}" for name in "abcdefghij"] + ["store.write", "receiver.response"]
            axes += ["crash", "crash & store.write", "limits.attempts", "a" + ".b" * 2000, ""]
            many = rng.choice([1] * 12 + [30, 30, 300, 20_000])
            values = [1.0] * many if many > 1 else [odd(rng) for _ in range(rng.choice([1, 2, 3]))]
            tables["sweep"] = {rng.choice(axes): values for _ in range(rng.choice([1, 2, 8]))}
        case _:
            figure = {"name": "new", "x": "seed", "y": ["p_duplicate"], "caption": "See."}
            figure[rng.choice([*figure, "kind", "where", "strategies", "along", "reference"])] = odd(rng)
            figures = tables.setdefault("figures", [])
            if isinstance(figures, list):
                figures.append(figure)
    return tables


def places(value, found):
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append((value, key))
        places(value[key], found)
    return found


def some_place(tables, rng):
    return rng.choice(places(tables, []) or [({"x": 1}, "x")])


def put(tables, path, value, rng):
    *parents, last = path.split(".")
    for parent in parents:
        if not isinstance(tables.get(parent), dict):
            tables[parent] = {}
        tables = tables[parent]
    tables[last] = value


def odd(rng):
    """Give a value that has no business where it comes to stand, or just may have."""
    match rng.randrange(12):
        case 0 | 1 | 2 | 3:
            return rng.choice(SIZES)
        case 4 | 5:
            return a_law(rng, rng.choice([0, 1, 1, 2, 3, 8]))
        case 6:
            return a_process(rng)
        case 7:
            return rng.choice(["", "x", "auto", "forever", "none", "\0", "…", "y" * 50_000, "p_duplicate"])
        case 8:
            return rng.choice([[], {}, [[]], {"": {}}, [1.0, "x"], date(2026, 1, 1), datetime(1, 1, 1)])
        case 9:
            many = 20_000 if rng.random() < 0.05 else 20
            return rng.choice([[1.0] * many, [{"of": 1.0, "weight": 1.0}] * (many // 7), list(range(many))])
        case 10:
            deep = 1.0
            for _ in range(rng.choice([3, 20, 90])):
                deep = {"law": "scaled", "of": deep, "by": 2.0} if rng.random() < 0.8 else [deep]
            return deep
        case _:
            return {rng.choice(["law", "process", "verb", "protocol", "system", "tries"]): odd(rng)}


def a_law(rng, deep):
    sizes = SIZES if rng.random() < 0.4 else PLAIN_SIZES
    if deep and rng.random() < 0.3:
        parts = [{"of": a_law(rng, deep - 1), "weight": rng.choice(sizes)} for _ in range(2)]
        return {"law": "mixture", "parts": parts}
    if deep:
        name, key = rng.choice(list(WRAPPERS.items()))
        law = {"law": name, "of": a_law(rng, deep - 1)}
        return law | ({key: rng.choice(sizes)} if key else {})
    name = rng.choice(list(PARAMETERS))
    law = {"law": name} | {key: rng.choice(sizes) for key in PARAMETERS[name]}
    return law | ({"times": [rng.choice(sizes) for _ in range(3)]} if name == "empirical" else {})


def a_process(rng):
    size = lambda: rng.choice(SIZES)  # noqa: E731
    match rng.randrange(7):
        case 0:
            return {
                "process": "periodic",
                "period": size(),
                "grace": size(),
                "jitter": rng.choice([0, size()]),
            }
        case 1:
            return {"process": "at", "times": [size() for _ in range(3)]}
        case 2:
            names = ("calm_mean", "storm_mean", "calm_lasts", "storm_lasts")
            return {"process": "bursts"} | {name: size() for name in names}
        case 3:
            sources = [a_process(rng) if rng.random() < 0.5 else {"process": "renewal", "law": size()}]
            return {"process": "any_of", "of": [*sources, {"process": "renewal", "law": a_law(rng, 1)}]}
        case 4:
            match = {"by": rng.choice(["mtbf", "p_crash"]), "value": size()}
            return {"process": "renewal", "law": a_law(rng, rng.choice([0, 1, 2])), "match": match}
        case 5:
            return {"process": "uniform_step", "gap_share": size()}
        case _:
            start = rng.choice(["fresh", "equilibrium", size()])
            host = {"clock": "host", "renew": rng.choice(["crash", "never"]), "ages_in_downtime": size()}
            return {"process": "renewal", "law": a_law(rng, rng.choice([0, 0, 1, 3])), "start": start} | (
                host if rng.random() < 0.3 else {}
            )


def as_toml(value):
    """Write a value as TOML, tables and all on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return "{ " + ", ".join(f"{json.dumps(k)} = {as_toml(v)}" for k, v in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(as_toml, value)) + "]"
        case str():
            return json.dumps(value, ensure_ascii=False)
    return str(value)


def whole(tables):
    return "".join(f"{json.dumps(key)} = {as_toml(value)}\n" for key, value in tables.items())


# ---------------------------------------------------------------- a case


@lru_cache
def read(data):
    return tomllib.loads(data.decode("utf-8"))


def mutated(project, case):
    """Put a case into a project: (experiment to load, file that was changed, what it was)."""
    rng = random.Random(case)
    file, experiment = some_file(project, rng)
    before = data = file.read_bytes()
    kind = rng.random()
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if kind < 0.25 and data:
            data = of_bytes(data, rng)
        elif kind < 0.5:
            data = of_words(data.decode("utf-8"), rng).encode("utf-8", "replace")
        else:
            try:
                tables = deepcopy(read(data))
            except (ValueError, RecursionError):
                break
            data = whole(of_tables(tables, rng)).encode("utf-8", "replace")
    file.write_bytes(data)
    return experiment, file, before


def some_file(project, rng):
    """Choose a file to change, and the experiment that uses it."""
    folder = project / FOLDER
    bed = folder / "bed.toml"
    bed.unlink(missing_ok=True)
    if rng.random() < 0.4:
        name = rng.choice([name for name in (*PARTS, "systems", "systems") if (folder / name).is_dir()])
        file = rng.choice(sorted((folder / name).glob("*.toml")))
        parts = {"workload": "tiny"} | ({PARTS[name]: file.stem} if name in PARTS else {})
        own = {"system": file.stem} if name == "systems" else {"protocol": "checkpoint"}
        bed.write_text(TEST_BED + whole({"scenario": parts, "strategies": {"a": own}}))
        return file, bed
    names = sorted(folder.glob("*.toml"))
    weights = [1 / SLOW.get(file.stem, 1) * (16 if file.stem == "tiny" else 1) for file in names]
    file = rng.choices(names, weights)[0]
    return file, file


def check(project, case):
    """Check one case as the command does before anything runs: whether the file is still right."""
    experiment, file, before = mutated(project, case)
    shown = file.read_bytes()[:20_000].decode("utf-8", "replace")
    begun = time.perf_counter()
    try:
        with stopped_after(4 * SLOWEST_S), warnings.catch_warnings():
            warnings.simplefilter("error")
            check_answer(load(experiment, project))
    except InputError as error:
        sentences = [problem.sentence for problem in error.problems]
        assert sentences, f"case {case}: nothing is told of\n{shown}"
        for sentence in sentences:
            assert is_sentence(sentence), f"case {case}: {sentence[:500]!r} is told of\n{shown}"
        return False
    except BaseException as error:
        raise AssertionError(f"case {case}: {type(error).__name__} of {file}:\n{shown}") from error
    finally:
        file.write_bytes(before)
        took = time.perf_counter() - begun
    assert took < SLOWEST_S, f"case {case}: {took:.1f} s for {file}:\n{shown}"
    return True


def is_sentence(text):
    """Whether it has words and an end, and names nothing of the program's own."""
    internal = ("Traceback", "object at 0x", "pydantic", "PydanticCustomError", "sim.")
    return " " in text and text.rstrip("'\"")[-1] in ".!?)" and not any(word in text for word in internal)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A copy of the real project with its files, and a small one besides."""
    project = tmp_path_factory.mktemp("real")
    shutil.copytree(REPOSITORY / FOLDER, project / FOLDER, ignore=shutil.ignore_patterns("__pycache__"))
    (project / FOLDER / "workloads/tiny.toml").write_text(WORKLOAD)
    (project / FOLDER / "tiny.toml").write_text(EXPERIMENT)
    return project


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_what_is_wrong_with_a_file_is_told_in_sentences(real, chunk):
    for case in range(chunk, CASES, CHUNKS):
        check(real, case)


@pytest.mark.slow
def test_what_is_wrong_with_many_files_is_told_in_sentences(real):
    for case in range(CASES, CASES + MANY):
        check(real, case)


@pytest.fixture
def run_case(savegap, project, monkeypatch):
    """Let the command meet a case of the small project; runs that do not end are given up sooner."""
    monkeypatch.setattr("sim.ticks.MOST", 2_000)
    monkeypatch.setattr("sim.events.run.MOST_EVENTS", 20_000)
    monkeypatch.setattr("sim.report.writing.write_report", lambda *_: [])
    results = project / "results"

    def run(case):
        experiment, file, before = mutated(project, case)
        shown = file.read_bytes()[:20_000].decode("utf-8", "replace")
        try:
            with stopped_after(20 * SLOWEST_S), warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                code, _, errors = savegap("run", "--jobs", "1", "--replications", "2")
        except BaseException as error:
            raise AssertionError(f"case {case}: {type(error).__name__} of {file}:\n{shown}") from error
        finally:
            file.write_bytes(before)
        wrong = [line for line in errors.splitlines() if line.startswith(("error: ", "failed: "))]
        written = list(results.rglob("estimates.csv"))
        shutil.rmtree(results, ignore_errors=True)
        told = f"case {case}: exit code {code}, {warned or errors[:2000]!r}, of\n{shown}"
        assert not warned, told
        assert "Traceback" not in errors, told
        # 1: what is simulated fails, in some cells or in all.
        ends = ((0, False, True), (2, True, False), (1, True, False), (1, True, True))
        assert (code, bool(wrong), bool(written)) in ends, told
        if code:
            assert any(file.stem in line or experiment.stem in line for line in wrong), told

    return run


@pytest.mark.parametrize("chunk", range(4))
def test_the_command_refuses_or_runs_a_file(run_case, chunk):
    for case in range(chunk, RUN, 4):
        run_case(case)


@pytest.mark.slow
def test_the_command_refuses_or_runs_many_files(run_case):
    for case in range(RUN, RUN_MANY):
        run_case(case)
