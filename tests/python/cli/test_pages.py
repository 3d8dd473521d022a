"""Every page that Lanner writes, in a browser: wide and narrow, light and dark, each button clicked."""

import re
import shutil
import subprocess

import pytest

from browser import needs_browser, one_browser, opened  # noqa: F401
from command import LABELS, ROOT, color_classifier, make_clip, make_ppm, succeed

PAGES = ROOT / "tools" / "report"
QUICK = ["--budget", "0", "--threads", "1"]
NARROW = 400


def made_by_run(folder):
    (folder / "labels.txt").write_text(LABELS)
    model = color_classifier(folder / "m.onnx")
    succeed("run", model, "-i", make_clip(folder, frames=25), "--labels", folder / "labels.txt", "--range", "0,1", "-q", "--report", folder / "r.html", *QUICK)


def made_by_run_in_int8(folder):
    (folder / "labels.txt").write_text(LABELS)
    model = color_classifier(folder / "m.onnx", batch=1)
    (folder / "samples").mkdir()
    for i, color in enumerate([(255, 0, 0), (0, 255, 0), (0, 0, 255), (40, 80, 120)]):
        make_ppm(folder / "samples" / f"{i}.ppm", color=color)
    succeed("build", model, "-o", folder / "m.plan", "-q", "--precision", "int8", "--calibrate", folder / "samples", "--preset", "none", "--least-snr", "5", *QUICK)
    succeed("run", folder / "m.plan", "-i", folder / "samples", "--labels", folder / "labels.txt", "--preset", "none", "-q", "--report", folder / "r.html", "--threads", "1")


def made_by_eval(folder):
    colors = {"red/a": (250, 9, 9), "red/b": (200, 20, 20), "green/c": (9, 250, 9), "blue/d": (9, 9, 250), "blue/wrong": (250, 9, 9)}
    for name, color in colors.items():
        (folder / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        make_ppm(folder / "data" / f"{name}.ppm", color=color)
    (folder / "labels.txt").write_text(LABELS)
    model = color_classifier(folder / "m.onnx")
    succeed("eval", model, "--data", folder / "data", "--preset", "none", "--labels", folder / "labels.txt", "--report", folder / "r.html", *QUICK)


def made_by_transcode(folder):
    succeed("transcode", make_clip(folder, frames=25), folder / "new.mp4", "--crf", "35", "--report", folder / "r.html")


MAKERS = {"run": made_by_run, "run in int8": made_by_run_in_int8, "eval": made_by_eval, "transcode": made_by_transcode}


@pytest.fixture(scope="module", params=MAKERS)
def page_file(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    MAKERS[request.param](folder)
    return folder / "r.html"


@pytest.fixture(scope="module")
def eval_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sorted")
    made_by_eval(folder)
    return folder / "r.html"


@needs_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 900, NARROW])
def test_page_has_no_errors_and_no_broken_links(page_file, width, theme):
    with opened(page_file, width, theme) as page:
        assert page.get_attribute("html", "data-theme") == theme
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page can be pushed aside"
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == (theme == "dark")
        links = page.eval_on_selector_all("#nav a", "links => links.map((link) => link.getAttribute('href').slice(1))")
        assert links == page.eval_on_selector_all("section", "sections => sections.map((section) => section.id)") != []
        assert empty_cards(page) == []
        assert lonely(page, ".tiles") == []
        assert lonely(page, ".row") == []


def empty_cards(page):
    """Cards without content under their heading."""
    return page.eval_on_selector_all(
        "#main .card",
        """cards => cards.filter((card) => {
             const rest = card.cloneNode(true);
             rest.querySelectorAll(".head, h3").forEach((head) => head.remove());
             return !rest.textContent.trim() && !rest.querySelector("svg, img");
           }).map((card) => card.textContent)""",
    )


LONELY = """boxes => boxes.flatMap((box) => {
  const shown = [...box.children].map((child) => child.getBoundingClientRect());
  const rows = Map.groupBy(shown, (place) => Math.round(place.top));
  if (rows.size < 2 || rows.size === shown.length) return [];
  const right = box.getBoundingClientRect().right;
  return [...rows.values()].filter((row) => row.length === 1 && row[0].right < right - 2).map((row) => box.textContent);
})"""


def lonely(page, selector):
    """Boxes with a single part in a row that does not fill it."""
    return page.eval_on_selector_all(selector, LONELY)


@needs_browser
@pytest.mark.parametrize("width", [1400, 1200, 1000, 700, NARROW])
def test_any_number_of_tiles_fills_its_rows(tmp_path, width):
    css = (PAGES / "page.css").read_text()
    tile = '<div class="tile"><div class="what">Speed</div><div class="value">12.5<span class="unit">frames/s</span></div></div>'
    boxes = "".join(f'<div class="tiles">{tile * count}</div>' for count in range(1, 13))
    (tmp_path / "r.html").write_text(f'<!doctype html><link rel="icon" href="data:,"><style>{css}</style><main class="wrap">{boxes}</main>')
    with opened(tmp_path / "r.html", width) as page:
        assert lonely(page, ".tiles") == []


@needs_browser
def test_headings_sort_classes(eval_page):
    with opened(eval_page) as page:

        def column(place):
            return page.eval_on_selector_all("table.sorted tbody tr", f"rows => rows.map((row) => row.cells[{place}].textContent)")

        heads = page.locator("table.sorted th")
        assert heads.all_inner_texts()[1] == "class" and len(column(1)) == 3
        for place in range(heads.count()):
            heads.nth(place).get_by_role("button").click()
            first = column(place)
            words = any(not re.fullmatch(r"-|[\d.]+", text) for text in first)
            key = str if words else lambda text: -1.0 if text == "-" else float(text)
            assert first == sorted(first, key=key, reverse=not words)
            assert heads.nth(place).get_attribute("aria-sort") == ("ascending" if words else "descending")
            heads.nth(place).get_by_role("button").click()
            assert column(place) == sorted(first, key=key, reverse=words)
            assert page.locator("th[aria-sort]").count() == 1
        page.locator("table.sorted th button").nth(1).focus()
        page.keyboard.press("Enter")
        assert column(1) == ["blue", "green", "red"]


@needs_browser
def test_sections_fold_and_buttons_work(page_file):
    with opened(page_file) as page:
        folds = page.locator("summary")
        for i in range(folds.count()):
            details = folds.nth(i).locator("xpath=..")
            for opens in (True, False):
                folds.nth(i).click()
                assert details.evaluate("node => node.open") == opens
        for i in reversed(range(page.locator("main button").count())):
            page.locator("main button").nth(i).click()
        assert page.get_attribute("html", "data-theme") == "light"
        page.click("#theme")
        assert page.get_attribute("html", "data-theme") == "dark"
        # The browser stores the choice in another process, which on a loaded machine is later than the reload.
        for _ in range(100):
            page.reload()
            if page.get_attribute("html", "data-theme") == "dark":
                break
        assert page.get_attribute("html", "data-theme") == "dark"


@needs_browser
def test_browser_understands_every_style_rule(tmp_path):
    for path in sorted(PAGES.glob("*.css")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        depth, rules = 0, 0
        for sign in re.findall(r"[{}]", text):
            depth += 1 if sign == "{" else -1
            rules += sign == "{"
        assert depth == 0, path
        (tmp_path / "r.html").write_text(f'<!doctype html><link rel="icon" href="data:,"><style>{text}</style>')
        with opened(tmp_path / "r.html") as page:
            count = "(rules) => [...rules].reduce((sum, rule) => sum + 1 + (rule.cssRules && rule.conditionText ? count(rule.cssRules) : 0), 0)"
            assert page.evaluate(f"() => {{ const count = {count}; return count(document.styleSheets[0].cssRules); }}") == rules, path


@pytest.mark.skipif(not shutil.which("node"), reason="no node on PATH")
@pytest.mark.parametrize("name", sorted(path.name for path in PAGES.glob("*.js")))
def test_scripts_parse(name):
    done = subprocess.run(["node", "--check", PAGES / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_source_in_cpp_holds_a_script_or_a_style():
    """clang-format turns `=>` into `= >` where it takes text for code."""
    of_browsers = re.compile(r"addEventListener|querySelector|document\.(?:body|get|create)|\bconst \w+ = \(|prefers-color-scheme|@media")
    sources = [path for folder in ("tools", "src", "python") for path in (ROOT / folder).rglob("*.cpp")]
    assert len(sources) > 100
    assert [str(path) for path in sources if of_browsers.search(path.read_text())] == []


def test_facts_are_shown_once(tmp_path):
    made_by_run(tmp_path)
    page = (tmp_path / "r.html").read_text()
    facts = page.split('"facts":', 1)[1].split('"frames":', 1)[0]
    assert '"backend"' in facts
    texts = re.findall(r'"((?:[^"\\]|\\.)*)"', facts)
    assert not any("avx2+" in text for text in texts)
    assert len(set(texts)) == len(texts)
