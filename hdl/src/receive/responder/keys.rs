//! Looks remote keys up: whether a peer may access a range, or make a key invalid.

use crate::context::{ConfigWrite, REGION, REGION_TABLE, Table, TableSelect};
use crate::primitive::{Pack, Ram, RamStyle};
use drdma_abi::Layout;
use drdma_abi::described::{DESCRIBED, KEY_REGIONS};
use drdma_abi::receive::rights;
use drdma_abi::register::MemoryRegionEntry;
use drdma_emit::prelude::*;

/// Words of an entry that are kept whole: address and length two each, key, protection domain.
const WORDS: usize = 6;
/// Bytes of what is kept: of the rights it is one. Three UltraRAMs hold 27.
const BYTES: usize = 4 * WORDS + 1;
/// Bits of what is kept.
const ENTRY: usize = 8 * BYTES;
/// First bits of the fields.
const ADDR: usize = 0;
const LEN: usize = 64;
const KEY: usize = 128;
const PD: usize = 160;
const RIGHTS: usize = 32 * WORDS;
/// Bits of the rights that are looked at.
const RIGHT: usize = 4;
/// Bits of the rights to let the card write for its own host, to WRITE, to READ, and to execute atomics.
const LOCAL_RIGHT: usize = rights::LOCAL_WRITE.trailing_zeros() as usize;
const WRITE_RIGHT: usize = rights::REMOTE_WRITE.trailing_zeros() as usize;
const READ_RIGHT: usize = rights::REMOTE_READ.trailing_zeros() as usize;
const ATOMIC_RIGHT: usize = rights::REMOTE_ATOMIC.trailing_zeros() as usize;
/// Values of a valid entry's last word: the entry is of memory, or of a region.
const MEMORY: u64 = 1;
const REGION_BYTES: u64 = DESCRIBED as u64;
/// Bits of that value.
const KIND: usize = 2;
/// Bits of the number of a key's described region.
pub const KEY_REGION: usize = KEY_REGIONS.index_bits();

const _: () = assert!(rights::ALL < 1 << RIGHT && RIGHT <= 8, "rights have more bits");

fn word_of(field: &str, further: u64) -> Constant<Bits<4>> {
    Constant::new((MemoryRegionEntry::field(field).start as u64 / 32 + further).into())
}

/// Keeps the memory regions, and looks them up by remote keys.
///
/// A key is valid from the write of the last word of its entry, if that says so, until any word of the entry is
/// written, or the key is revoked.
///
/// Contract: a look-up a cycle; the answer is for the key, protection domain and range of 3 cycles before. All sums are
/// exact: no range wraps around the end of the address space. `revoke` waits while the host writes.
/// The bytes of a described key begin at 0; they may be written and READ, and nothing else.
///
/// # Inputs
/// `clk`; `cfg`; `key`, `pd`, `addr`, `bytes`; stream `revoke`.
///
/// # Outputs
/// `writable`, `readable`, `changeable`: a peer may WRITE the range, READ it, or execute atomics there. `revocable`: a
/// peer may make the key invalid. `covers`: the key is one of memory, which has the range; `fillable`: and the card may
/// write there for its own host. `described`, `region`: the key is a described one, of this region.
#[derive(LogicBlock, BlockDefault)]
#[check(MemoryRegionEntry::field("addr").start % 32 == 0 && MemoryRegionEntry::field("pd").start % 32 == 0)]
pub struct Keys {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The key that is looked up.
    pub key: Signal<In, Bits<32>>,
    /// Protection domain of the queue pair.
    pub pd: Signal<In, Bits<32>>,
    /// Address of the first byte of the range.
    pub addr: Signal<In, Bits<64>>,
    /// Bytes of the range.
    pub bytes: Signal<In, Bits<64>>,
    /// A peer may WRITE the range.
    pub writable: Signal<Out, Bit>,
    /// A peer may READ the range.
    pub readable: Signal<Out, Bit>,
    /// A peer may execute atomics in the range.
    pub changeable: Signal<Out, Bit>,
    /// A peer may make the key invalid.
    pub revocable: Signal<Out, Bit>,
    /// The key is one of memory, and has the range; its rights are not considered.
    pub covers: Signal<Out, Bit>,
    /// The key is one of memory that has the range, and its rights let the card write there for its own host.
    pub fillable: Signal<Out, Bit>,
    /// The key is a described one.
    pub described: Signal<Out, Bit>,
    /// With `described`: number of the key's region.
    pub region: Signal<Out, Bits<KEY_REGION>>,
    /// A key is to be made invalid.
    pub revoke_valid: Signal<In, Bit>,
    /// The key is made invalid in this cycle.
    pub revoke_ready: Signal<Out, Bit>,
    /// Index of the key's memory region.
    pub revoke_index: Signal<In, Bits<REGION>>,

    select: TableSelect,
    #[init(Ram::new(RamStyle::Ultra))]
    entries: Ram<ENTRY, BYTES, REGION>,
    #[init([
        word_of("addr", 0),
        word_of("addr", 1),
        word_of("len", 0),
        word_of("len", 1),
        word_of("lkey", 0),
        word_of("pd", 0),
    ])]
    word: [Constant<Bits<4>>; WORDS],
    #[init(word_of("rights", 0))]
    rights_word: Constant<Bits<4>>,
    written: Pack<WORDS, 32, RIGHTS>,
    live: Table<KIND, REGION>,
    /// A word of an entry is written.
    writes: Signal<Local, Bit>,

    // One cycle later: the key and the range that were asked for.
    key1: DFF<Bits<32>>,
    pd1: DFF<Bits<32>>,
    addr1: DFF<Bits<64>>,
    bytes1: DFF<Bits<64>>,
    // Two cycles later: where the range begins in the memory region, and whether the key is that region's.
    named2: DFF<Bit>,
    memory2: DFF<Bit>,
    region2: DFF<Bits<KEY_REGION>>,
    local_right2: DFF<Bit>,
    right2: DFF<Bit>,
    read_right2: DFF<Bit>,
    atomic_right2: DFF<Bit>,
    some2: DFF<Bit>,
    offset2: DFF<Bits<65>>,
    len2: DFF<Bits<64>>,
    bytes2: DFF<Bits<64>>,
    // Three cycles later: end of the range in the memory region.
    named3: DFF<Bit>,
    memory3: DFF<Bit>,
    region3: DFF<Bits<KEY_REGION>>,
    local_right3: DFF<Bit>,
    right3: DFF<Bit>,
    read_right3: DFF<Bit>,
    atomic_right3: DFF<Bit>,
    revocable3: DFF<Bit>,
    end3: DFF<Bits<65>>,
    len3: DFF<Bits<64>>,
    entry: Signal<Local, Bits<ENTRY>>,
    first_byte: Signal<Local, Bits<64>>,
    named: Signal<Local, Bit>,
    covered: Signal<Local, Bit>,
    unused: Signal<Local, Bits<ENTRY>>,
}

impl Logic for Keys {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.entries.write_lanes.next = 0.into();
        self.writes.next = self.cfg.valid.val() && (self.cfg.table.val() == REGION_TABLE);
        for k in 0..WORDS {
            self.written.parts[k].next = self.cfg.data.val();
            if self.writes.val() && (self.cfg.word.val() == self.word[k].val()) {
                self.entries.write_lanes.next = bits::<BYTES>(15) << (4 * k) as u64;
            }
        }
        if self.writes.val() && (self.cfg.word.val() == self.rights_word.val()) {
            self.entries.write_lanes.next = bits::<BYTES>(1) << (4 * WORDS) as u64;
        }
        self.entries.write_address.next = self.cfg.index.val().get_bits::<REGION>(0);
        self.entries.write_data.next = bit_cast::<ENTRY, RIGHTS>(self.written.whole.val())
            | (bit_cast::<ENTRY, 8>(self.cfg.data.val().get_bits::<8>(0)) << RIGHTS as u64);
        self.entries.read_enable.next = true;
        self.entries.read_address.next = self.key.val().get_bits::<REGION>(0);

        self.revoke_ready.next = !self.select.region.val();
        self.live.write_enable.next = self.select.region.val() || self.revoke_valid.val();
        self.live.write_address.next = self.revoke_index.val();
        self.live.write_data.next = 0.into();
        if self.select.region.val() {
            self.live.write_address.next = self.cfg.index.val().get_bits::<REGION>(0);
            if self.select.region_valid.val()
                && ((self.cfg.data.val() == MEMORY) || (self.cfg.data.val() == REGION_BYTES))
            {
                self.live.write_data.next = self.cfg.data.val().get_bits::<KIND>(0);
            }
        }
        self.live.ahead.next = self.key.val().get_bits::<REGION>(0);

        self.key1.d.next = self.key.val();
        self.pd1.d.next = self.pd.val();
        self.addr1.d.next = self.addr.val();
        self.bytes1.d.next = self.bytes.val();

        self.entry.next = self.entries.read_data.val();
        self.unused.next = self.entry.val();
        self.named.next = self.live.read_data.val().any()
            && (self.entry.val().get_bits::<32>(KEY) == self.key1.q.val())
            && (self.entry.val().get_bits::<32>(PD) == self.pd1.q.val());
        self.named2.d.next = self.named.val();
        self.local_right2.d.next = self.entry.val().get_bit(RIGHTS + LOCAL_RIGHT);
        self.right2.d.next = self.entry.val().get_bit(RIGHTS + WRITE_RIGHT);
        self.read_right2.d.next = self.entry.val().get_bit(RIGHTS + READ_RIGHT);
        self.atomic_right2.d.next = self.entry.val().get_bit(RIGHTS + ATOMIC_RIGHT);
        self.some2.d.next = self.entry.val().get_bits::<RIGHT>(RIGHTS).any();
        self.memory2.d.next = self.live.read_data.val() == MEMORY;
        self.region2.d.next = self.entry.val().get_bits::<KEY_REGION>(ADDR);
        self.first_byte.next = 0.into();
        if self.live.read_data.val() == MEMORY {
            self.first_byte.next = self.entry.val().get_bits::<64>(ADDR);
        }
        // The top bit is set if the range begins before the memory region.
        self.offset2.d.next =
            bit_cast::<65, 64>(self.addr1.q.val()) - bit_cast::<65, 64>(self.first_byte.val());
        self.len2.d.next = self.entry.val().get_bits::<64>(LEN);
        self.bytes2.d.next = self.bytes1.q.val();

        self.named3.d.next = self.named2.q.val() && !self.offset2.q.val().get_bit(64);
        self.memory3.d.next = self.memory2.q.val();
        self.region3.d.next = self.region2.q.val();
        self.local_right3.d.next = self.local_right2.q.val();
        self.right3.d.next = self.right2.q.val();
        self.read_right3.d.next = self.read_right2.q.val();
        self.atomic_right3.d.next = self.atomic_right2.q.val();
        self.revocable3.d.next = self.named2.q.val() && self.some2.q.val();
        self.end3.d.next = bit_cast::<65, 64>(self.offset2.q.val().get_bits::<64>(0))
            + bit_cast::<65, 64>(self.bytes2.q.val());
        self.len3.d.next = self.len2.q.val();

        self.covered.next =
            self.named3.q.val() && (self.end3.q.val() <= bit_cast::<65, 64>(self.len3.q.val()));
        self.covers.next = self.covered.val() && self.memory3.q.val();
        self.fillable.next = self.covers.val() && self.local_right3.q.val();
        self.writable.next = self.covered.val() && self.right3.q.val();
        self.readable.next = self.covered.val() && self.read_right3.q.val();
        self.changeable.next = self.covers.val() && self.atomic_right3.q.val();
        self.described.next = !self.memory3.q.val();
        self.region.next = self.region3.q.val();
        self.revocable.next = self.revocable3.q.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_semantics::scatter::allows;
    use drdma_verilated::testbench::Random;
    use std::collections::VecDeque;

    /// Draws a value that is often at an edge.
    fn edge(random: &mut Random) -> u64 {
        match random.below(5) {
            0 => 0,
            1 => u64::MAX - random.below(4),
            2 => (1 << 32) + random.below(3) - 1,
            _ => random.below(40),
        }
    }

    #[test]
    fn a_range_is_allowed_if_the_semantics_say_so() {
        let mut model = testing::library("remote_keys", Keys::default).instance(1);
        let mut random = Random::new(1);
        // Entries 0 to 7 as the host has written them; none is valid while one of its words is new.
        let mut entries = vec![MemoryRegionEntry::default(); 8];
        for index in 0..8 {
            write(&mut model, index, 7, 0);
        }
        let (mut asked, mut seen) = (VecDeque::new(), [0; 4]);
        let (mut told, mut seen_regions) = (VecDeque::new(), 0);
        for round in 0..60_000_u64 {
            if random.chance(0.02) {
                let index = random.below(8);
                let entry = MemoryRegionEntry {
                    addr: edge(&mut random),
                    len: edge(&mut random),
                    lkey: (index | random.below(2) << 12) as u32,
                    rights: random.below(16) as u32,
                    pd: random.below(2) as u32,
                    valid: random.below(3) as u32,
                };
                // Questions of before are answered first.
                for _ in 0..3 {
                    model.cycle();
                }
                asked.clear();
                told.clear();
                let words = entry.to_bytes();
                let last = if random.chance(0.1) { 7 } else { 8 };
                for (word, value) in words.chunks(4).take(last).enumerate() {
                    let value = u32::from_le_bytes(value.try_into().unwrap());
                    write(&mut model, index, word as u64, value.into());
                }
                entries[index as usize] =
                    if last == 8 { entry } else { MemoryRegionEntry::default() };
            }
            let index = random.below(8) as usize;
            let entry = entries[index];
            let key = (index as u64 | random.below(2) << 12) as u32;
            let key = if random.chance(0.8) { entry.lkey } else { key };
            let pd = if random.chance(0.8) { entry.pd } else { random.below(2) as u32 };
            let addr = match random.below(3) {
                0 => entry.addr.wrapping_add(random.below(4)).wrapping_sub(1),
                1 => entry.addr.wrapping_add(entry.len).wrapping_sub(random.below(4)),
                _ => edge(&mut random),
            };
            let bytes = match random.below(3) {
                0 => random.below(4),
                1 => entry
                    .addr
                    .wrapping_add(entry.len)
                    .wrapping_sub(addr)
                    .wrapping_add(random.below(3))
                    .wrapping_sub(1),
                _ => edge(&mut random),
            };
            model.set("key", u64::from(key));
            model.set("pd", u64::from(pd));
            model.set("addr", addr);
            model.set("bytes", bytes);
            let named = entries[key as usize & 7];
            let is_memory = named.valid == 1;
            let known = named.valid != 0 && named.lkey == key && named.pd == pd;
            let may = |right| known && allows(&named, right, pd, addr, bytes);
            let all = MemoryRegionEntry { rights: rights::ALL, ..named };
            let covers = known && is_memory && allows(&all, rights::REMOTE_READ, pd, addr, bytes);
            let fillable = covers && named.rights & rights::LOCAL_WRITE != 0;
            told.push_back((known, covers, fillable, (!is_memory, named.addr & 0x1ff)));
            asked.push_back((
                may(rights::REMOTE_WRITE),
                may(rights::REMOTE_READ),
                may(rights::REMOTE_ATOMIC),
                known && named.rights != 0,
            ));
            let revokes = random.chance(0.01);
            model.set("revoke_valid", revokes.into());
            model.set("revoke_index", key as u64 & 7);
            model.settle();
            if asked.len() == 4 {
                let (writable, readable, changeable, revocable) = asked.pop_front().unwrap();
                let (known, covers, fillable, region) = told.pop_front().unwrap();
                assert_eq!(model.get("covers") == 1, covers, "{round}");
                assert_eq!(model.get("fillable") == 1, fillable, "{round}");
                if known {
                    let found = (model.get("described") == 1, model.get("region"));
                    assert_eq!(found, region, "{round}");
                    seen_regions += usize::from(readable && region.0);
                }
                assert_eq!(model.get("readable") == 1, readable, "{round}");
                assert_eq!(model.get("writable") == 1, writable, "{round}");
                assert_eq!(model.get("changeable") == 1, changeable, "{round}");
                assert_eq!(model.get("revocable") == 1, revocable, "{round}");
                seen[usize::from(writable) * 2 + usize::from(revocable)] += 1;
            }
            assert_eq!(model.get("revoke_ready"), 1);
            model.tick();
            model.set("revoke_valid", 0);
            if revokes {
                // A look-up of the same cycle may still see the entry.
                entries[key as usize & 7].valid = 0;
                asked.clear();
                told.clear();
                for _ in 0..3 {
                    model.cycle();
                }
            }
        }
        assert!(seen_regions > 1_000, "{seen_regions} READs of regions");
        assert!(seen[0] > 1_000 && seen[1] > 1_000 && seen[3] > 1_000, "{seen:?}");
    }

    fn write(model: &mut drdma_verilated::Model, index: u64, word: u64, data: u64) {
        for (port, value) in [
            ("cfg_valid", 1),
            ("cfg_table", REGION_TABLE),
            ("cfg_index", index),
            ("cfg_word", word),
            ("cfg_data", data),
            // `revoke` waits while the host writes.
            ("revoke_valid", 1),
            ("revoke_index", 5),
        ] {
            model.set(port, value);
        }
        model.settle();
        assert_eq!(model.get("revoke_ready"), 0);
        model.tick();
        model.set("cfg_valid", 0);
        model.set("revoke_valid", 0);
    }
}
