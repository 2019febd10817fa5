//! Simulated time.

use std::{
    fmt,
    ops::{Add, AddAssign, Sub},
};

/// A time since the start, or a duration, in picoseconds, so that a byte takes a whole number of
/// them on any link. 2^64 of them are 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start of the simulation.
    pub const ZERO: Self = Self(0);
    /// The latest time.
    pub const MAX: Self = Self(u64::MAX);

    /// Duration in picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Duration in nanoseconds; [`Time::MAX`] if it does not fit.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1000))
    }

    /// Number of picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Number of nanoseconds, rounded down.
    pub const fn ns(self) -> u64 {
        self.0 / 1000
    }

    /// Number of nanoseconds, rounded up.
    pub const fn ns_rounded_up(self) -> u64 {
        self.0.div_ceil(1000)
    }

    /// Duration since `earlier`; zero if that is not earlier.
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.ns())
    }
}
