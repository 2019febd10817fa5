//! Answers of keys and of other reads, in random beats.

use super::*;
use crate::rows::sequencer::key_beats::KeyBeats;

#[test]
fn beats_of_kept_keys_say_where_they_lie() {
    let library = testing::library("key_beats", KeyBeats::default);
    let mut bench = Bench::new(library.instance(1), 1);
    let mut random = Random::new(1);
    let (mut kept, mut others) = (0, 0);
    bench.set("taken", 0_u64);
    for _ in 0..500 {
        let [is_kept, key, slot] = [2, 2, 256].map(|most| random.below(most));
        let (addr, bytes) = (random.u64(), 1 + random.below(300));
        let beats = bytes.div_ceil(64);
        for beat in 0..beats {
            // What an earlier beat left must not be seen in a cycle without one.
            while random.chance(0.3) {
                bench.step();
                bench.set("taken", 0_u64);
                bench.set("data", random.word(512));
            }
            let (data, error) = (random.word(512), u64::from(random.chance(0.1)));
            for (port, value) in
                [("taken", 1), ("last", u64::from(beat + 1 == beats)), ("error", error)]
            {
                bench.set(port, value);
            }
            let mut origin = Word::zero();
            let fields = [(0, 1, is_kept), (1, 1, key), (2, 8, slot), (10, 64, addr)];
            for (at, bits, value) in fields.into_iter().chain([(74, 6, bytes % 64)]) {
                origin.set_bits(at, bits, &value.into());
            }
            bench.set("origin", origin);
            bench.set("data", data.clone());
            bench.step();
            bench.set("taken", 0_u64);
            assert_eq!(bench.get("beat_valid"), is_kept);
            if is_kept == 0 {
                others += 1;
                continue;
            }
            kept += 1;
            assert!(bench.get_word("beat_data") == data);
            let names = ["first", "bytes", "key", "slot", "error"];
            let found = names.map(|name| bench.get(format!("beat_{name}")));
            let first = u64::from(beat == 0);
            assert_eq!(found, [first, (bytes - 64 * beat).min(64), key, slot, error]);
            if first == 1 {
                assert_eq!(bench.get("beat_addr"), addr);
            }
        }
    }
    assert!(kept > 500 && others > 500, "{kept} beats of keys, {others} others");
}
