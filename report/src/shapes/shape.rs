//! A shape: the columns, rows, destinations and regions of some requests that are posted back to back.

use std::{fmt, str::FromStr};

use crate::layout::RowMask;

/// Destinations of a request, at most.
pub const MOST_DESTINATIONS: usize = drdma_abi::work_request::MAX_DESTINATIONS;
/// Columns of a row, at most.
pub const MOST_COLUMNS: usize = drdma_abi::work_request::MAX_ELEMENTS;
/// Bytes of a row, at most.
pub const MOST_ROW: u64 = 1 << 10;

/// How the destination of a row is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By a bitmap for each destination.
    Bitmaps,
    /// By an id for each row: a partitioned region.
    Ids,
    /// By an integer of 4 B for each row, of which the card makes the id by Murmur3.
    Key4,
    /// By an integer of 8 B for each row, of which the card makes the id by Murmur3.
    Key8,
    /// By stretches of rows, one a destination: strided regions whose extents are the columns of a row store.
    Extents,
}

impl By {
    /// True for a partitioned region.
    pub fn is_partitioned(self) -> bool {
        self == Self::Ids || self.key_width().is_some()
    }

    /// Bytes of a key that ids are made of; `None` without keys.
    pub fn key_width(self) -> Option<u64> {
        match self {
            Self::Key4 => Some(4),
            Self::Key8 => Some(8),
            Self::Bitmaps | Self::Ids | Self::Extents => None,
        }
    }
}

/// Alignment of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Columns begin at a page.
    Page,
    /// Columns begin at a cache line.
    Line,
    /// Columns begin at an odd address.
    Odd,
}

/// A shape of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a value of each column.
    pub columns: Vec<u64>,
    /// Rows of a request, including those that are not selected.
    pub rows: u64,
    /// Number of destinations.
    pub destinations: usize,
    /// How the destination of a row is determined.
    pub by: By,
    /// Percent of the rows that are sent.
    pub select: u64,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Row mask: one region of all columns, or a region for each column.
    pub mask: RowMask,
    /// Rows of a message; `None` for as many as fit a packet.
    pub pack: Option<u32>,
    /// Alignment of columns.
    pub at: At,
    /// True for WRITEs, false for SENDs.
    pub write: bool,
    /// A WRITE by columns: each column goes to an address of its own.
    pub by_columns: bool,
    /// Number of requests; `None` for as many as make the first one's latency small.
    pub posts: Option<u32>,
    /// Seed of the selected rows, their destinations, and the columns' addresses.
    pub seed: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            columns: vec![4; 5],
            rows: 8192,
            destinations: 1,
            by: By::Bitmaps,
            select: 100,
            mtu: 4096,
            mask: RowMask::Period,
            pack: None,
            at: At::Page,
            write: true,
            by_columns: false,
            posts: None,
            seed: 1,
        }
    }
}

impl Shape {
    /// Bytes of a row that are sent.
    pub fn row(&self) -> u64 {
        self.columns.iter().sum()
    }

    /// Rows of a message.
    pub fn rows_per_message(&self) -> u32 {
        self.pack.unwrap_or((u64::from(self.mtu) / self.row()).max(1) as u32)
    }
}

const BY: [(&str, By); 5] = [
    ("bitmaps", By::Bitmaps),
    ("ids", By::Ids),
    ("key4", By::Key4),
    ("key8", By::Key8),
    ("extents", By::Extents),
];
const AT: [(&str, At); 3] = [("page", At::Page), ("line", At::Line), ("odd", At::Odd)];
const MASK: [(&str, RowMask); 2] = [("period", RowMask::Period), ("element", RowMask::Element)];
const OP: [(&str, bool); 2] = [("write", true), ("send", false)];
const LAYOUT: [(&str, bool); 2] = [("rows", false), ("columns", true)];

fn name<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> &'static str {
    names.iter().find(|(_, known)| known == value).map_or("?", |(name, _)| name)
}

fn named<T: Copy>(key: &str, names: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
        format!("{key}={text}: it is one of {}", names.join(", "))
    })
}

fn number<T: FromStr>(key: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{key}={text}: it is a number"))
}

/// Columns as text: `8x16` are eight of 16 B, `2x8+4+1` two of 8 B, one of 4 B and one of 1 B.
fn columns(text: &str) -> Result<Vec<u64>, String> {
    let mut columns = Vec::new();
    for part in text.split('+') {
        let (count, width) = part.split_once('x').unwrap_or(("1", part));
        let count: usize = number("columns", count)?;
        if count == 0 || columns.len() + count > MOST_COLUMNS {
            return Err(format!("columns={text}: there are 1 to {MOST_COLUMNS}"));
        }
        columns.extend(vec![number::<u64>("columns", width)?; count]);
    }
    match columns.contains(&0) {
        true => Err(format!("columns={text}: a column has at least 1 B")),
        false => Ok(columns),
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut shape = Self::default();
        for part in text.split_whitespace() {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` is not of the form key=value"))?;
            match key {
                "columns" => shape.columns = columns(value)?,
                "rows" => shape.rows = number(key, value)?,
                "dests" => shape.destinations = number(key, value)?,
                "by" => shape.by = named(key, &BY, value)?,
                "select" => shape.select = number(key, value)?,
                "mtu" => shape.mtu = number(key, value)?,
                "mask" => shape.mask = named(key, &MASK, value)?,
                "pack" if value == "full" => shape.pack = None,
                "pack" => shape.pack = Some(number(key, value)?),
                "at" => shape.at = named(key, &AT, value)?,
                "op" => shape.write = named(key, &OP, value)?,
                "layout" => shape.by_columns = named(key, &LAYOUT, value)?,
                "posts" => shape.posts = Some(number(key, value)?),
                "seed" => shape.seed = number(key, value)?,
                _ => return Err(format!("a shape has no `{key}`")),
            }
        }
        shape.check()?;
        Ok(shape)
    }
}

impl Shape {
    fn check(&self) -> Result<(), String> {
        let within = |key: &str, value: u64, least: u64, most: u64| match value {
            _ if (least..=most).contains(&value) => Ok(()),
            _ => Err(format!("{key}={value}: it is {least} to {most}")),
        };
        within("dests", self.destinations as u64, 1, MOST_DESTINATIONS as u64)?;
        within("rows", self.rows, self.destinations as u64, 1 << 20)?;
        within("select", self.select, 1, 100)?;
        within("pack", self.pack.unwrap_or(1).into(), 1, 1 << 16)?;
        within("posts", self.posts.unwrap_or(1).into(), 1, 1 << 13)?;
        if !drdma_abi::roce::MTUS.contains(&self.mtu) {
            return Err(format!("mtu={}: it is one of {:?}", self.mtu, drdma_abi::roce::MTUS));
        }
        if self.by_columns
            && (!self.write || self.mask == RowMask::Element || self.destinations == 1)
        {
            return Err(
                "layout=columns: these are WRITEs to several destinations under row mask Period"
                    .to_owned(),
            );
        }
        if self.by.is_partitioned() && self.mask == RowMask::Element {
            return Err("mask=element: a partitioned region (by=ids, key4 or key8) has rows only"
                .to_owned());
        }
        Ok(())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths: Vec<(usize, u64)> = Vec::new();
        for width in &self.columns {
            match widths.last_mut() {
                Some((count, same)) if same == width => *count += 1,
                _ => widths.push((1, *width)),
            }
        }
        let widths: Vec<_> =
            widths.iter().map(|(count, width)| format!("{count}x{width}")).collect();
        write!(
            f,
            "columns={} rows={} dests={} by={} select={} mtu={} mask={} pack={} at={} op={} seed={}",
            widths.join("+"),
            self.rows,
            self.destinations,
            name(&BY, &self.by),
            self.select,
            self.mtu,
            name(&MASK, &self.mask),
            self.pack.map_or("full".to_owned(), |rows| rows.to_string()),
            name(&AT, &self.at),
            name(&OP, &self.write),
            self.seed,
        )?;
        if self.by_columns {
            write!(f, " layout={}", name(&LAYOUT, &true))?;
        }
        self.posts.map_or(Ok(()), |posts| write!(f, " posts={posts}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_read_as_it_is_written() {
        let text = "columns=2x8+1x3 rows=1000 dests=7 by=extents select=30 mtu=1024 mask=element pack=9 \
                    at=odd op=send seed=5 posts=4";
        let shape: Shape = text.parse().unwrap();
        assert_eq!(shape.columns, [8, 8, 3]);
        assert_eq!(shape.to_string(), text);
        let text = "columns=5x8 rows=100 dests=2 by=ids select=100 mtu=4096 mask=period pack=full \
                    at=page op=write seed=1 layout=columns";
        let shape: Shape = text.parse().unwrap();
        assert!(shape.by_columns);
        assert_eq!(shape.to_string(), text);
        assert_eq!("".parse::<Shape>().unwrap(), Shape::default());
        assert_eq!("columns=5x4".parse::<Shape>().unwrap().rows_per_message(), 204);
    }

    #[test]
    fn what_no_shape_is_is_refused_by_its_name() {
        for (text, error) in [
            ("rows", "`rows` is not of the form key=value"),
            ("colour=8", "a shape has no `colour`"),
            ("rows=x", "rows=x: it is a number"),
            ("columns=17x1", "columns=17x1: there are 1 to 16"),
            ("columns=0x1", "columns=0x1: there are 1 to 16"),
            ("columns=2x0", "columns=2x0: a column has at least 1 B"),
            ("by=magic", "by=magic: it is one of bitmaps, ids, key4, key8, extents"),
            ("dests=0", "dests=0: it is 1 to 256"),
            ("dests=257", "dests=257: it is 1 to 256"),
            ("dests=8 rows=7", "rows=7: it is 8 to 1048576"),
            ("select=0", "select=0: it is 1 to 100"),
            ("pack=0", "pack=0: it is 1 to 65536"),
            ("posts=0", "posts=0: it is 1 to 8192"),
            ("mtu=1500", "mtu=1500: it is one of [256, 512, 1024, 2048, 4096]"),
            (
                "dests=2 op=send layout=columns",
                "layout=columns: these are WRITEs to several destinations under row mask Period",
            ),
            ("layout=pax", "layout=pax: it is one of rows, columns"),
            (
                "by=ids mask=element",
                "mask=element: a partitioned region (by=ids, key4 or key8) has rows only",
            ),
        ] {
            assert_eq!(text.parse::<Shape>().unwrap_err(), error);
        }
    }
}
