//! Placement of a request's data in the segmented memory, and how fast they are gathered from there.

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

/// Registers of a card that determine how rows are placed.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// How bounding boxes are formed for the request.
    pub settings: Settings,
    /// The least number of rows of which the card packs several a cycle.
    pub column_rows: u32,
}

/// Placement of a request's first window.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Placed {
    /// Rows that a window has room for, if the card packs rows; `None` if it goes row by row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_rows: Option<u32>,
    /// The columns, or extents, whose rows are packed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<PlacedLane>,
    /// Words of 4 B that the assembler gathers in a cycle, of 16; 12.5 are 100 Gb/s.
    pub words_per_cycle: f64,
}

/// Placement of a column, or an extent, in a window.
#[derive(Clone, Debug, Serialize)]
pub struct PlacedLane {
    /// Name of the buffer of its first value.
    pub buffer: String,
    /// Offset in the buffer.
    pub offset: u64,
    /// Bytes of a value.
    pub len: u64,
    /// Bytes from row to row.
    pub step: u64,
    /// Number of the group of lanes that it is read with.
    pub group: usize,
    /// Place of row 0's value in the window.
    pub place: u32,
    /// Bank of that place.
    pub bank: u32,
}

/// Places the first window of a request whose destinations have these units. Without units the window is empty.
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

/// A request whose rows the card packs.
struct Packed(PackedRows);

/// The first window of a request whose rows are packed.
struct Window {
    /// Number of rows that it is placed for.
    rows: u32,
    /// For each destination: the rows that it is sent, as they are numbered in the window.
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

    /// The first window, with a place for every row.
    fn dense_window(&self, units: &[Units], image: &Image) -> Result<Window, Fault> {
        let rows = self.0.rows().min(self.0.window_rows());
        // Destinations with rows of their own have windows of their own.
        let sharing = if self.0.is_apart() { 1 } else { units.len() };
        let sent = units[..sharing]
            .iter()
            .map(|units| self.selected(&self.0.lanes()[0], units.clone(), rows, image));
        Ok(Window { rows, sent: sent.collect::<Result<_, Fault>>()? })
    }

    /// The first window, without rows that no destination needs; `None` if no row is needed.
    fn sparse_window(
        &self,
        destination: &Destination,
        units: &Units,
        settings: &Settings,
        image: &Image,
    ) -> Result<Option<Window>, Fault> {
        let selected = self.selected(&self.0.lanes()[0], units.clone(), self.0.rows(), image)?;
        let mut needed = selected.clone();
        // Several regions count as one, with the last one's fetch rows. Fetch rows that cannot be read are left out.
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

/// The packed rows of a request; `None` if the card does not pack them.
fn packed(request: &Request, regions: &[Vec<libdrdma::Region>], card: &Card) -> Option<PackedRows> {
    let Some(Partitioned { ids, width, rows, lkey, columns, .. }) = &request.partitioned else {
        let row_mask = match request.row_mask {
            RowMask::Period => libdrdma::RowMask::Period,
            RowMask::Element => libdrdma::RowMask::Element,
        };
        return PackedRows::of(regions.iter().map(Vec::as_slice), row_mask, card.column_rows);
    };
    if columns.is_empty() {
        // The regions have kinds, or ids are made from keys.
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
