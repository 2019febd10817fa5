//! How much of what the host allows to be in flight is used.

/// Use of the host's limits by reads. The limit in force is the narrower one: tags, or bytes in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Picoseconds that requests took from the link and back, as a sum.
    pub round_trips_ps: u64,
    /// Sum of the shares of the limit in force that were in flight, over all cycles: the cycles that
    /// these reads take if the limit is always reached.
    pub used: f64,
    /// Shares that were not used before the first read of the `data` port, in cycles. Counting begins with the
    /// first read of any port.
    pub start: f64,
    /// Shares that were not used between the first and the last read of the `data` port, in cycles.
    pub between: f64,
    /// Shares that were not used since the last read of the `data` port; added to `between` at the next one.
    since: f64,
}

impl Usage {
    /// Counts a cycle with this share of the limit in flight; `data`: a read of the `data` port was sent in it.
    pub(super) fn cycle(&mut self, share: f64, data: bool) {
        if self.used == 0.0 && share == 0.0 {
            return;
        }
        self.used += share;
        self.since += 1.0 - share;
        if data {
            let first = self.start == 0.0;
            let sum = if first { &mut self.start } else { &mut self.between };
            *sum += std::mem::take(&mut self.since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_is_counted_by_where_it_lies() {
        let mut usage = Usage::default();
        // Idle, a request's read for two cycles, two reads of data, and the rest.
        let cycles =
            [(0.0, false), (0.25, false), (0.25, false), (0.5, true), (0.75, true), (0.5, false)];
        for (share, data) in cycles {
            usage.cycle(share, data);
        }
        assert_eq!((usage.used, usage.start, usage.between), (2.25, 2.0, 0.25));
    }
}
