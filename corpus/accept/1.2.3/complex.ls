NAME        TYPE        SHAPE   STORED
c64         complex64   [2, 3]    48 B
c64_scalar  complex64   []         8 B
c128        complex128  [2, 3]    96 B
3 tensors, 3 components, 152 B, zTensor 1.2 (version 1.2.0)
all dense, raw, crc32c
13 parameters: 96 B of complex128, 56 B of complex64
