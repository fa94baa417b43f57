NAME    TYPE  SHAPE   STORED
t_bf16  bf16  [2, 3]    12 B
t_bool  bool  [2, 3]     6 B
t_f16   f16   [2, 3]    12 B
t_f32   f32   [2, 3]    24 B
t_f64   f64   [2, 3]    48 B
t_i8    i8    [2, 3]     6 B
t_i16   i16   [2, 3]    12 B
t_i32   i32   [2, 3]    24 B
t_i64   i64   [2, 3]    48 B
t_u8    u8    [2, 3]     6 B
t_u16   u16   [2, 3]    12 B
t_u32   u32   [2, 3]    24 B
t_u64   u64   [2, 3]    48 B
13 tensors, 13 components, 282 B, zTensor 1.2 (version 1.2.0)
all dense, raw, no digest
78 parameters: 48 B of f64, 48 B of i64, 48 B of u64, 24 B of f32, 24 B of i32,
  24 B of u32, 12 B of bf16, 12 B of f16, 12 B of i16, 12 B of u16,
  6 B of bool, 6 B of i8, 6 B of u8
