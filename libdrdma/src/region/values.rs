//! Kinds of values, with the memory that their entries lead to, checked.

use drdma_abi::work_request::{KeyValues, MAX_VIEW_BUFFERS, VIEW};

use super::{ColumnKind, KindColumn, List, Part, RegionError, inside, kinds::MAX_WIDTH, word};
use crate::{KeptRegionError, Memory, MemoryRegion, ProtectionDomain, encode::words, memory::Hold};

/// Kind of a column or extent: how its *entries* lead to its values. For `typed_column` and
/// `typed_extent` of the builders of regions, and for keys of
/// [`PartitionKeys`](super::PartitionKeys).
///
/// A value of variable length is sent as its length, of 4 B, and its bytes (`docs/semantics.md`, *Kinds of
/// columns*). Whatever entries a card reads, it sends no byte from outside of the memory that is given here.
#[derive(Clone, Debug)]
pub struct Values<'m> {
    kind: Kind<'m>,
}

#[derive(Clone, Debug)]
enum Kind<'m> {
    Fixed(u64),
    Bits(u8),
    Offsets { width: u8, data: Memory<'m>, at: u64 },
    Views { table: Memory<'m>, count: u32, hold: Hold },
    Dictionary { index: u8, values: Memory<'m>, at: u64, width: u64, count: u64 },
}

impl<'m> Values<'m> {
    fn new(kind: Kind<'m>) -> Self {
        Self { kind }
    }

    /// Entries that are the values, of `width` bytes: 1 to 2^24 - 1.
    pub fn fixed(width: u64) -> Self {
        Self::new(Kind::Fixed(width))
    }

    /// Entries that are bits, of a column alone: row 0's is bit `first`, 0 (the least significant)
    /// to 7, of the byte at the column's offset.
    pub fn bits(first: u8) -> Self {
        Self::new(Kind::Bits(first))
    }

    /// Entries of two offsets of 4 B, between which the value lies in `data`, counted from its byte
    /// `at` on (Arrow's `Utf8` and `Binary`). A column has one more offset than rows.
    pub fn offsets_32(data: impl Into<Memory<'m>>, at: u64) -> Self {
        Self::new(Kind::Offsets { width: 4, data: data.into(), at })
    }

    /// Like [`offsets_32`](Self::offsets_32), with offsets of 8 B (Arrow's `LargeUtf8` and
    /// `LargeBinary`).
    pub fn offsets_64(data: impl Into<Memory<'m>>, at: u64) -> Self {
        Self::new(Kind::Offsets { width: 8, data: data.into(), at })
    }

    /// Entries that are views of 16 B: a value of up to 12 B itself, or a buffer of `table` and an
    /// offset in it (Arrow's `Utf8View` and `BinaryView`).
    pub fn views(table: &ViewTable<'m>) -> Self {
        let ViewTable { table, count, hold } = table.clone();
        Self::new(Kind::Views { table, count, hold })
    }

    /// Entries that are indices of `index` bytes (1, 2, 4 or 8, little-endian) of `count` values of
    /// `width` bytes, which lie in `values` from byte `at` on.
    pub fn dictionary(
        index: u8,
        values: impl Into<Memory<'m>>,
        at: u64,
        width: u64,
        count: u64,
    ) -> Self {
        Self::new(Kind::Dictionary { index, values: values.into(), at, width, count })
    }

    /// Size of an entry in bytes; 0 for bits.
    fn entry_len(&self) -> u64 {
        match self.kind {
            Kind::Fixed(width) => width,
            Kind::Bits(_) => 0,
            Kind::Offsets { width, .. } => 2 * u64::from(width),
            Kind::Views { .. } => VIEW as u64,
            Kind::Dictionary { index, .. } => index.into(),
        }
    }

    /// Bytes that the entries of a column of `rows` rows cover.
    fn column_len(&self, rows: u64) -> u128 {
        let rows = u128::from(rows);
        match self.kind {
            _ if rows == 0 => 0,
            Kind::Bits(first) => (u128::from(first) + rows).div_ceil(8),
            Kind::Offsets { width, .. } => (rows + 1) * u128::from(width),
            _ => rows * u128::from(self.entry_len()),
        }
    }

    /// Length in bytes of a value of fixed width; `None` of other values.
    pub(super) fn width(&self) -> Option<u64> {
        match self.kind {
            Kind::Fixed(width) | Kind::Dictionary { width, .. } => Some(width),
            _ => None,
        }
    }

    pub(super) fn is_bits(&self) -> bool {
        matches!(self.kind, Kind::Bits(_))
    }

    /// Kind of the values, for a function that makes partitions.
    pub(super) fn of_keys(&self) -> KeyValues {
        match self.kind {
            Kind::Fixed(width) | Kind::Dictionary { width, .. } => KeyValues::Fixed(width),
            Kind::Bits(_) => KeyValues::Bits,
            Kind::Offsets { .. } | Kind::Views { .. } => KeyValues::Variable,
        }
    }

    /// Description of the values, for errors.
    pub(super) fn describe(&self) -> String {
        match self.kind {
            Kind::Fixed(width) => format!("values of {width} B"),
            Kind::Bits(_) => "bits".to_owned(),
            Kind::Offsets { .. } | Kind::Views { .. } => "values of variable length".to_owned(),
            Kind::Dictionary { width, .. } => format!("values of {width} B of a dictionary"),
        }
    }

    /// Shared memory of the values.
    pub(super) fn hold(&self) -> Hold {
        match &self.kind {
            Kind::Fixed(_) | Kind::Bits(_) => Hold::Nothing,
            Kind::Offsets { data, .. } => Hold::of([data]),
            Kind::Views { table, hold, .. } => Hold::all(vec![Hold::of([table]), hold.clone()]),
            Kind::Dictionary { values, .. } => Hold::of([values]),
        }
    }

    /// Checks the memory that the entries of element `index` lead to, and describes the kind for
    /// the card.
    pub(super) fn check(
        &self,
        region: &'static str,
        index: usize,
        pd: u32,
    ) -> Result<ColumnKind, RegionError> {
        let width = |what: Part, value: u64| match value {
            0 => Err(RegionError::Zero { region, what }),
            1..=0xff_ffff => Ok(value as u32),
            _ => Err(RegionError::TooWide { region, what, value, limit: MAX_WIDTH }),
        };
        Ok(match &self.kind {
            Kind::Fixed(bytes) => {
                ColumnKind::Fixed { width: width(Part::ColumnWidth(index), *bytes)? }
            }
            &Kind::Bits(first) if first > 7 => {
                let what = Part::ColumnBit(index);
                return Err(RegionError::Bit { region, what, value: first });
            }
            &Kind::Bits(first) => ColumnKind::Bits { first },
            Kind::Offsets { width, data, at } => {
                let what = Part::Data(index);
                inside(region, what, data, pd, (*at).into(), 0)?;
                if !data.has_own_key() {
                    return Err(RegionError::SharedKey { region, what });
                }
                let (data, lkey) = (data.addr() + at, data.lkey());
                ColumnKind::Offsets { width: *width, data, lkey }
            }
            Kind::Views { table, count, .. } => {
                inside(region, Part::ViewTable(index), table, pd, 0, 0)?;
                ColumnKind::Views { table: table.addr(), count: *count, lkey: table.lkey() }
            }
            Kind::Dictionary { index: entry, values, at, width: bytes, count } => {
                if ![1, 2, 4, 8].contains(entry) {
                    let (what, value) = (Part::ColumnWidth(index), (*entry).into());
                    return Err(RegionError::EntryWidth { region, what, value });
                }
                let width = width(Part::DictionaryWidth(index), *bytes)?;
                let count = word(region, Part::DictionaryCount(index), *count)?;
                let len = u128::from(count) * u128::from(width);
                inside(region, Part::Dictionary(index), values, pd, (*at).into(), len)?;
                let (values, lkey) = (values.addr().wrapping_add(*at), values.lkey());
                ColumnKind::Dictionary { index: *entry, values, width, count, lkey }
            }
        })
    }

    /// Checks a column or a key whose entry of row 0 is at `offset` of `memory`; `what` is its name.
    pub(super) fn check_column(
        &self,
        region: &'static str,
        (what, index): (Part, usize),
        (memory, offset): (&Memory<'_>, u64),
        rows: u64,
        pd: u32,
    ) -> Result<KindColumn, RegionError> {
        let kind = self.check(region, index, pd)?;
        inside(region, what, memory, pd, 0, 0)?;
        if rows > 0 {
            inside(region, what, memory, pd, offset.into(), self.column_len(rows))?;
        }
        Ok(KindColumn { addr: memory.addr().wrapping_add(offset), lkey: memory.lkey(), kind })
    }

    /// Checks an extent at `offset` of its period or record; also returns the size of its entry in
    /// bytes.
    pub(super) fn check_extent(
        &self,
        region: &'static str,
        index: usize,
        offset: u64,
        pd: u32,
    ) -> Result<(KindColumn, u64), RegionError> {
        if self.is_bits() {
            return Err(RegionError::BitExtent { region, what: Part::Extent(index) });
        }
        let kind = self.check(region, index, pd)?;
        Ok((KindColumn { addr: offset, lkey: 0, kind }, self.entry_len()))
    }
}

/// Elements of a builder that have kinds, by their index in its list; the others are of fixed width.
#[derive(Clone, Debug, Default)]
pub(super) struct Typed<'m>(Vec<(usize, Values<'m>)>);

impl<'m> Typed<'m> {
    /// Adds the kind of the next element, which gets the width 0 in `list`.
    pub fn push<T>(&mut self, list: &List<T>, values: Values<'m>) {
        self.0.push((list.given, values));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the kind of an element: that given for it, or fixed width.
    pub fn of(&self, index: usize, width: u64) -> Values<'m> {
        let typed = self.0.iter().find(|(typed, _)| *typed == index);
        typed.map_or_else(|| Values::fixed(width), |(_, values)| values.clone())
    }

    /// Returns the shared memory of the kinds, with that of `others`.
    pub fn hold(&self, others: Hold) -> Hold {
        let holds = self.0.iter().map(|(_, values)| values.hold());
        Hold::all(std::iter::once(others).chain(holds).collect())
    }
}

/// The buffers that views point into, as the card reads them: a table in memory of its own.
///
/// ```
/// # let (mac, ip) = ("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let context = libdrdma::Context::open(libdrdma::open("soft:")?, libdrdma::Options::new(mac, ip))?;
/// # let pd = context.protection_domain();
/// use libdrdma::{Bitmapped, Values, ViewTable};
///
/// // Two views: "short", and 13 B of buffer 0 from byte 4 on.
/// let text = pd.register(b"....a long string....".to_vec())?;
/// let mut views = vec![0_u8; 32];
/// views[..4].copy_from_slice(&5_u32.to_le_bytes());
/// views[4..9].copy_from_slice(b"short");
/// views[16..20].copy_from_slice(&13_u32.to_le_bytes());
/// views[28..].copy_from_slice(&4_u32.to_le_bytes());
/// let (views, bitmap) = (pd.register(views)?, pd.register(vec![0b11_u8])?);
///
/// let table = ViewTable::register(&pd, [(&text, 0, text.len() as u64)])?;
/// let strings = Bitmapped::new(&bitmap).rows(2).typed_column(&views, 0, Values::views(&table));
/// let region = strings.build()?;
/// # let _ = region;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ViewTable<'m> {
    table: Memory<'m>,
    count: u32,
    hold: Hold,
}

impl<'m> ViewTable<'m> {
    /// Makes a table of up to 4,096 buffers, each given as its memory, the offset of its first byte
    /// there, and its length in bytes. The table has a key of its own.
    ///
    /// # Errors
    /// `KeptRegionError::Region` for too many buffers, or one that is outside its memory region,
    /// longer than 2^32 - 1 B or of another protection domain, or `Table` without memory or a key
    /// for the table.
    pub fn register<M: Into<Memory<'m>>>(
        pd: &ProtectionDomain,
        buffers: impl IntoIterator<Item = (M, u64, u64)>,
    ) -> Result<Self, KeptRegionError> {
        const NAME: &str = "table of view buffers";
        use drdma_abi::work_request::Element;
        let mut bytes: Vec<u8> = Vec::new();
        let mut count = 0;
        let mut holds = Vec::new();
        for (index, (memory, offset, len)) in buffers.into_iter().enumerate() {
            let (memory, what) = (memory.into(), Part::ViewBuffer(index));
            if index as u64 >= u64::from(MAX_VIEW_BUFFERS) {
                let (value, most) = (index as u64 + 1, MAX_VIEW_BUFFERS.into());
                let what = Part::ViewBuffers;
                let error = RegionError::Range { region: NAME, what, value, least: 0, most };
                return Err(error.into());
            }
            let short = word(NAME, what, len)?;
            inside(NAME, what, &memory, pd.id, offset.into(), len.into())?;
            let addr = memory.addr().wrapping_add(offset);
            let granule = words!(Element { offset: addr, len: short, lkey: memory.lkey() });
            bytes.extend(granule.iter().flat_map(|word| word.to_le_bytes()));
            holds.push(Hold::of([&memory]));
            count += 1;
        }
        // A memory region cannot have 0 bytes.
        bytes.resize(bytes.len().max(size_of::<[u64; 2]>()), 0);
        let table: MemoryRegion = pd.register(bytes)?;
        Ok(Self { table: Memory::Shared(table.into()), count, hold: Hold::all(holds) })
    }

    /// Number of buffers.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// True if views have no buffer to point into.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
