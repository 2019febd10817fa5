//! Congestion control of connected queue pairs: DCQCN (Zhu et al., *Congestion Control for Large-Scale RDMA Deployments*,
//! SIGCOMM 2015; docs/semantics.md, "Congestion control").
//!
//! A receiver answers packets that met congestion with CNPs ([`Notifier`]); a sender that gets one limits the rate of that queue
//! pair ([`Limiter`]). Both have no clock: times are in the caller's cycles of 4 ns.
//!
//! All is done with integers, so that a card can do the same: rates in Mb/s, alpha in 1/65,536.

use drdma_abi::register::{
    ALPHA_PERIOD, ALPHA_SHIFT, CNP_INTERVAL, MIN_RATE, RATE_ADD, RATE_BYTES, RATE_HYPER,
    RATE_PERIOD, RATE_STAGES, Register,
};
pub use drdma_abi::roce::cnp::{ALPHA_ONE, AT_ONE_MBPS, LEAST_RATE, LINE_RATE};

/// Cycles in a unit of [`ALPHA_PERIOD`] and [`RATE_PERIOD`].
pub const PERIOD_UNIT: u64 = 256;
/// A queue pair that has not sent for a while may send so many cycles' worth at once.
pub const BURST: u64 = 4096;
/// Parts of a cycle that the time of 64 B is told in, as a power of 2.
pub const FRACTION: u32 = 8;

/// Bytes in the unit that rates are applied to.
const UNIT: u32 = 64;

/// What the host sets, for all queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Cycles between two CNPs of a queue pair.
    pub cnp_interval: u64,
    /// Cycles without a CNP after which alpha becomes smaller.
    pub alpha_period: u64,
    /// Binary logarithm of 1/g.
    pub alpha_shift: u32,
    /// Cycles after which a rate is raised.
    pub rate_period: u64,
    /// Units of 64 B after which it is.
    pub rate_bytes: u32,
    /// Raises that only halve the distance, F.
    pub stages: u32,
    /// What an additive raise adds, in Mb/s.
    pub add: u32,
    /// What a hyper raise adds, in Mb/s.
    pub hyper: u32,
    /// What a cut leaves, in Mb/s.
    pub min_rate: u32,
}

impl Settings {
    /// What the registers hold.
    pub fn new(register: impl Fn(&Register) -> u32) -> Self {
        let field = |which: &Register, bits: u32| register(which) & ((1 << bits) - 1);
        Self {
            cnp_interval: field(&CNP_INTERVAL, 16).into(),
            alpha_period: u64::from(field(&ALPHA_PERIOD, 16).max(1)) * PERIOD_UNIT,
            alpha_shift: field(&ALPHA_SHIFT, 4).max(1),
            rate_period: u64::from(field(&RATE_PERIOD, 16).max(1)) * PERIOD_UNIT,
            rate_bytes: field(&RATE_BYTES, 18).max(1),
            stages: field(&RATE_STAGES, 3).max(1),
            add: field(&RATE_ADD, 16),
            hyper: field(&RATE_HYPER, 16),
            min_rate: field(&MIN_RATE, 16).max(LEAST_RATE),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::new(|register| register.reset)
    }
}

/// The notification point of a queue pair: when it sends CNPs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notifier {
    last: Option<u64>,
}

impl Notifier {
    /// A packet that met congestion came at `now`; true if a CNP is sent.
    pub fn marked(&mut self, now: u64, settings: &Settings) -> bool {
        let sends = self.last.is_none_or(|last| now - last >= settings.cnp_interval);
        if sends {
            self.last = Some(now);
        }
        sends
    }
}

/// Units of 64 B that a packet is counted as: its payload, rounded down, and two for what is around it.
pub fn units(payload: u32) -> u32 {
    payload / UNIT + 2
}

/// Parts of a cycle (1/256) that 64 B take at a rate in Mb/s.
pub fn time_of_unit(rate: u32) -> u32 {
    AT_ONE_MBPS / rate
}

/// The reaction point of a queue pair: its rate, as long as that is less than the link's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limiter {
    /// The rate that it has, and the one that it goes to, in Mb/s.
    pub rate: u32,
    /// See `rate`.
    pub target: u32,
    /// How much congestion there is: 0 to [`ALPHA_ONE`].
    pub alpha: u32,
    /// When the periods began that are under way.
    alpha_since: u64,
    rate_since: u64,
    /// Units of 64 B since the last raise by bytes.
    sent: u32,
    /// Raises by time and by bytes since the last cut.
    time_stage: u32,
    byte_stage: u32,
    /// When the next packet may be sent, in parts of a cycle.
    next: u64,
}

impl Limiter {
    /// One whose first CNP comes at `now`.
    pub fn new(now: u64, settings: &Settings) -> Self {
        let mut limiter = Self {
            rate: LINE_RATE,
            target: LINE_RATE,
            alpha: ALPHA_ONE,
            alpha_since: now,
            rate_since: now,
            sent: 0,
            time_stage: 0,
            byte_stage: 0,
            next: now << FRACTION,
        };
        limiter.notified(now, settings);
        limiter
    }

    /// A CNP comes at `now`.
    pub fn notified(&mut self, now: u64, settings: &Settings) {
        self.target = self.rate;
        let cut = (u64::from(self.rate) * u64::from(self.alpha)) >> 17;
        self.rate = (self.rate - cut as u32).max(settings.min_rate);
        let shift = settings.alpha_shift;
        let more = self.alpha - (self.alpha >> shift) + ((ALPHA_ONE + 1) >> shift);
        self.alpha = more.min(ALPHA_ONE);
        (self.alpha_since, self.rate_since) = (now, now);
        (self.sent, self.time_stage, self.byte_stage) = (0, 0, 0);
    }

    /// Does what is due up to `now`.
    pub fn advance(&mut self, now: u64, settings: &Settings) {
        while now - self.alpha_since >= settings.alpha_period
            && self.alpha >> settings.alpha_shift > 0
        {
            self.alpha -= self.alpha >> settings.alpha_shift;
            self.alpha_since += settings.alpha_period;
        }
        while now - self.rate_since >= settings.rate_period && !self.is_over() {
            self.rate_since += settings.rate_period;
            self.time_stage += 1;
            self.raise(settings);
        }
    }

    fn raise(&mut self, settings: &Settings) {
        let beyond = |stage| stage >= settings.stages;
        let add = match (beyond(self.time_stage), beyond(self.byte_stage)) {
            (false, false) => 0,
            (true, true) => settings.hyper,
            _ => settings.add,
        };
        self.target = (self.target + add).min(LINE_RATE);
        self.rate = (self.rate + self.target).div_ceil(2);
    }

    /// The rate is the link's again: there is nothing to limit.
    pub fn is_over(&self) -> bool {
        self.rate >= LINE_RATE
    }

    /// The cycle in which the next packet may be sent.
    pub fn ready_at(&self) -> u64 {
        self.next.div_ceil(1 << FRACTION)
    }

    /// A packet with so many bytes of payload is sent at `now`.
    pub fn sent(&mut self, payload: u32, now: u64, settings: &Settings) {
        let units = units(payload);
        let earliest = now.saturating_sub(BURST) << FRACTION;
        self.next = self.next.max(earliest) + u64::from(units) * u64::from(time_of_unit(self.rate));
        self.sent += units;
        if self.sent >= settings.rate_bytes {
            self.sent = 0;
            self.byte_stage += 1;
            self.raise(settings);
        }
    }
}

#[cfg(test)]
#[path = "tests/congestion.rs"]
mod tests;
