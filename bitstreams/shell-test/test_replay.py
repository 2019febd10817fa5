"""What the replay finds: a card that does what was recorded, then one fault at a time. Needs nothing but Python."""

import json
import struct
import sys
import tempfile
import types
import unittest
from pathlib import Path

clock = types.SimpleNamespace(now=0)


class Timer:
    """Time that passes at once."""

    def __init__(self, count, unit):
        clock.now += count * {"ns": 1, "us": 1000}[unit]

    def __await__(self):
        return iter(())


def stub(name, **contents):
    """Stands for a module of the simulator."""
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(contents)


stub("cocotb", test=lambda: lambda function: function, start_soon=None)
stub("cocotb.triggers", Timer=Timer)
stub("cocotb.utils", get_sim_time=lambda unit: clock.now)
stub("shell", CYCLE_NS=4, Shell=None)

import replay  # noqa: E402

DATA, RING, MAC = 1 << 32, (1 << 32) + 0x4000, bytes([2, 0, 0, 0, 0, 1])
FRAMES = [bytes(6) + MAC + b"\x08\x00" + bytes(22) + replay.ROCE + bytes(20) + bytes([k]) * 20 for k in range(3)]
QUEUE_ENTRY, DOORBELL = 0x400000, 0x500000


def line(wr_id, status="success", count=0, queue=1, destination=0):
    return {"wr_id": wr_id, "status": status, "bytes": count, "queue": queue, "destination": destination}


def entry(what, at, reserved=0):
    """The entry of a completion in a ring of four."""
    code = {name: code for code, name in replay.check.STATUS.items()}[what["status"]]
    phase = 1 - (at >> 2 & 1)
    fields = what["queue"], what["destination"], code, phase, what.get("position", at), reserved
    return struct.pack("<QQIHBBII", what["wr_id"], what["bytes"], *fields)


class Shell:
    """A card that writes what it is told to when its doorbell rings; each write is an address and bytes."""

    def __init__(self, writes):
        self.memory, self.writes, self.registers = {}, writes, [None, None, self]
        self.arrived, self.wire = [], types.SimpleNamespace(rx=self)

    def map(self, address, size):
        self.memory[address] = bytearray(size)

    def at(self, address):
        base = max(base for base in self.memory if base <= address)
        return self.memory[base], address - base

    def make_unreadable(self):
        pass

    async def send(self, frame):
        self.arrived.append(frame)

    async def write_dword(self, offset, value):
        if offset == DOORBELL:
            for address, data in self.writes.pop(0):
                memory, at = self.at(address)
                memory[at:at + len(data)] = data

    async def read_dword(self, offset):
        return 0


def write(offset, value):
    return {"write": {"bar": 2, "offset": offset, "size": 4, "value": value}}


# Six requests for a ring of four, in two batches; the last is flushed by the driver.
LINES = [line(10, count=70), line(11, count=8, queue=2), line(12), line(13, count=9),
         line(14, "local_protection_error", destination=1), line(15, "wr_flush_error")]
RIGHT = [[(RING + 32 * (at & 3), entry(LINES[at], at)) for at in batch] for batch in (range(4), range(4, 5))]


def taken(batch, first):
    """What the recording says of entries that the host has taken."""
    return {"entries": {"queue": 0, "hex": b"".join(entry(what, first + at) for at, what in enumerate(batch)).hex()}}


def recording():
    lines = [write(replay.MAC_LOW, int.from_bytes(MAC, "big") & 0xFFFFFFFF), write(replay.MAC_HIGH, int.from_bytes(MAC, "big") >> 32)]
    lines += [{"map": {"addr": DATA, "size": 0x3000}}, {"map": {"addr": RING, "size": 0x1000}},
             {"mem": {"addr": DATA + 5, "hex": "07" * 100}}]
    words = [(0, RING & 0xFFFFFFFF), (4, RING >> 32), (8, 2), (28, 1)]
    lines += [write(QUEUE_ENTRY + at, value) for at, value in words] + [write(DOORBELL, 4)]
    lines += [{"completion": what} for what in LINES[:4]] + [taken(LINES[:4], 0), write(DOORBELL, 5)]
    return lines + [{"completion": what} for what in LINES[4:]] + [taken(LINES[4:5], 4)]


def failures(writes, frames=FRAMES, lines=None, fault=""):
    """What the replay finds wrong."""
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.json"
        job.write_text(json.dumps({"local": {"mac": MAC.hex(":")}, "qps": [], "posts": [{"regions": []}]}))
        job.with_suffix(".rec").write_text("\n".join(json.dumps(line) for line in lines or recording()))
        records = [bytes(8) + struct.pack("<II", len(frame), len(frame)) + frame for frame in FRAMES]
        job.with_suffix(".pcap").write_bytes(b"\xd4" + bytes(23) + b"".join(records))
        subject = replay.Replay(Shell([list(batch) for batch in writes]), job, fault)
    host = subject.run()
    try:
        host.send(None)
    except (StopIteration, TimeoutError) as error:
        subject.failures += [str(error)] if isinstance(error, TimeoutError) else []
    subject.poll()
    subject.frames += [(frame, 0, 1) for frame in frames]
    subject.compare()
    return subject.failures


def changed(at, **fields):
    """The right writes with the entry of completion `at` changed."""
    writes = [list(batch) for batch in RIGHT]
    writes[at // 4][at % 4] = (RING + 32 * (at & 3), entry({**LINES[at], **fields}, at))
    return writes


def receive(**fields):
    """The entry of a receive, the second one of a ring."""
    values = {"wr_id": 11, "bytes": 90, "imm": 5, "queue": 3, "qp": 2 | 1 << 15, "opcode": 128, "flags": 2, "status": 0, "phase": 1,
              "position": 6, "last": 0x1234, **fields}
    return struct.pack("<QIIHHBBBBII", *values.values())


def received(writes, left=b"\x07" * 90):
    """What is wrong where a peer sends a message: its receive completes, and its bytes stand in memory."""
    lines = recording()
    lines = lines[:lines.index(write(DOORBELL, 4)) + 1] + [
        {"frame": {"qpn": 0x16, "after": 0, "acknowledged": None, "hex": FRAMES[0].hex()}},
        {"completion": LINES[0]}, {"completion": {**line(11, count=90), "receive": True}},
        {"entries": {"queue": 0, "hex": (entry(LINES[0], 0) + receive()).hex()}},
        {"card": {"addr": DATA + 0x200, "hex": left.hex()}},
    ]
    return failures([[(RING, entry(LINES[0], 0)), *writes]], lines=lines)


def packet(opcode, psn, msn=0, syndrome=0x1F):
    """A frame of the queue pair with that number, of one direction or the other."""
    frame = bytearray(bytes(6) + MAC + b"\x08\x00" + bytes(20) + b"\xc0\x16" + replay.ROCE + bytes(4) + bytes([opcode]) + bytes(4))
    frame += b"\0\0\x16\x80" + psn.to_bytes(3, "big") + bytes([syndrome]) + msn.to_bytes(3, "big")
    return bytes(frame + replay.check.icrc(bytes(frame[14:])))


class Tests(unittest.TestCase):
    def found(self, writes, text, **options):
        found = "\n".join(failures(writes, **options))
        self.assertIn(text, found)

    def test_a_card_that_does_what_was_recorded_has_no_failures(self):
        self.assertEqual(failures(RIGHT), [])

    def test_every_field_of_a_completion_counts(self):
        for at in (0, 1, 3, 4):
            for field, value in (("bytes", 71), ("bytes", 1 << 40), ("queue", 7), ("destination", 3), ("status", "retry_exceeded"),
                                 ("position", 77)):
                with self.subTest(at=at, field=field):
                    self.found(changed(at, **{field: value}), f"{field}={value!r}")

    def test_reserved_bytes_of_an_entry_are_0(self):
        writes = [list(batch) for batch in RIGHT]
        writes[0][2] = (RING + 64, entry(LINES[2], 2, reserved=1 << 24))
        self.found(writes, "reserved bytes")

    def test_a_completion_too_few_or_too_many_is_found(self):
        self.found([RIGHT[0], []], "no completion 14")
        more = RIGHT[1] + [(RING + 32, entry(line(16), 5))]
        self.found([RIGHT[0], more], "wr_id=16")
        self.found(changed(2, wr_id=99), "wr_id=99")

    def test_the_cards_own_flush_may_stand_in_the_ring(self):
        lines = recording()[:-1] + [taken(LINES[4:], 4)]
        for batch in (RIGHT[1], RIGHT[1] + [(RING + 32, entry(LINES[5], 5))]):
            self.assertEqual(failures([RIGHT[0], batch], lines=lines), [])

    def test_stray_writes_are_found(self):
        places = {"data": (DATA + 0x2FFF, b"\x01"), "over data": (DATA + 5, b"\x00"), "behind the ring": (RING + 128, b"\x01"),
                  "over a completion that was seen": (RING + 32 + 8, b"\x09")}
        for name, (address, data) in places.items():
            with self.subTest(name):
                self.found([RIGHT[0], RIGHT[1] + [(address, data)]], f"1 B at {address:#x} were written astray")

    def test_many_stray_writes_are_told_shortly(self):
        strays = [(DATA + 0x1000 + 16 * k, b"\x01\x02") for k in range(9)]
        found = failures([RIGHT[0], RIGHT[1] + strays])
        self.assertEqual(len(found), 6)
        self.assertIn("2 B at 0x100001000 were written astray", found)
        self.assertIn("and 4 more", found)

    def test_frames_are_compared_byte_by_byte(self):
        self.found(RIGHT, "frames instead of 3", frames=FRAMES[:2])
        self.found(RIGHT, "frames instead of 3", frames=FRAMES + FRAMES[:1])
        self.found(RIGHT, "1 alike at first", frames=[FRAMES[0], FRAMES[1][:-1] + b"\xff", FRAMES[2]])

    def test_every_field_of_a_receives_completion_counts(self):
        right = (DATA + 0x200, b"\x07" * 90)
        self.assertEqual(received([(RING + 32, receive()), right]), [])
        for field, value in (("wr_id", 12), ("bytes", 91), ("imm", 6), ("queue", 2), ("qp", 3 | 1 << 15), ("opcode", 129), ("flags", 0),
                             ("status", 1), ("position", 7), ("last", 0x1235), ("qp", 2)):
            with self.subTest(field):
                self.assertNotEqual(received([(RING + 32, receive(**{field: value})), right]), [])

    def test_what_a_peer_writes_stands_in_memory_and_nothing_else(self):
        completion = (RING + 32, receive())
        self.assertIn("90 B at 0x100000200", "\n".join(received([completion])))
        self.assertIn("1 B at 0x100000210", "\n".join(received([completion, (DATA + 0x200, b"\x07" * 16 + b"\x08" + b"\x07" * 73)])))
        self.assertIn("1 B at 0x10000025a", "\n".join(received([completion, (DATA + 0x200, b"\x07" * 91)])))

    def test_a_peers_frame_waits_for_those_of_the_card_before_it(self):
        port, sent = packet(0, 0)[replay.check.SOURCE_PORT], replay.check.Sent()
        self.assertTrue(sent.has(port, 0, None))
        for frame, frames, acknowledged in ((packet(0x0A, 5), 1, None), (packet(0x11, 0xFFFFFF), 1, 0xFFFFFF), (packet(0x11, 2), 1, 1),
                                            (packet(0x10, 3), 2, 3), (packet(0x11, 1), 2, 3)):
            sent.add(frame)
            self.assertTrue(sent.has(port, frames, acknowledged))
            self.assertFalse(sent.has(port, frames + 1, acknowledged))
        self.assertFalse(sent.has(port, 0, 4))
        self.assertFalse(sent.has(b"\xc0\x17", 0, 3))

    def test_acknowledgements_stand_for_others_and_tell_what_is_complete(self):
        # A SEND of two packets, a WRITE, a READ.
        requests = [packet(0, 0xFFFFFF), packet(2, 0), packet(0x0A, 1), packet(0x0C, 2)]
        want = [packet(0x11, 0, 1), packet(0x11, 1, 2)]

        def wrong(*got):
            return "\n".join(replay.check.acknowledgements(list(got), want, requests))
        for got in (want, want[1:], [packet(0x11, 0xFFFFFF, 0), *want], []):
            self.assertEqual(wrong(*got), "")
        self.assertIn("2 messages instead of 1", wrong(packet(0x11, 0, 2)))
        self.assertIn("instead of None", wrong(packet(0x11, 7, 2)))
        self.assertIn("behind one of", wrong(want[1], want[0]))
        self.assertIn("behind one of", wrong(want[1], want[1]))
        for at in (0, 20, 30, 45, 50, 54, 58):
            frame = bytearray(want[0])
            frame[at] ^= 1
            self.assertIn("is not like", wrong(bytes(frame)), at)
        self.assertIn("where there was none", replay.check.acknowledgements(want, [], requests)[0])

    def test_with_a_fault_the_whole_completion_counts_as_well(self):
        lines = [each for each in recording() if not each.keys() & {"completion", "entries"}][:-1] + [{"completion": LINES[0]}]
        place, right = RING, line(10, "retry_exceeded")
        self.assertEqual(failures([[(place, entry(right, 0))]], lines=lines, fault="no-ack"), [])
        for field, value in (("bytes", 70), ("wr_id", 3), ("queue", 9), ("destination", 1), ("status", "success")):
            with self.subTest(field):
                writes = [[(place, entry({**right, field: value}, 0))]]
                self.found(writes, "instead of one like", lines=lines, fault="no-ack")


if __name__ == "__main__":
    unittest.main()
