//! Memory for the frames of a message, which is used again when they are acknowledged: it is in the processor's cache then, and
//! need not be made 0.

use std::{
    mem,
    ops::RangeInclusive,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use drdma_semantics::packets::FrameBuffer;

/// The sizes of buffers that are kept, as powers of 2. Fewer bytes are in memory of their own, of their size.
const SIZES: RangeInclusive<u32> = 12..=16;
/// Buffers of a size that are kept.
const KEPT: usize = 64;

type Kept = [Vec<FrameBuffer>; 5];

/// Buffers that no frame is in.
#[derive(Clone, Debug, Default)]
pub struct Buffers(Arc<Mutex<Kept>>);

impl Buffers {
    /// A buffer for about so many bytes.
    pub fn take(&self, capacity: usize) -> Buffer {
        let size = capacity.next_power_of_two().ilog2();
        let Some(place) = size.checked_sub(*SIZES.start()).filter(|_| SIZES.contains(&size)) else {
            return Buffer { frames: FrameBuffer::with_capacity(capacity), home: None };
        };
        let place = place as usize;
        let kept = self.kept()[place].pop();
        let frames = kept.unwrap_or_else(|| FrameBuffer::with_capacity(1 << size));
        Buffer { frames, home: Some((self.clone(), place)) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A buffer that is in use.
#[derive(Debug)]
pub struct Buffer {
    frames: FrameBuffer,
    /// Where it goes when it is dropped.
    home: Option<(Buffers, usize)>,
}

impl Buffer {
    /// What is in it.
    pub fn frames(&mut self) -> &mut FrameBuffer {
        &mut self.frames
    }

    /// The frames, until the last of their bytes is dropped.
    pub fn into_bytes(mut self) -> Bytes {
        match self.home {
            Some(_) => Bytes::from_owner(self),
            None => mem::take(&mut self.frames).into_vec().into(),
        }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.frames.as_slice()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some((buffers, place)) = &self.home else { return };
        let kept = &mut buffers.kept()[*place];
        if kept.len() < KEPT {
            self.frames.truncate(0);
            kept.push(mem::take(&mut self.frames));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_when_no_frame_is_in_them() {
        let buffers = Buffers::default();
        let mut buffer = buffers.take(60_000);
        buffer.frames().extend(&[7; 100]);
        let frames = buffer.into_bytes();
        let first = frames.as_ptr();
        let last = frames.slice(90..);
        drop(frames);
        let mut other = buffers.take(60_000);
        other.frames().extend(&[8; 10]);
        assert_ne!(other.as_ref().as_ptr(), first);
        assert_eq!(last[..], [7; 10]);
        drop(last);
        let mut again = buffers.take(60_000);
        again.frames().extend(&[9; 20]);
        assert_eq!(again.as_ref().as_ptr(), first);
        assert_eq!(again.into_bytes()[..], [9; 20]);
    }

    #[test]
    fn short_ones_and_very_long_ones_take_what_they_need_and_are_not_kept() {
        for len in [60, 100_000] {
            let buffers = Buffers::default();
            let mut buffer = buffers.take(len);
            buffer.frames().extend(&vec![1; len]);
            let frames = buffer.into_bytes();
            assert!(frames.len() == len && frames.iter().all(|byte| *byte == 1));
            drop(frames);
            assert!(buffers.kept().iter().all(Vec::is_empty));
        }
    }
}
