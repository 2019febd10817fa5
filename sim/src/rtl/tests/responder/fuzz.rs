//! Frames that are wrong in any way, into the whole card.

use super::*;

/// Frames, unless `DRDMA_TEST_FRAMES` says how many.
const FRAMES: u64 = 10_000;
const PAIRS: u32 = 4;
/// What no peer may see or change.
const SECRET: u8 = 0xee;
/// Pages that a key opens for WRITEs and READs, and one for atomics alone.
const OPEN: std::ops::Range<usize> = 0x3100..0x6f00;
const COUNTERS: std::ops::Range<usize> = 0x9000..0x9100;
const BYTES: usize = 0x10000;
const WORDS: u32 = 0x77_7011;
const BTH_AT: usize = 42;

/// A request that is right, of whatever kind, and whether it is one without an answer.
fn request(flow: &Flow, psn: u32, random: &mut Random) -> Vec<u8> {
    let inside = |range: std::ops::Range<usize>, len: u64, random: &mut Random| {
        TABLE + range.start as u64 + random.below(range.len() as u64 - len + 1)
    };
    let bytes = |len: usize, random: &mut Random| -> Vec<u8> {
        // None of them looks like what is secret.
        random.bytes(len).iter().map(|byte| byte & 0x7f).collect()
    };
    match random.below(6) {
        0 => {
            let len = random.below(9_000);
            let virtual_address = inside(OPEN, len, random);
            answers::read_request(
                flow,
                psn,
                &Reth { virtual_address, rkey: KEY, dma_length: len as u32 },
            )
        }
        1 | 2 => {
            let virtual_address = inside(COUNTERS, 8, random) & !7;
            let (swap_or_add, compare) = (random.below(3), random.below(3));
            let request = AtomicEth { virtual_address, rkey: WORDS, swap_or_add, compare };
            answers::atomic_request(flow, psn, random.chance(0.5), &request)
        }
        3 | 4 => {
            let len = random.below(1_000) as usize;
            let data = bytes(len, random);
            let (send, reth) = (random.chance(0.3), inside(OPEN, len as u64, random));
            let reth = Reth { virtual_address: reth, rkey: KEY, dma_length: len as u32 };
            let (operation, headers) = match send {
                true => (operation::SEND_ONLY, Vec::new()),
                false => (operation::WRITE_ONLY, reth.to_bytes().to_vec()),
            };
            let bth = bth(flow, operation, psn);
            let Ok(frame) = packets::assemble(flow, bth, &headers, len, |payload| {
                payload.copy_from_slice(&data);
                Ok::<_, std::convert::Infallible>(())
            });
            frame
        }
        _ => answers::acknowledgement(flow, random.u64() as u8, psn, 0),
    }
}

fn bth(flow: &Flow, operation: u8, psn: u32) -> Bth {
    Bth {
        opcode: operation,
        migration: 1,
        pkey: flow.pkey,
        dest_qp: flow.dest_qpn,
        ack_req: 1,
        psn,
        ..Bth::default()
    }
}

/// Makes something wrong behind the addresses; mostly so that the checksums are right nevertheless.
fn mutate(frame: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(2) {
        let len = frame.len() as u64;
        match random.below(8) {
            // A bit of the BTH or the headers behind it.
            0..5 => {
                let at = BTH_AT as u64 + random.below((len - BTH_AT as u64 - 4).min(40));
                frame[at as usize] ^= 1 << random.below(8);
            }
            // The opcode.
            5 => frame[BTH_AT] = random.below(32) as u8,
            // Bytes more or less, and lengths that tell of them.
            6 => {
                let rest = frame.split_off(frame.len() - 4);
                let (count, longer) = (4 * (1 + random.below(20)) as usize, random.chance(0.5));
                let len = frame.len();
                let len = if longer { len + count } else { len.saturating_sub(count) };
                frame.resize(len.max(BTH_AT + 12), 0);
                frame.extend(rest);
                let ip = (frame.len() - 14) as u16;
                frame[16..18].copy_from_slice(&ip.to_be_bytes());
                frame[38..40].copy_from_slice(&(ip - 20).to_be_bytes());
            }
            // A bit anywhere.
            _ => frame[random.below(len) as usize] ^= 1 << random.below(8),
        }
    }
    if random.chance(0.9) {
        frame[24..26].copy_from_slice(&[0; 2]);
        let checksum = icrc::internet_checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&checksum.to_be_bytes());
        let crc = icrc::of_frame(frame);
        let at = frame.len() - 4;
        frame[at..].copy_from_slice(&crc.to_le_bytes());
    }
}

/// A card whose memory is secret but for what keys open.
fn guarded() -> Bench {
    let mut bench = Bench::new(PAIRS, pcie::Config::default());
    bench.table.write(0, &vec![SECRET; BYTES]);
    bench.table.write(OPEN.start, &vec![0x11; OPEN.len()]);
    bench.table.write(COUNTERS.start, &vec![0; COUNTERS.len()]);
    for (lkey, range, rights) in [
        (KEY, OPEN, rights::REMOTE_READ | rights::REMOTE_WRITE),
        (WORDS, COUNTERS, rights::REMOTE_ATOMIC),
    ] {
        let entry = MemoryRegionEntry {
            addr: TABLE + range.start as u64,
            len: range.len() as u64,
            lkey,
            rights,
            valid: 1,
            ..Default::default()
        };
        bench.rig.write_entry(&MEMORY_REGIONS, lkey % MEMORY_REGIONS.entries, &entry);
    }
    bench
}

/// Everything that the card sent: none of it is secret. Gives how many frames there were, and the last NAK.
fn sent(bench: &mut Bench, what: &str) -> (u64, Option<u8>) {
    let (mut count, mut nak) = (0, None);
    while let Some(sent) = bench.rig.network.take_sent() {
        count += 1;
        let frame = Frame::parse_any(&sent.bytes).unwrap_or_else(|error| panic!("{error} {what}"));
        if frame.original.is_none() {
            assert!(!frame.payload.contains(&SECRET), "{frame:?} tells a secret {what}");
        }
        nak = frame.aeth.map(|aeth| aeth.syndrome).filter(|code| *code != 0x1f).or(nak);
    }
    (count, nak)
}

#[test]
#[ignore = "takes a quarter of an hour and more"]
fn no_frame_hangs_the_card_or_reaches_what_no_key_opens_and_each_is_accounted_for() {
    let frames = std::env::var("DRDMA_TEST_FRAMES").ok().and_then(|count| count.parse().ok());
    let (mut random, mut bench) = (Random::new(1), guarded());
    let counters = [counter::RECEIVE_DROPPED, counter::RECEIVE_OVERRUN, counter::RECEIVE_IGNORED];
    let mut counted = [0; 3];
    // Dropped, overrun, ignored, to the host, answered, carried out in silence.
    let mut fates = [0_u64; 6];
    for number in 0..frames.unwrap_or(FRAMES) {
        let index = random.below(u64::from(PAIRS)) as u32;
        let flow = flow(index);
        let psn = bench.psns[index as usize];
        let mut frame = request(&flow, psn, &mut random);
        let right = frame.clone();
        if random.chance(0.9) {
            mutate(&mut frame, &mut random);
        }
        let what = format!("of frame {number}");
        bench.inject(frame.clone());
        // Until the card is idle: no frame may hang it.
        let mut idle = false;
        for _ in 0..2_000 {
            bench.rig.progress(20);
            idle = bench.rig.get(&STATUS) == 0;
            if idle {
                break;
            }
        }
        assert!(idle, "the card is not idle {what}: {frame:02x?}");
        let (answers, nak) = sent(&mut bench, &what);
        let host = bench.rig.card.mac().received_by_host().len();
        let now = counters.each_ref().map(|counter| bench.rig.count(counter));
        let moved = [0, 1, 2].map(|k| now[k] - counted[k]);
        counted = now;
        // One fate each. What is left to the host although it is to the card's addresses counts as dropped, too.
        let fate = match (moved, host, answers) {
            ([0 | 1, 0, 0], 1, 0) => 3,
            ([1, 0, 0], 0, 0) => 0,
            ([0, 0, 1], 0, 0) => 2,
            ([0, 0, 0], 0, 1..) => 4,
            ([0, 0, 0], 0, 0) => {
                // An acknowledgement, or a packet that asks for none.
                let parsed = Frame::parse_any(&frame).expect("a right frame is carried out");
                let operation = parsed.operation();
                let silent = parsed.bth.ack_req == 0 && operation <= operation::WRITE_ONLY_IMM;
                let response = (0x0d..=operation::ATOMIC_ACKNOWLEDGE).contains(&operation);
                assert!(silent || response, "{parsed:?} leads to nothing {what}");
                5
            }
            other => panic!("{other:?} {what}: {frame:02x?}"),
        };
        fates[fate] += 1;
        let expected = frame == right && fate == 4 && nak.is_none();
        if expected {
            let parsed = Frame::parse_any(&frame).unwrap();
            let len = parsed.reth.map_or(0, |reth| reth.dma_length);
            let packets = match parsed.operation() {
                operation::READ_REQUEST => len.div_ceil(1 << LOG_MTU).max(1),
                _ => 1,
            };
            bench.psns[index as usize] = psn_add(psn, packets);
        } else if nak.is_some() || fate == 0 || random.chance(0.5) {
            // Whatever it was, the queue pair begins anew, sometimes after more of the same.
            bench.make(index);
        }
    }
    println!("dropped, overrun, ignored, to the host, answered, silent: {fates:?}");
    assert!([0, 2, 3, 4].iter().all(|fate| fates[*fate] > frames.unwrap_or(FRAMES) / 100));

    // Nothing outside keys has changed,
    let mut memory = vec![0; BYTES];
    bench.table.read(0, &mut memory);
    for (at, byte) in memory.iter().enumerate() {
        let open = OPEN.contains(&at) || COUNTERS.contains(&at);
        assert!(open || *byte == SECRET, "byte {at:#x} was written");
    }
    // and the card works as before.
    for index in 0..PAIRS {
        bench.make(index);
        let request = AtomicEth {
            virtual_address: TABLE + COUNTERS.start as u64,
            rkey: WORDS,
            swap_or_add: 1,
            compare: 0,
        };
        let frame = answers::atomic_request(&flow(index), PSN, false, &request);
        bench.inject(frame);
        bench.rig.progress(2_000);
        let answer = bench.rig.network.take_sent().expect("an answer");
        let answer = Frame::parse_any(&answer.bytes).unwrap();
        assert_eq!(answer.aeth.map(|aeth| aeth.syndrome), Some(syndrome::ACK | 31));
    }
}
