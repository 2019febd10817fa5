//! Buffers for the frames of a message, which are reused when the frames are acknowledged: they are
//! in the processor's cache then, and need not be cleared.

use std::{
    mem,
    ops::RangeInclusive,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use drdma_semantics::packets::FrameBuffer;

/// Binary logarithms of the sizes of buffers that are kept. Smaller requests get memory of exactly
/// their size.
const SIZES: RangeInclusive<u32> = 12..=16;
/// Number of buffers of a size that are kept.
const KEPT: usize = 64;

type Kept = [Vec<FrameBuffer>; 5];

/// The buffers that no frame uses.
#[derive(Clone, Debug, Default)]
pub struct Buffers(Arc<Mutex<Kept>>);

impl Buffers {
    /// Takes a buffer for about `capacity` bytes.
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

/// A buffer in use.
#[derive(Debug)]
pub struct Buffer {
    frames: FrameBuffer,
    /// Pool that the buffer returns to when it is dropped, and the index of its size there.
    home: Option<(Buffers, usize)>,
}

impl Buffer {
    /// The frames in the buffer.
    pub fn frames(&mut self) -> &mut FrameBuffer {
        &mut self.frames
    }

    /// Returns the bytes of the frames; the buffer returns to its pool when the last handle of them
    /// is dropped.
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
