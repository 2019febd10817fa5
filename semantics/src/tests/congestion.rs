use super::*;

/// Rate and alpha by the paper's rules, in floating point.
struct Paper {
    rate: f64,
    target: f64,
    alpha: f64,
}

impl Paper {
    fn cut(&mut self, g: f64, min: f64) {
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(min);
        self.alpha = (1.0 - g) * self.alpha + g;
    }

    fn raise(&mut self, add: f64) {
        self.target = (self.target + add).min(f64::from(LINE_RATE));
        self.rate = f64::midpoint(self.rate, self.target);
    }
}

#[test]
fn cuts_and_raises_are_those_of_the_paper() {
    let settings = Settings {
        alpha_period: 55 * PERIOD_UNIT,
        rate_period: 54 * PERIOD_UNIT,
        stages: 5,
        add: 40,
        ..Settings::default()
    };
    let mut limiter = Limiter::new(0, &settings);
    let line = f64::from(LINE_RATE);
    let mut paper = Paper { rate: line, target: line, alpha: 1.0 };
    let (g, min) = (1.0 / 256.0, f64::from(settings.min_rate));
    paper.cut(g, min);
    let mut now = 0;
    for (cut, periods) in (0..40).map(|cut| (cut, (cut * 7) % 13)) {
        for period in 1..=periods {
            // The rate's period ends before alpha's.
            now += settings.rate_period;
            paper.raise(if period >= 5 { 40.0 } else { 0.0 });
            limiter.advance(now, &settings);
            now += settings.alpha_period - settings.rate_period;
            paper.alpha *= 1.0 - g;
            limiter.advance(now, &settings);
            // All periods begin together in this test.
            limiter.rate_since = now;
            limiter.alpha_since = now;
        }
        let (rate, alpha) = (f64::from(limiter.rate), f64::from(limiter.alpha) / 65536.0);
        assert!((rate - paper.rate).abs() < 0.003 * line, "cut {cut}: {rate}, not {}", paper.rate);
        assert!((alpha - paper.alpha).abs() < 0.01, "cut {cut}: {alpha}, not {}", paper.alpha);
        limiter.notified(now, &settings);
        paper.cut(g, min);
    }
    assert_eq!(limiter.target, limiter.target.min(LINE_RATE));
}

#[test]
fn raises_by_time_and_by_bytes_are_additive_together_hyper() {
    let settings =
        Settings { rate_bytes: 66, stages: 5, add: 1000, hyper: 7000, ..Settings::default() };
    let mut limiter = Limiter::new(0, &settings);
    limiter.notified(0, &settings);
    let mut steps = Vec::new();
    for raise in 0..12 {
        let before = limiter.target;
        if raise < 6 {
            limiter.sent(4096, 0, &settings);
        } else {
            limiter.advance((raise - 5) * settings.rate_period, &settings);
        }
        steps.push(limiter.target - before);
    }
    assert_eq!(steps, [0, 0, 0, 0, 1000, 1000, 1000, 1000, 1000, 1000, 7000, 7000]);
}

#[test]
fn packets_of_a_limited_queue_pair_have_its_rate() {
    let settings = Settings { rate_period: u64::MAX, rate_bytes: u32::MAX, ..Settings::default() };
    for cuts in 1..9 {
        let mut limiter = Limiter::new(0, &settings);
        (1..cuts).for_each(|_| limiter.notified(0, &settings));
        let mut now = 0;
        for _ in 0..1000 {
            now = now.max(limiter.ready_at());
            limiter.sent(4096, now, &settings);
        }
        let gbps = 1000.0 * f64::from(units(4096) * 64 * 8) / (limiter.ready_at() as f64 * 4.0);
        let due = f64::from(limiter.rate) / 1000.0;
        assert!((0.99..1.009).contains(&(gbps / due)), "{gbps} Gb/s, not {due}");
    }
    // No rate is below the least one.
    let mut limiter = Limiter::new(0, &settings);
    (0..40).for_each(|_| limiter.notified(0, &settings));
    assert_eq!(limiter.rate, settings.min_rate);
}

#[test]
fn a_queue_pair_is_notified_at_most_once_an_interval() {
    let settings = Settings { cnp_interval: 1000, ..Settings::default() };
    let mut notifier = Notifier::default();
    let sent: Vec<u64> = (0..5000).filter(|now| notifier.marked(*now, &settings)).collect();
    assert_eq!(sent, [0, 1000, 2000, 3000, 4000]);
}

#[test]
fn a_rate_goes_back_to_that_of_the_link() {
    let settings = Settings::default();
    let mut limiter = Limiter::new(0, &settings);
    for cut in 1..20 {
        limiter.notified(cut * 1000, &settings);
    }
    let mut now = 20_000;
    while !limiter.is_over() {
        now += 1000;
        limiter.advance(now, &settings);
        assert!(now < 1 << 30, "still {limiter:?}");
    }
    assert_eq!((limiter.rate, limiter.target), (LINE_RATE, LINE_RATE));
}
