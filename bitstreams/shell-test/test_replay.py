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


def entry(what, at, reserved=bytes(8)):
    """The entry of a completion in a ring of four."""
    code = {name: code for code, name in replay.check.STATUS.items()}[what["status"]]
    phase = 1 - (at >> 2 & 1)
    return struct.pack("<QQIHBB8s", what["wr_id"], what["bytes"], what["queue"], what["destination"], code, phase, reserved)


class Shell:
    """A card that writes what it is told to when its doorbell rings; each write is an address and bytes."""

    def __init__(self, writes):
        self.memory, self.writes, self.registers = {}, writes, [None, None, self]

    def map(self, address, size):
        self.memory[address] = bytearray(size)

    def at(self, address):
        base = max(base for base in self.memory if base <= address)
        return self.memory[base], address - base

    def make_unreadable(self):
        pass

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


def recording():
    lines = [{"map": {"addr": DATA, "size": 0x3000}}, {"map": {"addr": RING, "size": 0x1000}},
             {"mem": {"addr": DATA + 5, "hex": "07" * 100}}]
    words = [(0, RING & 0xFFFFFFFF), (4, RING >> 32), (8, 2), (28, 1)]
    lines += [write(QUEUE_ENTRY + at, value) for at, value in words] + [write(DOORBELL, 4)]
    lines += [{"completion": what} for what in LINES[:4]] + [write(DOORBELL, 5)]
    return lines + [{"completion": what} for what in LINES[4:]]


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


class Tests(unittest.TestCase):
    def found(self, writes, text, **options):
        found = "\n".join(failures(writes, **options))
        self.assertIn(text, found)

    def test_a_card_that_does_what_was_recorded_has_no_failures(self):
        self.assertEqual(failures(RIGHT), [])

    def test_every_field_of_a_completion_counts(self):
        for at in (0, 1, 3, 4):
            for field, value in (("bytes", 71), ("bytes", 1 << 40), ("queue", 7), ("destination", 3), ("status", "retry_exceeded")):
                with self.subTest(at=at, field=field):
                    self.found(changed(at, **{field: value}), f"{field}={value!r}")

    def test_reserved_bytes_of_an_entry_are_0(self):
        writes = [list(batch) for batch in RIGHT]
        writes[0][2] = (RING + 64, entry(LINES[2], 2, reserved=b"\0\0\0\0\0\0\0\1"))
        self.found(writes, "reserved bytes")

    def test_a_completion_too_few_or_too_many_is_found(self):
        self.found([RIGHT[0], []], "no completion 14")
        more = RIGHT[1] + [(RING + 32, entry(line(16), 5))]
        self.found([RIGHT[0], more], "wr_id=16")
        self.found(changed(2, wr_id=99), "wr_id=99")

    def test_the_cards_own_flush_may_stand_in_the_ring(self):
        self.assertEqual(failures([RIGHT[0], RIGHT[1] + [(RING + 32, entry(LINES[5], 5))]]), [])

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

    def test_with_a_fault_the_whole_completion_counts_as_well(self):
        lines = [each for each in recording() if "completion" not in each][:-1] + [{"completion": LINES[0]}]
        place, right = RING, line(10, "retry_exceeded")
        self.assertEqual(failures([[(place, entry(right, 0))]], lines=lines, fault="no-ack"), [])
        for field, value in (("bytes", 70), ("wr_id", 3), ("queue", 9), ("destination", 1), ("status", "success")):
            with self.subTest(field):
                writes = [[(place, entry({**right, field: value}, 0))]]
                self.found(writes, "instead of one like", lines=lines, fault="no-ack")


if __name__ == "__main__":
    unittest.main()
