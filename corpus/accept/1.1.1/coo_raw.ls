NAME      TYPE  SHAPE      STORED
coo3d           [2, 3, 5]    56 B
  coords  u64                48 B
  values  f32                 8 B
coo_f32         [3, 4]       80 B
  coords  u64                64 B
  values  f32                16 B
coo_u16         [3, 4]       72 B
  coords  u64                64 B
  values  u16                 8 B
nnz0            [3, 4]        0 B
  coords  u64                 0 B
  values  f32                 0 B
4 tensors, 8 components, 208 B, zTensor 1.1 (version 1.1.0)
all sparse_coo, raw, no digest
66 parameters: 176 B of u64, 24 B of f32, 8 B of u16
