arr = [1, "x", []]
big = 18446744073709551615
bytes = h'0001ff'
dupmap = {"z": 1, "z": 2}
f = 1.5
f32ish = 0.1
framework = "PyTorch"
inf = Infinity
map = {"z": 1, "a": 2, 3: null}
n = -7
nan = NaN
null = null
t = true
tagged = 0("2026-01-01T00:00:00Z")

NAME  TYPE  SHAPE  STORED
t     f32   [2]       8 B
1 tensor, 1 component, 8 B, zTensor 1.2 (version 1.2.0)
all dense, raw, no digest
2 parameters: 8 B of f32
