"""`python docs/images/make.py`: the picture of the README, from the page that `mozzi demo` writes.

Needs a Chromium and the extra ``test``. tests/viz/test_readme_picture.py tells when it is due.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from viz.browser import Browser  # noqa: E402

from mozzi.cli.demo import demo  # noqa: E402


def picture() -> np.ndarray:
    """The page, at moments in which much is seen; (height, width, 3)."""
    with tempfile.TemporaryDirectory() as folder:
        demo(Path(folder))
        browser = Browser()
        try:
            size = {"width": 1500, "height": 740, "deviceScaleFactor": 1, "mobile": False}
            browser.call("Emulation.setDeviceMetricsOverride", **size)
            browser.open((Path(folder) / "demo.html").as_uri())
            for k, frame in enumerate((363, 33, 62, 59)):
                browser.run(f"scenes[{k}].stop(); scenes[{k}].show({frame})")
            time.sleep(1.0)
            shown = browser.picture()
        finally:
            browser.close()
    rows = (shown != shown[-1, 0]).any(axis=(1, 2)).nonzero()[0]
    return shown[: rows.max() + 14].astype("uint8")


if __name__ == "__main__":
    from PIL import Image

    Image.fromarray(picture()).save(HERE / "demo.png", optimize=True)
