use drdma_verilated::{Word, testbench::Random};

use super::SegmentedMemory;
use crate::testing;

/// Bytes of the memory.
const BYTES: usize = 128 * 1024;

#[test]
fn every_bank_reads_its_own_row_of_what_the_segments_wrote() {
    let library = testing::library("segmented_memory", SegmentedMemory::default);
    let mut model = library.instance(1);
    let mut random = Random::new(1);
    let mut memory = vec![0_u8; BYTES];
    // Fill it, one row of both segments a cycle.
    for row in 0..1024_u64 {
        let data = random.word(1024);
        model.set_word("write_data", &data);
        model.set_word("write_be", &Word::from(u128::MAX));
        model.set("write_row", row | row << 10);
        model.set("write_valid", 3);
        model.cycle();
        for (k, byte) in memory[row as usize * 128..][..128].iter_mut().enumerate() {
            *byte = data.bits(k * 8, 8).to_u64() as u8;
        }
    }
    // Reads in flight: words that the banks must deliver two cycles after they were asked for.
    let mut expected: Vec<Vec<Option<u32>>> = vec![];
    for _ in 0..3000 {
        let (data, enables) = (random.word(1024), random.word(128));
        let (valid, rows) = (random.below(4), [random.below(1024), random.below(1024)]);
        model.set_word("write_data", &data);
        model.set_word("write_be", &enables);
        model.set("write_row", rows[0] | rows[1] << 10);
        model.set("write_valid", valid);
        let (mut read_rows, read_enable) = (Word::zero(), random.below(1 << 32));
        let mut words = vec![None; 32];
        for (bank, word) in words.iter_mut().enumerate() {
            let row = random.below(1024);
            read_rows.set_bits(bank * 10, 10, &Word::from(row));
            if read_enable >> bank & 1 == 1 {
                let at = row as usize * 128 + bank * 4;
                *word = Some(u32::from_le_bytes(memory[at..at + 4].try_into().unwrap()));
            }
        }
        model.set_word("read_row", &read_rows);
        model.set("read_enable", read_enable);
        model.cycle();
        for segment in 0..2 {
            for byte in 0..64 {
                if valid >> segment & 1 == 1 && enables.bit(segment * 64 + byte) {
                    let at = rows[segment] as usize * 128 + segment * 64 + byte;
                    memory[at] = data.bits((segment * 64 + byte) * 8, 8).to_u64() as u8;
                }
            }
        }
        expected.push(words);
        if expected.len() >= 2 {
            let read = model.get_word("read_data");
            for (bank, word) in expected[expected.len() - 2].iter().enumerate() {
                if let Some(word) = word {
                    assert_eq!(read.bits(bank * 32, 32).to_u64(), u64::from(*word), "bank {bank}");
                }
            }
        }
    }
}
