NAME    TYPE  SHAPE   STORED  DIGEST
z0      f32   [0]        0 B  sha256
z1      f32   [0, 3]     0 B  sha256
z2      f32   [2, 0]     0 B  sha256
zafter  i16   [3]        6 B  -
zzlast  f64   [0]        0 B  crc32c
5 tensors, 5 components, 6 B, zTensor 1.1 (version 1.1.0)
all dense, raw
3 parameters: 6 B of i16, 0 B of f32, 0 B of f64
