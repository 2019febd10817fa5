//! Keeps the registers of congestion control.

use drdma_abi::register::*;
use drdma_emit::prelude::*;

/// Number of registers in [`ALL`].
const COUNT: usize = 9;
const ALL: [Register; COUNT] = [
    CNP_INTERVAL,
    ALPHA_PERIOD,
    ALPHA_SHIFT,
    RATE_PERIOD,
    RATE_BYTES,
    RATE_STAGES,
    RATE_ADD,
    RATE_HYPER,
    MIN_RATE,
];
/// Bits of the widest of these registers.
const WIDEST: usize = 18;
/// Lowest rate that can be set, in Mb/s, and the number of bits below it.
const LEAST_RATE: u64 = 64;
const LEAST_RATE_LOG: usize = 6;

/// Settings of congestion control; each field has the unit of the register of its name (docs/register-map.md).
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Congestion {
    /// Value of register `CNP_INTERVAL`.
    pub cnp_interval: Bits<16>,
    /// Value of register `ALPHA_PERIOD`, at least 1.
    pub alpha_period: Bits<16>,
    /// Value of register `ALPHA_SHIFT`, at least 1.
    pub alpha_shift: Bits<4>,
    /// Value of register `RATE_PERIOD`, at least 1.
    pub rate_period: Bits<16>,
    /// Value of register `RATE_BYTES`, at least 1.
    pub rate_bytes: Bits<18>,
    /// Value of register `RATE_STAGES`, at least 1.
    pub stages: Bits<3>,
    /// Value of register `RATE_ADD`.
    pub add: Bits<16>,
    /// Value of register `RATE_HYPER`.
    pub hyper: Bits<16>,
    /// Value of register `MIN_RATE`, at least 64.
    pub min_rate: Bits<16>,
}

/// Keeps every register of congestion control; writes take effect at the end of their cycle. A value that is too small
/// counts as the least one, and reads as it was written.
#[derive(LogicBlock, BlockDefault)]
pub struct CongestionSettings {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A register is written.
    pub write_valid: Signal<In, Bit>,
    /// With `write_valid`: offset of the register in BAR2.
    pub write_addr: Signal<In, Bits<16>>,
    /// With `write_valid`: value that is written.
    pub write_data: Signal<In, Bits<32>>,
    /// Offset of the register that is read.
    pub read_addr: Signal<In, Bits<16>>,
    /// Value of the register at `read_addr`, in the same cycle; 0 if there is none.
    pub read_data: Signal<Out, Bits<32>>,
    /// Settings that the registers hold.
    pub settings: Signals<Out, Congestion>,

    #[init(ALL.map(|register| Constant::new(u64::from(register.offset).into())))]
    places: [Constant<Bits<16>>; COUNT],
    #[init(ALL.map(|register| Constant::new(u64::from(register.reset).into())))]
    resets: [Constant<Bits<WIDEST>>; COUNT],
    held: [DFF<Bits<WIDEST>>; COUNT],
    unused: Signal<Local, Bits<32>>,
}

impl Logic for CongestionSettings {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.write_data.val();
        self.read_data.next = 0.into();
        for k in 0..COUNT {
            if self.read_addr.val() == self.places[k].val() {
                self.read_data.next = bit_cast::<32, WIDEST>(self.held[k].q.val());
            }
            if self.write_valid.val() && (self.write_addr.val() == self.places[k].val()) {
                self.held[k].d.next = self.write_data.val().get_bits::<WIDEST>(0);
            }
            if self.rst.val() {
                self.held[k].d.next = self.resets[k].val();
            }
        }
        self.settings.cnp_interval.next = self.held[0].q.val().get_bits::<16>(0);
        self.settings.alpha_period.next = self.held[1].q.val().get_bits::<16>(0);
        if !self.held[1].q.val().get_bits::<16>(0).any() {
            self.settings.alpha_period.next = 1.into();
        }
        self.settings.alpha_shift.next = self.held[2].q.val().get_bits::<4>(0);
        if !self.held[2].q.val().get_bits::<4>(0).any() {
            self.settings.alpha_shift.next = 1.into();
        }
        self.settings.rate_period.next = self.held[3].q.val().get_bits::<16>(0);
        if !self.held[3].q.val().get_bits::<16>(0).any() {
            self.settings.rate_period.next = 1.into();
        }
        self.settings.rate_bytes.next = self.held[4].q.val();
        if !self.held[4].q.val().any() {
            self.settings.rate_bytes.next = 1.into();
        }
        self.settings.stages.next = self.held[5].q.val().get_bits::<3>(0);
        if !self.held[5].q.val().get_bits::<3>(0).any() {
            self.settings.stages.next = 1.into();
        }
        self.settings.add.next = self.held[6].q.val().get_bits::<16>(0);
        self.settings.hyper.next = self.held[7].q.val().get_bits::<16>(0);
        self.settings.min_rate.next = self.held[8].q.val().get_bits::<16>(0);
        if !self.held[8].q.val().get_bits::<10>(LEAST_RATE_LOG).any() {
            self.settings.min_rate.next = LEAST_RATE.into();
        }
    }
}
