//! Rate in words a cycle at which the assembler gathers, computed from the places of the data.
//!
//! The 64 bytes of a beat are 16 quads of four, in four groups. Each group reads all banks, a word of a bank in
//! a cycle. Each quad asks for the words of its bytes in the order of the beats, so that quads slip against
//! each other by up to 32 beats; of two quads of a group that want different words of a bank the one with the
//! older beat is served, or else the lower one. Banks that are equal modulo 8 are a class; words of a class
//! that one quad needs it asks for one after the other.

use super::{BANKS, BEAT, Beat, Place, WORD};

/// Byte positions of a quad.
const QUAD: usize = 4;
/// Quads of a group, which share a copy of the memory.
const GROUP: usize = 4;
/// Number of classes: banks that are equal modulo this number are a class.
const CLASSES: u32 = 8;
/// Number of beats that may be in progress.
const BEATS: usize = 32;
/// Cycles after a beat has been read until its place is free again.
const LEAVING: u64 = 8;
/// Cycles until quads compute their age without a beat that has been read.
const AGEING: u64 = 2;
/// Number of beats behind the oldest one from which on all count as equally old.
const OLD: usize = 3;

/// Duration of gathering some beats, if only conflicts of banks delay it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Number of bytes of payload.
    pub bytes: u64,
    /// Number of beats: the cycles that they would take without conflicts.
    pub beats: u64,
    /// Number of cycles in which the words are read.
    pub cycles: u64,
}

impl Pace {
    /// Words of payload in a cycle: 16 at most, 12.5 for 100 Gb/s; 0 without beats.
    pub fn words_per_cycle(&self) -> f64 {
        match self.cycles {
            0 => 0.0,
            cycles => self.bytes as f64 / f64::from(WORD) / cycles as f64,
        }
    }
}

/// Gathers beats of one window as the card does, if its data are present and the next stage accepts
/// every beat.
pub fn pace(beats: impl IntoIterator<Item = Beat>) -> Pace {
    let mut pace = Pace::default();
    let requests: Vec<Request> = beats
        .into_iter()
        .inspect(|beat| pace.bytes += beat.iter().flatten().count() as u64)
        .map(|beat| std::array::from_fn(|quad| Turns::of(&beat[QUAD * quad..][..QUAD])))
        .collect();
    pace.beats = requests.len() as u64;
    let mut groups = [[Quad::default(); GROUP]; BEAT / QUAD / GROUP];
    // Number of beats that have entered so far, and of each the cycle in which it was known to be
    // read.
    let (mut entered, mut read) = (0, Vec::new());
    while read.len() < requests.len() {
        let now = pace.cycles;
        let has_left = |beat: usize| read.get(beat).is_some_and(|at| at + LEAVING <= now);
        if entered < requests.len() && (entered < BEATS || has_left(entered - BEATS)) {
            entered += 1;
        }
        let at_work = &requests[..entered];
        let mut quads = (0..).zip(groups.iter().flatten());
        if quads.all(|(index, quad)| quad.has_read(read.len(), index, at_work)) {
            read.push(now);
        }
        let oldest = read.partition_point(|at| at + AGEING <= now);
        for (first, quads) in (0..).step_by(GROUP).zip(&mut groups) {
            serve(quads, first, at_work, oldest);
        }
        pace.cycles += u64::from(read.len() < requests.len());
    }
    pace
}

/// Reads of each quad for a beat.
type Request = [Turns; BEAT / QUAD];

/// The words that a quad reads for a beat, turn by turn: of each class at most one in a turn.
#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    /// Each word and its turn, in the order of the bytes.
    words: [(u32, u8); QUAD],
    len: usize,
}

impl Turns {
    /// A word's turn is the first in which its class is free.
    fn of(places: &[Option<Place>]) -> Self {
        let mut turns = Self::default();
        for word in places.iter().flatten().map(|place| place.word()) {
            let known = &turns.words[..turns.len];
            if known.iter().any(|(other, _)| *other == word) {
                continue;
            }
            let same_class = known.iter().filter(|(other, _)| other % CLASSES == word % CLASSES);
            let turn = same_class.count() as u8;
            turns.words[turns.len] = (word, turn);
            turns.len += 1;
        }
        turns
    }

    /// The words of a turn, each with its index among all words.
    fn of_turn(&self, turn: u8) -> impl Iterator<Item = (usize, u32)> {
        let words = self.words[..self.len].iter().enumerate();
        words.filter(move |(_, word)| word.1 == turn).map(|(index, word)| (index, word.0))
    }
}

/// The beat that a quad asks for, its turn, and which of its words have been read.
#[derive(Clone, Copy, Debug, Default)]
struct Quad {
    beat: usize,
    turn: u8,
    read: [bool; QUAD],
}

impl Quad {
    /// True if the quad is known to have read all words that it needs of a beat. While it takes
    /// turns with the next beat, that is only known at the last of these turns.
    fn has_read(&self, beat: usize, index: usize, requests: &[Request]) -> bool {
        let takes_turns = || {
            let turns = requests.get(self.beat).map(|request| &request[index]);
            turns.is_some_and(|turns| turns.of_turn(self.turn + 1).next().is_some())
        };
        self.beat > beat + 1 || self.beat == beat + 1 && !takes_turns()
    }
}

/// State of a bank in a cycle.
#[derive(Clone, Copy, Debug)]
enum Bank {
    Free,
    /// Requests so far are for this word alone.
    Asked(u32),
    /// Requests are for several words.
    Disputed,
}

impl Bank {
    /// Adds the request for a word; true if it is served.
    fn serves(&mut self, word: u32) -> bool {
        *self = match *self {
            Self::Free => Self::Asked(word),
            Self::Asked(other) if other == word => return true,
            Self::Asked(_) | Self::Disputed => Self::Disputed,
        };
        matches!(self, Self::Asked(_))
    }
}

/// Simulates a cycle of a group, whose first quad is `first`.
fn serve(quads: &mut [Quad; GROUP], first: usize, requests: &[Request], oldest: usize) {
    let mut banks = [Bank::Free; BANKS as usize];
    let mut order: [usize; GROUP] = std::array::from_fn(|index| index);
    // The sort is stable: of equally old quads the lower one is first.
    order.sort_by_key(|&index| (quads[index].beat - oldest).min(OLD));
    for index in order {
        let quad = &mut quads[index];
        let Some(request) = requests.get(quad.beat) else { continue };
        let turns = &request[first + index];
        for (word, address) in turns.of_turn(quad.turn) {
            quad.read[word] = quad.read[word] || banks[(address % BANKS) as usize].serves(address);
        }
        if turns.of_turn(quad.turn).all(|(word, _)| quad.read[word]) {
            quad.turn += 1;
            if turns.of_turn(quad.turn).next().is_none() {
                *quad = Quad { beat: quad.beat + 1, ..Quad::default() };
            }
        }
    }
}
