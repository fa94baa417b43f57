NAME   TYPE  SHAPE       STORED   DECODED
a      f32   [64, 64]  10.7 KiB  16.0 KiB
b      u8    [1000]       275 B    1000 B
c      i32   [3000]     3.3 KiB  11.7 KiB
neg    u16   [50]         109 B     100 B
s      f64   []            17 B       8 B
ultra  u16   [500]        894 B    1000 B
z      f32   [0]            9 B       0 B
7 tensors, 7 components, 15.3 KiB stored, 29.8 KiB decoded,
  zTensor 1.2 (version 1.2.0)
all dense, zstd, sha256
8,647 parameters: 16.0 KiB of f32, 11.7 KiB of i32, 1.1 KiB of u16,
  1000 B of u8, 8 B of f64
