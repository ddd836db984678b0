"""Draw the pictures of README.md, which are figures of the gallery.

python docs/make_pictures.py
"""

import runpy
from io import BytesIO
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from PIL import Image

HERE = Path(__file__).parent
PICTURES = {"what_p_does": "plot_p_and_roc"}
"""The figure that an example calls ``figure``, by the name of the picture."""


def draw(picture: str, example: str) -> None:
    """Write a picture with 256 colours: a third of the bytes, and nothing to see of it."""
    with plt.style.context(HERE / "gallery.mplstyle"):
        figure = runpy.run_path(str(HERE / "examples" / f"{example}.py"))["figure"]
        drawn = BytesIO()
        figure.savefig(drawn, dpi=120)
    plt.close("all")
    Image.open(drawn).convert("RGB").quantize(256).save(HERE / f"{picture}.png", optimize=True)


if __name__ == "__main__":
    for picture, example in PICTURES.items():
        draw(picture, example)
