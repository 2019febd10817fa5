//! Doorbells: which pass, and which wait.

use super::*;

#[test]
fn only_doorbells_of_enabled_queues_that_are_not_halted_pass() {
    let library = library();
    for seed in 1..4 {
        let mut host = Host::new(&library, seed);
        host.ready();
        host.pause = 0.3;
        host.bench.stall_monitor(host.doorbell, 0.7);
        let mut random = Random::new(seed);
        let mut card = false;
        let mut expected = Vec::new();
        for _ in 0..600 {
            // A few queues, from all of the table.
            let queue = [0, 1, 255, 256, 4094, 4095][random.below(6) as usize];
            match random.below(8) {
                0 => {
                    card = random.chance(0.8);
                    host.write(CONTROL.offset, card.into());
                }
                1 | 2 => {
                    host.bell_enabled.borrow_mut().insert(queue);
                    host.bell_halted.borrow_mut().remove(&queue);
                }
                3 => drop(host.bell_enabled.borrow_mut().take(&queue)),
                4 => drop(host.bell_halted.borrow_mut().replace(queue)),
                _ => {
                    let position = random.u64() as u32;
                    host.write(DOORBELLS.entry(queue as u32), position);
                    let enabled = host.bell_enabled.borrow().contains(&queue);
                    if card && enabled && !host.bell_halted.borrow().contains(&queue) {
                        expected.push((queue, u64::from(position)));
                    }
                }
            }
        }
        assert!(expected.len() > 50);
        assert_eq!(host.doorbells(), expected);
    }
}

/// `receives` knows which of these queues can be used.
#[test]
fn doorbells_of_receive_queues_pass_while_the_card_is_enabled() {
    let mut host = Host::new(&library(), 1);
    assert_eq!(host.write(RECEIVE_DOORBELLS.entry(3), 1), 5, "it is ignored: tables are cleared");
    host.ready();
    host.pause = 0.3;
    let receive_doorbell = host.receive_doorbell;
    host.bench.stall_monitor(receive_doorbell, 0.7);
    let mut random = Random::new(5);
    let (mut card, mut expected) = (false, Vec::new());
    for _ in 0..300 {
        if random.chance(0.1) {
            card = !card;
            host.write(CONTROL.offset, card.into());
        }
        let (queue, position) = (random.below(4096), random.u64() as u32);
        host.write(RECEIVE_DOORBELLS.entry(queue as u32), position);
        if card {
            expected.push((queue, u64::from(position)));
        }
    }
    // Behind the last doorbell there is no register.
    host.write(RECEIVE_DOORBELLS.entry(4096), 1);
    assert!(expected.len() > 50);
    assert_eq!(host.rung(receive_doorbell), expected);
    assert_eq!(host.doorbells(), []);
    assert_eq!(host.read(FEATURES.offset), features::RTL);
}

#[test]
fn a_doorbell_that_is_not_taken_holds_back_its_response() {
    let mut host = Host::new(&library(), 1);
    host.ready();
    host.write(CONTROL.offset, 1);
    host.bell_enabled.borrow_mut().insert(9);
    let quick = host.write(DOORBELLS.entry(9), 1);
    assert_eq!(quick, 5);
    let start = host.bench.cycles();
    let release = start + 100;
    let doorbell = host.doorbell;
    host.bench.stall_monitor(doorbell, 1.0);
    for (port, value) in [("axil_awaddr", DOORBELLS.entry(9)), ("axil_wdata", 2)] {
        host.bench.set(port, value);
    }
    host.bench.set("axil_wstrb", 15);
    host.bench.set("axil_awvalid", 1);
    host.bench.set("axil_wvalid", 1);
    host.bench.step();
    host.bench.set("axil_awvalid", 0);
    host.bench.set("axil_wvalid", 0);
    while host.bench.cycles() < release {
        assert!(!host.settled("axil_bvalid"));
        host.bench.step();
        // The queue halts while its doorbell is offered: the doorbell stays offered.
        if host.bench.cycles() == start + 50 {
            assert!(host.settled("doorbell_valid"));
            host.bell_halted.borrow_mut().insert(9);
        }
    }
    host.bench.stall_monitor(doorbell, 0.0);
    host.bench.run(4);
    assert!(host.settled("axil_bvalid"));
    assert_eq!(host.doorbells(), [(9, 1), (9, 2)]);
}

#[test]
fn words_of_append_regions_and_their_doorbells_go_where_these_are() {
    let mut host = Host::new(&library(), 1);
    host.ready();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let shown = Rc::clone(&seen);
    host.bench.observe(move |model, _| {
        if model.get("append_word_valid") == 1 {
            let fields = ["bell", "region", "word", "data"];
            shown.borrow_mut().push(fields.map(|name| model.get(format!("append_word_{name}"))));
        }
    });
    for (region, word) in [(0, 0), (5, 127), (511, 3), (300, 64)] {
        let data = 1_000 + word;
        host.write(APPEND_REGIONS.entry(region) + 4 * word, data);
        host.write(APPEND_DOORBELLS.entry(region), data + 1);
        let [of_entry, mut of_bell] = std::mem::take(&mut *seen.borrow_mut())[..] else {
            panic!("a word each");
        };
        assert_eq!(of_entry, [0, region, word, data].map(u64::from));
        // A doorbell has one word: the number of the word means nothing.
        of_bell[2] = 0;
        assert_eq!(of_bell, [1, region, 0, data + 1].map(u64::from));
    }
    // Neither what is behind them, nor other tables.
    for offset in [APPEND_DOORBELLS.entry(512), KEY_REGIONS.entry(5), MEMORY_REGIONS.entry(5)] {
        host.write(offset, 1);
        assert_eq!(*seen.borrow(), Vec::<[u64; 4]>::new());
    }
}
