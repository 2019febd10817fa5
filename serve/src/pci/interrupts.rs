//! The function's interrupts: the events by which the client receives them.
//!
//! The application block of Corundum has no interrupt, so that the card raises none; a client may
//! still set up events, and trigger them for a test.

use std::{fs::File, io::Write};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::config::VECTORS;

/// Index of MSI-X among the kinds of interrupts: INTx, MSI, MSI-X, errors, requests.
const MSIX: u32 = 2;
/// Number of kinds of interrupts.
pub const KINDS: u32 = 5;

/// Flags of a kind: it uses events; its set of vectors cannot be enlarged.
const EVENTS: u32 = 1 << 0;
const NO_RESIZE: u32 = 1 << 3;

const DATA: u32 = 0x7;
const DATA_NONE: u32 = 1 << 0;
const DATA_BOOL: u32 = 1 << 1;
const DATA_EVENTS: u32 = 1 << 2;
const ACTION: u32 = 0x38;
const TRIGGER: u32 = 1 << 5;

/// A request to set up interrupts, or to trigger them.
#[derive(Debug)]
pub struct Setting<'a> {
    /// Type of the data, and action.
    pub flags: u32,
    /// Index of the kind.
    pub index: u32,
    /// Index of the first vector.
    pub start: u32,
    /// Number of vectors.
    pub count: u32,
    /// One byte for each vector, if the data are of that type.
    pub data: &'a [u8],
    /// One event for each vector, or none to remove them, if the data are of that type.
    pub events: Vec<File>,
}

/// Events of the vectors.
#[derive(Debug)]
pub struct Interrupts {
    events: [Option<File>; VECTORS],
}

impl Default for Interrupts {
    fn default() -> Self {
        Self { events: std::array::from_fn(|_| None) }
    }
}

impl Interrupts {
    /// Returns flags and number of vectors of a kind; `None` if there is no such kind.
    pub fn info(index: u32) -> Option<(u32, u32)> {
        match index {
            MSIX => Some((EVENTS | NO_RESIZE, VECTORS as u32)),
            _ => (index < KINDS).then_some((EVENTS, 0)),
        }
    }

    /// Carries out a request.
    ///
    /// # Errors
    /// `EINVAL`: the vectors or the action do not exist.
    pub fn set(&mut self, setting: Setting<'_>) -> Result<(), Errno> {
        let Setting { flags, index, start, count, data, events } = setting;
        let (_, vectors) = Self::info(index).ok_or(Errno::INVAL)?;
        let end = start.checked_add(count).filter(|end| *end <= vectors).ok_or(Errno::INVAL)?;
        let range = start as usize..end as usize;
        if flags & ACTION != TRIGGER {
            return Err(Errno::INVAL);
        }
        match flags & DATA {
            DATA_NONE if count == 0 => *self = Self::default(),
            DATA_NONE => range.for_each(|vector| self.raise(vector)),
            DATA_BOOL if data.len() == range.len() => {
                let wanted = range.zip(data).filter(|(_, wanted)| **wanted != 0);
                wanted.for_each(|(vector, _)| self.raise(vector));
            }
            // Without events for these vectors, a client sends no descriptors at all.
            DATA_EVENTS if events.is_empty() => self.events[range].fill_with(|| None),
            DATA_EVENTS if events.len() == range.len() => {
                for (slot, event) in self.events[range].iter_mut().zip(events) {
                    *slot = Some(event);
                }
            }
            _ => return Err(Errno::INVAL),
        }
        Ok(())
    }

    /// Triggers a vector's interrupt; without an event, this has no effect.
    fn raise(&mut self, vector: usize) {
        let Some(event) = &mut self.events[vector] else { return };
        // A full counter is not waited for: it holds enough interrupts.
        let mut fds = [PollFd::new(&*event, PollFlags::OUT)];
        let has_room = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok()
            && fds[0].revents().contains(PollFlags::OUT);
        if has_room {
            // If the client's descriptor is no event, the error is ignored.
            let _ = event.write(&1_u64.to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    fn event() -> File {
        File::from(eventfd(0, EventfdFlags::NONBLOCK).unwrap())
    }

    fn count(event: &mut File) -> u64 {
        let mut bytes = [0; 8];
        event.read(&mut bytes).map_or(0, |_| u64::from_ne_bytes(bytes))
    }

    fn set(
        interrupts: &mut Interrupts,
        flags: u32,
        [index, start, count]: [u32; 3],
        data: &[u8],
        events: &[&File],
    ) -> Result<(), Errno> {
        let events = events.iter().map(|event| event.try_clone().unwrap()).collect();
        interrupts.set(Setting { flags, index, start, count, data, events })
    }

    #[test]
    fn vectors_happen_as_the_events_that_were_set_up_for_them() {
        let mut interrupts = Interrupts::default();
        let [mut one, mut two] = [event(), event()];
        set(&mut interrupts, 0x24, [2, 3, 1], &[], &[&one]).unwrap();
        set(&mut interrupts, 0x24, [2, 4, 1], &[], &[&two]).unwrap();
        set(&mut interrupts, 0x21, [2, 0, 32], &[], &[]).unwrap();
        assert_eq!((count(&mut one), count(&mut two)), (1, 1));
        set(&mut interrupts, 0x22, [2, 3, 2], &[0, 1], &[]).unwrap();
        assert_eq!((count(&mut one), count(&mut two)), (0, 1));
        // One of the vectors has no event.
        set(&mut interrupts, 0x24, [2, 4, 1], &[], &[]).unwrap();
        set(&mut interrupts, 0x21, [2, 3, 2], &[], &[]).unwrap();
        assert_eq!((count(&mut one), count(&mut two)), (1, 0));
        // Turns all vectors off.
        set(&mut interrupts, 0x21, [2, 0, 0], &[], &[]).unwrap();
        set(&mut interrupts, 0x21, [2, 3, 1], &[], &[]).unwrap();
        assert_eq!(count(&mut one), 0);
    }

    #[test]
    fn an_event_that_is_full_is_not_waited_for() {
        let mut interrupts = Interrupts::default();
        // An event that blocks when it is full.
        let mut full = File::from(eventfd(0, EventfdFlags::empty()).unwrap());
        full.write_all(&(u64::MAX - 1).to_ne_bytes()).unwrap();
        set(&mut interrupts, 0x24, [2, 0, 1], &[], &[&full]).unwrap();
        set(&mut interrupts, 0x21, [2, 0, 1], &[], &[]).unwrap();
        assert_eq!(count(&mut full), u64::MAX - 1);
        set(&mut interrupts, 0x21, [2, 0, 1], &[], &[]).unwrap();
        assert_eq!(count(&mut full), 1);
    }

    #[test]
    fn what_there_is_not_is_refused() {
        let mut interrupts = Interrupts::default();
        let event = event();
        for (flags, place, data, events) in [
            (0x24, [5, 0, 1], &[][..], &[&event][..]),
            (0x24, [1, 0, 1], &[], &[&event]),
            (0x24, [2, 32, 1], &[], &[&event]),
            (0x24, [2, u32::MAX, 2], &[], &[&event]),
            (0x24, [2, 0, 2], &[], &[&event]),
            (0x22, [2, 0, 2], &[1], &[]),
            (0x0c, [2, 0, 1], &[], &[&event]),
            (0x20, [2, 0, 1], &[], &[]),
        ] {
            let refused = set(&mut interrupts, flags, place, data, events);
            assert_eq!(refused, Err(Errno::INVAL), "{flags:#x} {place:?}");
        }
        assert_eq!((0..7).filter(|index| Interrupts::info(*index).is_some()).count(), 5);
    }
}
