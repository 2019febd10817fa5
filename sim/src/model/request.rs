//! Work queue entries with names instead of granules.

use std::ops::Range;

use drdma_abi::{
    Layout as _,
    work_request::{
        self as wire, Destination as DestinationHead, Element, GRANULE, MAX_ELEMENTS, Opcode,
        RegionHeader, RegionShape, RegionType, WqeHeader, flags, shape_flags,
    },
};

use crate::model::{boxes::Settings, partitioned::Partitioned, rows::Units};

/// How the units of a destination are formed from its regions (D-RDMA section 3.1 and 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowMask {
    /// The rows of one region after another.
    Period,
    /// Element `i` of every region, for each `i`.
    Element,
}

/// How a request says that it is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FetchPlan {
    /// The binary logarithm of the longest DMA read of data in bytes, 6 to 12.
    pub log_max_read: u8,
    /// The widest gap in bytes that is read through, 0 to 4095.
    pub merge_threshold: u16,
}

/// A work request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The application's name for it.
    pub wr_id: u64,
    /// What to do.
    pub opcode: Opcode,
    /// Immediate data, for the opcodes that carry it.
    pub imm: u32,
    /// How units are formed.
    pub row_mask: RowMask,
    /// Units in a message, at least 1.
    pub rows_per_message: u32,
    /// How it is fetched, if not as the card's registers say. No packet depends on it.
    pub fetch: Option<FetchPlan>,
    /// The region that all destinations share, each getting the rows of its partition; they have no
    /// regions of their own then.
    pub partitioned: Option<Partitioned>,
    /// Where to.
    pub destinations: Vec<Destination>,
}

impl Request {
    /// How boxes are formed for this request on a card whose registers say `registers`.
    pub fn settings(&self, registers: Settings) -> Settings {
        self.fetch.map_or(registers, |plan| Settings {
            max_read: 1 << plan.log_max_read,
            merge_threshold: plan.merge_threshold.into(),
            ..registers
        })
    }

    /// The units of destination `index`, cut by `row_mask` (that of the request, or another), with
    /// the addresses that each region's records may have.
    pub fn units(&self, index: usize, row_mask: RowMask, limits: &[Option<Range<u128>>]) -> Units {
        let destination = &self.destinations[index];
        match &self.partitioned {
            Some(region) => Units::of_partition(region, destination.partition),
            None => Units::with_limits(&destination.regions, row_mask, limits),
        }
    }
}

/// One destination of a work request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Local queue pair number.
    pub qp: u32,
    /// Where the first message of a WRITE goes.
    pub remote_addr: u64,
    /// The remote key of a WRITE.
    pub rkey: u32,
    /// The id of the rows that it gets, in a partitioned request; 0 in others.
    pub partition: u16,
    /// What to send.
    pub regions: Vec<Region>,
}

impl Destination {
    /// The rows that are read as if they were needed, too: for each region that has fetch rows, these
    /// as units.
    pub fn fetch_rows(&self) -> impl Iterator<Item = Units> {
        self.regions.iter().filter_map(|region| match region {
            Region::Bitmapped { rows, columns, fetch_rows: Some(fetch), .. } => {
                let region = Region::Bitmapped {
                    bitmap: fetch.bitmap,
                    rows: *rows,
                    lkey: fetch.lkey,
                    columns: columns.clone(),
                    fetch_rows: None,
                };
                Some(Units::new(&[region], RowMask::Period))
            }
            _ => None,
        })
    }
}

/// A run of bytes in a strided or pointer-mapped region's pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Bytes from the start of the period or record.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

/// A column of a bitmapped or partitioned region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    /// The address of row 0's value.
    pub base: u64,
    /// Bytes of one value.
    pub width: u32,
    /// The key of the column's memory.
    pub lkey: u32,
}

impl Column {
    pub(super) fn element(&self) -> Element {
        Element { offset: self.base, len: self.width, lkey: self.lkey }
    }

    pub(super) fn of(element: &Element) -> Self {
        Self { base: element.offset, width: element.len, lkey: element.lkey }
    }
}

/// The fetch rows of a bitmapped region: a bitmap of as many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FetchRows {
    /// The bitmap's first byte.
    pub bitmap: u64,
    /// The key of its memory.
    pub lkey: u32,
}

/// A region: what it covers, row by row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// One run of bytes.
    Contiguous {
        /// First byte.
        addr: u64,
        /// Bytes.
        len: u32,
        /// The key of its memory.
        lkey: u32,
    },
    /// A pattern that repeats every `period` bytes.
    Strided {
        /// The first period's start.
        base: u64,
        /// Bytes from one period to the next.
        period: u64,
        /// Periods.
        count: u32,
        /// The key of its memory.
        lkey: u32,
        /// The bytes of a period, in the order sent.
        pattern: Vec<Extent>,
    },
    /// The rows that a bitmap selects, from some columns.
    Bitmapped {
        /// The bitmap's first byte.
        bitmap: u64,
        /// Bits of the bitmap.
        rows: u32,
        /// The key of the bitmap's memory.
        lkey: u32,
        /// The values of a row, in the order sent.
        columns: Vec<Column>,
        /// Rows that are read as if they were needed, too. No packet depends on them.
        fetch_rows: Option<FetchRows>,
    },
    /// A pattern at every pointer of an array.
    PointerMapped {
        /// The first pointer.
        pointers: u64,
        /// Pointers.
        count: u32,
        /// The key of the pointers' memory.
        lkey: u32,
        /// The key of the records' memory.
        target_lkey: u32,
        /// The bytes of a record, in the order sent.
        pattern: Vec<Extent>,
    },
}

impl Region {
    /// The region's type code.
    pub fn kind(&self) -> RegionType {
        match self {
            Self::Contiguous { .. } => RegionType::Contiguous,
            Self::Strided { .. } => RegionType::Strided,
            Self::Bitmapped { .. } => RegionType::Bitmapped,
            Self::PointerMapped { .. } => RegionType::PointerMapped,
        }
    }

    /// Bytes of a row.
    pub fn row_len(&self) -> u64 {
        match self {
            Self::Contiguous { len, .. } => u64::from(*len),
            Self::Strided { pattern, .. } | Self::PointerMapped { pattern, .. } => {
                pattern.iter().map(|extent| u64::from(extent.len)).sum()
            }
            Self::Bitmapped { columns, .. } => {
                columns.iter().map(|column| u64::from(column.width)).sum()
            }
        }
    }
}

/// The work queue entry of `request`, as software writes it into a ring: whole blocks, the last one
/// padded with zeros.
///
/// For planners and tests: nothing is checked, so that malformed requests can be written too.
/// Counts that do not fit their field are cut.
pub fn encode(request: &Request, position: u32) -> Vec<u8> {
    let mut bytes = vec![0; WqeHeader::SIZE];
    let mut flags = if request.row_mask == RowMask::Element { flags::ELEMENT_MASK } else { 0 };
    if let Some(region) = &request.partitioned {
        flags |= flags::PARTITIONED;
        region.encode(&mut bytes);
    }
    if request.fetch.is_some() {
        flags |= flags::FETCH_PLAN;
    }
    for destination in &request.destinations {
        let mut types = 0u32;
        for (i, region) in destination.regions.iter().enumerate().take(wire::MAX_REGIONS) {
            types |= (region.kind() as u32) << (2 * i);
        }
        let head = DestinationHead {
            qp: destination.qp,
            regions: destination.regions.len() as u16,
            partition: destination.partition,
            remote_addr: destination.remote_addr,
            rkey: destination.rkey,
            types,
            ..DestinationHead::default()
        };
        bytes.extend(head.to_bytes());
        for region in &destination.regions {
            encode_region(region, &mut bytes);
        }
    }
    let head = WqeHeader {
        magic: wire::WQE_MAGIC,
        opcode: request.opcode as u8,
        flags,
        fetch_log_max_read: request.fetch.map_or(0, |plan| plan.log_max_read),
        fetch_merge_threshold: request.fetch.map_or(0, |plan| plan.merge_threshold),
        destinations: request.destinations.len() as u16,
        granules: (bytes.len() / GRANULE) as u32,
        position,
        wr_id: request.wr_id,
        rows_per_message: request.rows_per_message,
        imm: request.imm,
    };
    head.encode(&mut bytes);
    bytes.resize(bytes.len().next_multiple_of(wire::BLOCK), 0);
    bytes
}

fn encode_region(region: &Region, bytes: &mut Vec<u8>) {
    let extent = |extent: &Extent| Element { offset: extent.offset, len: extent.len, lkey: 0 };
    let (header, shape, elements): (_, _, Vec<Element>) = match region {
        Region::Contiguous { addr, len, lkey } => {
            bytes.extend(RegionHeader { addr: *addr, count: *len, lkey: *lkey }.to_bytes());
            return;
        }
        Region::Strided { base, period, count, lkey, pattern } => (
            RegionHeader { addr: *base, count: *count, lkey: *lkey },
            RegionShape { period: *period, ..RegionShape::default() },
            pattern.iter().map(extent).collect(),
        ),
        Region::Bitmapped { bitmap, rows, lkey, columns, fetch_rows } => (
            RegionHeader { addr: *bitmap, count: *rows, lkey: *lkey },
            fetch_rows.map_or_else(RegionShape::default, |fetch| RegionShape {
                period: fetch.bitmap,
                target_lkey: fetch.lkey,
                flags: shape_flags::FETCH_ROWS,
                ..RegionShape::default()
            }),
            columns.iter().map(Column::element).collect(),
        ),
        Region::PointerMapped { pointers, count, lkey, target_lkey, pattern } => (
            RegionHeader { addr: *pointers, count: *count, lkey: *lkey },
            RegionShape { target_lkey: *target_lkey, ..RegionShape::default() },
            pattern.iter().map(extent).collect(),
        ),
    };
    encode_shaped(header, shape, &elements, bytes);
}

/// Appends the granules of a region that has elements.
pub(super) fn encode_shaped(
    header: RegionHeader,
    shape: RegionShape,
    elements: &[Element],
    bytes: &mut Vec<u8>,
) {
    bytes.extend(header.to_bytes());
    bytes.extend(RegionShape { elements: elements.len() as u16, ..shape }.to_bytes());
    elements.iter().for_each(|element| bytes.extend(element.to_bytes()));
}

/// Why granules are not a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The entry ends before the region does.
    #[error("the entry ends inside a region")]
    Truncated,
    /// No elements, or too many.
    #[error("{0} elements: there must be 1 to 16")]
    Elements(u16),
    /// An element of no bytes.
    #[error("element {0} has no bytes")]
    EmptyElement(usize),
    /// A contiguous region of no bytes.
    #[error("a contiguous region of no bytes")]
    Empty,
    /// A strided region that does not advance.
    #[error("a period of 0 bytes")]
    ZeroPeriod,
    /// Ids of another size than 1 or 2 bytes.
    #[error("ids of {0} bytes: they must have 1 or 2")]
    IdWidth(u64),
    /// A field that the region's type does not have is not 0.
    #[error("{0} must be 0 in a {1} region")]
    NotZero(&'static str, &'static str),
}

/// `Ok` if a field that a region's type does not have is 0.
pub(super) fn zero(name: &'static str, kind: &'static str, value: u64) -> Result<(), ShapeError> {
    if value == 0 { Ok(()) } else { Err(ShapeError::NotZero(name, kind)) }
}

/// The next granule; `bytes` goes on behind it.
fn take(bytes: &mut &[u8]) -> Result<[u8; GRANULE], ShapeError> {
    let (granule, rest) = bytes.split_first_chunk().ok_or(ShapeError::Truncated)?;
    *bytes = rest;
    Ok(*granule)
}

/// The first granule of a region; `bytes` goes on behind it.
pub(super) fn take_header(bytes: &mut &[u8]) -> Result<RegionHeader, ShapeError> {
    Ok(RegionHeader::decode(&take(bytes)?))
}

/// Shape and elements of a region that has some; `bytes` goes on behind them. `check` judges what
/// only some types have.
pub(super) fn take_elements(
    bytes: &mut &[u8],
    check: impl Fn(&RegionShape) -> Result<(), ShapeError>,
) -> Result<(RegionShape, Vec<Element>), ShapeError> {
    let shape = RegionShape::decode(&take(bytes)?);
    check(&shape)?;
    if shape.elements == 0 || usize::from(shape.elements) > MAX_ELEMENTS {
        return Err(ShapeError::Elements(shape.elements));
    }
    let mut elements = Vec::with_capacity(usize::from(shape.elements));
    for i in 0..usize::from(shape.elements) {
        let element = Element::decode(&take(bytes)?);
        if element.len == 0 {
            return Err(ShapeError::EmptyElement(i));
        }
        elements.push(element);
    }
    Ok((shape, elements))
}

/// A region type's name.
fn name(kind: RegionType) -> &'static str {
    match kind {
        RegionType::Contiguous => "contiguous",
        RegionType::Strided => "strided",
        RegionType::Bitmapped => "bitmapped",
        RegionType::PointerMapped => "pointer-mapped",
    }
}

/// Reads a region of that type from the front of `granules`, and gives the bytes that follow it.
///
/// # Errors
/// If its shape is not legal (docs/semantics.md, check 2b). Its memory is not looked at.
pub fn decode_region(kind: RegionType, granules: &[u8]) -> Result<(Region, &[u8]), ShapeError> {
    let mut rest = granules;
    let RegionHeader { addr, count, lkey } = take_header(&mut rest)?;
    if kind == RegionType::Contiguous {
        if count == 0 {
            return Err(ShapeError::Empty);
        }
        return Ok((Region::Contiguous { addr, len: count, lkey }, rest));
    }

    let (shape, elements) = take_elements(&mut rest, |shape| {
        if kind == RegionType::Bitmapped && shape.flags == shape_flags::FETCH_ROWS {
            return Ok(());
        }
        zero("flags", name(kind), shape.flags.into())?;
        if kind == RegionType::Strided {
            if shape.period == 0 {
                return Err(ShapeError::ZeroPeriod);
            }
        } else {
            zero("period", name(kind), shape.period)?;
        }
        match kind {
            RegionType::PointerMapped => Ok(()),
            _ => zero("target_lkey", name(kind), shape.target_lkey.into()),
        }
    })?;
    if kind != RegionType::Bitmapped {
        elements.iter().try_for_each(|e| zero("an extent's lkey", name(kind), e.lkey.into()))?;
    }

    let pattern = || elements.iter().map(|e| Extent { offset: e.offset, len: e.len }).collect();
    let region = match kind {
        RegionType::Contiguous => unreachable!("returned above"),
        RegionType::Strided => {
            Region::Strided { base: addr, period: shape.period, count, lkey, pattern: pattern() }
        }
        RegionType::Bitmapped => Region::Bitmapped {
            bitmap: addr,
            rows: count,
            lkey,
            columns: elements.iter().map(Column::of).collect(),
            fetch_rows: (shape.flags & shape_flags::FETCH_ROWS != 0)
                .then_some(FetchRows { bitmap: shape.period, lkey: shape.target_lkey }),
        },
        RegionType::PointerMapped => Region::PointerMapped {
            pointers: addr,
            count,
            lkey,
            target_lkey: shape.target_lkey,
            pattern: pattern(),
        },
    };
    Ok((region, rest))
}
