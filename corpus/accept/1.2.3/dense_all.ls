NAME    FORMAT  TYPE  SHAPE   STORED  DECODED  ENCODING  DIGEST
t_bf16  dense   bf16  [2, 3]    12 B     12 B  raw       -
t_bool  dense   bool  [2, 3]     6 B      6 B  raw       -
t_f16   dense   f16   [2, 3]    12 B     12 B  raw       -
t_f32   dense   f32   [2, 3]    24 B     24 B  raw       -
t_f64   dense   f64   [2, 3]    48 B     48 B  raw       -
t_i16   dense   i16   [2, 3]    12 B     12 B  raw       -
t_i32   dense   i32   [2, 3]    24 B     24 B  raw       -
t_i64   dense   i64   [2, 3]    48 B     48 B  raw       -
t_i8    dense   i8    [2, 3]     6 B      6 B  raw       -
t_u16   dense   u16   [2, 3]    12 B     12 B  raw       -
t_u32   dense   u32   [2, 3]    24 B     24 B  raw       -
t_u64   dense   u64   [2, 3]    48 B     48 B  raw       -
t_u8    dense   u8    [2, 3]     6 B      6 B  raw       -
13 objects, 13 components, 282 B stored, 282 B decoded, zTensor 1.2 (version 1.2.0)
78 parameters: 48 B of f64, 48 B of i64, 48 B of u64, 24 B of f32, 24 B of i32, 24 B of u32, 12 B of bf16, 12 B of f16, 12 B of i16, 12 B of u16, 6 B of bool, 6 B of i8, 6 B of u8
