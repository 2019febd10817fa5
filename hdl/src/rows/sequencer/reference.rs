//! Reference of the sequencer: the meaning of work requests in plain Rust.

use drdma_abi::completion::Status;
use drdma_abi::work_request::{MAX_MESSAGE, RegionType};

/// A lane set as the decoder makes it, and what lies in host memory.
#[derive(Clone, Debug)]
pub struct Region {
    pub kind: RegionType,
    /// Address of the bitmap or the pointer array.
    pub addr: u64,
    pub count: u32,
    /// Lanes as {base, step, length}.
    pub lanes: Vec<(u64, u64, u32)>,
    pub bits: Vec<bool>,
    /// The fetch rows of a bitmapped region, and whether their reads fail.
    pub fetch: Option<(Vec<bool>, bool)>,
    pub pointers: Vec<u64>,
    pub target_addr: u64,
    pub target_len: u64,
    pub low: u64,
    pub high: u128,
    /// Reads of the bitmap or the pointer array fail.
    pub fails: bool,
}

impl Region {
    pub fn row_bytes(&self) -> u64 {
        self.lanes.iter().map(|lane| u64::from(lane.2)).sum()
    }

    /// Row and pointer of every row.
    pub fn rows(&self) -> Vec<(u32, u64)> {
        match self.kind {
            RegionType::Contiguous => vec![(0, 0)],
            RegionType::Strided => (0..self.count).map(|row| (row, 0)).collect(),
            RegionType::Bitmapped => {
                let set = |row: &u32| self.bits[*row as usize];
                (0..self.count).filter(set).map(|row| (row, 0)).collect()
            }
            RegionType::PointerMapped => (0..).zip(self.pointers.iter().copied()).collect(),
        }
    }

    /// Lanes and row of every element.
    pub fn elements(&self) -> Vec<(u32, u64, usize, usize)> {
        let n = self.lanes.len();
        let whole = |(row, pointer)| (row, pointer, 0, n);
        match self.kind {
            RegionType::Strided => (0..self.count)
                .flat_map(|row| (0..n).map(move |lane| (row, 0, lane, lane + 1)))
                .collect(),
            _ => self.rows().into_iter().map(whole).collect(),
        }
    }

    fn pointers_are_right(&self) -> bool {
        let end = u128::from(self.target_addr) + u128::from(self.target_len);
        !(self.fails && self.count > 0)
            && self.pointers.iter().all(|&pointer| {
                let pointer = u128::from(pointer);
                pointer + u128::from(self.low) >= u128::from(self.target_addr)
                    && pointer + self.high <= end
            })
    }
}

/// The steps of a set's groups: lanes of one step, one after another, that lie within it and within
/// 127 bytes.
pub fn group_steps(lanes: &[(u64, u64, u32)]) -> u128 {
    // The current group: its start, its end, its step.
    let mut group: Option<(i128, i128, u64)> = None;
    let mut sum = 0;
    for &(base, step, len) in lanes {
        // Addresses are numbers modulo 2^64: near the group they are above or below it.
        let lo = group.map_or(base.into(), |(start, ..)| {
            start + i128::from(base.wrapping_sub(start as u64) as i64)
        });
        let hi = lo + i128::from(len);
        group = match group {
            Some((start, end, of))
                if of == step && end.max(hi) - start.min(lo) <= i128::from(step.min(127)) =>
            {
                Some((start.min(lo), end.max(hi), of))
            }
            _ => {
                sum += u128::from(step);
                Some((lo, hi, step))
            }
        };
    }
    sum
}

/// Rows of a window whose lanes' groups advance by `steps` bytes a row: in stretches of 128 if there are at least four,
/// otherwise of 64 if there are two, otherwise of 16.
pub fn rows_of_window(steps: u128) -> u32 {
    let most = (30_656 / steps).min(4096) as u32;
    match most {
        512.. => most / 128 * 128,
        128.. => most / 64 * 64,
        _ => most / 16 * 16,
    }
}

/// The lanes may be those of a column request: short, close together, a period not told in two groups.
pub fn are_columns(lanes: &[(u64, u64, u32)]) -> bool {
    let row_bytes: u64 = lanes.iter().map(|lane| u64::from(lane.2)).sum();
    let overlap = lanes.iter().any(|&(_, step, len)| u64::from(len) > step.min(127));
    let steps = group_steps(lanes);
    let wide = (1..lanes.len())
        .any(|k| lanes[k].1 == 128 && group_steps(&lanes[..=k]) != group_steps(&lanes[..k]));
    lanes.iter().all(|&(_, step, len)| step <= 128 && len <= 127)
        && !wide
        && (1..=960).contains(&row_bytes)
        && (row_bytes <= 64 || !overlap)
        && (1..=1916).contains(&steps)
}

/// The fewest rows of a column request of `lanes` lanes; `lone_bitmap`: it has one bitmap for one destination.
pub fn least_rows(lanes: usize, lone_bitmap: bool, min_rows: u32) -> u32 {
    match lanes {
        _ if lone_bitmap => min_rows,
        0..=2 => min_rows / 4,
        3..=6 => min_rows / 2,
        _ => min_rows,
    }
}

/// Rows of the chunks of a request whose rows the column path packs; `None`: the row path's.
///
/// The destinations all have the first one's lanes, or, if they are `apart`, rows of one form. Rows are selected by bitmaps,
/// or `by_ids`.
pub fn chunk_rows(dests: &[Dest], apart: bool, by_ids: bool, min_rows: u32) -> Option<u32> {
    let first = &dests.first()?.regions.first()?;
    let units = |dest: &Dest| {
        !(dest.element_mask && dest.regions[0].kind == RegionType::Strided && first.lanes.len() > 1)
    };
    let one = |dest: &Dest| {
        (apart || dest.has_same_lanes(&dests[0]))
            && units(dest)
            && dest.regions[0].count > 0
            && are_columns(&dest.regions[0].lanes)
    };
    let lone_bitmap = dests.len() == 1 && first.kind == RegionType::Bitmapped && !by_ids;
    let least = least_rows(first.lanes.len(), lone_bitmap, min_rows);
    let columns = min_rows != 0
        && dests.iter().all(one)
        && dests.iter().any(|dest| dest.regions[0].count >= least);
    columns.then(|| {
        let steps = dests.iter().map(|dest| group_steps(&dest.regions[0].lanes)).max();
        rows_of_window(steps.unwrap_or(1))
    })
}

/// Part of a region that a unit has: region, row, pointer, first lane, end lane.
type Part = (usize, u32, u64, usize, usize);

#[derive(Clone, Debug)]
pub struct Dest {
    pub regions: Vec<Region>,
    pub is_write: bool,
    pub is_ud: bool,
    pub log_mtu: u32,
    pub element_mask: bool,
    pub units: u32,
}

/// Contents of tokens, in the smallest pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    MessageStart(u32),
    Fragment {
        set: u16,
        lane: u8,
        row: u32,
        pointer: u64,
        offset: u32,
        bytes: u32,
    },
    /// The end of a token.
    Beat,
    UnitEnd,
    MessageEnd,
    DestEnd,
}

impl Dest {
    /// The destination has one set, strided or bitmapped, whose lanes and count are those of the `first`.
    pub fn has_same_lanes(&self, first: &Self) -> bool {
        let [own] = &self.regions[..] else { return false };
        let [other] = &first.regions[..] else { return false };
        let regular = |r: &Region| matches!(r.kind, RegionType::Strided | RegionType::Bitmapped);
        regular(own) && regular(other) && own.lanes == other.lanes && own.count == other.count
    }

    /// The units.
    fn units(&self) -> Vec<Vec<Part>> {
        if !self.element_mask {
            let rows = self.regions.iter().enumerate().flat_map(|(r, region)| {
                let n = region.lanes.len();
                region.rows().into_iter().map(move |(row, pointer)| vec![(r, row, pointer, 0, n)])
            });
            return rows.collect();
        }
        let elements: Vec<_> = self.regions.iter().map(Region::elements).collect();
        let count = elements.first().map_or(0, Vec::len);
        let one = |i: usize| {
            let of = elements.iter().enumerate();
            of.map(|(r, e)| (r, e[i].0, e[i].1, e[i].2, e[i].3)).collect()
        };
        (0..count).map(one).collect()
    }

    fn unit_bytes(&self, unit: &[Part]) -> u64 {
        let lanes = unit.iter().flat_map(|u| &self.regions[u.0].lanes[u.3..u.4]);
        lanes.map(|lane| u64::from(lane.2)).sum()
    }

    /// A message could have that many bytes, as far as one sees without looking closely.
    fn longest(&self) -> u128 {
        let rows = self.regions.iter().map(Region::row_bytes);
        let largest = if self.is_shuffle() { rows.sum() } else { rows.max().unwrap_or(0) };
        u128::from(self.units) * u128::from(largest)
    }

    /// Units have an element of several regions.
    fn is_shuffle(&self) -> bool {
        self.element_mask && self.regions.len() > 1
    }

    /// A message could be longer than a packet.
    pub fn announces(&self) -> bool {
        self.is_write && self.longest() > 1 << self.log_mtu
    }

    /// Bitmaps are read before the first token.
    pub fn counts_bitmaps(&self) -> bool {
        self.is_shuffle()
            || self.announces()
            || self.is_ud && self.longest() > 1 << self.log_mtu
            || self.longest() > u128::from(MAX_MESSAGE)
    }

    /// The first check that fails.
    pub fn check(&self) -> Option<Status> {
        let pointers = |r: &&Region| r.kind == RegionType::PointerMapped;
        if !self.regions.iter().filter(pointers).all(Region::pointers_are_right) {
            return Some(Status::LocalProtectionError);
        }
        let bitmaps = |r: &Region| r.kind == RegionType::Bitmapped && r.fails && r.count > 0;
        if self.counts_bitmaps() && self.regions.iter().any(bitmaps) {
            return Some(Status::LocalProtectionError);
        }
        if self.element_mask {
            let counts: Vec<_> = self.regions.iter().map(|r| r.elements().len()).collect();
            if counts.iter().any(|&count| count != counts[0]) {
                return Some(Status::LocalQpOperationError);
            }
        }
        let limit = if self.is_ud { 1 << self.log_mtu } else { MAX_MESSAGE };
        let units = self.units();
        let mut messages = units.chunks(self.units as usize);
        let bytes = |message: &[Vec<_>]| message.iter().map(|u| self.unit_bytes(u)).sum::<u64>();
        messages.any(|m| bytes(m) > limit).then_some(Status::LocalLengthError)
    }

    /// The destination has one contiguous region that fits a packet: seen at once, if it is the request's only
    /// destination.
    fn is_simple(&self) -> bool {
        let of =
            |r: &Region| r.kind == RegionType::Contiguous && r.row_bytes() <= 1 << self.log_mtu;
        self.regions.len() == 1 && of(&self.regions[0])
    }

    /// Everything that the tokens of the destination, which is `alone` in its request or not, must say,
    /// in order.
    pub fn events(&self, first_set: u16, alone: bool) -> Vec<Event> {
        let announces = self.announces() && !(alone && self.is_simple());
        let mut events = Vec::new();
        let units = self.units();
        for message in units.chunks(self.units as usize) {
            let bytes: u64 = message.iter().map(|unit| self.unit_bytes(unit)).sum();
            events.push(Event::MessageStart(if announces { bytes as u32 } else { 0 }));
            for unit in message {
                for &(r, row, pointer, first, end) in unit {
                    let starts = beat_starts(&self.regions[r].lanes);
                    for lane in first..end {
                        let len = self.regions[r].lanes[lane].2;
                        for offset in (0..len).step_by(64) {
                            if offset > 0 || lane > first && starts >> lane & 1 == 1 {
                                events.push(Event::Beat);
                            }
                            events.push(Event::Fragment {
                                set: (first_set + r as u16) % 2048,
                                lane: lane as u8,
                                row,
                                pointer,
                                offset,
                                bytes: (len - offset).min(64),
                            });
                        }
                    }
                    events.push(Event::Beat);
                }
                events.push(Event::UnitEnd);
            }
            events.push(Event::MessageEnd);
        }
        if !units.is_empty() {
            events.push(Event::DestEnd);
        }
        events
    }
}

/// The lanes that start a new beat.
pub fn beat_starts(lanes: &[(u64, u64, u32)]) -> u16 {
    let (mut mask, mut sum) = (0, 65_u64);
    for (j, lane) in lanes.iter().enumerate() {
        sum += u64::from(lane.2);
        if sum > 64 {
            mask |= 1 << j;
            sum = u64::from(lane.2);
        }
    }
    mask
}
