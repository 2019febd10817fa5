"""What a replay must leave in the host's memory. Needs nothing but Python: test_replay.py tests it."""

import struct
from collections import Counter, namedtuple

# An entry of a completion queue (drdma_abi::completion::Completion).
ENTRY = struct.Struct("<QQIHBB8s")
STATUS = {0: "success", 1: "local_length_error", 2: "local_qp_operation_error", 4: "local_protection_error",
          5: "wr_flush_error", 12: "retry_exceeded"}
# So many stray writes are told; where one goes wrong, thousands may.
ENOUGH = 5
CHUNK = 1 << 16

Completion = namedtuple("Completion", "wr_id status bytes queue destination")


def decode(entry):
    """An entry of a ring: the completion, its phase, and whether its reserved bytes are 0."""
    wr_id, count, queue, destination, status, phase, reserved = ENTRY.unpack(entry)
    return Completion(wr_id, STATUS.get(status, status), count, queue, destination), phase, not any(reserved)


def recorded(line):
    """The completion of a recording's line."""
    return Completion(*(line[field] for field in Completion._fields))


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
    want = expected._replace(status=status, bytes=0)
    if len(got) == 1 and got[0].destination < destinations and got[0]._replace(destination=0) == want._replace(destination=0):
        return []
    return [f"completions {got} instead of one like {want}"]


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
