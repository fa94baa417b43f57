NAME    FORMAT  TYPE  SHAPE   STORED  DECODED  ENCODING  DIGEST
z0      dense   f32   [0]        0 B      0 B  raw       sha256
z1      dense   f32   [0, 3]     0 B      0 B  raw       sha256
z2      dense   f32   [2, 0]     0 B      0 B  raw       sha256
zafter  dense   i16   [3]        6 B      6 B  raw       -
zzlast  dense   f64   [0]        0 B      0 B  raw       crc32c
5 objects, 5 components, 6 B stored, 6 B decoded, zTensor 1.2 (version 1.2.0)
3 parameters: 6 B of i16, 0 B of f32, 0 B of f64
