//! Decides which lanes are fetched together, and where they lie in the segmented memory.

use super::apart::Apart;
use super::lane_places::LanePlaces;
use crate::layout::windows::WINDOW_INDEX;
use crate::primitive::{LastSet, Lutram, Multiplier, Pack};
use array_init::array_init;
use drdma_emit::prelude::hdl_gen;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// State of the block.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PlaceState {
    /// Waits for a header.
    Wait,
    /// Takes the next lane.
    Pick,
    /// Finds how far the lane is from the group, and from the group's part at hand.
    Differ,
    /// Decides whether the lane joins.
    Fit,
    /// Lets the lane join, or begin a group.
    Join,
    /// Ends a group: its size is being multiplied.
    Size,
    /// Places the group, and emits its parts.
    Place,
    /// All groups are placed; waits until the lanes of the window before have been emitted.
    Hand,
}

/// Turns headers into parts of groups, the lanes for the addresser, and the size of the window.
///
/// Neighbouring lanes of one step that together span at most that step, and at most 127 bytes, are a *group*: it has
/// one place in the window, in which its bytes lie as in host memory. Consecutive lanes of a group are a *part* of it
/// as long as the gap between them may be read through. Which lanes form a group does not depend on the threshold, so
/// that the sequencer knows in advance what a chunk takes.
///
/// Each group starts some banks behind the start of the one before: 5, or 14 with more than five lanes. Of the
/// distances 1 to 31 these give the most words a cycle for lanes of 1, 2, 4 and 8 bytes at all addresses, according to
/// `libdrdma::optimizer::assembler`.
///
/// A header takes 3 cycles a lane, 3 a group, 1 for each further part of a group and 1 more; 3 more if the last lane is
/// a group by itself, and 5 if the window is not the first of its stretch. The first part is emitted 9 cycles after the
/// header of one lane was taken, or 14 in that last case. The lanes follow 17 cycles after the last part, while the
/// next header is at work ([`LanePlaces`]). At most two chunks are under way: the parts of the next one wait until the
/// one before the last is `done`.
#[derive(LogicBlock)]
pub struct Places {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Widest gap in bytes that is read through.
    pub threshold: Signal<In, Bits<12>>,

    /// The header of a chunk is offered.
    pub header_valid: Signal<In, Bit>,
    /// The header is taken in this cycle.
    pub header_ready: Signal<Out, Bit>,
    /// Host address of each lane in the chunk's first row (16 x 64 bits).
    pub header_addr: Signal<In, Bits<1024>>,
    /// Bytes of each lane (16 x 7 bits); 0 if the lane is not used.
    pub header_len: Signal<In, Bits<112>>,
    /// Step of each lane in bytes (16 x 8 bits).
    pub header_step: Signal<In, Bits<128>>,
    /// Rows of the window, 1 to 4,096.
    pub header_rows: Signal<In, Bits<13>>,
    /// Distance of the window's first row from the row at `header_addr`, in blocks of 64 rows.
    pub header_base: Signal<In, Bits<26>>,
    /// Window of the chunk.
    pub header_window: Signal<In, Bits<WINDOW_INDEX>>,
    /// A chunk has no more boxes.
    pub done: Signal<In, Bit>,

    /// A part of a group is emitted; no back-pressure.
    pub group_valid: Signal<Out, Bit>,
    /// Number of the part, under the parity of its chunk.
    pub group_index: Signal<Out, Bits<5>>,
    /// The part is the last one of its chunk.
    pub group_last: Signal<Out, Bit>,
    /// Host address at which the part starts.
    pub group_lo: Signal<Out, Bits<64>>,
    /// Place at which the part starts in the window, in bytes.
    pub group_place: Signal<Out, Bits<15>>,
    /// Window of the part.
    pub group_window: Signal<Out, Bits<WINDOW_INDEX>>,
    /// Bytes of a row of the part.
    pub group_len: Signal<Out, Bits<7>>,
    /// Step of the part in bytes.
    pub group_step: Signal<Out, Bits<8>>,
    /// Blocks of 64 rows of the window, 1 to 64.
    pub group_blocks: Signal<Out, Bits<7>>,

    /// The lanes of a window are offered.
    pub lanes_valid: Signal<Out, Bit>,
    /// The lanes are taken in this cycle.
    pub lanes_ready: Signal<In, Bit>,
    /// Place of each lane's first row in the window (16 x 17 bits).
    pub lanes_place: Signal<Out, Bits<272>>,
    /// Bytes of the lanes before each lane (16 x 10 bits).
    pub lanes_start: Signal<Out, Bits<160>>,
    /// Step of each lane in bytes (16 x 8 bits).
    pub lanes_step: Signal<Out, Bits<128>>,
    /// Number of lanes, 1 to 16.
    pub lanes_lanes: Signal<Out, Bits<5>>,
    /// Bytes of a row of all lanes, at most 960.
    pub lanes_row_bytes: Signal<Out, Bits<10>>,
    /// Window of the lanes.
    pub lanes_window: Signal<Out, Bits<WINDOW_INDEX>>,

    /// `size` is valid: all groups of the window are placed.
    pub sized: Signal<Out, Bit>,
    /// With `sized`: size of the window in units of 128 B.
    pub size: Signal<Out, Bits<9>>,

    state: DFF<PlaceState>,
    parity: DFF<Bit>,
    /// Number of chunks under way.
    chunks: DFF<Bits<2>>,
    starts: Signal<Local, Bit>,
    addr: DFF<Bits<1024>>,
    len: DFF<Bits<112>>,
    step: DFF<Bits<128>>,
    rows: DFF<Bits<13>>,
    window: DFF<Bits<WINDOW_INDEX>>,

    // Distance by which the lanes are moved: one lane after another is multiplied.
    base: DFF<Bits<26>>,
    moved: DFF<Bit>,
    move_next: DFF<Bits<5>>,
    moving: DFF<Bits<4>>,
    move_lane: [DFF<Bits<4>>; 4],
    by: Multiplier<26, 8, 34>,
    moves: Lutram<34, 4, 1>,
    /// Number of lanes whose distance is known.
    known: DFF<Bits<5>>,
    way: Signal<Local, Bits<64>>,

    // The present lane, and the one that is taken next.
    lane: DFF<Bits<4>>,
    pick: DFF<Bits<4>>,
    can_pick: Signal<Local, Bit>,
    picks: Signal<Local, Bit>,
    used: [Signal<Local, Bit>; 16],
    used_bits: Signal<Local, Bits<16>>,
    find_last: LastSet<16, 4>,
    last_lane: DFF<Bits<4>>,
    lane_addr: DFF<Bits<64>>,
    lane_len: DFF<Bits<7>>,
    lane_step: DFF<Bits<8>>,
    /// Bytes that a group may span.
    most: Signal<Local, Bits<8>>,
    from_group: Apart,
    from_part: Apart,
    joins: DFF<Bit>,
    joins_part: DFF<Bit>,
    lower: DFF<Bit>,
    lower_part: DFF<Bit>,
    joint: DFF<Bits<9>>,
    joint_part: DFF<Bits<9>>,

    // The present group.
    open: DFF<Bit>,
    group: DFF<Bits<4>>,
    /// First bank of the group.
    bank: Signal<Local, Bits<5>>,
    lo: DFF<Bits<64>>,
    len_of: DFF<Bits<9>>,
    step_of: DFF<Bits<8>>,
    closing: DFF<Bit>,
    // The group's part at hand, the parts before it, and the one that is emitted.
    part_lo: DFF<Bits<64>>,
    part_len: DFF<Bits<9>>,
    parts: Lutram<71, 4, 1>,
    held: DFF<Bits<4>>,
    given: DFF<Bits<4>>,
    part: DFF<Bits<4>>,
    part_at: Signal<Local, Bits<7>>,
    count: DFF<Bits<2>>,
    multiply: Multiplier<12, 8, 20>,
    free: DFF<Bits<13>>,
    skew: Signal<Local, Bits<5>>,
    word: DFF<Bits<13>>,
    bytes: Signal<Local, Bits<15>>,

    lane_places: LanePlaces,
    low_addr: Pack<16, 7, 112>,
    /// The last group is placed.
    hands: Signal<Local, Bit>,
    /// The last group was placed in the cycle before.
    ended: DFF<Bit>,
    unused: Signal<Local, Bits<7>>,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            threshold: Signal::default(),
            header_valid: Signal::default(),
            header_ready: Signal::default(),
            header_addr: Signal::default(),
            header_len: Signal::default(),
            header_step: Signal::default(),
            header_rows: Signal::default(),
            header_base: Signal::default(),
            header_window: Signal::default(),
            done: Signal::default(),
            group_valid: Signal::default(),
            group_index: Signal::default(),
            group_last: Signal::default(),
            group_lo: Signal::default(),
            group_place: Signal::default(),
            group_window: Signal::default(),
            group_len: Signal::default(),
            group_step: Signal::default(),
            group_blocks: Signal::default(),
            lanes_valid: Signal::default(),
            lanes_ready: Signal::default(),
            lanes_place: Signal::default(),
            lanes_start: Signal::default(),
            lanes_step: Signal::default(),
            lanes_lanes: Signal::default(),
            lanes_row_bytes: Signal::default(),
            lanes_window: Signal::default(),
            sized: Signal::default(),
            size: Signal::default(),
            state: DFF::default(),
            parity: DFF::default(),
            chunks: DFF::default(),
            starts: Signal::default(),
            addr: DFF::default(),
            len: DFF::default(),
            step: DFF::default(),
            rows: DFF::default(),
            window: DFF::default(),
            base: DFF::default(),
            moved: DFF::default(),
            move_next: DFF::default(),
            moving: DFF::default(),
            move_lane: array_init(|_| DFF::default()),
            by: Multiplier::new(4),
            moves: Lutram::default(),
            known: DFF::default(),
            way: Signal::default(),
            lane: DFF::default(),
            pick: DFF::default(),
            can_pick: Signal::default(),
            picks: Signal::default(),
            used: array_init(|_| Signal::default()),
            used_bits: Signal::default(),
            find_last: LastSet::default(),
            last_lane: DFF::default(),
            lane_addr: DFF::default(),
            lane_len: DFF::default(),
            lane_step: DFF::default(),
            most: Signal::default(),
            from_group: Apart::default(),
            from_part: Apart::default(),
            joins: DFF::default(),
            joins_part: DFF::default(),
            lower: DFF::default(),
            lower_part: DFF::default(),
            joint: DFF::default(),
            joint_part: DFF::default(),
            open: DFF::default(),
            group: DFF::default(),
            bank: Signal::default(),
            lo: DFF::default(),
            len_of: DFF::default(),
            step_of: DFF::default(),
            closing: DFF::default(),
            part_lo: DFF::default(),
            part_len: DFF::default(),
            parts: Lutram::default(),
            held: DFF::default(),
            given: DFF::default(),
            part: DFF::default(),
            part_at: Signal::default(),
            count: DFF::default(),
            multiply: Multiplier::new(3),
            free: DFF::default(),
            skew: Signal::default(),
            word: DFF::default(),
            bytes: Signal::default(),
            lane_places: LanePlaces::default(),
            low_addr: Pack::default(),
            hands: Signal::default(),
            ended: DFF::default(),
            unused: Signal::default(),
        }
    }
}

impl Logic for Places {
    #[hdl_gen]
    fn update(&mut self) {
        self.most.next = self.step_of.q.val();
        if self.step_of.q.val().get_bit(7) {
            self.most.next = 127.into();
        }
        self.from_group.lo.next = self.lo.q.val();
        self.from_group.len.next = self.len_of.q.val();
        self.from_group.lane_addr.next = self.lane_addr.q.val();
        self.from_group.lane_len.next = self.lane_len.q.val();
        self.from_group.step.next = self.most.val();
        self.from_group.threshold.next = self.threshold.val();
        self.from_part.lo.next = self.part_lo.q.val();
        self.from_part.len.next = self.part_len.q.val();
        self.from_part.lane_addr.next = self.lane_addr.q.val();
        self.from_part.lane_len.next = self.lane_len.q.val();
        self.from_part.step.next = self.most.val();
        self.from_part.threshold.next = self.threshold.val();

        // The size of a group is multiplied; the skew of its first word.
        self.multiply.enable.next = true;
        self.multiply.a.next = (self.rows.q.val() - 1).get_bits::<12>(0);
        self.multiply.b.next = self.step_of.q.val();
        // 5 banks a group, or 14 with more than five lanes.
        self.bank.next =
            (bit_cast::<5, 4>(self.group.q.val()) << 2) + bit_cast::<5, 4>(self.group.q.val());
        if self.last_lane.q.val() > 4 {
            self.bank.next = (bit_cast::<5, 4>(self.group.q.val()) << 4)
                - (bit_cast::<5, 4>(self.group.q.val()) << 1);
        }
        self.skew.next = self.bank.val() - self.free.q.val().get_bits::<5>(0);
        self.bytes.next = self.multiply.product.val().get_bits::<15>(0)
            + bit_cast::<15, 9>(self.len_of.q.val())
            + bit_cast::<15, 2>(self.lo.q.val().get_bits::<2>(0))
            + 3;
        self.unused.next = (bit_cast::<7, 5>(self.multiply.product.val().get_bits::<5>(15)) << 2)
            | bit_cast::<7, 2>(self.bytes.val().get_bits::<2>(0));

        // The first row of a window lies many rows behind the first row of its stretch.
        self.by.enable.next = true;
        self.by.a.next = self.base.q.val();
        self.by.b.next =
            self.step.q.val().get_bits::<8>(self.move_next.q.val().get_bits::<4>(0).index() * 8);
        self.moving.d.next = self.moving.q.val() << 1;
        self.move_lane[0].d.next = self.move_next.q.val().get_bits::<4>(0);
        for k in 1..4 {
            self.move_lane[k].d.next = self.move_lane[k - 1].q.val();
        }
        if !self.move_next.q.val().get_bit(4) {
            self.moving.d.next = (self.moving.q.val() << 1) | 1;
            self.move_next.d.next = self.move_next.q.val() + 1;
        }
        self.moves.write_enable.next = self.moving.q.val().get_bit(3);
        self.moves.write_address.next = self.move_lane[3].q.val();
        self.moves.write_data.next = self.by.product.val();
        if self.moving.q.val().get_bit(3) {
            self.known.d.next = bit_cast::<5, 4>(self.move_lane[3].q.val()) + 1;
        }
        self.moves.read_address[0].next = self.pick.q.val();
        self.way.next = 0.into();
        if self.moved.q.val() {
            self.way.next = bit_cast::<64, 34>(self.moves.read_data[0].val()) << 6;
        }
        self.can_pick.next =
            !self.moved.q.val() || (self.known.q.val() > bit_cast::<5, 4>(self.pick.q.val()));

        self.used_bits.next = 0.into();
        for l in 0..16 {
            self.used[l].next = self.header_len.val().get_bits::<7>(l * 7).any();
            self.used_bits.next = self.used_bits.val().replace_bit(l, self.used[l].val());
        }
        self.find_last.bits.next = self.used_bits.val();

        // A lane's place is its group's, plus its distance from it.
        self.lane_places.lane_write.next = false;
        self.lane_places.lane.next = self.lane.q.val();
        self.lane_places.group.next = self.group.q.val();
        self.lane_places.group_write.next = false;
        self.lane_places.group_word.next = self.word.q.val();
        self.lane_places.group_lo.next = self.lo.q.val().get_bits::<7>(0);
        self.lane_places.starts.next = false;
        for l in 0..16 {
            self.low_addr.parts[l].next = self.addr.q.val().get_bits::<7>(l * 64);
        }
        self.lane_places.addr.next = self.low_addr.whole.val();
        self.lane_places.odd.next = self.base.q.val().get_bit(0);
        self.lane_places.len.next = self.len.q.val();
        self.lane_places.step.next = self.step.q.val();
        self.lane_places.last_lane.next = self.last_lane.q.val();
        self.lane_places.window.next = self.window.q.val();
        self.lane_places.lanes_ready.next = self.lanes_ready.val();

        // The parts of the present group.
        self.parts.write_enable.next = false;
        self.parts.write_address.next = self.held.q.val();
        self.parts.write_data.next = (bit_cast::<71, 64>(self.part_lo.q.val()) << 7)
            | bit_cast::<71, 7>(self.part_len.q.val().get_bits::<7>(0));
        self.parts.read_address[0].next = self.given.q.val();
        self.part_at.next =
            self.parts.read_data[0].val().get_bits::<7>(7) - self.lo.q.val().get_bits::<7>(0);

        self.header_ready.next = false;
        self.starts.next = false;
        self.group_valid.next = false;
        self.picks.next = false;
        self.hands.next = false;
        // The size of a group is known 4 cycles after its step.
        if self.count.q.val() != 3 {
            self.count.d.next = self.count.q.val() + 1;
        }
        self.ended.d.next = false;
        match self.state.q.val() {
            PlaceState::Wait => {
                self.header_ready.next = true;
                self.lane.d.next = 0.into();
                self.pick.d.next = 0.into();
                self.group.d.next = 0.into();
                self.part.d.next = 0.into();
                self.held.d.next = 0.into();
                self.free.d.next = 0.into();
                self.open.d.next = false;
                self.closing.d.next = false;
                if self.header_valid.val() && self.header_ready.val() {
                    self.addr.d.next = self.header_addr.val();
                    self.len.d.next = self.header_len.val();
                    self.step.d.next = self.header_step.val();
                    self.rows.d.next = self.header_rows.val();
                    self.base.d.next = self.header_base.val();
                    self.moved.d.next = self.header_base.val().any();
                    self.move_next.d.next = 0.into();
                    self.moving.d.next = 0.into();
                    self.known.d.next = 0.into();
                    self.window.d.next = self.header_window.val();
                    self.last_lane.d.next = self.find_last.index.val();
                    self.state.d.next = PlaceState::Pick;
                }
            }
            PlaceState::Pick => {
                self.picks.next = self.can_pick.val();
                if self.can_pick.val() {
                    self.state.d.next = PlaceState::Differ;
                }
            }
            PlaceState::Differ => {
                self.state.d.next = PlaceState::Fit;
                if !self.lane_len.q.val().any() {
                    self.lane.d.next = self.lane.q.val() + 1;
                    self.state.d.next = PlaceState::Pick;
                }
            }
            PlaceState::Fit => {
                self.lower.d.next = self.from_group.lower.val();
                self.lower_part.d.next = self.from_part.lower.val();
                self.joint.d.next = self.from_group.span.val();
                self.joint_part.d.next = self.from_part.span.val();
                self.joins.d.next = self.open.q.val()
                    && self.from_group.near.val()
                    && (self.lane_step.q.val() == self.step_of.q.val())
                    && self.from_group.fits.val();
                self.joins_part.d.next = self.from_part.near.val() && self.from_part.follows.val();
                self.state.d.next = PlaceState::Join;
            }
            PlaceState::Join => {
                self.lane_places.lane_write.next = true;
                self.lane.d.next = self.lane.q.val() + 1;
                self.picks.next = self.can_pick.val();
                self.state.d.next = PlaceState::Pick;
                if self.can_pick.val() {
                    self.state.d.next = PlaceState::Differ;
                }
                if self.lane.q.val() == self.last_lane.q.val() {
                    self.closing.d.next = true;
                    self.state.d.next = PlaceState::Size;
                }
                if self.joins.q.val() {
                    self.len_of.d.next = self.joint.q.val();
                    if self.lower.q.val() {
                        self.lo.d.next = self.lane_addr.q.val();
                    }
                    if self.joins_part.q.val() {
                        self.part_len.d.next = self.joint_part.q.val();
                        if self.lower_part.q.val() {
                            self.part_lo.d.next = self.lane_addr.q.val();
                        }
                    } else {
                        self.parts.write_enable.next = true;
                        self.held.d.next = self.held.q.val() + 1;
                        self.part_lo.d.next = self.lane_addr.q.val();
                        self.part_len.d.next = bit_cast::<9, 7>(self.lane_len.q.val());
                    }
                } else if !self.open.q.val() {
                    self.open.d.next = true;
                    self.lo.d.next = self.lane_addr.q.val();
                    self.len_of.d.next = bit_cast::<9, 7>(self.lane_len.q.val());
                    self.step_of.d.next = self.lane_step.q.val();
                    self.count.d.next = 0.into();
                    self.part_lo.d.next = self.lane_addr.q.val();
                    self.part_len.d.next = bit_cast::<9, 7>(self.lane_len.q.val());
                } else {
                    // The group before is placed first.
                    self.lane.d.next = self.lane.q.val();
                    self.picks.next = false;
                    self.closing.d.next = false;
                    self.state.d.next = PlaceState::Size;
                }
            }
            PlaceState::Size => {
                self.word.d.next = self.free.q.val() + bit_cast::<13, 5>(self.skew.val());
                self.parts.write_enable.next = true;
                self.given.d.next = 0.into();
                // A chunk begins with its first part.
                if (self.count.q.val() == 3)
                    && (self.part.q.val().any() || !self.chunks.q.val().get_bit(1))
                {
                    self.state.d.next = PlaceState::Place;
                }
            }
            PlaceState::Place => {
                self.group_valid.next = true;
                self.starts.next = !self.part.q.val().any();
                self.lane_places.group_write.next = true;
                self.free.d.next = self.word.q.val() + self.bytes.val().get_bits::<13>(2);
                self.part.d.next = self.part.q.val() + 1;
                self.given.d.next = self.given.q.val() + 1;
                if self.given.q.val() == self.held.q.val() {
                    self.group.d.next = self.group.q.val() + 1;
                    self.open.d.next = false;
                    self.held.d.next = 0.into();
                    self.state.d.next = PlaceState::Join;
                    if self.closing.q.val() {
                        self.ended.d.next = true;
                        self.hands.next = true;
                    }
                }
            }
            PlaceState::Hand => {
                self.hands.next = true;
            }
        }
        if self.hands.val() {
            self.state.d.next = PlaceState::Hand;
            if self.lane_places.ready.val() {
                self.lane_places.starts.next = true;
                self.parity.d.next = !self.parity.q.val();
                self.state.d.next = PlaceState::Wait;
            }
        }
        // The next lane.
        if self.picks.val() {
            self.pick.d.next = self.pick.q.val() + 1;
            self.lane_addr.d.next =
                self.addr.q.val().get_bits::<64>(self.pick.q.val().index() * 64) + self.way.val();
            self.lane_len.d.next = self.len.q.val().get_bits::<7>(self.pick.q.val().index() * 7);
            self.lane_step.d.next = self.step.q.val().get_bits::<8>(self.pick.q.val().index() * 8);
        }
        if self.starts.val() && !self.done.val() {
            self.chunks.d.next = self.chunks.q.val() + 1;
        }
        if self.done.val() && !self.starts.val() {
            self.chunks.d.next = self.chunks.q.val() - 1;
        }

        self.group_index.next = bit_cast::<5, 4>(self.part.q.val())
            | (bit_cast::<5, 1>(self.parity.q.val().into()) << 4);
        self.group_last.next = self.closing.q.val() && (self.given.q.val() == self.held.q.val());
        self.group_lo.next = self.parts.read_data[0].val().get_bits::<64>(7);
        self.group_place.next = ((bit_cast::<15, 13>(self.word.q.val()) << 2)
            | bit_cast::<15, 2>(self.lo.q.val().get_bits::<2>(0)))
            + bit_cast::<15, 7>(self.part_at.val());
        self.group_window.next = self.window.q.val();
        self.group_len.next = self.parts.read_data[0].val().get_bits::<7>(0);
        self.group_step.next = self.step_of.q.val();
        self.group_blocks.next = (self.rows.q.val() + 63).get_bits::<7>(6);
        self.lanes_valid.next = self.lane_places.lanes_valid.val();
        self.lanes_place.next = self.lane_places.lanes_place.val();
        self.lanes_start.next = self.lane_places.lanes_start.val();
        self.lanes_step.next = self.lane_places.lanes_step.val();
        self.lanes_lanes.next = self.lane_places.lanes_lanes.val();
        self.lanes_row_bytes.next = self.lane_places.lanes_row_bytes.val();
        self.lanes_window.next = self.lane_places.lanes_window.val();
        // All groups are placed; the window ends with the last one.
        self.sized.next = self.ended.q.val();
        self.size.next = ((bit_cast::<14, 13>(self.free.q.val()) + 31) >> 5).get_bits::<9>(0);

        if self.rst.val() {
            self.state.d.next = PlaceState::Wait;
            self.parity.d.next = false;
            self.ended.d.next = false;
            self.move_next.d.next = 16.into();
            self.moving.d.next = 0.into();
            self.chunks.d.next = 0.into();
        }
    }
}
