"""What is around Corundum's `mqnic_core_pcie_us`: a host behind PCIe, the wire, the NIC's own driver."""

import inspect

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer
from cocotbext.axi import AxiStreamBus, MemoryRegion
from cocotbext.eth import EthMac
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

CYCLE_NS = 4

# Inputs that stay as they are: link up, no pause frames, nobody else on the register bus.
ONES = "eth_tx_status eth_rx_status eth_tx_fc_quanta_clk_en eth_rx_fc_quanta_clk_en".split()
ZEROS = """
    eth_tx_rst eth_rx_rst eth_rx_lfc_req eth_rx_pfc_req ptp_rst ctrl_reg_wr_wait ctrl_reg_wr_ack ctrl_reg_rd_data
    ctrl_reg_rd_wait ctrl_reg_rd_ack s_axis_stat_tdata s_axis_stat_tid s_axis_stat_tvalid
""".split()
CLOCKS_NS = {"eth_tx_clk": 3.102, "eth_rx_clk": 3.102, "ptp_clk": 6.4, "ptp_sample_clk": 8}

# Corundum's register blocks (type, version, next) that lead to the port's.
INTERFACES, PORT, PORT_CONTROL = 0xC000, 0xC002, 0xC003
TX_CONTROL, RX_CONTROL, OPEN = 0x10, 0x14, 1


class Memory(MemoryRegion):
    """Memory of the host; the root complex aborts reads of `bad`, a range of offsets."""

    bad = range(0)

    async def _read(self, address, length, **options):
        if address < self.bad.stop and address + length > self.bad.start:
            raise ValueError("memory that cannot be read")
        return await super()._read(address, length, **options)


class Shell:
    """The shell with a host (MPS 256, MRRS 512) and a 100 Gb/s wire."""

    def __init__(self, dut):
        self.dut = dut
        self.host = RootComplex()
        self.host.max_payload_size = 1
        self.host.max_read_request_size = 2
        parameters = inspect.signature(UltraScalePlusPcieDevice.__init__).parameters
        self.device = UltraScalePlusPcieDevice(
            pcie_generation=3, user_clk_frequency=250e6, alignment="dword", pf_count=1, max_payload_size=1024,
            cq_straddle=True, cc_straddle=True, rq_straddle=True, rc_straddle=True, rc_4tlp_straddle=True,
            enable_client_tag=True, enable_extended_tag=True, pf0_msix_enable=True, pf0_msix_table_size=63,
            pf0_msix_table_bir=0, pf0_msix_table_offset=0x10000, pf0_msix_pba_bir=0, pf0_msix_pba_offset=0x18000,
            user_clk=dut.clk, user_reset=dut.rst,
            rq_bus=AxiStreamBus.from_prefix(dut, "m_axis_rq"), rc_bus=AxiStreamBus.from_prefix(dut, "s_axis_rc"),
            cq_bus=AxiStreamBus.from_prefix(dut, "s_axis_cq"), cc_bus=AxiStreamBus.from_prefix(dut, "m_axis_cc"),
            pcie_rq_seq_num0=dut.s_axis_rq_seq_num_0, pcie_rq_seq_num_vld0=dut.s_axis_rq_seq_num_valid_0,
            pcie_rq_seq_num1=dut.s_axis_rq_seq_num_1, pcie_rq_seq_num_vld1=dut.s_axis_rq_seq_num_valid_1,
            cfg_err_cor_in=dut.status_error_cor, cfg_err_uncor_in=dut.status_error_uncor,
            **{name: getattr(dut, name) for name in parameters if name.startswith("cfg_") and hasattr(dut, name)})
        self.host.make_port().connect(self.device)
        for bar in (0, 2):
            self.device.functions[0].configure_bar(bar, 1 << 24, ext=True, prefetch=True)
        for name, period in CLOCKS_NS.items():
            cocotb.start_soon(Clock(getattr(dut, name), period, units="ns").start())
        for name in ONES:
            getattr(dut, name).setimmediatevalue(1)
        for name in ZEROS:
            getattr(dut, name).setimmediatevalue(0)
        self.wire = EthMac(
            tx_clk=dut.eth_tx_clk, tx_rst=dut.eth_tx_rst, tx_bus=AxiStreamBus.from_prefix(dut, "m_axis_eth_tx"),
            tx_ptp_time=dut.eth_tx_ptp_ts_tod, tx_ptp_ts=dut.s_axis_eth_tx_cpl_ts,
            tx_ptp_ts_tag=dut.s_axis_eth_tx_cpl_tag, tx_ptp_ts_valid=dut.s_axis_eth_tx_cpl_valid,
            rx_clk=dut.eth_rx_clk, rx_rst=dut.eth_rx_rst, rx_bus=AxiStreamBus.from_prefix(dut, "s_axis_eth_rx"),
            rx_ptp_time=dut.eth_rx_ptp_ts_tod, ifg=12, speed=100e9)
        self.memory = {}
        self.nic = None

    async def start(self, nic):
        """Resets everything, enumerates the bus and opens the port, by the NIC's driver if `nic`."""
        self.reset_ethernet(1)
        await FallingEdge(self.dut.rst)
        await Timer(100, "ns")
        self.reset_ethernet(0)
        await self.host.enumerate()
        self.function = self.host.find_device(self.device.functions[0].pcie_id)
        await self.function.enable_device()
        await self.function.set_master()
        self.registers = self.function.bar_window
        if nic:
            await self.start_nic()
        else:
            await self.open_port()

    async def reset(self):
        """The shell's reset while it works, as when the link goes down; the port is opened again after.

        The MAC's side is reset too: Corundum's transmit FIFO keeps the end of its last frame there, and would
        send what lies before it in its memory. It is reset at once: the model of the MAC would stop the
        simulation where a frame on the wire is cut off.
        """
        self.nic = None  # its queues are gone with the reset, and are not set up again
        self.dut.rst.value = 1
        self.reset_ethernet(1)
        await ClockCycles(self.dut.clk, 1000)
        self.wire.tx.stream.clear()  # of the frame that was cut off
        self.reset_ethernet(0)
        self.dut.rst.value = 0
        await RisingEdge(self.dut.clk)
        await self.open_port()

    def reset_ethernet(self, level):
        for reset in (self.dut.eth_tx_rst, self.dut.eth_rx_rst, self.dut.ptp_rst):
            reset.value = level

    async def block(self, kind, at):
        """The offset of a register block in BAR0, in the list that starts `at`."""
        while await self.registers[0].read_dword(at) != kind:
            at = await self.registers[0].read_dword(at + 8)
            assert at, f"no register block {kind:#x}"
        return at

    async def open_port(self):
        """What a driver does that wants frames to pass."""
        interface = await self.block(INTERFACES, 0)
        base = await self.registers[0].read_dword(interface + 0x0C)
        csr = await self.registers[0].read_dword(interface + 0x18)
        port = await self.registers[0].read_dword(await self.block(PORT, base + csr) + 0x0C)
        control = await self.block(PORT_CONTROL, port)
        for register in (TX_CONTROL, RX_CONTROL):
            await self.registers[0].write_dword(control + register, OPEN)
            await self.registers[0].read_dword(control + register)

    async def start_nic(self):
        """Brings the NIC up by Corundum's own driver for testbenches, with its first four queues."""
        import mqnic  # from Corundum's tree
        driver = mqnic.Driver()
        await driver.init_pcie_dev(self.function)
        self.nic = driver.interfaces[0]
        await self.nic.open()
        scheduler = self.nic.sched_blocks[0].schedulers[0]
        await scheduler.rb.write_dword(mqnic.MQNIC_RB_SCHED_RR_REG_CTRL, 1)
        for queue in range(4):
            await scheduler.hw_regs.write_dword(4 * queue, 3)
        await driver.hw_regs.read_dword(0)

    def map(self, address, size):
        """Memory of the host at that address, all zeros."""
        memory = Memory(size)
        self.host.mem_address_space.register_region(memory, address)
        self.memory[address] = memory

    def make_unreadable(self):
        """A page in the middle of the largest mapping cannot be read any more."""
        memory = max(self.memory.values(), key=lambda memory: memory.size)
        page = memory.size // 2 & ~4095
        memory.bad = range(page, page + 4096)

    def unmap_all(self):
        space = self.host.mem_address_space
        space.regions = [entry for entry in space.regions if not isinstance(entry[3], Memory)]
        self.memory = {}

    def at(self, address):
        """The mapped memory with that address, and the address's offset in it."""
        base = max((base for base in self.memory if base <= address), default=None)
        assert base is not None and address < base + self.memory[base].size, f"{address:#x} is not mapped"
        return self.memory[base], address - base
