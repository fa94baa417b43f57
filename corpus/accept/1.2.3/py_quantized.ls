NAME             TYPE                 SHAPE   STORED  DECODED
q                4 bits, groups of 8  [8, 8]    75 B     64 B
  packed_weight  i32                            41 B     32 B
  scales         f16                            17 B     16 B
  zeros          f16                            17 B     16 B
1 tensor, 3 components, 75 B stored, 64 B decoded, zTensor 1.2 (version 1.2.0)
all quantized_group, zstd, crc32c
64 parameters: 32 B of i32, 32 B of f16
