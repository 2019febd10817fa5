//! Regions of which a bitmap selects the rows, of columns of one width.

use super::*;

/// First byte of the bitmaps, and the bytes that are free for them.
const BITMAPS: u64 = LISTS;
const BITMAP_BYTES: u64 = SIZE / 8;

fn bitmapped(width: u64, rows: u64, places: &[u64], bitmap: u64) -> Region {
    let column = |place: &u64| Column { base: BASE + place, width: width as u32, lkey: ALL };
    let columns = places.iter().map(column).collect();
    Region::Bitmapped { bitmap, rows: rows as u32, lkey: LIST, columns, fetch_rows: None }
}

/// Selects rows, as `selects` says of each, and counts them.
fn select(memory: &mut [u8], bitmap: u64, rows: u64, mut selects: impl FnMut(u64) -> bool) -> u64 {
    let first = (bitmap - BASE) as usize;
    let mut count = 0;
    for row in 0..rows {
        let (byte, bit) = (first + row as usize / 8, 1 << (row % 8));
        memory[byte] &= !bit;
        if selects(row) {
            memory[byte] |= bit;
            count += 1;
        }
    }
    count
}

/// Selects runs of random lengths, up to `longest` rows, with gaps as long.
fn select_runs(
    memory: &mut [u8],
    bitmap: u64,
    rows: u64,
    longest: u64,
    random: &mut Random,
) -> u64 {
    let mut selected = random.chance(0.5);
    let mut left = 1 + random.below(longest);
    select(memory, bitmap, rows, |_| {
        if left == 0 {
            selected = !selected;
            left = 1 + random.below(longest);
        }
        left -= 1;
        selected
    })
}

/// Any columns of one width, and any number of rows.
fn any(random: &mut Random) -> Region {
    let widest = pick(random, [4, 16, 64]);
    let width = match random.below(3) {
        0 => 4 * (1 + random.below(widest / 4)),
        1 => 2 * (1 + random.below(widest / 2)),
        _ => 1 + random.below(widest),
    };
    let most = LISTS - BASE;
    let rows = 1 + random.below((most / width).min(6_000));
    let room = most - rows * width;
    let places: Vec<_> = (0..=random.below(16)).map(|_| random.below(room + 1)).collect();
    let bitmap = BITMAPS + random.below(BITMAP_BYTES - rows.div_ceil(8) + 1);
    bitmapped(width, rows, &places, bitmap)
}

/// READs of any part of them, in packets of any MTU, up to the region's end and beyond it.
#[test]
fn any_part_of_selected_rows_comes_as_the_semantics_say() {
    let library = library();
    let (mut good, mut ends) = (0, 0);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        for round in 0..80 {
            let region = any(&mut random);
            let Region::Bitmapped { bitmap, rows, .. } = region else { unreachable!() };
            let longest = pick(&mut random, [1, 70, 700]);
            let rows = u64::from(rows);
            let count = match random.below(3) {
                0 => {
                    let chance = [0.02, 0.5, 0.98][random.below(3) as usize];
                    select(&mut around.memory, bitmap, rows, |_| random.chance(chance))
                }
                _ => select_runs(&mut around.memory, bitmap, rows, longest, &mut random),
            };
            let at = random.below(512);
            around.describe(at, &encode(&region));
            let len = count * region.row_len();
            let mut wanted = Vec::new();
            for _ in 0..4 {
                let mtu = 256 << random.below(5);
                let start = random.below(len + 1);
                let longest = pick(&mut random, [100, 3_000, 20_000]);
                let bytes = 1 + random.below(longest);
                let packets = around.ask_read((at, &region), (start, bytes), mtu);
                assert!(!packets.contains(&Err(false)));
                good += packets.iter().filter(|packet| packet.is_ok()).count();
                ends += packets.iter().filter(|packet| packet.is_err()).count();
                wanted.extend(packets);
                if random.chance(0.3) {
                    around.ask(None, (BASE + 1, 70), true);
                    wanted.push(Ok(around.memory[1..71].to_vec()));
                }
            }
            let got = around.wait(wanted.len());
            compare(&got, &wanted, &format!("round {round} of seed {seed}: {region:?}"));
        }
    }
    assert!(good > 500 && ends > 100, "{good} packets, {ends} ends");
}

/// The bytes of a packet, each by itself, if its key has it and its row's bit; or whether the region ends before them.
fn each_byte(
    around: &Around<'_>,
    (width, places, keys): (u64, &[u64], &[(u64, u64)]),
    selected: &[u64],
    (start, bytes): (u64, u64),
) -> Result<Vec<u8>, bool> {
    let row = width * places.len() as u64;
    let mut out = Vec::new();
    for at in start..start + bytes {
        let nth = *selected.get((at / row) as usize).ok_or(true)?;
        let column = (at % row / width) as usize;
        let place = places[column] + nth * width + at % width;
        let (first, behind) = keys[column];
        if place < first || place >= behind {
            return Err(false);
        }
        out.push(*around.memory.get(place as usize).ok_or(false)?);
    }
    Ok(out)
}

/// Columns that their keys have in part: a packet that has a byte which they do not have fails, and no other one.
#[test]
fn a_packet_of_selected_rows_fails_if_any_of_its_bytes_is_not_of_the_key() {
    let library = library();
    let (mut good, mut missed, mut ends) = (0, 0, 0);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        for round in 0..40 {
            let width = pick(&mut random, [4, 5, 12]);
            let columns = 1 + random.below(6);
            let rows = 200 + random.below(400);
            // Columns in all of the memory, of which the key of the lists has the last eighth; one may reach behind.
            let (all, lists) = ((0, SIZE), (LISTS - BASE, SIZE));
            let mut places = Vec::new();
            let mut keys = Vec::new();
            for _ in 0..columns {
                let of_lists = random.chance(0.15);
                let edge = if random.chance(0.5) { LISTS - BASE } else { SIZE };
                let place = match (of_lists, random.chance(0.15)) {
                    (true, _) | (_, true) => edge - random.below(rows * width),
                    _ => random.below(LISTS - BASE - rows * width),
                };
                places.push(place);
                keys.push(if of_lists { lists } else { all });
            }
            let bitmap = BITMAPS + 1000 + random.below(1000);
            let longest = pick(&mut random, [2, 20, 300]);
            select_runs(&mut around.memory, bitmap, rows, longest, &mut random);
            let bit = |row: &u64| {
                let byte = around.memory[(bitmap - BASE + row / 8) as usize];
                byte >> (row % 8) & 1 == 1
            };
            let selected: Vec<_> = (0..rows).filter(bit).collect();
            let mut region = bitmapped(width, rows, &places, bitmap);
            if let Region::Bitmapped { columns, .. } = &mut region {
                for (column, key) in columns.iter_mut().zip(&keys) {
                    column.lkey = if *key == all { ALL } else { LIST };
                }
            }
            around.describe(5, &encode(&region));
            let mut wanted = Vec::new();
            for _ in 0..12 {
                let most = pick(&mut random, [10, 400, 4096]);
                let bytes = 1 + random.below(most);
                let start = random.below(selected.len() as u64 * width * columns + 10);
                around.ask(Some(5), (start, bytes), true);
                let packet = each_byte(&around, (width, &places, &keys), &selected, (start, bytes));
                match packet {
                    Ok(_) => good += 1,
                    Err(true) => ends += 1,
                    Err(false) => missed += 1,
                }
                wanted.push(packet);
            }
            let got = around.wait(wanted.len());
            compare(&got, &wanted, &format!("round {round} of seed {seed}: {region:?}"));
        }
    }
    assert!(good > 300 && missed > 100 && ends > 100, "{good}, {missed}, {ends}");
}

/// A bitmap whose key has only its beginning serves packets that need no more of it.
#[test]
fn a_bitmap_that_its_key_does_not_have_fails_only_the_packets_that_need_it() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        // The key ends with the third line.
        let bitmap = BASE + SIZE - 3 * 64;
        around.memory[(bitmap - BASE) as usize..].fill(0xff);
        let region = bitmapped(4, 4_000, &[0, 16_384], bitmap);
        around.describe(7, &encode(&region));
        for _ in 0..20 {
            let most = 3 * 512 * 8;
            let start = random.below(most);
            for (k, bytes) in [most - start, 1].into_iter().enumerate() {
                let mut at = start;
                let mut wanted = 0;
                while at < start + bytes {
                    let packet = (start + bytes - at).min(2048);
                    around.ask(Some(7), (at, packet), at == start);
                    (at, wanted) = (at + packet, wanted + 1);
                }
                assert!(around.wait(wanted).iter().all(Result::is_ok), "{k}: {bytes} B at {start}");
            }
            around.ask(Some(7), (most - 1 - start % 2048, 2 + start % 2048), true);
            assert_eq!(around.wait(1), [Err(false)]);
        }
        // Behind the key nothing is read.
        let inside = |(addr, bytes): &(u64, u64)| addr + bytes <= BASE + SIZE;
        assert!(around.fetched.iter().all(inside), "{:x?}", around.fetched);
    }
}

/// A bitmap whose key has only its end serves no packet that needs the beginning, though later lines can be read.
#[test]
fn a_bitmap_whose_beginning_its_key_does_not_have_fails_all_packets() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        // The key begins with the second or third line.
        for lines in [1, 2] {
            let bitmap = LISTS - 64 * lines;
            around.memory[(bitmap - BASE) as usize..].fill(0xff);
            let region = bitmapped(4, 4_000, &[0, 16_384], bitmap);
            around.describe(7, &encode(&region));
            for _ in 0..5 {
                let start = random.below(512 * 8);
                for bytes in [4096, 1 + random.below(100)] {
                    around.ask(Some(7), (start, bytes), true);
                    around.ask(None, (BASE + 1, 70), true);
                    let got = around.wait(2);
                    assert_eq!(
                        (&got[0], got[1].is_ok()),
                        (&Err(false), true),
                        "{bytes} B at {start}"
                    );
                }
            }
        }
        assert!(around.fetched.iter().all(|(addr, _)| *addr < BASE + 100), "{:x?}", around.fetched);
    }
}

/// The host changes bits while a READ goes on: whatever comes, nothing is read but values of the columns' rows and the
/// bitmap.
#[test]
fn a_bitmap_that_changes_shows_nothing_but_the_region() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        for _ in 0..20 {
            let (width, rows) = (1 + random.below(12), 500 + random.below(2000));
            let places: Vec<_> =
                (0..=random.below(5)).map(|_| random.below(LISTS - BASE - rows * width)).collect();
            let bitmap = BITMAPS + random.below(BITMAP_BYTES - rows.div_ceil(8) + 1);
            let region = bitmapped(width, rows, &places, bitmap);
            select_runs(&mut around.memory, bitmap, rows, 40, &mut random);
            around.describe(9, &encode(&region));
            around.fetched.clear();
            let packets = 6;
            for k in 0..packets {
                around.ask(Some(9), (k * 1024, 1024), k == 0);
            }
            let mut came = 0;
            for cycle in 0.. {
                around.step();
                came += std::mem::take(&mut around.came).len() as u64;
                if came == packets {
                    break;
                }
                assert!(cycle < 200_000, "{came} packets come");
                if random.chance(0.02) {
                    let (at, bits) = (random.below(rows / 8), random.below(256) as u8);
                    around.memory[(bitmap - BASE + at) as usize] = bits;
                }
            }
            let lists = bitmap..=bitmap + rows.div_ceil(8);
            for (addr, bytes) in &around.fetched {
                let inside = |first: u64, len: u64| *addr >= first && addr + bytes <= first + len;
                let of_column = places.iter().any(|place| inside(BASE + place, rows * width));
                let of_bitmap = lists.contains(addr) && lists.contains(&(addr + bytes));
                assert!(of_column || of_bitmap, "{bytes} B at {addr:#x}: {region:?}");
            }
        }
    }
}

/// Gb/s at 250 MHz of many packets one behind the other, with a memory that answers after a microsecond.
fn rate(library: &Library, width: u64, columns: u64, run: u64, gap: u64) -> f64 {
    let mut around = Around::new(library, 1, (0.0, 0.0));
    around.latency = 250;
    let packets = 32_u64;
    let row_bytes = width * columns;
    let needed = (packets * 4096).div_ceil(row_bytes);
    let rows = needed.div_ceil(run) * (run + gap);
    let places: Vec<_> = (0..columns).map(|k| k * 64).collect();
    assert!(rows.div_ceil(8) <= BITMAP_BYTES);
    let region = bitmapped(width, rows, &places, BITMAPS);
    select(&mut around.memory, BITMAPS, rows, |row| row % (run + gap) < run);
    around.describe(3, &encode(&region));
    for k in 0..packets {
        around.ask(Some(3), (k * 4096, 4096), k == 0);
    }
    let mut done = Vec::new();
    while done.len() < packets as usize {
        around.step();
        if let Some(packet) = around.came.pop() {
            assert!(packet.is_ok());
            done.push(around.bench.cycles());
        }
    }
    let cycles = (done[31] - done[11]) as f64 / 20.0;
    4096.0 * 8.0 / (cycles * 4.0)
}

#[test]
fn runs_of_rows_are_gathered_at_the_rate_of_the_wire() {
    let library = library();
    for (width, columns, run, gap, least) in [
        (4, 5, 64, 64, 97.0),
        (4, 5, 200, 50, 97.0),
        (4, 5, 32, 32, 75.0),
        (4, 5, 8, 8, 20.0),
        (4, 5, 1, 1, 2.0),
        (8, 4, 64, 64, 97.0),
        (16, 4, 64, 64, 97.0),
    ] {
        let rate = rate(&library, width, columns, run, gap);
        println!("{columns} x {width} B, runs of {run} with {gap} between: {rate:.1} Gb/s");
        assert!(rate >= least, "{rate:.1} Gb/s: {columns} x {width} B, runs of {run}");
    }
}
