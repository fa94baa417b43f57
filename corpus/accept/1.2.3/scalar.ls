NAME    TYPE  SHAPE  STORED
s_bool  bool  []        1 B
s_f32   f32   []        4 B
s_i64   i64   []        8 B
s_u8    u8    []        1 B
4 tensors, 4 components, 14 B, zTensor 1.2 (version 1.2.0)
all dense, raw, no digest
4 parameters: 8 B of i64, 4 B of f32, 1 B of bool, 1 B of u8
