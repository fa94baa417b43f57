NAME   FORMAT  TYPE  SHAPE       STORED   DECODED  ENCODING  DIGEST
a      dense   f32   [64, 64]  10.7 KiB  16.0 KiB  zstd      sha256
b      dense   u8    [1000]       275 B    1000 B  zstd      sha256
c      dense   i32   [3000]     3.3 KiB  11.7 KiB  zstd      sha256
neg    dense   u16   [50]         109 B     100 B  zstd      sha256
s      dense   f64   []            17 B       8 B  zstd      sha256
ultra  dense   u16   [500]        894 B    1000 B  zstd      sha256
z      dense   f32   [0]            9 B       0 B  zstd      sha256
7 objects, 7 components, 15.3 KiB stored, 29.8 KiB decoded, zTensor 1.1 (version 1.1.0)
8,647 parameters: 16.0 KiB of f32, 11.7 KiB of i32, 1.1 KiB of u16, 1000 B of u8, 8 B of f64
