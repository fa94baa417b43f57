NAME               FORMAT  TYPE  SHAPE  STORED  DECODED  ENCODING  DIGEST
be_f64             dense   f64   [4]      32 B     32 B  raw       crc32c
be_f32             dense   f32   [4]      16 B     16 B  raw       crc32c
be_f16             dense   f16   [4]       8 B      8 B  raw       crc32c
be_bf16            dense   bf16  [4]       8 B      8 B  raw       crc32c
be_i64             dense   i64   [4]      32 B     32 B  raw       crc32c
be_i32             dense   i32   [4]      16 B     16 B  raw       crc32c
be_i16             dense   i16   [4]       8 B      8 B  raw       crc32c
be_i8              dense   i8    [4]       4 B      4 B  raw       crc32c
be_u64             dense   u64   [4]      32 B     32 B  raw       crc32c
be_u32             dense   u32   [4]      16 B     16 B  raw       crc32c
be_u16             dense   u16   [4]       8 B      8 B  raw       crc32c
be_u8              dense   u8    [4]       4 B      4 B  raw       crc32c
be_bool            dense   bool  [4]       4 B      4 B  raw       crc32c
be_zstd_requested  dense   f32   [4]      25 B     16 B  zstd      -
le_explicit        dense   f32   [4]      16 B     16 B  raw       -
15 objects, 15 components, 229 B stored, 220 B decoded, zTensor 0.1
60 parameters: 48 B of f32, 32 B of f64, 32 B of i64, 32 B of u64, 16 B of i32, 16 B of u32, 8 B of bf16, 8 B of f16, 8 B of i16, 8 B of u16, 4 B of bool, 4 B of i8, 4 B of u8
