NAME             FORMAT           TYPE                 SHAPE   STORED  DECODED  ENCODING  DIGEST
q_proj           quantized_group  4 bits, groups of 8  [8, 8]    64 B     64 B  raw       -
  packed_weight                   i32                            32 B     32 B  raw       -
  scales                          f16                            16 B     16 B  raw       -
  zeros                           f16                            16 B     16 B  raw       -
1 object, 3 components, 64 B stored, 64 B decoded, zTensor 1.2 (version 1.2.0)
64 parameters: 32 B of f16, 32 B of i32
