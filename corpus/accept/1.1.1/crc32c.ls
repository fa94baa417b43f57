NAME    FORMAT  TYPE  SHAPE  STORED  DECODED  ENCODING  DIGEST
t_bf16  dense   bf16  [5]      10 B     10 B  raw       crc32c
t_bool  dense   bool  [5]       5 B      5 B  raw       crc32c
t_f16   dense   f16   [5]      10 B     10 B  raw       crc32c
t_f32   dense   f32   [5]      20 B     20 B  raw       crc32c
t_f64   dense   f64   [5]      40 B     40 B  raw       crc32c
t_i16   dense   i16   [5]      10 B     10 B  raw       crc32c
t_i32   dense   i32   [5]      20 B     20 B  raw       crc32c
t_i64   dense   i64   [5]      40 B     40 B  raw       crc32c
t_i8    dense   i8    [5]       5 B      5 B  raw       crc32c
t_u16   dense   u16   [5]      10 B     10 B  raw       crc32c
t_u32   dense   u32   [5]      20 B     20 B  raw       crc32c
t_u64   dense   u64   [5]      40 B     40 B  raw       crc32c
t_u8    dense   u8    [5]       5 B      5 B  raw       crc32c
zs      dense   f32   [5]      29 B     20 B  zstd      crc32c
14 objects, 14 components, 264 B stored, 255 B decoded, zTensor 1.1 (version 1.1.0)
70 parameters: 40 B of f32, 40 B of f64, 40 B of i64, 40 B of u64, 20 B of i32, 20 B of u32, 10 B of bf16, 10 B of f16, 10 B of i16, 10 B of u16, 5 B of bool, 5 B of i8, 5 B of u8
