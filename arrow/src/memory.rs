//! Buffers as memory that the card reads.
#![allow(unsafe_code)]

use std::sync::Arc;

use arrow_buffer::Buffer;
use libdrdma::{MemoryRegion, Owner, ProtectionDomain, Sharing};

use crate::{Foreign, SendError, Why, copy::Copier};

/// A buffer, which requests keep until they have completed.
#[derive(Debug)]
struct Held(Buffer);

// SAFETY: a buffer's bytes are initialised, stay where they are as long as a handle is there, and have no
// writer: whoever wants to write to them needs the only handle.
unsafe impl Owner for Held {
    const SHARING: Sharing = Sharing::Immutable;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.0.as_ptr().cast_mut(), self.0.len())
    }
}

/// The memory of a buffer of at least one byte: as it lies if it lies in a registered arena, and as
/// `foreign` says if not.
pub(crate) fn register(
    pd: &ProtectionDomain,
    buffer: Buffer,
    foreign: Foreign,
    copier: &mut Copier,
    path: &str,
) -> Result<Arc<MemoryRegion>, SendError> {
    let buffer = match foreign {
        _ if pd.is_in_arena(&buffer) => buffer,
        Foreign::Register => buffer,
        Foreign::Copy => copier.copy(Why::Foreign, &buffer)?,
        Foreign::Refuse => {
            let (path, bytes) = (path.to_owned(), buffer.len());
            return Err(SendError::Foreign { path, bytes, addr: buffer.as_ptr().addr() as u64 });
        }
    };
    Ok(Arc::new(pd.register(Held(buffer))?))
}
