"""What networks drawn to be trained come to in the studio, by the hands of a person: held-out pictures, two cores."""

import pytest
from hands import train_in_studio

MANY = {"n": 2000}
SMALL = {"batch": 16, "epochs": 12, "rate": 0.003}
CASES = [
    ("ssd_narrow", "shapes", MANY, "one-cycle", SMALL | {"rate": 0.004, "augment": "flip=both"}, "val_map", 0.5),
    ("faster_rcnn_narrow", "shapes", MANY, "one-cycle", SMALL, "val_map", 0.5),
    ("mask_rcnn_narrow", "shapes", MANY, "one-cycle", SMALL, "val_mean_iou", 0.7),
    ("fcn_narrow", "shapes", MANY, "one-cycle", SMALL | {"rate": 0.01, "augment": "flip=both"}, "val_mean_iou", 0.7),
    ("facenet_narrow", "digits", {}, "", {"batch": 64, "epochs": 12, "resize": "32x32"}, "val_retrieval", 0.95),
    ("dqn_small", "grid-world", {}, "cosine", {"epochs": 20}, "val_solved", 0.9),
]


@pytest.mark.soak
@pytest.mark.parametrize(("zoo", "data", "options", "schedule", "recipe", "measure", "least"), CASES)
def test_it_learns(page, zoo, data, options, schedule, recipe, measure, least):
    run = train_in_studio(page, zoo, data, options, schedule, **recipe)
    found = page.evaluate("async (run) => (await (await fetch(`/api/runs/${run}`)).json()).values", run)
    print(zoo, found)
    assert found[measure] >= least
