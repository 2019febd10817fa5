//! Where the rings of queues lie.

use crate::primitive::{Ram, RamStyle};
use drdma_abi::Layout;
use drdma_abi::receive::ReceiveQueueEntry;
use drdma_abi::register::{CompletionQueueEntry, SendQueueEntry};
use drdma_emit::prelude::*;

/// Bytes that are kept of a ring: its address, and the logarithm of its size behind it.
const BYTES: usize = 9;
const BITS: usize = 8 * BYTES;
const LOG_AT: usize = 64;
const LOG: usize = 8;

/// Bit of an entry at which the logarithm stands; the address stands at bit 0. All queues' entries have both there.
fn log_bit() -> u64 {
    let places = [
        (SendQueueEntry::field("addr").start, SendQueueEntry::field("log_blocks")),
        (ReceiveQueueEntry::field("addr").start, ReceiveQueueEntry::field("log_blocks")),
        (CompletionQueueEntry::field("addr").start, CompletionQueueEntry::field("log_entries")),
    ];
    let (_, first) = places[0];
    for (addr, log) in places {
        assert_eq!((addr, log.start), (0, first.start), "entries of queues begin with their rings");
    }
    first.start as u64
}

/// The rings of the 2^`A` queues of one table, as their entries have them.
///
/// A ring of which a word is written in the cycle of `ahead` is read as it was before. The contents are undefined until
/// written.
///
/// # Inputs
/// `clk`; `selected`, `word`, `index`, `data`; `ahead`.
///
/// # Outputs
/// `addr`, `log`: the ring that `ahead` named in the cycle before.
#[derive(LogicBlock, BlockDefault)]
pub struct RingTable<const A: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The host writes a word of an entry of the table.
    pub selected: Signal<In, Bit>,
    /// Number of the word in its entry.
    pub word: Signal<In, Bits<4>>,
    /// Index of the entry.
    pub index: Signal<In, Bits<A>>,
    /// Value that is written.
    pub data: Signal<In, Bits<32>>,
    /// Queue whose ring is wanted in the next cycle.
    pub ahead: Signal<In, Bits<A>>,
    /// Host address of the ring.
    pub addr: Signal<Out, Bits<64>>,
    /// Binary logarithm of the ring's size, in blocks or entries.
    pub log: Signal<Out, Bits<LOG>>,

    #[init(Constant::new((log_bit() / 32).into()))]
    log_word: Constant<Bits<4>>,
    #[init(Constant::new((log_bit() % 32).into()))]
    log_at: Constant<Bits<5>>,
    #[init(Ram::new(if A >= 12 { RamStyle::Ultra } else { RamStyle::Block }))]
    rings: Ram<BITS, BYTES, A>,
}

impl<const A: usize> Logic for RingTable<A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.rings.write_lanes.next = 0.into();
        if self.selected.val() {
            if self.word.val() == 0 {
                self.rings.write_lanes.next = bits::<BYTES>(15);
            }
            if self.word.val() == 1 {
                self.rings.write_lanes.next = bits::<BYTES>(15) << 4;
            }
            if self.word.val() == self.log_word.val() {
                self.rings.write_lanes.next = bits::<BYTES>(1) << 8;
            }
        }
        self.rings.write_address.next = self.index.val();
        self.rings.write_data.next = bit_cast::<BITS, 32>(self.data.val())
            | (bit_cast::<BITS, 32>(self.data.val()) << 32)
            | (bit_cast::<BITS, LOG>(self.data.val().get_bits::<LOG>(self.log_at.val().index()))
                << LOG_AT as u64);
        self.rings.read_enable.next = true;
        self.rings.read_address.next = self.ahead.val();
        self.addr.next = self.rings.read_data.val().get_bits::<64>(0);
        self.log.next = self.rings.read_data.val().get_bits::<LOG>(LOG_AT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn rings_are_read_as_the_host_wrote_them() {
        let mut model = testing::library("ring_table", RingTable::<4>::default).instance(1);
        let mut random = Random::new(1);
        let (mut rings, mut seen) = ([[None::<u64>; 3]; 16], 0);
        for _ in 0..5_000 {
            let (index, word) = (random.below(16), random.below(8));
            let (selected, data) = (random.chance(0.5), random.below(1 << 32));
            let ahead = random.below(16);
            model.set("selected", selected.into());
            model.set("index", index);
            model.set("word", word);
            model.set("data", data);
            model.set("ahead", ahead);
            let wanted = rings[ahead as usize];
            model.cycle();
            if let [Some(low), Some(high), Some(log)] = wanted {
                assert_eq!(model.get("addr"), high << 32 | low);
                assert_eq!(model.get("log"), log & 0xff);
                seen += 1;
            }
            if selected && word < 3 {
                rings[index as usize][word as usize] = Some(data);
            }
        }
        assert!(seen > 4_000, "{seen}");
    }
}
