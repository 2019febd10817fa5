//! Granules of the regions in a work queue entry: headers, shapes and elements.

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

/// Error of granules that do not describe a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The entry ends before the region does.
    #[error("the entry ends inside a region")]
    Truncated,
    /// There are no elements, or too many.
    #[error("{0} elements: there must be 1 to 16")]
    Elements(u16),
    /// An element has no bytes.
    #[error("element {0} has no bytes")]
    EmptyElement(usize),
    /// A contiguous region has no bytes.
    #[error("a contiguous region of no bytes")]
    Empty,
    /// The period of a strided region is 0.
    #[error("a period of 0 bytes")]
    ZeroPeriod,
    /// Ids have a size other than 1 or 2 bytes.
    #[error("ids of {0} bytes: they must have 1 or 2")]
    IdWidth(u64),
    /// An element has a kind that does not exist, or not in such a region.
    #[error("element {0} has kind {1}, which there is not in such a region")]
    Kind(usize, u8),
    /// A field of an element has a value that its kind does not allow.
    #[error("element {index}: its {what} is {value}")]
    KindField {
        /// Index of the element.
        index: usize,
        /// Name of the field.
        what: &'static str,
        /// Value of the field.
        value: u64,
    },
    /// The limit of a chain's records is 0, or above the largest possible one.
    #[error("chains of at most {0} records: it must be 1 to {MAX_CHAIN}")]
    ChainLimit(u32),
    /// A field of a partition function is wrong.
    #[error("the {what} of a partition function is {value}")]
    Function {
        /// Name of the field.
        what: &'static str,
        /// Value of the field.
        value: u64,
    },
    /// A field of a key has a value that its type, or the function, does not allow.
    #[error("key {index}: its {what} is {value}, which it cannot be")]
    KeyField {
        /// Index of the key.
        index: usize,
        /// Name of the field.
        what: &'static str,
        /// Value of the field.
        value: u64,
    },
    /// A field that the region's type does not have is not 0.
    #[error("{0} must be 0 in a {1} region")]
    NotZero(&'static str, &'static str),
}

/// Name of a region type, for errors.
pub(crate) fn name(kind: RegionType) -> &'static str {
    match kind {
        RegionType::Contiguous => "contiguous",
        RegionType::Strided => "strided",
        RegionType::Bitmapped => "bitmapped",
        RegionType::PointerMapped => "pointer-mapped",
    }
}

/// Checks that a field which a region's type does not have is 0.
pub(crate) fn zero(name: &'static str, kind: &'static str, value: u64) -> Result<(), ShapeError> {
    if value == 0 { Ok(()) } else { Err(ShapeError::NotZero(name, kind)) }
}

/// Takes the next granule from the front of `bytes`.
pub(crate) fn take(bytes: &mut &[u8]) -> Result<[u8; GRANULE], ShapeError> {
    let (granule, rest) = bytes.split_first_chunk().ok_or(ShapeError::Truncated)?;
    *bytes = rest;
    Ok(*granule)
}

/// Takes the first granule of a region from the front of `bytes`.
pub(crate) fn take_header(bytes: &mut &[u8]) -> Result<RegionHeader, ShapeError> {
    Ok(RegionHeader::decode(&take(bytes)?))
}

/// Takes shape and elements of a region from the front of `bytes`. `check` checks fields that only
/// some types have.
pub(crate) fn take_elements(
    bytes: &mut &[u8],
    check: impl Fn(&RegionShape) -> Result<(), ShapeError>,
) -> Result<(RegionShape, Vec<Element>), ShapeError> {
    let shape = RegionShape::decode(&take(bytes)?);
    check(&shape)?;
    let elements = take_listed(shape.elements, bytes)?;
    Ok((shape, elements))
}

/// Takes `count` elements from the front of `bytes`.
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
