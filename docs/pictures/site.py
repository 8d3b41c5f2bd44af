"""Photographs pages of the documentation at three widths, light and dark, to be looked at.

    python docs/pictures/site.py FOLDER

Every page of the built site is opened at each width. A page that is wider than its window, or that
has an image which does not load, ends the program with an error that names it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

SITE: Final = Path(__file__).parents[1] / "site" / "mkdocs.yml"
#: Pages to look at: home, tutorial, guide, picture, wide tables, API.
PAGES: Final = (
    "index.html",
    "tutorial/first-interpreter.html",
    "how-to/ask-for-approval.html",
    "explanation/architecture.html",
    "reference/compared.html",
    "reference/api.html",
)
WIDTHS: Final = {"desktop": 1440, "tablet": 834, "phone": 390}
# The text of a page; tables and code scroll by themselves.
_FAULTS: Final = """() => {
  const missing = [...document.images].filter((one) => one.complete && one.naturalWidth === 0);
  const faults = missing.map((one) => `no image ${one.src}`);
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) faults.push(`${wide} pixels too wide`);
  return faults;
}"""


def photograph(site: Path, folder: Path) -> list[str]:
    """Open all pages of a built site, photograph some, and return what is wrong with any."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("there is no Chromium; apt-get install chromium")
    names = sorted(file.relative_to(site).as_posix() for file in site.rglob("*.html"))
    faults = []
    with _served(site) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for width, pixels in WIDTHS.items():
            for scheme, opened in (("light", names), ("dark", PAGES)):
                page = browser.new_page(
                    viewport={"width": pixels, "height": 900}, color_scheme=scheme
                )
                for name in opened:
                    page.goto(f"{address}/{name}")
                    faults += [f"{name}, {width}: {one}" for one in page.evaluate(_FAULTS)]
                    if name in PAGES:
                        stem = name.removesuffix(".html").replace("/", "-")
                        page.screenshot(path=folder / f"{stem}-{width}-{scheme}.png")
                page.close()
        browser.close()
    return faults


@contextmanager
def _served(site: Path) -> Iterator[str]:
    """Serve a built site, whose search works by HTTP only."""
    handler = type("Handler", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=site))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def main() -> None:
    """Build the site, photograph it, and print what is wrong."""
    (target,) = sys.argv[1:]
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as built:
        subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", SITE, "-d", built],
            check=True,
        )
        missing = [name for name in PAGES if not Path(built, name).is_file()]
        faults = [f"{name}: there is no such page" for name in missing]
        faults += photograph(Path(built), folder)
    print(f"{len(PAGES) * len(WIDTHS) * 2} pictures in {folder}")
    if faults:
        raise SystemExit("\n".join(faults))


if __name__ == "__main__":
    main()
