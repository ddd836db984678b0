"""Pair losses of arrays of other libraries, against the definition and against NumPy."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from strategies import one_list
from test_objectives import oracle_of

from sklearn_rank._pair_sums import _array_api
from sklearn_rank.objectives import pair_loss_and_gradient

LOSSES = ["exponential", "least_squares", "logistic"]
every_loss = pytest.mark.parametrize("loss", LOSSES)


class Strict:
    """array-api-strict, on a device from which NumPy can't read."""

    def __init__(self):
        self.xp = pytest.importorskip("array_api_strict")
        if np.lib.NumpyVersion(np.__version__) < "2.0.0":
            pytest.skip("array-api-strict needs NumPy 2")
        self.device = self.xp.Device("device1")

    def array(self, values):
        return self.xp.asarray(np.array(values), device=self.device)

    def numpy(self, array):
        assert array.device == self.device
        return np.asarray(array.to_device(self.xp.Device("CPU_DEVICE")))


class Torch:
    """PyTorch on the CPU."""

    def __init__(self):
        self.xp = pytest.importorskip("torch")
        pytest.importorskip("array_api_compat")

    def array(self, values):
        return self.xp.asarray(np.array(values))

    def numpy(self, array):
        return array.numpy()


class TorchOnGpu(Torch):
    """PyTorch on a GPU."""

    def __init__(self):
        super().__init__()
        if not self.xp.cuda.is_available():
            pytest.skip("PyTorch finds no GPU")

    def array(self, values):
        return self.xp.asarray(np.array(values), device="cuda")

    def numpy(self, array):
        assert array.is_cuda
        return array.cpu().numpy()


class CuPy:
    """CuPy, which has no other device than a GPU."""

    def __init__(self):
        self.xp = pytest.importorskip("cupy")
        pytest.importorskip("array_api_compat")
        if not self.xp.is_available():
            pytest.skip("CuPy finds no GPU")

    def array(self, values):
        return self.xp.asarray(np.array(values))

    def numpy(self, array):
        return self.xp.asnumpy(array)


@pytest.fixture(params=[Strict, Torch, TorchOnGpu, CuPy])
def library(request):
    return request.param()


def sample(n=2000, spread=1.0, seed=0):
    """Return y, f, w of which a few weights are zero and some scores are ties."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    f = np.round(rng.normal(y, 1.0, n), 2) * spread
    return y, f, rng.integers(0, 5, n) / 2


def agrees(library, found, expected, total):
    """Check values and gradients to 1e-10 of the total pair weight, or of the sum if larger."""
    allowed = 1e-10 * max(total, expected[0])
    assert isinstance(found[0], float)
    assert found[1].dtype == library.xp.float64
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=allowed)
    np.testing.assert_allclose(library.numpy(found[1]), expected[1], rtol=0, atol=allowed)


def pair_weight(y, w):
    return w[y == y.max()].sum() * w[y == y.min()].sum()


@every_loss
@given(problem=st.one_of(one_list(), one_list(spread=30.0)), scale=st.sampled_from([1, 7]))
def test_the_sums_are_those_of_the_definition(loss, problem, scale):
    strict, f = Strict(), problem.f * scale
    w = np.ones(len(f)) if problem.w is None else problem.w
    options = (*oracle_of(problem), loss)
    expected = oracles.pair_sum(f, *options), oracles.pair_sum_gradient(f, *options)
    weight = None if problem.w is None else strict.array(w)
    y = strict.array(problem.y)
    found = pair_loss_and_gradient(y, strict.array(f), loss=loss, sample_weight=weight)
    agrees(strict, found, expected, pair_weight(problem.y, w))


@every_loss
@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_many_rows_are_as_with_numpy(loss, spread, library):
    y, f, w = sample(spread=spread)
    expected = pair_loss_and_gradient(y, f, loss=loss, sample_weight=w)
    found = pair_loss_and_gradient(
        library.array(y), library.array(f), loss=loss, sample_weight=library.array(w)
    )
    agrees(library, found, expected, pair_weight(y, w))


@every_loss
def test_only_differences_of_scores_count(loss, library):
    y, f, _ = sample(200)
    f = np.round(f * 128) / 128  # of which 2^40 more is a float too
    expected = pair_loss_and_gradient(y, f, loss=loss)
    found = pair_loss_and_gradient(y, library.array(f + 2.0**40), loss=loss)
    agrees(library, found, expected, pair_weight(y, np.ones(200)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_stretches_without_rows_are_shortened(sign, library):
    """Rows 100 apart on average, and two far out: most of 1e12 intervals would be empty."""
    y, f, w = sample(500)
    f = np.where(np.arange(500) < 2, 1e11 * f, sign * 5e4 * f)
    expected = pair_loss_and_gradient(y, f, sample_weight=w)
    found = pair_loss_and_gradient(library.array(y), library.array(f), sample_weight=w)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    total = pair_weight(y, w)
    np.testing.assert_allclose(library.numpy(found[1]), expected[1], rtol=0, atol=1e-10 * total)


@every_loss
def test_other_arguments_are_as_for_numpy(loss, library):
    y, f, w = sample(50)
    expected = pair_loss_and_gradient(y, f, loss=loss)
    scores = library.array(f.astype(np.float32))
    w.flags.writeable = False
    for relevance in (y, y.tolist(), library.array(y.astype(np.int64))):
        for weight, scale in ((None, 1), (2, 4), (np.ones(50), 1), (library.array(y * 0 + 2), 4)):
            value, gradient = pair_loss_and_gradient(
                relevance, scores, loss=loss, sample_weight=weight
            )
            assert value == pytest.approx(scale * expected[0], rel=1e-6)  # the scores' digits
            np.testing.assert_allclose(
                library.numpy(gradient), scale * expected[1], rtol=1e-5, atol=1e-4
            )
    pair_loss_and_gradient(y, scores, loss=loss, sample_weight=w)  # memory not to write to


@every_loss
def test_weightless_rows_and_rows_without_pairs_count_nothing(library, loss):
    scores = library.array([0.0, 1.0, -1e200])
    found = pair_loss_and_gradient([0, 1, 5], scores, loss=loss, sample_weight=[1, 1, 0])
    expected = pair_loss_and_gradient([0, 1], [0.0, 1.0], loss=loss)
    assert found[0] == pytest.approx(expected[0], abs=1e-12)
    gradient = library.numpy(found[1])
    np.testing.assert_allclose(gradient, [*expected[1], 0.0], rtol=0, atol=1e-12)
    value, gradient = pair_loss_and_gradient([1, 1, 1], scores, loss=loss)
    assert (value, library.numpy(gradient).tolist()) == (0.0, [0.0, 0.0, 0.0])


def test_rounding_changes_no_sign(library):
    y, f, _ = sample()
    value, gradient = pair_loss_and_gradient(y, library.array(f + 1e3 * y))
    gradient = library.numpy(gradient)
    assert 0.0 <= value <= 1e-10 * y.sum() * (~y).sum()
    assert gradient[y].max() <= 0.0 <= gradient[~y].min()


def test_an_exponential_that_overflows_is_infinite(library):
    value, gradient = pair_loss_and_gradient(
        [1, 0, 0], library.array([-2000.0, 0.0, -2000.0]), loss="exponential"
    )
    assert value == np.inf
    np.testing.assert_allclose(library.numpy(gradient), [-np.inf, np.inf, 1.0])


def test_a_tensor_that_requires_a_gradient_is_trained():
    torch = Torch().xp
    y, x, _ = sample(200)
    slope = torch.tensor(0.5, requires_grad=True)
    scores = slope * torch.asarray(x, dtype=torch.float32)
    value, gradient = pair_loss_and_gradient(y, scores)
    assert not gradient.requires_grad
    scores.backward(gradient.to(scores.dtype))
    step = 1e-3
    ahead, behind = (pair_loss_and_gradient(y, s * x)[0] for s in (0.5 + step, 0.5 - step))
    assert value == pytest.approx(pair_loss_and_gradient(y, 0.5 * x)[0], rel=1e-6)
    assert float(slope.grad) == pytest.approx((ahead - behind) / (2 * step), rel=1e-4)


TWO = [0, 1, 1]


@pytest.mark.parametrize(
    ("message", "y", "f", "options"),
    [
        ("loss='hinge', which needs scores as a NumPy array", TWO, [0.0, 1, 2], {"loss": "hinge"}),
        ("'exponential', .* 'logistic' of one list .* a qid", TWO, [0.0, 1, 2], {"qid": TWO}),
        ("two levels of relevance. Got more levels", [0, 1, 2], [0.0, 1, 2], {}),
        ("y_score contains NaN", TWO, [0.0, np.nan, 2], {}),
        ("y_score must be a 1d array of numbers. .* shape", TWO, [[0.0, 1, 2]], {}),
        ("y_score must be a 1d array of numbers. .* type .*complex", TWO, [0j, 1, 2], {}),
        ("y_score is empty", [], [], {}),
        ("y_true has 2, y_score has 3", [0, 1], [0.0, 1, 2], {}),
        ("y_true must hold numbers", ["a", "b", "c"], [0.0, 1, 2], {}),
        ("sample_weight must have shape", TWO, [0.0, 1, 2], {"sample_weight": [1, 2]}),
        ("sample_weight must not be negative", TWO, [0.0, 1, 2], {"sample_weight": [1, 2, -1]}),
        ("at most 1.1259e.15 .* Got scores from 0 to 1e.16", TWO, [0.0, 1, 1e16], {}),
        ("span at most 131072, .* to 200000", None, np.arange(0, 200_001, 20.0), {}),
    ],
)
def test_errors_say_what_is_allowed(message, y, f, options, library):
    y = np.arange(len(f)) % 2 if y is None else y
    with pytest.raises(ValueError, match=message):
        pair_loss_and_gradient(y, library.array(f), **options)


def test_errors_of_arrays_of_the_library(library):
    scores = library.array([0.0, 1.0, 2.0])
    for message, weight in (
        ("must be 0 or between .* and 1e.300", [1.0, -1.0, 0.0]),
        ("all weights are zero", [0.0, 0.0, 0.0]),
        ("sample_weight has 2, y_score has 3", [1.0, 1.0]),
    ):
        with pytest.raises(ValueError, match=message):
            pair_loss_and_gradient(TWO, scores, sample_weight=library.array(weight))
    with pytest.raises(ValueError, match="y_true contains NaN"):
        pair_loss_and_gradient(library.array([0.0, 1.0, np.nan]), scores)


def test_arrays_of_two_devices_are_refused():
    strict = Strict()
    elsewhere = strict.xp.asarray([0, 1, 1])
    message = "y_true must be a NumPy array, or .* on its device. Got one of array_api_strict on"
    with pytest.raises(ValueError, match=message):
        pair_loss_and_gradient(elsewhere, strict.array([0.0, 1.0, 2.0]))


def test_a_tensor_without_the_extra_says_which_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    tensor = type("Tensor", (), {"__module__": "torch"})()
    with pytest.raises(ImportError, match=r'of torch needs array_api_compat.*rank\[array-api\]"'):
        pair_loss_and_gradient(TWO, tensor)


@every_loss
def test_numpy_stays_on_its_path(loss, monkeypatch):
    monkeypatch.setattr(_array_api, "library_loss_and_gradient", None)
    for scores in ([0.0, 1.0, 2.0], np.arange(3), np.arange(3.0).astype(object)):
        assert type(pair_loss_and_gradient(TWO, scores, loss=loss)[1]) is np.ndarray
