#!/usr/bin/env python3
"""Writes a job to standard output whose rows the card puts together, to four queue pairs of RC.

    python3 kinds_job.py strings > strings.json
    drdma run strings.json --device rtl: --record strings.rec --pcap strings.pcap

`strings`: values of 8 B with strings of 0 to 60 B, by ids. `bits`: values of 8 B with bits of validity, by ids and by
bitmaps. `keys`: rows by Murmur3 of one column and of two, whose values the card does not read twice. `chains`: records
that lead to each other, which the card does not read twice either.
"""

import argparse
import itertools
import json
import random

DESTINATIONS = 4
ROWS = {"strings": 1200, "bits": 2000, "keys": 3000}
VALUES, BITS = 5, 5
# Bytes of the longest string, of a record, and from one record to the next; records of a chain, and chains.
LONGEST, RECORD, PLACE, HOPS, CHAINS = 60, 56, 64, 7, 40


def queue_pair(index):
    return {
        "name": f"q{index}", "transport": "rc", "qpn": 17 + index, "dest_qpn": 33 + index, "start_psn": 100, "mtu": 1024,
        "dest_mac": f"02:00:00:00:01:{index:02x}", "dest_ip": f"10.0.1.{1 + index}",
    }


def column(buffer, width):
    return {"buffer": buffer, "offset": 0, "width": width}


class Job:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.buffers, self.posts = [], []

    def buffer(self, name, data, **more):
        self.buffers.append({"name": name, "hex": bytes(data).hex(), **more})

    def columns(self, count, rows):
        """Columns of 8 B."""
        for index in range(count):
            self.buffer(f"c{index}", self.random.randbytes(8 * rows))
        return [column(f"c{index}", 8) for index in range(count)]

    def ids(self, rows):
        """A partition for each row; some rows have none of the four."""
        ids = bytes(self.random.randrange(DESTINATIONS + 1) for _ in range(rows))
        self.buffer("ids", ids)
        return ids

    def post(self, op, rows_per_message, destinations, **what):
        if op == "write":
            for index, destination in enumerate(destinations):
                destination.update(remote_addr=0x100000 * (1 + index), rkey=7)
        verb = {"verb": "post_ssq_send", "wr_id": 1 + len(self.posts), "op": op, "rows_per_message": rows_per_message}
        self.posts.append({**verb, **what, "destinations": destinations})

    def partitioned(self, op, rows_per_message, **region):
        destinations = [{"qp": f"q{index}", "partition": index} for index in range(DESTINATIONS)]
        self.post(op, rows_per_message, destinations, partitioned=region)

    def strings(self):
        rows = ROWS["strings"]
        columns, lengths = self.columns(VALUES - 1, rows), [self.random.randint(0, LONGEST) for _ in range(rows)]
        ends = list(itertools.accumulate(lengths, initial=0))
        self.buffer("offsets", b"".join(end.to_bytes(4, "little") for end in ends))
        self.buffer("data", self.random.randbytes(ends[-1]))
        columns.append({"type": "varlen", **column("offsets", 4), "data": {"buffer": "data", "offset": 0}})
        self.ids(rows)
        for op in ("send", "send", "write"):
            self.partitioned(op, 10, rows=rows, ids=column("ids", 1), columns=columns)

    def bits(self):
        rows = ROWS["bits"]
        columns = self.columns(VALUES, rows)
        for index in range(BITS):
            self.buffer(f"b{index}", self.random.randbytes(rows // 8 + 1))
            columns.append({"type": "bits", "buffer": f"b{index}", "offset": 0, "bit": index})
        ids = self.ids(rows)
        for index in range(DESTINATIONS):
            bits = sum((id == index) << row for row, id in enumerate(ids))
            self.buffer(f"rows{index}", bits.to_bytes(rows // 8 + 1, "little"))
        for op in ("send", "write"):
            self.partitioned(op, 20, rows=rows, ids=column("ids", 1), columns=columns)
        for op in ("write", "send"):
            regions = [{"type": "bitmapped", "bitmap": {"buffer": f"rows{index}", "offset": 0}, "rows": rows,
                        "columns": columns} for index in range(DESTINATIONS)]
            self.post(op, 20, [{"qp": f"q{index}", "regions": [region]} for index, region in enumerate(regions)])

    def keys(self):
        rows = ROWS["keys"]
        columns = self.columns(2, rows)
        self.buffer("short", self.random.randbytes(4 * rows))
        columns.append(column("short", 4))
        for op, keys in (("send", (0,)), ("write", (0, 1)), ("send", (2, 0)), ("write", (2,))):
            keys = [{"key_type": "integer", "column": columns[index]} for index in keys]
            by = {"function": "murmur3", "partitions": DESTINATIONS, "keys": keys}
            self.partitioned(op, 48, rows=rows, partition_by=by, columns=columns)

    def chains(self):
        places = self.random.sample(range(CHAINS * HOPS), CHAINS * HOPS)
        chains = [places[first:first + HOPS] for first in range(0, len(places), HOPS)]
        table, pointers = bytearray(self.random.randbytes(PLACE * len(places))), []
        for chain in chains:
            table[PLACE * chain[-1] + 8:PLACE * chain[-1] + 16] = bytes(8)
            for place, following in zip(chain, chain[1:]):
                pointers.append({"offset": PLACE * place + 8, "to": ["table", PLACE * following]})
        self.buffer("table", table, pointers=pointers)
        region = {
            "type": "pointer_mapped", "pointers": [["table", PLACE * chain[0]] for chain in chains],
            "pattern": [{"offset": 0, "len": 8}, {"offset": 16, "len": RECORD - 16}], "chase": {"next": 8, "limit": 100},
        }
        for op in ("send", "write", "send"):
            self.post(op, 5, [{"qp": "q0", "regions": [region]}])

    def text(self):
        local = {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}
        qps = [queue_pair(index) for index in range(DESTINATIONS)]
        return json.dumps({"buffers": self.buffers, "local": local, "qps": qps, "posts": self.posts}, indent=1)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kind", choices=["strings", "bits", "keys", "chains"], help="what the rows are made of")
    arguments.add_argument("--seed", type=int, default=7, help="of what memory holds")
    chosen = arguments.parse_args()
    job = Job(chosen.seed)
    getattr(job, chosen.kind)()
    print(job.text())


if __name__ == "__main__":
    main()
