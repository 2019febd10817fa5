//! Column requests: what they give the column path, and what they take.

use super::partitioned::partition;
use super::*;
use crate::rows::sequencer::reference::{group_steps, least_rows, rows_of_window};

/// Destinations of one set each with the same lanes, or nearly so.
fn column_request(random: &mut Random, min_rows: u32) -> Request {
    let most_lanes = [1, 5, 16][random.below(3) as usize];
    let lanes = 1 + random.below(most_lanes);
    let most = [1930, 500, 130, 64, 20][random.below(5) as usize] / lanes;
    let mut lanes: Vec<_> = (0..lanes)
        .map(|_| {
            let step = 1 + random.below(most.clamp(1, 130));
            let longest = if random.chance(0.02) { step + 8 } else { step };
            (random.u64(), step, 1 + random.below(longest.min(130)) as u32)
        })
        .collect();
    match random.below(10) {
        // Too wide; the low bits of the sum of steps are not.
        0 => lanes[0].1 += 256 << random.below(40),
        1 => lanes = (0..16).map(|_| (random.u64(), 17, 4)).collect(),
        // Chunks of 64 to 128 rows.
        5 => lanes = (0..2).map(|_| (random.u64(), 116 + random.below(13), 8)).collect(),
        // Lanes of one period, or nearly so.
        2..=4 => {
            let (base, step) = (random.u64(), 16 + random.below(113));
            for lane in &mut lanes {
                let len = 1 + random.below(4);
                let beyond = random.below(2);
                let at = random.below(step - len + 1 + beyond);
                *lane = (base.wrapping_add(at), step, len as u32);
            }
        }
        _ => {}
    }
    let chunk = rows_of_window(group_steps(&lanes));
    let count = match random.below(6) {
        0 => {
            let least = least_rows(lanes.len(), random.chance(0.3), min_rows);
            (least + random.below(2) as u32).saturating_sub(1)
        }
        1 => chunk.clamp(1, 4096) * (1 + random.below(2) as u32),
        2 => chunk.clamp(1, 4096) + 1,
        // Fewer rows where they are long, because these take many tokens where they are not packed.
        _ => 1 + random.below(9000 / (1 + lanes.len() as u64)) as u32,
    };
    let dests = [1, 1 + random.below(4), 1 + random.below(12)][random.below(3) as usize];
    let element_mask = random.chance(0.3);
    let units = [1, 2 + random.below(300) as u32, u32::MAX][random.below(3) as usize];
    let density = [0.0, 0.03, 0.5, 1.0][random.below(4) as usize];
    let dests = (0..dests)
        .map(|_| {
            let kind = if random.chance(0.5) { RegionType::Strided } else { RegionType::Bitmapped };
            let mut region = region(kind, lanes.clone(), count);
            region.bits.iter_mut().for_each(|bit| *bit = random.chance(density));
            region.fails = kind == RegionType::Bitmapped && random.chance(0.2);
            if kind == RegionType::Bitmapped && random.chance(0.5) {
                let rows = (0..count).map(|_| random.chance(0.3)).collect();
                region.fetch = Some((rows, random.chance(0.4)));
            }
            let is_write = random.chance(0.4);
            Dest {
                regions: vec![region],
                is_write,
                is_ud: !is_write && random.chance(0.1),
                log_mtu: 8 + random.below(5) as u32,
                element_mask,
                units,
            }
        })
        .collect();
    let mut request = Request { dests, status: (0, 0), shared: None, apart: false, column: None };
    if random.chance(0.2) {
        apart(random, &mut request, min_rows);
    } else if random.chance(0.4) {
        partition(random, &mut request);
    } else if random.chance(0.2) {
        differ(random, request.dests.last_mut().expect("at least one"));
    }
    request
}

/// Gives every destination rows of its own, more or fewer than the others have.
fn apart(random: &mut Random, request: &mut Request, min_rows: u32) {
    request.apart = true;
    let few = random.chance(0.2);
    for dest in &mut request.dests {
        let from = &dest.regions[0];
        let count = match random.below(8) {
            0 => random.below(u64::from(min_rows)) as u32,
            1 => 1 + random.below(3) as u32,
            _ if few => 1,
            _ => 1 + (from.count + random.below(200) as u32) / 2,
        };
        let far = random.u64();
        let lanes = from.lanes.iter().map(|&(base, step, len)| (base.wrapping_add(far), step, len));
        dest.regions = vec![region(RegionType::Strided, lanes.collect(), count)];
    }
}

/// Makes a destination differ from the others.
fn differ(random: &mut Random, dest: &mut Dest) {
    let region = &mut dest.regions[0];
    match random.below(5) {
        0 => region.lanes[0].0 ^= 1 << random.below(64),
        1 => region.lanes[0].1 += 1 << random.below(40),
        2 => region.lanes[0].2 += 1,
        3 => region.count -= 1,
        _ => {
            let again = region.clone();
            dest.regions.push(again);
        }
    }
}

#[test]
fn column_requests_leave_as_headers_and_stretches() {
    let library = library();
    let (mut columns, mut failed, mut by_ids, mut sparse, mut fetched) = (0, 0, 0, 0, [0; 2]);
    let mut apart = 0;
    for seed in 1..=32 {
        println!("seed {seed}");
        let mut card = Card::new(&library, seed);
        let mut random = Random::new(seed + 2000);
        card.bench.stall(STALLS[seed as usize % STALLS.len()]);
        card.latency = [325, 1, 40][seed as usize % 3];
        let min_rows = [1, 256, 2][seed as usize % 3];
        card.columns.enable(&mut card.bench, min_rows);
        let mut requests: Vec<_> = (0..12)
            .map(|_| match random.chance(0.7) {
                true => column_request(&mut random, min_rows),
                false => random_request(&mut random),
            })
            .collect();
        let mut sets = 0;
        requests.retain(|r| {
            sets += r.dests.iter().map(|d| d.regions.len()).sum::<usize>();
            sets <= 2000
        });
        let posted: Vec<_> = requests.iter_mut().map(|r| card.post(r)).collect();
        let tokens = card.finish(requests.len());
        let mut ended = 0;
        for (i, request) in requests.iter().enumerate() {
            println!("seed {seed}, request {i}, {} tokens", tokens[i].len());
            check(&tokens[i], request, posted[i], &card);
            let runs = request.status.0 == 0 && request.dests.iter().all(|d| d.check().is_none());
            let is_column = runs && request.chunk_rows(min_rows).is_some();
            apart += u32::from(is_column && request.apart && request.dests.len() > 1);
            ended += u32::from(is_column);
            by_ids += u32::from(is_column && request.shared.is_some());
            let bitmapped = |r: &Request| r.dests[0].regions[0].kind == RegionType::Bitmapped;
            sparse += u32::from(
                is_column
                    && request.shared.is_none()
                    && request.dests.len() == 1
                    && bitmapped(request),
            );
            let with = request.dests.iter().filter_map(|d| d.regions.first()?.fetch.as_ref());
            let with = with.filter(|_| is_column && request.shared.is_none());
            with.for_each(|(_, fails)| fetched[usize::from(*fails)] += 1);
            failed += u32::from(is_column && tokens[i].last().unwrap().u64("status") != 0);
        }
        assert_eq!(card.columns.clears.get(), ended, "each column request is cleared once");
        columns += ended;
    }
    assert!(by_ids > 10, "{by_ids} column requests with ids");
    assert!(fetched[0] > 10 && fetched[1] > 3, "{fetched:?} regions with fetch rows");
    assert!(apart > 5, "{apart} column requests with destinations that are apart");
    assert!(sparse > 5, "{sparse} column requests with a bitmap for one destination");
    assert!(columns > 40 && failed > 3, "{columns} column requests, {failed} that failed");
}

#[test]
fn a_turn_of_a_column_request_takes_two_cycles() {
    let library = library();
    let mut card = Card::new(&library, 3);
    card.columns.enable(&mut card.bench, 256);
    // 400 bytes a row: 64 rows a chunk, 10 of them, so that reading bitmaps takes less time than turns.
    let lanes = || (0..5).map(|i| (i << 20, 80, 80)).collect();
    let dests: Vec<_> = (0..64)
        .map(|i| {
            let mut region = region(RegionType::Bitmapped, lanes(), 640);
            region.bits.iter_mut().enumerate().for_each(|(row, bit)| *bit = row as u64 % 64 == i);
            dest(vec![region], false)
        })
        .collect();
    let mut request = Request { dests, status: (0, 0), shared: None, apart: false, column: None };
    assert_eq!(request.chunk_rows(256), Some(64));
    let posted = card.post(&mut request);
    let tokens = card.finish(1);
    check(&tokens[0], &request, posted, &card);
    let at = card.bench.received_at(card.columns.items);
    let cycles = at[at.len() - 1] - at[0];
    println!("640 turns in {cycles} cycles");
    assert!(cycles < 10 * (64 * 2 + 3), "{cycles} cycles");
}

/// Cycles between a request and its first stretch that each further destination costs.
#[test]
fn a_destination_like_the_first_is_inspected_in_three_cycles() {
    let library = library();
    let first = |dests: u64| {
        let mut card = Card::new(&library, 3);
        card.columns.enable(&mut card.bench, 256);
        let region = || region(RegionType::Bitmapped, vec![(0, 48, 48)], 640);
        let dests = (0..dests).map(|_| dest(vec![region()], false)).collect();
        let mut request =
            Request { dests, status: (0, 0), shared: None, apart: false, column: None };
        card.post(&mut request);
        card.finish(1);
        card.bench.received_at(card.columns.items)[0] - card.bench.sent_at(card.request)[0]
    };
    let (few, many) = (first(4), first(64));
    println!("4 destinations: {few} cycles, 64: {many}");
    assert_eq!(many - few, 60 * 3);
}

/// Cycles between the last count and the first stretch that each further destination costs.
#[test]
fn a_destination_with_one_message_is_judged_in_three_cycles() {
    let library = library();
    let first = |dests: u64| {
        let mut card = Card::new(&library, 3);
        card.columns.enable(&mut card.bench, 256);
        let region = || region(RegionType::Bitmapped, vec![(0, 48, 48)], 640);
        let written = |_| Dest { is_write: true, units: 700, ..dest(vec![region()], false) };
        let mut request = Request {
            dests: (0..dests).map(written).collect(),
            status: (0, 0),
            shared: None,
            apart: false,
            column: None,
        };
        let posted = card.post(&mut request);
        let tokens = card.finish(1);
        check(&tokens[0], &request, posted, &card);
        let items = card.bench.received_at(card.columns.items);
        // A scan of each destination, then its stretches.
        items[dests as usize] - items[dests as usize - 1]
    };
    let (few, many) = (first(4), first(64));
    println!(
        "from the last scan to the first stretch: {few} cycles of 4 destinations, {many} of 64"
    );
    assert_eq!(many - few, 60 * 3, "cycles for 60 destinations");
}

#[test]
fn zero_rows_switch_the_column_path_off() {
    let library = library();
    let mut card = Card::new(&library, 4);
    card.columns.enable(&mut card.bench, 0);
    let mut request = one(dest(vec![region(RegionType::Strided, vec![(0, 8, 8)], 5000)], false));
    let posted = card.post(&mut request);
    let tokens = card.finish(1);
    assert_eq!(tokens[0].len(), 5001);
    check(&tokens[0], &request, posted, &card);
}
