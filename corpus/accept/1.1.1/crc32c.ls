NAME    TYPE  SHAPE  STORED  DECODED  ENCODING
t_bf16  bf16  [5]      10 B     10 B  raw
t_bool  bool  [5]       5 B      5 B  raw
t_f16   f16   [5]      10 B     10 B  raw
t_f32   f32   [5]      20 B     20 B  raw
t_f64   f64   [5]      40 B     40 B  raw
t_i8    i8    [5]       5 B      5 B  raw
t_i16   i16   [5]      10 B     10 B  raw
t_i32   i32   [5]      20 B     20 B  raw
t_i64   i64   [5]      40 B     40 B  raw
t_u8    u8    [5]       5 B      5 B  raw
t_u16   u16   [5]      10 B     10 B  raw
t_u32   u32   [5]      20 B     20 B  raw
t_u64   u64   [5]      40 B     40 B  raw
zs      f32   [5]      29 B     20 B  zstd
14 tensors, 14 components, 264 B stored, 255 B decoded,
  zTensor 1.1 (version 1.1.0)
all dense, crc32c
70 parameters: 40 B of f32, 40 B of f64, 40 B of i64, 40 B of u64, 20 B of i32,
  20 B of u32, 10 B of bf16, 10 B of f16, 10 B of i16, 10 B of u16,
  5 B of bool, 5 B of i8, 5 B of u8
