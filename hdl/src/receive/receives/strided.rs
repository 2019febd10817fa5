//! Computes how far a strided region reaches, and how many bytes it holds.
//!
//! Contract: the header, the shape and each extent of a region come in this order, in cycles of their own; the last
//! extent comes with `closes`. `done` is a pulse [`LATENCY`] cycles later; `start`, `limit` and `bytes` are valid from
//! then until the next header. No sum wraps.

use crate::primitive::Multiplier;
use drdma_emit::prelude::*;

/// Cycles from the last extent to `done`.
pub const LATENCY: u64 = 10;

/// Measures strided regions. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Strided {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset: a region that is under way is forgotten.
    pub rst: Signal<In, Bit>,
    /// The region's first granule comes: `low` is its base, `high` its rows.
    pub header: Signal<In, Bit>,
    /// The region's second granule comes: `low` is the bytes from one row to the next.
    pub shape: Signal<In, Bit>,
    /// One of the region's extents comes: `low` is the offset, `high` the length.
    pub extent: Signal<In, Bit>,
    /// With `extent`: it is the region's last one.
    pub closes: Signal<In, Bit>,
    /// The first 8 bytes of the granule.
    pub low: Signal<In, Bits<64>>,
    /// The next 4 bytes of the granule.
    pub high: Signal<In, Bits<32>>,
    /// Address of the extent that comes in the first row, in the same cycle.
    pub addr: Signal<Out, Bits<64>>,
    /// Rows of the region, from the cycle behind the header on.
    pub rows: Signal<Out, Bits<32>>,
    /// `some`, `start`, `limit` and `bytes` are valid.
    pub done: Signal<Out, Bit>,
    /// The region has rows.
    pub some: Signal<Out, Bit>,
    /// Address of the region's lowest byte.
    pub start: Signal<Out, Bits<65>>,
    /// Address behind the region's highest byte; all ones if that is beyond 2^65.
    pub limit: Signal<Out, Bits<65>>,
    /// Bytes that the region holds, at most 2^32 - 1.
    pub bytes: Signal<Out, Bits<32>>,

    base: DFF<Bits<64>>,
    count: DFF<Bits<32>>,
    period: DFF<Bits<64>>,
    /// End in its row of the extent that came last.
    ends: DFF<Bits<65>>,
    /// End in its row of the extent that ends last.
    reach: DFF<Bits<65>>,
    /// Beginning in its row of the extent that came last.
    begins: DFF<Bits<64>>,
    /// Beginning in its row of the extent that begins first.
    least: DFF<Bits<64>>,
    /// Bytes of all extents of a row.
    row: DFF<Bits<36>>,

    #[init(Multiplier::new(5))]
    multiplier: Multiplier<32, 64, 96>,
    factor: DFF<Bits<32>>,
    step: DFF<Bits<64>>,
    /// Cycles since the last extent; 0: no region is under way.
    since: DFF<Bits<4>>,
    /// Address of the last row.
    last_row: DFF<Bits<97>>,
    /// Address behind the last row's last byte.
    behind: DFF<Bits<98>>,
    /// Bytes of all rows.
    total: DFF<Bits<96>>,
    #[init(Constant::new(((num_bigint::BigUint::from(1_u8) << 65_u32) - 1_u8).into()))]
    ones: Constant<Bits<65>>,
    start_held: DFF<Bits<65>>,
    limit_held: DFF<Bits<65>>,
    bytes_held: DFF<Bits<32>>,
}

impl Logic for Strided {
    #[hdl_gen]
    fn update(&mut self) {
        self.addr.next = self.base.q.val() + self.low.val();
        self.rows.next = self.count.q.val();
        self.some.next = self.count.q.val().any();
        if self.header.val() {
            self.base.d.next = self.low.val();
            self.count.d.next = self.high.val();
            self.ends.d.next = 0.into();
            self.reach.d.next = 0.into();
            self.begins.d.next = self.ones.val().get_bits::<64>(0);
            self.least.d.next = self.ones.val().get_bits::<64>(0);
            self.row.d.next = 0.into();
        } else {
            if self.extent.val() {
                self.ends.d.next =
                    bit_cast::<65, 64>(self.low.val()) + bit_cast::<65, 32>(self.high.val());
                self.begins.d.next = self.low.val();
                self.row.d.next = self.row.q.val() + bit_cast::<36, 32>(self.high.val());
            }
            if self.ends.q.val() > self.reach.q.val() {
                self.reach.d.next = self.ends.q.val();
            }
            if self.begins.q.val() < self.least.q.val() {
                self.least.d.next = self.begins.q.val();
            }
        }
        if self.shape.val() {
            self.period.d.next = self.low.val();
        }

        // The distance from the first row to the last; then the bytes.
        self.factor.d.next = self.count.q.val() - 1;
        self.step.d.next = self.period.q.val();
        if self.since.q.val().any() {
            self.factor.d.next = self.count.q.val();
            self.step.d.next = bit_cast::<64, 36>(self.row.q.val());
        }
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.factor.q.val();
        self.multiplier.b.next = self.step.q.val();
        if self.since.q.val().any() {
            self.since.d.next = self.since.q.val() + 1;
        }
        if self.extent.val() && self.closes.val() {
            self.since.d.next = 1.into();
        }
        // The two products come in cycles 6 and 7.
        if self.since.q.val() == 6 {
            self.last_row.d.next = bit_cast::<97, 96>(self.multiplier.product.val())
                + bit_cast::<97, 64>(self.base.q.val());
        }
        if self.since.q.val() == 7 {
            self.total.d.next = self.multiplier.product.val();
            self.start_held.d.next =
                bit_cast::<65, 64>(self.base.q.val()) + bit_cast::<65, 64>(self.least.q.val());
            self.behind.d.next =
                bit_cast::<98, 97>(self.last_row.q.val()) + bit_cast::<98, 65>(self.reach.q.val());
        }
        if self.since.q.val() == 8 {
            self.limit_held.d.next = self.behind.q.val().get_bits::<65>(0);
            if self.behind.q.val().get_bits::<33>(65).any() {
                self.limit_held.d.next = self.ones.val();
            }
            self.bytes_held.d.next = self.total.q.val().get_bits::<32>(0);
            if self.total.q.val().get_bits::<64>(32).any() {
                self.bytes_held.d.next = 0xffff_ffff.into();
            }
        }
        self.done.next = self.since.q.val() == 10;
        if self.done.val() || self.rst.val() {
            self.since.d.next = 0.into();
        }
        self.start.next = self.start_held.q.val();
        self.limit.next = self.limit_held.q.val();
        self.bytes.next = self.bytes_held.q.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    /// A region: base, rows, period, extents.
    type Region = (u64, u32, u64, Vec<(u64, u32)>);

    fn any(random: &mut Random) -> Region {
        let mut wide = |bits: u64| random.u64() >> (64 - 1 - random.below(bits));
        let (base, rows, period) = (wide(64), wide(32) as u32, wide(64));
        let count = 1 + random.below(16);
        let extents = (0..count).map(|_| {
            let bits = random.below(64);
            (random.u64() >> bits, (random.u64() >> (32 + random.below(32))) as u32)
        });
        (base, rows, period, extents.collect())
    }

    #[test]
    fn ends_and_bytes_are_exact_or_too_large_to_be_told() {
        let library = testing::library("receive_strided", Strided::default);
        let (mut model, mut random) = (library.instance(1), Random::new(1));
        for port in ["header", "shape", "extent", "closes"] {
            model.set(port, 0);
        }
        model.set("rst", 1);
        model.cycle();
        model.set("rst", 0);
        let mut regions: Vec<Region> = (0..2_000).map(|_| any(&mut random)).collect();
        regions.push((u64::MAX, u32::MAX, u64::MAX, vec![(u64::MAX, u32::MAX); 16]));
        regions.push((u64::MAX, 1, 1, vec![(u64::MAX, 1), (0, 9)]));
        regions.push((5, 0, 8, vec![(3, 4)]));
        let (mut far, mut near) = (0, 0);
        for (base, rows, period, extents) in regions {
            let mut give = |port: &str, low: u64, high: u32, closes: bool| {
                model.set(port, 1);
                model.set("closes", closes.into());
                model.set("low", low);
                model.set("high", high.into());
                model.settle();
                let addr = model.get("addr");
                model.tick();
                model.set(port, 0);
                (0..random.below(3) * u64::from(!closes)).for_each(|_| model.cycle());
                addr
            };
            give("header", base, rows, false);
            give("shape", period, 0x10_0000, false);
            for (k, &(offset, len)) in extents.iter().enumerate() {
                let addr = give("extent", offset, len, k + 1 == extents.len());
                assert_eq!(addr, base.wrapping_add(offset));
            }
            let mut cycles = 1;
            while model.get("done") == 0 {
                model.cycle();
                cycles += 1;
                assert!(cycles <= LATENCY, "{cycles} cycles");
            }
            assert_eq!(cycles, LATENCY);
            let reach = extents.iter().map(|&(at, len)| u128::from(at) + u128::from(len)).max();
            let row: u64 = extents.iter().map(|&(_, len)| u64::from(len)).sum();
            let bytes = u128::from(rows) * u128::from(row);
            assert_eq!(u128::from(model.get("bytes")), bytes.min(u32::MAX.into()));
            assert_eq!(model.get("some"), u64::from(rows > 0));
            assert_eq!(model.get("rows"), u64::from(rows));
            let least = extents.iter().map(|&(at, _)| at).min().expect("an extent");
            let start = u128::from(base) + u128::from(least);
            assert_eq!(model.get_word("start").to_u128(), start);
            if rows > 0 {
                let span = u128::from(rows - 1) * u128::from(period);
                let end = u128::from(base) + span + reach.expect("an extent");
                assert_eq!(model.get_word("limit").to_u128(), end.min((1 << 65) - 1));
                *if end >> 65 == 0 { &mut near } else { &mut far } += 1;
            }
            model.cycle();
            assert_eq!(model.get("done"), 0);
        }
        assert!(near > 500 && far > 100, "{near} near, {far} far");
    }
}
