//! Requests of whose rows the card packs several a cycle.

use drdma_abi::work_request::RegionType;

use super::{ColumnPlacement, Lane};
use crate::{PartitionId, PartitionedRegion, Region, RowMask};

/// Rows that the card gathers several a cycle, where they are short, instead of one after another
/// (`docs/architecture.md`, *column request*): all destinations of a request have the same lanes, at equal
/// steps, with room in a window, or each a stretch of rows of its own, one behind the other in memory; and
/// there are enough rows: fewer are enough where a row has few lanes, unless they are those of one bitmap for one
/// destination.
///
/// ```
/// use libdrdma::{Column, Region, RowMask, optimizer::PackedRows};
///
/// // Two columns of 1,000 rows, and a bitmap for either destination.
/// let columns = [
///     Column { addr: 0x1_0000, width: 4, lkey: 1 },
///     Column { addr: 0x2_0000, width: 8, lkey: 1 },
/// ];
/// let rows = |bitmap| Region::unchecked_bitmapped(bitmap, 1, 1000, &columns);
/// let (even, odd) = ([rows(0x3_0000)?], [rows(0x4_0000)?]);
/// let packed = PackedRows::of([&even[..], &odd[..]], RowMask::Period, 256).expect("they are packed");
/// assert_eq!((packed.rows(), packed.lanes().len()), (1000, 2));
///
/// // With other columns for each destination they go row by row.
/// let others = [Region::unchecked_bitmapped(0x4_0000, 1, 1000, &columns[..1])?];
/// assert!(PackedRows::of([&even[..], &others[..]], RowMask::Period, 256).is_none());
/// # Ok::<(), libdrdma::RegionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedRows {
    lanes: Vec<Lane>,
    rows: u32,
    window_rows: u32,
    sparse: bool,
    apart: bool,
}

impl PackedRows {
    /// Rows of a block of a sparse window; windows of fewer rows leave out no blocks.
    const SPARSE_ROWS: u32 = 64;

    /// The rows of a request, by the regions of each of its destinations; `None` if the card
    /// gathers them one after another. `column_min_rows` is the card's register of that name: 96
    /// after reset; 0 disables packing.
    pub fn of<'r, 'm: 'r>(
        destinations: impl IntoIterator<Item = &'r [Region<'m>]>,
        row_mask: RowMask,
        column_min_rows: u32,
    ) -> Option<Self> {
        let mut types = Vec::new();
        let of_destination = |regions: &'r [Region<'m>]| {
            types.push(regions.first()?.region_type());
            one_set(regions, row_mask)
        };
        let sets = destinations.into_iter().map(of_destination).collect::<Option<Vec<_>>>()?;
        let first = sets.first()?;
        if sets.iter().all(|set| set == first) {
            let one_bitmap = sets.len() == 1 && types[0] == RegionType::Bitmapped;
            return Self::new(first.clone(), one_bitmap, column_min_rows);
        }
        let strided = types.iter().all(|of| *of == RegionType::Strided);
        if !strided || !are_apart(&sets) {
            return None;
        }
        // The longest destination decides; windows have the rows that fit the widest one.
        let mut packed = Self::any(first.clone(), false)?;
        packed.apart = true;
        for (lanes, rows) in &sets {
            packed.window_rows = packed.window_rows.min(ColumnPlacement::window_rows(lanes).ok()?);
            if *rows == 0 {
                return None;
            }
        }
        let enough = |set: &(Vec<Lane>, u32)| are_enough(set, false, column_min_rows);
        sets.iter().any(enough).then_some(packed)
    }

    /// The rows of a request with a partitioned region, as [`of`](Self::of).
    pub fn of_partitioned<I: PartitionId>(
        region: &PartitionedRegion<'_, I>,
        column_min_rows: u32,
    ) -> Option<Self> {
        if region.has_kinds() {
            return None;
        }
        Self::new((region.lanes(), region.rows()), false, column_min_rows)
    }

    fn new(set: (Vec<Lane>, u32), one_bitmap: bool, column_min_rows: u32) -> Option<Self> {
        are_enough(&set, one_bitmap, column_min_rows).then(|| Self::any(set, one_bitmap))?
    }

    /// Takes the rows without regard to their number.
    fn any((lanes, rows): (Vec<Lane>, u32), one_bitmap: bool) -> Option<Self> {
        let mut window_rows = ColumnPlacement::window_rows(&lanes).ok()?;
        let sparse = one_bitmap && window_rows >= Self::SPARSE_ROWS;
        if sparse {
            window_rows = window_rows / Self::SPARSE_ROWS * Self::SPARSE_ROWS;
        }
        Some(Self { lanes, rows, window_rows, sparse, apart: false })
    }

    /// Lanes of every row; if destinations have rows of their own ([`is_apart`](Self::is_apart)),
    /// those of the first one.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Number of rows, sent or not; if destinations have rows of their own, those of the first one.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Number of rows that a window has room for.
    pub fn window_rows(&self) -> u32 {
        self.window_rows
    }

    /// True if windows leave out blocks of rows without a selected one: rows of one bitmap for one
    /// destination ([`SparseWindow`](super::SparseWindow)).
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// True if every destination has windows and rows of its own: strided regions of one form, one
    /// behind the other in memory.
    pub fn is_apart(&self) -> bool {
        self.apart
    }
}

/// True if there are enough rows to be packed: as many as `COLUMN_MIN_ROWS` says, or, unless there
/// is one bitmap for one destination, half as many of up to 6 lanes, or a quarter of up to 2.
fn are_enough((lanes, rows): &(Vec<Lane>, u32), one_bitmap: bool, column_min_rows: u32) -> bool {
    let least = match lanes.len() {
        _ if one_bitmap => column_min_rows,
        0..=2 => column_min_rows / 4,
        3..=6 => column_min_rows / 2,
        _ => column_min_rows,
    };
    column_min_rows > 0 && *rows > 0 && *rows >= least
}

/// True if all have lanes of the first one's steps and lengths, and each lane lies behind the rows of the same lane
/// of the destination before.
fn are_apart(sets: &[(Vec<Lane>, u32)]) -> bool {
    let form = |lanes: &[Lane]| lanes.iter().map(|lane| (lane.step, lane.len)).collect::<Vec<_>>();
    let follows = |pair: &[(Vec<Lane>, u32)]| {
        let behind = |(before, lane): (&Lane, &Lane)| {
            let distance = lane.addr.wrapping_sub(before.addr) as i64;
            i128::from(distance) >= i128::from(pair[0].1) * i128::from(before.step)
        };
        form(&pair[0].0) == form(&pair[1].0) && pair[0].0.iter().zip(&pair[1].0).all(behind)
    };
    sets.windows(2).all(follows)
}

/// The lanes and the number of rows of a destination whose regions the card treats as one of equally spaced
/// rows.
fn one_set(regions: &[Region<'_>], row_mask: RowMask) -> Option<(Vec<Lane>, u32)> {
    let (mut lanes, mut rows) = (Vec::new(), None);
    for region in regions {
        let of_region = region.lanes()?;
        // Under the row mask `Element` the extents are units of their own.
        let apart = region.region_type() == RegionType::Strided && of_region.len() > 1;
        if row_mask == RowMask::Element && apart {
            return None;
        }
        lanes.extend(of_region);
        rows = Some(region.count());
    }
    let joined = row_mask == RowMask::Element && is_one(regions);
    (regions.len() == 1 || joined).then_some((lanes, rows?))
}

/// For each row of the card that a unit consists of, the number of its fragments, if a request's
/// rows are not packed; `None` if all of them are one row.
pub fn rows_of_a_unit(regions: &[Region<'_>], row_mask: RowMask) -> Option<Vec<usize>> {
    let fragments = |region: &Region<'_>| match region.region_type() {
        // Elements are periods, or one extent of them.
        RegionType::Contiguous | RegionType::Strided => 1,
        RegionType::Bitmapped | RegionType::PointerMapped => region.elements(),
    };
    let apart = row_mask == RowMask::Element && regions.len() > 1 && !is_one(regions);
    apart.then(|| regions.iter().map(fragments).collect())
}

/// True if the card treats several regions as one of which each is a lane: element `i` of all of them is its
/// row `i`. They are of one type, with one element a row each, as many rows, and the same bitmap.
fn is_one(regions: &[Region<'_>]) -> bool {
    let same = |region: &Region<'_>| match region.region_type() {
        RegionType::Contiguous => Some((1, None)),
        RegionType::Strided => (region.lanes()?.len() == 1).then_some((region.count(), None)),
        RegionType::Bitmapped => {
            let one = region.lanes()?.len() == 1;
            one.then_some((region.count(), Some(region.addr())))
        }
        RegionType::PointerMapped => None,
    };
    let agree = |pair: &[Region<'_>]| {
        pair[0].region_type() == pair[1].region_type() && same(&pair[0]) == same(&pair[1])
    };
    regions.first().is_some_and(|first| same(first).is_some()) && regions.windows(2).all(agree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Extent};

    fn column(index: u64, width: u32) -> Column {
        Column { addr: 0x10_0000 * (index + 1), width, lkey: 1 }
    }

    fn bitmapped(bitmap: u64, rows: u32, widths: &[u32]) -> Region<'static> {
        let columns: Vec<_> = (0..).zip(widths).map(|(i, width)| column(i, *width)).collect();
        Region::unchecked_bitmapped(bitmap, 1, rows, &columns).unwrap()
    }

    fn strided(addr: u64, count: u32, extents: u64) -> Region<'static> {
        let pattern: Vec<_> = (0..extents).map(|i| Extent { offset: 16 * i, len: 8 }).collect();
        Region::unchecked_strided(addr, 1, 64, count, &pattern).unwrap()
    }

    fn packed(regions: &[Region<'static>], row_mask: RowMask, least: u32) -> Option<PackedRows> {
        PackedRows::of([regions], row_mask, least)
    }

    #[test]
    fn there_have_to_be_enough_rows_and_a_least_number_of_0_is_none() {
        for (lanes, part) in [(1, 4), (2, 4), (3, 2), (6, 2), (7, 1), (16, 1)] {
            let rows = [bitmapped(0, 256, &vec![4; lanes])];
            let others = [bitmapped(64, 256, &vec![4; lanes])];
            let two = |least| PackedRows::of([&rows[..], &others[..]], RowMask::Period, least);
            assert!(two(256 * part).is_some(), "{lanes} lanes");
            assert!(two(257 * part).is_none(), "{lanes} lanes");
            assert!(two(1).is_some() && two(0).is_none());
            // Of one bitmap for one destination it takes as many, however few the lanes.
            assert!(packed(&rows, RowMask::Period, 256).is_some(), "{lanes} lanes");
            assert!(packed(&rows, RowMask::Period, 257).is_none(), "{lanes} lanes");
            assert!(packed(&rows, RowMask::Period, 0).is_none());
            assert!(packed(&[bitmapped(0, 0, &vec![4; lanes])], RowMask::Period, 1).is_none());
        }
    }

    #[test]
    fn lanes_have_to_fit_a_window_and_be_at_equal_steps() {
        let found = |regions: &[Region<'static>]| packed(regions, RowMask::Period, 1).is_some();
        assert!(found(&[strided(0, 1000, 4)]));
        assert!(found(&[bitmapped(0, 1000, &[127])]));
        assert!(!found(&[bitmapped(0, 1000, &[128])]), "a lane has 127 B at most");
        assert!(!found(&[Region::unchecked_contiguous(0, 1 << 20, 1)]));
        let pointers =
            Region::unchecked_pointer_mapped(0, 1, 1000, 1, &[Extent { offset: 0, len: 8 }]);
        assert!(!found(&[pointers.unwrap()]));
        assert!(!found(&[strided(0, 1000, 1), strided(4096, 1000, 1)]), "one after the other");
        assert!(!found(&[]));
    }

    #[test]
    fn under_row_mask_element_regions_of_one_element_are_lanes() {
        let found = |regions: &[Region<'static>]| {
            packed(regions, RowMask::Element, 1).map(|packed| packed.lanes().len())
        };
        assert_eq!(found(&[strided(0, 1000, 1), strided(0x10_0000, 1000, 1)]), Some(2));
        assert_eq!(found(&[strided(0, 1000, 1), strided(0x10_0000, 999, 1)]), None);
        assert_eq!(found(&[strided(0, 1000, 2)]), None, "each extent is a unit");
        assert_eq!(found(&[bitmapped(64, 1000, &[4]), bitmapped(64, 1000, &[8])]), Some(2));
        assert_eq!(found(&[bitmapped(64, 1000, &[4]), bitmapped(65, 1000, &[8])]), None);
        assert_eq!(found(&[bitmapped(64, 1000, &[4]), strided(0, 1000, 1)]), None);
        let units = |regions: &[_], row_mask| rows_of_a_unit(regions, row_mask);
        let mixed = [bitmapped(64, 1000, &[4, 4, 4]), strided(0, 1000, 1)];
        assert_eq!(units(&mixed, RowMask::Element), Some(vec![3, 1]));
        assert_eq!(units(&mixed, RowMask::Period), None);
        assert_eq!(units(&mixed[..1], RowMask::Element), None);
        let joined = [strided(0, 1000, 1), strided(0x10_0000, 1000, 1)];
        assert_eq!(units(&joined, RowMask::Element), None);
    }

    #[test]
    fn blocks_are_left_out_of_one_bitmap_for_one_destination() {
        let rows = [bitmapped(0, 1000, &[4, 8])];
        let others = [bitmapped(0x1000, 1000, &[4, 8])];
        assert!(packed(&rows, RowMask::Period, 1).unwrap().is_sparse());
        let two = PackedRows::of([&rows[..], &others[..]], RowMask::Period, 1).unwrap();
        assert!(!two.is_sparse());
        assert!(!packed(&[strided(0, 1000, 2)], RowMask::Period, 1).unwrap().is_sparse());
        let more = [bitmapped(0x1000, 1000, &[4])];
        assert_eq!(PackedRows::of([&rows[..], &more[..]], RowMask::Period, 1), None);
    }

    #[test]
    fn destinations_with_a_stretch_of_rows_each_are_packed_one_by_one() {
        // 100 periods of 64 B each, but for the second.
        let region = |at: u64, count| [strided(64 * at, count, 3)];
        let packed = |of: &[[Region<'static>; 1]], least| {
            PackedRows::of(of.iter().map(|regions| &regions[..]), RowMask::Period, least)
        };
        let three = [region(0, 100), region(100, 5), region(105, 100)];
        let found = packed(&three, 200).unwrap();
        assert!(found.is_apart() && !found.is_sparse());
        assert_eq!((found.rows(), found.lanes()[0].addr), (100, 0));
        assert_eq!(found.window_rows(), ColumnPlacement::window_rows(found.lanes()).unwrap());
        assert!(packed(&three, 202).is_none() && packed(&three, 0).is_none());
        assert!(!packed(&three[..1], 1).unwrap().is_apart(), "there is one");
        let refused = [
            [region(0, 100), region(99, 100)],
            [region(100, 100), region(0, 100)],
            [region(0, 100), region(100, 0)],
            [region(0, 100), [strided(6400, 100, 2)]],
        ];
        for regions in refused {
            assert!(packed(&regions, 1).is_none(), "{regions:?}");
        }
        assert!(!packed(&[region(0, 100), region(0, 100)], 1).unwrap().is_apart(), "the same");
    }

    #[test]
    fn a_partitioned_region_is_packed_like_its_columns() {
        let columns = [column(0, 4), column(1, 8)];
        let region = PartitionedRegion::<u16>::unchecked(0, 1, 500, &columns).unwrap();
        let found = PackedRows::of_partitioned(&region, 2000).unwrap();
        assert_eq!((found.rows(), found.lanes().len(), found.is_sparse()), (500, 2, false));
        assert_eq!(found.lanes()[1], Lane::dense(0x20_0000, 8));
        assert!(PackedRows::of_partitioned(&region, 2004).is_none());
    }
}
