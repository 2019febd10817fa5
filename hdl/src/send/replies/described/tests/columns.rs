//! Regions whose columns are dense.

use super::*;

/// Columns of a width, at places in host memory.
fn dense(width: u64, rows: u64, places: &[u64]) -> Region {
    let pattern = places.iter().map(|place| Extent { offset: *place, len: width as u32 }).collect();
    Region::Strided { base: BASE, period: width, count: rows as u32, lkey: ALL, pattern }
}

/// Rows of five values of 4 bytes are read column by column.
#[test]
fn a_packet_is_a_read_for_each_column() {
    let library = library();
    let mut around = Around::new(&library, 1, STALLS[0]);
    let places: Vec<_> = (0..5).map(|k| k * 8192).collect();
    let region = dense(4, 1000, &places);
    around.describe(3, &encode(&region));
    let mut wanted = Vec::new();
    for (k, start) in [40, 4136].into_iter().enumerate() {
        around.ask(Some(3), (start, 4096), k == 0);
        wanted.push(expected(&around, &region, (start, 4096)));
    }
    let got = around.wait(2);
    compare(&got, &wanted, "two packets");
    assert_eq!(around.fetched.len(), 10, "{:x?}", around.fetched);
}

/// Any columns: as many as there are, of any width, one behind the other and apart.
fn any(random: &mut Random) -> Region {
    let widest = [4, 16, 64][random.below(3) as usize];
    let width = match random.below(3) {
        0 => 4 * (1 + random.below(widest / 4)),
        1 => 2 * (1 + random.below(widest / 2)),
        _ => 1 + random.below(widest),
    };
    let columns = 1 + random.below(16);
    let most = LISTS - BASE;
    let rows = 1 + random.below((most - 1000) / width);
    let room = most - rows * width;
    let places: Vec<_> = (0..columns).map(|_| random.below(room + 1)).collect();
    dense(width, rows, &places)
}

/// READs of any part of them, in packets of any MTU.
#[test]
fn any_part_of_dense_columns_comes_as_the_semantics_say() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        for round in 0..60 {
            let region = any(&mut random);
            let at = random.below(512);
            around.describe(at, &encode(&region));
            let Region::Strided { count, .. } = region else { unreachable!() };
            let len = u64::from(count) * region.row_len();
            let mut wanted = Vec::new();
            for _ in 0..4 {
                let mtu = 256 << random.below(5);
                let start = random.below(len);
                let longest = pick(&mut random, [100, 3_000, 20_000]);
                let bytes = (1 + random.below(longest)).min(len - start);
                wanted.extend(around.ask_read((at, &region), (start, bytes), mtu));
            }
            let got = around.wait(wanted.len());
            compare(&got, &wanted, &format!("round {round} of seed {seed}: {region:?}"));
        }
    }
}

/// The bytes of a packet, if their key has them, regardless of the region's other bytes.
fn bytes_in_key(
    around: &Around<'_>,
    (width, places): (u64, &[u64]),
    (start, bytes): (u64, u64),
) -> Result<Vec<u8>, bool> {
    let row = width * places.len() as u64;
    let place = |at: u64| places[(at % row / width) as usize] + at / row * width + at % width;
    let byte = |at| around.memory.get(place(at) as usize).copied().ok_or(false);
    (start..start + bytes).map(byte).collect()
}

/// Columns that their key has in part, or that are of no memory, between others: a packet that has any of that fails,
/// and no other one.
#[test]
fn a_packet_fails_if_any_of_its_columns_cannot_be_read() {
    let library = library();
    let (mut good, mut missed, mut unread) = (0, 0, 0);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        for round in 0..20 {
            let width = 4 * (1 + random.below(4));
            let rows = 200 + random.below(300);
            let inside: Vec<_> = (0..5).map(|k| k * 7000).collect();
            let mut outside = inside.clone();
            outside[random.below(5) as usize] = SIZE - 100 * width;
            let nowhere: Vec<_> = inside.iter().map(|place| place + SIZE).collect();
            let all = [inside, outside, nowhere];
            for (at, places) in all.iter().enumerate() {
                let mut region = dense(width, rows, places);
                if let Region::Strided { lkey, .. } = &mut region
                    && at == 2
                {
                    *lkey = NOWHERE;
                }
                around.describe(at as u64, &encode(&region));
            }
            let mut wanted = Vec::new();
            for _ in 0..12 {
                let at = random.below(3) as usize;
                let bytes = 1 + random.below(3000);
                let start = random.below(rows * width * 5 - bytes);
                around.ask(Some(at as u64), (start, bytes), true);
                let packet = bytes_in_key(&around, (width, &all[at]), (start, bytes));
                match (at, &packet) {
                    (_, Ok(_)) => good += 1,
                    (1, Err(_)) => missed += 1,
                    _ => unread += 1,
                }
                wanted.push(packet);
            }
            let got = around.wait(wanted.len());
            compare(&got, &wanted, &format!("round {round} of seed {seed}: {width} B at {all:?}"));
        }
    }
    assert!(good > 100 && missed > 100 && unread > 100, "{good}, {missed}, {unread}");
}

/// Packets that are read in other ways keep their turn, even while the next packet in columns is already asked for.
#[test]
fn reads_of_memory_keep_their_turn_among_columns() {
    let library = library();
    let mut around = Around::new(&library, 1, STALLS[0]);
    let region = dense(8, 137, &[39995, 42583]);
    around.describe(3, &encode(&region));
    let mut wanted = Vec::new();
    for k in 0..24 {
        let part = [(0, 182), (207, 512), (719, 512)][k % 3];
        around.ask(Some(3), part, k % 3 != 2);
        wanted.push(expected(&around, &region, part));
        if k % 4 != 0 {
            around.ask(None, (BASE + 1, 70), true);
            wanted.push(Ok(around.memory[1..71].to_vec()));
        }
    }
    let got = around.wait(wanted.len());
    compare(&got, &wanted, "packets of both");
}

/// Cycles a packet, of many packets one behind the other.
fn cycles(library: &Library, region: &Region, start: u64, mtu: u64) -> f64 {
    let mut around = Around::new(library, 1, (0.0, 0.0));
    around.latency = 10;
    around.describe(3, &encode(region));
    let packets = 24;
    for k in 0..packets {
        around.ask(Some(3), (start + k * mtu, mtu), k == 0);
    }
    let mut done = Vec::new();
    while done.len() < packets as usize {
        around.step();
        if !around.came.is_empty() {
            assert!(around.came.pop().unwrap().is_ok());
            done.push(around.bench.cycles());
        }
    }
    (done[23] - done[7]) as f64 / 16.0
}

#[test]
fn dense_columns_are_gathered_at_the_rate_of_the_wire() {
    let library = library();
    // Width, columns, where the READ begins, bytes of a packet, and Gb/s at 250 MHz.
    for (width, columns, start, mtu, least) in [
        (4, 5, 0, 4096, 97.0),
        (4, 5, 4, 4096, 97.0),
        (8, 5, 0, 4096, 97.0),
        (8, 16, 0, 4096, 97.0),
        (4, 16, 0, 4096, 97.0),
        (8, 8, 0, 4096, 97.0),
        (16, 4, 0, 4096, 97.0),
        (16, 16, 0, 4096, 97.0),
        (64, 4, 0, 4096, 97.0),
        (4, 12, 0, 4096, 90.0),
        (12, 7, 0, 4096, 90.0),
        (20, 13, 0, 4096, 60.0),
        (4, 5, 0, 1024, 70.0),
        (8, 16, 0, 1024, 50.0),
        (4, 5, 2, 4096, 55.0),
        (4, 5, 1, 4096, 25.0),
        (2, 8, 0, 4096, 55.0),
        (1, 16, 0, 4096, 25.0),
        (5, 7, 0, 4096, 25.0),
    ] {
        // All columns lie at the same place, because the memory is short.
        let rows = u64::div_ceil(start + 24 * mtu, width * columns);
        let places: Vec<_> = (0..columns).map(|k| k * 64).collect();
        let region = dense(width, rows, &places);
        let cycles = cycles(&library, &region, start, mtu);
        let rate = mtu as f64 * 8.0 / (cycles * 4.0);
        println!(
            "{mtu} B of {columns} x {width} B from {start}: {cycles:.1} cycles, {rate:.1} Gb/s"
        );
        assert!(rate >= least, "{rate:.1} Gb/s: {columns} x {width} B");
    }
}
