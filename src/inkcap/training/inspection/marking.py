"""Where a run finds what on a picture, and where it is: what is laid over the pictures of such runs."""

from inkcap.training.data import Dataset
from inkcap.training.data.marks import LARGEST_MAP, marks_of, true_marks
from inkcap.training.data.placed import INSTANCES
from inkcap.training.facts import CapsuleFacts
from inkcap.training.inspection.looking import Looking
from inkcap.training.inspection.summary import Plain
from inkcap.training.prediction import OutputPrediction


def has_pixels(looking: Looking, output: CapsuleFacts) -> bool:
    """Tell whether an output gives a class for every pixel of a picture."""
    kind = looking.opened.targets[output.name]
    return kind == "classes" and output.class_axis == 1 and len(output.positions) == 2 and output.picture is not None


def places(looking: Looking, output: CapsuleFacts) -> bool:
    """Tell whether an output tells what is where: boxes, masks, or the class of every pixel."""
    return looking.opened.targets[output.name] in ("boxes", "instances") or has_pixels(looking, output)


def laid_over(looking: Looking) -> list[CapsuleFacts]:
    """Give the outputs that are laid over one picture together: the boxes that name the most, and one map."""
    outputs = looking.facts.outputs
    boxes = [output for output in outputs if looking.opened.targets[output.name] == "boxes"]
    maps = [output for output in outputs if output not in boxes and places(looking, output)]
    # Proposals tell objects from background alone; where there are detections, these are meant.
    chosen = [*([max(boxes, key=lambda output: output.scores)] if boxes else []), *maps[:1]]
    return [output for output in outputs if output in chosen]


def together(marks: list[Plain]) -> Plain | None:
    """Lay what several outputs tell over one picture; None where none tells anything."""
    if not marks:
        return None
    boxes = [box for one in marks for box in one["boxes"]]
    pixels = next((one["pixels"] for one in marks if one["pixels"] is not None), None)
    return marks[0] | {"boxes": boxes, "pixels": pixels}


def found_marks(looking: Looking, said: OutputPrediction, sample: int, most: int = LARGEST_MAP) -> Plain | None:
    """Give what an output finds on the picture of a sample; None where it tells no places."""
    output = looking.facts.output(said.name)
    if said.meaning == "detections":
        return marks_of(output.picture or (1, 1), said.classes, said.values[sample])
    if said.meaning == "instances":
        pixels = said.values[sample] // INSTANCES
        return marks_of((pixels.shape[0], pixels.shape[1]), said.classes, pixels=pixels, most=most)
    if said.labels is None or not has_pixels(looking, output):
        return None
    height, width = output.positions
    names = said.classes or tuple(str(number) for number in range(output.classes))
    return marks_of((height, width), names, pixels=said.labels[sample].reshape(height, width), most=most)


def marks_there(
    looking: Looking, part: Dataset, number: int, output: CapsuleFacts, most: int = LARGEST_MAP
) -> Plain | None:
    """Give what the data say of the places that an output is to tell."""
    if not places(looking, output):
        return None
    return true_marks(part, number, (looking.opened.fit.outputs[output.name],), most)
