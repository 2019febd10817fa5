//! Memory that software and a card share.

use std::{
    fs::File,
    io,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence},
    },
};

use memmap2::{Advice, MmapMut, MmapOptions, MmapRaw};

/// Bytes of a page: the unit in which memory is mapped for a card.
pub const PAGE: usize = 4096;

/// Bytes of a large page, of which an IOMMU keeps one entry instead of 512. Memory of at least so
/// many bytes is made of them where the host has some, and gets an I/O virtual address on them.
pub const LARGE_PAGE: usize = 1 << LARGE_PAGE_BITS;
const LARGE_PAGE_BITS: u8 = 21;

/// Page-aligned, zeroed memory that a card can be given. Clones share the same bytes.
///
/// A card and other threads read and write it at any time, so it is never lent as a slice: bytes
/// are copied in and out with relaxed atomic accesses, which race with nothing. What a copy that
/// overlaps a concurrent write gives is a mixture of old and new bytes.
#[derive(Clone, Debug)]
pub struct DmaMemory {
    mapping: Arc<MmapRaw>,
    /// Where it starts in the mapping: a multiple of [`PAGE`].
    start: usize,
    len: usize,
    size: usize,
}

/// Zeroed memory of at least `size` bytes: from the host's pool of large pages if it has enough of
/// them (`vm.nr_hugepages`), or else of pages that the kernel may put together.
fn allocate(size: usize) -> io::Result<MmapMut> {
    if size < LARGE_PAGE {
        return own(MmapOptions::new().len(size).map_anon()?);
    }
    if let Some(whole) = size.checked_next_multiple_of(LARGE_PAGE)
        && let Ok(mapping) = MmapOptions::new().len(whole).huge(Some(LARGE_PAGE_BITS)).map_anon()
    {
        return own(mapping);
    }
    let mapping = MmapOptions::new().len(size).map_anon()?;
    // A wish: a kernel that cannot has small pages.
    let _ = mapping.advise(Advice::HugePage);
    own(mapping)
}

/// Keeps a mapping from the children of this process. If they shared its pages until one of both
/// writes, kernels before 5.9 would give this process others then, while the card goes on with the
/// first.
fn own(mapping: MmapMut) -> io::Result<MmapMut> {
    mapping.advise(Advice::DontFork)?;
    Ok(mapping)
}

impl DmaMemory {
    /// Allocates at least `len` zero bytes.
    ///
    /// # Errors
    /// What the operating system says when it has no memory.
    pub fn new(len: usize) -> io::Result<Self> {
        let size = len.max(1).checked_next_multiple_of(PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { mapping: Arc::new(MmapRaw::from(allocate(size)?)), start: 0, len, size })
    }

    /// The whole pages of a file that others map as well, another process's memory say. Whoever has
    /// the file must not make it shorter as long as this is there: touching pages that it lost ends
    /// the process.
    ///
    /// # Errors
    /// What the operating system says: the file is not open for reading and writing, or cannot be
    /// mapped; or it has not a whole page.
    pub fn shared(file: &File) -> io::Result<Self> {
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let size = bytes / PAGE * PAGE;
        if size == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mapping = MmapOptions::new().len(size).map_raw(file)?;
        Ok(Self { mapping: Arc::new(mapping), start: 0, len: size, size })
    }

    /// A part of it, which shares its bytes: `len` bytes, a multiple of [`PAGE`], from `offset`,
    /// one as well. `None` if it is not that, or not in the mapped pages.
    #[must_use]
    pub fn part(&self, offset: usize, len: usize) -> Option<Self> {
        let end = offset.checked_add(len)?;
        let whole = offset.is_multiple_of(PAGE) && len.is_multiple_of(PAGE) && len > 0;
        (whole && end <= self.size).then(|| Self {
            mapping: Arc::clone(&self.mapping),
            start: self.start + offset,
            len,
            size: len,
        })
    }

    /// True if somebody else has the same memory, or a part of it.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.mapping) > 1
    }

    /// Bytes that were asked for.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if no byte was asked for.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that are mapped for a card: whole pages of [`PAGE`] bytes.
    #[inline]
    pub fn mapped_len(&self) -> usize {
        self.size
    }

    /// The address at which this process sees the memory.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.mapping.as_mut_ptr().wrapping_add(self.start)
    }

    #[inline]
    fn check(&self, offset: usize, len: usize) {
        let end = offset.checked_add(len);
        assert!(
            end.is_some_and(|end| end <= self.mapped_len()),
            "bytes {offset}..+{len} are outside the memory of {} B",
            self.mapped_len()
        );
    }

    /// The byte at `offset`, which the caller has checked to lie in the mapping.
    #[inline]
    fn byte(&self, offset: usize) -> &AtomicU8 {
        debug_assert!(offset < self.mapped_len());
        // SAFETY: in the mapping, which lives as long as `self`; a byte is always aligned.
        unsafe { AtomicU8::from_ptr(self.as_ptr().add(offset)) }
    }

    /// The aligned word at `offset`, which the caller has checked to lie in the mapping.
    #[inline]
    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= self.mapped_len());
        // SAFETY: in the mapping, which lives as long as `self`, and aligned, as the mapping is;
        // every bit pattern is a valid u64.
        unsafe { AtomicU64::from_ptr(self.as_ptr().add(offset).cast()) }
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// If they do not fit in the mapped pages.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        let (head, rest) = bytes.split_at(bytes.len().min(offset.wrapping_neg() % 8));
        let (words, tail) = rest.as_chunks::<8>();
        let middle = offset + head.len();
        for (byte, at) in head.iter().zip(offset..) {
            self.byte(at).store(*byte, Ordering::Relaxed);
        }
        for (word, at) in words.iter().zip((middle..).step_by(8)) {
            self.word(at).store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
        for (byte, at) in tail.iter().zip(middle + 8 * words.len()..) {
            self.byte(at).store(*byte, Ordering::Relaxed);
        }
        fence(Ordering::Release);
    }

    /// Copies bytes out.
    ///
    /// # Panics
    /// If they are not in the mapped pages.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.check(offset, bytes.len());
        fence(Ordering::Acquire);
        let (head, rest) = bytes.split_at_mut(bytes.len().min(offset.wrapping_neg() % 8));
        let middle = offset + head.len();
        let (words, tail) = rest.as_chunks_mut::<8>();
        let end = middle + 8 * words.len();
        for (byte, at) in head.iter_mut().zip(offset..) {
            *byte = self.byte(at).load(Ordering::Relaxed);
        }
        for (word, at) in words.iter_mut().zip((middle..).step_by(8)) {
            *word = self.word(at).load(Ordering::Relaxed).to_ne_bytes();
        }
        for (byte, at) in tail.iter_mut().zip(end..) {
            *byte = self.byte(at).load(Ordering::Relaxed);
        }
    }

    /// Writes aligned little-endian 64-bit words, which the card may read at any time; whatever
    /// is written after them (a doorbell, say) is seen after them.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 8, or they do not fit in the mapped pages.
    #[inline]
    pub fn write_words(&self, offset: usize, words: &[u64]) {
        assert!(offset.is_multiple_of(8), "offset {offset} is not a multiple of 8");
        self.check(offset, 8 * words.len());
        for (i, word) in words.iter().enumerate() {
            self.word(offset + 8 * i).store(word.to_le(), Ordering::Relaxed);
        }
        fence(Ordering::Release);
    }

    /// Reads an aligned 32-bit word that a card may be writing, and everything before it.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 4, or outside.
    #[inline]
    pub fn load_u32(&self, offset: usize) -> u32 {
        assert!(offset.is_multiple_of(4), "offset {offset} is not a multiple of 4");
        self.check(offset, 4);
        // SAFETY: in the mapping and aligned, as checked; every bit pattern is a valid u32.
        let word = unsafe { AtomicU32::from_ptr(self.as_ptr().add(offset).cast()) };
        u32::from_le(word.load(Ordering::Acquire))
    }

    /// Reads an aligned 64-bit word that a card may be writing, and everything before it.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 8, or outside.
    #[inline]
    pub fn load_u64(&self, offset: usize) -> u64 {
        assert!(offset.is_multiple_of(8), "offset {offset} is not a multiple of 8");
        self.check(offset, 8);
        u64::from_le(self.word(offset).load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_whatever_their_alignment() {
        let memory = DmaMemory::new(64).unwrap();
        for offset in 0..17 {
            for len in 0..33 {
                let bytes: Vec<u8> = (0..len).map(|i| (offset * 37 + i + 1) as u8).collect();
                memory.write(0, &[0xee; 64]);
                memory.write(offset, &bytes);
                let mut all = [0; 64];
                memory.read(0, &mut all);
                assert_eq!(all[offset..offset + len], bytes);
                assert!(all[..offset].iter().chain(&all[offset + len..]).all(|b| *b == 0xee));
                let mut back = vec![0; len];
                memory.read(offset, &mut back);
                assert_eq!(back, bytes);
            }
        }
    }

    #[test]
    fn words_are_little_endian() {
        let memory = DmaMemory::new(64).unwrap();
        memory.write_words(8, &[0x0102_0304_0506_0708, 9]);
        let mut bytes = [0; 9];
        memory.read(8, &mut bytes);
        assert_eq!(bytes, [8, 7, 6, 5, 4, 3, 2, 1, 9]);
        assert_eq!(memory.load_u64(8), 0x0102_0304_0506_0708);
        assert_eq!(memory.load_u32(12), 0x0102_0304);
    }

    #[test]
    fn large_memory_has_as_many_bytes_as_asked_for_whatever_its_pages() {
        let len = 2 * LARGE_PAGE + 5000;
        let memory = DmaMemory::new(len).unwrap();
        assert_eq!((memory.len(), memory.mapped_len()), (len, 2 * LARGE_PAGE + 8192));
        memory.write(len - 3, &[1, 2, 3]);
        let mut end = [9; 4];
        memory.read(len - 3, &mut end);
        assert_eq!(end, [1, 2, 3, 0]);
    }

    #[test]
    fn children_of_this_process_do_not_share_the_pages() {
        for len in [1, 2 * LARGE_PAGE] {
            let memory = DmaMemory::new(len).unwrap();
            let start = memory.as_ptr() as u64;
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let holds = |line: &&str| {
                let range = line.split(' ').next().and_then(|range| range.split_once('-'));
                let number = |text| u64::from_str_radix(text, 16).ok();
                range.is_some_and(|(from, to)| {
                    number(from).is_some_and(|from| from <= start)
                        && number(to).is_some_and(|to| to > start)
                })
            };
            let mut lines = maps.lines().skip_while(|line| !holds(line));
            let flags = lines.find(|line| line.starts_with("VmFlags:")).expect("its flags");
            assert!(flags.split(' ').any(|flag| flag == "dc"), "{flags}");
        }
    }

    #[test]
    fn memory_of_a_file_is_seen_by_whoever_else_maps_it_and_has_parts() {
        let file = tempfile::tempfile().unwrap();
        assert!(DmaMemory::shared(&file).is_err(), "an empty file has no page");
        file.set_len(3 * PAGE as u64 + 5).unwrap();
        let one = DmaMemory::shared(&file).unwrap();
        let other = DmaMemory::shared(&file).unwrap();
        assert_eq!(one.mapped_len(), 3 * PAGE, "the last page is not whole");
        let part = one.part(PAGE, 2 * PAGE).unwrap();
        part.write(PAGE - 1, &[7, 8]);
        let mut bytes = [0; 2];
        other.read(2 * PAGE - 1, &mut bytes);
        assert_eq!(bytes, [7, 8]);
        let inner = part.part(PAGE, PAGE).unwrap();
        assert!(one.is_shared() && !other.is_shared());
        drop((one, part));
        assert_eq!(inner.load_u32(0), 8, "a part keeps the mapping alive");
        for (offset, len) in [(0, 0), (8, PAGE), (0, 8), (PAGE, PAGE), (usize::MAX & !4095, 8192)] {
            assert!(inner.part(offset, len).is_none(), "{offset} {len}");
        }
    }

    #[test]
    fn more_than_there_is_is_refused() {
        assert!(DmaMemory::new(usize::MAX).is_err());
        assert!(DmaMemory::new(usize::MAX >> 1).is_err());
    }

    #[test]
    #[should_panic(expected = "bytes 4090..+7 are outside the memory of 4096 B")]
    fn bytes_outside_are_refused() {
        DmaMemory::new(1).unwrap().write(4090, &[0; 7]);
    }

    #[test]
    #[should_panic(expected = "outside the memory")]
    fn offsets_do_not_wrap() {
        DmaMemory::new(1).unwrap().read(usize::MAX, &mut [0; 2]);
    }
}
