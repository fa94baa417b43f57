NAME         FORMAT  TYPE         SHAPE     STORED  DECODED  ENCODING  DIGEST
f8_e4m3fn    dense   f8_e4m3fn    [16, 16]   256 B    256 B  raw       -
f8_e4m3fnuz  dense   f8_e4m3fnuz  [16, 16]   256 B    256 B  raw       -
f8_e5m2      dense   f8_e5m2      [16, 16]   256 B    256 B  raw       -
f8_e5m2fnuz  dense   f8_e5m2fnuz  [16, 16]   256 B    256 B  raw       -
4 objects, 4 components, 1.0 KiB stored, 1.0 KiB decoded, zTensor 1.2 (version 1.2.0)
1,024 parameters: 256 B of f8_e4m3fn, 256 B of f8_e4m3fnuz, 256 B of f8_e5m2, 256 B of f8_e5m2fnuz
