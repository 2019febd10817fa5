//! WRITEs by columns: the tokens of one column after the other.

use super::card::Earlier;
use super::partitioned::partition;
use super::*;

/// A request whose destinations have one region of `lanes` lanes each.
fn request(random: &mut Random, lanes: u64, rows: u32) -> Request {
    let kind = [RegionType::Strided, RegionType::Bitmapped][random.below(2) as usize];
    let of = |random: &mut Random, i: u64| {
        // Some lengths are too long for the column path, or for a beat.
        let len = [4, 8, 1 + random.below(40), 100, 150][random.below(5) as usize];
        (i << 24, len + random.below(8), len as u32)
    };
    let columns: Vec<_> = (0..lanes).map(|i| of(random, i)).collect();
    let unlike = random.chance(0.3);
    let dests = (0..1 + random.below(6)).map(|index| {
        let mut lanes = columns.clone();
        if unlike {
            lanes.iter_mut().for_each(|lane| lane.0 += index << 40);
        }
        let mut region = region(kind, lanes, rows);
        region.bits.iter_mut().for_each(|bit| *bit = random.chance(0.3));
        Dest {
            is_write: true,
            log_mtu: 8 + random.below(5) as u32,
            units: rows.max(1),
            ..dest(vec![region], false)
        }
    });
    let dests = dests.collect();
    let mut request = Request { dests, status: (0, 0), shared: None, apart: false, column: None };
    if random.chance(0.4) {
        partition(random, &mut request);
        request.dests.iter_mut().for_each(|dest| dest.regions[0].fails = false);
    }
    request
}

/// The request that stands for one column of a WRITE by columns.
fn column(request: &Request, lane: usize, earlier: Earlier) -> Request {
    let mut request = Request { column: Some(earlier), ..request.clone() };
    for region in request.dests.iter_mut().flat_map(|dest| &mut dest.regions) {
        region.lanes = vec![region.lanes[lane]];
    }
    request
}

#[test]
fn every_column_is_given_like_a_request_of_its_own() {
    let library = library();
    let mut columns_of = [0; 2];
    for seed in 1..=12 {
        let mut card = Card::new(&library, seed);
        let mut random = Random::new(seed + 3000);
        card.bench.stall(STALLS[seed as usize % STALLS.len()]);
        card.latency = [325, 1, 40][seed as usize % 3];
        let least = [0, 64, 1][seed as usize % 3];
        card.columns.enable(&mut card.bench, least);
        let mut requests = Vec::new();
        for _ in 0..6 {
            let lanes = 1 + random.below(6);
            let rows = random.below(1200) as u32;
            requests.push(request(&mut random, lanes, rows));
        }
        let posted: Vec<_> = requests.iter_mut().map(|r| card.post_as(r, true)).collect();
        let tokens = card.finish(requests.len());
        for (i, request) in requests.iter().enumerate() {
            let (slot, first) = posted[i];
            let count = request.dests.len() as u16;
            let lanes = request.dests[0].regions[0].lanes.len() as u16;
            let (end, all) = tokens[i].split_last().unwrap();
            let column_of =
                |token: &Beat| (token.u64("dest") as u16).wrapping_sub(first) % 1024 / count;
            assert!(all.windows(2).all(|pair| column_of(&pair[0]) <= column_of(&pair[1])));
            let mut earlier = Earlier::default();
            for lane in 0..lanes {
                let own = all.iter().filter(|token| column_of(token) == lane).cloned();
                let own: Vec<_> = own.chain([end.clone()]).collect();
                let request = column(request, lane.into(), earlier);
                let by_chunk = request.chunk_rows(least).is_some();
                earlier.packed |= by_chunk;
                earlier.counted |= request.dests.iter().all(|dest| {
                    dest.counts_bitmaps() && dest.regions[0].kind == RegionType::Bitmapped
                });
                columns_of[usize::from(by_chunk)] += 1;
                check(&own, &request, (slot, (first + lane * count) % 1024), &card);
            }
        }
    }
    assert!(
        columns_of.iter().all(|&count| count > 40),
        "columns by row and by chunk: {columns_of:?}"
    );
}

#[test]
fn rows_are_counted_once_for_all_columns() {
    let library = library();
    // Counted, and read for each column on the row path; the column path keeps what it counts, if it is little enough.
    for (min_rows, rows, times) in
        [(0, 5000, 1 + 4), (256, 5000, 1), (256, 8192, 1), (256, 8200, 1 + 4)]
    {
        let mut card = Card::new(&library, 3);
        card.columns.enable(&mut card.bench, min_rows);
        let lanes = || (0..4).map(|i| (i << 24, 8, 8)).collect();
        let of = |_| Dest {
            is_write: true,
            units: rows,
            ..dest(vec![region(RegionType::Bitmapped, lanes(), rows)], false)
        };
        let mut request = Request {
            dests: (0..3).map(of).collect(),
            status: (0, 0),
            shared: None,
            apart: false,
            column: None,
        };
        card.post_as(&mut request, true);
        card.finish(1);
        assert_eq!(
            card.read,
            3 * u64::from(rows) / 8 * times,
            "bytes of the bitmaps of {rows} rows"
        );
    }
}

#[test]
fn ids_are_read_once_for_all_columns_and_destinations() {
    let library = library();
    // Requests whose rows are counted, and others; with up to 8,192 rows, and with more.
    for (units, rows, times) in
        [(5000, 5000, 1), (1, 5000, 1), (8192, 8192, 1), (8200, 8200, 1 + 4), (1, 8200, 4)]
    {
        let mut card = Card::new(&library, 3);
        card.columns.enable(&mut card.bench, 256);
        let lanes: Vec<_> = (0..4).map(|i| (i << 24, 8, 8)).collect();
        let of = |_| Dest {
            is_write: true,
            units,
            ..dest(vec![region(RegionType::Bitmapped, lanes.clone(), rows)], false)
        };
        let mut request = Request {
            dests: (0..3).map(of).collect(),
            status: (0, 0),
            shared: None,
            apart: false,
            column: None,
        };
        partition(&mut Random::new(7), &mut request);
        let width = request.shared.as_ref().map_or(0, |shared| shared.width);
        card.post_as(&mut request, true);
        card.finish(1);
        let expected = u64::from(rows) * u64::from(width) * times;
        assert_eq!(card.read, expected, "bytes of the ids of {rows} rows, {units} a message");
    }
}

#[test]
fn a_bitmap_that_cannot_be_read_ends_the_request_behind_its_column() {
    let library = library();
    for (min_rows, other) in [(0, 8), (64, 8), (64, 150)] {
        let mut card = Card::new(&library, 5);
        card.columns.enable(&mut card.bench, min_rows);
        // The second column goes another way where it is wide.
        let lanes = || vec![(0, 8, 8), (1 << 24, other, other as u32)];
        let of = |index| {
            let mut region = region(RegionType::Bitmapped, lanes(), 2000);
            region.fails = index == 1;
            Dest { is_write: true, log_mtu: 12, units: 1, ..dest(vec![region], false) }
        };
        let mut request = Request {
            dests: (0..3).map(of).collect(),
            status: (0, 0),
            shared: None,
            apart: false,
            column: None,
        };
        let (_, first) = card.post_as(&mut request, true);
        let tokens = card.finish(1).remove(0);
        let end = tokens.last().unwrap();
        let protection = Status::LocalProtectionError as u64;
        assert_eq!((end.u64("status"), end.u64("bad_dest")), (protection, 1));
        assert_eq!(end.u64("dest"), u64::from((first + 1) % 1024));
        let second = tokens
            .iter()
            .filter(|token| token.u64("bytes") > 0)
            .find(|token| (token.u64("dest") as u16).wrapping_sub(first) % 1024 >= 3);
        assert_eq!(second, None, "nothing of a column behind the one that failed");
    }
}
