NAME   FORMAT  TYPE  SHAPE  STORED  DECODED  ENCODING  DIGEST
c      dense   f32   [2]       8 B      8 B  raw       -
plain  dense   f32   [2]       8 B      8 B  raw       -
2 objects, 2 components, 16 B stored, 16 B decoded, zTensor 0.1
4 parameters: 16 B of f32
