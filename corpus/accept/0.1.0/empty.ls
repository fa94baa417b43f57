0 tensors, 0 components, 0 B, zTensor 0.1
