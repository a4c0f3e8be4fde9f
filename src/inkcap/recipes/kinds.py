"""The kinds of losses, optimisers and schedules, each with its options, their defaults and their ranges."""

from collections.abc import Mapping
from dataclasses import dataclass

from inkcap.recipes.errors import RecipeError
from inkcap.recipes.fields import Field, show


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: its name, one line of help, its options and, for an optimiser, its usual learning rate."""

    name: str
    help: str
    options: tuple[Field, ...] = ()
    usual_rate: float = 0.0


def _number(name: str, default: float, help: str, **limits: float) -> Field:
    return Field(name, "number", default, help, **limits)  # pyright: ignore[reportArgumentType]


def _table(*kinds: Kind) -> Mapping[str, Kind]:
    return {kind.name: kind for kind in kinds}


_BOXES = (
    _number("positive", 0.5, "IoU from which a candidate finds a box", above=0, most=1),
    _number("negative", 0.5, "IoU under which it is background; between both it does not count", least=0, most=1),
    Field("best", "flag", True, "whether each box is found by the candidate that overlaps it most, however little"),
    _number(
        "negatives", 3.0, "background candidates for each that finds a box, the most mistaken ones", least=0, most=1e6
    ),
    Field(
        "sampled",
        "whole",
        0,
        "candidates of a picture that count, drawn at random; 0 = by negatives",
        least=0,
        most=10**6,
    ),
    _number("share", 0.25, "largest share of those drawn that find a box", above=0, most=1),
    _number("offsets", 1.0, "weight of the offsets against the classes", least=0, most=1e6),
    _number("edge", 1.0, "difference of offsets up to which it is squared", above=0, most=1e9),
)

LOSSES = _table(
    Kind(
        "cross-entropy",
        "one class of many; computed from the total input of a softmax capsule, else the output is taken as logits",
        (_number("label_smoothing", 0.0, "share of the target spread over all classes", least=0, below=1),),
    ),
    Kind("mean-squared-error", "numbers, or one-hot targets, by the mean of the squared differences"),
    Kind(
        "binary-cross-entropy",
        "yes or no for each neuron; computed from the total input of a sigmoid capsule, else the output is logits",
    ),
    Kind(
        "margin",
        "lengths of capsules pushed above an upper and below a lower margin",
        (
            _number("upper", 0.9, "length that the right class has to reach", above=0, most=1),
            _number("lower", 0.1, "length that a wrong class has to stay under", least=0, below=1),
            _number("share", 0.5, "weight of the wrong classes", least=0, most=10),
        ),
    ),
    Kind(
        "spread",
        "the activation of the right class pushed above that of every other class by a margin",
        (_number("margin", 0.9, "lead that the right class has to have", above=0, most=1),),
    ),
    Kind(
        "huber",
        "numbers, by half the squared difference up to an edge and by the difference beyond; what is NaN is not asked",
        (_number("edge", 1.0, "difference up to which it is squared", above=0, most=1e9),),
    ),
    Kind(
        "triplet",
        "samples of one class brought nearer to each other than to those of any other class, by triplets of the batch",
        (
            _number("margin", 0.2, "how much farther another class has to be, in squared distance", above=0, most=4),
            Field(
                "mining",
                "choice",
                "semi-hard",
                "which sample of another class: the nearest beyond the one of its own class, or the nearest of all",
                choices=("semi-hard", "hard"),
            ),
        ),
    ),
    Kind("boxes", "the candidates of a selection matched with the boxes that are there: class and offsets", _BOXES),
    Kind(
        "yolo",
        "boxes and classes of a grid of cells by sums of squares; a cell has x, y, √w, √h, confidence of each box, "
        "then a number for each class",
        (
            Field("boxes", "whole", 2, "boxes of a cell", least=1, most=100),
            Field("cells", "whole", 7, "cells along each side, where the output is a vector", least=1, most=1000),
            _number("coordinates", 5.0, "weight of the boxes' places and sizes", least=0, most=1e6),
            _number("nothing", 0.5, "weight of the confidences of boxes that find nothing", least=0, most=1e6),
        ),
    ),
    Kind(
        "masks",
        "rows of items, bins×bins logits for each class, label, score, box, against the instances that boxes match",
        (
            Field("bins", "whole", 14, "bins of a mask along each side", least=1, most=1000),
            _number("positive", 0.5, "IoU from which a box matches an instance", above=0, most=1),
        ),
    ),
)

_DECAY = _number("weight_decay", 0.0, "pull of the weights towards zero", least=0, most=10)
_MOMENTUM = _number("momentum", 0.9, "share of the last step kept in the next", least=0, below=1)
_BETAS = (
    _number("beta1", 0.9, "memory of the mean gradient", least=0, below=1),
    _number("beta2", 0.999, "memory of the mean squared gradient", least=0, below=1),
)


def _eps(default: float) -> Field:
    return _number("eps", default, "small number that keeps a division finite", above=0, most=1)


OPTIMISERS = _table(
    Kind("sgd", "plain stochastic gradient descent", (_DECAY,), 0.01),
    Kind("momentum", "gradient descent with momentum", (_MOMENTUM, _DECAY), 0.01),
    Kind("nesterov", "gradient descent with Nesterov's momentum", (_MOMENTUM, _DECAY), 0.01),
    Kind(
        "adagrad",
        "rates that shrink with the sum of the squared gradients",
        (_number("rate_decay", 0.0, "decay of the rate with each step", least=0, most=1), _eps(1e-10), _DECAY),
        0.01,
    ),
    Kind(
        "adadelta",
        "steps in the units of the weights",
        (_number("rho", 0.9, "memory of the squared gradients", least=0, below=1), _eps(1e-6), _DECAY),
        1.0,
    ),
    Kind(
        "rmsprop",
        "rates divided by a running mean of the gradients",
        (
            _number("alpha", 0.99, "memory of the squared gradients", least=0, below=1),
            _number("momentum", 0.0, "share of the last step kept in the next", least=0, below=1),
            Field("centred", "flag", False, "subtract the mean gradient before it is squared"),
            _eps(1e-8),
            _DECAY,
        ),
        0.001,
    ),
    Kind("adam", "adaptive moments", (*_BETAS, _eps(1e-8), _DECAY), 0.001),
    Kind("adamax", "Adam with the largest gradient in place of the mean square", (*_BETAS, _eps(1e-8), _DECAY), 0.002),
    Kind(
        "nadam",
        "Adam with Nesterov's momentum",
        (*_BETAS, _number("momentum_decay", 0.004, "decay of the momentum", least=0, most=1), _eps(1e-8), _DECAY),
        0.002,
    ),
    Kind("amsgrad", "Adam whose rates never grow again", (*_BETAS, _eps(1e-8), _DECAY), 0.001),
    Kind(
        "adamw",
        "Adam with weight decay apart from the gradient",
        (
            *_BETAS,
            _eps(1e-8),
            _number("weight_decay", 0.01, "pull of the weights towards zero", least=0, most=10),
        ),
        0.001,
    ),
)

_WARM_UP = _number(
    "warm_up", 0.0, "epochs over which the rate rises in a line from nothing; 0 = off", least=0, most=1e6
)

SCHEDULES = _table(
    Kind("constant", "the same rate throughout", (_WARM_UP,)),
    Kind(
        "step",
        "the rate times a factor each few epochs",
        (
            Field("every", "whole", 10, "epochs between two falls", least=1, most=1_000_000),
            _number("factor", 0.1, "factor of each fall", above=0, most=1),
            _WARM_UP,
        ),
    ),
    Kind(
        "exponential",
        "the rate times a factor after each epoch",
        (_number("factor", 0.95, "factor of each epoch", above=0, most=1), _WARM_UP),
    ),
    Kind(
        "cosine",
        "half a cosine from the rate down to a floor over the whole run",
        (_number("floor", 0.0, "share of the rate left at the end", least=0, most=1), _WARM_UP),
    ),
    Kind(
        "plateau",
        "the rate times a factor when the monitored value has stopped getting better",
        (
            Field("patience", "whole", 5, "epochs to wait for something better", least=0, most=1_000_000),
            _number("factor", 0.5, "factor of each fall", above=0, below=1),
            _number("threshold", 1e-4, "share of the value by which it has to get better", least=0, below=1),
            _number("floor", 0.0, "share of the rate that it never falls under", least=0, most=1),
            _WARM_UP,
        ),
    ),
    Kind(
        "one-cycle",
        "up from a small rate to the full one and down to almost nothing",
        (
            _number("rise", 0.3, "share of the run in which the rate rises", above=0, below=1),
            _number("start", 0.04, "share of the rate at the start", above=0, most=1),
            _number("end", 4e-6, "share of the rate at the end", above=0, most=1),
            _WARM_UP,
        ),
    ),
)


def kind_of(table: Mapping[str, Kind], name: object, place: str, noun: str) -> Kind:
    """Give the kind of that name, or a RecipeError that lists the ones there are."""
    if not isinstance(name, str) or name not in table:
        raise RecipeError(f"{place}: there is no {noun} {show(name)}; give one of {', '.join(table)}.")
    return table[name]
