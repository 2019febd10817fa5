//! Work requests as Rust values, and their encoding as work queue entries.

use drdma_abi::{
    Layout as _,
    work_request::{
        self as wire, Destination as DestinationHead, GRANULE, MessageLayout, Opcode, RemoteColumn,
        WqeHeader, flags,
    },
};

use crate::{
    boxes::Settings,
    partitioned::Partitioned,
    region::{Region, RowMask, encode_region},
    rows::{Limit, Units},
    stream::{MessageStream, Shape},
};

/// Fetch plan of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FetchPlan {
    /// Binary logarithm of the longest DMA read of data in bytes, 6 to 12.
    pub log_max_read: u8,
    /// Widest gap in bytes that is read through, 0 to 4095.
    pub merge_threshold: u16,
}

/// A work request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The application's name of the request.
    pub wr_id: u64,
    /// Operation of the request.
    pub opcode: Opcode,
    /// Immediate data, for the opcodes that carry it.
    pub imm: u32,
    /// Rule by which units are formed.
    pub row_mask: RowMask,
    /// Number of units in a message, at least 1.
    pub rows_per_message: u32,
    /// Success is reported by a completion; failure always is.
    pub signaled: bool,
    /// Fetch plan, if it is not that of the card's registers. No packet depends on it.
    pub fetch: Option<FetchPlan>,
    /// Inline payload, in the entry itself: one message for the only destination, which has no
    /// regions then.
    pub inline: Option<Vec<u8>>,
    /// The region that all destinations share, each getting the rows of its partition; they have no
    /// regions of their own then.
    pub partitioned: Option<Partitioned>,
    /// Destinations of the request.
    pub destinations: Vec<Destination>,
}

impl Request {
    /// Parameters of forming boxes for this request, on a card whose registers have those of
    /// `registers`.
    pub fn settings(&self, registers: Settings) -> Settings {
        self.fetch.map_or(registers, |plan| Settings {
            max_read: 1 << plan.log_max_read,
            merge_threshold: plan.merge_threshold.into(),
            ..registers
        })
    }

    /// Returns the units of destination `index`, cut by `row_mask` (that of the request, or
    /// another), with the addresses that each region's records may have.
    pub fn units(&self, index: usize, row_mask: RowMask, limits: &[Limit]) -> Units {
        let destination = &self.destinations[index];
        match &self.partitioned {
            Some(region) => {
                let limit = limits.first().cloned().unwrap_or_default();
                Units::of_partition(region, destination.partition, limit)
            }
            None => Units::with_limits(&destination.regions, row_mask, limits),
        }
    }

    /// Returns the messages of destination `index` as a stream, if they can only be known by
    /// walking them: if they go by columns, or elements have kinds.
    pub fn stream(&self, index: usize, limits: &[Limit]) -> Option<MessageStream> {
        let destination = &self.destinations[index];
        let kinds = match &self.partitioned {
            Some(region) => !region.entries.is_empty(),
            None => destination.regions.iter().any(|region| matches!(region, Region::Kinds(_))),
        };
        let shape = Shape {
            layout: destination.layout,
            remote_columns: destination.remote_columns.len(),
            immediate: self.opcode.has_imm(),
            rows_per_message: self.rows_per_message,
        };
        let by_columns = destination.layout == MessageLayout::Columns;
        (by_columns || kinds)
            .then(|| MessageStream::new(self.units(index, self.row_mask, limits), shape))
    }
}

/// One destination of a work request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Index of the local queue pair.
    pub qp: u32,
    /// Remote address of the first message of a WRITE.
    pub remote_addr: u64,
    /// The remote key of a WRITE.
    pub rkey: u32,
    /// Id of the rows that it gets, in a partitioned request; 0 in others.
    pub partition: u16,
    /// Order of the values of a message.
    pub layout: MessageLayout,
    /// Remote address and key of each column of a WRITE by columns.
    pub remote_columns: Vec<(u64, u32)>,
    /// Regions to send.
    pub regions: Vec<Region>,
}

impl Destination {
    /// Returns the rows that are read as if they were needed as well: for each region that has
    /// fetch rows, these as units.
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

/// Encodes `request` as a work queue entry, as software writes it into a ring: whole blocks, the
/// last one padded with zeros.
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
    if !request.signaled {
        flags |= flags::UNSIGNALED;
    }
    let payload = request.inline.as_deref();
    if payload.is_some() {
        flags |= flags::INLINE;
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
            inline_bytes: payload.map_or(0, <[u8]>::len) as u8,
            message_layout: destination.layout as u8,
            remote_columns: destination.remote_columns.len() as u8,
            ..DestinationHead::default()
        };
        bytes.extend(head.to_bytes());
        for (addr, rkey) in &destination.remote_columns {
            bytes.extend(RemoteColumn { addr: *addr, rkey: *rkey, reserved: 0 }.to_bytes());
        }
        for region in &destination.regions {
            encode_region(region, &mut bytes);
        }
    }
    bytes.extend(payload.unwrap_or_default());
    bytes.resize(bytes.len().next_multiple_of(GRANULE), 0);
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
