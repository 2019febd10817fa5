//! The pace that libdrdma predicts, against that of the block.

use libdrdma::optimizer::{Beat, ColumnPlacement, Lane, assembler};

use super::*;

/// The block's cycles for the beats of a window, from the first beat in to the last one out.
fn cycles(library: &Library, beats: &[Beat]) -> u64 {
    let memory = Random::new(5).bytes(MEMORY);
    let places = |beat: &Beat| beat.map(|place| place.map(|place| place.offset() as usize));
    let mut parts: Vec<_> = beats.iter().map(|beat| Part::new(0, places(beat))).collect();
    parts.last_mut().expect("there are some").window_end = true;
    run(library, 5, (0.0, 0.0), &parts, &[vec![]], &memory).cycles
}

/// Lanes of all kinds, as many as the card packs.
fn lanes(random: &mut Random) -> Vec<Lane> {
    let count = 1 + random.below(8);
    let longest = [1, 2, 4, 8, 20][random.below(5) as usize];
    let odd = random.below(2);
    let apart = random.chance(0.8);
    let mut lanes = Vec::new();
    for c in 0..count {
        let len = 1 + random.below(longest);
        let step = if random.chance(0.8) { len } else { len + random.below(20) };
        let near = lanes.last().map_or(0, |lane: &Lane| lane.addr + random.below(16));
        let addr = if apart { 0x10_0000 * c + odd * random.below(64) } else { near };
        lanes.push(Lane { addr, len, step });
    }
    // Long rows always meet in some bank.
    let most = if random.chance(0.7) { 64 } else { 960 };
    let row_bytes = |lanes: &[Lane]| lanes.iter().map(|lane| lane.len).sum::<u64>();
    while ColumnPlacement::window_rows(&lanes).is_err() || row_bytes(&lanes) > most {
        lanes.pop();
    }
    lanes
}

#[test]
fn the_pace_that_software_foretells_is_the_blocks() {
    let library = library();
    let mut random = Random::new(31);
    let mut paces = [0, 0];
    for case in 0..80 {
        let lanes = lanes(&mut random);
        let rows = ColumnPlacement::window_rows(&lanes).expect("they are packed");
        let placement = ColumnPlacement::new(&lanes, rows).expect("they are packed");
        let wanted = [1.0, 0.5, 0.25, 0.06][random.below(4) as usize];
        let chosen: Vec<u32> = (0..rows).filter(|_| random.chance(wanted)).collect();
        let beats: Vec<Beat> = placement.beats(chosen).collect();
        let foretold = assembler::pace(beats.iter().copied());
        // The block needs 10 cycles more, from the first beat in to the last one out.
        let found = cycles(&library, &beats) - 10;
        assert_eq!(foretold.cycles, found, "case {case}: {foretold:?}, {wanted} of {lanes:?}");
        paces[usize::from(found > foretold.beats)] += 1;
    }
    assert!(paces.iter().all(|cases| *cases > 5), "with and without conflicts: {paces:?}");
}
