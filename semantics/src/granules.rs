//! What the regions of a work queue entry are made of: headers, shapes and elements, a granule each.

use drdma_abi::{
    Layout as _,
    work_request::{
        Element, GRANULE, MAX_CHAIN, MAX_ELEMENTS, RegionHeader, RegionShape, RegionType,
    },
};

/// Appends the granules of a region that has elements.
pub(crate) fn encode_shaped(
    header: RegionHeader,
    shape: RegionShape,
    elements: &[Element],
    bytes: &mut Vec<u8>,
) {
    bytes.extend(header.to_bytes());
    bytes.extend(RegionShape { elements: elements.len() as u16, ..shape }.to_bytes());
    elements.iter().for_each(|element| bytes.extend(element.to_bytes()));
}

/// Why granules are not a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The entry ends before the region does.
    #[error("the entry ends inside a region")]
    Truncated,
    /// No elements, or too many.
    #[error("{0} elements: there must be 1 to 16")]
    Elements(u16),
    /// An element of no bytes.
    #[error("element {0} has no bytes")]
    EmptyElement(usize),
    /// A contiguous region of no bytes.
    #[error("a contiguous region of no bytes")]
    Empty,
    /// A strided region that does not advance.
    #[error("a period of 0 bytes")]
    ZeroPeriod,
    /// Ids of another size than 1 or 2 bytes.
    #[error("ids of {0} bytes: they must have 1 or 2")]
    IdWidth(u64),
    /// A kind that there is not, or not in such a region.
    #[error("element {0} has kind {1}, which there is not in such a region")]
    Kind(usize, u8),
    /// A field of an element with a kind that is not as the kind has it.
    #[error("element {index}: its {what} is {value}")]
    KindField {
        /// The element.
        index: usize,
        /// The field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// Chains of no record, or of more than there can be.
    #[error("chains of at most {0} records: it must be 1 to {MAX_CHAIN}")]
    ChainLimit(u32),
    /// A field that says how partitions are made.
    #[error("the {what} of a partition function is {value}")]
    Function {
        /// The field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// A field of a key that its type, or the function, does not have so.
    #[error("key {index}: its {what} is {value}, which it cannot be")]
    KeyField {
        /// The key.
        index: usize,
        /// The field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// A field that the region's type does not have is not 0.
    #[error("{0} must be 0 in a {1} region")]
    NotZero(&'static str, &'static str),
}

/// A region type's name.
pub(crate) fn name(kind: RegionType) -> &'static str {
    match kind {
        RegionType::Contiguous => "contiguous",
        RegionType::Strided => "strided",
        RegionType::Bitmapped => "bitmapped",
        RegionType::PointerMapped => "pointer-mapped",
    }
}

/// `Ok` if a field that a region's type does not have is 0.
pub(crate) fn zero(name: &'static str, kind: &'static str, value: u64) -> Result<(), ShapeError> {
    if value == 0 { Ok(()) } else { Err(ShapeError::NotZero(name, kind)) }
}

/// The next granule; `bytes` goes on behind it.
pub(crate) fn take(bytes: &mut &[u8]) -> Result<[u8; GRANULE], ShapeError> {
    let (granule, rest) = bytes.split_first_chunk().ok_or(ShapeError::Truncated)?;
    *bytes = rest;
    Ok(*granule)
}

/// The first granule of a region; `bytes` goes on behind it.
pub(crate) fn take_header(bytes: &mut &[u8]) -> Result<RegionHeader, ShapeError> {
    Ok(RegionHeader::decode(&take(bytes)?))
}

/// Shape and elements of a region that has some; `bytes` goes on behind them. `check` judges what
/// only some types have.
pub(crate) fn take_elements(
    bytes: &mut &[u8],
    check: impl Fn(&RegionShape) -> Result<(), ShapeError>,
) -> Result<(RegionShape, Vec<Element>), ShapeError> {
    let shape = RegionShape::decode(&take(bytes)?);
    check(&shape)?;
    let elements = take_listed(shape.elements, bytes)?;
    Ok((shape, elements))
}

/// So many elements; `bytes` goes on behind them.
pub(crate) fn take_listed(count: u16, bytes: &mut &[u8]) -> Result<Vec<Element>, ShapeError> {
    if count == 0 || usize::from(count) > MAX_ELEMENTS {
        return Err(ShapeError::Elements(count));
    }
    let mut elements = Vec::with_capacity(usize::from(count));
    for i in 0..usize::from(count) {
        let element = Element::decode(&take(bytes)?);
        if element.len == 0 {
            return Err(ShapeError::EmptyElement(i));
        }
        elements.push(element);
    }
    Ok(elements)
}
