"""The file: complete, small, and without markup from data."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

import thresher as th
from tests.selection.makers import make
from tests.selection.report.samples import FACTS, HOSTILE, binary
from thresher.cli.main import make_app
from thresher.errors import DataError, MissingExtraError, SettingsError
from thresher.selection.report import library, report, run_report
from thresher.selection.report import page as pages
from thresher.selection.report.page import MOST, page, report_data, write_report

#: The size of a script; more than that of the real script, which ``make browser-test`` opens.
SCRIPT = 950_000


@pytest.fixture(autouse=True)
def script(monkeypatch):
    """No chart library: to bundle it takes seconds."""
    monkeypatch.setattr(pages, "library_script", lambda: "/*" + "x" * (SCRIPT - 4) + "*/")
    for module in (report, run_report):
        monkeypatch.setattr(module, "prepare_library", lambda: None)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        if self.found and self.found[-1][0] in ("script", "title"):
            self.texts.append(data)


def data_of(text):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


def test_hostile_names_are_text():
    names = HOSTILE[:4]
    twins = {"threshold": 0.9, "found": {name: [[name, 0.9]] for name in HOSTILE}}
    facts = {**FACTS, "data": HOSTILE[0], "warnings": HOSTILE, "stand_ins": twins}
    selection = binary(names, **facts)
    selection.settings["family"] = HOSTILE[0]
    selection.classes[:] = [HOSTILE[0], HOSTILE[6]]
    plain, hostile = Elements(page(report_data(binary()))), Elements(page(report_data(selection)))
    assert hostile.found == plain.found
    found = data_of(page(report_data(selection)))
    assert [row[0] for row in found["features"]["rows"]] == names


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_survives_as_it_is(name, tmp_path):
    selection = make([1.0], names=[name])
    write_report(tmp_path / "r.html", report_data(selection))
    text = (tmp_path / "r.html").read_bytes().decode()  # valid UTF-8
    assert data_of(text)["features"]["rows"][0][0] == name
    raw = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1]
    assert not set(raw) & set("<>&\u2028\u2029")


def test_no_request():
    text = page(report_data(binary(**FACTS)))
    elements = Elements(text)
    assert not [tag for tag, _ in elements.found if tag in ("link", "iframe", "img", "object", "embed", "base", "form")]
    for tag, attributes in elements.found:
        assert attributes.get("href", "#").startswith("#"), tag
        assert "src" not in attributes
    assert not re.search(r"url\(|@import|https?://", text)
    (policy,) = [a["content"] for tag, a in elements.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert 'http-equiv="refresh"' not in text


def test_the_largest_selection_stays_below_the_limit():
    k = 16_383
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(5, k))
    long = make(weights, names=["é<&" * 80] * k, loss="softmax", classes="abcde", intercept=np.zeros(5))
    long.provenance.update(FACTS)
    long.bounds[:] = rng.random(k)
    text = page(report_data(long))
    assert len(text.encode()) < MOST
    table = data_of(text)["features"]
    assert table["total"] == k > len(table["rows"]) > 1000


def test_the_extra_is_named_if_it_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    monkeypatch.setattr(library.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'thresher\[report\]'"):
        make([1.0]).report(path=tmp_path / "r.html")
    with pytest.raises(MissingExtraError, match=r"thresher\[report\]"):
        th.select("no such file", k=2, report=tmp_path / "r.html")


def test_the_script_is_bundled_once(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(library, "user_folder", lambda: str(tmp_path / "cache"))
    monkeypatch.setattr(library, "_bundled", lambda: calls.append(1) or "script")
    assert [library.library_script() for _ in range(3)] == ["script"] * 3
    assert len(calls) == 1
    monkeypatch.setattr(library, "user_folder", lambda: "/dev/null/folder")
    assert library.library_script() == "script"  # without a place to keep it


def test_the_script_is_bundled_while_the_fit_goes_on(monkeypatch, tmp_path):
    begun = []
    monkeypatch.setattr(library, "user_folder", lambda: str(tmp_path))
    monkeypatch.setattr(library, "_background", begun)
    monkeypatch.setattr(library, "_BUNDLE", "print('</script>')")
    library.prepare_library()
    library.prepare_library()
    assert len(begun) == 1
    monkeypatch.setattr(library, "_bundled", lambda: pytest.fail("a second time"))
    script = library.library_script()
    assert "<\\/script>" in script
    assert begun == []
    library.prepare_library()  # it is in the cache now
    assert begun == []
    assert library.library_script() == script


def test_a_bundling_that_was_interrupted_is_begun_again(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "user_folder", lambda: str(tmp_path))
    monkeypatch.setattr(library, "_background", [])
    monkeypatch.setattr(library, "_BUNDLE", "raise SystemExit('no such thing')")
    library.prepare_library()
    monkeypatch.setattr(library, "_bundled", lambda: "script")
    assert library.library_script() == "script"
    monkeypatch.undo()
    monkeypatch.setattr(library, "_BUNDLE", "raise SystemExit('no such thing')")
    with pytest.raises(MissingExtraError, match="no such thing"):
        library._bundled()


def test_a_fit_begins_to_bundle_with_its_first_rows(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(run_report, "prepare_library", lambda: calls.append(1))
    with pytest.raises(DataError):
        th.select(tmp_path / "absent.csv", target="y", k=2, report=tmp_path / "r.html")
    assert not calls
    th.select(write_table(tmp_path / "t.csv"), target="y", k=2, passes=1, report=tmp_path / "r.html")
    assert calls


def write_table(path, n=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    y = np.where(X[:, 2] - X[:, 4] > 0, "up", "down")
    path.write_text(
        "a,b,c,d,e,f,y\n"
        + "".join(",".join(f"{v:.3f}" for v in x) + f",{label}\n" for x, label in zip(X, y, strict=True))
    )
    return path


def test_commands(tmp_path):
    data, thr = write_table(tmp_path / "t.csv"), tmp_path / "o.thr"
    run = lambda *words: CliRunner().invoke(make_app(), [str(word) for word in words])  # noqa: E731
    made = run("select", data, "--target", "y", "-k", 2, "--holdout", 0.3, "--report", tmp_path / "a.html", "-o", thr)
    assert made.exit_code == 0, made.output
    found = data_of((tmp_path / "a.html").read_text())
    assert {"confusion", "ranking", "examples"} <= {view["kind"] for view in found["views"]}
    assert found["interim"] is None
    assert any(name == "Time" for name, _ in found["headline"]["figures"])
    assert [row[0] for row in found["features"]["rows"]] == th.load(thr).names
    assert run("report", thr, "-o", tmp_path / "b.html").exit_code == 0
    assert "confusion" not in {view["kind"] for view in data_of((tmp_path / "b.html").read_text())["views"]}
    assert run("report", thr, data, "-o", tmp_path / "c.html").exit_code == 0
    assert "confusion" in {view["kind"] for view in data_of((tmp_path / "c.html").read_text())["views"]}
    for target in (thr, data):  # neither is replaced by a report of it
        before = target.read_bytes()
        refused = run("report", thr, data, "-o", target)
        assert refused.exit_code == 2
        assert "would replace" in refused.output
        assert target.read_bytes() == before
    assert run("report", thr, "-o", tmp_path / "no folder" / "r.html").exit_code == 2


def test_interim_reports(tmp_path, monkeypatch):
    written = []
    original = run_report.write_report
    monkeypatch.setattr(run_report.time, "monotonic", iter(range(0, 10_000_000, 40)).__next__)
    monkeypatch.setattr(
        run_report,
        "write_report",
        lambda path, data, refresh: (written.append(refresh), original(path, data, refresh=refresh)),
    )
    data, path = write_table(tmp_path / "t.csv"), tmp_path / "r.html"
    pages_seen = []
    selection = th.select(
        data,
        target="y",
        k=2,
        passes=2,
        batch_rows=100,
        every=30,
        report=path,
        callback=lambda interim: pages_seen.append(path.read_text() if path.exists() else None),
    )
    assert written[-1] is None
    assert len(written) > 2
    assert set(written[:-1]) == {30}
    interim, final = pages_seen[-1], path.read_text()
    assert '<meta http-equiv="refresh" content="30">' in interim
    assert "rows learned after" in data_of(interim)["interim"]
    assert data_of(interim)["features"]["rows"]
    assert "refresh" not in {a.get("http-equiv") for _, a in Elements(final).found}
    assert data_of(final)["interim"] is None
    alone = th.select(data, target="y", k=2, passes=2, batch_rows=100)
    assert (selection.names, selection.weights.tolist()) == (alone.names, alone.weights.tolist())


def test_a_report_that_cannot_be_written_is_an_error_before_the_first_row(tmp_path):
    with pytest.raises(SettingsError, match="no folder"):
        th.select("no such file", k=2, report=tmp_path / "none" / "r.html")


def test_a_race_is_part_of_the_report(tmp_path, monkeypatch):
    import thresher.race

    facts = {"chosen": "mission", "rows": 100, "scored": 20, "methods": FACTS["race"]["methods"]}
    monkeypatch.setattr(thresher.race, "race", lambda *_, **__: facts)
    data = write_table(tmp_path / "t.csv")
    th.select(data, target="y", k=2, method="auto", report=tmp_path / "r.html")
    found = data_of((tmp_path / "r.html").read_text())
    assert "race" in {view.get("id") for view in found["views"]}
