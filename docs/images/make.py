"""`python docs/images/make.py`: the picture of the README, from the page that `mozzi demo` writes.

Needs a Chromium and the extra ``test``.
"""

import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from viz.browser import Browser  # noqa: E402

from mozzi.cli.demo import demo  # noqa: E402


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        demo(Path(folder))
        browser = Browser()
        try:
            size = {"width": 1500, "height": 560, "deviceScaleFactor": 1, "mobile": False}
            browser.call("Emulation.setDeviceMetricsOverride", **size)
            browser.open((Path(folder) / "demo.html").as_uri())
            for k, frame in enumerate((363, 33, 62)):
                browser.run(f"scenes[{k}].stop(); scenes[{k}].show({frame})")
            time.sleep(1.0)
            save(browser.picture())
        finally:
            browser.close()


def save(picture) -> None:
    from PIL import Image

    rows = (picture != picture[-1, 0]).any(axis=(1, 2)).nonzero()[0]
    cut = picture[: rows.max() + 14].astype("uint8")
    Image.fromarray(cut).save(HERE / "demo.png", optimize=True)


if __name__ == "__main__":
    main()
