NAME       FORMAT      TYPE  SHAPE   STORED  DECODED  ENCODING  DIGEST
csr_bf16   sparse_csr        [3, 4]    72 B     72 B  raw       -
  indices              u64             32 B     32 B  raw       -
  indptr               u64             32 B     32 B  raw       -
  values               bf16             8 B      8 B  raw       -
csr_f32    sparse_csr        [3, 4]    80 B     80 B  raw       -
  indices              u64             32 B     32 B  raw       -
  indptr               u64             32 B     32 B  raw       -
  values               f32             16 B     16 B  raw       -
csr_f64    sparse_csr        [3, 4]    96 B     96 B  raw       -
  indices              u64             32 B     32 B  raw       -
  indptr               u64             32 B     32 B  raw       -
  values               f64             32 B     32 B  raw       -
csr_i8     sparse_csr        [3, 4]    68 B     68 B  raw       -
  indices              u64             32 B     32 B  raw       -
  indptr               u64             32 B     32 B  raw       -
  values               i8               4 B      4 B  raw       -
nnz0       sparse_csr        [3, 4]    32 B     32 B  raw       -
  indices              u64              0 B      0 B  raw       -
  indptr               u64             32 B     32 B  raw       -
  values               f32              0 B      0 B  raw       -
rows0      sparse_csr        [0, 4]     8 B      8 B  raw       -
  indices              u64              0 B      0 B  raw       -
  indptr               u64              8 B      8 B  raw       -
  values               f32              0 B      0 B  raw       -
6 objects, 18 components, 356 B stored, 356 B decoded, zTensor 1.2 (version 1.2.0)
60 parameters: 296 B of u64, 32 B of f64, 16 B of f32, 8 B of bf16, 4 B of i8
