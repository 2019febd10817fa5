//! Pointers that the host changes after they were judged.

use super::*;

const ROWS: u32 = 20;

/// Runs a request over `regions` pointer-mapped regions, unit by unit. Once all pointers have been
/// read to be judged, pointer `row` of region `place` is changed to one that is none of its
/// region. Gives the request's tokens, and those of one behind it.
fn run(library: &Library, regions: usize, (place, row): (usize, usize)) -> Vec<Vec<Beat>> {
    let mut card = Card::new(library, 7);
    let pointers = || region(RegionType::PointerMapped, vec![(0, 0, 8)], ROWS);
    let mut request = one(dest((0..regions).map(|_| pointers()).collect(), regions > 1));
    card.post(&mut request);
    let judged = (regions * 8 * ROWS as usize) as u64;
    while card.read < judged {
        card.step();
    }
    let address = request.dests[0].regions[place].addr;
    let (bytes, _) = card.memory.get_mut(&address).unwrap();
    bytes[8 * row..8 * row + 8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let mut tokens = card.finish(1);
    let mut behind = one(dest(vec![region(RegionType::Strided, vec![(0, 8, 8)], 4)], false));
    let posted = card.post(&mut behind);
    tokens.extend(card.finish(1));
    check(&tokens[1], &behind, posted, &card);
    tokens
}

#[test]
fn a_pointer_that_has_changed_since_it_was_judged_ends_the_request() {
    let library = library();
    for (regions, place, row) in
        [(1, 0, 0), (1, 0, 13), (1, 0, 19), (2, 0, 0), (2, 1, 7), (2, 0, 8), (3, 1, 13), (3, 2, 19)]
    {
        let tokens = &run(&library, regions, (place, row))[0];
        let (end, rows) = tokens.split_last().unwrap();
        assert_eq!(rows.len(), regions * row + place, "{regions} regions, {place}, {row}");
        for token in rows {
            assert_eq!(token.u64("request_end"), 0);
            assert!(token.u64("pointer") < 1 << 40, "a row outside the region");
        }
        assert_eq!(end.u64("request_end"), 1);
        assert_eq!(end.u64("status"), Status::LocalProtectionError as u64);
        assert_eq!(end.u64("bad_dest"), 0);
    }
}
