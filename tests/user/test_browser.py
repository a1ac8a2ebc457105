"""The report of the study in a browser, wide and narrow: nothing is fetched, cut off or unsaid."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sim.report.writing import write_report

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
REPOSITORY = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium"),
]

FRAME = """<!doctype html><iframe src="{page}" width="{width}" height="900" style="border: 0"></iframe>
<pre id="found"></pre>
<script>
document.querySelector("iframe").addEventListener("load", async event => {{
  const view = event.target.contentWindow, page = view.document;
  page.querySelectorAll("details").forEach(part => part.open = true);
  await Promise.all([...page.images].map(image => image.decode()));
  const form = page.getElementById("rule"), said = [];
  for (const [crash_h, gap_s, actions] of {asked}) {{
    Object.entries({{crash_h, gap_s, actions}}).forEach(([name, value]) => form.elements[name].value = value);
    form.elements.actions.dispatchEvent(new view.Event("input", {{bubbles: true}}));
    said.push(form.elements.said.textContent);
  }}
  const wide = [...page.querySelectorAll("body *")].filter(part =>
    part.getBoundingClientRect().right > view.innerWidth + 1 && !part.closest(".wide"));
  const inside = [...page.querySelectorAll('a[href^="#"]')];
  document.getElementById("found").textContent = JSON.stringify({{
    said,
    scroll: page.documentElement.scrollWidth - view.innerWidth,
    wide: wide.map(part => part.outerHTML.slice(0, 80)),
    fetched: view.performance.getEntriesByType("resource").map(one => one.name)
      .filter(name => !name.startsWith("data:")),
    lost: inside.filter(link => !page.getElementById(link.hash.slice(1))).length,
    links: inside.length,
    images: page.images.length,
    unseen: [...page.images].filter(image => !image.naturalWidth || image.alt.length < 20).length,
    small: [...page.images].filter(image => image.getBoundingClientRect().width > view.innerWidth).length,
  }});
}});
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page that the program makes of the tracked results."""
    results = shutil.copytree(REPOSITORY / "results", tmp_path_factory.mktemp("page") / "results")
    pages = list(write_report(REPOSITORY, results, jobs=2))
    assert pages[-1] == results / "report.html"
    return pages[-1]


def opened(page, tmp_path, width, asked=()):
    """Open the report in a frame so wide, put what is asked into its calculator, and tell what is seen."""
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(page=page.as_uri(), width=width, asked=json.dumps(asked)))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    command += [
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1500,1000",
        "--virtual-time-budget=60000",
    ]
    command += ["--disable-background-networking", "--disable-sync", "--no-first-run", "--dump-dom"]
    found = subprocess.run(
        [*command, frame.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    told = re.search(r'<pre id="found">(.+?)</pre>', found.stdout, re.DOTALL)
    assert told, found.stderr[-2000:]
    return json.loads(told[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_everything_is_there_and_fits(page, tmp_path, width):
    seen = opened(page, tmp_path, width)
    assert seen["scroll"] <= 0
    assert seen["wide"] == []
    assert seen["fetched"] == []
    assert seen["links"] == page.read_text().count('href="#') > 20
    assert seen["lost"] == 0
    assert seen["images"] == page.read_text().count("<img ") > 40
    assert seen["unseen"] == 0
    assert seen["small"] == 0


def test_the_calculator_reckons_by_the_rule_and_says_how_far_it_is_off(page, tmp_path):
    points = json.loads(re.search(r"const measured = (\[\[.+?\]\]);", page.read_text())[1])
    share, ratio = points[-2]
    crash_h = 1.0
    asked = [[crash_h, 3600 * share, 1000], [1000, 0.36, 2000], [0.001, 3, 10], [0, 1, 1], ["", 1, 1]]
    exact, short, long, never, missing = opened(page, tmp_path, 1280, asked)["said"]
    duplicates = float(exact.split()[0].replace(",", ""))
    assert duplicates == pytest.approx(1e6 * share, rel=5e-3)
    error = 100 * (1 / ratio - 1)
    assert abs(error) > 0.1
    told = f"{abs(error):.3g} % too {'many' if error > 0 else 'few'}"
    assert f"Measured at such a gap, that is {told}." in exact
    assert short.startswith("0.1 duplicates per million actions, 0.006 a month of 30 days. ")
    assert "So short a gap was not measured" in short
    assert "So long a gap was not measured" in long
    assert "more than 0" in never
    assert "more than 0" in missing
