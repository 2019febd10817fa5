//! Receives that append: taken, given back to their queue, and cut along the columns of their regions.

use super::host::*;
use drdma_abi::receive::receive_flags;
use drdma_semantics::append::Append;
use drdma_semantics::receive::encode_append;
use drdma_semantics::region::Column;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Random, STALLS};

const LOG: u8 = 4;
const OWN: u16 = 3;
const SHARED: u16 = 2048;

/// A region of the host, and the number of times that it was enabled.
struct Region {
    columns: Vec<Column>,
    capacity: u32,
    model: Append,
    life: u64,
}

impl Region {
    fn random(random: &mut Random, life: u64) -> Self {
        let most = [3, 16][random.below(2) as usize];
        let count = 1 + random.below(most);
        let columns: Vec<_> = (0..count)
            .map(|_| {
                let width = [1, 4, 8, 1 + random.below(300) as u32][random.below(4) as usize];
                Column { base: random.u64() >> 4, width, lkey: 1 }
            })
            .collect();
        let most = [3, 70][random.below(2) as usize];
        let capacity = 1 + random.below(most) as u32;
        let model = Append::new(columns.clone(), capacity, PD);
        Self { columns, capacity, model, life }
    }

    fn enable(&self, host: &mut Host<'_>, number: u64) {
        let entry = Append::encode(&self.columns, self.capacity, PD);
        for (word, bytes) in (0_u64..).zip(entry.chunks(4)) {
            let data = u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
            host.append_word(number, word, data);
        }
    }
}

impl Host<'_> {
    fn append_word(&mut self, region: u64, word: u64, data: u32) {
        for (port, value) in [
            ("append_word_valid", 1),
            ("append_word_region", region),
            ("append_word_word", word),
            ("append_word_data", data.into()),
        ] {
            self.bench.set(port, value);
        }
        self.step();
        self.bench.set("append_word_valid", 0);
        self.run(3);
    }

    /// Decides about a receive that appends: whether it stays in its queue, and whether the queue halts.
    fn append_taken(&mut self, returned: bool, halts: bool) {
        self.bench.set("append_taken_valid", 1);
        self.bench.set("append_taken_returned", u64::from(returned));
        self.bench.set("append_taken_halts", u64::from(halts));
        self.step();
        self.bench.set("append_taken_valid", 0);
    }
}

#[test]
fn appended_messages_become_rows_of_their_columns() {
    let library = library();
    let (mut wraps, mut returns, mut several, mut turned, mut wide) = (0, 0, 0, 0, 0);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut host = Host::new(&library, seed);
        host.latency = [0, 80][seed as usize % 2];
        for port in ["append_word_valid", "append_word_bell", "append_taken_valid"] {
            host.bench.set(port, 0);
        }
        host.bench.stall(stalls);
        host.queue(OWN, LOG, Some(30));
        host.queue(SHARED, LOG, None);
        let mut regions: Vec<Region> = Vec::new();
        for number in 0..3 {
            regions.push(Region::random(&mut random, 1));
            regions[number].enable(&mut host, 100 * number as u64);
        }
        let (mut runs, mut completions) = (Vec::new(), Vec::new());
        let mut positions = [0_u32; 2];
        for name in 0..120_u64 {
            let shared = random.chance(0.5);
            let (queue, at) = if shared { (SHARED, 1) } else { (OWN, 0) };
            let number = random.below(3);
            if random.chance(0.05) {
                // The region gets another entry, once all outputs of the earlier one have left.
                host.settle();
                let life = regions[number as usize].life + 1;
                regions[number as usize] = Region::random(&mut random, life);
                regions[number as usize].enable(&mut host, 100 * number);
            }
            let region = &regions[number as usize];
            let (row, capacity) = (region.model.row_len(), region.capacity);
            host.put(
                queue,
                LOG,
                positions[at],
                &encode_append(name, 100 * number as u32, positions[at]),
            );
            host.ring_doorbell(queue, positions[at] + 1);
            host.run(host.latency + 40);
            // The only slot is taken again each time it is given back, by any queue pair.
            let mut qp = 30;
            for _ in 0..=random.below(3) {
                qp = if shared { 40 + random.below(5) } else { 30 };
                assert_eq!(host.take(qp, queue), (true, 0, 100 * number));
                host.run(random.below(10));
                if random.chance(0.5) {
                    break;
                }
                host.append_taken(true, false);
                let placing = [("kind", NOTHING), ("qp", qp), ("frame_end", 1), ("returns", 1)];
                host.bench.send(host.placing, Beat::from(placing));
                runs.push((0, 0, 0, true));
                qp = 0;
                returns += 1;
            }
            if qp == 0 {
                qp = if shared { 47 } else { 30 };
                assert_eq!(host.take(qp, queue), (true, 0, 100 * number));
            }
            host.append_taken(false, false);
            let rows = random.below(u64::from(capacity) + 1).min(16_000 / row);
            let first_row = random.below(capacity.into()) as u32;
            wraps += u32::from(u64::from(first_row) + rows > u64::from(capacity));
            let (len, mut start) = (rows * row, 0);
            loop {
                let most = [4_096, 1 + random.below(4_096)];
                let bytes = (len - start).min(most[random.below(2) as usize]);
                let ram = random.below(1 << 17);
                let last = start + bytes == len;
                let flags = u64::from(receive_flags::APPENDED);
                let placing = [
                    ("kind", RECEIVE),
                    ("qp", qp),
                    ("first", (start == 0).into()),
                    ("ram", ram),
                    ("bytes", bytes),
                    ("frame_end", 1),
                    ("completes", last.into()),
                    ("byte_len", len),
                    ("flags", flags),
                    ("source", first_row.into()),
                    ("appends", 1),
                    ("region", 100 * number),
                    ("life", region.life),
                ];
                host.bench.send(host.placing, Beat::from(placing));
                several += u32::from(start > 0);
                let mut parts = region.model.fragments(first_row, start, bytes as u32);
                if parts.is_empty() {
                    parts.push(drdma_semantics::rows::Fragment { addr: 0, len: 0 });
                }
                let (count, mut at) = (parts.len(), ram);
                for (k, part) in parts.iter().enumerate() {
                    let len = u64::from(part.len);
                    runs.push((part.addr, at, len, k + 1 == count));
                    at = (at + len) % (1 << 17);
                }
                start += bytes;
                if last {
                    break;
                }
            }
            completions.push((name, positions[at], len as u32, first_row));
            positions[at] += 1;
            if random.chance(0.3) {
                host.run(random.below(200));
            }
        }
        host.settle();
        let mut found = Vec::new();
        for order in host.bench.take(host.order) {
            for run in host.runs_of(&order) {
                let right = runs[found.len()..].first().expect("no further order");
                let place = right.2 == 0 || (run.0, run.1) == (right.0, right.1);
                let same = place && (run.2, run.3) == (right.2, right.3);
                assert!(same, "{run:x?} {right:x?}, {seed}");
                found.push(run);
            }
            if order.u64("completes") == 1 {
                let (_, done) = completion(order.get("receipt"));
                let (name, position, len, first_row) = completions.remove(0);
                assert_eq!((done.wr_id, done.position, done.byte_len), (name, position, len));
                assert_eq!((done.status, done.flags), (0, receive_flags::APPENDED));
                let line = order.get("receipt").bits(22, 256).bits(224, 32).to_u64();
                assert_eq!(line, u64::from(first_row));
            }
        }
        assert_eq!(found.len(), runs.len());
        assert!(completions.is_empty());
        turned += host.transposer.count;
        wide += host.transposer.dropped;
    }
    assert!(turned > 100 && wide > 100, "{turned} turned, {wide} too wide");
    assert!(wraps > 20 && returns > 100 && several > 50, "{wraps}, {returns}, {several}");
}

/// A receive that appends to region 7 has been taken, and 4,096 B come for its rows from `source` on.
fn appending<'a>(library: &'a Library, region: &Region, source: u64) -> Host<'a> {
    let mut host = Host::new(library, 1);
    for port in ["append_word_valid", "append_word_bell", "append_taken_valid"] {
        host.bench.set(port, 0);
    }
    host.queue(OWN, LOG, Some(30));
    region.enable(&mut host, 7);
    host.put(OWN, LOG, 0, &encode_append(5, 7, 0));
    host.ring_doorbell(OWN, 1);
    host.settle();
    assert_eq!(host.take(30, OWN), (true, 0, 7));
    host.append_taken(false, false);
    let packet = [
        ("kind", RECEIVE),
        ("qp", 30),
        ("first", 1),
        ("bytes", 4_096),
        ("frame_end", 1),
        ("appends", 1),
        ("region", 7),
        ("life", 1),
        ("source", source),
    ];
    host.bench.send(host.placing, Beat::from(packet));
    host
}

#[test]
fn bytes_for_a_region_that_the_host_writes_again_are_dropped() {
    let region = Region {
        // Too wide for the transposer, so that each value is an order.
        columns: vec![Column { base: 0x1000, width: 68, lkey: 1 }],
        capacity: 1000,
        model: Append::new(Vec::new(), 1, PD),
        life: 1,
    };
    let library = library();
    let mut host = appending(&library, &region, 0);
    host.run(100);
    // The first word of the entry is written: the base of a column that has changed is never used.
    host.append_word(7, 0, 1000);
    host.append_word(7, 4, 0x9000_0000);
    host.settle();
    let (runs, completions) = host.orders();
    assert!((20..80).contains(&runs.len()), "{} values", runs.len());
    assert!(runs.iter().all(|run| run.2 == 0 || run.0 < 0x3000), "{runs:x?}");
    assert!(completions.is_empty() && runs.last().is_some_and(|run| run.3));
}

#[test]
fn columns_of_a_region_that_the_host_writes_again_are_not_transposed() {
    let library = library();
    let (mut before, mut after) = (0, 0);
    for delay in 0..40 {
        let column = |k: u64| Column { base: 0x1000 + 0x10_0000 * k, width: 8, lkey: 1 };
        let columns: Vec<_> = (0..16).map(column).collect();
        let model = Append::new(columns.clone(), 1_000, PD);
        let region = Region { columns, capacity: 1_000, model, life: 1 };
        let mut host = appending(&library, &region, 3);
        host.run(delay);
        host.append_word(7, 0, 1000);
        for k in 0..16 {
            host.append_word(7, 4 + 4 * k, 0x9000_0000);
        }
        host.settle();
        let (runs, _) = host.orders();
        let right = region.model.fragments(3, 0, 4_096);
        let bytes: u64 = runs.iter().map(|run| run.2).sum();
        assert!(bytes == 0 || bytes == 4_096, "all of it or nothing, not {bytes} B");
        match bytes {
            0 => before += 1,
            _ => after += 1,
        }
        if bytes > 0 {
            let same = runs.iter().zip(&right).all(|(run, right)| run.0 == right.addr);
            assert!(same && runs.len() == right.len(), "{delay}: {runs:x?}");
        }
        assert!(runs.last().is_some_and(|run| run.3), "the frame ends");
    }
    assert!(before > 5 && after > 5, "{before} before, {after} after");
}

#[test]
fn a_receive_that_appends_and_is_wrong_halts_its_queue() {
    let library = library();
    let (qp, queue) = (30, OWN);
    for bit in [8 + 1, 16, 32, 64, 96, 192, 256 + 32, 256 + 64, 256 + 127] {
        let mut host = Host::new(&library, 1);
        host.bench.set("append_taken_valid", 0);
        host.queue(queue, LOG, Some(30));
        let mut entry = encode_append(5, 7, 0);
        entry[bit / 8] ^= 1 << (bit % 8);
        host.put(queue, LOG, 0, &entry);
        host.put(queue, LOG, 1, &encode_append(6, 7, 1));
        host.ring_doorbell(queue, 2);
        host.settle();
        assert_eq!(host.take(qp, queue).1, 2, "bit {bit}");
        assert!(!host.take(qp, queue).0, "bit {bit}");
    }
    // The receive's region is found malformed after the receive was taken.
    let mut host = Host::new(&library, 1);
    host.bench.set("append_taken_valid", 0);
    host.queue(queue, LOG, Some(30));
    (0..2).for_each(|position| host.put(queue, LOG, position, &encode_append(6, 7, position)));
    host.ring_doorbell(queue, 2);
    host.settle();
    assert!(host.take(qp, queue).0);
    host.ask(qp, queue);
    host.run(100);
    assert!(host.bench.received(host.taken).is_empty(), "it waits until the first one is settled");
    host.append_taken(false, true);
    host.run(100);
    assert!(!answer(&host.bench.take(host.taken)[0]).0);
}
