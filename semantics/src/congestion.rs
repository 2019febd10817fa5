//! Congestion control of connected queue pairs: DCQCN (Zhu et al., *Congestion Control for Large-Scale RDMA
//! Deployments*, SIGCOMM 2015; docs/semantics.md, "Congestion control").
//!
//! A receiver answers packets that met congestion with CNPs ([`Notifier`]); a sender that receives
//! one limits the rate of that queue pair ([`Limiter`]). Neither has a clock: times are in the
//! caller's cycles of 4 ns.
//!
//! All arithmetic is on integers, so that a card can do the same: rates in Mb/s, alpha in 1/65,536.

use drdma_abi::register::{
    ALPHA_PERIOD, ALPHA_SHIFT, CNP_INTERVAL, MIN_RATE, RATE_ADD, RATE_BYTES, RATE_HYPER,
    RATE_PERIOD, RATE_STAGES, Register,
};
pub use drdma_abi::roce::cnp::{ALPHA_ONE, AT_ONE_MBPS, LEAST_RATE, LINE_RATE};

/// Number of cycles in a unit of [`ALPHA_PERIOD`] and [`RATE_PERIOD`].
pub const PERIOD_UNIT: u64 = 256;
/// Longest burst: a queue pair that has not sent for a while may send this many cycles' worth at
/// once.
pub const BURST: u64 = 4096;
/// Binary logarithm of the parts of a cycle in which the time of 64 B is given.
pub const FRACTION: u32 = 8;

/// Size in bytes of the unit that rates are applied to.
const UNIT: u32 = 64;

/// Settings of congestion control, for all queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Least number of cycles between two CNPs of a queue pair.
    pub cnp_interval: u64,
    /// Number of cycles without a CNP after which alpha is reduced.
    pub alpha_period: u64,
    /// Binary logarithm of 1/g.
    pub alpha_shift: u32,
    /// Number of cycles after which a rate is raised.
    pub rate_period: u64,
    /// Number of units of 64 B after which a rate is raised.
    pub rate_bytes: u32,
    /// Number of raises that only halve the distance to the target, F.
    pub stages: u32,
    /// Step of an additive raise in Mb/s.
    pub add: u32,
    /// Step of a hyper raise in Mb/s.
    pub hyper: u32,
    /// Lowest rate to which a cut goes, in Mb/s.
    pub min_rate: u32,
}

impl Settings {
    /// Reads the settings from the card's registers.
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

/// Notification point of a queue pair: decides when CNPs are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notifier {
    last: Option<u64>,
}

impl Notifier {
    /// Notes that a packet which met congestion arrived at `now`; true if a CNP is to be sent.
    pub fn marked(&mut self, now: u64, settings: &Settings) -> bool {
        let sends = self.last.is_none_or(|last| now - last >= settings.cnp_interval);
        if sends {
            self.last = Some(now);
        }
        sends
    }
}

/// Number of units of 64 B that a packet counts as: its payload, rounded down, and two for headers
/// and gap.
pub fn units(payload: u32) -> u32 {
    payload / UNIT + 2
}

/// Time of 64 B at a rate in Mb/s, in 1/256 of a cycle.
pub fn time_of_unit(rate: u32) -> u32 {
    AT_ONE_MBPS / rate
}

/// Reaction point of a queue pair: its rate, as long as that is less than the link's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limiter {
    /// Current rate in Mb/s.
    pub rate: u32,
    /// Target rate in Mb/s, which the current one approaches.
    pub target: u32,
    /// Estimate of the congestion: 0 to [`ALPHA_ONE`].
    pub alpha: u32,
    /// Starts of the current periods of alpha and of the rate, in cycles.
    alpha_since: u64,
    rate_since: u64,
    /// Number of units of 64 B sent since the last raise by bytes.
    sent: u32,
    /// Numbers of raises since the last cut: by time, and by bytes.
    time_stage: u32,
    byte_stage: u32,
    /// Time from which the next packet may be sent, in parts of a cycle.
    next: u64,
}

impl Limiter {
    /// A limiter whose first CNP arrives at `now`.
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

    /// Takes a CNP that arrives at `now`.
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

    /// Performs all reductions of alpha and raises of the rate that are due up to `now`.
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

    /// True if the rate is the link's again, so that nothing is limited any more.
    pub fn is_over(&self) -> bool {
        self.rate >= LINE_RATE
    }

    /// Cycle from which the next packet may be sent.
    pub fn ready_at(&self) -> u64 {
        self.next.div_ceil(1 << FRACTION)
    }

    /// Notes that a packet with `payload` bytes of payload is sent at `now`.
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
