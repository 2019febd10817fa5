//! A plan: which parts of a batch are sent as they lie, and which are copied.

use std::fmt;

use libdrdma::ProtectionDomain;

use crate::{
    Format,
    layout::{ByteColumn, Part},
    parts::{Bytes, Growth, Parts, Source},
    posts::bytes_of,
};

/// How a part of a batch gets on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passage {
    /// From where it lies, in a registered arena: without a copy, a mapping or a key.
    AsItLies,
    /// From where it lies, with a key of its own for the time of the request, and a mapping if it lies in no arena
    /// ([`Foreign::Register`]). The bytes that offsets lead to always have such a key.
    Registered,
    /// It is copied to the sender's arena, and sent from there.
    Copied {
        /// Reason for the copy.
        why: Why,
    },
    /// It is not sent at all: nothing is null, or the dictionary's values did not change.
    LeftOut,
}

/// Why something is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The card takes whole bytes, and these are bits.
    Bits,
    /// Arrow has offsets, which mean nothing without their neighbours; lengths are sent.
    Offsets,
    /// Strings have no common width: the bytes for each destination are put together.
    Lengths,
    /// The elements of lists go where their lists go: each needs a partition id or a bit.
    Elements,
    /// The bits do not begin with a byte.
    Unaligned,
    /// The memory lies in no registered arena, and the sender is to copy such ([`Foreign::Copy`]).
    Foreign,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bits => "bits, and the card takes bytes",
            Self::Offsets => "offsets, of which lengths are made",
            Self::Lengths => "values of any length",
            Self::Elements => "whose the elements of lists are",
            Self::Unaligned => "bits that do not begin with a byte",
            Self::Foreign => "memory that is in no registered arena",
        })
    }
}

/// What a sender does with memory that lies in no registered arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Foreign {
    /// The sender copies the memory to its own arena. Of strings that the card follows ([`Form::Kinds`](crate::Form)),
    /// these are the buffers that lie in no registered arena, or the rows, whichever have fewer bytes.
    #[default]
    Copy,
    /// The sender registers the memory for the time of the request: a mapping, and one of the card's keys for each
    /// buffer. That pays for large buffers.
    Register,
    /// The sender refuses the batch.
    Refuse,
}

/// A part of a batch, in a [`Plan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPart {
    /// The column, and the place in it: `order.items.element`.
    pub path: String,
    /// Part of the column's array.
    pub part: Part,
    /// How the part gets on the wire.
    pub passage: Passage,
    /// Bytes of the part, if each row goes to one destination, by ids of one byte. If some of the buffers of strings
    /// are copied, the bytes of these buffers.
    pub bytes: u64,
}

impl fmt::Display for PlannedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, part, passage, bytes } = self;
        write!(f, "`{path}` {part:?}, {bytes} B: ")?;
        match passage {
            Passage::AsItLies => f.write_str("as it lies"),
            Passage::Registered => f.write_str("as it lies, with a key of its own"),
            Passage::Copied { why } => write!(f, "copied ({why})"),
            Passage::LeftOut => f.write_str("left out"),
        }
    }
}

/// How each part of a batch gets on the wire: what [`Sender::plan`](crate::Sender::plan) says before
/// anything is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The parts, in the schema's order.
    pub parts: Vec<PlannedPart>,
}

impl Plan {
    /// Bytes that are copied, if each row goes to one destination, by ids of one byte. Where all rows go to
    /// everybody neither strings nor ids are copied.
    pub fn copied(&self) -> u64 {
        let is_copied = |part: &&PlannedPart| matches!(part.passage, Passage::Copied { .. });
        self.parts.iter().filter(is_copied).map(|part| part.bytes).sum()
    }

    /// Bytes that are sent from where they lie: [`Passage::AsItLies`] and [`Passage::Registered`].
    pub fn as_they_lie(&self) -> u64 {
        let lies = [Passage::AsItLies, Passage::Registered];
        let lies = |part: &&PlannedPart| lies.contains(&part.passage);
        self.parts.iter().filter(lies).map(|part| part.bytes).sum()
    }
}

/// Plans how each part of a batch gets on the wire.
pub(crate) fn plan(
    format: &Format,
    parts: &Parts,
    pd: &ProtectionDomain,
    foreign: Foreign,
) -> Plan {
    let layout = &format.layout;
    let lies = |bytes: &[u8]| match foreign {
        _ if pd.is_in_arena(bytes) => Passage::AsItLies,
        Foreign::Copy => Passage::Copied { why: Why::Foreign },
        Foreign::Register | Foreign::Refuse => Passage::Registered,
    };
    // A dictionary of no keys is not sent.
    let mut sent: Vec<usize> = Vec::with_capacity(parts.levels.len());
    for (level, rows) in layout.levels.iter().zip(&parts.levels) {
        let is_sent = level.dictionary.is_none_or(|number| sent[layout.dictionaries[number]] > 0);
        sent.push(if is_sent { rows.count } else { 0 });
    }
    // How entries and bytes of strings get on the wire, if the card follows entries.
    let strings = |column: &ByteColumn, source: &Bytes| match sent[column.level] {
        _ if !layout.kinds => None,
        0 => Some([(Passage::LeftOut, 0); 2]),
        _ => Some(source.planned(format.message_bytes(), lies)),
    };
    let strings: Vec<_> = layout
        .bytes
        .iter()
        .zip(&parts.bytes)
        .map(|(column, source)| strings(column, source))
        .collect();
    let entries = |number: usize| {
        let column = layout.bytes.iter().position(|column| column.column == number)?;
        strings[column].map(|[entries, _]| entries)
    };
    let mut plan = Plan::default();
    for (number, (column, source)) in layout.columns.iter().zip(&parts.columns).enumerate() {
        let rows = sent[column.level];
        let (passage, bytes) = match source {
            None => (Passage::LeftOut, 0),
            Some(_) if rows == 0 => (Passage::LeftOut, 0),
            Some(_) if let Some(entries) = entries(number) => entries,
            Some(Source::Bits(bits)) if column.bits => {
                let (buffer, first) = bytes_of(bits);
                match first > 0 && layout.levels[column.level].dictionary.is_some() {
                    true => (Passage::Copied { why: Why::Unaligned }, rows.div_ceil(8)),
                    false => (lies(&buffer), buffer.len()),
                }
            }
            Some(Source::Lies(buffer)) => (lies(buffer), rows * column.width),
            Some(Source::Bits(_)) => (Passage::Copied { why: Why::Bits }, rows * column.width),
            Some(Source::Lengths(_)) => {
                (Passage::Copied { why: Why::Offsets }, rows * column.width)
            }
        };
        let path = column.path.clone();
        plan.parts.push(PlannedPart { path, part: column.part, passage, bytes: bytes as u64 });
    }
    for ((column, source), strings) in layout.bytes.iter().zip(&parts.bytes).zip(&strings) {
        if let Some([_, (passage, bytes)]) = *strings {
            let (path, part, bytes) = (column.path.clone(), Part::Bytes, bytes as u64);
            plan.parts.push(PlannedPart { path, part, passage, bytes });
            continue;
        }
        let bytes: usize = (0..source.rows()).map(|row| source.row(row).len()).sum();
        let passage = match source {
            _ if bytes == 0 || sent[column.level] == 0 => Passage::LeftOut,
            Bytes::Offsets { offsets, values }
                if layout.levels[column.level].dictionary.is_some() =>
            {
                lies(&values[offsets.all()])
            }
            _ => Passage::Copied { why: Why::Lengths },
        };
        let (path, part) = (column.path.clone(), Part::Bytes);
        plan.parts.push(PlannedPart { path, part, passage, bytes: bytes as u64 });
    }
    for (level, rows) in layout.levels.iter().zip(&parts.levels) {
        if matches!(rows.growth, Growth::Lists { .. } | Growth::Times { .. }) {
            let passage = Passage::Copied { why: Why::Elements };
            let (path, part, bytes) = (level.path.clone(), Part::ElementRows, rows.count as u64);
            plan.parts.push(PlannedPart { path, part, passage, bytes });
        }
    }
    plan
}
