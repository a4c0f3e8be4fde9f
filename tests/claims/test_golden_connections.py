"""Golden numbers of downsampling and of connections beyond the paper's four, through drawings and printed modules."""

from __future__ import annotations

import numpy as np
import pytest
from tests.claims.test_golden_numbers import Q, matrices, run, same

from inkcap.drawing import Drawing
from inkcap.network import check

ROOTS = [[9.746794344808963, 8.831760866327848], [10.099504938362077, 14.247806848775006]]
DOWNSAMPLING = [
    ({"kind": "average", "window": 2, "edge": "floor"}, [[3.75, 4], [4.5, 6.75]]),
    ({"kind": "average", "bins": 1}, [[4.72]]),
    ({"kind": "L2", "window": 2, "edge": "floor"}, ROOTS),
    ({"kind": "sum", "window": 2, "edge": "floor"}, [[15, 16], [18, 27]]),
    ({"bins": 1, "bin_rule": "pyramid"}, [[9]]),
    ({"bins": 2, "bin_rule": "pyramid"}, [[9, 9], [9, 9]]),
    ({"bins": 3, "bin_rule": "pyramid"}, [[9, 6, 6], [9, 9, 9], [8, 9, 9]]),
]


@pytest.mark.parametrize(("attributes", "y"), DOWNSAMPLING)
def test_kinds_of_downsampling(attributes, y) -> None:
    same(run(matrices((1, 5, 5), "downsampling", **attributes), [Q]), [y])


def test_the_mean_counts_padding_unless_told_otherwise() -> None:
    attributes = {"kind": "average", "window": 2, "stride": 2, "padding": 1, "edge": "floor"}
    counted = run(matrices((1, 5, 5), "downsampling", **attributes), [Q])
    apart = run(matrices((1, 5, 5), "downsampling", **attributes, count_padding=False), [Q])
    assert float(counted[0, 0, 0, 0]) == 3 / 4
    assert float(apart[0, 0, 0, 0]) == 3


def test_a_pyramid_of_bins_does_not_depend_on_the_size() -> None:
    for size in (13, 17, 24):
        drawing = matrices((256, size, size), "downsampling", bins=6, bin_rule="pyramid")
        assert check(drawing).capsules["y"].output.sizes == (256, 6, 6)


def test_a_downsampling_capsule_is_named_by_its_kind() -> None:
    report = check(matrices((1, 4, 4), "downsampling", window=2, kind="average"))
    assert report.capsules["y"].title == "2D-average downsampling"


def test_subsampling_of_lenet_5() -> None:
    drawing = matrices((6, 28, 28), "tanh", "subsampling", window=2)
    report = check(drawing)
    assert (report.parameters, report.multiply_adds) == (12, 1176)
    assert report.capsules["y"].output.sizes == (6, 14, 14)


def test_coefficients_of_every_map_of_a_volume() -> None:
    drawing = Drawing("S3")
    drawing.add("x", "3D-data", depth=5, height=54, width=34, channels=1)
    drawing.then("y", "3D-downsampling", "transfer", kind="sum", window=[1, 2, 2], coefficient="map")
    report = check(drawing)
    assert (report.parameters, report.multiply_adds) == (10, 0)
    assert report.capsules["y"].output.sizes == (1, 5, 27, 17)
    values = run(drawing, np.ones((1, 5, 54, 34)).tolist(), y_coefficient=[1, 2, 3, 4, 5], y_shift=[0, 0, 0, 0, 1])
    assert [float(layer[0, 0]) for layer in values.detach()[0, 0]] == [4, 8, 12, 16, 21]
