NAME  TYPE  SHAPE   STORED
bf16  bf16  [2, 3]    12 B
bool  bool  [2, 3]     6 B
f16   f16   [2, 3]    12 B
f32   f32   [2, 3]    24 B
f64   f64   [2, 3]    48 B
i8    i8    [2, 3]     6 B
i16   i16   [2, 3]    12 B
i32   i32   [2, 3]    24 B
i64   i64   [2, 3]    48 B
u8    u8    [2, 3]     6 B
u16   u16   [2, 3]    12 B
u32   u32   [2, 3]    24 B
u64   u64   [2, 3]    48 B
13 tensors, 13 components, 282 B, zTensor 1.1 (version 1.1.0)
all dense, raw, no digest
78 parameters: 48 B of f64, 48 B of i64, 48 B of u64, 24 B of f32, 24 B of i32,
  24 B of u32, 12 B of bf16, 12 B of f16, 12 B of i16, 12 B of u16,
  6 B of bool, 6 B of i8, 6 B of u8
