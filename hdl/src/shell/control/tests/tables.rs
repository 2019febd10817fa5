//! Words of tables, and clearing them.

use super::*;

#[test]
fn words_of_tables_are_broadcast_at_least_four_cycles_apart() {
    let mut host = Host::new(&library(), 1);
    host.ready();
    host.words.borrow_mut().clear();
    let mut random = Random::new(2);
    let mut expected = Vec::new();
    // Tables in the order of their numbers on the broadcast.
    let tables: Vec<_> =
        TABLES[..4].iter().copied().chain([QUEUE_PAIR_ATTRIBUTES, RECEIVE_QUEUES]).collect();
    for _ in 0..300 {
        let number = random.below(6) as usize;
        let table = tables[number];
        let index = random.below(table.entries.into()) as u32;
        let word = random.below(u64::from(table.entry_size / 4)) as u32;
        let data = random.u64() as u32;
        host.write(table.entry(index) + 4 * word, data);
        expected.push((number as u64, index.into(), word.into(), u64::from(data)));
    }
    // Behind the end of a table there is nothing.
    for table in &tables {
        host.write(table.entry(table.entries), 1);
    }
    let words = host.words.borrow();
    let without_cycle: Vec<_> = words.iter().map(|&(t, i, w, d, _)| (t, i, w, d)).collect();
    assert_eq!(without_cycle, expected);
    assert!(words.windows(2).all(|pair| pair[1].4 - pair[0].4 >= 4));
}

#[test]
fn what_peers_make_invalid_is_a_word_between_those_of_the_host() {
    let mut host = Host::new(&library(), 1);
    let invalidate = host.bench.driver("invalidate");
    host.bench.stall_driver(invalidate, 0.8);
    host.ready();
    host.words.borrow_mut().clear();
    let valid = (MemoryRegionEntry::field("valid").start / 32) as u64;
    let mut random = Random::new(3);
    let (mut expected, mut regions) = (Vec::new(), Vec::new());
    for round in 0..200_u32 {
        for _ in 0..random.below(3) {
            let region = random.below(MEMORY_REGIONS.entries.into());
            host.bench.send(invalidate, Beat::new().with("region", region));
            regions.push(region);
        }
        // Never what a peer writes, so that the two can be told apart.
        let (index, data) = (round % SEND_QUEUES.entries, random.u64() as u32);
        host.write(SEND_QUEUES.entry(index), data);
        expected.push((2, index.into(), 0, u64::from(data)));
        if random.chance(0.5) {
            host.bench.run(random.below(12));
        }
    }
    host.bench.run_until(|bench| bench.pending(invalidate) == 0);
    host.bench.run(4);
    let words = host.words.borrow();
    let (peers, hosts): (Vec<_>, Vec<_>) = words.iter().partition(|word| word.0 == 1);
    let without_cycle = |words: Vec<&(u64, u64, u64, u64, u64)>| -> Vec<_> {
        words.into_iter().map(|&(t, i, w, d, _)| (t, i, w, d)).collect()
    };
    assert_eq!(without_cycle(hosts), expected);
    let regions: Vec<_> = regions.into_iter().map(|region| (1, region, valid, 0)).collect();
    assert_eq!(without_cycle(peers), regions);
    assert!(words.windows(2).all(|pair| pair[1].4 - pair[0].4 >= 4));
}

#[test]
fn a_reset_clears_every_entry_of_every_table() {
    let mut host = Host::new(&library(), 1);
    let check = |host: &Host<'_>| {
        let words = host.words.borrow();
        assert_eq!(words.len(), 4096);
        for (index, word) in (0..).zip(words.iter()) {
            assert_eq!((word.0, word.1, word.2, word.3), (EVERY_TABLE, index, 15, 0));
        }
        assert!(words.windows(2).all(|pair| pair[1].4 - pair[0].4 == 1));
    };
    host.ready();
    check(&host);
    // A reset by the host does so too, and resets all other registers as well.
    host.write(MAX_READ.offset, 64);
    host.write(IP.offset, 0x0a00_0001);
    host.write(COLUMN_MIN_ROWS.offset, 7);
    host.write(ASSEMBLER_WORDS.offset, 3);
    host.words.borrow_mut().clear();
    let resets = Rc::new(RefCell::new(0));
    let sum = Rc::clone(&resets);
    host.bench.observe(move |model, _| *sum.borrow_mut() += model.get("soft_reset"));
    host.write(CONTROL.offset, 3);
    assert_eq!(*resets.borrow(), 16);
    host.ready();
    check(&host);
    for register in REGISTERS {
        let value = match *register {
            CONTROL => 1,
            COLUMN_MIN_ROWS => 7,
            ASSEMBLER_WORDS => 3,
            _ => reset_value(register),
        };
        assert_eq!(host.read(register.offset), value, "{}", register.name);
    }
    host.write(DOORBELLS.entry(3), 1);
    host.bench.run(10);
    assert_eq!(host.doorbells(), []);
}

/// A root complex may give a read up after 50 us, and a read waits for the writes before it.
#[test]
fn while_tables_are_cleared_only_writes_to_tables_wait() {
    let mut host = Host::new(&library(), 1);
    let clear = 4096;
    // States mean nothing until they are cleared.
    host.errors.borrow_mut().insert(3);
    host.halted.borrow_mut().insert(3);
    host.bell_enabled.borrow_mut().insert(3);
    // After power-up, and then after a reset in the midst of that.
    for round in 0..2 {
        if round == 1 {
            assert!(host.write(CONTROL.offset, 3) <= 25, "the reset is answered");
        }
        let start = host.bench.cycles();
        assert_eq!(host.read_timed(CONTROL.offset), (2 + round, 4));
        assert_eq!(host.read_timed(TYPE.offset), (TYPE_ID, 4));
        assert_eq!(host.write(IP.offset, 0x0a00_0007 + round), 5);
        assert_eq!(host.read_timed(IP.offset), (0x0a00_0007 + round, 4));
        assert_eq!(host.read_timed(QUEUE_PAIR_ERRORS.entry(3)), (0, 4));
        assert_eq!(host.read_timed(SEND_QUEUE_ERRORS.entry(3)), (0, 4));
        assert_eq!(host.write(DOORBELLS.entry(3), 1), 5, "it is ignored");
        host.bench.run(1_000);
        assert_eq!(host.read_timed(CONTROL.offset), (2 + round, 4));
        if round == 0 {
            continue;
        }
        host.words.borrow_mut().clear();
        host.write(QUEUE_PAIRS.entry(7), 5);
        let waited = host.bench.cycles() - start;
        assert!((clear - 30..=clear + 10).contains(&waited), "{waited} cycles");
        assert_eq!(host.read(CONTROL.offset), 1);
        let last = *host.words.borrow().last().expect("words were written");
        assert_eq!((last.0, last.1, last.2, last.3), (0, 7, 0, 5), "behind all zeros");
    }
    host.ready();
    assert_eq!(host.doorbells(), []);
    assert_eq!(host.read(IP.offset), 0x0a00_0008);
    assert_eq!(host.read(QUEUE_PAIR_ERRORS.entry(3)), 1);
    assert_eq!(host.read(SEND_QUEUE_ERRORS.entry(3)), 1);
}

#[test]
fn words_of_described_keys_regions_go_where_these_are() {
    let mut host = Host::new(&library(), 1);
    host.ready();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let shown = Rc::clone(&seen);
    host.bench.observe(move |model, _| {
        if model.get("key_word_valid") == 1 {
            shown
                .borrow_mut()
                .push(["region", "word", "data"].map(|name| model.get(format!("key_word_{name}"))));
        }
    });
    for (region, word) in [(0, 0), (5, 127), (511, 3), (300, 64)] {
        host.write(KEY_REGIONS.entry(region) + 4 * word, 1_000 + word);
        let expected = [u64::from(region), u64::from(word), 1_000 + u64::from(word)];
        assert_eq!(std::mem::take(&mut *seen.borrow_mut()), [expected]);
    }
    // Neither what is behind them, nor other tables.
    for offset in [KEY_REGIONS.entry(512), APPEND_REGIONS.entry(5), MEMORY_REGIONS.entry(5)] {
        host.write(offset, 1);
        assert_eq!(*seen.borrow(), Vec::<[u64; 3]>::new());
    }
}
