NAME               TYPE  SHAPE  STORED  DECODED  ENCODING  DIGEST
be_bf16            bf16  [4]       8 B      8 B  raw       crc32c
be_bool            bool  [4]       4 B      4 B  raw       crc32c
be_f16             f16   [4]       8 B      8 B  raw       crc32c
be_f32             f32   [4]      16 B     16 B  raw       crc32c
be_f64             f64   [4]      32 B     32 B  raw       crc32c
be_i8              i8    [4]       4 B      4 B  raw       crc32c
be_i16             i16   [4]       8 B      8 B  raw       crc32c
be_i32             i32   [4]      16 B     16 B  raw       crc32c
be_i64             i64   [4]      32 B     32 B  raw       crc32c
be_u8              u8    [4]       4 B      4 B  raw       crc32c
be_u16             u16   [4]       8 B      8 B  raw       crc32c
be_u32             u32   [4]      16 B     16 B  raw       crc32c
be_u64             u64   [4]      32 B     32 B  raw       crc32c
be_zstd_requested  f32   [4]      25 B     16 B  zstd      -
le_explicit        f32   [4]      16 B     16 B  raw       -
15 tensors, 15 components, 229 B stored, 220 B decoded, zTensor 0.1
all dense
60 parameters: 48 B of f32, 32 B of f64, 32 B of i64, 32 B of u64, 16 B of i32,
  16 B of u32, 8 B of bf16, 8 B of f16, 8 B of i16, 8 B of u16, 4 B of bool,
  4 B of i8, 4 B of u8
