//! The load of a simulated card that is watched.

use drdma_abi::{roce::TTL, work_request::Opcode};

use crate::{
    demo::lineitem::{self, COLUMNS, Row},
    job::{
        Buffer, Column, Contents, Destination, Job, Kind, Local, MessageLayout, Place, Post, Qp,
        Region, RowMask, Transport,
    },
};

/// Rows of the demonstration's load.
const ROWS: usize = 4096;
/// Destinations of the load.
const DESTINATIONS: usize = 4;
const MTU: u32 = 4096;
const LOCAL: Local = Local { mac: 0x0200_0000_0001, ip: 0x0a00_0001 };
const PEER: Local = Local { mac: 0x0200_0000_0101, ip: 0x0a00_0101 };

/// The demonstration's load: rows of TPC-H's LINEITEM, hashed to four destinations with one request.
pub fn demo() -> Job {
    let mut rows: Vec<Row> = Vec::new();
    // `batches` is ended after the first batch, which is sent again and again.
    let _ = lineitem::batches(0.001, ROWS, |batch| {
        rows.extend_from_slice(batch);
        Err(())
    });
    let mut columns: Vec<Vec<u8>> = vec![Vec::new(); COLUMNS.len()];
    let mut bitmaps = vec![vec![0u8; rows.len().div_ceil(8)]; DESTINATIONS];
    for (i, row) in rows.iter().enumerate() {
        row.values().for_each(|(column, value)| columns[column].extend_from_slice(value));
        bitmaps[row.destination(DESTINATIONS)][i / 8] |= 1 << (i % 8);
    }
    let named = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    let bitmap_names = (0..DESTINATIONS).map(|i| format!("rows of {i}"));
    let buffers = named
        .chain(bitmap_names)
        .zip(columns.into_iter().chain(bitmaps))
        .map(|(name, bytes)| Buffer {
            name,
            contents: Contents::Bytes(bytes),
            pointers: Vec::new(),
        })
        .collect();
    let place = |buffer| Place { buffer, offset: 0 };
    let region = |destination| Region::Bitmapped {
        bitmap: place(COLUMNS.len() + destination),
        first: 0,
        rows: rows.len() as u32,
        columns: COLUMNS
            .iter()
            .enumerate()
            .map(|(i, (_, width))| Column {
                base: place(i),
                width: *width as u32,
                kind: Kind::Fixed,
            })
            .collect(),
        fetch_rows: None,
    };
    let qp = |i: usize| Qp {
        name: format!("destination {i}"),
        transport: Transport::Rc,
        qpn: 0x11 + i as u32,
        dest_qpn: 0x100 + i as u32,
        start_psn: 0,
        mtu: MTU,
        dest_mac: PEER.mac + i as u64,
        dest_ip: PEER.ip + i as u32,
        qkey: 0,
        dscp: 0,
        vlan: None,
        ecn: 0,
        ttl: TTL,
    };
    let destination = |i| Destination {
        qp: i,
        remote_addr: 0,
        rkey: 0,
        remote_columns: Vec::new(),
        partition: 0,
        regions: vec![region(i)],
    };
    Job {
        buffers,
        local: LOCAL,
        qps: (0..DESTINATIONS).map(qp).collect(),
        posts: vec![Post {
            shared: true,
            wr_id: 1,
            op: Opcode::Send,
            imm: 0,
            row_mask: RowMask::Period,
            rows_per_message: MTU / lineitem::ROW as u32,
            layout: MessageLayout::Rows,
            signaled: true,
            fetch: None,
            inline: false,
            partitioned: None,
            destinations: (0..DESTINATIONS).map(destination).collect(),
        }],
    }
}

/// Bytes of a row, if all rows of a job have the same length. With row mask `Element` a row is a unit: an
/// element of every region.
pub fn row_bytes(job: &Job) -> Option<u64> {
    let mut all = None;
    let mut agree = |bytes: u64| *all.get_or_insert(bytes) == bytes;
    for post in &job.posts {
        let regions = post.destinations.iter().flat_map(|destination| &destination.regions);
        let partitioned = post.partitioned.iter().flat_map(|region| region.kinds());
        let mut kinds = regions.flat_map(Region::kinds).chain(partitioned);
        if kinds.any(|kind| *kind != Kind::Fixed) {
            return None;
        }
        // A row is one unit, whatever the row mask; a destination has no regions of its own.
        if let Some(region) = &post.partitioned
            && !agree(row(&region.columns))
        {
            return None;
        }
        for destination in &post.destinations {
            let same = match post.row_mask {
                RowMask::Period => {
                    destination.regions.iter().all(|r| agree(elements(r).iter().sum()))
                }
                RowMask::Element => {
                    let mut unit = 0;
                    let uniform = destination.regions.iter().all(|region| {
                        let elements = elements(region);
                        unit += elements[0];
                        elements.iter().all(|bytes| *bytes == elements[0])
                    });
                    destination.regions.is_empty() || uniform && agree(unit)
                }
            };
            if !same {
                return None;
            }
        }
    }
    all
}

/// Bytes of a row's elements under row mask `Element`; together they are a row.
fn elements(region: &Region) -> Vec<u64> {
    match region {
        Region::Contiguous { len, .. } => vec![u64::from(*len)],
        Region::Strided { pattern, .. } | Region::PointerMapped { pattern, .. } => {
            pattern.iter().map(|extent| extent.len.into()).collect()
        }
        Region::Bitmapped { columns, .. } => {
            // A row is one element (docs/semantics.md).
            vec![row(columns)]
        }
    }
}

/// Bytes of a row of some columns.
fn row(columns: &[Column]) -> u64 {
    columns.iter().map(|column| u64::from(column.width)).sum()
}
