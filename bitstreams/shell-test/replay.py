"""Replays recordings of `drdma run --record` against the card in the shell (started by run.py)."""

import json
import logging
import os
import struct
import time
from collections import Counter
from pathlib import Path

import cocotb
from cocotb.triggers import Timer
from cocotb.utils import get_sim_time

import check
from shell import CYCLE_NS, Shell

ROCE = b"\x12\xb7"
CONTROL, MAC_LOW, MAC_HIGH, ACK_TIMEOUT = 0x14, 0x24, 0x28, 0x30
COMPLETION_QUEUES = range(0x400000, 0x408000)
# Of send queues and receive queues.
DOORBELLS = {*range(0x500000, 0x504000, 4), *range(0xB00000, 0xB04000, 4)}
# What depends on time: CYCLES, ASSEMBLE_*, (requests that meet share reads) DATA_READS, DATA_READ_BYTES, WINDOWS, and
# ACKS, because an acknowledgement takes the place of one of its queue pair that waits in the card.
TIMES = {0x100, 0x104, *range(0x120, 0x130, 4), *range(0x148, 0x178, 4)}
# And where peers send: FRAME_BYTES and PACKETS, because the card's acknowledgements stand for others that are waiting;
# CONTROL_READS and their bytes, because bitmaps and pointers are read again where packets of other queue pairs come
# between.
TIMES_OF_RECEIVES = {*range(0x110, 0x120, 4), *range(0x130, 0x140, 4)}
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
    return frame[6:12] + frame[:6] + b"\x08\x00" + packet + check.icrc(packet)


class Replay:
    """One recording on one shell, with the peers that its frames go to, and a fault (of FAULTS) or none."""

    def __init__(self, shell, job, fault=""):
        self.shell, self.fault = shell, fault
        self.job = json.loads(job.read_text())
        self.lines = [json.loads(line) for line in job.with_suffix(".rec").read_text().splitlines()]
        self.capture = captured(job.with_suffix(".pcap"), self.mac())
        # Frames that peers sent; where there are some, no others are made here.
        self.requests = [bytes.fromhex(line["frame"]["hex"]) for line in self.lines if "frame" in line]
        self.peers = {} if self.requests else {qp["dest_qpn"]: qp["qpn"] for qp in self.job["qps"]}
        self.frames, self.foreign, self.acknowledged = [], [], Counter()
        self.sent = check.Sent()
        self.rings, self.taken, self.registers = {}, Counter(), {}
        self.completions, self.expected, self.entries, self.awaited = [], [], [], Counter()
        self.failures = []
        self.image = check.HostMemory()
        self.rung = self.done = None
        self.is_written = False  # registers, since the last read

    def mac(self):
        """The card's address, as the host writes it."""
        words = {line["write"]["offset"]: line["write"]["value"] for line in self.lines if "write" in line}
        return (words.get(MAC_HIGH, 0) << 32 | words.get(MAC_LOW, 0)).to_bytes(6, "big")

    async def serve(self):
        """Takes frames from the wire, and answers as RC peers do."""
        while True:
            frame = await self.shell.wire.tx.recv()
            data, start, end = bytes(frame.data), frame.sim_time_start / 1000, frame.sim_time_end / 1000  # ps
            roce = is_roce(data)
            (self.frames if roce else self.foreign).append((data, start, end))
            if roce:
                self.sent.add(data)
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
            self.sent = check.Sent()
            self.rung = now()
        await self.shell.registers[2].write_dword(offset, value)
        self.is_written = True

    async def read(self, offset, value):
        got = await self.shell.registers[2].read_dword(offset)
        while offset == CONTROL and got & 2:  # still clearing its tables
            got = await self.shell.registers[2].read_dword(offset)
        if got != value and offset not in TIMES and not (self.requests and offset in TIMES_OF_RECEIVES):
            self.failures.append(f"read {offset:#x}: {got:#x} instead of {value:#x}")

    async def reset_card(self):
        """The card's own reset, which ends when nothing of before is in progress any more."""
        await self.shell.registers[2].write_dword(CONTROL, 2)
        await self.read(CONTROL, 0)

    async def completion(self, line):
        key = (line["wr_id"], line.get("receive", False))
        self.awaited[key] += 1
        want = self.awaited[key]
        if line["status"] != "wr_flush_error":  # else the driver's, which never stands in the ring
            def came():
                return sum((one.wr_id, isinstance(one, check.Receive)) == key for one in self.completions) >= want
            await self.until(came, f"no completion {line['wr_id']}")

    async def frame(self, line):
        """Sends a peer's frame when the card has sent what was before it then."""
        port = (0xC000 | line["qpn"] & 0x3FFF).to_bytes(2, "big")

        def due():
            return self.sent.has(port, line["after"], line["acknowledged"])
        await self.until(due, f"frames of queue pair {line['qpn']:#x} are missing")
        if self.is_written:  # writes are posted, and no read overtakes them
            await self.shell.registers[2].read_dword(CONTROL)
            self.is_written = False
        await self.shell.wire.rx.send(bytes.fromhex(line["hex"]))

    async def finish(self):
        """Waits for what the card sends last."""
        if self.requests:
            wanted = check.Sent(self.capture)
            await self.until(lambda: self.sent.is_same(wanted), "frames are missing at the end")

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
                await self.completion(what)
            elif kind == "entries":
                self.entries += check.entries(what["hex"])
            elif kind == "frame":
                await self.frame(what)
            elif kind == "card":
                self.image.write(what["addr"], bytes.fromhex(what["hex"]))
            else:
                await (self.write if kind == "write" else self.read)(what["offset"], what["value"])

    def compare(self):
        """Adds to the failures what is not as it was recorded."""
        # By destination queue pair, requests and answers: between these there is no order.
        queues, acknowledgements = {}, {}
        for at, frames in enumerate(([frame for frame, _, _ in self.frames], self.capture)):
            for frame in frames:
                qp, opcode = frame[check.DEST_QP], frame[check.OPCODE]
                if opcode == check.ACKNOWLEDGE:
                    acknowledgements.setdefault((qp, frame[check.SOURCE_PORT]), ([], []))[at].append(frame)
                else:
                    queues.setdefault((qp, opcode in check.RESPONSES), ([], []))[at].append(frame)
        for (qp, port), (got, want) in acknowledgements.items():
            requests = [frame for frame in self.requests if 0xC000 | check.number(frame[check.DEST_QP]) & 0x3FFF == check.number(port)]
            self.failures += [f"to {qp.hex()}: {wrong}" for wrong in check.acknowledgements(got, want, requests)]
        for (qp, _), (got, want) in queues.items():
            if got != (want[:len(got)] if self.fault else want):
                same = len(os.path.commonprefix([got, want]))
                self.failures.append(f"to {qp.hex()}: {len(got)} frames instead of {len(want)}, {same} alike at first")
        if self.fault and self.expected:
            post = self.job["posts"][0]
            destinations = len(post.get("destinations", [post]))
            status = FAULTS[self.fault]
            self.failures += check.failed(self.completions, self.expected[0], status, destinations)
        else:
            self.failures += check.completions(self.completions, self.entries)
        self.failures += self.image.strays(self.peek)

    def summary(self):
        """Frames and cycles, the doorbell being cycle 0."""
        def cycle(time):
            return round((time - self.rung) / CYCLE_NS) if time and self.rung else "-"
        line = f"{len(self.frames)} frames, {len(self.requests) or sum(self.acknowledged.values())} of peers, "
        line += f"{len(self.foreign)} of the NIC, "
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
        await replay.finish()
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
