"""An independent reading of Caliper files, for the tests: python3 and its
standard library only. Prints one JSON object per file: how many records,
numbers and regions it has, and the sum of each metric's numbers."""
import json
import math
import sys

TYPES = {0: "usr", 1: "int", 2: "uint", 3: "string", 4: "addr", 5: "double", 6: "bool", 7: "type", 11: "ptr"}
NESTED = 256


def cut(text, sep, keep):
    out, cur, i = [], "", 0
    while i < len(text):
        if text[i] == "\\":
            if keep:
                cur += "\\"
            i += 1
            cur += text[i : i + 1]
        elif text[i] == sep:
            out.append(cur)
            cur = ""
        else:
            cur += text[i]
        i += 1
    return out + [cur]


def cali(path):
    nodes = {k: (9, v, None) for k, v in TYPES.items()}
    nodes[8], nodes[9], nodes[10] = (8, "name", 3), (8, "type", 7), (8, "prop", 1)
    records = []
    for line in open(path):
        rec = {kv[0]: kv[1:] for kv in (cut(e, "=", False) for e in cut(line.rstrip("\n"), ",", True))}
        if rec["__rec"] == ["node"]:
            parent = int(rec["parent"][0]) if "parent" in rec else None
            nodes[int(rec["id"][0])] = (int(rec["attr"][0]), rec["data"][0], parent)
        elif rec["__rec"] == ["ctx"]:
            records.append(rec)

    def up(i):
        while i is not None:
            yield nodes[i]
            i = nodes[i][2]

    def describe(attr):
        kind = next(n[1] for n in up(attr) if n[0] == 9)
        prop = int(next((n[1] for n in up(attr) if n[0] == 10), "0"))
        return nodes[attr][1], kind, prop

    numbers, regions = {}, set()
    for rec in records:
        for attr, text in zip(rec.get("attr", []), rec.get("data", [])):
            name, kind, _ = describe(int(attr))
            if kind in ("int", "uint", "double") and name != "mpi.rank":
                numbers.setdefault(name, []).append(float(text))
        names = []
        for ref in rec.get("ref", []):
            chain = [n for n in up(int(ref)) if n[0] not in (8, 9, 10)]
            names += [n[1] for n in reversed(chain) if describe(n[0])[2] & NESTED]
        regions.update(tuple(names[:k]) for k in range(1, len(names) + 1))
        if not names:
            regions.add(())
    return len(records), numbers, len(regions)


def split(path):
    d = json.load(open(path))
    columns, nodes = d["columns"], d["nodes"]
    tree = next((c for c in columns if c == "path"), None) or next(c for c in columns if "callpath" in c)
    numbers, regions = {}, set()
    for row in d["data"]:
        for column, meta, cell in zip(columns, d["column_metadata"], row):
            if cell is None and column == tree:
                regions.add(None)
            elif cell is None or column == "mpi.rank":
                continue
            elif meta["is_value"]:
                numbers.setdefault(column, []).append(float(cell))
            elif column == tree:
                while cell is not None:
                    regions.add(cell)
                    cell = nodes[cell].get("parent")
    return len(d["data"]), numbers, len(regions)


for path in sys.argv[1:]:
    records, numbers, regions = split(path) if path.endswith(".json") else cali(path)
    print(json.dumps({"records": records, "numbers": sum(map(len, numbers.values())), "regions": regions,
                      "sums": {k: math.fsum(v) for k, v in numbers.items()}}))
