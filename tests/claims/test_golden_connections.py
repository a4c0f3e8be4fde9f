"""Golden numbers of downsampling and of connections beyond the paper's four, through drawings and printed modules."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.claims.test_golden_numbers import Q, matrices, run, same
from timing import times_longer

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise, source_of
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


def concatenated(counts: tuple[int, ...], **attributes) -> Drawing:
    drawing = Drawing("concatenation", "float64")
    for i, count in enumerate(counts):
        drawing.add(f"x{i}", "2D-data", channels=count, height=2, width=2)
    drawing.add("y", "2D-identical", **attributes)
    for i in range(len(counts)):
        drawing.connect(f"x{i}", "y", "inject")
    return drawing


def test_injections_lie_one_behind_another_without_counting() -> None:
    report = check(concatenated((64, 128, 32, 32)))
    assert [c.attributes["offset"] for c in report.connections.values()] == [0, 64, 192, 224]
    assert report.capsules["y"].output.sizes == (256, 2, 2)
    assert "torch.cat((x0, x1, x2, x3), 1)" in source_of(report.network)


def test_a_convolution_of_a_concatenation_is_the_sum_of_convolutions() -> None:
    first, second = [[1, 2], [3, 4]], [[0, -1], [2, 5]]
    drawing = concatenated((1, 1))
    drawing.then("z", "2D-identical", "convolution", kernels=1, kernel=1, bias="none")
    same(run(drawing, [first], [second], y__z_weight=[2, -1]), [[[2, 5], [4, 3]]])


def test_injections_with_gaps_and_overlaps_are_summed() -> None:
    drawing = concatenated((1, 1), channels=3)
    drawing.change("x1-y", offset=0)
    same(run(drawing, [[[1, 2], [3, 4]]], [[[1, 1], [1, 1]]]), [[[2, 3], [4, 5]], [[0, 0]] * 2, [[0, 0]] * 2])


def test_injections_beyond_the_front_end_are_refused() -> None:
    report = check(concatenated((2, 2), channels=3))
    assert [(d.rule, d.where) for d in report.errors] == [("structure-mismatch", ("x1-y",))]
    assert "4" in report.errors[0].message


def test_many_injections_are_checked_in_linear_time() -> None:
    def dense(layers: int) -> Drawing:
        drawing = Drawing("dense")
        drawing.add("l0", "2D-data", channels=8, height=4, width=4)
        for i in range(1, layers):
            drawing.add(f"l{i}", "2D-relu")
            for j in range(i):
                drawing.connect(f"l{j}", f"l{i}", "inject")
        report = check(drawing)
        assert report.well_formed
        assert report.capsules[f"l{layers - 1}"].output.sizes[0] == 8 * 2 ** (layers - 2)
        return drawing

    few, many = dense(12), dense(24)
    allowed = 4 * len(many.connections) / len(few.connections)
    assert times_longer(lambda: check(few), lambda: check(many), allowed) < allowed


def test_crops_take_their_size_from_what_they_join() -> None:
    drawing = Drawing("crop", "float64")
    drawing.add("small", "2D-data", channels=21, height=34, width=34)
    drawing.add("large", "2D-data", channels=21, height=44, width=44)
    drawing.add("fuse", "2D-identical")
    drawing.connect("small", "fuse", "transfer")
    drawing.connect("large", "fuse", "select", offset=5)
    assert check(drawing).connections["large-fuse"].attributes["size"] == (34, 34)
    assert "large[..., 5:39, 5:39]" in source_of(check(drawing).network)


C3 = "1000111001111011 1100011100111101 1110001110010111 0111001111001011 0011100111101101 0001110011110111"


def test_the_table_of_lenet_5() -> None:
    table = [int(digit) for digit in C3.replace(" ", "")]
    report = check(matrices((6, 14, 14), "tanh", "convolution", kernels=16, kernel=5, table=table))
    assert (report.parameters, report.multiply_adds) == (1516, 150_000)
    assert report.capsules["y"].output.sizes == (16, 10, 10)


def three_dimensional() -> Drawing:
    """The 3D network of Ji et al.; its optical flow is stood for by the change from frame to frame."""
    drawing = Drawing("3D CNN")
    drawing.add("frames", "3D-data", depth=7, height=60, width=40, channels=1)
    filters = {"gray": "gray", "gradx": "gradient-x", "grady": "gradient-y", "flowx": "change", "flowy": "change"}
    ends = []
    for name, filter in filters.items():
        drawing.add(f"H1-{name}", "3D-identical")
        drawing.connect("frames", f"H1-{name}", "hardwired", filter=filter)
        for a in "ab":
            drawing.add(f"C2-{name}-{a}", "3D-tanh")
            drawing.connect(f"H1-{name}", f"C2-{name}-{a}", "convolution", kernels=1, kernel=[3, 7, 7])
            drawing.then(f"S3-{name}-{a}", "3D-downsampling", kind="sum", window=[1, 2, 2], coefficient="map")
            for i in "123":
                drawing.add(f"C4-{name}-{a}{i}", "3D-tanh")
                drawing.connect(f"S3-{name}-{a}", f"C4-{name}-{a}{i}", "convolution", kernels=1, kernel=[3, 7, 6])
                end = f"S5-{name}-{a}{i}"
                drawing.then(end, "3D-downsampling", kind="sum", window=[1, 3, 3], coefficient="map")
                ends.append(end)
    drawing.add("C6", "1D-tanh", dimension=128, bias="none")
    for end in ends:
        drawing.connect(end, "C6", "convolution", map_bias=True)
    drawing.add("out", "1D-softmax", dimension=3, bias="none")
    drawing.connect("C6", "out", "full")
    return drawing


def test_the_3d_network_of_ji() -> None:
    report = check(three_dimensional())
    assert report.well_formed, report.diagnostics[:3]
    assert (report.capsule_count, report.connection_count) == (88, 116)
    assert (report.parameters, report.frozen_parameters, report.multiply_adds) == (295_458, 0, 15_171_624)
    assert report.capsules["C6"].output.sizes == (128,)
    assert "nn.Conv3d(1, 1, (3, 7, 7))" in source_of(report.network)


def test_dilation_and_depthwise_kernels() -> None:
    image = [[list(range(4 * i + 1, 4 * i + 5)) for i in range(4)]]
    drawing = matrices((1, 4, 4), "identical", "convolution", kernels=1, kernel=2, dilation=2, bias="none")
    same(run(drawing, image, x__y_weight=[1, 2, 3, 4]), [[[78, 88], [118, 128]]])
    report = check(matrices((8, 6, 6), "relu", "convolution", kernel=3, same=True, depthwise=True, bias="none"))
    assert (report.parameters, report.capsules["y"].output.sizes) == (72, (8, 6, 6))


def test_a_gradient_is_what_the_neighbours_differ_by() -> None:
    drawing = matrices((1, 2, 3), "identical", "hardwired", filter="gradient-x")
    same(run(drawing, [[[1, 4, 9], [2, 2, 5]]]), [[[4, 8, -4], [2, 3, -2]]])


TWO = [[[1, 2], [3, 4]]]


def test_transposed_convolution() -> None:
    drawing = matrices((1, 2, 2), "identical", "transposed-convolution", kernels=1, kernel=3, stride=2, bias="none")
    made = [[1, 0, 4, 0, 4], [0, 1, 0, 2, 0], [6, 0, 17, 0, 10], [0, 3, 0, 4, 0], [9, 0, 15, 0, 4]]
    same(run(drawing, TWO, x__y_weight=[1, 0, 2, 0, 1, 0, 3, 0, 1]), [made])


def test_a_fixed_bilinear_kernel_upsamples() -> None:
    at = {"kernels": 1, "kernel": 4, "stride": 2, "initialiser": "bilinear", "trainable": False, "bias": "none"}
    report = check(matrices((1, 2, 2), "identical", "transposed-convolution", **at))
    assert (report.parameters, report.frozen_parameters, report.multiply_adds) == (0, 16, 64)
    module = build(report.network)
    initialise(module, report.network, 0)
    row = module(torch.tensor([TWO], dtype=torch.float64))[0, 0, 2]
    np.testing.assert_allclose(row.detach(), [0.375, 1.125, 1.75, 2.25, 1.875, 0.625])
    at = {"kernels": 21, "kernel": 4, "stride": 2, "trainable": False, "bias": "none"}
    assert check(matrices((21, 16, 16), "identical", "transposed-convolution", **at)).multiply_adds == 1_806_336


RESAMPLED = [
    ({}, [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]),
    ({"mode": "linear"}, [[1, 1.25, 1.75, 2], [1.5, 1.75, 2.25, 2.5], [2.5, 2.75, 3.25, 3.5], [3, 3.25, 3.75, 4]]),
]


@pytest.mark.parametrize(("attributes", "y"), RESAMPLED)
def test_resampling(attributes, y) -> None:
    same(run(matrices((1, 2, 2), "identical", "resampling", factor=2, **attributes), TWO), [y])


def test_resampling_that_keeps_the_corners() -> None:
    made = run(matrices((1, 2, 2), "identical", "resampling", size=4, mode="linear", align=True), TWO)
    np.testing.assert_allclose(made[0, 0, 1], [5 / 3, 2, 7 / 3, 8 / 3])


def test_a_locally_connected_layer_has_a_kernel_for_every_position() -> None:
    report = check(matrices((3, 6, 6), "relu", "local-convolution", kernels=4, kernel=3, bias="none"))
    assert (report.parameters, report.multiply_adds) == (16 * 4 * 27, 16 * 4 * 27)


def test_the_boxes_of_a_map_are_rows() -> None:
    drawing = Drawing("boxes", "float64")
    drawing.add("x", "2D-data", channels=84, height=38, width=38)
    drawing.add("y", "2D-identical", height=5776, width=21)
    drawing.connect("x", "y", "reshaping", order=[1, 2, 0])
    report = check(drawing)
    assert report.capsules["y"].output.sizes == (1, 5776, 21)
    assert "x.permute(0, 2, 3, 1).reshape(-1, 1, 5776, 21)" in source_of(report.network)


def test_a_full_connection_item_by_item() -> None:
    drawing = Drawing("regions")
    drawing.add("regions", "3D-data", channels=300, depth=512, height=7, width=7)
    drawing.then("fc6", "2D-relu", "full", width=4096)
    drawing.then("class", "2D-identical", "full", width=21)
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    assert report.capsules["fc6"].output.sizes == (1, 300, 4096)
    assert report.connections["regions-fc6"].multiply_adds == 30_828_134_400
    assert report.parameters == 102_764_544 + 86_037
    assert "nn.Linear(25088, 4096)" in source_of(report.network)
