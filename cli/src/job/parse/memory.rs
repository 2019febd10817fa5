//! Buffers, and regions over them.

use std::{collections::HashMap, fs::File, io::Read as _, path::Path};

use drdma_abi::work_request::MAX_ELEMENTS;

use super::values::{hex_bytes, named, new_name};
use crate::job::{
    Buffer, Column, Contents, Extent, IdWidth, JobError, MAX_BUFFERS, Partitioned, Place, Problem,
    Region,
    json::{At, Fields},
};

/// A buffer of at most `left` bytes, as one of `list`.
pub(crate) fn buffer(
    fields: &mut Fields,
    folder: &Path,
    names: &mut HashMap<String, usize>,
    list: &str,
    left: u64,
) -> Result<Buffer, JobError> {
    let name = new_name(&fields.required("name")?, list, names)?;
    let (file, hex, size) =
        (fields.optional("file"), fields.optional("hex"), fields.optional("size"));
    let found = [&file, &hex, &size].iter().filter(|source| source.is_some()).count();
    let contents = match (found, file, hex, size) {
        (1, Some(file), ..) => {
            let path = folder.join(file.text()?);
            let mut bytes = Vec::new();
            let opened = File::open(&path);
            opened
                .and_then(|file| file.take(left + 1).read_to_end(&mut bytes))
                .map_err(|source| file.error(Problem::File { file: path, source }))?;
            fits(&file, bytes.len() as u64, left)?;
            Contents::Bytes(bytes)
        }
        (1, _, Some(hex), _) => Contents::Bytes(hex_bytes(&hex)?),
        (1, _, _, Some(at)) => {
            let size = at.u64(0)?;
            fits(&at, size, left)?;
            Contents::Zeros(size as usize)
        }
        _ => return Err(fields.at.error(Problem::BufferSource { found })),
    };
    Ok(Buffer { name, contents })
}

pub(crate) fn fits(at: &At, size: u64, left: u64) -> Result<(), JobError> {
    let problem = Problem::TooMuchMemory { size, limit: MAX_BUFFERS, left };
    if size > left { Err(at.error(problem)) } else { Ok(()) }
}

/// What regions refer to: buffers by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Regions<'a> {
    pub buffers: &'a HashMap<String, usize>,
}

impl Regions<'_> {
    pub fn partitioned(&self, at: &At) -> Result<Partitioned, JobError> {
        let mut fields = at.object()?;
        let mut ids = fields.required("ids")?.object()?;
        let place = self.place(&mut ids)?;
        let width_at = ids.required("width")?;
        let width = match width_at.u64(0)? {
            1 => IdWidth::One,
            2 => IdWidth::Two,
            value => {
                return Err(width_at.error(Problem::NumberChoice { value, choices: vec![1, 2] }));
            }
        };
        ids.finish()?;
        let rows = fields.required("rows")?.u32(0)?;
        let columns = self.columns(&fields.required("columns")?)?;
        fields.finish()?;
        Ok(Partitioned { ids: place, width, rows, columns })
    }

    pub fn region(&self, at: &At) -> Result<Region, JobError> {
        #[derive(Clone, Copy)]
        enum Type {
            Contiguous,
            Strided,
            Bitmapped,
            PointerMapped,
        }
        let mut fields = at.object()?;
        let region_type = fields.required("type")?.choice(&[
            ("contiguous", Type::Contiguous),
            ("strided", Type::Strided),
            ("bitmapped", Type::Bitmapped),
            ("pointer_mapped", Type::PointerMapped),
        ])?;
        let region = match region_type {
            Type::Contiguous => {
                let base = self.place(&mut fields)?;
                Region::Contiguous { base, len: fields.required("len")?.u32(1)? }
            }
            Type::Strided => Region::Strided {
                base: self.place(&mut fields)?,
                period: fields.required("period")?.u64(1)?,
                count: fields.required("count")?.u32(0)?,
                pattern: pattern(&fields.required("pattern")?)?,
            },
            Type::Bitmapped => {
                let bits = |at: &At| -> Result<Place, JobError> {
                    let mut fields = at.object()?;
                    let place = self.place(&mut fields)?;
                    fields.finish()?;
                    Ok(place)
                };
                Region::Bitmapped {
                    bitmap: bits(&fields.required("bitmap")?)?,
                    rows: fields.required("rows")?.u32(0)?,
                    columns: self.columns(&fields.required("columns")?)?,
                    fetch_rows: fields.optional("fetch_rows").as_ref().map(bits).transpose()?,
                }
            }
            Type::PointerMapped => Region::PointerMapped {
                pointers: self.pointers(&fields.required("pointers")?)?,
                pattern: pattern(&fields.required("pattern")?)?,
            },
        };
        fields.finish()?;
        Ok(region)
    }

    pub fn place(&self, fields: &mut Fields) -> Result<Place, JobError> {
        let buffer = named(&fields.required("buffer")?, "buffer", self.buffers)?;
        Ok(Place { buffer, offset: fields.required("offset")?.u64(0)? })
    }

    pub fn columns(&self, at: &At) -> Result<Vec<Column>, JobError> {
        let list = at.list_up_to(MAX_ELEMENTS, "columns")?;
        if list.is_empty() {
            return Err(at.error(Problem::Empty { what: "column" }));
        }
        let column = |at: &At| {
            let mut fields = at.object()?;
            let base = self.place(&mut fields)?;
            let width = fields.required("width")?.u32(1)?;
            fields.finish()?;
            Ok(Column { base, width })
        };
        list.iter().map(column).collect()
    }

    pub fn pointers(&self, at: &At) -> Result<Vec<Place>, JobError> {
        let list = at.list_up_to(u32::MAX as usize, "pointers")?;
        let pointer = |at: &At| {
            let pair = at.list()?;
            let [buffer, offset] = pair.as_slice() else {
                let (expected, found) =
                    ("a pair [buffer, offset]", format!("{} values", pair.len()));
                return Err(at.error(Problem::Type { expected, found }));
            };
            Ok(Place { buffer: named(buffer, "buffer", self.buffers)?, offset: offset.u64(0)? })
        };
        list.iter().map(pointer).collect()
    }
}

fn pattern(at: &At) -> Result<Vec<Extent>, JobError> {
    let list = at.list_up_to(MAX_ELEMENTS, "extents")?;
    if list.is_empty() {
        return Err(at.error(Problem::Empty { what: "extent" }));
    }
    let extent = |at: &At| {
        let mut fields = at.object()?;
        let extent = Extent {
            offset: fields.required("offset")?.u64(0)?,
            len: fields.required("len")?.u32(1)?,
        };
        fields.finish()?;
        Ok(extent)
    };
    list.iter().map(extent).collect()
}
