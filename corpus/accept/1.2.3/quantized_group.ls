NAME             TYPE                 SHAPE   STORED
q_proj           4 bits, groups of 8  [8, 8]    64 B
  packed_weight  i32                            32 B
  scales         f16                            16 B
  zeros          f16                            16 B
1 tensor, 3 components, 64 B, zTensor 1.2 (version 1.2.0)
all quantized_group, raw, no digest
64 parameters: 32 B of f16, 32 B of i32
