"""Writes a .npy file filled with one value, with the standard library only: make_npy.py FILE TYPE SHAPE VALUE."""
import struct
import sys

path, kind, shape_text, value = sys.argv[1:5]
shape = tuple(int(part) for part in shape_text.split(",") if part)
count = 1
for size in shape:
    count *= size
code = {"f2": "e", "f4": "f", "b1": "?", "i4": "i", "i8": "q", "u2": "H", "u1": "B"}[kind]
number = float(value) if kind[0] == "f" else int(value)
byte_order = "|" if kind[1] == "1" else "<"
header = f"{{'descr': '{byte_order}{kind}', 'fortran_order': False, 'shape': {shape}, }}"
header += " " * (-(10 + len(header) + 1) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack("<" + code, number) * count)
