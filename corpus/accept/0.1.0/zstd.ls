NAME  TYPE  SHAPE       STORED   DECODED
a     f32   [64, 64]  10.7 KiB  16.0 KiB
b     u8    [1000]       275 B    1000 B
bool  bool  [100]         18 B     100 B
s     f64   []            17 B       8 B
z     f32   [0]            9 B       0 B
5 tensors, 5 components, 11.0 KiB stored, 17.1 KiB decoded, zTensor 0.1
all dense, zstd, crc32c
5,197 parameters: 16.0 KiB of f32, 1000 B of u8, 100 B of bool, 8 B of f64
