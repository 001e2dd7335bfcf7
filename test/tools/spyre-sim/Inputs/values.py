"""values.py FORMAT VALUE...: the bytes of some numbers on the output; FORMAT is dl16, fp16, fp32 or int32."""
import struct
import sys

from dl16 import dl16_bytes

texts = sys.argv[2:]
if sys.argv[1] == "dl16":
    data = dl16_bytes(float(text) for text in texts)
else:
    code, kind = {"fp16": ("e", float), "fp32": ("f", float), "int32": ("i", int)}[sys.argv[1]]
    data = struct.pack(f"<{len(texts)}{code}", *map(kind, texts))
sys.stdout.buffer.write(data)
