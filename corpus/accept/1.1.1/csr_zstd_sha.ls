NAME       TYPE  SHAPE   STORED  DECODED
csr_bf16         [3, 4]    78 B        ?
  indices  u64             30 B        ?
  indptr   u64             31 B     32 B
  values   bf16            17 B        ?
csr_f32          [3, 4]    86 B        ?
  indices  u64             30 B        ?
  indptr   u64             31 B     32 B
  values   f32             25 B        ?
csr_f64          [3, 4]    89 B        ?
  indices  u64             30 B        ?
  indptr   u64             31 B     32 B
  values   f64             28 B        ?
csr_i8           [3, 4]    74 B        ?
  indices  u64             30 B        ?
  indptr   u64             31 B     32 B
  values   i8              13 B        ?
nnz0             [3, 4]    35 B        ?
  indices  u64              9 B        ?
  indptr   u64             17 B     32 B
  values   f32              9 B        ?
rows0            [0, 4]    35 B        ?
  indices  u64              9 B        ?
  indptr   u64             17 B      8 B
  values   f32              9 B        ?
6 tensors, 18 components, 397 B stored, ? decoded, zTensor 1.1 (version 1.1.0)
all sparse_csr, zstd, sha256
60 parameters: ? of u64, ? of f32, ? of f64, ? of bf16, ? of i8
