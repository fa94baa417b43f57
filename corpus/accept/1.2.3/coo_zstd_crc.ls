NAME      FORMAT      TYPE  SHAPE      STORED  DECODED  ENCODING  DIGEST
coo3d     sparse_coo        [2, 3, 5]    53 B     56 B  zstd      crc32c
  coords              u64                36 B     48 B  zstd      crc32c
  values              f32                17 B      8 B  zstd      crc32c
coo_f32   sparse_coo        [3, 4]       63 B     80 B  zstd      crc32c
  coords              u64                38 B     64 B  zstd      crc32c
  values              f32                25 B     16 B  zstd      crc32c
coo_u16   sparse_coo        [3, 4]       55 B     72 B  zstd      crc32c
  coords              u64                38 B     64 B  zstd      crc32c
  values              u16                17 B      8 B  zstd      crc32c
nnz0      sparse_coo        [3, 4]       18 B      0 B  zstd      crc32c
  coords              u64                 9 B      0 B  zstd      crc32c
  values              f32                 9 B      0 B  zstd      crc32c
4 objects, 8 components, 189 B stored, 208 B decoded, zTensor 1.2 (version 1.2.0)
66 parameters: 176 B of u64, 24 B of f32, 8 B of u16
