//! Rates from the time stamps of frames on the wire.

/// A frame: when its last byte left, in nanoseconds, and its bytes of application payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When its last byte was on the wire.
    pub ns: u64,
    /// Bytes of payload.
    pub payload: u64,
}

/// What went over the wire in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Payload bits a nanosecond.
    pub gbps: f64,
    /// Packets a second, in millions.
    pub mega_packets: f64,
}

/// The rates in steady state: between the frames with which 10 % and 90 % of the bytes were sent.
/// All zeros if these are the same.
pub fn steady(stamps: &[Stamp]) -> Rate {
    let total: u64 = stamps.iter().map(|stamp| stamp.payload).sum();
    let mut sent = 0;
    let mut marks = [None; 2];
    for (index, stamp) in stamps.iter().enumerate() {
        sent += stamp.payload;
        for (mark, tenths) in marks.iter_mut().zip([1, 9]) {
            if mark.is_none() && sent * 10 >= total * tenths {
                *mark = Some((stamp.ns, sent, index));
            }
        }
    }
    let [Some((start, before, first)), Some((end, after, last))] = marks else {
        return Rate::default();
    };
    let ns = (end - start) as f64;
    if ns == 0.0 {
        return Rate::default();
    }
    Rate {
        gbps: (after - before) as f64 * 8.0 / ns,
        mega_packets: (last - first) as f64 * 1e3 / ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_last_tenth_of_the_bytes_do_not_count() {
        // Ten frames of 1,000 B: a late start, 100 ns a frame, a late end.
        let mut stamps: Vec<_> =
            (0..10).map(|i| Stamp { ns: 5_000 + 100 * i, payload: 1000 }).collect();
        stamps[0].ns = 4_900;
        stamps[9].ns = 90_000;
        // From the end of the first frame to that of the ninth: eight frames in 900 ns.
        let found = steady(&stamps);
        assert_eq!(found.gbps, 8_000.0 * 8.0 / 900.0);
        assert_eq!(found.mega_packets, 8.0 * 1e3 / 900.0);
    }

    #[test]
    fn one_frame_has_no_rate() {
        assert_eq!(steady(&[Stamp { ns: 9, payload: 64 }]), Rate::default());
        assert_eq!(steady(&[]), Rate::default());
    }
}
