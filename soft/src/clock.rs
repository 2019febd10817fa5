//! Working time of a simulated card: from the first doorbell to the last byte on the wire.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Nanoseconds of a clock cycle: 250 MHz.
pub const NS_PER_CYCLE: f64 = 4.0;

/// An interval of the card's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// Time of the first doorbell, in nanoseconds since reset.
    pub first_doorbell_ns: f64,
    /// Time at which the last byte of the last frame was on the wire, in nanoseconds since reset;
    /// that of the doorbell if nothing was sent.
    pub last_byte_ns: f64,
}

impl Span {
    /// Number of clock cycles, rounded up.
    pub fn cycles(&self) -> u64 {
        ((self.last_byte_ns - self.first_doorbell_ns) / NS_PER_CYCLE).ceil() as u64
    }

    /// Rate in Gb/s (bits a nanosecond) at which `bytes` bytes were sent in that time; 0 if nothing
    /// was sent.
    pub fn gbps(&self, bytes: u64) -> f64 {
        let ns = self.last_byte_ns - self.first_doorbell_ns;
        if ns > 0.0 { bytes as f64 * 8.0 / ns } else { 0.0 }
    }
}

/// Measures how long a card has worked since its counters were cleared. Clones measure the same
/// card.
///
/// The time of the reference model is no measurement: it records nothing here.
#[derive(Clone, Debug, Default)]
pub struct SimClock {
    span: Arc<Mutex<Option<Span>>>,
}

impl SimClock {
    fn lock(&self) -> MutexGuard<'_, Option<Span>> {
        self.span.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The interval from the first doorbell since the counters were cleared to the last byte so
    /// far; `None` if there was no doorbell, or the card has no clock.
    pub fn span(&self) -> Option<Span> {
        *self.lock()
    }

    /// Notes that the counters were cleared.
    pub fn cleared(&self) {
        *self.lock() = None;
    }

    /// Notes that a doorbell was written.
    pub fn doorbell(&self, ns: f64) {
        self.lock().get_or_insert(Span { first_doorbell_ns: ns, last_byte_ns: ns });
    }

    /// Notes that a frame's last byte was sent.
    pub fn sent(&self, ns: f64) {
        if let Some(span) = &mut *self.lock() {
            span.last_byte_ns = span.last_byte_ns.max(ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_runs_from_the_first_doorbell_to_the_last_byte() {
        let clock = SimClock::default();
        clock.sent(50.0);
        assert_eq!(clock.span(), None);
        clock.doorbell(100.0);
        clock.doorbell(120.0);
        clock.sent(301.0);
        let span = clock.span().expect("a doorbell was written");
        assert_eq!(span, Span { first_doorbell_ns: 100.0, last_byte_ns: 301.0 });
        assert_eq!(span.cycles(), 51);
        assert_eq!(span.gbps(201), 8.0);
        clock.cleared();
        assert_eq!(clock.span(), None);
    }

    #[test]
    fn nothing_sent_is_no_time_and_no_rate() {
        let clock = SimClock::default();
        clock.doorbell(100.0);
        let span = clock.span().expect("a doorbell was written");
        assert_eq!((span.cycles(), span.gbps(0)), (0, 0.0));
    }
}
