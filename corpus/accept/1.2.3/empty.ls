0 tensors, 0 components, 0 B, zTensor 1.2 (version 1.2.0)
