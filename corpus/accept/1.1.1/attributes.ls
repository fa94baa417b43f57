"" = ""
framework = "PyTorch"
license = "Apache-2.0"
名 = "値"

NAME  TYPE  SHAPE  STORED
t     f32   [2]       8 B
1 tensor, 1 component, 8 B, zTensor 1.1 (version 1.1.0)
all dense, raw, no digest
2 parameters: 8 B of f32
