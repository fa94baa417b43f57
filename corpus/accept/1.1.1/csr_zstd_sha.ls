NAME       FORMAT      TYPE  SHAPE   STORED  DECODED  ENCODING  DIGEST
csr_bf16   sparse_csr        [3, 4]    78 B        ?  zstd      sha256
  indices              u64             30 B        ?  zstd      sha256
  indptr               u64             31 B     32 B  zstd      sha256
  values               bf16            17 B        ?  zstd      sha256
csr_f32    sparse_csr        [3, 4]    86 B        ?  zstd      sha256
  indices              u64             30 B        ?  zstd      sha256
  indptr               u64             31 B     32 B  zstd      sha256
  values               f32             25 B        ?  zstd      sha256
csr_f64    sparse_csr        [3, 4]    89 B        ?  zstd      sha256
  indices              u64             30 B        ?  zstd      sha256
  indptr               u64             31 B     32 B  zstd      sha256
  values               f64             28 B        ?  zstd      sha256
csr_i8     sparse_csr        [3, 4]    74 B        ?  zstd      sha256
  indices              u64             30 B        ?  zstd      sha256
  indptr               u64             31 B     32 B  zstd      sha256
  values               i8              13 B        ?  zstd      sha256
nnz0       sparse_csr        [3, 4]    35 B        ?  zstd      sha256
  indices              u64              9 B        ?  zstd      sha256
  indptr               u64             17 B     32 B  zstd      sha256
  values               f32              9 B        ?  zstd      sha256
rows0      sparse_csr        [0, 4]    35 B        ?  zstd      sha256
  indices              u64              9 B        ?  zstd      sha256
  indptr               u64             17 B      8 B  zstd      sha256
  values               f32              9 B        ?  zstd      sha256
6 objects, 18 components, 397 B stored, ? decoded, zTensor 1.1 (version 1.1.0)
60 parameters: ? of u64, ? of f32, ? of f64, ? of bf16, ? of i8
