"""Limits of a drawing file, in one place: a person never meets them, a bomb always does."""

FILE_BYTES = 16 * 2**20
"""A drawing without a ``plain`` block or sparse connections."""
PLAIN_FILE_BYTES = 256 * 2**20
"""A drawing with a columnar ``plain`` block or sparse connections."""
PLAIN_CONNECTIONS = 5_000_000
"""Enough for LeNet with every convolution drawn connection by connection: 4,267,008."""
CAPSULES = 20_000
CONNECTIONS = 60_000
JSON_DEPTH = 64
GROUP_DEPTH = 32
NAME_LENGTH = 200
TEXT_LENGTH = 20_000
LARGEST_INTEGER = 2**53
SHEET = 100_000_000
"""How far from the origin anything lies, in pixels: a row of all capsules with the longest names is shorter."""
