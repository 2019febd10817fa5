#!/usr/bin/env python3
"""Writes a fabric job to standard output in which a peer (`soft:`) uses everything that a card (`rtl:`) receives.

    python3 receive_job.py > receive.json
    drdma fabric receive.json --record card=receive.rec --pcap receive.pcap
"""

import argparse
import json
import random

# Bytes of the peer's memory that messages are taken from.
SOURCE = 9000
RC = ("own", "strided", "mapped", "appends")
UC = ("uc", "uc_appends")
SHARED = {"strided": "s", "uc": "s", "appends": "a", "uc_appends": "a"}
# A row of the append region, and its rows.
ROW, CAPACITY = 12, 200


def contiguous(buffer, offset, length):
    return {"type": "contiguous", "buffer": buffer, "offset": offset, "len": length}


def strided(buffer, offset, period, count, *extents):
    pattern = [{"offset": at, "len": length} for at, length in extents]
    return {"type": "strided", "buffer": buffer, "offset": offset, "period": period, "count": count, "pattern": pattern}


def bitmapped(rows, *columns):
    columns = [{"buffer": buffer, "offset": offset, "width": width} for buffer, offset, width in columns]
    return {"type": "bitmapped", "bitmap": {"buffer": "bitmap", "offset": 0}, "rows": rows, "columns": columns}


def queue_pairs(peer, first_psn, shared):
    """A node's queue pairs; those of `shared` take from shared receive queues."""
    made = []
    for name in RC + UC:
        qp = {"name": name, "transport": "rc" if name in RC else "uc", "mtu": 256, "peer": f"{peer}/{name}"}
        if name == "own":  # across the end of the sequence numbers
            qp.update(mtu=1024, start_psn=first_psn)
        if name in shared:
            qp["srq"] = shared[name]
        made.append(qp)
    return made + [{"name": "ud", "transport": "ud", "mtu": 256, "qkey": 77}]


class Job:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.steps, self.number, self.counters = [], 0, ""

    def bytes(self, size):
        return self.random.randbytes(size).hex()

    def wait(self):
        self.steps.append({"wait": "all"})

    def post(self, node, verb, **what):
        self.number += 1
        self.steps.append({"node": node, "verb": verb, "wr_id": self.number, **what})

    def message(self, qp, op, length, **more):
        """A SEND or a WRITE of the peer."""
        if op.endswith("imm"):
            more["imm"] = self.number
        region = contiguous("source", self.random.randrange(SOURCE - length), length)
        self.post("peer", "post_send", qp=qp, op=op, regions=[region], **more)

    def ask(self, node, qp, op, remote, offset, region, **more):
        """A READ or an atomic."""
        self.post(node, "post_send", qp=qp, op=op, remote=remote, remote_offset=offset, regions=[region], **more)

    def nodes(self):
        read_write = ["remote_read", "remote_write"]
        bitmap = bytes(self.random.getrandbits(8) & 0x6D | 1 for _ in range(32)).hex()
        self.counters = self.bytes(64)
        counters = {"name": "counters", "hex": self.counters, "access": ["remote_atomic"]}
        card = {
            "name": "card", "device": "rtl:", "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
            "buffers": [
                {"name": "open", "hex": self.bytes(12000), "access": read_write}, counters,
                {"name": "received", "size": 16000}, {"name": "records", "hex": self.bytes(9000)},
                {"name": "selected", "hex": self.bytes(4000)}, {"name": "bitmap", "hex": bitmap},
                {"name": "keys", "size": 1024}, {"name": "values", "size": 2048}, {"name": "answers", "size": 6000},
                {"name": "source", "hex": self.bytes(5000)}, {"name": "revoked", "size": 64},
            ],
            "keys": [
                {"name": "fields", "access": read_write, "region": strided("records", 5, 96, 90, (0, 16), (40, 25))},
                {"name": "rows", "access": read_write, "region": bitmapped(250, ("selected", 3, 8), ("selected", 2100, 3))},
                {"name": "once", "access": ["remote_write"], "region": contiguous("revoked", 0, 64)},
            ],
            "appends": [{"name": "table", "capacity": CAPACITY, "columns": [
                {"buffer": "keys", "offset": 4, "width": 4}, {"buffer": "values", "offset": 0, "width": 8}]}],
            "srqs": [{"name": "s"}, {"name": "a"}], "qps": queue_pairs("peer", 0xFFFFF0, SHARED),
        }
        peer = {
            "name": "peer", "device": "soft:", "local": {"mac": "02:00:00:00:00:02", "ip": "10.0.0.2"},
            "buffers": [
                {"name": "source", "hex": self.bytes(SOURCE)}, {"name": "sink", "size": 12000},
                {"name": "open", "hex": self.bytes(6000), "access": read_write}, {**counters, "hex": self.bytes(64)},
            ],
            "qps": queue_pairs("card", 0xFFFFFA, {}),
        }
        return [card, peer]

    def receives(self):
        for k in range(6):
            regions = [contiguous("received", 700 * k, 333), contiguous("received", 700 * k + 340, 350)]
            self.post("card", "post_recv", qp="own", regions=regions)
        for k in range(6):
            region = strided("received", 4300 + 700 * k, 70, 10, (0, 33), (40, 20))
            self.post("card", "post_srq_recv", srq="s", regions=[region])
        pointers = [["received", 10400 + 64 * (k * 7 % 16)] for k in range(16)]
        mapped = {"type": "pointer_mapped", "pattern": [{"offset": 0, "len": 30}], "pointers": pointers}
        for region in (bitmapped(200, ("received", 8600, 8)), mapped):
            self.post("card", "post_recv", qp="mapped", regions=[region])
        for _ in range(8):
            self.post("card", "post_srq_recv", srq="a", append="table")
        for k in range(3):
            self.post("card", "post_recv", qp="ud", regions=[contiguous("received", 12000 + 400 * k, 350)])

    def sends(self):
        for qp, op, length in (
                ("own", "send", 100), ("own", "send", 683), ("own", "send_imm", 1), ("strided", "send", 530),
                ("uc", "send_imm", 300), ("strided", "send_imm", 17), ("mapped", "send", 300), ("mapped", "send", 480),
                ("appends", "send", 50 * ROW), ("uc_appends", "send", 9 * ROW), ("appends", "send_imm", ROW)):
            self.message(qp, op, length)
        for length in (200, 201):
            self.message("ud", "send", length, destination="card/ud")

    def writes(self):
        for qp, op, length, key, offset in (
                ("own", "write", 5000, "open", 123), ("strided", "write", 63, "open", 7000), ("uc", "write", 777, "open", 8001),
                ("uc", "write_imm", 40, "open", 11000), ("own", "write_imm", 1500, "open", 9003),
                ("mapped", "write", 800, "fields", 55), ("strided", "write", 400, "rows", 31)):
            self.message(qp, op, length, remote=f"card/{key}", remote_offset=offset)

    def reads_and_atomics(self):
        """Of the peer, while the card has some of its own, and WRITEs."""
        for qp, key, offset, at, length in (
                ("own", "open", 77, 0, 4100), ("strided", "fields", 20, 4200, 900), ("mapped", "rows", 5, 5200, 500),
                ("own", "open", 3, 5800, 1)):
            self.ask("peer", qp, "read", f"card/{key}", offset, contiguous("sink", at, length))
        for k in range(6):
            place = contiguous("sink", 6000 + 8 * k, 8)
            self.ask("peer", ("strided", "own")[k % 2], "fetch_and_add", "card/counters", 8 * (k % 3), place, add=3 + k)
        self.ask("peer", "mapped", "compare_and_swap", "card/counters", 32, contiguous("sink", 6100, 8),
                 compare=int.from_bytes(bytes.fromhex(self.counters)[32:40], "little"), swap=6)
        self.ask("card", "own", "read", "peer/open", 31, contiguous("answers", 3, 3000))
        self.ask("card", "mapped", "fetch_and_add", "peer/counters", 8, contiguous("answers", 4000, 8), add=9)
        for qp, offset, region in (("own", 4000, contiguous("source", 9, 1900)), ("strided", 3500, strided("source", 11, 50, 20, (2, 9)))):
            self.post("card", "post_send", qp=qp, op="write", remote="peer/open", remote_offset=offset, regions=[region])

    def wraps(self):
        """Rows are given back, and more are appended, beyond the end of the columns."""
        self.steps.append({"node": "card", "verb": "give_back", "append": "table", "rows": 40})
        self.wait()
        self.message("appends", "send", 130 * ROW)
        self.message("uc_appends", "send", 20 * ROW)

    def invalidates(self):
        self.message("own", "send_invalidate", 64, remote="card/once")
        self.message("strided", "send", 200, solicited=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seed", type=int, default=7, help="of what memory holds")
    job = Job(arguments.parse_args().seed)
    nodes = job.nodes()
    parts = (job.receives, job.sends, job.writes, job.reads_and_atomics, job.wraps, job.invalidates)
    for part in parts[:-1]:
        part()
        job.wait()
    parts[-1]()
    print(json.dumps({"network": {"seed": 3}, "nodes": nodes, "steps": job.steps}, indent=1))


if __name__ == "__main__":
    main()
