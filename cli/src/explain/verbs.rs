//! A request as libdrdma has it, to find out how the card treats it.

use drdma_semantics::{
    region::{self, Region},
    request::Request,
};
use libdrdma::{Column, Extent, RegionError};

/// The regions of each destination.
///
/// # Panics
/// If a region has more elements than a region can have, which job files exclude.
pub fn regions(request: &Request) -> Vec<Vec<libdrdma::Region<'static>>> {
    let of_destination = |regions: &Vec<Region>| {
        regions
            .iter()
            .map(verb)
            .collect::<Result<_, _>>()
            .expect("regions of a job have 16 elements at most")
    };
    request.destinations.iter().map(|destination| of_destination(&destination.regions)).collect()
}

/// The columns of a region.
pub fn columns(columns: &[region::Column]) -> Vec<Column> {
    let column = |column: &region::Column| {
        let region::Column { base, width, lkey } = *column;
        Column { addr: base, width, lkey }
    };
    columns.iter().map(column).collect()
}

fn extents(pattern: &[region::Extent]) -> Vec<Extent> {
    pattern.iter().map(|extent| Extent { offset: extent.offset, len: extent.len }).collect()
}

fn verb(region: &Region) -> Result<libdrdma::Region<'static>, RegionError> {
    use libdrdma::Region as Verb;
    match region {
        Region::Contiguous { addr, len, lkey } => {
            Ok(Verb::unchecked_contiguous(*addr, *len, *lkey))
        }
        Region::Strided { base, period, count, lkey, pattern } => {
            Verb::unchecked_strided(*base, *lkey, *period, *count, &extents(pattern))
        }
        Region::Bitmapped { bitmap, rows, lkey, columns: of_row, fetch_rows } => {
            let fetch_rows = fetch_rows.as_ref().map(|rows| (rows.bitmap, rows.lkey));
            Verb::unchecked_bitmapped_with(*bitmap, *lkey, *rows, &columns(of_row), fetch_rows)
        }
        Region::PointerMapped { pointers, count, lkey, target_lkey, pattern } => {
            Verb::unchecked_pointer_mapped(
                *pointers,
                *lkey,
                *count,
                *target_lkey,
                &extents(pattern),
            )
        }
        Region::Kinds(_) => unreachable!("nobody asks how these are placed"),
    }
}
