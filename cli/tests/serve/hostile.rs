//! Clients that vanish or send what they must not.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    net::Shutdown,
};

use drdma_abi::register::{CONTROL, DOORBELLS, IP, TABLES, TYPE, TYPE_ID};
use drdma_serve::Event;
use drdma_verilated::testbench::Random;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::{
    client::{BAR0, BAR2, CONFIG, Client, ServedCard},
    rig::{Served, check, job},
};

#[test]
fn a_client_that_vanishes_under_traffic_leaves_a_card_for_the_next_one() {
    let served = Served::new("rtl:");
    for round in 0..2 {
        let mut far = served.far();
        let card = ServedCard::open(&served.path());
        let own = card.clone();
        far.turns = Box::new(move |frames| {
            if frames > 2 {
                own.client().stream().shutdown(Shutdown::Both).unwrap();
            }
            true
        });
        // Long enough for a few frames on a busy machine.
        let patience = std::time::Duration::from_secs(3);
        assert!(far.run_patiently(&job(), card, patience).is_err(), "round {round}");
        let gone = |event: &&Event| matches!(event, Event::Disconnected { .. });
        let start = std::time::Instant::now();
        while served.events().iter().filter(gone).count() <= 2 * round {
            assert!(start.elapsed() < crate::rig::PATIENCE);
        }
        // The next client finds the card as after power-on, whether it resets it or not.
        let mut client = Client::connect(&served.path());
        assert_eq!(client.read32(CONFIG, 4).unwrap() & 6, 0);
        client.set_command(2);
        assert_eq!(client.read32(BAR2, IP.offset.into()), Ok(0));
    }
    let mut far = served.far();
    let job = job();
    far.run(&job, ServedCard::open(&served.path())).unwrap();
    check(&mut far, &job);
    served.stop();
}

/// True if the server still serves.
fn serves(served: &Served) -> bool {
    let mut client = Client::connect(&served.path());
    client.set_command(2);
    client.read32(BAR2, TYPE.offset.into()) == Ok(TYPE_ID)
}

#[test]
fn malformed_messages_end_the_connection_and_are_told() {
    let served = Served::new("soft:");
    let header = |command: u16, size: u32, flags: u32| {
        let mut bytes = [[1, 0], command.to_le_bytes()].concat();
        [size, flags, 0].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes
    };
    let version = [header(1, 20, 0), vec![0, 0, 1, 0]].concat();
    for (message, text) in [
        (header(1, 3, 0), "it sent a message of 3 B"),
        (header(1, u32::MAX, 0), "it sent a message of 4294967295 B"),
        (header(4, 32, 0), "it has gone in the middle of a message"),
        ([header(4, 32, 0), vec![0; 16]].concat(), "it sent command 4 where there should be"),
        ([header(1, 20, 0), vec![1, 0, 1, 0]].concat(), "it sent version 1 of the protocol"),
        ([header(1, 22, 0), b"\0\0\x01\0{]".to_vec()].concat(), "it sent capabilities that are no"),
        ([version.clone(), version.clone()].concat(), "it sent command 1 where there was already"),
        ([version.clone(), header(77, 16, 0)].concat(), "it sent command 77, which there is not"),
        ([version.clone(), header(4, 16, 1)].concat(), "it sent a message of type 1"),
        ([version, header(2, 17, 0), vec![0]].concat(), "it sent command 2 with a body of 1 B"),
    ] {
        let before = served.events().len();
        let mut client = Client::raw(&served.path());
        client.stream().write_all(&message).unwrap();
        client.stream().shutdown(Shutdown::Write).unwrap();
        let mut replies = Vec::new();
        let _ = client.stream().read_to_end(&mut replies);
        let start = std::time::Instant::now();
        let told = |event: &Event| matches!(event, Event::Disconnected { reason } if reason.starts_with(text));
        while !served.events()[before..].iter().any(told) {
            assert!(start.elapsed() < crate::rig::PATIENCE, "{text}: {:?}", served.events());
        }
        assert!(serves(&served), "{text}");
    }
    served.stop();
}

/// A message that may be right or wrong.
fn message(random: &mut Random) -> Vec<u8> {
    let mut byte = |_| random.below(256) as u8;
    let mut body: Vec<u8> = (0..48).map(&mut byte).collect();
    // Small numbers where numbers are, mostly.
    for word in body.chunks_mut(4) {
        if random.chance(0.7) {
            word[1..].fill(0);
        }
        if random.chance(0.3) {
            word[0] %= 8;
        }
    }
    body.truncate([0, 4, 16, 20, 24, 32, 36, 48][random.below(8) as usize]);
    let command = if random.chance(0.9) { 1 + random.below(14) } else { random.below(1 << 16) };
    let size = match random.below(20) {
        0 => random.below(1 << 32) as u32,
        1 => random.below(64) as u32,
        _ => 16 + body.len() as u32,
    };
    let flags = if random.chance(0.9) { 0 } else { random.below(64) as u32 };
    let mut bytes = vec![0, 0];
    bytes.extend((command as u16).to_le_bytes());
    [size, flags, 0].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes.extend(body);
    bytes
}

#[test]
fn whatever_messages_come_the_server_serves_the_next_client() {
    let served = Served::new("soft:");
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let mut client = match random.chance(0.9) {
            true => Client::connect(&served.path()),
            false => Client::raw(&served.path()),
        };
        for _ in 0..random.below(30) {
            if client.stream().write_all(&message(&mut random)).is_err() {
                break;
            }
        }
        // Some commands wait for their replies, others do not.
        if random.chance(0.5) {
            let _ = client.stream().shutdown(Shutdown::Write);
            let _ = client.stream().read_to_end(&mut Vec::new());
        }
        drop(client);
        assert!(seed % 10 != 0 || serves(&served), "seed {seed}");
    }
    assert!(serves(&served));
    served.stop();
}

/// Random accesses to everything that there is, with memory of garbage behind it.
fn garbage(served: &Served, seed: u64, accesses: u64) {
    let mut random = Random::new(seed);
    let mut client = Client::connect(&served.path());
    let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    let bytes: Vec<u8> = (0..1 << 16).map(|_| random.below(256) as u8).collect();
    (&file).write_all(&bytes).unwrap();
    client.map(0, 1 << 16, 0, &file).unwrap();
    client.set_command(6);
    client.set_port(true);
    client.write32(BAR2, CONTROL.offset.into(), 1).unwrap();
    for _ in 0..accesses {
        let table = TABLES[random.below(TABLES.len() as u64) as usize];
        let offset = match random.below(10) {
            0 => random.below(1 << 24),
            1 => random.below(64) * 4,
            _ => u64::from(table.offset) + random.below(16 * u64::from(table.entry_size)),
        };
        let value = match random.below(3) {
            0 => random.below(1 << 32),
            1 => random.below(1 << 16) & !63,
            _ => random.below(20),
        };
        let len = [4, 4, 4, 4, 8, 1, 2, 64][random.below(8) as usize];
        let offset = if random.chance(0.95) { offset & !3 } else { offset };
        let data = [(value as u32).to_le_bytes(); 16].concat();
        let region =
            if random.chance(0.95) { BAR2 } else { [BAR0, CONFIG][random.below(2) as usize] };
        let done = match random.chance(0.8) {
            true => client.write(region, offset, &data[..len]),
            false => client.read(region, offset, len).map(|_| ()),
        };
        assert!(matches!(done, Ok(()) | Err(22)), "seed {seed}: {done:?} at {region} {offset:#x}");
    }
    // A storm of doorbells, without a look at what becomes of them.
    for ring in 0..300_u32 {
        let offset = u64::from(0x5_0000 + 4 * (ring % 256));
        client.post(10, &Client::access(BAR2, offset, &ring.to_le_bytes()));
    }
    client.read32(CONFIG, 0).unwrap();
}

#[test]
fn garbage_in_registers_and_rings_leaves_a_server_and_a_card_that_can_be_reset() {
    for (uri, seeds, accesses) in [("soft:", 0..8, 600), ("rtl:", 8..11, 250)] {
        let served = Served::new(uri);
        for seed in seeds {
            garbage(&served, seed, accesses);
        }
        let mut far = served.far();
        let job = job();
        far.run(&job, ServedCard::open(&served.path())).unwrap();
        check(&mut far, &job);
        served.stop();
    }
}

#[test]
fn a_storm_of_doorbells_for_more_than_was_posted_ends_in_errors_that_are_told() {
    for uri in ["soft:", "rtl:"] {
        let served = Served::new(uri);
        let mut far = served.far();
        let card = ServedCard::open(&served.path());
        let own = card.clone();
        let mut random = Random::new(77);
        let mut turns = 0;
        // Rings hold nothing behind what was posted: zeros, which are no requests.
        far.turns = Box::new(move |_| {
            turns += 1;
            for _ in 0..if turns < 20 { 100 } else { 0 } {
                let offset = u64::from(DOORBELLS.offset) + 4 * random.below(8);
                let value = 1 + random.below(24) as u32;
                own.client().post(10, &Client::access(BAR2, offset, &value.to_le_bytes()));
            }
            true
        });
        let start = std::time::Instant::now();
        let result = far.run_patiently(&job(), card, std::time::Duration::from_secs(2));
        let statuses: Vec<_> = far.completions.iter().map(|c| c.status.name()).collect();
        println!("{uri} {result:?} {statuses:?}");
        assert!(result.is_err() || statuses.iter().any(|status| *status != "success"), "{uri}");
        assert!(start.elapsed() < crate::rig::PATIENCE);
        drop(far);
        served.wait_for("end", |event| matches!(event, Event::Disconnected { .. }));
        let (mut far, job) = (served.far(), job());
        far.run(&job, ServedCard::open(&served.path())).unwrap();
        check(&mut far, &job);
        served.stop();
    }
}
