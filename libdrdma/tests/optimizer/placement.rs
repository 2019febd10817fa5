//! Places in the segmented memory: as the card's contract says, and never two bytes at one.

use std::collections::{BTreeMap, HashMap};

use libdrdma::optimizer::{
    BANKS, Beat, BlockPlacement, ColumnPlacement, Fragment, Lane, Place, PlacementError, WINDOW,
    assembler,
};
use proptest::{collection::vec, prelude::*};

/// Columns of a few bytes, many of them near the one before.
fn lanes() -> impl Strategy<Value = Vec<Lane>> {
    let lane =
        (0..20_000u64, 1..24u64, prop_oneof![0..30u64, 100..120u64], 0..150i64, any::<[bool; 2]>());
    vec(lane, 1..=16).prop_map(|shapes| {
        let mut lanes: Vec<Lane> = Vec::new();
        for (addr, len, gap, near, [is_near, same_step]) in shapes {
            let lane = match lanes.last() {
                Some(last) if is_near => {
                    let step = if same_step { last.step } else { len + gap };
                    Lane { addr: last.addr.saturating_add_signed(near - 20), len, step }
                }
                _ => Lane { addr: 0x7f00_0000_0000 + 977 * addr, len, step: len + gap },
            };
            lanes.push(lane);
        }
        lanes
    })
}

/// Generates lanes that the card packs, and a number of rows that a window takes.
fn packed() -> impl Strategy<Value = (Vec<Lane>, u32)> {
    (lanes(), any::<prop::sample::Index>()).prop_filter_map("none is packed", |(lanes, index)| {
        let fits = |count: &usize| ColumnPlacement::window_rows(&lanes[..*count]).ok();
        let count = (1..=lanes.len()).rfind(|count| fits(count).is_some())?;
        let rows = 1 + index.index(fits(&count)? as usize) as u32;
        Some((lanes[..count].to_vec(), rows))
    })
}

/// Returns the bytes of a row of the window: lane, byte, host address.
fn bytes(lanes: &[Lane], row: u32) -> impl Iterator<Item = (usize, u64)> {
    lanes.iter().enumerate().flat_map(move |(index, lane)| {
        (0..lane.len).map(move |byte| (index, lane.addr + u64::from(row) * lane.step + byte))
    })
}

/// Returns the steps of the groups, found pair by pair from the definition.
fn steps(lanes: &[Lane]) -> Vec<u64> {
    let mut steps = Vec::new();
    let mut group: &[Lane] = &[];
    for (index, lane) in lanes.iter().enumerate() {
        let with = &lanes[index - group.len()..=index];
        let low = with.iter().map(|c| c.addr).min().unwrap();
        let high = with.iter().map(|c| c.addr + c.len).max().unwrap();
        let joins = !group.is_empty()
            && with.iter().all(|c| c.step == lane.step)
            && high - low <= lane.step.min(127);
        group = if joins { with } else { &lanes[index..=index] };
        if !joins {
            steps.push(lane.step);
        }
    }
    steps
}

proptest! {
    #[test]
    fn two_bytes_of_a_window_never_share_a_place((lanes, rows) in packed()) {
        let placement = ColumnPlacement::new(&lanes, rows).unwrap();
        let mut source = vec![None; WINDOW as usize];
        for row in 0..rows {
            for (lane, addr) in bytes(&lanes, row) {
                let first = placement.place(lane, row).unwrap();
                let value = lanes[lane].addr + u64::from(row) * lanes[lane].step;
                let at = u64::from(first.offset()) + addr - value;
                prop_assert!(at < WINDOW, "lane {lane}, row {row}: {at}");
                let old = source[at as usize].replace(addr);
                prop_assert!(old.is_none_or(|old| old == addr), "{at}: {old:x?} and {addr:x}");
                // The bytes around it that are read as well lie in the same words.
                prop_assert!(placement.places(addr).any(|place| u64::from(place.offset()) == at));
                prop_assert_eq!(at % 4, addr % 4);
            }
        }
        prop_assert_eq!(placement.place(0, rows), None);
        prop_assert_eq!(placement.place(lanes.len(), 0), None);
    }

    #[test]
    fn groups_start_in_banks_apart((lanes, rows) in packed()) {
        let placement = ColumnPlacement::new(&lanes, rows).unwrap();
        let groups = placement.groups();
        prop_assert_eq!(groups.iter().map(|group| group.step).collect::<Vec<_>>(), steps(&lanes));
        let skew = if lanes.len() > 5 { 14 } else { 5 };
        let mut end = 0;
        for (index, group) in (0..).zip(groups) {
            let start = group.place.offset();
            prop_assert_eq!(group.place.bank(), skew * index % BANKS);
            // The group lies as near behind the one before as possible.
            prop_assert!(start >= end && start / 4 < u32::div_ceil(end, 4) + BANKS, "{start}, {end}");
            let lows = lanes[group.lanes.clone()].iter().map(|lane| lane.addr);
            prop_assert_eq!(group.addr, lows.min().unwrap());
            end = start + ((u64::from(rows) - 1) * group.step + group.len) as u32;
        }
        prop_assert!(u64::from(end).next_multiple_of(4) <= WINDOW);
    }

    #[test]
    fn a_window_takes_as_many_rows_as_the_contract_says(lanes in lanes()) {
        let sum: u64 = steps(&lanes).iter().sum();
        let row_bytes: u64 = lanes.iter().map(|lane| lane.len).sum();
        let fits = |rows: &u64| rows * sum + 16 * 132 <= WINDOW;
        let overlaps = lanes.iter().any(|lane| lane.len > lane.step);
        let wide = lanes.iter().any(|lane| lane.len > 127 || lane.step > 128);
        // Units of the number of rows, and how many of them there must be.
        let stretches = [(128, 4..=32), (64, 2..=7), (16, 1..=7)];
        let longest = |(rows, count): (u64, std::ops::RangeInclusive<u64>)| {
            count.map(|k| rows * k).rfind(fits)
        };
        match ColumnPlacement::window_rows(&lanes) {
            Ok(rows) => {
                prop_assert!(row_bytes <= 960 && sum <= 1916 && !wide);
                prop_assert!(row_bytes <= 64 || !overlaps);
                let most = stretches.into_iter().find_map(longest);
                prop_assert_eq!(Some(u64::from(rows)), most);
                let rows = rows + 1;
                let error = ColumnPlacement::new(&lanes, rows).unwrap_err();
                prop_assert_eq!(error, PlacementError::Rows { rows, most: rows - 1 });
            }
            Err(PlacementError::RowBytes(bytes)) => {
                prop_assert!(bytes == row_bytes && bytes > 960);
            }
            Err(PlacementError::Steps(steps)) => prop_assert!(steps == sum && steps > 1916),
            Err(PlacementError::Wide { index, len, step }) => {
                prop_assert_eq!((lanes[index].len, lanes[index].step), (len, step));
                prop_assert!(len > 127 || step > 128);
            }
            Err(PlacementError::Overlap { index, len, step }) => {
                prop_assert_eq!((lanes[index].len, lanes[index].step), (len, step));
                prop_assert!(len > step && row_bytes > 64);
            }
            Err(PlacementError::Period { index }) => {
                prop_assert!(index > 0 && lanes[index].step == 128);
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn beats_are_the_rows_bytes_in_order((lanes, rows) in packed(), every in 1..40usize) {
        let placement = ColumnPlacement::new(&lanes, rows).unwrap();
        let chosen: Vec<u32> = (0..rows + 5).step_by(every).collect();
        let beats: Vec<Beat> = placement.beats(chosen.iter().copied()).collect();
        let row_bytes: usize = lanes.iter().map(|lane| lane.len as usize).sum();
        let full = if row_bytes == 3 { 63 } else { 64 };
        for (index, beat) in beats.iter().enumerate() {
            let filled = beat.iter().take_while(|byte| byte.is_some()).count();
            prop_assert_eq!(filled, beat.iter().flatten().count(), "no holes");
            prop_assert!(filled == full || index + 1 == beats.len() && filled > 0);
        }
        let found: Vec<Place> = beats.iter().flatten().flatten().copied().collect();
        let in_window = chosen.iter().filter(|row| **row < rows);
        let expected: Vec<u64> = in_window.flat_map(|&row| bytes(&lanes, row)).map(|b| b.1).collect();
        prop_assert_eq!(found.len(), expected.len());
        for (place, addr) in found.into_iter().zip(expected) {
            prop_assert!(placement.places(addr).any(|other| other == place));
        }
    }
}

#[test]
fn columns_that_are_not_packed_are_refused_with_their_reason() {
    let lane = Lane::dense(0x1000, 4);
    let shown = |lanes: &[Lane]| ColumnPlacement::window_rows(lanes).unwrap_err().to_string();
    assert_eq!(shown(&[]), "0 lanes, 1 to 16 are possible");
    assert_eq!(shown(&[lane; 17]), "17 lanes, 1 to 16 are possible");
    for wrong in [
        Lane { len: 0, ..lane },
        Lane { step: 0, ..lane },
        Lane { addr: u64::MAX - 100, ..lane },
        Lane { step: u64::MAX, ..lane },
    ] {
        let Lane { addr, len, step } = wrong;
        assert_eq!(
            shown(&[lane, wrong]),
            format!(
                "lane 1 of {len} B every {step} B at {addr:#x} is empty, stands still or goes beyond the \
                 last address"
            )
        );
    }
    let long = Lane { len: 120, step: 120, ..lane };
    assert_eq!(shown(&[long; 9]), "rows of 1080 B, at most 960 B are packed");
    for (len, step) in [(128, 128), (4, 129)] {
        assert_eq!(
            shown(&[lane, Lane { len, step, ..lane }]),
            format!(
                "lane 1 of {len} B every {step} B: lanes of at most 127 B every 128 B are packed"
            )
        );
    }
    let overlapping = Lane { len: 33, step: 32, ..lane };
    assert_eq!(
        shown(&[overlapping; 2]),
        "lane 0 of 33 B every 32 B overlaps, and rows have more than 64 B"
    );
    assert_eq!(ColumnPlacement::window_rows(&[overlapping]), Ok(896));
    let apart = |k: u64| Lane { addr: 0x9000 * k, step: 120, ..lane };
    let lanes: Vec<Lane> = (1..=16).map(apart).collect();
    assert_eq!(
        shown(&lanes),
        "lanes that take 1920 B a row, at most 1916 B are packed (lanes that are near each other count once)"
    );
    assert_eq!(ColumnPlacement::window_rows(&lanes[1..]), Ok(16));
    // Two lanes near each other are one group of 120 B.
    let near = Lane { addr: 0x9010, ..apart(1) };
    assert_eq!(ColumnPlacement::window_rows(&[apart(1), near]), Ok(192));
    // A group spans 127 B at most.
    let byte = |addr| Lane { addr, len: 1, step: 128 };
    assert_eq!(ColumnPlacement::window_rows(&[byte(0), byte(126)]), Ok(192));
    assert_eq!(
        shown(&[byte(0), byte(127)]),
        "lane 1 every 128 B spans more than 127 B with the lanes before it"
    );
    assert_eq!(
        ColumnPlacement::new(&[lane], 0).unwrap_err().to_string(),
        "0 rows, a window takes 1 to 4096"
    );
}

/// A beat of up to 64 B.
fn beat() -> impl Strategy<Value = Vec<Fragment>> {
    let near = (0..6u64, 0..300u64).prop_map(|(block, at)| 0x10_0000 + 256 * block + at);
    let addr = prop_oneof![near, 0..0x20_0000u64];
    vec((addr, 1..30u64), 0..16).prop_map(|fragments| {
        let mut room = 64;
        let fits = fragments.into_iter().map_while(|(addr, len)| {
            room -= i64::try_from(len).unwrap();
            (room >= 0).then_some(Fragment { addr, len })
        });
        fits.collect()
    })
}

/// Places beats in windows, each behind the last, as a busy card does; returns the windows and
/// places of each beat.
fn windows(beats: &[Vec<Fragment>]) -> (Vec<BlockPlacement>, Vec<Vec<(usize, Beat)>>) {
    let mut windows = vec![BlockPlacement::default()];
    let placed = beats.iter().map(|fragments| {
        let (mut beat, mut parts) = ([None; 64], Vec::new());
        loop {
            let before = beat;
            let done = windows.last_mut().unwrap().take(fragments, &mut beat);
            let fresh = std::array::from_fn(|i| beat[i].filter(|_| before[i].is_none()));
            parts.push((windows.len() - 1, fresh));
            if done {
                return parts;
            }
            windows.push(BlockPlacement::default());
        }
    });
    let placed = placed.collect();
    (windows, placed)
}

proptest! {
    #[test]
    fn blocks_lie_in_the_order_in_which_they_are_needed(beats in vec(beat(), 1..150)) {
        let (windows, placed) = windows(&beats);
        // Place of each block, found from the bytes.
        let mut blocks: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); windows.len()];
        for (fragments, parts) in beats.iter().zip(&placed) {
            let addrs: Vec<u64> =
                fragments.iter().flat_map(|f| (0..f.len).map(move |i| f.addr + i)).collect();
            let mut found = 0;
            for (window, beat) in parts {
                for (&addr, place) in addrs.iter().zip(beat) {
                    let Some(place) = place else { continue };
                    found += 1;
                    prop_assert!(u64::from(place.offset()) < WINDOW);
                    let block = place.offset() - (addr % 256) as u32;
                    let old = blocks[*window].insert(block, addr / 256);
                    prop_assert!(old.is_none_or(|old| old == addr / 256), "two blocks in one place");
                }
            }
            prop_assert_eq!(found, addrs.len(), "every byte has a place");
        }
        for (window, blocks) in windows.iter().zip(&blocks) {
            prop_assert_eq!(window.blocks(), blocks.len());
            let mut before: Option<(u32, u64)> = None;
            for (&place, &block) in blocks {
                let expected = match before {
                    None => 0,
                    Some((place, last)) if last + 1 == block => place + 256,
                    Some((place, _)) => place + 256 + 36,
                };
                prop_assert_eq!(place, expected);
                prop_assert_eq!(window.place(256 * block).map(Place::offset), Some(place));
                before = Some((place, block));
            }
        }
    }
}

#[test]
fn a_window_has_112_blocks_and_2048_beats() {
    let at = |addr| vec![Fragment { addr, len: 4 }];
    let apart: Vec<_> = (0..113).map(|i| at(1000 * i)).collect();
    let (first, placed) = windows(&apart);
    assert_eq!(first.iter().map(BlockPlacement::blocks).collect::<Vec<_>>(), [112, 1]);
    assert_eq!(
        placed[112].last().map(|(window, beat)| (*window, beat[0].unwrap().offset())),
        Some((1, 128))
    );
    // A block that has its place is not placed again, but a beat still counts.
    let again = vec![at(512); 2049];
    let (_, placed) = windows(&again);
    let of_window =
        |window| placed.iter().filter(|parts| parts.last().unwrap().0 == window).count();
    assert_eq!((of_window(0), of_window(1)), (2048, 1));
    // A beat that crosses the end of a block counts twice.
    let crossing = vec![vec![Fragment { addr: 254, len: 4 }]; 1025];
    let (_, placed) = windows(&crossing);
    assert_eq!(placed[1023].iter().map(|part| part.0).collect::<Vec<_>>(), [0]);
    assert_eq!(placed[1024].last().map(|part| part.0), Some(1));
}

#[test]
fn of_a_beat_that_crosses_blocks_the_half_that_fits_stays() {
    // 111 blocks, then one in the last of them and the next.
    let mut beats: Vec<_> = (0..111).map(|i| vec![Fragment { addr: 1024 * i, len: 4 }]).collect();
    beats.push(vec![Fragment { addr: 0x10_00fc, len: 8 }, Fragment { addr: 0, len: 4 }]);
    let (windows, placed) = windows(&beats);
    assert_eq!(windows.iter().map(BlockPlacement::blocks).collect::<Vec<_>>(), [112, 1]);
    let positions = |part: &(usize, Beat)| {
        let at = part.1.iter().enumerate().filter(|(_, place)| place.is_some());
        (part.0, at.map(|(position, _)| position).collect::<Vec<_>>())
    };
    let parts: Vec<_> = placed[111].iter().map(positions).collect();
    assert_eq!(parts, [(0, vec![0, 1, 2, 3, 8, 9, 10, 11]), (1, vec![4, 5, 6, 7])]);
}

#[test]
fn rows_are_cut_into_beats_where_the_card_cuts_them() {
    let row = |lens: &[u64]| -> Vec<Vec<(u64, u64)>> {
        let fragments = (0..).zip(lens).map(|(i, &len)| Fragment { addr: 10_000 * i, len });
        let beats = BlockPlacement::beats(&fragments.collect::<Vec<_>>());
        beats.iter().map(|beat| beat.iter().map(|f| (f.addr, f.len)).collect()).collect()
    };
    assert_eq!(row(&[4, 60]), [[(0, 4), (10_000, 60)]]);
    assert_eq!(row(&[4, 61, 3]), [vec![(0, 4)], vec![(10_000, 61), (20_000, 3)]]);
    assert_eq!(row(&[150]), [[(0, 64)], [(64, 64)], [(128, 22)]]);
    // The beat of a part of a longer fragment holds nothing else.
    assert_eq!(row(&[65, 1]), [[(0, 64)], [(64, 1)], [(10_000, 1)]]);
    assert_eq!(row(&[0, 5, 0]), [[(10_000, 5)]]);
    assert_eq!(row(&[]), Vec::<Vec<(u64, u64)>>::new());
}

#[test]
#[should_panic = "a beat of 65 B has more than 64"]
fn a_beat_of_more_bytes_is_refused() {
    BlockPlacement::default().take(&[Fragment { addr: 0, len: 65 }], &mut [None; 64]);
}

/// Returns the words a cycle of five lanes, of which one row in `rarity` is wanted on average.
fn rate(lanes: &[Lane], rarity: u32) -> f64 {
    let placement =
        ColumnPlacement::new(lanes, ColumnPlacement::window_rows(lanes).unwrap()).unwrap();
    let mut state = 9u32;
    let mut wanted = move |_: &u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8).is_multiple_of(rarity)
    };
    let rows: Vec<u32> = (0..placement.rows()).filter(|row| wanted(row)).collect();
    assembler::pace(placement.beats(rows)).words_per_cycle()
}

#[test]
fn placement_is_worth_what_banks_allow() {
    let apart =
        |width: u64, odd: u64| (0..5).map(move |c| Lane::dense(0x10_0000 * c + odd * c, width));
    for (width, odd, rarity, least, most) in [
        (4, 0, 1, 15.5, 16.0),
        (4, 0, 4, 15.0, 16.0),
        (8, 1, 2, 15.0, 16.0),
        (1, 0, 1, 15.5, 16.0),
        // Neighbours conflict in one class of banks.
        (1, 1, 2, 9.5, 12.0),
        (2, 1, 2, 15.0, 16.0),
    ] {
        let lanes: Vec<_> = apart(width, odd).collect();
        let words = rate(&lanes, rarity);
        assert!((least..=most).contains(&words), "{width} B, {odd} apart, 1/{rarity}: {words:.2}");
    }
}

#[test]
fn words_of_one_bank_come_one_a_cycle() {
    // Blocks in the same banks, computed by hand: a window of blocks that are neighbours.
    let mut window = BlockPlacement::default();
    let mut beats = Vec::new();
    for row in 0..20u64 {
        // Four values in bank 0, for the four quads of a group.
        let fragments: Vec<_> =
            (0..4).map(|value| Fragment { addr: 512 * row + 128 * value, len: 4 }).collect();
        let mut beat = [None; 64];
        // Neighbours are placed first, so that all lie as in host memory.
        window.take(&[Fragment { addr: 512 * row, len: 4 }], &mut [None; 64]);
        assert!(window.take(&fragments, &mut beat));
        beats.push(beat);
    }
    let banks: HashMap<u32, usize> =
        beats.iter().flatten().flatten().fold(HashMap::new(), |mut banks, place| {
            *banks.entry(place.bank()).or_default() += 1;
            banks
        });
    assert_eq!(banks, HashMap::from([(0, 20 * 4 * 4)]));
    let pace = assembler::pace(beats);
    assert_eq!((pace.bytes, pace.beats), (320, 20));
    assert!((80..=83).contains(&pace.cycles), "{pace:?}");
    assert_eq!(assembler::pace([]).words_per_cycle(), 0.0);
}
