//! Keys that peers make invalid, among the words that the host writes.

use super::*;
use crate::context::REGION_TABLE;
use drdma_abi::Layout;
use drdma_verilated::testbench::Beat;

#[test]
fn a_key_is_made_invalid_between_the_words_of_the_host_and_soon() {
    let library = testing::library("control", Control::default);
    for (seed, pause) in [(1, 0.0), (2, 0.3), (3, 0.9)] {
        let mut host = Host::new(&library, seed);
        let invalidate = host.bench.driver("invalidate");
        host.bench.run(5_000);
        let begin = host.words.borrow().len();
        host.pause = pause;
        let mut random = Random::new(seed);
        let (mut written, mut revoked, mut given) = (Vec::new(), Vec::new(), 0);
        for _ in 0..2_000 {
            if random.chance(0.3) && host.bench.pending(invalidate) == 0 {
                let region = random.below(1 << 12);
                revoked.push(region);
                host.bench.send(invalidate, Beat::from([("region", region)]));
                given = host.bench.cycles();
            }
            if random.chance(0.8) {
                let (index, word, data) =
                    (random.below(1 << 12), random.below(8), random.u64() as u32);
                let offset = MEMORY_REGIONS.entry(index as u32) + 4 * word as u32;
                let cycles = host.write(offset, data);
                assert!(pause > 0.0 || cycles <= 10, "a write takes {cycles} cycles");
                written.push((index, word, u64::from(data)));
            } else {
                host.bench.run(random.below(8));
            }
            // A key that a peer makes invalid does not wait long, whatever the host does.
            let waits = host.bench.cycles() - given;
            assert!(host.bench.pending(invalidate) == 0 || waits < 100, "{waits} cycles");
        }
        host.bench.run(20);
        assert_eq!(host.bench.pending(invalidate), 0);
        let words = host.words.borrow();
        let words = &words[begin..];
        // The host's words are all there, and so are the others, none near another.
        let valid = (MemoryRegionEntry::field("valid").start / 32) as u64;
        let (mut written, mut revoked) = (written.into_iter().peekable(), revoked.into_iter());
        for (k, (table, index, word, data, cycle)) in words.iter().enumerate() {
            assert!(k == 0 || cycle - words[k - 1].4 >= 4, "{:?}", &words[k - 1..=k]);
            assert_eq!(*table, REGION_TABLE);
            if written.next_if_eq(&(*index, *word, *data)).is_none() {
                assert_eq!((Some(*index), *word, *data), (revoked.next(), valid, 0));
            }
        }
        assert_eq!((written.next(), revoked.next()), (None, None));
    }
}
