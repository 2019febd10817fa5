//! The processor's time.

use std::{
    ops::{AddAssign, Sub},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// CPU time that this thread has had.
pub fn now() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

/// CPU time that all threads of this process have had.
pub fn of_process() -> Duration {
    time_of(ClockId::ProcessCPUTime)
}

fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What a worker has used since it started, or what several of them have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time of the process.
    pub process: Duration,
    /// The part of it that the thread of the simulated card has had, without waking those that wait for the card.
    pub card: Duration,
    /// Rows that were sent to other workers by the card; a row to three consumers counts three times.
    pub rows: u64,
    /// Bytes of these rows in memory.
    pub bytes: u64,
}

impl Usage {
    /// CPU time that is left if silicon does the card's work.
    pub fn without_card(&self) -> Duration {
        self.process.saturating_sub(self.card)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.process += other.process;
        self.card += other.card;
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

impl Sub for Usage {
    type Output = Self;

    /// What was used since `before`. A value that has become smaller, as a worker was started again, counts as 0.
    fn sub(self, before: Self) -> Self {
        Self {
            process: self.process.saturating_sub(before.process),
            card: self.card.saturating_sub(before.card),
            rows: self.rows.saturating_sub(before.rows),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
    }
}

/// CPU time of a card's thread, which that thread notes and others read.
#[derive(Clone, Debug, Default)]
pub(crate) struct CardTime(Arc<AtomicU64>);

impl CardTime {
    /// The time that was noted last.
    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn note(&self, time: Duration) {
        self.0.store(time.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// The clock of a card's thread. It stands still while the thread does work that a card would not do.
#[derive(Debug)]
pub(crate) struct CardClock {
    time: CardTime,
    not_counted: Duration,
}

impl CardClock {
    pub fn new(time: CardTime) -> Self {
        Self { time, not_counted: Duration::ZERO }
    }

    /// Notes the time up to now.
    pub fn note(&self) {
        self.time.note(now().saturating_sub(self.not_counted));
    }

    /// Does work of the host on this thread.
    pub fn uncounted(&mut self, work: impl FnOnce()) {
        let start = now();
        self.time.note(start.saturating_sub(self.not_counted));
        work();
        self.not_counted += now().saturating_sub(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() {
        let start = now();
        while now() - start < Duration::from_millis(2) {}
    }

    #[test]
    fn the_clock_of_a_card_counts_its_own_work_alone() {
        let time = CardTime::default();
        let counted = time.clone();
        std::thread::spawn(move || {
            let mut clock = CardClock::new(counted);
            work();
            clock.note();
            let before = clock.time.get();
            assert!(before >= Duration::from_millis(2), "{before:?}");
            clock.uncounted(|| (0..50).for_each(|_| work()));
            clock.note();
            let passed = clock.time.get() - before;
            assert!(passed < Duration::from_millis(50), "{passed:?} of the host's 100 ms");
            work();
            clock.note();
            assert!(clock.time.get() - before - passed >= Duration::from_millis(2));
        })
        .join()
        .unwrap();
        assert!(time.get() >= Duration::from_millis(4));
        assert!(time.get() < of_process());
    }

    #[test]
    fn usages_are_added_and_subtracted() {
        let ms = Duration::from_millis;
        let one = Usage { process: ms(10), card: ms(4), rows: 3, bytes: 60 };
        let mut two = one;
        two += one;
        assert_eq!(two, Usage { process: ms(20), card: ms(8), rows: 6, bytes: 120 });
        assert_eq!(two - one, one);
        assert_eq!(one - two, Usage::default());
        assert_eq!(one.without_card(), ms(6));
    }
}
