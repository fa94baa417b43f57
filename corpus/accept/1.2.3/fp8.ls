NAME         TYPE         SHAPE     STORED
f8_e4m3fn    f8_e4m3fn    [16, 16]   256 B
f8_e4m3fnuz  f8_e4m3fnuz  [16, 16]   256 B
f8_e5m2      f8_e5m2      [16, 16]   256 B
f8_e5m2fnuz  f8_e5m2fnuz  [16, 16]   256 B
4 tensors, 4 components, 1.0 KiB, zTensor 1.2 (version 1.2.0)
all dense, raw, no digest
1,024 parameters: 256 B of f8_e4m3fn, 256 B of f8_e4m3fnuz, 256 B of f8_e5m2,
  256 B of f8_e5m2fnuz
