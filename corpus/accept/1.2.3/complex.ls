NAME        FORMAT  TYPE        SHAPE   STORED  DECODED  ENCODING  DIGEST
c128        dense   complex128  [2, 3]    96 B     96 B  raw       crc32c
c64         dense   complex64   [2, 3]    48 B     48 B  raw       crc32c
c64_scalar  dense   complex64   []         8 B      8 B  raw       crc32c
3 objects, 3 components, 152 B stored, 152 B decoded, zTensor 1.2 (version 1.2.0)
13 parameters: 96 B of complex128, 56 B of complex64
