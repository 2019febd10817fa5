//! Doorbells of queue pairs that are *held* wait here, and those of others pass them.
//!
//! The keeper holds a queue pair that has its share of the kept packets, or whose peer is silent or has no receive
//! ([`Hold`]). What such a queue pair's own queue is rung for is not fetched: its doorbell is *parked*. All parked ones are
//! looked at again in turns, and leave when their queue pair is not held any more. Shared queues are never parked: a request of
//! theirs has many destinations. Nor is what was fetched before; a doorbell leaves, or is parked, with all that it adds to its ring.
//!
//! Doorbells tell positions: one that leaves later than a newer one of its queue adds nothing, so that their order does not
//! matter. A parked one is dropped if its queue's `enable` has been written since.
//!
//! Contract: while nothing is held or parked, a doorbell leaves 1 cycle after it was taken, one in 2 cycles; else after 3, one in 4.
//! A parked one is looked at behind every 8 others, or when there are none. 1,024 are parked; where there is no room,
//! a doorbell leaves though its queue pair is held.

use crate::context::{ConfigWrite, QP, QUEUE, Stamps, Table, TableSelect};
use crate::primitive::StreamFifo;
use crate::shell::control::Doorbell;
use drdma_abi::Layout;
use drdma_abi::register::SendQueueEntry;
use drdma_emit::prelude::*;

#[cfg(test)]
mod tests;

/// Bits of a number of queue pairs.
const HELD: usize = QP + 1;
/// Bits of a parked doorbell's place.
const PARKED: usize = 10;
const PARKED_COUNT: usize = PARKED + 1;
/// Bits of a queue's life, as the queue block counts them.
const LIFE: usize = 16;
/// Bits of a number of doorbells after which a parked one is looked at.
const TURN: usize = 3;

/// A queue pair is held from now on, or is not any more.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Hold {
    /// Queue pair.
    pub qp: Bits<QP>,
    /// It is held, and was not; or the other way round.
    pub held: Bit,
}

/// A doorbell that waits.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Parked {
    queue: Bits<QUEUE>,
    position: Bits<32>,
    /// Its queue's life when it came.
    life: Bits<LIFE>,
}

/// What happens to a doorbell.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ParkingState {
    /// One is awaited.
    Take,
    /// Its queue is looked up.
    Owner,
    /// Its queue pair is looked up: it is parked, or not.
    Judge,
    /// It leaves.
    Leave,
}

fn word(name: &str) -> Constant<Bits<4>> {
    Constant::new((SendQueueEntry::field(name).start / 32).to_bits())
}

/// Fails unless the fields stand where the kernel takes them from.
fn fields_stand() -> bool {
    assert_eq!(SendQueueEntry::field("qp").start % 32, 0, "qp stands elsewhere");
    assert_eq!(SendQueueEntry::field("shared").start % 32, 8, "shared stands elsewhere");
    true
}

/// See the [module](self).
#[derive(LogicBlock, BlockDefault)]
#[check(fields_stand())]
pub struct Parking {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Queue pairs that are held.
    pub hold: Flow<In, Hold>,
    /// Doorbells of send queues.
    pub doorbell: Stream<In, Doorbell>,
    /// Those whose queues are fetched from.
    pub passed: Stream<Out, Doorbell>,
    /// A doorbell is here.
    pub busy: Signal<Out, Bit>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    #[init(word("qp"))]
    owner_word: Constant<Bits<4>>,
    #[init(word("shared"))]
    shared_word: Constant<Bits<4>>,
    owners: Table<QP, QUEUE>,
    shared: Table<1, QUEUE>,
    lives: Stamps<LIFE, QUEUE, 1>,
    held: Table<1, QP>,
    /// How many there are.
    held_count: DFF<Bits<HELD>>,
    parked: StreamFifo<Parked, PARKED, PARKED_COUNT>,

    state: DFF<ParkingState>,
    bell: DFF<Parked>,
    was_parked: DFF<Bit>,
    is_own: DFF<Bit>,
    is_gone: DFF<Bit>,
    /// Doorbells since a parked one was looked at.
    turn: DFF<Bits<TURN>>,
    free: Signal<Local, Bit>,
    takes_parked: Signal<Local, Bit>,
    parks: Signal<Local, Bit>,
}

impl Logic for Parking {
    #[hdl_gen]
    fn update(&mut self) {
        // What the host writes.
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.unused.next = self.cfg.data.val();
        self.owners.write_enable.next =
            self.select.send_queue.val() && (self.cfg.word.val() == self.owner_word.val());
        self.owners.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.owners.write_data.next = self.cfg.data.val().get_bits::<QP>(0);
        self.shared.write_enable.next =
            self.select.send_queue.val() && (self.cfg.word.val() == self.shared_word.val());
        self.shared.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.shared.write_data.next = self.cfg.data.val().get_bits::<1>(8);
        self.lives.written.next = self.select.enable.val();
        self.lives.index.next = self.cfg.index.val().get_bits::<QUEUE>(0);

        // What the keeper says.
        self.held.write_enable.next = self.hold.valid.val() || self.select.every.val();
        self.held.write_address.next = self.hold.qp.val();
        self.held.write_data.next = bit_cast::<1, 1>(self.hold.held.val().into());
        if self.hold.valid.val() {
            self.held_count.d.next = self.held_count.q.val() - 1;
            if self.hold.held.val() {
                self.held_count.d.next = self.held_count.q.val() + 1;
            }
        }
        if self.select.every.val() {
            self.held.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.held.write_data.next = 0.into();
        }

        self.free.next = !self.held_count.q.val().any() && !self.parked.output.valid.val();
        self.takes_parked.next = self.parked.output.valid.val()
            && (!self.doorbell.valid.val() || (self.turn.q.val() == 0));
        self.doorbell.ready.next =
            (self.state.q.val() == ParkingState::Take) && !self.takes_parked.val();
        self.parked.output.ready.next =
            (self.state.q.val() == ParkingState::Take) && self.takes_parked.val();
        self.passed.valid.next = self.state.q.val() == ParkingState::Leave;
        self.passed.queue.next = self.bell.q.val().queue;
        self.passed.position.next = self.bell.q.val().position;
        self.parks.next = self.is_own.q.val()
            && self.held.read_data.val().any()
            && (self.was_parked.q.val() || self.parked.input.ready.val());
        self.parked.input.valid.next = (self.state.q.val() == ParkingState::Judge)
            && !self.is_gone.q.val()
            && self.parks.val();
        self.parked.input.data.next = self.bell.q.val();
        match self.state.q.val() {
            ParkingState::Take => {
                self.was_parked.d.next = self.takes_parked.val();
                if self.takes_parked.val() {
                    self.bell.d.next = self.parked.output.data.val();
                    self.turn.d.next = self.turn.q.val() + 1;
                    self.state.d.next = ParkingState::Owner;
                } else if self.doorbell.valid.val() {
                    self.bell.d.next.queue = self.doorbell.queue.val();
                    self.bell.d.next.position = self.doorbell.position.val();
                    self.turn.d.next = self.turn.q.val() + 1;
                    self.state.d.next = ParkingState::Owner;
                    if self.free.val() {
                        self.state.d.next = ParkingState::Leave;
                    }
                }
            }
            ParkingState::Owner => {
                self.is_own.d.next = !self.shared.read_data.val().any();
                self.is_gone.d.next = self.was_parked.q.val()
                    && (self.lives.stamp[0].val() != self.bell.q.val().life);
                if !self.was_parked.q.val() {
                    self.bell.d.next.life = self.lives.stamp[0].val();
                }
                self.state.d.next = ParkingState::Judge;
            }
            ParkingState::Judge => {
                self.state.d.next = ParkingState::Leave;
                if self.is_gone.q.val() || self.parks.val() {
                    self.state.d.next = ParkingState::Take;
                }
            }
            ParkingState::Leave => {
                if self.passed.ready.val() {
                    self.state.d.next = ParkingState::Take;
                }
            }
        }
        self.busy.next =
            (self.state.q.val() != ParkingState::Take) || self.parked.output.valid.val();

        if self.rst.val() {
            self.state.d.next = ParkingState::Take;
            self.held_count.d.next = 0.into();
            self.turn.d.next = 0.into();
        }

        // What the tables are asked for the next cycle.
        self.owners.ahead.next = self.bell.d.val().queue;
        self.shared.ahead.next = self.bell.d.val().queue;
        self.lives.ahead[0].next = self.bell.d.val().queue;
        self.held.ahead.next = self.owners.read_data.val();
    }
}
