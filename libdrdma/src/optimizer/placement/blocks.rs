//! Placement of blocks of host memory, for requests that the card fetches row by row.

use std::collections::{HashMap, HashSet};

use super::{BEAT, Beat, Place, WORD};
use crate::optimizer::Fragment;

/// Size of a block in bytes.
const BLOCK: u64 = 256;
/// Number of blocks that a window has room for.
const BLOCKS: usize = 112;
/// Number of beats of a window; those that cross the end of a block count as two.
const PARTS: usize = 2048;
/// Bytes between a block and the next that is not its neighbour in host memory: 9 words from the start of
/// the one to that of the other, modulo the banks.
const APART: u32 = 9 * WORD;

/// Places of the blocks of an open window, to which further blocks can be added.
///
/// Host memory is seen in aligned blocks of 256 B, which get their places in the order in which
/// they are first needed: the block behind the last one in host memory lies right behind it, any
/// other 9 words further, so that values of different columns start in different banks. A block
/// that has its place is not placed again.
///
/// ```
/// use libdrdma::optimizer::{BlockPlacement, Fragment};
///
/// let mut window = BlockPlacement::default();
/// // A value of each of two columns.
/// let row = [Fragment { addr: 0x1_0008, len: 4 }, Fragment { addr: 0x2_0010, len: 2 }];
/// let mut beat = [None; 64];
/// assert!(window.take(&row, &mut beat), "an empty window has room");
/// let places: Vec<_> = beat.iter().flatten().map(|place| place.offset()).collect();
/// assert_eq!(places, [8, 9, 10, 11, 308, 309]);
/// assert_eq!(window.place(0x2_0000).map(|place| (place.offset(), place.bank())), Some((292, 9)));
/// ```
///
/// The card closes a window when the next beat has no room; and earlier, where little more would fit: before
/// a stretch of rows that it does not expect to fit any more, behind a request that nothing follows, or where
/// packed rows ([`ColumnPlacement`](super::ColumnPlacement)) are next. A window of a request that does not return to
/// blocks, such as contiguous data, it closes when that has half as many blocks, so that they are gathered sooner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockPlacement {
    /// Offset in the window of each block, by number of the block.
    places: HashMap<u64, u32>,
    /// Number and offset of the block that was placed last.
    last: Option<(u64, u32)>,
    parts: usize,
}

impl BlockPlacement {
    /// Cuts a row, whose fragments are given in order, into what the card gathers in a cycle each: as many
    /// fragments as have 64 B together, or 64 B of a longer one.
    pub fn beats(row: &[Fragment]) -> Vec<Vec<Fragment>> {
        let mut beats: Vec<Vec<Fragment>> = Vec::new();
        let mut room = 0;
        for &Fragment { addr, len } in row.iter().filter(|fragment| fragment.len > 0) {
            if len <= room {
                beats.last_mut().expect("it has room").push(Fragment { addr, len });
                room -= len;
                continue;
            }
            let pieces = (0..len).step_by(BEAT);
            beats.extend(pieces.map(|at| {
                vec![Fragment { addr: addr.wrapping_add(at), len: (len - at).min(BEAT as u64) }]
            }));
            // The pieces of a longer fragment are beats of their own.
            room = (BEAT as u64).saturating_sub(len);
        }
        beats
    }

    /// Places the fragments of a beat, of at most 64 B together: fills `beat` where it has no place yet.
    ///
    /// False if the window has no room for all. Then `beat` is to be taken by the next window: of a
    /// beat with fragments that cross the end of a block, those that begin in the next block may have been left over.
    ///
    /// # Panics
    /// With fragments of more than 64 B together.
    pub fn take(&mut self, fragments: &[Fragment], beat: &mut Beat) -> bool {
        let bytes = fragments.iter().map(|fragment| fragment.len).fold(0, u64::saturating_add);
        assert!(bytes <= BEAT as u64, "a beat of {bytes} B has more than {BEAT}");
        let addrs = fragments.iter().flat_map(|&Fragment { addr, len }| {
            let at = move |byte| addr.wrapping_add(byte);
            (0..len).map(move |byte| (at(byte), at(byte) / BLOCK != addr / BLOCK))
        });
        let addrs: Vec<(u64, bool)> = addrs.collect();
        // First where all fragments begin, then where some go on.
        [false, true].into_iter().all(|behind| {
            let part: Vec<_> = (0..)
                .zip(&addrs)
                .filter(|&(position, &(_, crossed)): &(usize, _)| {
                    crossed == behind && beat[position].is_none()
                })
                .map(|(position, &(addr, _))| (position, addr))
                .collect();
            let blocks = part.iter().map(|(_, addr)| addr / BLOCK);
            let placed = part.is_empty() || self.make_room(blocks);
            if placed {
                part.iter().for_each(|&(position, addr)| beat[position] = self.place(addr));
            }
            placed
        })
    }

    /// Gives blocks their places, in order; false if there is no room for all of them.
    fn make_room(&mut self, blocks: impl Iterator<Item = u64>) -> bool {
        let mut fresh: Vec<u64> = blocks.filter(|block| !self.places.contains_key(block)).collect();
        let mut seen = HashSet::new();
        fresh.retain(|block| seen.insert(*block));
        let fits = self.parts < PARTS && self.places.len() + fresh.len() <= BLOCKS;
        if fits {
            self.parts += 1;
            fresh.into_iter().for_each(|block| self.push(block));
        }
        fits
    }

    fn push(&mut self, block: u64) {
        let place = match self.last {
            None => 0,
            Some((last, place)) if last + 1 == block => place + BLOCK as u32,
            Some((_, place)) => place + BLOCK as u32 + APART,
        };
        self.places.insert(block, place);
        self.last = Some((block, place));
    }

    /// Place of a byte of host memory, if its block is in the window.
    pub fn place(&self, addr: u64) -> Option<Place> {
        let place = *self.places.get(&(addr / BLOCK))?;
        Some(Place(place).plus(addr % BLOCK))
    }

    /// Number of blocks in the window.
    pub fn blocks(&self) -> usize {
        self.places.len()
    }
}
