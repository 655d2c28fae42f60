"""Compares rooflab's tokenizer with Hugging Face tokenizers on one thread.

Usage: peer.py DIR, where DIR holds what TestWritePeerInput wrote. Prints
whether the ids agree, whether both learn the same merges from the same texts,
and how fast this peer encodes and trains, by the time of the processor, which
other programs disturb less; `go test -bench 'Encode|Train' -cpu 1` prints the
other side, as cpu-MB/s likewise. Exits with 1 where ids or merges differ.
"""

import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # noqa: E402: it reads the variables above


def main(folder):
    load = lambda name: json.load(open(os.path.join(folder, name), encoding="utf-8"))
    texts, ours = load("texts.json"), load("ids.json")
    path = os.path.join(folder, "tokenizer.json")
    peer = tokenizers.Tokenizer.from_file(path)

    wrong = [i for i, e in enumerate(peer.encode_batch(texts)) if e.ids != ours[i]]
    for i in wrong[:3]:
        print("other ids for", repr(texts[i][:200]))
    print(f"ids: {len(texts) - len(wrong)} of {len(texts)} texts alike")

    model = load("tokenizer.json")["model"]
    own = tokenizers.Tokenizer(tokenizers.models.BPE())
    own.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = [t["content"] for t in load("tokenizer.json")["added_tokens"]]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=len(model["vocab"]), min_frequency=2, special_tokens=special, show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    start = time.process_time()
    own.train_from_iterator(texts, trainer)
    train = time.process_time() - start
    merges = json.loads(own.to_str())["model"]["merges"]
    same = 0
    while same < min(len(merges), len(model["merges"])) and list(merges[same]) == list(model["merges"][same]):
        same += 1
    print(f"merges: the first {same} of {len(model['merges'])} alike, the peer has {len(merges)}")

    size = sum(len(t.encode()) for t in texts)
    for name, encode in [("encode_batch", peer.encode_batch), ("encode_batch_fast", peer.encode_batch_fast)]:
        times = []
        for _ in range(7):
            start = time.process_time()
            encode(texts)
            times.append(time.process_time() - start)
        print(f"{name}: {size / sorted(times)[3] / 1e6:.2f} MB/s (median of 7; {size} bytes; tokenizers {tokenizers.__version__})")
    print(f"train: {train:.2f} s")
    return 1 if wrong or same < len(model["merges"]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
