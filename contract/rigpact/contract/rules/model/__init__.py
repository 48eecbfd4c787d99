"""Rules about an ONNX model: signature, graph, weights, the order in which its inputs are bound."""
