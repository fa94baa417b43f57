NAME             FORMAT           TYPE                 SHAPE   STORED  DECODED  ENCODING  DIGEST
q                quantized_group  4 bits, groups of 8  [8, 8]    75 B     64 B  zstd      crc32c
  packed_weight                   i32                            41 B     32 B  zstd      crc32c
  scales                          f16                            17 B     16 B  zstd      crc32c
  zeros                           f16                            17 B     16 B  zstd      crc32c
1 object, 3 components, 75 B stored, 64 B decoded, zTensor 1.2 (version 1.2.0)
64 parameters: 32 B of i32, 32 B of f16
