"""Makes the images that image_codec_test.cpp decodes, and NAME.rgb beside each: what Pillow makes of it.

    .deps/venv/bin/python3 tests/components/images/images/make_images.py
"""

import struct
import zlib
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
WIDTH, HEIGHT = 21, 13


def picture():
    image = Image.new("RGB", (WIDTH, HEIGHT))
    image.putdata([(x * 12, y * 19, (x * y * 5) % 256) for y in range(HEIGHT) for x in range(WIDTH)])
    return image


def save(image, name, **options):
    path = HERE / name
    image.save(path, **options)
    with Image.open(path) as again:
        expected = again.convert("RGB") if again.mode not in ("I;16", "I") else None
    if expected is not None:
        path.with_suffix(path.suffix + ".rgb").write_bytes(expected.tobytes())


def main():
    rgb = picture()
    alpha = Image.linear_gradient("L").resize((WIDTH, HEIGHT))
    with_alpha = rgb.copy()
    with_alpha.putalpha(alpha)

    save(rgb, "colour.jpg", quality=90)
    save(rgb, "progressive.jpg", quality=80, progressive=True)
    save(rgb, "full_chroma.jpg", quality=95, subsampling=0)
    save(rgb.convert("L"), "grey.jpg", quality=90)
    save(rgb.convert("CMYK"), "cmyk.jpg", quality=95)

    save(rgb, "colour.png")
    save(with_alpha, "alpha.png")
    save(rgb.convert("L"), "grey.png")
    save(with_alpha.convert("LA"), "grey_alpha.png")
    save(rgb.convert("1"), "one_bit.png")
    save(rgb.quantize(16), "palette.png")
    save(rgb.quantize(16), "palette_transparent.png", transparency=3)

    # Sixteen bits: Pillow clips them, so the truth is written down: each value is its high byte twice.
    wide = Image.frombytes("I;16", (WIDTH, HEIGHT), bytes(b for value in rgb.convert("L").tobytes() for b in (value, value)))
    save(wide, "sixteen_bit.png")
    grey = rgb.convert("L").convert("RGB")
    (HERE / "sixteen_bit.png.rgb").write_bytes(grey.tobytes())

    # A bomb: a correct header of 60,000 x 60,000 pixels and next to no data.
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    (HERE / "bomb.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


if __name__ == "__main__":
    main()
