NAME    TYPE  SHAPE  STORED
t_bf16  bf16  [5]      10 B
t_bool  bool  [5]       5 B
t_f16   f16   [5]      10 B
t_f32   f32   [5]      20 B
t_f64   f64   [5]      40 B
t_i8    i8    [5]       5 B
t_i16   i16   [5]      10 B
t_i32   i32   [5]      20 B
t_i64   i64   [5]      40 B
t_u8    u8    [5]       5 B
t_u16   u16   [5]      10 B
t_u32   u32   [5]      20 B
t_u64   u64   [5]      40 B
13 tensors, 13 components, 235 B, zTensor 0.1
all dense, raw, crc32c
65 parameters: 40 B of f64, 40 B of i64, 40 B of u64, 20 B of f32, 20 B of i32,
  20 B of u32, 10 B of bf16, 10 B of f16, 10 B of i16, 10 B of u16,
  5 B of bool, 5 B of i8, 5 B of u8
