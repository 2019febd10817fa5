//! Which requests' rows the card packs several a cycle.

use drdma_abi::work_request::RegionType;

use super::{ColumnPlacement, Lane};
use crate::{PartitionId, PartitionedRegion, Region, RowMask};

/// The widest step, and the longest lane, of destinations that each have rows of their own.
const APART_STEP: u64 = 255;
const APART_LEN: u64 = 127;

/// Rows that the card gathers several a cycle, where they are short, instead of one after another
/// (`docs/architecture.md`, *column request*): all destinations of a request have the same lanes, at equal
/// steps, with room in a window, and there are enough rows; or each has one strided region, with lanes of the
/// same lengths and steps, behind the rows of the one before.
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
    /// Windows of fewer rows have no blocks to leave out.
    const SPARSE_ROWS: u32 = 64;

    /// The rows of a request, by the regions of each of its destinations; `None` if the card gathers them one
    /// after another. `column_min_rows` is the card's register of that name: 96 unless somebody wrote it, and
    /// 0 for no request.
    pub fn of<'r, 'm: 'r>(
        destinations: impl IntoIterator<Item = &'r [Region<'m>]>,
        row_mask: RowMask,
        column_min_rows: u32,
    ) -> Option<Self> {
        let destinations: Vec<_> = destinations.into_iter().collect();
        let sets: Option<Vec<_>> =
            destinations.iter().map(|regions| one_set(regions, row_mask)).collect();
        let sets = sets?;
        let first = sets.first()?;
        if sets.iter().all(|set| set == first) {
            let kind = destinations[0].first().map(Region::region_type);
            let one_bitmap = sets.len() == 1 && kind == Some(RegionType::Bitmapped);
            return Self::new(first.clone(), one_bitmap, column_min_rows);
        }
        let one_strided = |regions: &&[Region<'_>]| {
            regions.len() == 1 && regions[0].region_type() == RegionType::Strided
        };
        (destinations.iter().all(one_strided) && are_apart(&sets))
            .then(|| Self::apart(&sets, column_min_rows))?
    }

    /// The rows of destinations that each have some of their own.
    fn apart(sets: &[(Vec<Lane>, u32)], least: u32) -> Option<Self> {
        let windows = sets.iter().map(|(lanes, _)| ColumnPlacement::window_rows(lanes).ok());
        // All windows are of the same size.
        let window_rows = windows.collect::<Option<Vec<_>>>()?.into_iter().min()?;
        let enough = least > 0 && sets.iter().any(|(_, rows)| *rows >= least);
        let (lanes, rows) = sets[0].clone();
        let packed = enough && sets.iter().all(|(_, rows)| *rows > 0);
        packed.then_some(Self { lanes, rows, window_rows, sparse: false, apart: true })
    }

    /// The rows of a request with a partitioned region, as [`of`](Self::of).
    pub fn of_partitioned<I: PartitionId>(
        region: &PartitionedRegion<'_, I>,
        column_min_rows: u32,
    ) -> Option<Self> {
        Self::new((region.lanes(), region.rows()), false, column_min_rows)
    }

    fn new((lanes, rows): (Vec<Lane>, u32), one_bitmap: bool, least: u32) -> Option<Self> {
        let window_rows = ColumnPlacement::window_rows(&lanes).ok()?;
        let sparse = one_bitmap && window_rows >= Self::SPARSE_ROWS;
        (least > 0 && rows >= least).then_some(Self {
            lanes,
            rows,
            window_rows,
            sparse,
            apart: false,
        })
    }

    /// True if every destination has rows of its own, one destination's behind the other's, and windows too:
    /// lanes and rows are those of the first one.
    pub fn is_apart(&self) -> bool {
        self.apart
    }

    /// What every row has.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Rows, sent or not.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Rows that a window has room for.
    pub fn window_rows(&self) -> u32 {
        self.window_rows
    }

    /// True if windows leave out blocks of rows that nobody is sent: those of one bitmap for one destination
    /// ([`SparseWindow`](super::SparseWindow)).
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }
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

/// How many fragments of a unit are a row of their own to the card, one row after another, where a request's
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

/// True if lanes have the same lengths and steps for all destinations, and each begins behind the rows of the
/// same lane of the destination before.
fn are_apart(sets: &[(Vec<Lane>, u32)]) -> bool {
    let form = |lanes: &[Lane]| -> Vec<_> { lanes.iter().map(|l| (l.step, l.len)).collect() };
    let narrow = |lanes: &[Lane]| lanes.iter().all(|l| l.step <= APART_STEP && l.len <= APART_LEN);
    let follows = |pair: &[(Vec<Lane>, u32)]| {
        let rows = i128::from(pair[0].1);
        pair[0].0.iter().zip(&pair[1].0).all(|(before, lane)| {
            // As the card counts: modulo 2^64, and either way.
            let distance = lane.addr.wrapping_sub(before.addr).cast_signed();
            i128::from(distance) >= rows * i128::from(before.step)
        })
    };
    let first = form(&sets[0].0);
    sets.iter().all(|(lanes, _)| narrow(lanes) && form(lanes) == first)
        && sets.windows(2).all(follows)
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
        let rows = [bitmapped(0, 256, &[4, 8])];
        assert!(packed(&rows, RowMask::Period, 256).is_some());
        assert!(packed(&rows, RowMask::Period, 257).is_none());
        assert!(packed(&rows, RowMask::Period, 1).is_some());
        assert!(packed(&rows, RowMask::Period, 0).is_none());
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
    fn destinations_may_each_have_rows_of_their_own_behind_those_of_the_one_before() {
        let of = |regions: [Region<'static>; 3], least| {
            let destinations = regions.each_ref().map(std::slice::from_ref);
            PackedRows::of(destinations, RowMask::Period, least)
        };
        let at = |row: u64, count| strided(0x1000 + 64 * row, count, 2);
        let packed = of([at(0, 100), at(100, 300), at(400, 1)], 300).unwrap();
        assert!(packed.is_apart() && !packed.is_sparse());
        assert_eq!((packed.rows(), packed.lanes()[0].addr), (100, 0x1000));
        assert!(of([at(0, 100), at(99, 300), at(400, 1)], 300).is_none(), "rows in common");
        assert!(of([at(100, 300), at(0, 100), at(400, 1)], 300).is_none(), "another order");
        assert!(of([at(0, 100), at(100, 300), at(400, 0)], 300).is_none(), "one without rows");
        assert!(of([at(0, 100), at(100, 300), at(400, 1)], 301).is_none(), "too few");
        assert!(of([at(0, 100), at(100, 300), strided(0x10000, 300, 3)], 300).is_none());
        let same = of([at(0, 300), at(0, 300), at(0, 300)], 300).unwrap();
        assert!(!same.is_apart());
    }

    #[test]
    fn a_partitioned_region_is_packed_like_its_columns() {
        let columns = [column(0, 4), column(1, 8)];
        let region = PartitionedRegion::<u16>::unchecked(0, 1, 500, &columns).unwrap();
        let found = PackedRows::of_partitioned(&region, 500).unwrap();
        assert_eq!((found.rows(), found.lanes().len(), found.is_sparse()), (500, 2, false));
        assert_eq!(found.lanes()[1], Lane::dense(0x20_0000, 8));
        assert!(PackedRows::of_partitioned(&region, 501).is_none());
    }
}
