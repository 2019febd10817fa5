//! Append regions: columns that messages fill row after row, whichever queue pair they come to.

use std::{
    marker::PhantomData,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use drdma_abi::{
    described::{APPEND_DOORBELLS, APPEND_REGIONS, AppendEnd, AppendHead},
    work_request::{Element, MAX_ELEMENTS},
};
use drdma_driver::CardError;

use crate::{
    Column, Features, KeptRegionError, Memory, MemoryRegion, Part, ProtectionDomain, RegionError,
    context::ContextInner, encode::words, memory::Hold,
};

/// Name of the region's type in errors.
const NAME: &str = "append region";

/// Rows that a message was appended as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AppendedRows {
    /// The row of the columns that the message's first row became.
    pub first: u32,
    /// Number of rows of the message. Row 0 of the columns follows their last one.
    pub count: u32,
}

/// Starts an [`AppendRegion`].
#[derive(Clone, Debug)]
#[must_use]
pub struct AppendRegionBuilder<'a, 'm> {
    pd: &'a ProtectionDomain,
    capacity: u32,
    columns: Vec<(Column, Option<(u64, Memory<'m>)>)>,
}

impl<'a, 'm> AppendRegionBuilder<'a, 'm> {
    pub(crate) fn new(pd: &'a ProtectionDomain) -> Self {
        Self { pd, capacity: 0, columns: Vec::new() }
    }

    /// Sets the number of rows that every column has room for, at least 1.
    pub fn capacity(mut self, rows: u32) -> Self {
        self.capacity = rows;
        self
    }

    /// Adds a column: values of `width` bytes, of which row 0 has that at `offset` of `memory`. Up to 16;
    /// a row of a message has their bytes in this order.
    pub fn column(mut self, memory: impl Into<Memory<'m>>, offset: u64, width: u32) -> Self {
        let memory = memory.into();
        let addr = memory.addr().wrapping_add(offset);
        let column = Column { addr, width, lkey: memory.lkey() };
        self.columns.push((column, Some((offset, memory))));
        self
    }

    /// Adds columns that are not checked here: any address under any key. The card checks them when a
    /// message comes.
    pub fn unchecked_columns(mut self, columns: &[Column]) -> Self {
        self.columns.extend(columns.iter().map(|column| (*column, None)));
        self
    }

    /// Checks and makes the region, which is empty.
    ///
    /// # Errors
    /// `KeptRegionError::Unsupported` from a card without append regions, `Region` for no or too
    /// many columns, a width or capacity of 0, a row outside the memory, or memory of another
    /// protection domain, `ReadOnly` for memory that the card may not write to, `Exhausted` without
    /// a free append region, or `Card` if the card failed.
    pub fn build(self) -> Result<AppendRegion<'m>, KeptRegionError> {
        let Self { pd, capacity, columns } = self;
        let context = pd.context.inner.clone();
        if let Some(reason) = context.misses(Features::APPENDS) {
            return Err(KeptRegionError::Unsupported { what: "an append region", reason });
        }
        if !(1..=MAX_ELEMENTS).contains(&columns.len()) {
            let (what, given) = ("columns", columns.len());
            return Err(RegionError::Elements { region: NAME, what, given }.into());
        }
        if capacity == 0 {
            return Err(RegionError::Zero { region: NAME, what: Part::Rows }.into());
        }
        for (i, (column, memory)) in columns.iter().enumerate() {
            check_column(i, column, memory.as_ref(), capacity, pd.id)?;
        }
        let memories = columns.iter().filter_map(|(_, memory)| memory.as_ref());
        let hold = Hold::of(memories.map(|(_, memory)| memory));
        let columns: Vec<Column> = columns.into_iter().map(|(column, _)| column).collect();
        let row_len = columns.iter().map(|column| u64::from(column.width)).sum();

        let mut hardware = context.lock();
        let limit = hardware.append_regions.limit();
        let exhausted = KeptRegionError::Exhausted { what: NAME, limit };
        let number = hardware.append_regions.take().ok_or(exhausted)?;
        let count = columns.len() as u16;
        let mut entry =
            words!(AppendHead { capacity: capacity, columns: count, pd: pd.id }).to_vec();
        for Column { addr, width, lkey } in columns {
            entry.extend(words!(Element { offset: addr, len: width, lkey: lkey }));
        }
        let end = words!(AppendEnd { enable: 1u32 });
        let written = hardware.device.write_region(APPEND_REGIONS, number, &entry, end);
        drop(hardware);
        let given_back = Mutex::new(0);
        let (pd, memory) = (pd.id, PhantomData);
        let shared = Shared { context, number, capacity, row_len, pd, given_back, _hold: hold };
        // From here on, dropping the region removes it from the card.
        let region = AppendRegion { shared: Arc::new(shared), memory };
        written?;
        Ok(region)
    }
}

/// Checks one column.
fn check_column(
    index: usize,
    column: &Column,
    memory: Option<&(u64, Memory<'_>)>,
    capacity: u32,
    pd: u32,
) -> Result<(), KeptRegionError> {
    if column.width == 0 {
        let what = Part::ColumnWidth(index);
        return Err(RegionError::Zero { region: NAME, what }.into());
    }
    let Some((offset, memory)) = memory else { return Ok(()) };
    if memory.pd() != pd {
        let what = Part::Column(index);
        return Err(RegionError::ProtectionDomain { region: NAME, what }.into());
    }
    if !memory.access().writes() {
        return Err(KeptRegionError::ReadOnly { column: index, access: memory.access() });
    }
    let end = u128::from(*offset) + u128::from(capacity) * u128::from(column.width);
    let len = memory.len() as u64;
    if end > u128::from(len) {
        let byte = u128::from(len).max((*offset).into());
        let part = Part::Column(index);
        return Err(RegionError::OutOfBounds { region: NAME, byte, len, part }.into());
    }
    Ok(())
}

/// An append region's entry in the card's table, which receives that name it share.
#[derive(Debug)]
pub(crate) struct Shared {
    context: Arc<ContextInner>,
    pub number: u32,
    capacity: u32,
    row_len: u64,
    pub pd: u32,
    /// Rows given back so far, modulo 2^32.
    given_back: Mutex<u32>,
    _hold: Hold,
}

impl Shared {
    /// Returns the rows of a message of `bytes` bytes whose first row became row `first`.
    pub fn rows(&self, first: u32, bytes: u64) -> AppendedRows {
        AppendedRows { first, count: (bytes / self.row_len) as u32 }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut hardware = self.context.lock();
        let disabled = words!(AppendEnd { enable: 0u32 });
        let result = hardware.device.write_region(APPEND_REGIONS, self.number, &[], disabled);
        hardware.note(result);
        hardware.append_regions.put(self.number);
    }
}

/// Columns with room for a number of rows, which the card fills: a receive that names the region
/// ([`ReceiveRequest::append`](crate::ReceiveRequest::append)) appends its message, whole rows, behind
/// those that came before, whichever queue pair they came to. Its completion has the rows
/// ([`WorkCompletion::rows`](crate::WorkCompletion::rows)).
///
/// Rows are used in a circle. They are free again when the application [gives them
/// back](Self::give_back), oldest first. A message that finds no free rows waits with its sender (as one
/// that finds no receive), and so does one that comes while another queue pair's message of several
/// packets is on its way. Messages of one packet never wait for each other.
///
/// The card knows the region as long as this, or a receive that names it, exists.
///
/// ```
/// # use libdrdma::{Context, Options};
/// # let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let card = libdrdma::open("soft:")?;
/// # let context = Context::open(card, options)?;
/// # let pd = context.protection_domain();
/// # let cq = context.completion_queue().build()?;
/// use std::sync::Arc;
///
/// use libdrdma::{Access, ReceiveRequest};
///
/// let keys = Arc::new(pd.allocate_with(4000, Access::LOCAL_WRITE)?);
/// let prices = Arc::new(pd.allocate_with(8000, Access::LOCAL_WRITE)?);
/// let rows = pd.append_region().capacity(1000).column(&keys, 0, 4).column(&prices, 0, 8);
/// let rows = rows.build()?;
/// // Whoever of many senders comes first.
/// let mut receives = pd.shared_receive_queue(&cq).build()?;
/// for wr_id in 0..16 {
///     receives.post_recv(&ReceiveRequest::new(wr_id).append(&rows))?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AppendRegion<'m> {
    pub(crate) shared: Arc<Shared>,
    memory: PhantomData<&'m MemoryRegion>,
}

impl AppendRegion<'_> {
    /// Number of rows that every column has room for.
    pub fn capacity(&self) -> u32 {
        self.shared.capacity
    }

    /// Bytes of a row.
    pub fn row_len(&self) -> u64 {
        self.shared.row_len
    }

    /// Returns the rows of a message as they lie in the columns: one range, or two if they wrap
    /// around to row 0.
    pub fn ranges(&self, rows: AppendedRows) -> [Range<u32>; 2] {
        let before_end = rows.count.min(self.capacity() - rows.first.min(self.capacity()));
        [rows.first..rows.first + before_end, 0..rows.count - before_end]
    }

    /// Gives back the `rows` oldest rows that completions have reported: the card may write to them
    /// again. The call has no effect if fewer rows are in use.
    ///
    /// # Errors
    /// The card failed.
    pub fn give_back(&self, rows: u32) -> Result<(), CardError> {
        let mut total = self.shared.given_back.lock().unwrap_or_else(PoisonError::into_inner);
        *total = total.wrapping_add(rows);
        let doorbell = APPEND_DOORBELLS.entry(self.shared.number);
        self.shared.context.write_register(doorbell, *total)
    }
}
