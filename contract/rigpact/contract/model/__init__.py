"""An ONNX model as a file: its inputs and outputs, its nodes and weights, the orders an engine accepts."""
