0 objects, 0 components, 0 B stored, 0 B decoded, zTensor 0.1
