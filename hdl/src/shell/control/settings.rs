//! Keeps the global registers.

use drdma_abi::ABI_HASH;
use drdma_abi::register::*;
use drdma_emit::prelude::*;

use super::congestion::{Congestion, CongestionSettings};

fn value<const N: usize>(value: u32) -> Constant<Bits<N>> {
    Constant::new(u64::from(value).into())
}

fn at(register: Register) -> Constant<Bits<16>> {
    value(register.offset)
}

/// Keeps every register of [`REGISTERS`]; writes take effect at the end of their cycle.
#[derive(LogicBlock, BlockDefault)]
pub struct Settings {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ accesses
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

    // ------------------------------------------------------------------ what they hold
    /// The card takes doorbells and sends.
    pub enable: Signal<Out, Bit>,
    /// Soft reset, high for 16 cycles: resets every block but this one.
    pub soft_reset: Signal<Out, Bit>,
    /// Longest DMA read of data, in bytes.
    pub max_read: Signal<Out, Bits<13>>,
    /// Widest gap that is read through, in bytes.
    pub merge_threshold: Signal<Out, Bits<13>>,
    /// Bytes that a DMA read should have on average; 0: any.
    pub read_balance: Signal<Out, Bits<9>>,
    /// Least number of rows of a column request; 0 turns column requests off.
    pub column_min_rows: Signal<Out, Bits<32>>,
    /// Words of payload that the assembler reads in a cycle, 1 to 16.
    pub assembler_words: Signal<Out, Bits<5>>,
    /// MAC address of the card.
    pub mac: Signal<Out, Bits<48>>,
    /// IPv4 address of the card.
    pub ip: Signal<Out, Bits<32>>,
    /// Timeout of acknowledgements in units of 1,024 cycles; 0: none.
    pub ack_timeout: Signal<Out, Bits<32>>,
    /// Settings of congestion control.
    pub congestion: Signals<Out, Congestion>,
    /// The counters are to be set to 0.
    pub clear_counters: Signal<Out, Bit>,
    /// Work is in progress somewhere in the card, for `STATUS`.
    pub busy: Signal<In, Bit>,
    /// The tables are being cleared, for `CONTROL`.
    pub sweeping: Signal<In, Bit>,

    // Addresses and constants.
    #[init(at(TYPE))]
    at_type: Constant<Bits<16>>,
    #[init(at(VERSION))]
    at_version: Constant<Bits<16>>,
    #[init(at(ABI_HASH_LOW))]
    at_abi_hash_low: Constant<Bits<16>>,
    #[init(at(ABI_HASH_HIGH))]
    at_abi_hash_high: Constant<Bits<16>>,
    #[init(at(CONTROL))]
    at_control: Constant<Bits<16>>,
    #[init(at(STATUS))]
    at_status: Constant<Bits<16>>,
    #[init(at(MAX_READ))]
    at_max_read: Constant<Bits<16>>,
    #[init(at(MERGE_THRESHOLD))]
    at_merge_threshold: Constant<Bits<16>>,
    #[init(at(READ_BALANCE))]
    at_read_balance: Constant<Bits<16>>,
    #[init(at(MAC_LOW))]
    at_mac_low: Constant<Bits<16>>,
    #[init(at(MAC_HIGH))]
    at_mac_high: Constant<Bits<16>>,
    #[init(at(IP))]
    at_ip: Constant<Bits<16>>,
    #[init(at(ACK_TIMEOUT))]
    at_ack_timeout: Constant<Bits<16>>,
    #[init(at(COUNTER_CLEAR))]
    at_counter_clear: Constant<Bits<16>>,
    #[init(at(COLUMN_MIN_ROWS))]
    at_column_min_rows: Constant<Bits<16>>,
    #[init(at(ASSEMBLER_WORDS))]
    at_assembler_words: Constant<Bits<16>>,
    #[init(value(TYPE.reset))]
    type_id: Constant<Bits<32>>,
    #[init(value(VERSION.reset))]
    version_id: Constant<Bits<32>>,
    #[init(value(ABI_HASH as u32))]
    hash_low: Constant<Bits<32>>,
    #[init(value((ABI_HASH >> 32) as u32))]
    hash_high: Constant<Bits<32>>,
    #[init(value(MAX_READ.reset))]
    max_read_reset: Constant<Bits<13>>,
    #[init(value(MERGE_THRESHOLD.reset))]
    merge_reset: Constant<Bits<13>>,
    #[init(value(READ_BALANCE.reset))]
    balance_reset: Constant<Bits<9>>,
    #[init(value(COLUMN_MIN_ROWS.reset))]
    column_reset: Constant<Bits<32>>,
    #[init(value(ASSEMBLER_WORDS.reset))]
    words_reset: Constant<Bits<5>>,

    // Registers.
    others: CongestionSettings,
    enabled: DFF<Bit>,
    restarting: DFF<Bit>,
    restart_count: DFF<Bits<4>>,
    max_read_held: DFF<Bits<13>>,
    merge_held: DFF<Bits<13>>,
    balance_held: DFF<Bits<9>>,
    column_held: DFF<Bits<32>>,
    words_held: DFF<Bits<5>>,
    mac_low: DFF<Bits<32>>,
    mac_high: DFF<Bits<16>>,
    ip_held: DFF<Bits<32>>,
    timeout_held: DFF<Bits<32>>,
    clearing: DFF<Bit>,
}

impl Logic for Settings {
    #[hdl_gen]
    fn update(&mut self) {
        self.enable.next = self.enabled.q.val();
        self.soft_reset.next = self.restarting.q.val();
        self.max_read.next = self.max_read_held.q.val();
        self.merge_threshold.next = self.merge_held.q.val();
        self.read_balance.next = self.balance_held.q.val();
        self.column_min_rows.next = self.column_held.q.val();
        self.assembler_words.next = self.words_held.q.val();
        self.mac.next = bit_cast::<48, 32>(self.mac_low.q.val())
            | (bit_cast::<48, 16>(self.mac_high.q.val()) << 32);
        self.ip.next = self.ip_held.q.val();
        self.ack_timeout.next = self.timeout_held.q.val();
        self.clear_counters.next = self.clearing.q.val();

        self.others.rst.next = self.rst.val() || self.restarting.q.val();
        self.others.write_valid.next = self.write_valid.val();
        self.others.write_addr.next = self.write_addr.val();
        self.others.write_data.next = self.write_data.val();
        self.others.read_addr.next = self.read_addr.val();
        self.congestion.next = self.others.settings.val();

        self.read_data.next = self.others.read_data.val();
        if self.read_addr.val() == self.at_type.val() {
            self.read_data.next = self.type_id.val();
        }
        if self.read_addr.val() == self.at_version.val() {
            self.read_data.next = self.version_id.val();
        }
        if self.read_addr.val() == self.at_abi_hash_low.val() {
            self.read_data.next = self.hash_low.val();
        }
        if self.read_addr.val() == self.at_abi_hash_high.val() {
            self.read_data.next = self.hash_high.val();
        }
        if self.read_addr.val() == self.at_control.val() {
            self.read_data.next = bit_cast::<32, 1>(self.enabled.q.val().into())
                | (bit_cast::<32, 1>((self.restarting.q.val() || self.sweeping.val()).into()) << 1);
        }
        if self.read_addr.val() == self.at_status.val() {
            self.read_data.next = bit_cast::<32, 1>(self.busy.val().into());
        }
        if self.read_addr.val() == self.at_max_read.val() {
            self.read_data.next = bit_cast::<32, 13>(self.max_read_held.q.val());
        }
        if self.read_addr.val() == self.at_merge_threshold.val() {
            self.read_data.next = bit_cast::<32, 13>(self.merge_held.q.val());
        }
        if self.read_addr.val() == self.at_read_balance.val() {
            self.read_data.next = bit_cast::<32, 9>(self.balance_held.q.val());
        }
        if self.read_addr.val() == self.at_column_min_rows.val() {
            self.read_data.next = self.column_held.q.val();
        }
        if self.read_addr.val() == self.at_assembler_words.val() {
            self.read_data.next = bit_cast::<32, 5>(self.words_held.q.val());
        }
        if self.read_addr.val() == self.at_mac_low.val() {
            self.read_data.next = self.mac_low.q.val();
        }
        if self.read_addr.val() == self.at_mac_high.val() {
            self.read_data.next = bit_cast::<32, 16>(self.mac_high.q.val());
        }
        if self.read_addr.val() == self.at_ip.val() {
            self.read_data.next = self.ip_held.q.val();
        }
        if self.read_addr.val() == self.at_ack_timeout.val() {
            self.read_data.next = self.timeout_held.q.val();
        }

        self.clearing.d.next = false;
        if self.write_valid.val() {
            if self.write_addr.val() == self.at_max_read.val() {
                self.max_read_held.d.next = self.write_data.val().get_bits::<13>(0);
            }
            if self.write_addr.val() == self.at_merge_threshold.val() {
                self.merge_held.d.next = self.write_data.val().get_bits::<13>(0);
            }
            if self.write_addr.val() == self.at_read_balance.val() {
                self.balance_held.d.next = self.write_data.val().get_bits::<9>(0);
            }
            if self.write_addr.val() == self.at_column_min_rows.val() {
                self.column_held.d.next = self.write_data.val();
            }
            if self.write_addr.val() == self.at_assembler_words.val() {
                self.words_held.d.next = self.words_reset.val();
                if !self.write_data.val().get_bits::<28>(4).any() && self.write_data.val().any() {
                    self.words_held.d.next = self.write_data.val().get_bits::<5>(0);
                }
            }
            if self.write_addr.val() == self.at_mac_low.val() {
                self.mac_low.d.next = self.write_data.val();
            }
            if self.write_addr.val() == self.at_mac_high.val() {
                self.mac_high.d.next = self.write_data.val().get_bits::<16>(0);
            }
            if self.write_addr.val() == self.at_ip.val() {
                self.ip_held.d.next = self.write_data.val();
            }
            if self.write_addr.val() == self.at_ack_timeout.val() {
                self.timeout_held.d.next = self.write_data.val();
            }
            if self.write_addr.val() == self.at_counter_clear.val() {
                self.clearing.d.next = true;
            }
        }
        self.restart_count.d.next = self.restart_count.q.val() + 1;
        if self.restart_count.q.val().all() {
            self.restarting.d.next = false;
        }
        if self.rst.val() || self.restarting.q.val() {
            self.max_read_held.d.next = self.max_read_reset.val();
            self.merge_held.d.next = self.merge_reset.val();
            self.balance_held.d.next = self.balance_reset.val();
            self.mac_low.d.next = bits::<32>(0);
            self.mac_high.d.next = bits::<16>(0);
            self.ip_held.d.next = bits::<32>(0);
            self.timeout_held.d.next = bits::<32>(0);
            self.clearing.d.next = true;
        }
        if self.write_valid.val() && (self.write_addr.val() == self.at_control.val()) {
            self.enabled.d.next = self.write_data.val().get_bit(0);
            self.restarting.d.next = self.write_data.val().get_bit(1);
            self.restart_count.d.next = bits::<4>(0);
        }
        if self.rst.val() {
            self.column_held.d.next = self.column_reset.val();
            self.words_held.d.next = self.words_reset.val();
            self.enabled.d.next = false;
            self.restarting.d.next = false;
        }
    }
}
