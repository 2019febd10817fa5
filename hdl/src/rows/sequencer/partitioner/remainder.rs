//! Finds partitions from hashes, and ids from partitions.

use crate::primitive::{Delay, Multiplier};
use crate::rows::sequencer::partitioner::Function;
use drdma_emit::prelude::*;

/// Stages of a product of 32 by 32 bits.
const WIDE_STAGES: usize = 5;
/// Stages of a product that fits one DSP slice.
const STAGES: usize = 3;
/// Cycles from a hash to its partition.
const PARTITION_STAGES: usize = WIDE_STAGES + STAGES + 4;
/// Enabled cycles from a hash to its id.
pub const ID_STAGES: usize = PARTITION_STAGES + 2 * STAGES + 2;
/// Bits of a hash.
const HASH: usize = 32;
/// Cycles of the division by the group, which has 16 bits.
const GROUP_DIVISION: u64 = 16;
/// Cycles of the division by the partitions.
const DIVISION: u64 = HASH as u64;
/// Sign bit of a hash.
const SIGN: u64 = 1 << (HASH - 1);

/// Factors that replace divisions by products.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Reciprocals {
    /// 2^32 - 1 divided by the number of partitions, rounded down.
    pub of_partitions: Bits<32>,
    /// 2^16 - 1 divided by the group, rounded down.
    pub of_group: Bits<16>,
    /// Partitions less the remainder of 2^31: the correction for a signed hash that is divided as an unsigned number.
    pub offset: Bits<17>,
}

/// Finds the reciprocals of a function, bit by bit, for [`Remainder`].
///
/// They are valid 33 cycles after `start`, from `done` on, as long as `told` holds.
///
/// # Inputs
/// `clk`, `rst`; `start` (a pulse: another function follows), `told`.
///
/// # Outputs
/// `done`, `found`.
#[derive(LogicBlock, Default)]
pub struct Division {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// `told` holds another function from the next cycle on.
    pub start: Signal<In, Bit>,
    /// The function.
    pub told: Signal<In, Function>,
    /// The reciprocals are those of the function.
    pub done: Signal<Out, Bit>,
    /// Reciprocals of the function.
    pub found: Signal<Out, Reciprocals>,

    left: DFF<Bits<6>>,
    partitions_rest: DFF<Bits<17>>,
    partitions_quotient: DFF<Bits<32>>,
    group_rest: DFF<Bits<16>>,
    group_quotient: DFF<Bits<16>>,
    sign_rest: DFF<Bits<17>>,
    next_partitions: Signal<Local, Bits<18>>,
    next_group: Signal<Local, Bits<17>>,
    next_sign: Signal<Local, Bits<18>>,
    /// Takes the fields of the function that this block does not use.
    unused: Signal<Local, Bits<33>>,
}

impl Logic for Division {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = bit_cast::<33, 32>(self.told.val().seed)
            | (bit_cast::<33, 1>(self.told.val().range.into()) << 32);
        self.done.next = !self.left.q.val().any();
        self.found.next.of_partitions = self.partitions_quotient.q.val();
        self.found.next.of_group = self.group_quotient.q.val();
        self.found.next.offset = self.told.val().partitions - self.sign_rest.q.val();

        // The dividend is all ones for the reciprocals, and a one followed by zeros for the sign.
        self.next_partitions.next = (bit_cast::<18, 17>(self.partitions_rest.q.val()) << 1) | 1;
        self.next_group.next = (bit_cast::<17, 16>(self.group_rest.q.val()) << 1) | 1;
        self.next_sign.next = bit_cast::<18, 17>(self.sign_rest.q.val()) << 1;
        if self.left.q.val() == DIVISION {
            self.next_sign.next = 1.into();
        }
        if self.left.q.val().any() {
            self.left.d.next = self.left.q.val() - 1;
            self.partitions_rest.d.next = self.next_partitions.val().get_bits::<17>(0);
            self.partitions_quotient.d.next = self.partitions_quotient.q.val() << 1;
            if self.next_partitions.val() >= bit_cast::<18, 17>(self.told.val().partitions) {
                self.partitions_rest.d.next = (self.next_partitions.val()
                    - bit_cast::<18, 17>(self.told.val().partitions))
                .get_bits::<17>(0);
                self.partitions_quotient.d.next = (self.partitions_quotient.q.val() << 1) | 1;
            }
            self.sign_rest.d.next = self.next_sign.val().get_bits::<17>(0);
            if self.next_sign.val() >= bit_cast::<18, 17>(self.told.val().partitions) {
                self.sign_rest.d.next = (self.next_sign.val()
                    - bit_cast::<18, 17>(self.told.val().partitions))
                .get_bits::<17>(0);
            }
            // The group has half as many bits.
            if self.left.q.val() <= GROUP_DIVISION {
                self.group_rest.d.next = self.next_group.val().get_bits::<16>(0);
                self.group_quotient.d.next = self.group_quotient.q.val() << 1;
                if self.next_group.val() >= bit_cast::<17, 16>(self.told.val().group) {
                    self.group_rest.d.next = (self.next_group.val()
                        - bit_cast::<17, 16>(self.told.val().group))
                    .get_bits::<16>(0);
                    self.group_quotient.d.next = (self.group_quotient.q.val() << 1) | 1;
                }
            }
        }
        if self.start.val() {
            self.left.d.next = DIVISION.into();
            self.partitions_rest.d.next = 0.into();
            self.group_rest.d.next = 0.into();
            self.sign_rest.d.next = 0.into();
        }
        if self.rst.val() {
            self.left.d.next = 0.into();
        }
    }
}

/// Finds the id of a hash's partition.
///
/// The id is the hash, as a signed number, modulo the partitions, divided by the group. Takes a hash a cycle; the id
/// follows after [`ID_STAGES`] enabled cycles. While `enable` is low, the pipeline holds; `partitions`, `group` and
/// `reciprocals` must hold while a hash is under way.
///
/// # Inputs
/// `clk`, `enable`, `hash`, `partitions`, `group`, `reciprocals`.
///
/// # Outputs
/// `id`.
#[derive(LogicBlock, BlockDefault)]
pub struct Remainder {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The pipeline advances in this cycle.
    pub enable: Signal<In, Bit>,
    /// Hash of a row, a signed number.
    pub hash: Signal<In, Bits<32>>,
    /// Number of partitions, 1 to 2^16.
    pub partitions: Signal<In, Bits<17>>,
    /// Number of neighbouring partitions that share an id.
    pub group: Signal<In, Bits<16>>,
    /// Reciprocals of the function.
    pub reciprocals: Signal<In, Reciprocals>,
    /// Id of the row.
    pub id: Signal<Out, Bits<16>>,

    number: Signal<Local, Bits<32>>,
    #[init(Multiplier::new(WIDE_STAGES))]
    quotient: Multiplier<32, 32, 64>,
    #[init(Multiplier::new(STAGES))]
    multiple: Multiplier<18, 17, 35>,
    unsigned_late: Delay<18, { WIDE_STAGES + STAGES }>,
    // The remainder may be too large by the number of partitions.
    rough: DFF<Bits<18>>,
    rest: DFF<Bits<17>>,
    shifted: DFF<Bits<18>>,
    partition: DFF<Bits<16>>,
    #[init(Multiplier::new(STAGES))]
    groups: Multiplier<16, 16, 32>,
    #[init(Multiplier::new(STAGES))]
    grouped: Multiplier<16, 16, 32>,
    partition_late: Delay<16, { 2 * STAGES }>,
    groups_late: Delay<16, { STAGES + 1 }>,
    group_rest: DFF<Bits<17>>,
    found: DFF<Bits<16>>,
    unused: Signal<Local, Bits<64>>,
}

impl Logic for Remainder {
    #[hdl_gen]
    fn update(&mut self) {
        // The hash as an unsigned number, 2^31 more, is divided by the partitions: the quotient is right, or too small
        // by one.
        self.number.next = self.hash.val() ^ SIGN;
        self.quotient.enable.next = self.enable.val();
        self.quotient.a.next = self.number.val();
        self.quotient.b.next = self.reciprocals.val().of_partitions;
        self.multiple.enable.next = self.enable.val();
        self.multiple.a.next = self.quotient.product.val().get_bits::<18>(32);
        self.multiple.b.next = self.partitions.val();
        self.unsigned_late.enable.next = self.enable.val();
        self.unsigned_late.value.next = self.number.val().get_bits::<18>(0);

        // The partition is divided by the group in the same way.
        self.groups.enable.next = self.enable.val();
        self.groups.a.next = self.partition.q.val();
        self.groups.b.next = self.reciprocals.val().of_group;
        self.grouped.enable.next = self.enable.val();
        self.grouped.a.next = self.groups.product.val().get_bits::<16>(16);
        self.grouped.b.next = self.group.val();
        self.partition_late.enable.next = self.enable.val();
        self.partition_late.value.next = self.partition.q.val();
        self.groups_late.enable.next = self.enable.val();
        self.groups_late.value.next = self.groups.product.val().get_bits::<16>(16);
        self.unused.next = self.quotient.product.val()
            | bit_cast::<64, 35>(self.multiple.product.val())
            | bit_cast::<64, 32>(self.groups.product.val())
            | bit_cast::<64, 32>(self.grouped.product.val());

        if self.enable.val() {
            self.rough.d.next =
                self.unsigned_late.late.val() - self.multiple.product.val().get_bits::<18>(0);
            self.rest.d.next = self.rough.q.val().get_bits::<17>(0);
            if self.rough.q.val() >= bit_cast::<18, 17>(self.partitions.val()) {
                self.rest.d.next = (self.rough.q.val() - bit_cast::<18, 17>(self.partitions.val()))
                    .get_bits::<17>(0);
            }
            self.shifted.d.next = bit_cast::<18, 17>(self.rest.q.val())
                + bit_cast::<18, 17>(self.reciprocals.val().offset);
            self.partition.d.next = self.shifted.q.val().get_bits::<16>(0);
            if self.shifted.q.val() >= bit_cast::<18, 17>(self.partitions.val()) {
                self.partition.d.next = (self.shifted.q.val()
                    - bit_cast::<18, 17>(self.partitions.val()))
                .get_bits::<16>(0);
            }
            self.group_rest.d.next = bit_cast::<17, 16>(self.partition_late.late.val())
                - self.grouped.product.val().get_bits::<17>(0);
            self.found.d.next = self.groups_late.late.val();
            if self.group_rest.q.val() >= bit_cast::<17, 16>(self.group.val()) {
                self.found.d.next = self.groups_late.late.val() + 1;
            }
        }
        self.id.next = self.found.q.val();
    }
}
