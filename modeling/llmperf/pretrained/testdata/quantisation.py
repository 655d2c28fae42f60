"""Writes quantisation.json: one block of each of ggml's quantisations that
package pretrained reads, and the values that gguf-py gives for it.

    pip install gguf==0.17.1 && python quantisation.py > quantisation.json
"""

import base64
import json

import numpy as np
from gguf import GGMLQuantizationType as kind
from gguf.quants import dequantize

# bytes of a block, values, and where its binary16 numbers stand
blocks = {"F16": (2, 1, [0]), "BF16": (2, 1, [0]), "Q4_0": (18, 32, [0]), "Q4_1": (20, 32, [0, 2]), "Q5_0": (22, 32, [0]), "Q5_1": (24, 32, [0, 2]),
          "Q8_0": (34, 32, [0]), "Q4_K": (144, 256, [0, 2]), "Q5_K": (176, 256, [0, 2]), "Q6_K": (210, 256, [208])}
out = []
for name, (size, _, scales) in blocks.items():
    b = ((37 * np.arange(size) + 11) % 251).astype(np.uint8)
    for i, at in enumerate(scales):
        b[at : at + 2] = np.array([0.0123, -0.25][i], "<f2").reshape(1).view(np.uint8)
    values = dequantize(b[None, :], kind[name])[0].astype(np.float32)
    out.append({"Name": name, "Kind": int(kind[name]), "Block": base64.b64encode(b.tobytes()).decode(), "Values": [float(v) for v in values]})
print("[" + ",\n".join(json.dumps(c) for c in out) + "]")
