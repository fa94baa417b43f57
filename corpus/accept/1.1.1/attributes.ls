"" = ""
framework = "PyTorch"
license = "Apache-2.0"
名 = "値"

NAME  FORMAT  TYPE  SHAPE  STORED  DECODED  ENCODING  DIGEST
t     dense   f32   [2]       8 B      8 B  raw       -
1 object, 1 component, 8 B stored, 8 B decoded, zTensor 1.1 (version 1.1.0)
2 parameters: 8 B of f32
