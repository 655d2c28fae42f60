"""The architectures of architectures.go in PyTorch's eager mode.

Arguments: the architecture, the file with first weights and batch, the number
of threads. Standard input and output are those of a side: see side.go.
"""

import json
import resource
import struct
import sys
import time

import torch
from torch import nn

ADAM_RATE = 1e-4


def peak():
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def read(path):
    """The tensors of a safetensors file, by name."""
    kinds = {"F32": torch.float32, "I32": torch.int32}
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
        data = bytearray(f.read())
    tensors = {}
    for name, t in header.items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            flat = torch.frombuffer(data, dtype=kinds[t["dtype"]], offset=begin, count=(end - begin) // 4)
            tensors[name] = flat.reshape(t["shape"]).clone()
    return tensors


class Weights:
    """Puts weights into parameters, and notices what is left over."""

    def __init__(self, tensors):
        self.tensors = tensors

    def take(self, name):
        return self.tensors.pop(name)

    def put(self, parameter, name, transposed=False):
        value = self.take(name)
        if transposed:
            value = value.T
        if parameter.shape != value.shape:
            raise SystemExit(f"{name} has the shape {tuple(value.shape)}, PyTorch's is {tuple(parameter.shape)}")
        with torch.no_grad():
            parameter.copy_(value)

    def linear(self, layer, scope):
        self.put(layer.weight, scope + "/weights", transposed=True)
        self.put(layer.bias, scope + "/biases")

    def norm(self, layer, scope):
        self.put(layer.weight, scope + "/gain")
        self.put(layer.bias, scope + "/offset")


class MLP(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
        for i, name in ((0, "/dense_0/dense"), (2, "/dense_1/dense"), (4, "/head/dense")):
            w.linear(self.layers[i], name)

    def forward(self, x):
        return self.layers(x).squeeze(-1)


class Encoder(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.tokens = nn.Embedding(8192, 128)
        self.places = nn.Parameter(torch.empty(256, 128))
        layer = nn.TransformerEncoderLayer(
            128, 4, 512, dropout=0.0, batch_first=True, norm_first=True,
            activation=lambda x: nn.functional.gelu(x, approximate="tanh"),
        )
        self.layers = nn.TransformerEncoder(layer, 4, norm=nn.LayerNorm(128), enable_nested_tensor=False)
        self.head = nn.Linear(128, 1)
        w.put(self.tokens.weight, "/tokens/embeddings")
        w.put(self.places, "/places/embeddings")
        for i, layer in enumerate(self.layers.layers):
            scope = f"/layer_{i}"
            w.put(layer.self_attn.in_proj_weight, scope + "/attention/qkv/dense/weights", transposed=True)
            w.put(layer.self_attn.in_proj_bias, scope + "/attention/qkv/dense/biases")
            w.linear(layer.self_attn.out_proj, scope + "/attention/output/dense")
            w.linear(layer.linear1, scope + "/wide/dense")
            w.linear(layer.linear2, scope + "/narrow/dense")
            w.norm(layer.norm1, scope + "/norm1/layer_normalization")
            w.norm(layer.norm2, scope + "/norm2/layer_normalization")
        w.norm(self.layers.norm, "/norm/layer_normalization")
        w.linear(self.head, "/head/dense")

    def forward(self, x):
        return self.head(self.layers(self.tokens(x) + self.places).mean(1)).squeeze(-1)


class LSTM(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.lstm = nn.LSTM(64, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, 1)
        for i in range(2):
            w.put(getattr(self.lstm, f"weight_ih_l{i}"), f"/lstm_{i}/input", transposed=True)
            w.put(getattr(self.lstm, f"weight_hh_l{i}"), f"/lstm_{i}/recurrent", transposed=True)
            w.put(getattr(self.lstm, f"bias_ih_l{i}"), f"/lstm_{i}/biases")
            # PyTorch has a second bias, which is added to the first: at zero
            # and not learnt it is no part of the model.
            hidden = getattr(self.lstm, f"bias_hh_l{i}")
            nn.init.zeros_(hidden)
            hidden.requires_grad_(False)
        w.linear(self.head, "/head/dense")

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1]).squeeze(-1)


def main():
    name, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(threads)
    before = peak()
    tensors = read(path)
    x, y = tensors.pop("input"), tensors.pop("label")
    w = Weights(tensors)
    model = {"mlp": MLP, "encoder": Encoder, "lstm": LSTM}[name](w)
    if w.tensors:
        raise SystemExit(f"weights that PyTorch's model lacks: {sorted(w.tensors)}")
    learnt = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(learnt, lr=ADAM_RATE, fused=True)
    loss_of = nn.MSELoss()
    model.train()

    def step():
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    def say(**turn):
        print(json.dumps(turn), flush=True)

    count = sum(p.numel() for p in learnt)
    say(memory=before, about=f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {count} parameters")
    for line in sys.stdin:
        seconds, losses, began_cpu = [], [], cpu()
        for _ in range(int(line)):
            began = time.perf_counter()
            losses.append(step())
            seconds.append(time.perf_counter() - began)
        say(seconds=seconds, losses=losses, cpu=cpu() - began_cpu, memory=peak())


if __name__ == "__main__":
    main()
