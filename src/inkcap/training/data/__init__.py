"""Data for training: sources, preparation, augmentation, splitting and the checks before a run."""

from inkcap.training.data.augmentation import Augmentation, prepare_batch
from inkcap.training.data.dataset import Dataset
from inkcap.training.data.download import (
    CIFAR_10,
    FASHION_MNIST,
    MNIST,
    Progress,
    RemoteFile,
    RemoteSet,
    data_folder,
    obtain,
)
from inkcap.training.data.errors import DataError
from inkcap.training.data.idx import read_idx, write_idx
from inkcap.training.data.options import Option, parse_size
from inkcap.training.data.preparation import Preparation
from inkcap.training.data.preview import PartPreview, Preview
from inkcap.training.data.scaling import Scaling
from inkcap.training.data.single import load_one_input
from inkcap.training.data.sources import FORMATS, SOURCES, FileFormat, Source, load, load_named
from inkcap.training.data.splitting import epoch_order, epoch_orders, split
from inkcap.training.data.tables import TableLayout
from inkcap.training.data.validation import Fit, fit_to, validate
from inkcap.training.data.wording import shape_text
from inkcap.training.data.world import Moved, World

__all__ = [
    "CIFAR_10",
    "FASHION_MNIST",
    "FORMATS",
    "MNIST",
    "SOURCES",
    "Augmentation",
    "DataError",
    "Dataset",
    "FileFormat",
    "Fit",
    "Moved",
    "Option",
    "PartPreview",
    "Preparation",
    "Preview",
    "Progress",
    "RemoteFile",
    "RemoteSet",
    "Scaling",
    "Source",
    "TableLayout",
    "World",
    "data_folder",
    "epoch_order",
    "epoch_orders",
    "fit_to",
    "load",
    "load_named",
    "load_one_input",
    "obtain",
    "parse_size",
    "prepare_batch",
    "read_idx",
    "shape_text",
    "split",
    "validate",
    "write_idx",
]
