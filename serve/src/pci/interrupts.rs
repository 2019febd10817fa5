//! The function's interrupts: which events the client wants to see them as.
//!
//! The application block of Corundum has no interrupt, so that the card raises none; a client may
//! still set events up, and let them happen to try them.

use std::{fs::File, io::Write};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::config::VECTORS;

/// The index of MSI-X among the kinds: INTx, MSI, MSI-X, errors, requests.
const MSIX: u32 = 2;
/// Kinds of interrupts.
pub const KINDS: u32 = 5;

/// Flags of a kind: it is told by events; as a set it cannot grow.
const EVENTS: u32 = 1 << 0;
const NO_RESIZE: u32 = 1 << 3;

const DATA: u32 = 0x7;
const DATA_NONE: u32 = 1 << 0;
const DATA_BOOL: u32 = 1 << 1;
const DATA_EVENTS: u32 = 1 << 2;
const ACTION: u32 = 0x38;
const TRIGGER: u32 = 1 << 5;

/// A request to set interrupts up, or to let them happen.
#[derive(Debug)]
pub struct Setting<'a> {
    /// What the data are, and what is to be done.
    pub flags: u32,
    /// The kind.
    pub index: u32,
    /// The first vector.
    pub start: u32,
    /// Vectors.
    pub count: u32,
    /// A byte each, if the data are those.
    pub data: &'a [u8],
    /// An event each, or none to set none up, if the data are those.
    pub events: Vec<File>,
}

/// The events, by vector.
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
    /// Flags and vectors of a kind; `None` if there is none.
    pub fn info(index: u32) -> Option<(u32, u32)> {
        match index {
            MSIX => Some((EVENTS | NO_RESIZE, VECTORS as u32)),
            _ => (index < KINDS).then_some((EVENTS, 0)),
        }
    }

    /// Does as told.
    ///
    /// # Errors
    /// `EINVAL`: there are not such vectors, or not such actions.
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
            // A client that has none for these vectors sends none at all.
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

    /// Lets a vector's interrupt happen; without an event, nobody sees it.
    fn raise(&mut self, vector: usize) {
        let Some(event) = &mut self.events[vector] else { return };
        // A full counter has interrupts enough, and is not waited for.
        let mut fds = [PollFd::new(&*event, PollFlags::OUT)];
        let has_room = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok()
            && fds[0].revents().contains(PollFlags::OUT);
        if has_room {
            // A client that gave something else than an event has itself to blame.
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
        // No event for one of them.
        set(&mut interrupts, 0x24, [2, 4, 1], &[], &[]).unwrap();
        set(&mut interrupts, 0x21, [2, 3, 2], &[], &[]).unwrap();
        assert_eq!((count(&mut one), count(&mut two)), (1, 0));
        // All off.
        set(&mut interrupts, 0x21, [2, 0, 0], &[], &[]).unwrap();
        set(&mut interrupts, 0x21, [2, 3, 1], &[], &[]).unwrap();
        assert_eq!(count(&mut one), 0);
    }

    #[test]
    fn an_event_that_is_full_is_not_waited_for() {
        let mut interrupts = Interrupts::default();
        // One that blocks.
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
