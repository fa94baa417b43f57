NAME    FORMAT  TYPE  SHAPE  STORED  DECODED  ENCODING  DIGEST
s_bool  dense   bool  []        1 B      1 B  raw       -
s_f32   dense   f32   []        4 B      4 B  raw       -
s_i64   dense   i64   []        8 B      8 B  raw       -
s_u8    dense   u8    []        1 B      1 B  raw       -
4 objects, 4 components, 14 B stored, 14 B decoded, zTensor 1.2 (version 1.2.0)
4 parameters: 8 B of i64, 4 B of f32, 1 B of bool, 1 B of u8
