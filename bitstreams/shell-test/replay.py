"""Replays recordings of `drdma run --record` against the card in the shell (started by run.py)."""

import json
import logging
import os
import struct
import time
import zlib
from collections import Counter
from pathlib import Path

import cocotb
from cocotb.triggers import Timer
from cocotb.utils import get_sim_time

import check
from shell import CYCLE_NS, Shell

ROCE = b"\x12\xb7"
CONTROL, ACK_TIMEOUT = 0x14, 0x30
COMPLETION_QUEUES, DOORBELLS = range(0x400000, 0x408000), range(0x500000, 0x504000)
# What depends on time: CYCLES, ASSEMBLE_*, and (requests that meet share reads) DATA_READS, DATA_READ_BYTES, WINDOWS.
TIMES = {0x100, 0x104, *range(0x120, 0x130, 4), *range(0x150, 0x178, 4)}
FAULTS = {"no-ack": "retry_exceeded", "read-fault": "local_protection_error"}
PATIENCE_NS = 400_000


def now():
    return get_sim_time("ns")


def is_roce(frame):
    return frame[12:14] == b"\x08\x00" and frame[36:38] == ROCE


def captured(path, mac):
    """The frames of a capture that `mac` sent."""
    data = path.read_bytes()
    order = "<" if data[0] in (0xD4, 0x4D) else ">"
    frames, at = [], 24
    while at < len(data):
        length = struct.unpack_from(order + "8xI", data, at)[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return [frame for frame in frames if frame[6:12] == mac]


def acknowledgement(frame, qpn, msn):
    """The ACK of a frame (IPv4 without options): its PSN, its addresses swapped (IBTA 1.4 section 9.7.5)."""
    transport = b"\x11\x00\xff\xff\x00" + qpn.to_bytes(3, "big") + b"\x00" + frame[51:54]
    transport += (msn & 0xFFFFFF).to_bytes(4, "big")  # syndrome 0: ACK
    udp = frame[34:36] + ROCE + struct.pack("!HH", 8 + len(transport) + 4, 0)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp) + len(transport) + 4, 0, 0x4000, 64, 17, 0)
    ip += frame[30:34] + frame[26:30]
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    packet = ip[:10] + struct.pack("!H", ~total & 0xFFFF) + ip[12:] + udp + transport
    masked = bytearray(b"\xff" * 8 + packet)
    for byte in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, both checksums, the BTH's reserved byte
        masked[8 + byte] = 0xFF
    return frame[6:12] + frame[:6] + b"\x08\x00" + packet + struct.pack("<I", zlib.crc32(bytes(masked)))


class Replay:
    """One recording on one shell, with the peers that its frames go to, and a fault (of FAULTS) or none."""

    def __init__(self, shell, job, fault=""):
        self.shell, self.fault = shell, fault
        self.job = json.loads(job.read_text())
        self.lines = [json.loads(line) for line in job.with_suffix(".rec").read_text().splitlines()]
        self.capture = captured(job.with_suffix(".pcap"), bytes.fromhex(self.job["local"]["mac"].replace(":", "")))
        self.peers = {qp["dest_qpn"]: qp["qpn"] for qp in self.job["qps"]}
        self.frames, self.foreign, self.acknowledged = [], [], Counter()
        self.rings, self.taken, self.registers = {}, Counter(), {}
        self.completions, self.expected, self.failures = [], [], []
        self.image = check.HostMemory()
        self.rung = self.done = None

    async def serve(self):
        """Takes frames from the wire, and answers as RC peers do."""
        while True:
            frame = await self.shell.wire.tx.recv()
            data, start, end = bytes(frame.data), frame.sim_time_start / 1000, frame.sim_time_end / 1000  # ps
            roce = is_roce(data)
            (self.frames if roce else self.foreign).append((data, start, end))
            qpn = self.peers.get(int.from_bytes(data[47:50], "big"))
            if roce and data[42] < 0x20 and data[50] & 0x80 and qpn is not None and self.fault != "no-ack":
                self.acknowledged[qpn] += 1
                await self.shell.wire.rx.send(acknowledgement(data, qpn, self.acknowledged[qpn]))

    def peek(self, address, size):
        memory, offset = self.shell.at(address)
        return bytes(memory[offset:offset + size])

    def poll(self):
        """Takes what the card has written to completion queues."""
        for number, (address, log_size) in self.rings.items():
            while True:
                at = self.taken[number]
                place = address + 32 * (at & ((1 << log_size) - 1))
                entry = self.peek(place, 32)
                completion, phase, clean = check.decode(entry)
                if phase != 1 - (at >> log_size & 1):
                    break
                self.taken[number] += 1
                self.image.write(place, entry)
                self.completions.append(completion)
                if not clean:
                    self.failures.append(f"{completion} has reserved bytes that are not 0")
                self.done = now()

    async def until(self, condition, what):
        start = now()
        while not condition():
            if now() - start > PATIENCE_NS:
                raise TimeoutError(what)
            await Timer(50 * CYCLE_NS, "ns")
            self.poll()

    async def write(self, offset, value):
        if offset == ACK_TIMEOUT and self.fault == "no-ack":
            value = 2  # x 1,024 cycles
        self.registers[offset] = value
        if offset in COMPLETION_QUEUES and offset % 32 == 28:  # the word that makes an entry effective
            number = (offset - COMPLETION_QUEUES.start) // 32
            low, high, log_size = (self.registers.get(offset - 28 + at, 0) for at in (0, 4, 8))
            self.poll()
            self.rings.pop(number, None)
            if value:
                self.rings[number], self.taken[number] = (low | high << 32, log_size & 0xFF), 0
        if offset in DOORBELLS and self.rung is None:
            if self.fault == "read-fault":
                self.shell.make_unreadable()
            self.frames.clear()  # of what was interrupted before
            self.rung = now()
        await self.shell.registers[2].write_dword(offset, value)

    async def read(self, offset, value):
        got = await self.shell.registers[2].read_dword(offset)
        while offset == CONTROL and got & 2:  # still clearing its tables
            got = await self.shell.registers[2].read_dword(offset)
        if got != value and offset not in TIMES:
            self.failures.append(f"read {offset:#x}: {got:#x} instead of {value:#x}")

    async def reset_card(self):
        """The card's own reset, which ends when nothing of before is in progress any more."""
        await self.shell.registers[2].write_dword(CONTROL, 2)
        await self.read(CONTROL, 0)

    async def completion(self, expected):
        self.expected.append(expected)
        want = sum(one.wr_id == expected.wr_id for one in self.expected)
        if expected.status != "wr_flush_error":  # else the driver's, which never stands in the ring
            def came():
                return sum(one.wr_id == expected.wr_id for one in self.completions) >= want
            await self.until(came, f"no completion {expected.wr_id}")

    async def run(self):
        """Does what the host did, line by line; with a fault up to the first completion."""
        for line in self.lines:
            (kind, what), = line.items()
            if kind == "map":
                self.shell.map(what["addr"], what["size"])
                self.image.map(what["addr"], what["size"])
            elif kind == "mem":
                memory, offset = self.shell.at(what["addr"])
                data = bytes.fromhex(what["hex"])
                memory[offset:offset + len(data)] = data
                self.image.write(what["addr"], data)
            elif kind == "completion" and self.fault:
                self.expected.append(check.recorded(what))
                return await self.until(lambda: self.completions, "no completion")
            elif kind == "completion":
                await self.completion(check.recorded(what))
            else:
                await (self.write if kind == "write" else self.read)(what["offset"], what["value"])

    def compare(self):
        """Adds to the failures what is not as it was recorded."""
        queues = {}  # by destination queue pair: between queue pairs there is no order
        for at, frames in enumerate(([frame for frame, _, _ in self.frames], self.capture)):
            for frame in frames:
                queues.setdefault(frame[47:50], ([], []))[at].append(frame)
        for qp, (got, want) in queues.items():
            if got != (want[:len(got)] if self.fault else want):
                same = len(os.path.commonprefix([got, want]))
                self.failures.append(f"to {qp.hex()}: {len(got)} frames instead of {len(want)}, {same} alike at first")
        if self.fault and self.expected:
            post = self.job["posts"][0]
            destinations = len(post.get("destinations", [post]))
            status = FAULTS[self.fault]
            self.failures += check.failed(self.completions, self.expected[0], status, destinations)
        else:
            self.failures += check.completions(self.completions, self.expected)
        self.failures += self.image.strays(self.peek)

    def summary(self):
        """Frames and cycles, the doorbell being cycle 0."""
        def cycle(time):
            return round((time - self.rung) / CYCLE_NS) if time and self.rung else "-"
        line = f"{len(self.frames)} frames, {sum(self.acknowledged.values())} ACKs, {len(self.foreign)} of the NIC, "
        line += f"last completion by cycle {cycle(self.done)}"
        if self.frames:
            first, last = self.frames[0][1], self.frames[-1][2]
            own = sum(len(frame) for frame, _, _ in self.frames)
            other = sum(len(frame) + 20 for frame, start, end in self.foreign if start >= first and end <= last)
            wire = own + 20 * len(self.frames) + other  # with preamble and gap; the model of the MAC has no FCS
            line += f", frames from cycle {cycle(first)} to {cycle(last)}: {own * 8 / (last - first):.1f} Gb/s"
            line += f", {wire * 8 / (last - first):.1f} Gb/s of the wire"
        return line


class NicTraffic:
    """Frames of the NIC in both directions while the card works, of 60 to 1,500 bytes."""

    def __init__(self, shell, replay, count):
        self.shell, self.replay, self.taken = shell, replay, []
        self.sent, self.received = (
            [bytes([2, 0, 0, 0, 0, way, 2, 0, 0, 0, 0, 9, 0x12, 0x34]) + bytes((n + x * 7) & 255 for x in range(size))
             for n in range(count) for size in [46 + n * 97 % 1440]] for way in (1, 2))
        self.tasks = [cocotb.start_soon(task) for task in (self.send(), self.receive(), self.take())]

    async def send(self):
        await self.replay.until(lambda: self.replay.rung, "no doorbell")
        for frame in self.sent:
            await self.shell.nic.start_xmit(frame, 0)

    async def receive(self):
        await self.replay.until(lambda: self.replay.rung, "no doorbell")
        for frame in self.received:
            await self.shell.wire.rx.send(frame)

    async def take(self):
        while len(self.taken) < len(self.received):
            frame = bytes((await self.shell.nic.recv()).data)
            if not is_roce(frame):  # an acknowledgement that came while the card had no address is the NIC's
                self.taken.append(frame)

    async def finish(self):
        """Waits for all frames, which must come unchanged and in order."""
        await self.replay.until(lambda: len(self.replay.foreign) >= len(self.sent), "frames of the NIC are missing")
        await self.replay.until(lambda: len(self.taken) >= len(self.received), "frames to the NIC are missing")
        assert [frame for frame, _, _ in self.replay.foreign] == self.sent, "frames of the NIC left otherwise"
        assert self.taken == self.received, "frames to the NIC arrived otherwise"


async def interrupt(shell, job, reset):
    """Replays a job until half of its frames are out; then the shell is reset, or the card.

    The memory stays until that is done: so long the card may write to it, completions too.
    """
    half = Replay(shell, job)
    server, host = cocotb.start_soon(half.serve()), cocotb.start_soon(half.run())
    await half.until(lambda: half.rung and len(half.frames) > len(half.capture) // 2, "no frames to interrupt")
    host.kill()
    if reset:
        server.kill()
        await shell.reset()
    else:
        await half.reset_card()
        server.kill()
    shell.unmap_all()


async def replay_job(shell, job, how, nic):
    """Replays a job; whether all was as recorded."""
    start = time.monotonic()
    print(f"Replaying {job.stem} {how}".strip(), flush=True)
    if how in ("cut", "reset"):
        await interrupt(shell, job, how == "reset")
    replay = Replay(shell, job, how if how in FAULTS else "")
    server = cocotb.start_soon(replay.serve())
    try:
        traffic = NicTraffic(shell, replay, nic if shell.nic else 0)
        await replay.run()
        await traffic.finish()
    except (TimeoutError, AssertionError) as error:
        replay.failures.append(str(error))
    await Timer(2, "us")  # for what should not come
    replay.poll()
    server.kill()
    replay.compare()
    shell.unmap_all()
    print("FAIL" if replay.failures else "PASS", f"{job.stem} {how}".strip() + ":", replay.summary(),
          f"({time.monotonic() - start:.1f} s)", flush=True)
    for failure in replay.failures:
        print("    -", failure, flush=True)
    return not replay.failures


@cocotb.test()
async def replay_all(dut):
    nic = int(os.environ["NIC"])
    shell = Shell(dut)
    for name in list(logging.root.manager.loggerDict):
        if name not in ("cocotb", "cocotb.regression"):
            logging.getLogger(name).setLevel(logging.ERROR)
    await shell.start(nic)
    jobs = [job.partition("=") for job in os.environ["JOBS"].split(os.pathsep)]
    passed = [await replay_job(shell, Path(path), how, nic) for path, _, how in jobs]
    assert all(passed), f"{passed.count(False)} jobs failed"
