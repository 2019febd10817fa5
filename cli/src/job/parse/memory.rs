//! Buffers, and regions over them.

use std::{collections::HashMap, fs::File, io::Read as _, path::Path};

use drdma_abi::work_request::{MAX_CHAIN, MAX_ELEMENTS, MAX_VIEW_BUFFERS, VIEW};

use libdrdma::KindColumn;

use super::values::{hex_bytes, named, new_name};
use crate::job::{
    Buffer, Chase, Column, Contents, Extent, IdWidth, JobError, Kind, MAX_BUFFERS, Partitioned,
    Place, Problem, Region, ViewBuffer, have_kinds,
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
    // Pointers name other buffers, which may follow.
    let _later = fields.optional("pointers");
    Ok(Buffer { name, contents, pointers: Vec::new() })
}

/// The pointers in each buffer of a list.
pub(crate) fn pointers(
    list: &[At],
    names: &HashMap<String, usize>,
    buffers: &mut [Buffer],
) -> Result<(), JobError> {
    let regions = Regions { buffers: names };
    for (at, buffer) in list.iter().zip(buffers) {
        let Some(list) = at.object()?.optional("pointers") else { continue };
        for at in list.list_up_to(u32::MAX as usize, "pointers")? {
            let mut fields = at.object()?;
            let offset_at = fields.required("offset")?;
            let offset = offset_at.u64(0)?;
            let to = regions.pointer(&fields.required("to")?)?;
            fields.finish()?;
            let (end, len) = (u128::from(offset) + 8, buffer.len());
            if end > len as u128 {
                let buffer = buffer.name.clone();
                return Err(offset_at.error(Problem::Outside { end, buffer, len }));
            }
            buffer.pointers.push((offset, to));
        }
    }
    Ok(())
}

pub(crate) fn fits(at: &At, size: u64, left: u64) -> Result<(), JobError> {
    let problem = Problem::TooMuchMemory { size, limit: MAX_BUFFERS, left };
    if size > left { Err(at.error(problem)) } else { Ok(()) }
}

/// Buffers that regions refer to, by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Regions<'a> {
    pub buffers: &'a HashMap<String, usize>,
}

impl Regions<'_> {
    pub fn partitioned(&self, at: &At) -> Result<Partitioned, JobError> {
        let mut fields = at.object()?;
        if let Some(by) = fields.optional("partition_by") {
            if let Some(at) = fields.optional("ids") {
                let what = "a region with partition_by".to_owned();
                return Err(at.error(Problem::Meaningless { what }));
            }
            let (ids, by) = self.partition_by(&by)?;
            let rows = fields.required("rows")?.u32(0)?;
            let columns = self.columns(&fields.required("columns")?, true)?;
            fields.finish()?;
            return Ok(Partitioned { ids, width: IdWidth::Two, by: Some(by), rows, columns });
        }
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
        let columns = self.columns(&fields.required("columns")?, false)?;
        fields.finish()?;
        Ok(Partitioned { ids: place, width, by: None, rows, columns })
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
                pattern: self.pattern(&fields.required("pattern")?, false)?,
            },
            Type::Bitmapped => {
                let bits = |at: &At| -> Result<Place, JobError> {
                    let mut fields = at.object()?;
                    let place = self.place(&mut fields)?;
                    fields.finish()?;
                    Ok(place)
                };
                let mut bitmap = fields.required("bitmap")?.object()?;
                let place = self.place(&mut bitmap)?;
                let first = bit(&mut bitmap)?;
                bitmap.finish()?;
                let rows = fields.required("rows")?.u32(0)?;
                let columns = self.columns(&fields.required("columns")?, first > 0)?;
                let fetch_at = fields.optional("fetch_rows");
                if let Some(at) = &fetch_at
                    && (first > 0 || have_kinds(&columns))
                {
                    let what = "columns that are not of fixed width, or a bitmap from a bit on";
                    return Err(at.error(Problem::Meaningless { what: what.to_owned() }));
                }
                let fetch_rows = fetch_at.as_ref().map(bits).transpose()?;
                Region::Bitmapped { bitmap: place, first, rows, columns, fetch_rows }
            }
            Type::PointerMapped => {
                let chase = fields.optional("chase").map(|at| chase(&at)).transpose()?;
                let pointers = self.pointers(&fields.required("pointers")?)?;
                let pattern = self.pattern(&fields.required("pattern")?, chase.is_some())?;
                Region::PointerMapped { pointers, pattern, chase }
            }
        };
        fields.finish()?;
        Ok(region)
    }

    pub fn place(&self, fields: &mut Fields) -> Result<Place, JobError> {
        let buffer = named(&fields.required("buffer")?, "buffer", self.buffers)?;
        Ok(Place { buffer, offset: fields.required("offset")?.u64(0)? })
    }

    /// Columns. `kinds`: the region has kinds even if all of these have a fixed width.
    pub fn columns(&self, at: &At, kinds: bool) -> Result<Vec<Column>, JobError> {
        let list = at.list_up_to(MAX_ELEMENTS, "columns")?;
        if list.is_empty() {
            return Err(at.error(Problem::Empty { what: "column" }));
        }
        let columns: Vec<_> = list.iter().map(|at| self.column(at)).collect::<Result<_, _>>()?;
        if kinds || have_kinds(&columns) {
            for (at, column) in list.iter().zip(&columns) {
                short(at, "width", column.width)?;
            }
        }
        Ok(columns)
    }

    pub(super) fn column(&self, at: &At) -> Result<Column, JobError> {
        let mut fields = at.object()?;
        let kind = kind_name(&mut fields, true)?;
        let base = self.place(&mut fields)?;
        let (width, kind) = self.kind(&mut fields, kind, "width")?;
        fields.finish()?;
        Ok(Column { base, width, kind })
    }

    /// Extents. `kinds`: the region has kinds even if all of these have a fixed width.
    fn pattern(&self, at: &At, kinds: bool) -> Result<Vec<Extent>, JobError> {
        let list = at.list_up_to(MAX_ELEMENTS, "extents")?;
        if list.is_empty() {
            return Err(at.error(Problem::Empty { what: "extent" }));
        }
        let extent = |at: &At| {
            let mut fields = at.object()?;
            let kind = kind_name(&mut fields, false)?;
            let offset = fields.required("offset")?.u64(0)?;
            let (len, kind) = self.kind(&mut fields, kind, "len")?;
            fields.finish()?;
            Ok(Extent { offset, len, kind })
        };
        let pattern = list.iter().map(extent).collect::<Result<Vec<_>, JobError>>()?;
        if kinds || pattern.iter().any(|extent| extent.kind != Kind::Fixed) {
            for (at, extent) in list.iter().zip(&pattern) {
                short(at, "len", extent.len)?;
            }
        }
        Ok(pattern)
    }

    /// The width of an entry, and the kind with what its entries lead to. The width of a fixed one is called `len` in
    /// extents.
    fn kind(
        &self,
        fields: &mut Fields,
        kind: KindName,
        len: &'static str,
    ) -> Result<(u32, Kind), JobError> {
        Ok(match kind {
            KindName::Fixed => (fields.required(len)?.u32(1)?, Kind::Fixed),
            KindName::Bits => (1, Kind::Bits { first: bit(fields)? }),
            KindName::Varlen => {
                let width = entry_width(fields, &[4, 8])?;
                (width, Kind::Varlen { data: self.inner_place(fields, "data")? })
            }
            KindName::Views => {
                let list = fields.required("buffers")?;
                let list = list.list_up_to(MAX_VIEW_BUFFERS as usize, "buffers of views")?;
                let buffer = |at: &At| {
                    let mut fields = at.object()?;
                    let base = self.place(&mut fields)?;
                    let len = fields.required("len")?.u32(0)?;
                    fields.finish()?;
                    Ok(ViewBuffer { base, len })
                };
                let buffers = list.iter().map(buffer).collect::<Result<_, JobError>>()?;
                (VIEW as u32, Kind::Views { buffers })
            }
            KindName::Dictionary => {
                let index = entry_width(fields, &[1, 2, 4, 8])?;
                let mut inner = fields.required("values")?.object()?;
                let values = self.place(&mut inner)?;
                let width = inner.required("width")?;
                let width = width.integer(1, KindColumn::MAX_WIDTH.into())? as u32;
                inner.finish()?;
                let count = fields.required("count")?.u32(0)?;
                (index, Kind::Dictionary { values, width, count })
            }
        })
    }

    /// A place that stands in a field of its own.
    fn inner_place(&self, fields: &mut Fields, name: &'static str) -> Result<Place, JobError> {
        let mut inner = fields.required(name)?.object()?;
        let place = self.place(&mut inner)?;
        inner.finish()?;
        Ok(place)
    }

    pub fn pointers(&self, at: &At) -> Result<Vec<Place>, JobError> {
        let list = at.list_up_to(u32::MAX as usize, "pointers")?;
        list.iter().map(|at| self.pointer(at)).collect()
    }

    /// A buffer's name and an offset.
    fn pointer(&self, at: &At) -> Result<Place, JobError> {
        let pair = at.list()?;
        let [buffer, offset] = pair.as_slice() else {
            let (expected, found) = ("a pair [buffer, offset]", format!("{} values", pair.len()));
            return Err(at.error(Problem::Type { expected, found }));
        };
        Ok(Place { buffer: named(buffer, "buffer", self.buffers)?, offset: offset.u64(0)? })
    }
}

/// The kinds of columns and extents.
#[derive(Clone, Copy)]
enum KindName {
    Fixed,
    Varlen,
    Views,
    Dictionary,
    Bits,
}

/// The name of the kind: fixed by default. Extents cannot be bits.
fn kind_name(fields: &mut Fields, is_column: bool) -> Result<KindName, JobError> {
    let kinds = [
        ("fixed", KindName::Fixed),
        ("varlen", KindName::Varlen),
        ("views", KindName::Views),
        ("dictionary", KindName::Dictionary),
        ("bits", KindName::Bits),
    ];
    let kinds = if is_column { &kinds[..] } else { &kinds[..4] };
    fields.optional("type").map_or(Ok(KindName::Fixed), |at| at.choice(kinds))
}

/// Refuses an element that is longer than elements of a region with kinds can be.
pub(super) fn short(at: &At, name: &'static str, width: u32) -> Result<(), JobError> {
    let max = KindColumn::MAX_WIDTH;
    if width > max {
        let problem = Problem::TooLarge { value: width.into(), max: max.into() };
        return Err(at.object()?.child_error(name, problem));
    }
    Ok(())
}

/// How records lead to further ones.
fn chase(at: &At) -> Result<Chase, JobError> {
    let mut fields = at.object()?;
    let next = fields.required("next")?.u32(0)?;
    let end = fields.optional("end").map_or(Ok(0), |at| at.u64(0))?;
    let limit = fields.required("limit")?.integer(1, MAX_CHAIN.into())? as u32;
    fields.finish()?;
    Ok(Chase { next, end, limit })
}

/// The place of row 0's bit in its byte: 0 by default.
pub(super) fn bit(fields: &mut Fields) -> Result<u8, JobError> {
    fields.optional("bit").map_or(Ok(0), |at| Ok(at.integer(0, 7)? as u8))
}

/// Bytes of an offset or an index.
fn entry_width(fields: &mut Fields, choices: &[u32]) -> Result<u32, JobError> {
    let at = fields.required("width")?;
    let value = at.u64(0)?;
    match choices.iter().find(|choice| u64::from(**choice) == value) {
        Some(width) => Ok(*width),
        None => Err(at.error(Problem::NumberChoice { value, choices: choices.to_vec() })),
    }
}
