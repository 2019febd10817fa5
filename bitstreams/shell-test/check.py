"""What a replay must leave in the host's memory. Needs nothing but Python: test_replay.py tests it."""

import struct
import zlib
from collections import Counter, namedtuple

# Entries of a completion queue (drdma_abi::completion::Completion, drdma_abi::receive::ReceiveCompletion): the last word but one is
# a position in the ring; the last is 0, or of a receive a datagram's sender or the first row that was appended.
ENTRY, RECEIVE_ENTRY = struct.Struct("<QQIHBBII"), struct.Struct("<QIIHHBBBBII")
QUEUE_WORD, PHASE_BYTE, IS_RECEIVE = 16, 23, 1 << 31
STATUS = {0: "success", 1: "local_length_error", 2: "local_qp_operation_error", 4: "local_protection_error",
          5: "wr_flush_error", 7: "bad_response_error", 9: "remote_invalid_request_error", 10: "remote_access_error",
          11: "remote_operation_error", 12: "retry_exceeded", 13: "rnr_retry_exceeded"}
# So many stray writes are told; where one goes wrong, thousands may.
ENOUGH = 5
CHUNK = 1 << 16

Completion = namedtuple("Completion", "wr_id status bytes queue destination position")
Receive = namedtuple("Receive", "wr_id status bytes imm queue qp opcode flags position last")


def decode(entry):
    """An entry of a ring: the completion, its phase, and whether its reserved bytes are 0."""
    if struct.unpack_from("<I", entry, QUEUE_WORD)[0] & IS_RECEIVE:
        wr_id, count, imm, queue, qp, opcode, flags, status, phase, position, last = RECEIVE_ENTRY.unpack(entry)
        return Receive(wr_id, STATUS.get(status, status), count, imm, queue, qp & 0x7FFF, opcode, flags, position, last), phase, True
    wr_id, count, queue, destination, status, phase, position, reserved = ENTRY.unpack(entry)
    return Completion(wr_id, STATUS.get(status, status), count, queue, destination, position), phase, reserved == 0


def recorded(line):
    """The completion of a recording's line, whose position it does not tell."""
    return Completion(*(line.get(field, 0) for field in Completion._fields))


def entries(text):
    """The completions of a recording's line of entries."""
    data = bytes.fromhex(text)
    return [decode(data[at:at + ENTRY.size])[0] for at in range(0, len(data), ENTRY.size)]


def completions(got, expected):
    """What is wrong with the completions that the card has written, as a list of messages.

    A request that is flushed may be completed by the driver: then it never stands in a ring.
    """
    done, wanted = Counter(got), Counter(expected)
    must = Counter({want: n for want, n in wanted.items() if want.status != "wr_flush_error"})
    wrong = [f"{one} was not expected" for one in (done - wanted).elements()]
    return wrong + [f"{one} is missing" for one in (must - done).elements()]


def failed(got, expected, status, destinations):
    """The same where a fault makes the job's one post fail, for any of its destinations."""
    want = expected._replace(status=status, bytes=0, destination=0)
    if len(got) == 1 and got[0].destination < destinations and got[0]._replace(destination=0, position=0) == want:
        return []
    return [f"completions {got} instead of one like {want}"]


# What stands where in a frame without a tag (IPv4 without options), and operations (IBTA 1.4 table 38).
OPCODE, DEST_QP, PSN, SYNDROME, MSN = 42, slice(47, 50), slice(51, 54), 54, slice(55, 58)
SOURCE_PORT = slice(34, 36)
ACKNOWLEDGE, CNP = 0x11, 0x81
RESPONSES = (0x0D, 0x0E, 0x0F, 0x10, 0x12)
# Those that complete a message in the peer's count: last and only packets, READs and atomics.
COUNTED = (0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x13, 0x14, 0x16, 0x17)


def number(data):
    return int.from_bytes(data, "big")


def ahead(psn, of):
    """How far a packet sequence number is ahead of another: -2^23 to 2^23 - 1."""
    return ((psn - of + (1 << 23)) & 0xFFFFFF) - (1 << 23)


def icrc(packet):
    """The invariant CRC of a packet from its IPv4 header on, without the CRC."""
    masked = bytearray(b"\xff" * 8 + packet)
    for byte in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, both checksums, the BTH's reserved byte
        masked[8 + byte] = 0xFF
    return struct.pack("<I", zlib.crc32(bytes(masked)))


def counts(requests):
    """How many messages are complete with each of the requests of a peer, by its packet sequence number."""
    count, found = 0, {}
    for frame in requests:
        if frame[OPCODE] < 0x20 and frame[OPCODE] not in RESPONSES + (ACKNOWLEDGE,):
            count += frame[OPCODE] in COUNTED
            found[number(frame[PSN])] = count
    return found


class Sent:
    """What a card has sent on each queue pair, by its source port: frames of which the number does not depend on time, and the
    last sequence number of its peer's that it has acknowledged or answered."""

    def __init__(self, frames=()):
        self.frames, self.acknowledged = Counter(), {}
        for frame in frames:
            self.add(frame)

    def add(self, frame):
        port, opcode, psn = frame[SOURCE_PORT], frame[OPCODE], number(frame[PSN])
        self.frames[port] += opcode not in (ACKNOWLEDGE, CNP)
        if opcode in RESPONSES + (ACKNOWLEDGE,) and ahead(psn, self.acknowledged.get(port, psn - 1)) > 0:
            self.acknowledged[port] = psn

    def has(self, port, frames, acknowledged):
        """Whether it has come so far."""
        last = self.acknowledged.get(port)
        return self.frames[port] >= frames and (acknowledged is None or last is not None and ahead(last, acknowledged) >= 0)

    def is_same(self, other):
        return self.frames == other.frames and self.acknowledged == other.acknowledged


def acknowledgements(got, want, requests):
    """What is wrong with a queue pair's acknowledgements, as a list of messages.

    One may stand for several, so that only some of those that were recorded may come, and others besides; each must be of a
    request that came, with the messages that are complete then, and otherwise like those that were recorded.
    """
    if got and not want:
        return [f"{len(got)} acknowledgements where there was none"]
    known, wrong, last = counts(requests), [], None
    for frame in got:
        psn, msn = number(frame[PSN]), number(frame[MSN])
        like = frame[:51] + want[0][PSN] + frame[54:55] + want[0][MSN]
        if like != want[0][:58] or len(frame) != len(want[0]) or frame[-4:] != icrc(frame[14:-4]):
            wrong.append(f"acknowledgement {frame.hex()} is not like {want[0].hex()}")
        if known.get(psn) != msn:
            wrong.append(f"acknowledgement of {psn:#x} tells {msn} messages instead of {known.get(psn)}")
        if last is not None and ahead(psn, last) <= 0:
            wrong.append(f"acknowledgement of {psn:#x} behind one of {last:#x}")
        last = psn
    return wrong


class HostMemory:
    """What should stand in the host's memory: zeros, what the host wrote, and completions."""

    def __init__(self):
        self.regions = {}

    def map(self, address, size):
        self.regions[address] = bytearray(size)

    def write(self, address, data):
        base = max(base for base in self.regions if base <= address)
        at = address - base
        assert at + len(data) <= len(self.regions[base]), f"{address:#x} is not mapped"
        self.regions[base][at:at + len(data)] = data

    def strays(self, read):
        """Bytes that nobody should have written, as a list of messages. `read(address, size)` gives what is there."""
        runs = []
        for base, want in sorted(self.regions.items()):
            for at in range(0, len(want), CHUNK):
                part = bytes(want[at:at + CHUNK])
                got = bytes(read(base + at, len(part)))
                if got != part:
                    runs += self.differences(base + at, got, part)
        wrong = [f"{stop - start} B at {start:#x} were written astray" for start, stop in runs[:ENOUGH]]
        return wrong + ([f"and {len(runs) - ENOUGH} more"] if len(runs) > ENOUGH else [])

    @staticmethod
    def differences(address, got, want):
        """The runs of bytes that differ, as addresses from and to."""
        runs = []
        for at in (at for at, pair in enumerate(zip(got, want)) if pair[0] != pair[1]):
            if runs and runs[-1][1] == address + at:
                runs[-1][1] += 1
            else:
                runs.append([address + at, address + at + 1])
        return runs
