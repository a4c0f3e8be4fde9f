"""Exchange: drawings go out as PyTorch, ONNX and weights, each proven against the drawing."""
