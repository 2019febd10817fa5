//! Simulated time.

use std::{
    fmt,
    ops::{Add, AddAssign, Sub},
};

/// A moment since the start, or a slice of time: picoseconds, so that a byte of any link has a
/// length. 2^64 of them are 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start.
    pub const ZERO: Self = Self(0);
    /// Later than anything.
    pub const MAX: Self = Self(u64::MAX);

    /// So many picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// So many nanoseconds; those that are too many are [`Time::MAX`].
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1000))
    }

    /// Picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds; what is left over is cut off.
    pub const fn ns(self) -> u64 {
        self.0 / 1000
    }

    /// Nanoseconds; a part of one counts as a whole.
    pub const fn ns_rounded_up(self) -> u64 {
        self.0.div_ceil(1000)
    }

    /// The time from `earlier` on, or none if that is not earlier.
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
