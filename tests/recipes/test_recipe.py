"""Recipes check themselves, say where they are wrong, and go to JSON and back unchanged."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.recipes import (
    LOSSES,
    OPTIMISERS,
    SCHEDULES,
    DataSpec,
    LossSpec,
    OptimiserSpec,
    Recipe,
    RecipeError,
    ScheduleSpec,
    complete_losses,
    complete_pace,
    declared_fields,
    monitored,
    recipe_from_text,
    recipe_schema,
    recipe_to_json,
    recipe_to_text,
)
from inkcap.recipes.fields import Field
from inkcap.recipes.measures import MEASURES, best_of, more_is_better, value_text

DIGITS = DataSpec("digits")


def _values(field: Field) -> st.SearchStrategy[object]:
    if field.kind == "flag":
        return st.booleans()
    if field.kind == "choice":
        return st.sampled_from(field.choices)
    if field.kind == "texts":
        return st.lists(_texts().filter(bool), max_size=3).map(tuple)
    if field.kind == "text":
        return (st.none() | _texts()) if field.optional else _texts()
    low = field.least if field.least is not None else field.above
    high = field.most if field.most is not None else field.below
    assert low is not None
    assert high is not None
    if field.kind == "whole":
        return st.integers(int(low), int(high))
    return st.floats(low, high, exclude_min=field.above is not None, exclude_max=field.below is not None)


def _texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)


def _options(kind: str, table: object) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({}, optional={f.name: _values(f) for f in table[kind].options})  # type: ignore[index]


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    scalars = st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | _texts()
    data = DataSpec(draw(_texts().filter(bool)), draw(st.dictionaries(_texts().filter(bool), scalars, max_size=3)))
    losses = []
    for output in draw(st.lists(_texts().filter(bool), max_size=3, unique=True)):
        kind = draw(st.sampled_from(list(LOSSES)))
        weight = draw(st.floats(0.1, 1e9))
        losses.append(LossSpec(output, kind, weight, draw(_options(kind, LOSSES))))
    optimiser, schedule = draw(st.sampled_from(list(OPTIMISERS))), draw(st.sampled_from(list(SCHEDULES)))
    return Recipe(
        data,
        tuple(losses),
        OptimiserSpec(optimiser, draw(st.floats(0, 1e3)), draw(_options(optimiser, OPTIMISERS))),
        ScheduleSpec(schedule, draw(_options(schedule, SCHEDULES))),
        **{field.name: draw(_values(field)) for field in declared_fields(Recipe) if field.name not in _TOGETHER[0]},
        **draw(st.sampled_from(_TOGETHER)),
    )


_TOGETHER: list[dict[str, str]] = [
    {"engine": "auto", "switch_engine": "", "precision": "bfloat16"},
    {"engine": "eager", "switch_engine": "", "precision": "float16"},
    {"engine": "auto", "switch_engine": "compiled@500", "precision": "as-drawn"},
    {"engine": "explicit", "switch_engine": "eager@1", "precision": "as-drawn"},
    {"engine": "plain", "switch_engine": "", "precision": "as-drawn"},
]
"""Fields that are possible together, or not."""


CHECKER = jsonschema.Draft202012Validator(recipe_schema())


@settings(max_examples=60, deadline=None)
@given(recipes())
def test_a_recipe_comes_back_from_json_as_it_was(recipe: Recipe) -> None:
    assert recipe_from_text(recipe_to_text(recipe)) == recipe
    CHECKER.validate(recipe_to_json(recipe))


def test_the_schema_is_itself_valid_and_refuses_what_validation_refuses() -> None:
    schema = recipe_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    plain = recipe_to_json(Recipe(DIGITS))
    assert checker.is_valid({"format": "inkcap-recipe", "version": 1, "data": {"name": "digits"}})
    wrongs = (
        {"batch": 0},
        {"batch": 1.5},
        {"epochs": True},
        {"validation": 1},
        {"extra": 1},
        {"optimiser": {"kind": "adam", "options": {"momentum": 0.9}}},
        {"optimiser": {"kind": "momentum", "options": {"momentum": 1.0}}},
        {"schedule": {"kind": "slow"}},
        {"data": {"name": ""}},
        {"device": "tpu"},
    )
    for wrong in wrongs:
        assert not checker.is_valid(plain | wrong), wrong
        with pytest.raises(RecipeError):
            recipe_from_text(json.dumps(plain | wrong))


def test_defaults_work_and_options_are_written_out() -> None:
    recipe = Recipe(DIGITS)
    assert (recipe.batch, recipe.validation) == (64, 0.2)
    large = complete_pace(recipe, parameters=582_026, samples=60_000)
    assert (large.optimiser.kind, large.optimiser.rate, large.epochs) == ("adam", 1e-3, 20)
    small = complete_pace(recipe, parameters=56, samples=800)
    assert (small.optimiser.rate, small.epochs) == (0.01, 116)
    given = replace(recipe, optimiser=OptimiserSpec("sgd", 0.3), epochs=7)
    assert complete_pace(given, 56, 800) == given
    assert recipe.optimiser.options["beta2"] == 0.999
    adadelta = replace(recipe, optimiser=OptimiserSpec("adadelta"))
    assert complete_pace(adadelta, 56, 800).optimiser.rate == 1.0
    assert OptimiserSpec("adam", 0.5) == OptimiserSpec("adam", 0.5, {"beta1": 0.9})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: DataSpec(""), ["data.name"]),
        (lambda: DataSpec("x", {"a": float("nan")}), ["data.options.a", "finite"]),
        (lambda: DataSpec("x", {"a": [1]}), ["data.options.a", "plain value"]),
        (lambda: DataSpec("a\0b"), ["data.name", "NUL"]),
        (lambda: DataSpec("\ud800"), ["data.name", "surrogate"]),
        (lambda: OptimiserSpec("adamm"), ["optimiser.kind", "adamm", "adamw"]),
        (lambda: OptimiserSpec("sgd", -1), ["optimiser.rate", "-1", "from 0 to 1000"]),
        (lambda: OptimiserSpec("sgd", float("inf")), ["optimiser.rate", "inf"]),
        (lambda: OptimiserSpec("sgd", 10**400), ["optimiser.rate"]),
        (lambda: OptimiserSpec("sgd", 0.1, {"momentum": 0.9}), ["sgd", "momentum", "weight_decay"]),
        (lambda: LossSpec("h", "hinge"), ["losses['h'].kind", "hinge", "margin"]),
        (lambda: Recipe(DIGITS, batch=0), ["recipe.batch", "0", "from 1"]),
        (lambda: Recipe(DIGITS, batch=2.0), ["recipe.batch", "2.0"]),  # type: ignore[arg-type]
        (lambda: Recipe(DIGITS, seed=True), ["recipe.seed", "True"]),
        (lambda: Recipe(DIGITS, validation=1.0), ["recipe.validation", "below 1"]),
        (lambda: Recipe(DIGITS, freeze="a*"), ["recipe.freeze"]),  # type: ignore[arg-type]
        (lambda: Recipe(DIGITS, freeze=("",)), ["recipe.freeze[0]"]),
        (lambda: Recipe("digits"), ["data", "digits"]),  # type: ignore[arg-type]
        (lambda: Recipe(DIGITS, losses=(LossSpec("h"), LossSpec("h"))), ["'h'", "2 losses"]),
        (lambda: Recipe(DIGITS, losses=(LossSpec("h", weight=0),)), ["every weight is 0"]),
    ],
)
def test_a_mistake_is_named_with_its_place(make: object, words: list[str]) -> None:
    with pytest.raises(RecipeError) as caught:
        make()  # type: ignore[operator]
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", ["line 1", "column 2"]),
        ("[]", ["not an object"]),
        ('{"format": "inkcap-recipe", "version": 3, "data": {"name": "d"}}', ["version 3"]),
        ('{"format": "inkcap-recipe", "version": true, "data": {"name": "d"}}', ["version True"]),
        ('{"format": "other", "version": 1, "data": {"name": "d"}}', ["'other'"]),
        ('{"format": "inkcap-recipe", "version": 1}', ["'data' is missing"]),
        ('{"format": "inkcap-recipe", "version": 1, "data": {"name": "d"}, "clip": NaN}', ["NaN"]),
        ('{"format": "inkcap-recipe", "version": 1, "data": {"name": "d"}, "clip": 1e999}', ["clip", "too large"]),
        ('{"format": "inkcap-recipe", "version": 1, "version": 1, "data": {"name": "d"}}', ["'version'", "twice"]),
        ('{"format": "inkcap-recipe", "version": 1, "data": {"nam": "d"}}', ["data", "'nam'", "name"]),
        ('{"format": "inkcap-recipe", "version": 1, "data": {"name": "d"}, "losses": {}}', ["losses", "list"]),
        ("[" * 100_000, ["deep"]),
        ("1" * 5000, ["larger than 2^53"]),
    ],
)
def test_strict_json_says_where(text: str, words: list[str]) -> None:
    with pytest.raises(RecipeError) as caught:
        recipe_from_text(text, "recipe.json")
    for word in ("recipe", *words):
        assert word in str(caught.value)


def test_losses_are_chosen_from_the_targets() -> None:
    targets = {"h": "classes", "r": "numbers", "b": "bits"}
    kinds = {loss.output: loss.kind for loss in complete_losses(Recipe(DIGITS), targets).losses}
    assert kinds == {"h": "cross-entropy", "r": "mean-squared-error", "b": "binary-cross-entropy"}
    one = complete_losses(Recipe(DIGITS, losses=(LossSpec(kind="margin"),)), {"h": "classes"})
    assert one.losses == (LossSpec("h", "margin"),)
    with pytest.raises(RecipeError, match=r"no output 'q'.*h, r"):
        complete_losses(Recipe(DIGITS, losses=(LossSpec("q"),)), targets)
    with pytest.raises(RecipeError, match="no loss for r, b"):
        complete_losses(Recipe(DIGITS, losses=(LossSpec("h"),)), targets)
    with pytest.raises(RecipeError, match="3 outputs"):
        complete_losses(Recipe(DIGITS, losses=(LossSpec(),)), targets)


def test_the_monitored_value_has_to_exist() -> None:
    assert monitored(Recipe(DIGITS), ["accuracy"]) == "loss"
    assert monitored(Recipe(DIGITS, monitor="accuracy"), ["accuracy", "mean_iou"]) == "accuracy"
    with pytest.raises(RecipeError, match=r"accuracy .*right classes.* is not measured .*; give loss or mae"):
        monitored(Recipe(DIGITS, monitor="accuracy"), ["mae"])
    with pytest.raises(RecipeError, match="absolute"):
        monitored(Recipe(DIGITS, monitor="mae"), ["accuracy"])


def test_every_measure_is_named_shown_and_compared_by_one_table() -> None:
    assert value_text("val_accuracy", 0.5) == "validation accuracy 50.00 %"
    assert value_text("val_mean_iou.m", 0.25, ".4g") == "validation mean IoU.m 25.00 %"
    assert value_text("mae", 0.25, ".4g") == "mae 0.25"
    assert value_text("val_reward", 0.25) == "validation reward 0.2500"
    assert value_text("val_loss", 1.0) == "validation loss 1.0000"
    assert [name for name in ("loss", "rate", *MEASURES) if more_is_better(f"val_{name}")] == [
        "accuracy", "mean_iou", "map", "recall", "retrieval", "solved", "reward",
    ]  # fmt: skip
    assert best_of(["mae", "map", "loss"]) == "map"
    assert best_of(["loss"]) == ""


def test_fields_read_what_is_typed_and_help_shows_range_and_default() -> None:
    fields = {field.name: field for field in declared_fields(Recipe)}
    assert fields["batch"].from_text("32", "--batch") == 32
    assert fields["freeze"].from_text("a*, b", "--freeze") == ("a*", "b")
    with pytest.raises(RecipeError, match=r"--batch: 'x'.*whole number from 1"):
        fields["batch"].from_text("x", "--batch")
    for field in fields.values():
        assert field.help
        assert field.help in field.help_text()
    assert "default 64" in fields["batch"].help_text()
    centred = next(option for option in OPTIMISERS["rmsprop"].options if option.name == "centred")
    assert centred.from_text("yes", "centred") is True
    with pytest.raises(RecipeError, match="true or false"):
        centred.from_text("maybe", "centred")


def test_recipes_need_neither_torch_nor_numpy() -> None:
    code = "import inkcap.recipes, sys; print([m for m in ('torch', 'numpy', 'safetensors') if m in sys.modules])"
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": source})
    assert done.stdout.strip() == "[]", done.stderr
