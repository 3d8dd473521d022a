"""Pages in headless Chromium, by Playwright: what a reader sees, and all that the console says."""

import contextlib
import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None
REASON = "no chromium on PATH" if not CHROMIUM else "playwright is not installed"
needs_browser = pytest.mark.skipif(not CHROMIUM or sync_playwright is None, reason=REASON)


_open = contextlib.ExitStack()
_browsers = []


@pytest.fixture(scope="module", autouse=True)
def one_browser():
    """For the files that import it: all tests of a file use one browser, which the first of them starts."""
    yield
    _browsers.clear()
    _open.close()


def browser():
    if not _browsers:
        playwright = _open.enter_context(sync_playwright())
        _browsers.append(playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]))
        _open.callback(_browsers[0].close)
    return _browsers[0]


@contextlib.contextmanager
def opened(path, width=1400, theme="light", height=2000):
    """The page at a window's size, drawn, in a profile of its own. What the console says, or a script throws, fails at the end."""
    with browser().new_context(viewport={"width": width, "height": height}, color_scheme=theme) as profile:
        page = profile.new_page()
        said = []
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"thrown: {error}"))
        page.on("request", lambda request: request.url.startswith(("file:", "data:")) or said.append(f"loads {request.url}"))
        page.goto(path.resolve().as_uri())
        # Charts are drawn when the browser knows their width.
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        yield page
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert said == []


def dom_of(path, **options):
    """The page as markup after its script ran; the console was silent."""
    with opened(path, **options) as page:
        return page.content()
