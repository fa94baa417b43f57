NAME          TYPE  SHAPE  STORED  DECODED  ENCODING  DIGEST
crc32c_False  f32   [10]     40 B     40 B  raw       crc32c
crc32c_True   f32   [10]     49 B     40 B  zstd      crc32c
sha256_False  f32   [10]     40 B     40 B  raw       sha256
sha256_True   f32   [10]     49 B     40 B  zstd      sha256
4 tensors, 4 components, 178 B stored, 160 B decoded,
  zTensor 1.2 (version 1.2.0)
all dense
40 parameters: 160 B of f32
