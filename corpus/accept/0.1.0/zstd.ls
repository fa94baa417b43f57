NAME  FORMAT  TYPE  SHAPE       STORED   DECODED  ENCODING  DIGEST
a     dense   f32   [64, 64]  10.7 KiB  16.0 KiB  zstd      crc32c
b     dense   u8    [1000]       275 B    1000 B  zstd      crc32c
z     dense   f32   [0]            9 B       0 B  zstd      crc32c
s     dense   f64   []            17 B       8 B  zstd      crc32c
bool  dense   bool  [100]         18 B     100 B  zstd      crc32c
5 objects, 5 components, 11.0 KiB stored, 17.1 KiB decoded, zTensor 0.1
5,197 parameters: 16.0 KiB of f32, 1000 B of u8, 100 B of bool, 8 B of f64
