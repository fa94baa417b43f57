NAME       TYPE  SHAPE   STORED
csr_bf16         [3, 4]    72 B
  indices  u64             32 B
  indptr   u64             32 B
  values   bf16             8 B
csr_f32          [3, 4]    80 B
  indices  u64             32 B
  indptr   u64             32 B
  values   f32             16 B
csr_f64          [3, 4]    96 B
  indices  u64             32 B
  indptr   u64             32 B
  values   f64             32 B
csr_i8           [3, 4]    68 B
  indices  u64             32 B
  indptr   u64             32 B
  values   i8               4 B
nnz0             [3, 4]    32 B
  indices  u64              0 B
  indptr   u64             32 B
  values   f32              0 B
rows0            [0, 4]     8 B
  indices  u64              0 B
  indptr   u64              8 B
  values   f32              0 B
6 tensors, 18 components, 356 B, zTensor 1.2 (version 1.2.0)
all sparse_csr, raw, no digest
60 parameters: 296 B of u64, 32 B of f64, 16 B of f32, 8 B of bf16, 4 B of i8
