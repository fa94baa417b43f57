NAME      TYPE  SHAPE      STORED  DECODED
coo3d           [2, 3, 5]    53 B     56 B
  coords  u64                36 B     48 B
  values  f32                17 B      8 B
coo_f32         [3, 4]       63 B     80 B
  coords  u64                38 B     64 B
  values  f32                25 B     16 B
coo_u16         [3, 4]       55 B     72 B
  coords  u64                38 B     64 B
  values  u16                17 B      8 B
nnz0            [3, 4]       18 B      0 B
  coords  u64                 9 B      0 B
  values  f32                 9 B      0 B
4 tensors, 8 components, 189 B stored, 208 B decoded,
  zTensor 1.2 (version 1.2.0)
all sparse_coo, zstd, crc32c
66 parameters: 176 B of u64, 24 B of f32, 8 B of u16
