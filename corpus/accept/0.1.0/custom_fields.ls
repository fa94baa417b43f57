NAME   TYPE  SHAPE  STORED
c      f32   [2]       8 B
plain  f32   [2]       8 B
2 tensors, 2 components, 16 B, zTensor 0.1
all dense, raw, no digest
4 parameters: 16 B of f32
