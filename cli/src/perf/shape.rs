//! The layout of a transfer's bytes: plain bytes, a region with gaps, or a list of the same values.

use std::{fmt, str::FromStr};

use clap::ValueEnum;
use drdma_abi::{
    roce::Transport,
    work_request::{MAX_ELEMENTS, MAX_MESSAGE, MAX_REGIONS},
};
use drdma_driver::memory::PAGE;
use libdrdma::{
    Access, Bitmapped, Contiguous, MemoryRegion, MemoryRegionError, PointerMapped,
    ProtectionDomain, Region, RegionError, RowMask, Strided,
};
use serde::Serialize;

/// Slots of the table for each record, of which the record takes one: so few records are neighbours.
const SLOTS_A_RECORD: u64 = 4;

/// How the bytes of a transfer lie in memory, and how the card is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Plain bytes, one after another.
    Contiguous,
    /// Some columns of a table of rows, as one strided region.
    Strided,
    /// The rows that a bitmap selects of a table of columns, as one bitmapped region.
    Bitmapped,
    /// Records at random places, as one pointer-mapped region.
    Pointers,
    /// The values of `strided`, as plain scatter-gather lists of up to 16 values.
    List,
}

impl Layout {
    /// The layout's name, on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contiguous => "contiguous",
            Self::Strided => "strided",
            Self::Bitmapped => "bitmapped",
            Self::Pointers => "pointers",
            Self::List => "list",
        }
    }

    /// True if the regions have gaps; those of a list have none.
    pub fn has_gaps(self) -> bool {
        !matches!(self, Self::Contiguous | Self::List)
    }
}

/// The widths of a row's values, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Widths(Vec<u32>);

impl Widths {
    /// Bytes of a row.
    pub fn row(&self) -> u64 {
        self.0.iter().map(|width| u64::from(*width)).sum()
    }

    /// The offset of each value in a row of `period` bytes that they are spread over, and its width.
    fn spread(&self, period: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (mut before, row) = (0, self.row());
        self.0.iter().map(move |width| {
            let place = u128::from(before) * u128::from(period) / u128::from(row);
            before += u64::from(*width);
            (place as u64, u64::from(*width))
        })
    }
}

impl FromStr for Widths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("must be like 5x8 or 4,8,2x16, with 1 to {MAX_ELEMENTS} values");
        let mut widths = Vec::new();
        for part in text.split(',') {
            let (count, width) = part.split_once('x').unwrap_or(("1", part));
            let count: usize = count.parse().map_err(|_| wrong())?;
            let width: u32 = width.parse().map_err(|_| wrong())?;
            if !(1..=MAX_ELEMENTS).contains(&count) || !(1..=1 << 20).contains(&width) {
                return Err(wrong());
            }
            widths.extend(vec![width; count]);
        }
        if widths.len() > MAX_ELEMENTS { Err(wrong()) } else { Ok(Self(widths)) }
    }
}

impl fmt::Display for Widths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, run) in self.0.chunk_by(|a, b| a == b).enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}x{}", run.len(), run[0])?;
        }
        Ok(())
    }
}

/// Shape of transfers, of any size.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Layout of the bytes in memory.
    pub layout: Layout,
    /// Widths of a row's values; `contiguous` has no rows.
    pub widths: Widths,
    /// Bytes from row to row (`strided`, `list`), or of a record's slot (`pointers`); twice the bytes
    /// of a row unless given.
    pub period: Option<u64>,
    /// The share of a table's rows that `bitmapped` sends, more than 0 and at most 1.
    pub select: f64,
    /// Rows of a message; as many as fit by default.
    pub rows_per_message: Option<u32>,
    /// Transport, which limits the length of a message.
    pub transport: Transport,
    /// The path MTU in bytes.
    pub mtu: u32,
}

/// Why no transfer of a size is possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The size is less than a row.
    #[error("{size} B are less than a row, which has {row} B")]
    Row {
        /// Bytes of the transfer.
        size: u64,
        /// Bytes of a row.
        row: u64,
    },
    /// The rows overlap.
    #[error("a period of {period} B is less than a row, which has {row} B")]
    Period {
        /// Bytes from row to row.
        period: u64,
        /// Bytes of a row.
        row: u64,
    },
    /// The transport cannot carry the message.
    #[error("a message of {len} B is longer than {transport} carries: {limit} B")]
    Message {
        /// Bytes of the message.
        len: u64,
        /// Name of the transport.
        transport: &'static str,
        /// Bytes of the longest message.
        limit: u64,
    },
    /// Rows of a message were given for a layout without rows.
    #[error("rows per message can be told of strided, bitmapped and pointers, not of {0}")]
    NoRows(&'static str),
}

/// Number of a transfer's rows and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Number of rows; a contiguous transfer is one.
    pub rows: u64,
    /// Bytes of a row.
    pub row: u64,
    /// Rows of a message.
    pub per_message: u64,
}

impl Rows {
    /// Payload bytes of the transfer.
    pub fn bytes(&self) -> u64 {
        self.rows * self.row
    }

    /// Number of messages of the transfer.
    pub fn messages(&self) -> u64 {
        self.rows.div_ceil(self.per_message)
    }
}

impl Shape {
    /// Bytes from row to row.
    fn period(&self) -> u64 {
        self.period.unwrap_or(2 * self.widths.row())
    }

    /// Bytes of the smallest transfer.
    pub fn smallest(&self) -> u64 {
        if self.layout == Layout::Contiguous { 1 } else { self.widths.row() }
    }

    /// The transport's name, and the bytes of its longest message.
    fn longest_message(&self) -> (&'static str, u64) {
        match self.transport {
            Transport::Ud => ("a datagram", self.mtu.into()),
            _ => ("the card", MAX_MESSAGE),
        }
    }

    /// The rows of a transfer of `size` bytes. Rows are whole, so that it may be less than a row shorter.
    ///
    /// # Errors
    /// See [`ShapeError`].
    pub fn rows(&self, size: u64) -> Result<Rows, ShapeError> {
        let told = self.rows_per_message.map(u64::from);
        let row = self.widths.row();
        let (transport, limit) = self.longest_message();
        let rows = match (self.layout, told) {
            (Layout::Contiguous, Some(_)) => return Err(ShapeError::NoRows("contiguous")),
            (Layout::List, Some(_)) => return Err(ShapeError::NoRows("list")),
            (Layout::Contiguous, None) => Rows { rows: 1, row: size, per_message: 1 },
            _ if size < row => return Err(ShapeError::Row { size, row }),
            (Layout::List, None) => {
                let of_list = (MAX_REGIONS / self.widths.0.len()) as u64;
                Rows { rows: size / row, row, per_message: of_list.min((limit / row).max(1)) }
            }
            (_, told) => {
                let rows = size / row;
                let per_message = told.unwrap_or((limit / row).max(1)).min(rows);
                Rows { rows, row, per_message }
            }
        };
        let period = self.period();
        if !matches!(self.layout, Layout::Contiguous | Layout::Bitmapped) && period < row {
            return Err(ShapeError::Period { period, row });
        }
        let len = rows.per_message * rows.row;
        if len > limit {
            return Err(ShapeError::Message { len, transport, limit });
        }
        Ok(rows)
    }

    /// The memory of `copies` transfers, which allows `access` where their bytes lie. Each has its own: what two
    /// requests under way have in common the card reads once for both, which is not what is measured here.
    ///
    /// # Errors
    /// The memory was not registered.
    pub fn tables(
        &self,
        pd: &ProtectionDomain,
        rows: &Rows,
        copies: u64,
        access: Access,
    ) -> Result<Vec<MemoryRegion>, MemoryRegionError> {
        let table = |bytes: u64| {
            let all = step(bytes).saturating_mul(copies);
            pd.allocate_with(usize::try_from(all).unwrap_or(usize::MAX), access)
        };
        let period = self.period();
        Ok(match self.layout {
            Layout::Contiguous => vec![table(rows.bytes())?],
            Layout::Strided | Layout::List => vec![table(rows.rows * period)?],
            Layout::Bitmapped => {
                let all = self.table_rows(rows);
                let mut bits = selection(rows.rows, all);
                bits.resize(bits.len().next_multiple_of(PAGE), 0);
                let mut tables = vec![pd.register(bits.repeat(copies as usize))?];
                for width in &self.widths.0 {
                    tables.push(table(all * u64::from(*width))?);
                }
                tables
            }
            Layout::Pointers => {
                let slots = SLOTS_A_RECORD * rows.rows;
                let heap = table(slots * period)?;
                let mut pointers: Vec<u64> = Vec::new();
                for copy in 0..copies {
                    let mut random = Random::new();
                    let start = heap.addr() + copy * step(slots * period);
                    let records = 0..rows.rows;
                    pointers.extend(records.map(|_| start + random.below(slots) * period));
                    pointers.resize(((copy + 1) * step(8 * rows.rows) / 8) as usize, start);
                }
                vec![heap, pd.register(pointers)?]
            }
        })
    }

    /// Number of rows of the table that a bitmap selects from.
    fn table_rows(&self, rows: &Rows) -> u64 {
        ((rows.rows as f64 / self.select).round() as u64).max(rows.rows)
    }

    /// The requests of a transfer, over the memory that [`tables`](Self::tables) made for a copy.
    ///
    /// # Errors
    /// A region is not possible.
    pub fn requests<'m>(
        &self,
        rows: &Rows,
        tables: &'m [MemoryRegion],
        copy: u64,
    ) -> Result<Vec<Request<'m>>, RegionError> {
        let period = self.period();
        let at = |bytes: u64| copy * step(bytes);
        let region = match self.layout {
            Layout::Contiguous => {
                let bytes = rows.bytes();
                Contiguous::new(&tables[0]).offset(at(bytes)).len(bytes).build()?
            }
            Layout::Strided => {
                let region = Strided::new(&tables[0]).offset(at(rows.rows * period));
                let region = region.period(period).count(rows.rows);
                let extents = self.widths.spread(period);
                extents.fold(region, |region, (at, len)| region.extent(at, len)).build()?
            }
            Layout::Bitmapped => {
                let all = self.table_rows(rows);
                let region = Bitmapped::new(&tables[0]).offset(at(all.div_ceil(8))).rows(all);
                let columns = tables[1..].iter().zip(&self.widths.0);
                let region = columns.fold(region, |region, (table, width)| {
                    let width = u64::from(*width);
                    region.column(table, at(all * width), width)
                });
                region.build()?
            }
            Layout::Pointers => {
                let region = PointerMapped::new(&tables[1], &tables[0]);
                let region = region.offset(at(8 * rows.rows)).count(rows.rows);
                let extents = self.widths.spread(period);
                extents.fold(region, |region, (at, len)| region.extent(at, len)).build()?
            }
            Layout::List => return self.lists(rows, &tables[0], at(rows.rows * period)),
        };
        let rows_per_message = rows.per_message as u32;
        let (row_mask, bytes) = (RowMask::Period, rows.bytes());
        Ok(vec![Request { regions: vec![region], row_mask, rows_per_message, bytes }])
    }

    /// One request for each message: under the row mask `Element`, lists of one element each are one unit.
    fn lists<'m>(
        &self,
        rows: &Rows,
        table: &'m MemoryRegion,
        start: u64,
    ) -> Result<Vec<Request<'m>>, RegionError> {
        let (period, last) = (self.period(), rows.rows);
        let list = |first: u64| {
            let of_list = first..last.min(first + rows.per_message);
            let bytes = (of_list.end - of_list.start) * rows.row;
            let values = of_list.flat_map(|row| {
                let values = self.widths.spread(period);
                values.map(move |(at, len)| (start + row * period + at, len))
            });
            let regions =
                values.map(|(at, len)| Contiguous::new(table).offset(at).len(len).build());
            let regions = regions.collect::<Result<_, _>>()?;
            Ok(Request { regions, row_mask: RowMask::Element, rows_per_message: 1, bytes })
        };
        (0..last).step_by(rows.per_message as usize).map(list).collect()
    }
}

/// Bytes from one copy of `bytes` bytes to the next.
fn step(bytes: u64) -> u64 {
    bytes.next_multiple_of(PAGE as u64)
}

/// A work request of a transfer.
#[derive(Debug)]
pub struct Request<'m> {
    /// Regions that the request sends.
    pub regions: Vec<Region<'m>>,
    /// Row mask: how rows are cut into units.
    pub row_mask: RowMask,
    /// Rows of a message.
    pub rows_per_message: u32,
    /// Payload bytes of the request.
    pub bytes: u64,
}

/// A bitmap of `all` bits, of which `set` are set at random places.
fn selection(set: u64, all: u64) -> Vec<u8> {
    let mut random = Random::new();
    let mut bits = vec![0; all.div_ceil(8) as usize];
    let mut left = set;
    for row in 0..all {
        if random.below(all - row) < left {
            bits[(row / 8) as usize] |= 1 << (row % 8);
            left -= 1;
        }
    }
    bits
}

/// Numbers without a pattern, the same in every run (splitmix64).
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(0x0d2d_3a11)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^= value >> 31;
        ((u128::from(value) * u128::from(limit)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(layout: Layout) -> Shape {
        Shape {
            layout,
            widths: "5x8".parse().unwrap(),
            period: None,
            select: 0.5,
            rows_per_message: None,
            transport: Transport::Rc,
            mtu: 1024,
        }
    }

    #[test]
    fn widths_are_read_as_they_are_written() {
        for (text, row, shown) in [
            ("5x8", 40, "5x8"),
            ("4", 4, "1x4"),
            ("4,4,2x16", 40, "2x4,2x16"),
            ("16x1", 16, "16x1"),
        ] {
            let widths: Widths = text.parse().unwrap();
            assert_eq!((widths.row(), widths.to_string().as_str()), (row, shown));
        }
        for text in ["", "x", "0x8", "5x0", "17x1", "9x1,8x1", "5x8,", "-1", "1x1048577"] {
            let error = text.parse::<Widths>().unwrap_err();
            assert_eq!(error, "must be like 5x8 or 4,8,2x16, with 1 to 16 values", "{text}");
        }
    }

    #[test]
    fn a_transfer_has_whole_rows_and_messages_that_the_transport_carries() {
        let rows = |shape: &Shape, size| {
            let rows = shape.rows(size).unwrap();
            (rows.rows, rows.bytes(), rows.messages())
        };
        let mut strided = shape(Layout::Strided);
        assert_eq!(rows(&strided, 4096), (102, 4080, 1));
        strided.rows_per_message = Some(10);
        assert_eq!(rows(&strided, 4096), (102, 4080, 11));
        strided.rows_per_message = None;
        strided.transport = Transport::Ud;
        assert_eq!(rows(&strided, 4096), (102, 4080, 5), "25 rows fit a packet");
        // 16 values are three rows of five.
        assert_eq!(rows(&shape(Layout::List), 4096), (102, 4080, 34));
        assert_eq!(rows(&shape(Layout::Contiguous), 4096), (1, 4096, 1));
    }

    #[test]
    fn what_cannot_be_sent_is_told() {
        let fails = |shape: &Shape, size| shape.rows(size).unwrap_err().to_string();
        let mut pointers = shape(Layout::Pointers);
        assert_eq!(fails(&pointers, 39), "39 B are less than a row, which has 40 B");
        pointers.period = Some(32);
        assert_eq!(fails(&pointers, 40), "a period of 32 B is less than a row, which has 40 B");
        let mut plain = shape(Layout::Contiguous);
        plain.transport = Transport::Ud;
        let text = "a message of 1025 B is longer than a datagram carries: 1024 B";
        assert_eq!(fails(&plain, 1025), text);
        plain.rows_per_message = Some(2);
        let text =
            "rows per message can be told of strided, bitmapped and pointers, not of contiguous";
        assert_eq!(fails(&plain, 64), text);
    }

    #[test]
    fn values_are_spread_over_the_period_and_never_overlap() {
        for (text, period) in [("5x8", 80), ("5x8", 40), ("1,2,4,8,16", 100), ("3,1", 5)] {
            let widths: Widths = text.parse().unwrap();
            let places: Vec<_> = widths.spread(period).collect();
            for pair in places.windows(2) {
                assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{text}: {places:?}");
            }
            let (at, len) = places[places.len() - 1];
            assert!(at + len <= period, "{text}: {places:?}");
        }
    }

    #[test]
    fn a_selection_has_as_many_rows_as_it_should() {
        for (set, all) in [(0, 10), (10, 10), (102, 204), (1, 1000), (333, 1000)] {
            let bits = selection(set, all);
            assert_eq!(bits.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>(), set);
        }
    }
}
