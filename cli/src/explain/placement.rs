//! Where a request's data lie in the segmented memory, and how fast they are gathered from there.

use drdma_semantics::{
    boxes::Settings,
    memory::Fault,
    partitioned::Partitioned,
    region::{Region, RowMask},
    request::{Destination, Request},
    rows::Units,
};
use libdrdma::{
    PartitionedRegion,
    optimizer::{
        Beat, BlockPlacement, ColumnPlacement, Fragment, Lane, PackedRows, SparseWindow, assembler,
        rows_of_a_unit,
    },
};
use serde::Serialize;

use super::{image::Image, verbs};

/// What of a card's registers decides how rows are placed.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// How bounding boxes are formed for the request.
    pub settings: Settings,
    /// Rows from which on several are packed a cycle.
    pub column_rows: u32,
}

/// What a request's first window is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Placed {
    /// Rows that a window has room for, if the card packs them; else it goes row by row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_rows: Option<u32>,
    /// The columns, or extents, of which rows are packed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<PlacedLane>,
    /// Words of 4 B that the assembler gathers in a cycle, of 16; 12.5 are 100 Gb/s.
    pub words_per_cycle: f64,
}

/// Where a column, or an extent, lies in a window.
#[derive(Clone, Debug, Serialize)]
pub struct PlacedLane {
    /// The buffer of its first value.
    pub buffer: String,
    /// Where in the buffer.
    pub offset: u64,
    /// Bytes of a value.
    pub len: u64,
    /// Bytes from row to row.
    pub step: u64,
    /// Which lanes it is read with: those of the same group.
    pub group: usize,
    /// Where row 0's value lies in the window.
    pub place: u32,
    /// The bank of that.
    pub bank: u32,
}

/// Places the first window of a request whose destinations have these units; nothing if there are none.
///
/// # Errors
/// If a bitmap or a pointer cannot be read.
pub fn placed(
    request: &Request,
    units: &[Units],
    card: &Card,
    image: &Image,
) -> Result<Placed, Fault> {
    let regions = verbs::regions(request);
    match packed(request, &regions, card) {
        Some(packed) => Packed(packed).placed(request, units, &card.settings, image),
        None => row_by_row(request, &regions, units, image),
    }
}

/// A request of which the card packs rows.
struct Packed(PackedRows);

/// The first window of such a request.
struct Window {
    /// How many rows it is placed for.
    rows: u32,
    /// Those that each destination is sent, as they are numbered in the window.
    sent: Vec<Vec<u32>>,
}

impl Packed {
    fn placed(
        &self,
        request: &Request,
        units: &[Units],
        settings: &Settings,
        image: &Image,
    ) -> Result<Placed, Fault> {
        let window = match self.0.is_sparse() {
            true => self.sparse_window(&request.destinations[0], &units[0], settings, image)?,
            false => Some(self.dense_window(units, image)?),
        };
        let Some(Window { rows, sent }) = window else { return Ok(Placed::default()) };
        let placement = ColumnPlacement::new(self.0.lanes(), rows).expect("a window has such rows");
        let messages = sent.iter().flat_map(|rows| rows.chunks(request.rows_per_message as usize));
        let pace = assembler::pace(messages.flat_map(|rows| placement.beats(rows.iter().copied())));
        Ok(Placed {
            window_rows: Some(self.0.window_rows()),
            lanes: self.placed_lanes(&placement, image),
            words_per_cycle: pace.words_per_cycle(),
        })
    }

    /// The first window.
    fn dense_window(&self, units: &[Units], image: &Image) -> Result<Window, Fault> {
        let rows = self.0.rows().min(self.0.window_rows());
        // Destinations with rows of their own have windows of their own.
        let sharing = if self.0.is_apart() { 1 } else { units.len() };
        let sent = units[..sharing]
            .iter()
            .map(|units| self.selected(&self.0.lanes()[0], units.clone(), rows, image));
        Ok(Window { rows, sent: sent.collect::<Result<_, Fault>>()? })
    }

    /// The same, if rows that nobody needs are left out; `None` if that are all.
    fn sparse_window(
        &self,
        destination: &Destination,
        units: &Units,
        settings: &Settings,
        image: &Image,
    ) -> Result<Option<Window>, Fault> {
        let selected = self.selected(&self.0.lanes()[0], units.clone(), self.0.rows(), image)?;
        let mut needed = selected.clone();
        // Of several regions that are one, the last one's count. Those that cannot be read are none.
        let last = destination.regions.last();
        if let Some(Region::Bitmapped { columns, fetch_rows: Some(_), .. }) = last {
            let lane = &self.0.lanes()[self.0.lanes().len() - columns.len()];
            let units = destination.fetch_rows().last();
            let rows = units.map(|units| self.selected(lane, units, self.0.rows(), image));
            needed.extend(rows.into_iter().flatten().flatten());
        }
        let (rows, threshold) = (self.0.rows().into(), settings.merge_threshold);
        let windows = SparseWindow::all(self.0.lanes(), rows, &self.bits(&needed), threshold)
            .expect("they are packed, and have a bit each");
        Ok(windows.first().map(|window| {
            let of_window = selected.iter().map_while(|row| window.row((*row).into()));
            Window { rows: window.rows(), sent: vec![of_window.collect()] }
        }))
    }

    /// Rows below `end` that are sent, or read: units that begin with a value of that lane.
    fn selected(
        &self,
        lane: &Lane,
        mut units: Units,
        end: u32,
        image: &Image,
    ) -> Result<Vec<u32>, Fault> {
        let (mut rows, mut unit) = (Vec::new(), Vec::new());
        while units.next(image, &mut unit)? {
            let row = ((unit[0].addr - lane.addr) / lane.step) as u32;
            if row >= end {
                break;
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn bits(&self, rows: &[u32]) -> Vec<u8> {
        let mut bits = vec![0; (self.0.rows() as usize).div_ceil(8)];
        rows.iter().for_each(|row| bits[*row as usize / 8] |= 1 << (row % 8));
        bits
    }

    fn placed_lanes(&self, placement: &ColumnPlacement, image: &Image) -> Vec<PlacedLane> {
        let names = image.names();
        let groups = (0..).zip(placement.groups());
        let of_groups =
            groups.flat_map(|(group, lanes)| lanes.lanes.clone().map(move |lane| (group, lane)));
        let lane = |(group, index): (usize, usize)| {
            let Lane { addr, len, step } = self.0.lanes()[index];
            let (from, place) = (image.place(addr)?, placement.place(index, 0)?);
            let buffer = names[&from.buffer].to_owned();
            let (offset, bank) = (from.offset, place.bank());
            Some(PlacedLane { buffer, offset, len, step, group, place: place.offset(), bank })
        };
        of_groups.filter_map(lane).collect()
    }
}

/// The rows of a request that the card packs, if it does.
fn packed(request: &Request, regions: &[Vec<libdrdma::Region>], card: &Card) -> Option<PackedRows> {
    let Some(Partitioned { ids, width, rows, lkey, columns, .. }) = &request.partitioned else {
        let row_mask = match request.row_mask {
            RowMask::Period => libdrdma::RowMask::Period,
            RowMask::Element => libdrdma::RowMask::Element,
        };
        return PackedRows::of(regions.iter().map(Vec::as_slice), row_mask, card.column_rows);
    };
    if columns.is_empty() {
        // They have kinds, or ids are made from keys.
        return None;
    }
    let columns = verbs::columns(columns);
    match width {
        1 => {
            let region = PartitionedRegion::<u8>::unchecked(*ids, *lkey, *rows, &columns).ok()?;
            PackedRows::of_partitioned(&region, card.column_rows)
        }
        _ => {
            let region = PartitionedRegion::<u16>::unchecked(*ids, *lkey, *rows, &columns).ok()?;
            PackedRows::of_partitioned(&region, card.column_rows)
        }
    }
}

/// The first window of a request that goes row by row: as many beats as it has room for, of one destination after
/// another.
fn row_by_row(
    request: &Request,
    regions: &[Vec<libdrdma::Region>],
    units: &[Units],
    image: &Image,
) -> Result<Placed, Fault> {
    let row_mask = match request.row_mask {
        RowMask::Period => libdrdma::RowMask::Period,
        RowMask::Element => libdrdma::RowMask::Element,
    };
    let mut window = BlockPlacement::default();
    let mut placed: Vec<Beat> = Vec::new();
    'window: for (units, regions) in units.iter().zip(regions) {
        let elements = rows_of_a_unit(regions, row_mask);
        let (mut units, mut unit) = (units.clone(), Vec::new());
        while units.next(image, &mut unit)? {
            let all = [unit.len()];
            let mut fragments = unit.iter().map(|f| Fragment { addr: f.addr, len: f.len.into() });
            for &count in elements.as_deref().unwrap_or(&all) {
                let row: Vec<_> = fragments.by_ref().take(count).collect();
                for fragments in BlockPlacement::beats(&row) {
                    let mut beat = [None; 64];
                    if !window.take(&fragments, &mut beat) {
                        break 'window;
                    }
                    placed.push(beat);
                }
            }
        }
    }
    Ok(Placed { words_per_cycle: assembler::pace(placed).words_per_cycle(), ..Placed::default() })
}
