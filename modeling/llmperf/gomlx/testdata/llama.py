"""The last layer's hidden states of a decoder of Llama's kind, by numpy in
float64, written from the papers that package pretrained names and from GGUF's
description: what decoder_test.go and BenchmarkDecoder compare with.

    python llama.py tiny                         the golden numbers of decoder_test.go
    python llama.py model.gguf hidden.bin        of a model (needs `pip install gguf`)

hidden.bin is the number of tokens, the width, the tokens (int32), and the hidden
states before the last norm (float32), row after row.
"""

import struct
import sys

import numpy as np


def rms(x, gain, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gain


def rotate(x, theta, neighbours):
    """x: [tokens, heads, each]. Pairs are neighbours, or an index and that half a head on."""
    n, _, each = x.shape
    angle = np.arange(n)[:, None] * theta ** (-2 * np.arange(each // 2) / each)
    turn = np.exp(1j * angle)[:, None, :]
    if neighbours:
        z = (x[..., 0::2] + 1j * x[..., 1::2]) * turn
        return np.stack([z.real, z.imag], -1).reshape(x.shape)
    z = (x[..., : each // 2] + 1j * x[..., each // 2 :]) * turn
    return np.concatenate([z.real, z.imag], -1)


def layer(x, w, heads, kv, theta, epsilon, neighbours):
    n = len(x)
    y = rms(x, w["norm1"], epsilon)
    q, k, v = (y @ w[name].T + w.get(name + "_bias", 0) for name in ("query", "key", "value"))
    each = q.shape[1] // heads
    q = rotate(q.reshape(n, heads, each), theta, neighbours)
    k = rotate(k.reshape(n, kv, each), theta, neighbours)
    v = v.reshape(n, kv, each)
    out = np.empty((n, heads, each))
    for h in range(heads):
        at = h // (heads // kv)
        for i in range(n):
            s = q[i, h] @ k[: i + 1, at].T / np.sqrt(each)
            p = np.exp(s - s.max())
            out[i, h] = p / p.sum() @ v[: i + 1, at]
    x = x + out.reshape(n, -1) @ w["output"].T
    y = rms(x, w["norm2"], epsilon)
    gate = y @ w["gate"].T
    return x + (gate / (1 + np.exp(-gate)) * (y @ w["up"].T)) @ w["down"].T


def tiny():
    """pretrainedtest.Tiny: value i of tensor t is sin(0.7 i + t) / 4, of a gain 1 + sin(0.7 i + t) / 10."""
    vocab, width, heads, kv, each, inner, layers = 272, 8, 2, 1, 4, 12, 2
    count = iter(range(1000))

    def make(*dims, gain=False):
        v = np.sin(0.7 * np.arange(np.prod(dims)) + next(count))
        v = 1 + v / 10 if gain else v / 4
        return v.astype(np.float32).astype(np.float64).reshape(dims)

    embeddings = make(vocab, width)
    x = embeddings[[72, 101, 5, 265, 7]]
    for _ in range(layers):
        w = {"norm1": make(width, gain=True), "query": make(heads * each, width), "key": make(kv * each, width), "value": make(kv * each, width),
             "output": make(width, heads * each), "norm2": make(width, gain=True), "gate": make(inner, width), "up": make(inner, width), "down": make(width, inner)}
        x = layer(x, w, heads, kv, 10000.0, 1e-5, False)
    for row in x:
        print("{" + ", ".join("%.7f" % v for v in row) + "},")


def model(path, out):
    from gguf import GGUFReader
    from gguf.quants import dequantize

    r = GGUFReader(path)
    arch = r.fields["general.architecture"].contents()
    key = lambda name: r.fields[arch + "." + name].contents()
    tensors = {t.name: t for t in r.tensors}
    get = lambda name: dequantize(tensors[name].data, tensors[name].tensor_type).astype(np.float64)
    tokens = list(range(40, 52)) + [1000, 2000, 300, 17, 1000, 2000]
    x = get("token_embd.weight")[tokens]
    names = {"norm1": "attn_norm.weight", "query": "attn_q.weight", "key": "attn_k.weight", "value": "attn_v.weight", "output": "attn_output.weight",
             "norm2": "ffn_norm.weight", "gate": "ffn_gate.weight", "up": "ffn_up.weight", "down": "ffn_down.weight",
             "query_bias": "attn_q.bias", "key_bias": "attn_k.bias", "value_bias": "attn_v.bias"}
    for i in range(key("block_count")):
        w = {ours: get("blk.%d.%s" % (i, theirs)) for ours, theirs in names.items() if "blk.%d.%s" % (i, theirs) in tensors}
        x = layer(x, w, key("attention.head_count"), key("attention.head_count_kv"), key("rope.freq_base"),
                  key("attention.layer_norm_rms_epsilon"), arch == "llama")
    with open(out, "wb") as f:
        f.write(struct.pack("<ii", *x.shape) + np.array(tokens, "<i4").tobytes() + x.astype("<f4").tobytes())
    print(x.shape, "largest", np.abs(x).max())


tiny() if sys.argv[1] == "tiny" else model(*sys.argv[1:])
