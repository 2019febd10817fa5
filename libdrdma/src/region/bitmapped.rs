//! Bitmapped regions.

use drdma_abi::work_request::RegionType;

use super::{
    KindRows, Part, Region, RegionError, Values,
    columns::{Columns, column_methods},
    inside, outside, word,
};
use crate::Memory;

pub(super) const NAME: &str = "bitmapped region";

/// Starts a bitmapped region: the rows that a bitmap selects, from up to 16 columns (D-RDMA
/// section 3.3). Bit `r mod 8` of byte `r / 8` selects row `r`.
///
/// ```
/// # use libdrdma::network::{Network, PeerConfig};
/// # use libdrdma::{Context, Options, QueuePairAttributes, Transport, WorkRequest};
/// # let (mac, ip) = ("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let network = Network::new();
/// # let red = PeerConfig::new(Transport::Rc, 0x0200_0000_0002, 0x0a00_0002, 33, 17);
/// # let peer = network.add_peer(red);
/// # let card = libdrdma::open_on("soft:", &network)?;
/// # let context = Context::open(card, Options::new(mac, ip))?;
/// # let pd = context.protection_domain();
/// # let cq = context.completion_queue().build()?;
/// use libdrdma::Bitmapped;
///
/// // Two columns of eight rows, and the rows that a filter has selected: 1, 3 and 4.
/// let keys = pd.register(b"abcdefgh".to_vec())?;
/// let values = pd.register(b"AABBCCDDEEFFGGHH".to_vec())?;
/// let bitmap = pd.register(vec![0b0001_1010_u8])?;
/// let rows = Bitmapped::new(&bitmap).rows(8).column(&keys, 0, 1).column(&values, 0, 2);
/// let regions = [rows.build()?];
/// # let mut qp = pd.queue_pair(&cq).qpn(17).build()?;
/// # let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).start_psn(0);
/// # let attributes = attributes.dest_mac("02:00:00:00:00:02".parse()?);
/// # qp.connect(&attributes.dest_ip([10, 0, 0, 2].into()))?;
/// qp.post_send(&WorkRequest::new(1).rows_per_message(8).regions(&regions))?;
/// assert_eq!(cq.wait(1, std::time::Duration::from_secs(1))?[0].bytes, 9);
/// assert_eq!(network.messages(peer)[0].bytes, b"bBBdDDeEE");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Bitmapped<'m> {
    bitmap: Memory<'m>,
    offset: u64,
    rows: u64,
    first: u8,
    columns: Columns<'m>,
    fetch_rows: Option<(Memory<'m>, u64)>,
}

impl<'m> Bitmapped<'m> {
    /// A region whose bitmap is in `bitmap`; rows and at least one column must follow.
    #[inline]
    pub fn new(bitmap: impl Into<Memory<'m>>) -> Self {
        let bitmap = bitmap.into();
        Self { bitmap, offset: 0, rows: 0, first: 0, columns: Columns::new(), fetch_rows: None }
    }

    /// Sets the offset of the bitmap's first byte in its memory region (default 0).
    #[inline]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Sets the number of rows, that is, bits of the bitmap: 0 to 2^32 - 1 (default 0).
    #[inline]
    pub fn rows(mut self, rows: u64) -> Self {
        self.rows = rows;
        self
    }

    column_methods!();

    /// Sets the place of row 0's bit in the bitmap's first byte, 0 (the least significant, default)
    /// to 7. Others than 0 need a card with [`Features::BITS`](crate::Features::BITS).
    pub fn first_bit(mut self, bit: u8) -> Self {
        self.first = bit;
        self
    }

    /// Gives the card an explicit schedule: a second bitmap of as many rows, from byte `offset` of
    /// `memory` on. The card forms its reads as if these *fetch rows* were selected as well, though it
    /// sends them no more than without. With a [`FetchPlan`](crate::optimizer::FetchPlan) whose threshold
    /// is 0 a gap is read through where its rows are fetch rows, and ends a read where they are not;
    /// [`Schedule`](crate::optimizer::Schedule) finds those that cost least.
    ///
    /// It is advice: what arrives does not depend on it. The card follows it where it packs rows of at
    /// most 64 B (`docs/semantics.md`, *How data are fetched*).
    #[inline]
    pub fn fetch_rows(mut self, memory: impl Into<Memory<'m>>, offset: u64) -> Self {
        self.fetch_rows = Some((memory.into(), offset));
        self
    }

    /// Checks and makes the region.
    ///
    /// # Errors
    /// `RegionError::Elements` for no or too many columns, `Zero` for a width of 0, `OutOfBounds`
    /// for a bitmap, fetch rows or a column (its entries of all rows, selected or not, or what they
    /// may lead to) outside its memory region, `ProtectionDomain` for memory of several protection
    /// domains, `Bit` for a bit beyond 7, or `FetchRows` for fetch rows with columns that have
    /// kinds.
    #[inline]
    pub fn build(self) -> Result<Region<'m>, RegionError> {
        if self.first > 0 || self.columns.have_kinds() {
            return self.build_typed();
        }
        let Self { bitmap, offset, rows, columns, fetch_rows, .. } = self;
        let given = columns.check(NAME)?;
        let bits = word(NAME, Part::Rows, rows)?;
        let bitmap_end = u128::from(offset) + u128::from(rows.div_ceil(8));
        if rows > 0 && bitmap_end > bitmap.len() as u128 {
            return Err(outside(NAME, offset.into(), &bitmap, Part::Bitmap));
        }
        let pd = bitmap.pd();
        if let Some((memory, offset)) = &fetch_rows {
            let offset = *offset;
            let end = u128::from(offset) + u128::from(rows.div_ceil(8));
            if rows > 0 && end > memory.len() as u128 {
                return Err(outside(NAME, offset.into(), memory, Part::FetchRows));
            }
            if memory.pd() != pd {
                let what = Part::FetchRows;
                return Err(RegionError::ProtectionDomain { region: NAME, what });
            }
        }
        let place =
            |(memory, offset): &(Memory, u64)| (memory.addr().wrapping_add(*offset), memory.lkey());
        let addr = bitmap.addr().wrapping_add(offset);
        let mut region = Region::start(RegionType::Bitmapped, pd, addr, bits, bitmap.lkey());
        region.selecting_shape(fetch_rows.as_ref().map(place), given);
        columns.describe(NAME, pd, rows, &mut region.words)?;
        let others = fetch_rows.iter().map(|(memory, _)| memory).chain([&bitmap]);
        region.hold = columns.hold(others);
        Ok(region)
    }

    /// Like [`build`](Self::build), for columns with kinds, or a bitmap that begins within a byte.
    fn build_typed(self) -> Result<Region<'m>, RegionError> {
        let Self { bitmap, offset, rows, first, columns, fetch_rows } = self;
        columns.check(NAME)?;
        let count = word(NAME, Part::Rows, rows)?;
        if first > 7 {
            return Err(RegionError::Bit { region: NAME, what: Part::FirstBit, value: first });
        }
        if fetch_rows.is_some() {
            return Err(RegionError::FetchRows { region: NAME });
        }
        let pd = bitmap.pd();
        if rows > 0 {
            let len = (u128::from(first) + u128::from(rows)).div_ceil(8);
            inside(NAME, Part::Bitmap, &bitmap, pd, offset.into(), len)?;
        }
        let described = columns.kinds(NAME, pd, rows)?;
        let rows = KindRows::Bitmapped {
            bitmap: bitmap.addr().wrapping_add(offset),
            lkey: bitmap.lkey(),
            first,
            rows: count,
        };
        Region::checked_kinds(rows, &described, pd, columns.hold([&bitmap]))
    }
}
