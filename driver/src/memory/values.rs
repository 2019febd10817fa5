//! Copies of values that lie at regular distances.

use std::sync::atomic::{Ordering, fence};

use super::DmaMemory;

impl DmaMemory {
    /// Copies values of `width` bytes out of the memory. The value of the first of `rows`, which
    /// ascend, is at `offset`, and that of any other `step` bytes times its distance from the first
    /// row behind. In `out`, each is `pitch` bytes behind the one before. False if they are not all
    /// usable: nothing is copied then.
    ///
    /// # Panics
    /// If `out` is too short.
    pub fn read_values(
        &self,
        offset: usize,
        (step, width): (usize, usize),
        rows: Ascending<'_>,
        out: &mut [u8],
        pitch: usize,
    ) -> bool {
        let Ascending(rows) = rows;
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return true };
        let reach = (*last - *first) as usize;
        let end =
            reach.checked_mul(step).and_then(|reach| offset.checked_add(reach)?.checked_add(width));
        if offset < self.usable.start || end.is_none_or(|end| end > self.usable.end) {
            return false;
        }
        assert!(reaches(out.len(), rows.len(), pitch, width), "they do not fit");
        fence(Ordering::Acquire);
        let aligned = |size: usize| offset.is_multiple_of(size) && step.is_multiple_of(size);
        let from = |step: usize| move |row: u32| offset + (row - *first) as usize * step;
        let place = from(step);
        match width {
            // Nearly always, values lie one behind the other: then the compiler knows `step` as
            // well.
            4 if aligned(4) && step == 4 => self.copy_rows_out::<4>(from(4), rows, out, pitch),
            8 if aligned(8) && step == 8 => self.copy_rows_out::<8>(from(8), rows, out, pitch),
            16 if aligned(8) && step == 16 => self.copy_rows_out::<16>(from(16), rows, out, pitch),
            4 if aligned(4) => self.copy_rows_out::<4>(place, rows, out, pitch),
            8 if aligned(8) => self.copy_rows_out::<8>(place, rows, out, pitch),
            16 if aligned(8) => self.copy_rows_out::<16>(place, rows, out, pitch),
            _ => {
                for (row, out) in rows.iter().zip(out.chunks_mut(pitch)) {
                    self.copy_out(place(*row), &mut out[..width]);
                }
            }
        }
        true
    }

    /// Copies values out of the memory whose width the compiler knows: 4, 8 or 16 bytes, aligned to
    /// 4 or 8. It is inlined into its callers, so that a `place` with a constant step is known as
    /// well.
    #[inline(always)]
    fn copy_rows_out<const WIDTH: usize>(
        &self,
        place: impl Fn(u32) -> usize,
        rows: &[u32],
        out: &mut [u8],
        pitch: usize,
    ) {
        assert!(reaches(out.len(), rows.len(), pitch, WIDTH), "they do not fit");
        let out = out.as_mut_ptr();
        for (k, row) in rows.iter().enumerate() {
            let at = place(*row);
            // SAFETY: the assertion above leaves that many bytes behind the last one; `out` is not
            // used otherwise during the borrow.
            let out = unsafe { &mut *out.add(k * pitch).cast::<[u8; WIDTH]>() };
            if WIDTH == 4 {
                out.copy_from_slice(&self.half(at).load(Ordering::Relaxed).to_ne_bytes());
                continue;
            }
            for (word, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
                *out = self.word(at + 8 * word).load(Ordering::Relaxed).to_ne_bytes();
            }
        }
    }

    /// Copies `count` values of `width` bytes into the memory, one behind the other from `offset`
    /// on. In `bytes`, each is `pitch` bytes behind the one before. False if there is less usable
    /// memory, or it cannot be written: nothing is copied then.
    ///
    /// # Panics
    /// If `bytes` are too short.
    pub fn write_values(
        &self,
        offset: usize,
        (width, count): (usize, usize),
        bytes: &[u8],
        pitch: usize,
    ) -> bool {
        let end = width.checked_mul(count).and_then(|len| offset.checked_add(len));
        if !self.writable
            || offset < self.usable.start
            || end.is_none_or(|end| end > self.usable.end)
        {
            return false;
        }
        assert!(reaches(bytes.len(), count, pitch, width), "{count} values");
        let aligned = |size: usize| offset.is_multiple_of(size);
        match width {
            4 if aligned(4) => self.copy_values_in::<4>(offset, count, bytes, pitch),
            8 if aligned(8) => self.copy_values_in::<8>(offset, count, bytes, pitch),
            16 if aligned(8) => self.copy_values_in::<16>(offset, count, bytes, pitch),
            _ => {
                for (value, at) in bytes.chunks(pitch).take(count).zip((offset..).step_by(width)) {
                    self.copy_in(at, &value[..width]);
                }
            }
        }
        fence(Ordering::Release);
        true
    }

    /// Copies values into the memory whose width the compiler knows: 4, 8 or 16 bytes, aligned to 4
    /// or 8.
    #[inline]
    fn copy_values_in<const WIDTH: usize>(
        &self,
        offset: usize,
        count: usize,
        bytes: &[u8],
        pitch: usize,
    ) {
        assert!(reaches(bytes.len(), count, pitch, WIDTH), "{count} values");
        let bytes = bytes.as_ptr();
        for k in 0..count {
            let at = offset + k * WIDTH;
            // SAFETY: the assertion above leaves that many bytes behind the last one.
            let value = unsafe { &*bytes.add(k * pitch).cast::<[u8; WIDTH]>() };
            if let Some(half) = value.first_chunk().filter(|_| WIDTH == 4) {
                self.half(at).store(u32::from_ne_bytes(*half), Ordering::Relaxed);
                continue;
            }
            for (word, bytes) in value.as_chunks().0.iter().enumerate() {
                self.word(at + 8 * word).store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
            }
        }
    }
}

/// True if `count` values of `width` bytes, each `pitch` bytes behind the one before, fit in `len`
/// bytes.
#[inline]
fn reaches(len: usize, count: usize, pitch: usize, width: usize) -> bool {
    let Some(before) = count.checked_sub(1) else { return true };
    before
        .checked_mul(pitch)
        .and_then(|before| before.checked_add(width))
        .is_some_and(|end| end <= len)
}

/// Row numbers in ascending order; equal ones may repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ascending<'a>(&'a [u32]);

impl<'a> Ascending<'a> {
    /// Checks the order; `None` if a number is below the one before it.
    pub fn new(rows: &'a [u32]) -> Option<Self> {
        rows.is_sorted().then_some(Self(rows))
    }
}
