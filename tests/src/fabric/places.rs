//! The places of a region's bytes, one by one.

use serde_json::Value;

use crate::expect::{Memory, list, number, text};

/// A byte of a buffer: the buffer's name, and where it lies there.
pub type Place = (String, usize);

/// Every byte of a region, in the order in which a message fills it; `None` if one is outside its buffer, or
/// the region is of a type that is not known here.
pub fn of_region(memory: &Memory, region: &Value) -> Option<Vec<Place>> {
    let mut places = Vec::new();
    match text(&region["type"]) {
        "contiguous" => {
            run(memory, &region["buffer"], start(region), length(region, "len"), &mut places)?
        }
        "strided" => {
            for i in 0..number(&region["count"]) {
                for extent in list(&region["pattern"]) {
                    let at = start(region) + i * number(&region["period"]) + start(extent);
                    run(memory, &region["buffer"], at, length(extent, "len"), &mut places)?;
                }
            }
        }
        "bitmapped" => {
            let bitmap = memory.bytes(text(&region["bitmap"]["buffer"]));
            let first = start(&region["bitmap"]) as usize;
            let bytes = (number(&region["rows"]) as usize).div_ceil(8);
            if let Some(fetch) = region.get("fetch_rows").filter(|_| bytes > 0) {
                // Fetch rows are neither sent nor filled, but must be inside their buffer.
                run(memory, &fetch["buffer"], start(fetch), bytes, &mut Vec::new())?;
            }
            for row in 0..number(&region["rows"]) as usize {
                let byte = *bitmap.get(first.checked_add(row / 8)?)?;
                for column in list(&region["columns"]) {
                    let width = length(column, "width");
                    let at = start(column) + row as u128 * width as u128;
                    let mut value = Vec::new();
                    // All rows must be inside the buffer, selected or not.
                    run(memory, &column["buffer"], at, width, &mut value)?;
                    if byte >> (row % 8) & 1 == 1 {
                        places.append(&mut value);
                    }
                }
            }
        }
        "pointer_mapped" => {
            for pointer in list(&region["pointers"]) {
                for extent in list(&region["pattern"]) {
                    let at = number(&pointer[1]) + start(extent);
                    run(memory, &pointer[0], at, length(extent, "len"), &mut places)?;
                }
            }
        }
        _ => return None,
    }
    Some(places)
}

fn start(of: &Value) -> u128 {
    number(&of["offset"])
}

fn length(of: &Value, field: &str) -> usize {
    number(&of[field]) as usize
}

/// Appends `len` bytes of a buffer from `start` on.
fn run(
    memory: &Memory,
    buffer: &Value,
    start: u128,
    len: usize,
    places: &mut Vec<Place>,
) -> Option<()> {
    let name = text(buffer);
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(len)?;
    if end > memory.bytes(name).len() {
        return None;
    }
    places.extend((start..end).map(|at| (name.to_owned(), at)));
    Some(())
}
