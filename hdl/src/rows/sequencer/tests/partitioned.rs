//! Partitioned requests: their ids, and the bitmaps that these stand for.

use super::*;

/// The ids of a request's rows, and the one of each destination.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Bytes of an id.
    pub width: u8,
    pub ids: Vec<u16>,
    pub partitions: Vec<u16>,
}

impl Shared {
    /// The ids as they lie in memory.
    pub fn bytes(&self) -> Vec<u8> {
        let bytes = self.ids.iter().map(|id| id.to_le_bytes());
        bytes.flat_map(|id| id.into_iter().take(self.width.into())).collect()
    }
}

/// Makes a request partitioned: one region for all destinations, the first one's if it has one.
pub fn partition(random: &mut Random, request: &mut Request) {
    let Some(region) = request.dests.first().and_then(|dest| dest.regions.first()) else { return };
    if region.kind == RegionType::Contiguous {
        return;
    }
    let mut region = Region { kind: RegionType::Bitmapped, pointers: Vec::new(), ..region.clone() };
    region.fails = random.chance(0.1);
    let width = 1 + random.below(2) as u8;
    let mask = if width == 1 { 0xff } else { 0xffff };
    let base = random.below(1 << 16) as u16;
    let id = |k: usize| base.wrapping_add(k as u16 * 0x0103) & mask;
    let partitions: Vec<_> = (0..request.dests.len()).map(id).collect();
    // Some rows have an id of no destination.
    let known = (request.dests.len() + random.below(3) as usize) as u64;
    let ids: Vec<_> = (0..region.count).map(|_| id(random.below(known) as usize)).collect();
    for (dest, partition) in request.dests.iter_mut().zip(&partitions) {
        let bits = ids.iter().map(|id| id == partition).collect();
        dest.regions = vec![Region { bits, ..region.clone() }];
    }
    request.shared = Some(Shared { width, ids, partitions });
}

/// The destinations of a request of `rows` rows of 20 bytes, each of which has the id of a destination.
fn request(rows: u32, dests: usize, width: u8) -> Request {
    let lanes: Vec<_> = (0..5).map(|i| (i << 20, 4, 4)).collect();
    let ids: Vec<_> = (0..rows).map(|row| row as u16 % dests as u16).collect();
    let dest_of = |index: usize| {
        let mut region = region(RegionType::Bitmapped, lanes.clone(), rows);
        region.bits = ids.iter().map(|id| usize::from(*id) == index).collect();
        dest(vec![region], false)
    };
    let partitions = (0..dests as u16).collect();
    Request {
        dests: (0..dests).map(dest_of).collect(),
        status: (0, 0),
        shared: Some(Shared { width, ids, partitions }),
        apart: false,
        column: None,
    }
}

#[test]
fn the_ids_of_a_chunk_are_read_once_for_all_destinations() {
    let library = library();
    for width in [1, 2] {
        let mut card = Card::new(&library, 3);
        card.columns.enable(&mut card.bench, 256);
        let mut request = request(14_720, 64, width);
        let posted = card.post(&mut request);
        let tokens = card.finish(1);
        check(&tokens[0], &request, posted, &card);
        assert_eq!(card.read, 14_720 * u64::from(width), "bytes of ids that are read");
        let at = card.bench.received_at(card.columns.items);
        let cycles = at[at.len() - 1] - at[0];
        assert!(cycles <= 640 * 6 + 10, "{cycles} cycles for 640 stretches");
    }
}

#[test]
fn unreadable_ids_are_the_first_destinations_failure_whoever_needs_their_number() {
    let library = library();
    // The second destination's messages must fit a packet, so that its rows are counted.
    for min_rows in [0, 256] {
        let mut card = Card::new(&library, 3);
        card.columns.enable(&mut card.bench, min_rows);
        let mut request = request(1000, 3, 1);
        request.dests.iter_mut().for_each(|dest| dest.regions[0].fails = true);
        request.dests[1].is_ud = true;
        request.dests.iter_mut().for_each(|dest| dest.units = 1000);
        let posted = card.post(&mut request);
        let tokens = card.finish(1);
        let end = tokens[0].last().unwrap();
        let protection = Status::LocalProtectionError as u64;
        assert_eq!((end.u64("status"), end.u64("bad_dest")), (protection, 0));
        check(&tokens[0], &request, posted, &card);
    }
}

#[test]
fn every_destination_has_its_own_count_of_the_one_region() {
    let library = library();
    let mut card = Card::new(&library, 5);
    // Messages that are announced: 400 rows to each, and 200 more to the first.
    let mut request = request(1200, 3, 2);
    let shared = request.shared.as_mut().unwrap();
    shared.ids.extend([0; 200]);
    for (index, dest) in request.dests.iter_mut().enumerate() {
        dest.is_write = true;
        dest.units = 500;
        dest.regions[0].count = 1400;
        dest.regions[0].bits.extend([index == 0; 200]);
    }
    let posted = card.post(&mut request);
    let tokens = card.finish(1);
    check(&tokens[0], &request, posted, &card);
    let starts = tokens[0].iter().filter(|token| token.u64("message_start") == 1);
    let mut bytes: Vec<_> = starts.map(|token| token.u64("message_bytes")).collect();
    bytes.sort_unstable();
    assert_eq!(bytes, [100 * 20, 400 * 20, 400 * 20, 500 * 20]);
}

/// Keys are used on the row path and on the column path.
#[test]
fn ids_that_are_made_of_keys_select_rows_as_those_in_memory_do() {
    let library = library();
    // The column path gets the width of ids, which is not that of keys.
    for (width, min_rows) in [(1, 0), (2, 0), (1, 256)] {
        let mut card = Card::new(&library, 3);
        card.columns.enable(&mut card.bench, min_rows);
        card.makes_ids = true;
        let mut request = request(1500, 5, width);
        for dest in &mut request.dests {
            (dest.is_write, dest.units) = (true, 1500);
        }
        let posted = card.post(&mut request);
        let tokens = card.finish(1);
        check(&tokens[0], &request, posted, &card);
        assert!(card.read >= (1500 + 255) * u64::from(width), "keys and splitters are read");
    }
}
