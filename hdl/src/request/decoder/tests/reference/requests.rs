//! Requests as the decoder must give them.

use drdma_abi::receive::AddressHandle;
use drdma_abi::work_request::{Chain, ElementKind};

/// A lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    pub base: u64,
    pub step: u64,
    pub len: u32,
    /// Kind of the lane's entries, and where their bytes lie.
    pub source: Source,
}

/// Fields that only a pointer-mapped set has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Records {
    pub target_addr: u64,
    pub target_len: u64,
    pub low: u64,
    pub high: u128,
}

/// Kind of a lane's entries, and where their bytes lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub kind: u8,
    pub log: u8,
    pub width: u32,
    pub addr: u64,
    /// With offsets: key of the data; otherwise number of values.
    pub number: u32,
}

/// Fields that only a set with kinds of columns has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Special {
    pub pd: u32,
    pub first: u8,
    pub period: u64,
    pub chain: Option<Chain>,
}

/// The function that makes the ids of a partitioned request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    pub range: bool,
    pub partitions: u32,
    pub group: u16,
    pub seed: u32,
    pub keys: Vec<Key>,
}

/// A key of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    pub addr: u64,
    /// Bytes of a value, or none of a bit.
    pub bytes: Option<u32>,
    /// Of a bit: its place in its byte.
    pub first: u8,
    pub key_type: u8,
    /// Address of the bitmap of validity, and place of row 0's bit in its byte.
    pub validity: Option<(u64, u8)>,
}

/// A set with its lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    pub kind: u8,
    /// Bytes of an id, at `addr` or made; 0: the set has no ids.
    pub ids: u8,
    /// Ids are made, and the splitters are at `addr`.
    pub made: bool,
    pub addr: u64,
    pub count: u32,
    pub row_bytes: u64,
    pub beat_start: u16,
    pub records: Option<Records>,
    /// Address of the fetch rows.
    pub fetch_rows: Option<u64>,
    /// Fields that only a set with kinds of columns has.
    pub special: Option<Special>,
    /// The payload, if it stands in the entry.
    pub inline: Option<Vec<u8>>,
    pub lanes: Vec<Lane>,
}

impl Set {
    /// Cuts the lanes into beats.
    pub(super) fn cut(&mut self) {
        (self.row_bytes, self.beat_start) = (0, 0);
        let mut fill = u64::MAX;
        for (lane, Lane { len, .. }) in self.lanes.iter().enumerate() {
            self.row_bytes += u64::from(*len);
            fill = fill.saturating_add(u64::from(*len));
            if fill > 64 {
                self.beat_start |= 1 << lane;
                fill = u64::from(*len);
            }
        }
    }

    /// True if some lane's entries lead to bytes elsewhere.
    pub fn has_kinds(&self) -> bool {
        self.lanes.iter().any(|lane| lane.source.kind != ElementKind::Fixed as u8)
    }

    /// The set's special fields, if the outputs show that it has any.
    pub fn special(&self, special: Special) -> Option<Special> {
        Some(special).filter(|s| self.has_kinds() || s.chain.is_some() || s.first > 0)
    }

    /// A set of one of this set's lanes.
    pub(super) fn alone(&self, lane: usize) -> Self {
        let mut set = Self { lanes: vec![self.lanes[lane]], ..self.clone() };
        set.cut();
        set
    }

    /// Several strided regions of one extent each and of equal counts, bitmapped ones of one column
    /// each with the same bitmap, or contiguous ones, as one.
    pub(super) fn joined(sets: &[Self]) -> Option<Self> {
        let last = sets.last()?;
        let joins = |set: &Self| {
            let addr = set.kind != 2 || set.addr == last.addr;
            let kind = set.kind != 3 && set.kind == last.kind && !set.has_kinds();
            kind && addr && set.lanes.len() == 1 && set.count == last.count
        };
        (sets.len() > 1 && sets.iter().all(joins)).then(|| {
            let lanes = sets.iter().flat_map(|set| set.lanes.clone()).collect();
            let mut set = Self { lanes, kind: last.kind.max(1), ..last.clone() };
            set.cut();
            set
        })
    }
}

/// Whether a destination has one set, strided or bitmapped, with the lanes and the count of the
/// `first` destination's.
pub(super) fn same_lanes(sets: &[Set], first: &[Set]) -> bool {
    let ([own], [other]) = (sets, first) else { return false };
    // Contiguous regions, also those that became one set, have no step.
    let regular = |set: &Set| set.kind == 2 || set.kind == 1 && set.lanes[0].step > 0;
    regular(own) && regular(other) && own.lanes == other.lanes && own.count == other.count
}

/// Whether all destinations have one strided set with the steps and lengths of the first one's lanes, and each
/// lane begins behind the rows of the same lane of the destination before.
pub(super) fn apart(dests: &[Dest]) -> bool {
    let one = |dest: &Dest| match &dest.sets[..] {
        [set] if set.kind == 1 && set.lanes[0].step > 0 => Some(set.clone()),
        _ => None,
    };
    let Some(sets) = dests.iter().map(one).collect::<Option<Vec<_>>>() else { return false };
    let form = |set: &Set| set.lanes.iter().map(|lane| (lane.step, lane.len)).collect::<Vec<_>>();
    let narrow = |set: &Set| set.lanes.iter().all(|lane| lane.step <= 255 && lane.len <= 127);
    let follows = |pair: &[Set]| {
        let lanes = pair[0].lanes.iter().zip(&pair[1].lanes);
        let behind = |(before, lane): (&Lane, &Lane)| {
            let distance = lane.base.wrapping_sub(before.base) as i64;
            i128::from(distance) >= i128::from(pair[0].count) * i128::from(before.step)
        };
        { lanes }.all(behind)
    };
    !sets.is_empty()
        && sets.iter().all(|set| narrow(set) && form(set) == form(&sets[0]))
        && sets.windows(2).all(follows)
}

/// A destination with its sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dest {
    pub qp: u8,
    pub opcode: u8,
    pub imm: u32,
    pub remote_addr: u64,
    pub rkey: u32,
    pub transport: u8,
    pub log_mtu: u8,
    pub element_mask: bool,
    pub rows_per_message: u32,
    pub same_lanes: bool,
    pub partition: u16,
    pub fenced: bool,
    pub solicited: bool,
    pub invalidates: bool,
    /// The destination's payload has no bytes.
    pub empty: bool,
    pub sets: Vec<Set>,
    /// The values of a message go column by column.
    pub column_order: bool,
    /// Columns of a WRITE by columns; the destination itself has no remote address then.
    pub columns: Vec<Column>,
}

/// Fields of a destination of a WRITE by columns for one of the columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    pub remote_addr: u64,
    pub rkey: u32,
    pub opcode: u8,
    /// Set of the column's only lane.
    pub set: Set,
}

/// A request as the decoder must give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub queue: u8,
    pub wr_id: u64,
    /// The ring position of its first block.
    pub position: u32,
    /// Flag of the entry's head; none if the head cannot be read.
    pub unsignaled: Option<bool>,
    pub status: u8,
    pub bad_dest: u8,
    /// The queue pair that is put in error.
    pub qp_error: Option<u8>,
    /// Fetch plan of the request, if it has one and runs: longest read, widest gap.
    pub fetch: Option<(u64, u64)>,
    /// The request's destinations have rows of one form, one behind the other; only of a request that runs.
    pub apart: bool,
    /// Address of the request's datagrams, if the entry has one and the request runs.
    pub address: Option<AddressHandle>,
    /// Function that makes the request's ids, if it has one and the request runs.
    pub function: Option<Function>,
    pub dests: Vec<Dest>,
}
