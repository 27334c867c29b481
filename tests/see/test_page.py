# SPDX-License-Identifier: BSD-3-Clause
"""The page: its data stay data, and a real Chromium shows every view, offline, by keyboard, in light and dark."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from secondpass.see import page as pages

from . import samples
from .browser import Tab, browsing, chromium

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "src" / "secondpass" / "see" / "page.html"
VIEWS = ("story", "life", "memory", "graph", "ledger")
PICTURES = ("life", "memory", "graph")

pytestmark = pytest.mark.xdist_group("page")  # one browser


# --- the file --------------------------------------------------------------------------------------------------------


def test_the_page_was_built_from_these_sources():
    """After a change in web/: `make page`, and commit what it writes."""
    web = ROOT / "web"
    digest = hashlib.sha256()
    files = [web / "package-lock.json", web / "build.mjs", *(p for p in (web / "src").rglob("*") if p.is_file())]
    for path in sorted(files, key=lambda path: path.relative_to(web).as_posix()):
        digest.update(path.relative_to(web).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    built = re.search(r'name="secondpass-sources" content="(\w+)"', TEMPLATE.read_text(encoding="utf-8"))
    assert built and built[1] == digest.hexdigest()


def test_the_page_is_small_and_names_no_other_file():
    text = TEMPLATE.read_text(encoding="ascii")
    assert len(text) < 1_000_000
    page = text[: text.index("</html>")]  # the licences that follow name their authors' sites
    assert not re.findall(r"<(?:link|img|iframe|script[^>]+src)\b", page)
    assert not re.findall(r"""(?:url\(|@import|import\()["']?(?!data:)[\w/.]""", page)
    assert set(re.findall(r"https?://[\w.]+", page)) <= {"http://www.w3.org"}  # names of SVG, fetched by nobody


class Elements(HTMLParser):
    """The elements of a page, as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.inside = False
        self.data = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.inside = dict(attrs).get("id") == "data"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.data += data
            self.inside = False


def test_data_stay_data():
    wanted = samples.hostile()
    hostile, tame = Elements(pages.html(wanted)), Elements(pages.html(samples.empty()))
    assert hostile.tags == tame.tags
    got = json.loads(hostile.data)
    assert got.pop("schema") == "secondpass-page/1"
    # Only what turns the direction of writing is not as it was.
    assert got == json.loads(json.dumps(wanted).replace("\\u202e", "\\\\u202e"))


def test_an_escaped_backslash_is_not_the_beginning_of_an_escape():
    data = {"sources": {"a.py": "\\u202e \\\u202e \\\\u2066 \u2066"}}
    assert json.loads(Elements(pages.html(data)).data)["sources"]["a.py"] == "\\u202e \\\\u202e \\\\u2066 \\u2066"


def test_what_is_no_number_is_not_known():
    data = {"memory": [{"at": float("nan"), "bytes": float("inf"), "module": {"net": 1.5}}]}
    assert json.loads(Elements(pages.html(data)).data)["memory"] == [
        {"at": None, "bytes": None, "module": {"net": 1.5}}
    ]


def test_writing(tmp_path):
    target = tmp_path / "page.html"
    assert pages.write(samples.empty(), target) == target
    first = target.read_text(encoding="utf-8")
    link = tmp_path / "link.html"
    link.symlink_to(target)
    pages.write(samples.story(), link)
    assert link.is_symlink() and target.read_text(encoding="utf-8") != first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.html", "page.html"]


@pytest.mark.parametrize("name", ["missing/page.html", "."])
def test_what_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path, name):
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        pages.write(samples.empty(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


# --- in the browser --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[test]'")
    if chromium() is None:
        pytest.skip("no Chromium is installed: apt-get install chromium, or name one in SECONDPASS_CHROMIUM")
    with browsing() as made:
        yield made


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, make in samples.SAMPLES.items():
        pages.write(make(), folder / f"{name}.html")
    return folder


@pytest.fixture
def tabs(browser: Any, written: Path) -> Iterator[Any]:
    """Opens pages; afterwards none of them may have asked for anything, or complained."""
    opened: list[Tab] = []

    def opening(name: str, view: str = "story", **settings: Any) -> Tab:
        opened.append(Tab(browser, written / f"{name}.html", view, **settings))
        return opened[-1]

    yield opening
    for tab in opened:
        asked, complaints = tab.asked, tab.complaints
        tab.close()
        assert asked == []
        assert complaints == []


def test_story(tabs):
    tab = tabs("story")
    text = tab.text()
    for words in (
        "hidden carries the history of iteration 8 into iteration 9",
        "Built in iteration 8",
        "Freed in iteration 8",
        "Needed again in iteration 9",
        "needed again in iteration 9",
        "hidden = hidden.detach()",
        "proven",
        "losses keeps the graph",
    ):
        assert words in text
    assert tab.text(".diff .added").rstrip().endswith("hidden = hidden.detach()")
    # A place lights up wherever it is: among the three, in the source, in the list of passes.
    assert tab.count(".lit") == 0
    tab.page.hover(".places li.freed .place")
    assert tab.count(".places li.lit") == 2  # freed and used again stand on one line
    assert tab.text(".line.lit .number >> nth=0") == "21"
    assert tab.count(".passes tr.lit") == 2
    # Clicked, it stays lit in the other views.
    tab.page.click(".places li.built .place")
    tab.go("ledger")
    assert "carried_state.py:18" in tab.text(".pin")
    assert tab.count(".row.lit") > 0
    tab.press("Escape")
    assert tab.count(".pin") == 0


def test_life(tabs):
    tab = tabs("story", "life")
    assert tab.colours() > 20
    # It opens at the reuse, and says what came back into what.
    assert "Failed pass loss.backward()" in tab.text(".details")
    assert "graph of iteration 8" in tab.text(".details")
    tab.page.click("text=graph of iteration 8")
    assert "Graph of iteration 8" in tab.text(".details h3") and "47.1 KiB" in tab.text(".details")

    def window() -> tuple[float, float]:
        canvas = tab.page.locator("canvas")
        return float(canvas.get_attribute("data-from")), float(canvas.get_attribute("data-to"))

    start, end = window()
    box = tab.page.locator("canvas").bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    tab.page.mouse.wheel(0, -400)
    tab.frame()
    near, far = window()
    assert start < near < far < end
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] / 2 - 200, box["y"] + 100, steps=4)
    tab.page.mouse.up()
    tab.frame()
    moved = window()
    assert moved[0] > near and moved[1] - moved[0] == pytest.approx(far - near)
    # Memory shows the same part of time.
    tab.go("memory")
    tab.go("life")
    assert window() == pytest.approx(moved)
    tab.page.click("text=All")
    assert window() == pytest.approx((start, end))


def test_from_a_finding_to_its_life(tabs, written):
    data = samples.story()
    data["findings"] *= 2
    pages.write(data, written / "many.html")
    tab = tabs("many")
    assert tab.count(".index li") == 4
    tab.page.click("#finding-1 >> text=See it in Life")
    assert tab.text(".details h3") == "Graph of losses[0]" and "SP401 graph-leak" in tab.text(".details")
    tab.page.click(".details >> text=SP401")
    assert tab.page.get_attribute("#tab-story", "aria-selected") == "true"


def test_memory(tabs):
    tab = tabs("story", "memory")
    assert tab.colours() > 20
    assert "At the peak iteration 9 122.1 KiB" in tab.text(".parts").replace("\n", " ")
    assert "(no module)" in tab.text(".parts")
    tab.page.click("text=Operation")
    assert "Addmm" in tab.text(".parts")
    tab.page.click("text=Holder")
    assert "losses" in tab.text(".parts")
    tab.page.select_option("select", "SP401")
    assert "peak 122.1 KiB → 47.1 KiB" in tab.text(".saving")
    tab.page.focus("canvas")
    tab.press("Home")
    assert "The beginning iteration 1 2.0 KiB" in tab.text(".parts").replace("\n", " ")


def test_memory_of_the_graphs_alone(tabs, written):
    data = samples.story()
    data["memory"] = []
    pages.write(data, written / "coarse.html")
    tab = tabs("coarse", "memory")
    assert "Counted from the graphs" in tab.text() and "peak" in tab.page.locator("canvas").get_attribute("aria-label")


def boxes(tab: Tab) -> int:
    """How many boxes the picture of the graph has."""
    return int(tab.page.locator("canvas").get_attribute("data-boxes"))


def test_graph(tabs):
    tab = tabs("story", "graph")
    assert tab.colours() > 20
    assert "283 nodes" in tab.text(".legend") and 4 <= boxes(tab) <= 36
    # What is selected at first is where the new graph enters the freed part.
    assert "carried by" in tab.text(".details") and "hidden" in tab.text(".details")
    before = boxes(tab)
    tab.page.focus("canvas")
    tab.press("Enter")
    assert boxes(tab) > before
    tab.press("Backspace")
    assert boxes(tab) == before
    tab.press("ArrowUp")
    assert tab.text(".details h3") != ""


def test_ledger(tabs):
    tab = tabs("story", "ledger")
    assert "36 tensors" in tab.text(".total")

    def first() -> str:
        return str(tab.page.locator(".row").first.inner_text().split("\n")[0])

    assert first() == "6.8 KiB"
    tab.page.click("text=Bytes")
    assert first() == "80 B"
    tab.page.select_option("select >> nth=1", "alive")
    assert "12 tensors" in tab.text(".total")
    tab.page.fill("#search", "hidden addmm")
    assert "2 tensors" in tab.text(".total")
    assert tab.text("#tab-ledger .hits") == "2" and tab.text("#tab-story .hits") == "0"
    tab.page.fill("#search", "")
    tab.page.click("text=Modules")
    assert "outside of modules" in tab.text(".bundles")
    tab.page.click(".bundles >> text=cell")
    assert "3 tensors" in tab.text(".total") and "cell" in tab.text(".chip")


def test_a_hostile_program_stays_text(tabs):
    tab = tabs("hostile")
    for view in VIEWS:
        tab.go(view)
        assert tab.page.evaluate("() => window.hacked") is None
        assert tab.count("img, iframe, object, embed") == 0
        assert tab.count("script") == 2
        if view in PICTURES:
            tab.page.focus("canvas")
            tab.press("ArrowRight", "ArrowDown")
        assert "</script><img src=x" in tab.text()
    assert "</script><img src=x" in tab.page.title()
    # Nothing is wider than the window for it.
    assert tab.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_nothing_else_runs_and_nothing_is_sent(browser, written):
    """The page's own policy, with a network that would answer."""
    tab = Tab(browser, written / "story.html")
    tab.page.evaluate(
        """() => {
            const script = document.createElement('script')
            script.textContent = 'window.hacked = 1'
            document.body.append(script)
            document.body.insertAdjacentHTML('beforeend', '<img src="https://example.org/x.png" onerror="window.hacked = 1">')
        }"""
    )
    assert tab.page.evaluate("() => fetch('https://example.org/').then(() => 'sent', () => 'refused')") == "refused"
    assert tab.page.evaluate("() => window.hacked") is None
    assert tab.asked == []  # it did not even come to a request
    tab.close()


def test_twenty_thousand_nodes_and_a_thousand_passes(tabs):
    tab = tabs("large")
    tab.press("2")
    assert tab.colours() > 20 and "iteration 999" in tab.text(".details")
    tab.press("0", "n", "ArrowLeft", "+")
    tab.press("3", "ArrowLeft")
    assert "At " in tab.text(".parts")
    tab.press("4")
    assert "20,000 nodes" in tab.text(".legend")
    # Whatever is opened, the picture stays one that can be looked at.
    for _ in range(6):
        before = boxes(tab)
        tab.press("Enter")
        assert before <= boxes(tab) <= before + 30
    tab.press("o")
    tab.press("5")
    assert "20,000 tensors" in tab.text(".total")
    assert tab.count(".row") < 80
    tab.press("End")
    assert tab.page.locator(".row.cursor").get_attribute("aria-rowindex") == "20001"
    tab.press("/")
    tab.page.keyboard.type("h.47. checkpoint")
    tab.frame()
    assert 0 < tab.count(".row") < 80 and "h.47." in tab.text(".row >> nth=0")


def test_by_keyboard_alone(tabs):
    tab = tabs("story")
    tab.press("Tab")
    assert tab.focused() == "tab-story"
    tab.press("ArrowRight")
    assert tab.focused() == "tab-life" and tab.page.get_attribute("#tab-life", "aria-selected") == "true"
    tab.press("End")
    assert tab.focused() == "tab-ledger"
    tab.press("4")
    assert tab.focused() == "graph"
    tab.press("2", "Home")
    assert "Graph of iteration 1" in tab.text(".details h3")
    tab.press("ArrowRight")
    assert "Pass loss.backward()" in tab.text(".details h3")
    tab.press("Enter")
    assert "carried_state.py:21" in tab.text(".pin")
    tab.press("5", "ArrowDown", "ArrowDown")
    assert tab.page.locator(".row.cursor").get_attribute("aria-rowindex") == "4"
    tab.press("/")
    assert tab.focused() == "search"
    tab.page.keyboard.type("readout 1")  # figures are text here, and switch no view
    assert (
        tab.page.input_value("#search") == "readout 1"
        and tab.page.get_attribute("#tab-ledger", "aria-selected") == "true"
    )
    tab.press("Escape", "Escape")
    assert tab.page.input_value("#search") == "" and tab.focused() != "search"
    tab.press("?")
    assert tab.page.is_visible("dialog") and "next reuse" in tab.text("dialog")
    tab.press("Escape")
    assert not tab.page.is_visible("dialog")
    # What a pointer does by hovering, the focus does.
    tab.press("1")
    tab.page.focus(".places li.built .place")
    assert tab.text(".line.lit .number >> nth=0") == "18"


@pytest.mark.parametrize(("scheme", "other"), [("light", "dark"), ("dark", "light")])
def test_light_and_dark(tabs, scheme, other):
    tab = tabs("story", color_scheme=scheme)

    def background() -> int:
        colour = tab.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)))

    bright = {"light": 700, "dark": 100}
    first = background()
    assert abs(first - bright[scheme]) < 70
    for view in VIEWS:
        tab.go(view)
        if view in PICTURES:
            before = picture(tab)
            tab.press("t")
            assert picture(tab) != before
            tab.press("t")
    tab.press("t")
    assert abs(background() - bright[other]) < 70


def picture(tab: Tab) -> str:
    return str(tab.page.evaluate("() => document.querySelector('canvas').toDataURL()"))


def test_a_narrow_screen(tabs):
    tab = tabs("story", viewport={"width": 380, "height": 760})
    for view in VIEWS:
        tab.go(view)
        assert tab.page.evaluate("() => document.documentElement.scrollWidth") <= 380
        assert all(tab.page.is_visible(f"#tab-{name}") for name in VIEWS)


def test_paper(tabs):
    tab = tabs("story", "ledger", color_scheme="dark")
    assert tab.page.pdf().startswith(b"%PDF")
    tab.page.emulate_media(media="print")
    assert not tab.page.is_visible("#search")


def test_nothing_to_show_is_said(tabs):
    tab = tabs("empty")
    for view, words in (
        ("story", "No backward pass was seen"),
        ("life", "No graph, pass or step was seen"),
        ("memory", "secondpass see train.py"),
        ("graph", "The graph of a pass is drawn when one failed"),
        ("ledger", "secondpass.ledger(loss)"),
    ):
        tab.go(view)
        assert words in tab.text()


def test_what_is_not_known_is_left_out(tabs, written):
    """Every field that may be None is None."""
    always = "id at built file line kind what text op code cause state pass graph message".split()

    def forget(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: forget(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [forget(item, key) for item in value]
        return value if key in always else None

    data = forget(samples.story())
    for name in ("findings", "passes", "steps", "graphs", "ledger"):
        for item in data[name]:
            item.update({key: None for key in ("place", "iteration", "shape", "roots", "used") if key in item})
    data["sources"], data["at"] = {}, "order"
    pages.write(data, written / "unknown.html")
    tab = tabs("unknown")
    for view in VIEWS:
        tab.go(view)
        assert "could not be drawn" not in tab.text() and "NaN" not in tab.text() and "undefined" not in tab.text()
        if view in PICTURES and tab.count("canvas"):
            tab.page.focus("canvas")
            tab.press("Home", "ArrowRight", "ArrowRight")
    tab.page.fill("#search", "addmm")


def test_a_view_that_fails_leaves_the_others_alone(browser, tmp_path):
    pages.write({**samples.story(), "findings": [{"code": "SP103", "message": 5}]}, tmp_path / "odd.html")
    tab = Tab(browser, tmp_path / "odd.html")
    assert "This view could not be drawn" in tab.text()
    tab.go("ledger")
    assert "36 tensors" in tab.text(".total")
    tab.close()


def test_a_page_without_data_says_so(browser, tmp_path):
    for name, text, words in (
        ("bare", TEMPLATE.read_text(encoding="utf-8"), "There are no data in this page"),
        ("cut", pages.html(samples.empty()).replace('"args":[]', '"args":['), "cannot be read"),
        ("other", pages.html({**samples.empty(), "schema": "secondpass-page/9"}), "its data are secondpass-page/9"),
    ):
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        page = browser.new_page()
        page.goto((tmp_path / f"{name}.html").as_uri())
        page.wait_for_selector(".empty")
        assert words in page.inner_text("body")
        page.close()
