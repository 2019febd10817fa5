//! Conditions on any plan, in any schedule: written from the contract, not from the RTL.

use super::WINDOWS;
use std::collections::{BTreeMap, BTreeSet};

/// A beat that is sent.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// Lane, host address, bytes, position.
    pub fragments: Vec<(usize, u64, u64, u64)>,
    /// Everything that passes through: field, value.
    pub fields: BTreeMap<&'static str, u64>,
    pub chunk: Option<u64>,
}

impl Input {
    /// Host address of every byte of the payload, by position.
    fn bytes(&self) -> BTreeMap<u64, u64> {
        let of = |&(_, addr, len, pos): &(usize, u64, u64, u64)| {
            (0..len).map(move |i| (pos + i, addr.wrapping_add(i)))
        };
        self.fragments.iter().flat_map(of).collect()
    }

    fn crosses(&self) -> bool {
        self.fragments.iter().any(|&(_, addr, len, _)| len > 0 && addr % 256 + len > 256)
    }

    /// The blocks that a placed beat needs, by lane: those where fragments begin, or those into which some go on.
    fn blocks(&self, piece: usize) -> Vec<(usize, u64)> {
        let used = self.fragments.iter().filter(|fragment| fragment.2 > 0);
        let block = |&(lane, addr, len, _): &(usize, u64, u64, u64)| match piece {
            0 => Some((lane, addr / 256)),
            _ => (addr % 256 + len > 256).then(|| (lane, addr.wrapping_add(len - 1) / 256)),
        };
        used.filter_map(block).collect()
    }
}

/// Blocks of a window of one request that returns to none.
pub const EARLY: usize = 40;

/// Follows requests and windows: whether requests return to blocks, and so how many a window may have.
#[derive(Default)]
struct Request {
    returns: bool,
    /// The present request has begun in the present window.
    begun_here: bool,
    /// A whole request is in the present window.
    shared: bool,
    dest: Option<u64>,
    /// Slot of the block that was asked for last.
    slot: u64,
    /// By lane and slot: the last block of the present window.
    known: BTreeMap<(usize, u64), u64>,
}

impl Request {
    /// Blocks that a window may have before a beat that needs others.
    fn most_blocks(&mut self, input: &Input) -> usize {
        let dest = input.fields["dest"];
        self.returns |= input.chunk.is_some() || self.dest.is_some_and(|before| before != dest);
        self.begun_here |= self.dest.is_none();
        self.dest = Some(dest);
        if self.returns || self.shared { 112 } else { EARLY }
    }

    /// The blocks that are asked for in the present window so that each lane has its own, in order: each once, for the
    /// first lane that does not know it.
    fn asked(&self, blocks: &[(usize, u64)]) -> Vec<u64> {
        let mut asked = Vec::new();
        for &(lane, block) in blocks {
            if self.known.get(&(lane, block % 8)) != Some(&block) && !asked.contains(&block) {
                asked.push(block);
            }
        }
        asked
    }

    /// A beat that needs these blocks, by lane, is placed.
    fn place(&mut self, blocks: &[(usize, u64)]) {
        match self.asked(blocks).last() {
            Some(block) => self.slot = block % 8,
            None => self.returns |= blocks.iter().any(|(_, block)| block % 8 != self.slot),
        }
        self.known.extend(blocks.iter().map(|&(lane, block)| ((lane, block % 8), block)));
    }

    fn end(&mut self, input: &Input) {
        if input.fields["request_end"] == 1 {
            (self.returns, self.dest) = (false, None);
            self.shared |= self.begun_here;
            self.begun_here = false;
        }
    }
}

/// Questions whose answers are on the way when a window is found full: each may have found its block.
const ON_THE_WAY: usize = 3;

/// True if a window may end before the next placed beat, which is of `input`, and may have as many blocks.
fn may_end(window: &Window, request: &Request, input: &Input, piece: usize, most: usize) -> bool {
    let had = window.blocks.len();
    let asked = request.asked(&input.blocks(piece));
    let full = match most {
        // Whether the window has blocks that are asked for is not looked at.
        EARLY => !asked.is_empty() && had + asked.len() + ON_THE_WAY > most,
        _ => {
            let others = asked.iter().filter(|block| !window.blocks.contains(block)).count();
            others > 0 && had + others > most
        }
    };
    let chunk = input.chunk.is_some_and(|estimate| had as u64 + estimate > 112);
    let request_ended = window.placed.last().is_some_and(|beat| beat.fields["request_end"] == 1);
    full || (piece == 0 && (chunk || request_ended)) || window.placed.len() == 2048
}

/// A placed beat.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Lane, address in the segmented memory, bytes, position.
    pub fragments: Vec<(usize, u64, u64, u64)>,
    pub fields: BTreeMap<&'static str, u64>,
    pub window: u64,
    pub window_end: bool,
    pub beat_end: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Box {
    pub addr: u64,
    pub ram: u64,
    pub len: u64,
    pub window: u64,
    pub window_end: bool,
}

/// Boxes and placed beats of one window, in order.
#[derive(Clone, Debug, Default)]
pub struct Window {
    pub boxes: Vec<Box>,
    pub placed: Vec<Placed>,
    /// How much of the memory it took, in units of 128 B.
    pub size: u64,
    /// The blocks that it needs.
    pub blocks: BTreeSet<u64>,
    /// How many it may have.
    most: usize,
}

fn windows(placed: &[Placed], boxes: &[Box], sizes: &[u64]) -> Vec<Window> {
    let mut windows: Vec<Window> = vec![Window::default()];
    for beat in placed {
        let number = windows.len() as u64 - 1;
        assert_eq!(beat.window, number % WINDOWS, "windows in order: {beat:?}");
        windows.last_mut().unwrap().placed.push(beat.clone());
        if beat.window_end {
            windows.push(Window::default());
        }
    }
    assert!(windows.pop().unwrap().placed.is_empty(), "the last window is open");
    let mut number = 0;
    for read in boxes {
        assert_eq!(read.window, number as u64 % WINDOWS, "windows in order: {read:?}");
        if read.len > 0 {
            windows[number].boxes.push(*read);
        } else {
            assert!(read.window_end, "an empty box that ends nothing: {read:?}");
        }
        number += usize::from(read.window_end);
    }
    assert_eq!(number, windows.len(), "as many windows of boxes as of beats");
    assert_eq!(sizes.len(), windows.len(), "every window is closed once");
    windows.iter_mut().zip(sizes).for_each(|(window, size)| window.size = *size);
    windows
}

/// Checks everything and returns the windows. Gaps up to the first threshold must be read through, and gaps above the
/// second one must not be.
pub fn check(
    inputs: &[Input],
    placed: &[Placed],
    boxes: &[Box],
    sizes: &[u64],
    max_read: u64,
    thresholds: [u64; 2],
) -> Vec<Window> {
    let mut windows = windows(placed, boxes, sizes);
    // Where does each byte of each window's memory come from?
    let sources: Vec<BTreeMap<u64, u64>> = windows.iter().map(|w| source(w, max_read)).collect();

    // The beats, byte by byte; on the way, the words that each window needs.
    let mut needed: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); windows.len()];
    let mut next = 0;
    let mut index = 0;
    let mut request = Request::default();
    let mut begins = false;
    for input in inputs {
        let mut bytes = BTreeMap::new();
        let pieces = 1 + usize::from(input.crosses());
        for piece in 0..pieces {
            let beat = &placed[next];
            next += 1;
            assert_eq!(beat.beat_end, piece + 1 == pieces, "{input:?} {beat:?}");
            assert_eq!(beat.fields, input.fields, "what passes through");
            let is_first = request.dest.is_none();
            let mut most = request.most_blocks(input);
            if begins {
                let before = &mut windows[index - 1];
                let may = may_end(before, &request, input, piece, most);
                assert!(may, "window {} is closed too early: {input:x?}", index - 1);
                // The beat may have asked for blocks before it moved on.
                before.most = most.max(before.most);
                request.known.clear();
                request.shared = false;
                request.begun_here = is_first;
                most = request.most_blocks(input);
            }
            request.place(&input.blocks(piece));
            let had = windows[index].blocks.len();
            for &(lane, ram, len, pos) in &beat.fragments {
                assert!(input.fragments.iter().any(|f| f.0 == lane), "{input:?} {beat:?}");
                for i in 0..len {
                    let from = sources[index].get(&(ram + i)).copied();
                    let from = from.unwrap_or_else(|| {
                        panic!(
                            "window {index}: byte {:#x} is never read: {input:x?} {beat:x?}",
                            ram + i
                        )
                    });
                    needed[index].insert(from / 4);
                    windows[index].blocks.insert(from / 256);
                    assert_eq!(bytes.insert(pos + i, from), None, "a position twice");
                }
            }
            let window = &mut windows[index];
            assert!(window.blocks.len() <= most.max(had), "{} blocks", window.blocks.len());
            window.most = most.max(window.most);
            begins = beat.window_end;
            index += usize::from(begins);
        }
        request.end(input);
        assert_eq!(bytes, input.bytes(), "{input:x?}");
    }
    assert_eq!(next, placed.len(), "placed beats too many");

    for (index, window) in windows.iter().enumerate() {
        // 73 words of 4 B for each block.
        let most = (292 * window.most as u64).div_ceil(128);
        assert!(window.size <= most, "{} units of 128 B, at most {most}", window.size);
        assert!(window.placed.len() <= 2048, "{} placed beats", window.placed.len());
        gaps(window, &needed[index], thresholds[1]);
        merged(window, max_read, thresholds[0]);
        places(window);
    }
    windows
}

/// The host address of every byte that the boxes bring, by address in the memory.
fn source(window: &Window, max_read: u64) -> BTreeMap<u64, u64> {
    let mut source = BTreeMap::new();
    let mut host = BTreeSet::new();
    for read in &window.boxes {
        assert!(read.len <= max_read, "longer than {max_read}: {read:x?}");
        assert_eq!(read.addr / 4096, (read.addr + (read.len - 1)) / 4096, "4 KiB: {read:x?}");
        assert!(read.ram + read.len <= 128 * window.size, "outside of its window: {read:x?}");
        assert_eq!((read.addr % 4, read.ram % 4, read.len % 4), (0, 0, 0), "words: {read:x?}");
        for i in 0..read.len {
            assert_eq!(source.insert(read.ram + i, read.addr + i), None, "overwrites: {read:x?}");
            assert!(host.insert(read.addr + i), "read twice: {read:x?}");
        }
    }
    source
}

/// True if the bytes from `end` to `start`, of which none are needed, are read through.
fn through(end: u64, start: u64, threshold: u64) -> bool {
    start - end <= threshold || (threshold > 0 && (end - 1) / 64 == start / 64)
}

/// Boxes start and end with needed words, and every gap in one may be read through.
fn gaps(window: &Window, needed: &BTreeSet<u64>, threshold: u64) {
    for read in &window.boxes {
        let words: Vec<_> = needed.range(read.addr / 4..(read.addr + read.len) / 4).collect();
        assert_eq!(words.first(), Some(&&(read.addr / 4)), "starts in a gap: {read:x?}");
        assert_eq!(
            words.last(),
            Some(&&((read.addr + read.len) / 4 - 1)),
            "ends in a gap: {read:x?}"
        );
        for pair in words.windows(2) {
            let (end, start) = (4 * (pair[0] + 1), 4 * pair[1]);
            assert!(through(end, start, threshold), "a gap to {start:x} in {read:x?}");
        }
    }
}

/// A box that must go on to the next one is as long as can be, up to a cache line, and both together are too long.
fn merged(window: &Window, max_read: u64, threshold: u64) {
    let mut boxes = window.boxes.clone();
    boxes.sort_by_key(|b| b.ram);
    for pair in boxes.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let joint = b.addr.wrapping_sub(a.addr);
        let behind = joint == b.ram - a.ram
            && joint >= a.len
            && through(a.addr + a.len, a.addr + joint, threshold);
        if behind && a.addr / 4096 == b.addr / 4096 {
            let line = (a.addr % 4096 + max_read) / 64 * 64;
            assert!(joint + b.len > max_read, "not merged: {a:x?} {b:x?}");
            assert!(a.addr % 4096 + joint >= line, "cut too early: {a:x?} {b:x?}");
            assert!((a.addr + (a.len - 1)) / 64 != b.addr / 64, "one line: {a:x?} {b:x?}");
        }
    }
}

/// A successor right behind its block, any other 9 words further.
fn places(window: &Window) {
    let mut places = BTreeMap::new();
    for read in &window.boxes {
        for block in read.addr / 256..=(read.addr + read.len - 1) / 256 {
            let place = read.ram.wrapping_add((block * 256).wrapping_sub(read.addr));
            let old = places.insert(place, block);
            assert!(old.is_none_or(|old| old == block), "{block:x} and {old:x?} at {place:x}");
        }
    }
    let blocks: BTreeSet<_> = places.values().collect();
    assert_eq!(blocks.len(), places.len(), "a block in two places");
    let mut before: Option<(u64, u64)> = None;
    for (&place, &block) in &places {
        let expected = match before {
            None => 0,
            Some((place, last)) if last.wrapping_add(1) % (1 << 56) == block => place + 256,
            Some((place, _)) => place + 256 + 36,
        };
        assert_eq!(place, expected, "the place of block {block:x} behind {before:x?}");
        before = Some((place, block));
    }
}
