NAME      FORMAT      TYPE  SHAPE      STORED  DECODED  ENCODING  DIGEST
coo3d     sparse_coo        [2, 3, 5]    56 B     56 B  raw       -
  coords              u64                48 B     48 B  raw       -
  values              f32                 8 B      8 B  raw       -
coo_f32   sparse_coo        [3, 4]       80 B     80 B  raw       -
  coords              u64                64 B     64 B  raw       -
  values              f32                16 B     16 B  raw       -
coo_u16   sparse_coo        [3, 4]       72 B     72 B  raw       -
  coords              u64                64 B     64 B  raw       -
  values              u16                 8 B      8 B  raw       -
nnz0      sparse_coo        [3, 4]        0 B      0 B  raw       -
  coords              u64                 0 B      0 B  raw       -
  values              f32                 0 B      0 B  raw       -
4 objects, 8 components, 208 B stored, 208 B decoded, zTensor 1.1 (version 1.1.0)
66 parameters: 176 B of u64, 24 B of f32, 8 B of u16
