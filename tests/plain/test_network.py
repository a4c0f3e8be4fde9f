"""Forward: golden numbers, random graphs against ten lines of NumPy, sizes, threads, and the time to compile."""

import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.engine.plain import Columns, PlainError, PlainNetwork


@pytest.mark.parametrize(("symbol", "y"), [("identical", -5.0), ("relu", 0.0), ("step", 0.0)])
def test_one_amplifying_connection(symbol, y):
    network = PlainNetwork(Columns(["data", symbol], [0, 0], [0], [1], [2.5]))
    assert network.forward(np.array([[-2.0]]), dtype=np.float64).tolist() == [[y]]


W1 = [[-0.2, 0.5], [0.1, -0.3], [0.4, 0], [-0.4, 0.3], [-0.1, -0.5], [0.2, -0.2]]
W2 = [[0.1, 0.5, -0.2, 0.2, -0.5, -0.1], [0.3, -0.4, 0, 0.4, -0.3, 0.1],
      [0.5, -0.2, 0.2, -0.5, -0.1, 0.3], [-0.4, 0, 0.4, -0.3, 0.1, 0.5]]  # fmt: skip
W3 = [[0.3, -0.5, -0.2, 0.1], [0.4, -0.4, -0.1, 0.2]]
B = [-0.3, 0.2, -0.4, 0.1, -0.5, 0, -0.3, 0.2, -0.4, 0.1, -0.3, 0.2]


@pytest.mark.parametrize(
    ("biases", "hidden", "out"),
    [
        (B, (0, 0.9, 0, 0, 0.4, 0.6, 0, 0, 0, 0.44), (-0.256, 0.288)),
        ([0] * 12, (0, 0.7, 0.4, 0, 0.9, 0.6, 0, 0, 0.03, 0.55), (0.049, 0.107)),
    ],
)
@pytest.mark.parametrize("contract", [False, True])
def test_the_drawn_mlp_gives_the_golden_numbers(draw_layered, biases, hidden, out, contract):
    drawn = draw_layered((2, 6, 4, 2))
    weight = np.concatenate([np.ravel(W) for W in (W1, W2, W3)])
    columns = Columns(drawn.symbol, np.array([0, 0, *biases]), drawn.back, drawn.front, weight)
    network = PlainNetwork(columns)
    assert (network.neurons, network.connections, network.weight.size + network.bias.size) == (14, 44, 56)
    x = np.array([[1.0, -2.0]])
    np.testing.assert_allclose(network.forward(x, dtype=np.float64, contract=contract), [out], atol=1e-15)
    if not contract:
        inner = PlainNetwork(columns, outputs=range(2, 12))
        np.testing.assert_allclose(inner.forward(x, dtype=np.float64), [hidden], atol=1e-15)


def test_flexible_connections_give_the_golden_numbers():
    # x1 x2 h1 h2 h3 o1 o2
    edges = [(0, 2, 1), (1, 2, -1), (0, 3, 2), (2, 3, 0.5), (1, 4, -1), (2, 4, 3), (3, 4, -0.25),
             (3, 5, 1), (4, 5, 1), (0, 5, 1), (4, 6, 0.5), (2, 6, -1)]  # fmt: skip
    back, front, weight = zip(*edges, strict=True)
    symbol = ["data"] * 2 + ["relu"] * 3 + ["identical"] * 2
    columns = Columns(symbol, [0, 0, 1.5, -1, 2, 0, 1], back, front, weight)
    x = np.array([[1.0, 2.0]])
    assert PlainNetwork(columns).forward(x, dtype=np.float64).tolist() == [[55 / 16, 35 / 32]]
    hidden = PlainNetwork(columns, outputs=[2, 3, 4])
    assert hidden.forward(x, dtype=np.float64).tolist() == [[1 / 2, 5 / 4, 19 / 16]]


@pytest.mark.parametrize(
    "shape",
    [
        {"neurons": 3000, "data": 100, "degree": 8},
        {"neurons": 3000, "data": 5, "degree": 3, "reach": 4},
        {"neurons": 2000, "data": 30, "degree": 10, "ties": 40},
        {"neurons": 300, "data": 250, "degree": 60},
        {"neurons": 40, "data": 3, "degree": 1},
    ],
)
def test_random_graphs_compute_what_numpy_says(draw_random, by_hand, shape):
    columns = draw_random(7, **shape)
    network = PlainNetwork(columns)
    x = np.random.default_rng(1).standard_normal((37, network.inputs.size))
    expected = by_hand(columns, network, x)
    np.testing.assert_allclose(network.forward(x, dtype=np.float64), expected, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 2**32), st.integers(2, 60), st.integers(0, 6), st.integers(0, 35), st.integers(0, 3))
@settings(deadline=None, max_examples=60)
def test_any_graph_computes_what_numpy_says(draw_random, by_hand, seed, neurons, degree, samples, ties):
    data = 1 + seed % (neurons - 1)
    columns = draw_random(seed, neurons, data, degree, ties=ties)
    network = PlainNetwork(columns)
    x = np.random.default_rng(seed).standard_normal((samples, network.inputs.size))
    expected = by_hand(columns, network, x)
    np.testing.assert_allclose(network.forward(x, dtype=np.float64), expected, rtol=1e-12, atol=1e-12)


def test_a_chain_of_many_levels_is_followed_to_its_end():
    n = 100_000
    network = PlainNetwork(
        Columns(["data"] + ["relu"] * n, np.zeros(n + 1), np.arange(n), np.arange(1, n + 1), np.ones(n))
    )
    assert network.levels == n + 1
    assert network.forward(np.array([[3.0], [-1.0]])).tolist() == [[3.0], [0.0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("symbol", "function"), [("sigmoid", lambda u: 1 / (1 + np.exp(-u))), ("tanh", np.tanh)])
def test_curved_activations_are_exact_to_the_last_digits(symbol, function, dtype):
    network = PlainNetwork(Columns(["data", symbol], [0, 0], [0], [1], [1.0]))
    x = np.concatenate([np.linspace(-30, 30, 4001), np.geomspace(1e-12, 1, 500), -np.geomspace(1e-12, 1, 500)])
    x = x.astype(dtype)[:, None]
    expected = function(x.astype(np.float64))
    np.testing.assert_allclose(network.forward(x, dtype=dtype), expected, rtol=8 * np.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("symbol", "ends"), [("sigmoid", (0, 1)), ("tanh", (-1, 1)), ("relu", (0, 1e4)), ("step", (0, 1))]
)
def test_far_values_reach_the_ends_and_what_is_no_number_stays_so(symbol, ends, dtype):
    network = PlainNetwork(Columns(["data", symbol], [0, 0], [0], [1], [1.0]))
    y = network.forward(np.array([[-1e4], [1e4], [np.nan]]), dtype=dtype)[:, 0]
    np.testing.assert_allclose(y[:2], ends, atol=1e-30)
    assert np.isnan(y[2]) or symbol == "step"


def test_outputs_do_not_depend_on_threads_batches_or_places_in_the_batch(draw_random):
    network = PlainNetwork(draw_random(3, 2000, 50, 20))
    x = np.random.default_rng(0).standard_normal((100, 50))
    whole = network.forward(x, threads=1)
    assert (network.forward(x, threads=3) == whole).all()
    assert (np.concatenate([network.forward(part) for part in np.array_split(x, 7)]) == whole).all()
    assert (network.forward(x[::-1]) == whole[::-1]).all()


@pytest.mark.parametrize("order", ["front", "back", "shuffled"])
def test_contraction_equals_the_kernels(draw_layered, order):
    network = PlainNetwork(draw_layered((7, 9, 5, 3), hidden="tanh", last="sigmoid", order=order))
    assert network.dense is not None
    assert network.dense.sizes == (7, 9, 5, 3)
    x = np.random.default_rng(0).standard_normal((50, 7))
    sparse, dense = (network.forward(x, dtype=np.float64, contract=contract) for contract in (False, True))
    np.testing.assert_allclose(dense, sparse, rtol=1e-12, atol=1e-14)


def test_what_is_not_layered_is_not_contracted(draw_layered):
    drawn = draw_layered((3, 4, 2))
    back, front = drawn.back, drawn.front
    one_less = Columns(drawn.symbol, drawn.bias, back[1:], front[1:], drawn.weight[1:])
    skip = Columns(drawn.symbol, drawn.bias, [*back, 0], [*front, 8], [*drawn.weight, 1.0])
    twice = Columns(drawn.symbol, drawn.bias, [*back[1:], 1], front[[*range(1, back.size), 0]], drawn.weight)
    tied = Columns(drawn.symbol, drawn.bias, back, front, np.ones(back.size), [0, 0, *[-1] * (back.size - 2)])
    mixed = Columns([*drawn.symbol[:4], "tanh", *drawn.symbol[5:]], drawn.bias, back, front, drawn.weight)
    for columns in (one_less, skip, twice, tied, mixed):
        assert PlainNetwork(columns).dense is None
    with pytest.raises(PlainError, match="cannot be contracted"):
        PlainNetwork(skip).forward(np.zeros((1, 3)), contract=True)


def test_samples_and_parameters_that_do_not_fit_are_refused(draw_layered):
    network = PlainNetwork(draw_layered((3, 4, 2)))
    with pytest.raises(PlainError, match=r"x: has the shape \(5, 2\), the network needs \(samples, 3\)"):
        network.forward(np.zeros((5, 2)))
    with pytest.raises(PlainError, match=r"weight: has the shape \(19,\), the network needs \(20,\)"):
        network.forward(np.zeros((5, 3)), weight=np.zeros(19))


def test_a_million_connections_compile_well_under_two_seconds(draw_random):
    columns = draw_random(1, 125_000, 1000, 10)
    PlainNetwork(draw_random(1))
    start = time.thread_time()  # the processor's time: other work on the machine does not count
    network = PlainNetwork(columns)
    assert time.thread_time() - start < 2
    assert network.connections > 950_000


def test_numba_stays_out_until_a_network_is_compiled():
    code = "import sys, inkcap.engine.plain; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_nothing_need_be_written_beside_the_package(tmp_path):
    """Where no cache folder can be written, the kernels compile for this process alone."""
    code = (
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "import numpy as np\n"
        "from inkcap.engine.plain.sorting import count_starts\n"
        "assert count_starts(np.zeros(3, np.int32), 2).tolist() == [0, 3, 3]\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
