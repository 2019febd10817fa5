//! Writing an image so that a board never boots a part of one.
//!
//! A board takes the first sync word in the main segment for an image's start; it then expects its
//! own IDCODE, and falls back to the golden image if it reads another. So the IDCODE behind the
//! first sync word is cleared first and programmed last:
//!
//! 1. *Survey*: the segment is read as far as the image reaches, and an older image behind it.
//!    Sectors that are correct already are kept, so that the same command continues an interrupted
//!    run.
//! 2. *Disarm*: the old IDCODE is cleared to 0, then every sync word, the first one last.
//! 3. *Write*: sector by sector is erased if it must be, programmed with everything but the
//!    new image's sync words and IDCODE, and read back.
//! 4. *Arm*: the sync words are programmed, the first one first, and then the IDCODE.
//!
//! Programming clears bits of a word, in no order. So whenever the power fails, the IDCODE is the
//! old one with the whole old image behind it, the new one with the whole new image behind it, or
//! neither. This does not depend on the stream's own checksums.

use std::ops::Range;

use super::{
    BootWords, Chip, Erase, FlashBlock, FlashError, Layout, SYNC, Shell,
    mt25q::{PAGE, SIZE},
};

/// Stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading the current contents.
    Survey,
    /// Erasing, programming and reading back.
    Write,
    /// Reading the image back, or the flash into a file.
    Read,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Current stage.
    pub stage: Stage,
    /// Number of bytes that are done.
    pub done: usize,
    /// Number of bytes of the whole stage.
    pub total: usize,
}

/// Result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of bytes that were correct already.
    pub kept: usize,
    /// Number of bytes that were written.
    pub written: usize,
}

/// A flash that can be written.
#[derive(Debug)]
pub struct Flash<S> {
    chip: Chip<S>,
    layout: Layout,
}

/// A sector or subsector of the main segment, of the largest size that does not touch the golden
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    start: u32,
    erase: Erase,
}

impl Block {
    /// The block at `start`.
    fn at(start: u32, segment: &Range<u32>) -> Self {
        let whole = Erase::Sector.bytes();
        let fits = start.is_multiple_of(whole) && segment.end - start >= whole;
        Self { start, erase: if fits { Erase::Sector } else { Erase::Subsector } }
    }

    fn end(self) -> u32 {
        self.start + self.erase.bytes()
    }

    /// Range of the block relative to the start of the segment.
    fn within(self, segment: &Range<u32>) -> Range<usize> {
        (self.start - segment.start) as usize..(self.end() - segment.start) as usize
    }
}

/// Current and new contents of the segment, as far as they matter.
struct Plan {
    blocks: Vec<Block>,
    found: Vec<u8>,
    wanted: Vec<u8>,
    words: BootWords,
}

impl<S: Shell> Flash<S> {
    /// Finds the flash and prepares it.
    ///
    /// # Errors
    /// There is no flash that can be written safely, or the card is gone.
    pub fn open(mut shell: S) -> Result<Self, FlashError> {
        let block = FlashBlock::find(&mut shell)?;
        let layout = Layout::new(block.format, SIZE)?;
        Ok(Self { chip: Chip::open(shell, block.control)?, layout })
    }

    /// Division of the flash into segments.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Registers of the shell.
    pub fn shell(&mut self) -> &mut S {
        self.chip.shell()
    }

    /// Reads bytes from `address` on.
    ///
    /// # Errors
    /// The card is gone.
    pub fn read(
        &mut self,
        address: u32,
        bytes: &mut [u8],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), FlashError> {
        let total = bytes.len();
        let mut done = 0;
        for chunk in bytes.chunks_mut(Erase::Sector.bytes() as usize) {
            self.chip.read(address + done as u32, chunk)?;
            done += chunk.len();
            progress(Progress { stage: Stage::Read, done, total });
        }
        Ok(())
    }

    /// Compares the main segment with an image.
    ///
    /// # Errors
    /// The contents differ (the error names the first byte that does), the image does not fit, or
    /// the card is gone.
    pub fn verify(
        &mut self,
        image: &[u8],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), FlashError> {
        self.check_length(image)?;
        let mut found = vec![0; image.len()];
        let start = self.layout.main.start;
        self.read(start, &mut found, progress)?;
        compare(start, image, &found)
    }

    /// Makes an image the one that the board boots. Sectors that are correct already are not
    /// touched.
    ///
    /// # Errors
    /// The image has no start or does not fit, the chip failed, or the card is gone. After an error
    /// the board boots the golden image, or the old one if nothing had been changed.
    pub fn write(
        &mut self,
        image: &[u8],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, FlashError> {
        self.check_length(image)?;
        let mut plan = self.survey(image, progress)?;
        if plan.found == plan.wanted {
            return Ok(Outcome { kept: plan.wanted.len(), written: 0 });
        }
        self.disarm(&mut plan)?;
        let outcome = self.write_blocks(&plan, progress)?;
        self.arm(&plan)?;
        Ok(outcome)
    }

    fn check_length(&self, image: &[u8]) -> Result<(), FlashError> {
        let segment = self.layout.main.len() as u32;
        if image.len() > segment as usize {
            return Err(FlashError::TooLong { image: image.len(), segment });
        }
        Ok(())
    }

    /// Reads the contents where the image will be, and behind it until a sector is blank.
    fn survey(
        &mut self,
        image: &[u8],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Plan, FlashError> {
        let words = BootWords::find(image);
        if words.idcode.is_none() {
            return Err(FlashError::NoStart);
        }
        let segment = self.layout.main.clone();
        let (mut blocks, mut found) = (Vec::new(), Vec::new());
        let mut at = segment.start;
        while at < segment.end {
            let block = Block::at(at, &segment);
            let range = block.within(&segment);
            found.resize(range.end, 0);
            self.chip.read(at, &mut found[range.clone()])?;
            let blank = found[range.clone()].iter().all(|byte| *byte == 0xff);
            if range.start >= image.len() && blank {
                found.truncate(range.start);
                break;
            }
            blocks.push(block);
            at = block.end();
            let total = image.len().max(range.end);
            progress(Progress { stage: Stage::Survey, done: range.end, total });
        }
        let mut wanted = vec![0xff; found.len()];
        wanted[..image.len()].copy_from_slice(image);
        Ok(Plan { blocks, found, wanted, words })
    }

    /// Clears the words that make the current contents an image.
    fn disarm(&mut self, plan: &mut Plan) -> Result<(), FlashError> {
        let old = BootWords::find(&plan.found);
        let idcode = old.idcode.map(|(at, _)| at);
        for at in idcode.into_iter().chain(old.syncs.into_iter().rev()) {
            self.program(at, &[0; 4])?;
            plan.found[at..at + 4].fill(0);
        }
        Ok(())
    }

    /// Writes everything but the words that make it an image.
    fn write_blocks(
        &mut self,
        plan: &Plan,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, FlashError> {
        let mut unarmed = plan.wanted.clone();
        for at in plan.boot_words() {
            unarmed[at..at + 4].fill(0xff);
        }
        let mut outcome = Outcome::default();
        let total = unarmed.len();
        for block in &plan.blocks {
            let range = block.within(&self.layout.main);
            let (found, wanted) = (&plan.found[range.clone()], &unarmed[range.clone()]);
            if found == wanted {
                outcome.kept += range.len();
            } else {
                self.write_block(*block, found, wanted)?;
                outcome.written += range.len();
            }
            progress(Progress { stage: Stage::Write, done: range.end, total });
        }
        Ok(outcome)
    }

    fn write_block(&mut self, block: Block, found: &[u8], wanted: &[u8]) -> Result<(), FlashError> {
        guard(&self.layout.main, block.start)?;
        let clears = found.iter().zip(wanted).all(|(found, wanted)| found & wanted == *wanted);
        let mut found = found.to_vec();
        if !clears {
            self.chip.erase(block.start, block.erase)?;
            found.fill(0xff);
        }
        let page = PAGE as usize;
        for (index, (found, wanted)) in found.chunks(page).zip(wanted.chunks(page)).enumerate() {
            if found != wanted {
                self.chip.program(block.start + (index * page) as u32, wanted)?;
            }
        }
        self.chip.read(block.start, &mut found)?;
        compare(block.start, wanted, &found)
    }

    /// Writes the words that make it an image.
    fn arm(&mut self, plan: &Plan) -> Result<(), FlashError> {
        for at in plan.boot_words() {
            let word = &plan.wanted[at..at + 4];
            self.program(at, word)?;
            let mut found = [0; 4];
            let address = self.layout.main.start + at as u32;
            self.chip.read(address, &mut found)?;
            compare(address, word, &found)?;
        }
        Ok(())
    }

    /// Programs a few bytes at an offset in the main segment, page by page.
    fn program(&mut self, offset: usize, bytes: &[u8]) -> Result<(), FlashError> {
        let mut address = self.layout.main.start + offset as u32;
        let mut bytes = bytes;
        while !bytes.is_empty() {
            guard(&self.layout.main, address)?;
            let room = (PAGE - address % PAGE) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.chip.program(address, now)?;
            address += now.len() as u32;
            bytes = later;
        }
        Ok(())
    }
}

/// Refuses addresses outside of the main segment.
fn guard(main: &Range<u32>, address: u32) -> Result<(), FlashError> {
    if main.contains(&address) {
        return Ok(());
    }
    Err(FlashError::OutsideMain { address })
}

impl Plan {
    /// Offsets of the words that make it an image, in the order in which they are written. Words
    /// that overlap others lie in the sync words' range as well.
    fn boot_words(&self) -> impl Iterator<Item = usize> + use<> {
        let idcode = self.words.idcode.map(|(at, _)| at);
        self.words.syncs.clone().into_iter().chain(idcode)
    }
}

fn compare(start: u32, expected: &[u8], found: &[u8]) -> Result<(), FlashError> {
    let differ = expected.iter().zip(found).position(|(expected, found)| expected != found);
    match differ {
        None => Ok(()),
        Some(at) => Err(FlashError::Mismatch {
            address: start + at as u32,
            expected: expected[at],
            found: found[at],
        }),
    }
}

// `SYNC` cannot overlap itself: none of its ends is a start of it. Words can therefore be cleared and
// programmed one by one.
const _: () = assert!(SYNC[0] != SYNC[1] && SYNC[0] != SYNC[2] && SYNC[0] != SYNC[3]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_of_the_main_segment_is_changed() {
        let main = 0x0100_2000..0x0800_0000;
        assert!(guard(&main, 0x0100_2000).is_ok() && guard(&main, 0x07ff_ffff).is_ok());
        for address in [0, 0x0100_1fff, 0x0800_0000] {
            let error = guard(&main, address).unwrap_err().to_string();
            let text = format!("{address:#010x} is outside of the main segment, and was left");
            assert!(error.starts_with(&text), "{error}");
        }
    }

    #[test]
    fn blocks_never_reach_into_the_golden_segment() {
        let segment = 0x0100_2000..0x0800_0000;
        let (mut at, mut small) = (segment.start, 0);
        while at < segment.end {
            let block = Block::at(at, &segment);
            assert!(block.start.is_multiple_of(block.erase.bytes()), "{block:x?}");
            small += u32::from(block.erase == Erase::Subsector);
            at = block.end();
        }
        assert_eq!((at, small), (segment.end, 14));
        assert_eq!(Block::at(0x0100_0000, &segment).end(), 0x0101_0000);
    }
}
