"""LeNet as a person draws it: what is typed into the quick box, and how many gestures each way takes."""

TYPED = (
    "2D-data 28x28x1",
    "2D-ReLU kernels=32 kernel=5",
    "2D-maximum window=2",
    "2D-ReLU kernels=64 kernel=5",
    "2D-maximum window=2",
    "1D-identical",
    "1D-ReLU 512",
    "1D-softmax 10",
)
PARAMETERS = "582026"
GESTURES_BY_KEYS = 8
GESTURES_BY_MOUSE = 29
CHARACTERS_BY_MOUSE = 16
