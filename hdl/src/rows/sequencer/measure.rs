//! Finds the lengths of a destination's messages from the rows of its regions.

use crate::primitive::Multiplier;
use drdma_emit::prelude::*;

/// State of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, LogicState)]
pub enum MeasureState {
    /// Waits for a region.
    Ready,
    /// Multiplies the rows that complete the open message, for their bytes.
    Lead,
    /// Decides whether whole messages follow.
    Split,
    /// Divides the rows by the units of a message, for the number of whole messages.
    Divide,
    /// Multiplies, for the bytes of a whole message.
    Full,
    /// Multiplies, for the bytes of the rows that are left.
    Tail,
}

/// Stages of the multiplier.
const STAGES: usize = 4;

/// Takes the regions of a destination one by one from the plan. For each it says how many messages begin and end in
/// it, how long they are, and how long the last message is that begins in it. `too_long` is set when a message is
/// longer than `limit`.
///
/// A region takes about 20 cycles, and 35 more where a division is needed.
///
/// # Inputs
/// `start` (a destination begins; `units`, `limit` hold until the next), `region` stream,
/// `finish` (no more regions; only while `region_ready`).
///
/// # Outputs
/// `region_ready`, `write_*` (a region's result), `too_long`.
#[derive(LogicBlock, BlockDefault)]
pub struct Measure {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A destination begins.
    pub start: Signal<In, Bit>,
    /// Units of a message.
    pub units: Signal<In, Bits<32>>,
    /// Bytes that a message may have.
    pub limit: Signal<In, Bits<32>>,
    /// A region is offered.
    pub region_valid: Signal<In, Bit>,
    /// The region is taken in this cycle.
    pub region_ready: Signal<Out, Bit>,
    /// Lane set of the region.
    pub region_set: Signal<In, Bits<11>>,
    /// Rows of the region.
    pub region_rows: Signal<In, Bits<32>>,
    /// Bytes of a row of the region.
    pub region_bytes: Signal<In, Bits<36>>,
    /// The destination ends; only while `region_ready`.
    pub finish: Signal<In, Bit>,
    /// The result of a region is written.
    pub write_valid: Signal<Out, Bit>,
    /// Lane set of the region.
    pub write_set: Signal<Out, Bits<11>>,
    /// Messages that begin and end in the region.
    pub write_full_count: Signal<Out, Bits<32>>,
    /// Bytes of each message that begins and ends in the region.
    pub write_full_bytes: Signal<Out, Bits<32>>,
    /// Bytes of the last message that begins in the region, if it does not end there like the others.
    pub write_tail_bytes: Signal<Out, Bits<32>>,
    /// A message of the destination is longer than the limit.
    pub too_long: Signal<Out, Bit>,

    state: DFF<MeasureState>,
    over: DFF<Bit>,
    set: DFF<Bits<11>>,
    rows: DFF<Bits<32>>,
    bytes: DFF<Bits<36>>,
    // The open message: units that it still needs, its bytes, and the region in which it began.
    needs: DFF<Bits<32>>,
    open_bytes: DFF<Bits<32>>,
    open_set: DFF<Bits<11>>,
    open_full_count: DFF<Bits<32>>,
    open_full_bytes: DFF<Bits<32>>,
    takes: Signal<Local, Bits<32>>,
    sum: Signal<Local, Bits<33>>,
    // Whole messages.
    quotient: DFF<Bits<32>>,
    remainder: DFF<Bits<32>>,
    shifted: Signal<Local, Bits<33>>,
    step: DFF<Bits<5>>,
    full_bytes: DFF<Bits<32>>,
    #[init(Multiplier::new(STAGES))]
    multiplier: Multiplier<32, 36, 68>,
    wait: DFF<Bits<3>>,
    #[init(Constant::new(STAGES.to_bits()))]
    latency: Constant<Bits<3>>,
    multiplied: Signal<Local, Bit>,
    multiply: Signal<Local, Bit>,
    product_long: Signal<Local, Bit>,
}

impl Logic for Measure {
    #[hdl_gen]
    fn update(&mut self) {
        self.takes.next = self.rows.q.val();
        if self.needs.q.val() < self.rows.q.val() {
            self.takes.next = self.needs.q.val();
        }
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.takes.val();
        self.multiplier.b.next = self.bytes.q.val();
        self.multiply.next = false;
        self.multiplied.next = self.wait.q.val() == self.latency.val();
        self.product_long.next = self.multiplier.product.val().get_bits::<36>(32).any()
            || (self.multiplier.product.val().get_bits::<32>(0) > self.limit.val());
        self.sum.next = bit_cast::<33, 32>(self.open_bytes.q.val())
            + bit_cast::<33, 32>(self.multiplier.product.val().get_bits::<32>(0));

        self.region_ready.next = self.state.q.val() == MeasureState::Ready;
        self.write_valid.next = false;
        self.write_set.next = self.open_set.q.val();
        self.write_full_count.next = self.open_full_count.q.val();
        self.write_full_bytes.next = self.open_full_bytes.q.val();
        self.write_tail_bytes.next = self.open_bytes.q.val();
        self.too_long.next = self.over.q.val();
        self.shifted.next = (bit_cast::<33, 32>(self.remainder.q.val()) << 1)
            | bit_cast::<33, 1>(self.quotient.q.val().get_bit(31).into());

        match self.state.q.val() {
            MeasureState::Ready => {
                self.set.d.next = self.region_set.val();
                self.rows.d.next = self.region_rows.val();
                self.bytes.d.next = self.region_bytes.val();
                if self.start.val() {
                    self.over.d.next = false;
                    self.needs.d.next = 0.into();
                } else if self.finish.val() {
                    self.write_valid.next = self.needs.q.val() != 0;
                    self.needs.d.next = 0.into();
                } else if self.region_valid.val() && (self.region_rows.val() != 0) {
                    self.state.d.next = MeasureState::Split;
                    if self.needs.q.val() != 0 {
                        self.state.d.next = MeasureState::Lead;
                    }
                }
            }
            MeasureState::Lead => {
                self.multiply.next = true;
                if self.multiplied.val() {
                    self.open_bytes.d.next = self.sum.val().get_bits::<32>(0);
                    if self.product_long.val()
                        || (self.sum.val() > bit_cast::<33, 32>(self.limit.val()))
                    {
                        self.over.d.next = true;
                    }
                    self.needs.d.next = self.needs.q.val() - self.takes.val();
                    self.rows.d.next = self.rows.q.val() - self.takes.val();
                    if self.needs.q.val() == self.takes.val() {
                        self.write_valid.next = true;
                        self.write_tail_bytes.next = self.sum.val().get_bits::<32>(0);
                    }
                    self.state.d.next = MeasureState::Split;
                    if self.rows.q.val() == self.takes.val() {
                        self.state.d.next = MeasureState::Ready;
                    }
                }
            }
            MeasureState::Split => {
                self.quotient.d.next = self.rows.q.val();
                self.remainder.d.next = 0.into();
                self.step.d.next = 0.into();
                self.full_bytes.d.next = 0.into();
                if self.units.val() == 1 {
                    self.state.d.next = MeasureState::Full;
                } else if self.rows.q.val() < self.units.val() {
                    self.quotient.d.next = 0.into();
                    self.remainder.d.next = self.rows.q.val();
                    self.state.d.next = MeasureState::Tail;
                } else {
                    self.state.d.next = MeasureState::Divide;
                }
            }
            MeasureState::Divide => {
                self.step.d.next = self.step.q.val() + 1;
                self.quotient.d.next = self.quotient.q.val() << 1;
                self.remainder.d.next = self.shifted.val().get_bits::<32>(0);
                if self.shifted.val() >= bit_cast::<33, 32>(self.units.val()) {
                    self.remainder.d.next = (self.shifted.val()
                        - bit_cast::<33, 32>(self.units.val()))
                    .get_bits::<32>(0);
                    self.quotient.d.next = (self.quotient.q.val() << 1) | 1;
                }
                if self.step.q.val() == 31 {
                    self.state.d.next = MeasureState::Full;
                }
            }
            MeasureState::Full => {
                self.multiplier.a.next = self.units.val();
                self.multiply.next = true;
                if self.multiplied.val() {
                    self.full_bytes.d.next = self.multiplier.product.val().get_bits::<32>(0);
                    if self.product_long.val() {
                        self.over.d.next = true;
                    }
                    self.state.d.next = MeasureState::Tail;
                    if self.remainder.q.val() == 0 {
                        self.state.d.next = MeasureState::Ready;
                        self.write_valid.next = true;
                        self.write_set.next = self.set.q.val();
                        self.write_full_count.next = self.quotient.q.val();
                        self.write_full_bytes.next =
                            self.multiplier.product.val().get_bits::<32>(0);
                    }
                }
            }
            MeasureState::Tail => {
                self.multiplier.a.next = self.remainder.q.val();
                self.multiply.next = true;
                if self.multiplied.val() {
                    self.needs.d.next = self.units.val() - self.remainder.q.val();
                    self.open_bytes.d.next = self.multiplier.product.val().get_bits::<32>(0);
                    self.open_set.d.next = self.set.q.val();
                    self.open_full_count.d.next = self.quotient.q.val();
                    self.open_full_bytes.d.next = self.full_bytes.q.val();
                    if self.product_long.val() {
                        self.over.d.next = true;
                    }
                    self.state.d.next = MeasureState::Ready;
                }
            }
        }
        self.wait.d.next = 0.into();
        if self.multiply.val() && !self.multiplied.val() {
            self.wait.d.next = self.wait.q.val() + 1;
        }

        if self.rst.val() {
            self.state.d.next = MeasureState::Ready;
            self.wait.d.next = 0.into();
            self.over.d.next = false;
            self.needs.d.next = 0.into();
        }
    }
}
