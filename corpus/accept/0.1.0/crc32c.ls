NAME    FORMAT  TYPE  SHAPE  STORED  DECODED  ENCODING  DIGEST
t_f64   dense   f64   [5]      40 B     40 B  raw       crc32c
t_f32   dense   f32   [5]      20 B     20 B  raw       crc32c
t_f16   dense   f16   [5]      10 B     10 B  raw       crc32c
t_bf16  dense   bf16  [5]      10 B     10 B  raw       crc32c
t_i64   dense   i64   [5]      40 B     40 B  raw       crc32c
t_i32   dense   i32   [5]      20 B     20 B  raw       crc32c
t_i16   dense   i16   [5]      10 B     10 B  raw       crc32c
t_i8    dense   i8    [5]       5 B      5 B  raw       crc32c
t_u64   dense   u64   [5]      40 B     40 B  raw       crc32c
t_u32   dense   u32   [5]      20 B     20 B  raw       crc32c
t_u16   dense   u16   [5]      10 B     10 B  raw       crc32c
t_u8    dense   u8    [5]       5 B      5 B  raw       crc32c
t_bool  dense   bool  [5]       5 B      5 B  raw       crc32c
13 objects, 13 components, 235 B stored, 235 B decoded, zTensor 0.1
