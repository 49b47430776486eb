"""Reports in Chromium: no error, no request, no serious finding of axe-core, and a table that searches and sorts.

``THRESHER_SCREENSHOTS=FOLDER`` also writes pictures, 1280 pixels wide and light, and 390 pixels wide and dark.
"""

import base64
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from tests.browser.reports import MANY, make_reports

AXE = os.environ.get("THRESHER_AXE")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

pytestmark = [
    pytest.mark.skipif(not AXE, reason="`make browser-test` runs these"),
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="there is no chromium with its chromedriver"),
]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    return dict(make_reports(tmp_path_factory.mktemp("reports")))


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(300)
    yield driver
    driver.quit()


NAMES = (
    "text",
    "auto-k",
    "several",
    "regression",
    "b-arda",
    "fgm",
    "os",
    "sparse-rf",
    "fdr",
    "kmers",
    "many",
    "hostile",
)


def show(browser, path, width=1280, dark=False):
    """Open a report, and draw every chart."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.as_uri())
    browser.execute_script("jobs.forEach(drawOne)")
    for _ in range(100):
        if browser.execute_script("return jobs.every(job => job.box.querySelector('svg'))"):
            return
        time.sleep(0.1)
    pytest.fail("a chart was not drawn")


def rows(browser):
    return browser.execute_script("return [...document.querySelectorAll('#features tbody tr')].map(r => r.innerText)")


@pytest.mark.parametrize("name", NAMES)
def test_no_error_and_no_request(browser, reports, name):
    browser.get_log("performance")
    browser.get_log("browser")
    show(browser, reports[name])
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [reports[name].as_uri()]
    assert browser.execute_script("return typeof alerted") == "undefined"
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["wide-light", "narrow-dark"])
@pytest.mark.parametrize("name", NAMES)
def test_accessible(browser, reports, name, width, dark):
    show(browser, reports[name], width, dark)
    # Of the tables of numbers under charts, which are all alike, one is enough.
    opened = "document.querySelectorAll('details').forEach((d, i) => { d.open = !d.closest('figure') || i < 2; })"
    browser.execute_script(opened)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.execute_script(Path(AXE).read_text())
    found = browser.execute_async_script(
        "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done)"
    )
    worst = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in worst] == []
    if folder := os.environ.get("THRESHER_SCREENSHOTS"):
        browser.execute_script("document.querySelectorAll('figure details').forEach(d => { d.open = false; })")
        height = browser.execute_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 9000), "scale": 1}
        made = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        path = Path(folder) / f"{name}-{width}-{'dark' if dark else 'light'}.png"
        path.write_bytes(base64.b64decode(made["data"]))


def test_search_sort_and_more(browser, reports):
    show(browser, reports["many"])
    search = browser.find_element("id", "search")
    search.send_keys("token12")
    assert all("token12" in row for row in rows(browser))
    assert "found" in browser.find_element("css selector", "#features [role=status]").text
    search.clear()
    search.send_keys(" ")
    sort_by_name = "document.querySelector('[data-sort=name]').click()"
    browser.execute_script(sort_by_name)
    assert [row.split()[1] for row in rows(browser)[:3]] == ["token0", "token1", "token10"]
    assert browser.find_element("css selector", "th[aria-sort=ascending]").text.startswith("feature")
    browser.execute_script(sort_by_name)
    assert rows(browser)[0].split()[1] == "token9999"
    browser.find_element("css selector", "[data-sort=weight]").send_keys("\n")  # by keyboard
    weights = [float(row.split()[2].replace("−", "-")) for row in rows(browser)]
    assert weights == sorted(weights, reverse=True)
    assert len(weights) == 200
    browser.find_element("xpath", "//button[contains(., 'more')]").send_keys("\n")
    assert len(rows(browser)) == 400
    tsv = browser.execute_async_script(
        "const done = arguments[0]; URL.createObjectURL = blob => { blob.text().then(done); return 'data:,'; };"
        "document.getElementById('download').click()"
    )
    lines = tsv.splitlines()
    assert len(lines) == 1 + MANY
    assert lines[0].split("\t") == ["rank", "name", "weight", "bound", "count", "key"]


def test_the_largest_report_does_little_at_load(browser, reports):
    """What keeps it usable soon on any machine: few elements, and no chart that is far from the window."""
    size = {"width": 1280, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(reports["many"].as_uri())
    browser.execute_async_script("requestIdleCallback(arguments[0], { timeout: 5000 })")
    assert len(rows(browser)) == 200
    assert browser.execute_script("return document.querySelectorAll('*').length") < 5000
    tops = "return jobs.filter(j => Boolean(j.drawn) === arguments[0]).map(j => j.box.getBoundingClientRect().top)"
    drawn, later = browser.execute_script(tops, True), browser.execute_script(tops, False)
    assert all(top < 1000 + 600 + 50 for top in drawn)
    assert len(later) > len(drawn)
    browser.execute_script("window.scrollTo(0, document.body.scrollHeight)")
    for _ in range(100):
        if browser.execute_script("return jobs[jobs.length - 1].box.querySelector('svg') !== null"):
            break
        time.sleep(0.1)
    else:
        pytest.fail("a chart that came into view was not drawn")
    assert reports["many"].stat().st_size < 3_000_000
    print(
        browser.execute_script(
            "return Math.round(performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart)"
        ),
        "ms",
    )


def test_hostile_names_are_shown(browser, reports):
    show(browser, reports["hostile"])
    shown = "\n".join(rows(browser))
    assert "</script><script>alert(1)</script>" in shown
    assert "\\u202eright to left" in shown
    assert "two\\nlines\\u2028and" in shown


def test_several_classes_choose_their_weights(browser, reports):
    from selenium.webdriver.support.ui import Select

    show(browser, reports["several"])
    before = rows(browser)
    Select(browser.find_element("css selector", "#features select")).select_by_index(2)
    assert rows(browser) != before
