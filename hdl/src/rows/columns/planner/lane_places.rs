//! Finds where the lanes of a window lie, from where its groups lie.

use crate::layout::windows::WINDOW_INDEX;
use crate::primitive::Lutram;
use drdma_emit::prelude::*;

/// Gives each lane, for the addresser, the place of its group plus its distance from it, while the next header's groups
/// are formed.
///
/// Contract: the group of each lane, and the place of each group, are written beforehand, in any cycles. A window
/// `starts` in a cycle that is `ready`, with the fields of its header; later writes belong to the next window. Its
/// lanes are offered 17 cycles later, and the next window may start in the cycle after they are taken.
#[derive(LogicBlock, Default)]
pub struct LanePlaces {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// The group of a lane is written.
    pub lane_write: Signal<In, Bit>,
    /// Number of the lane.
    pub lane: Signal<In, Bits<4>>,
    /// Number of the group: of the lane (with `lane_write`), or that is placed (with `group_write`).
    pub group: Signal<In, Bits<4>>,
    /// The place of a group is written.
    pub group_write: Signal<In, Bit>,
    /// First word of the group in the window.
    pub group_word: Signal<In, Bits<13>>,
    /// Low 7 bits of the host address at which the group starts.
    pub group_lo: Signal<In, Bits<7>>,

    /// All groups of a window have their places; only when `ready`.
    pub starts: Signal<In, Bit>,
    /// A window may start.
    pub ready: Signal<Out, Bit>,
    /// Low 7 bits of the host address at which each lane starts, before it is moved (16 x 7 bits).
    pub addr: Signal<In, Bits<112>>,
    /// Lanes are moved by an odd number of blocks of 64 rows.
    pub odd: Signal<In, Bit>,
    /// Bytes of each lane (16 x 7 bits).
    pub len: Signal<In, Bits<112>>,
    /// Step of each lane in bytes (16 x 8 bits).
    pub step: Signal<In, Bits<128>>,
    /// Number of the last lane.
    pub last_lane: Signal<In, Bits<4>>,
    /// Window of the lanes.
    pub window: Signal<In, Bits<WINDOW_INDEX>>,

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

    /// Half of the tables that is being written; the other half is read.
    writes: DFF<Bit>,
    half: Signal<Local, Bits<5>>,
    other: Signal<Local, Bits<5>>,
    group_of: Lutram<4, 5, 1>,
    groups: Lutram<22, 5, 1>,
    busy: DFF<Bit>,
    given: DFF<Bit>,
    /// The current lane, whose fields are the lowest.
    turn: DFF<Bits<4>>,
    addrs: DFF<Bits<112>>,
    lens: DFF<Bits<112>>,
    steps: DFF<Bits<128>>,
    is_odd: DFF<Bit>,
    last: DFF<Bits<4>>,
    number: DFF<Bits<WINDOW_INDEX>>,
    found: Signal<Local, Bits<22>>,
    moved: Signal<Local, Bits<7>>,
    offset: Signal<Local, Bits<7>>,
    sum: DFF<Bits<10>>,
    places: DFF<Bits<272>>,
    starts_of: DFF<Bits<160>>,
    place: Signal<Local, Bits<15>>,
    pad: Signal<Local, Bits<272>>,
    pad_start: Signal<Local, Bits<160>>,
}

impl Logic for LanePlaces {
    #[hdl_gen]
    fn update(&mut self) {
        self.half.next = 0.into();
        self.other.next = 16.into();
        if self.writes.q.val() {
            self.half.next = 16.into();
            self.other.next = 0.into();
        }
        self.group_of.write_enable.next = self.lane_write.val();
        self.group_of.write_address.next = self.half.val() | bit_cast::<5, 4>(self.lane.val());
        self.group_of.write_data.next = self.group.val();
        self.groups.write_enable.next = self.group_write.val();
        self.groups.write_address.next = self.half.val() | bit_cast::<5, 4>(self.group.val());
        self.groups.write_data.next = (bit_cast::<22, 7>(self.group_lo.val()) << 15)
            | (bit_cast::<22, 13>(self.group_word.val()) << 2)
            | bit_cast::<22, 2>(self.group_lo.val().get_bits::<2>(0));

        // The current lane: the place of its group, and its distance from it. Modulo 128, an odd number of blocks of 64
        // rows with an odd step is 64.
        self.group_of.read_address[0].next = self.other.val() | bit_cast::<5, 4>(self.turn.q.val());
        self.groups.read_address[0].next =
            self.other.val() | bit_cast::<5, 4>(self.group_of.read_data[0].val());
        self.found.next = self.groups.read_data[0].val();
        self.moved.next = self.addrs.q.val().get_bits::<7>(0);
        if self.is_odd.q.val() && self.steps.q.val().get_bit(0) {
            self.moved.next = self.addrs.q.val().get_bits::<7>(0) ^ 64;
        }
        self.offset.next = self.moved.val() - self.found.val().get_bits::<7>(15);
        self.place.next = self.found.val().get_bits::<15>(0) + bit_cast::<15, 7>(self.offset.val());
        self.pad.next = bit_cast::<272, 15>(self.place.val());
        self.pad_start.next = bit_cast::<160, 10>(self.sum.q.val());
        if self.busy.q.val() && !self.given.q.val() {
            self.places.d.next = (self.places.q.val() >> 17) | (self.pad.val() << 255);
            self.starts_of.d.next = (self.starts_of.q.val() >> 10) | (self.pad_start.val() << 150);
            self.sum.d.next =
                self.sum.q.val() + bit_cast::<10, 7>(self.lens.q.val().get_bits::<7>(0));
            self.turn.d.next = self.turn.q.val() + 1;
            self.addrs.d.next = self.addrs.q.val() >> 7;
            self.lens.d.next = self.lens.q.val() >> 7;
            // The steps rotate once around, and are then as they were.
            self.steps.d.next = (self.steps.q.val() >> 8) | (self.steps.q.val() << 120);
            self.given.d.next = self.turn.q.val() == 15;
        }

        self.ready.next = !self.busy.q.val();
        self.lanes_valid.next = self.given.q.val();
        if self.given.q.val() && self.lanes_ready.val() {
            self.busy.d.next = false;
            self.given.d.next = false;
        }
        if self.starts.val() {
            self.busy.d.next = true;
            self.writes.d.next = !self.writes.q.val();
            self.turn.d.next = 0.into();
            self.sum.d.next = 0.into();
            self.addrs.d.next = self.addr.val();
            self.lens.d.next = self.len.val();
            self.steps.d.next = self.step.val();
            self.is_odd.d.next = self.odd.val();
            self.last.d.next = self.last_lane.val();
            self.number.d.next = self.window.val();
        }
        self.lanes_place.next = self.places.q.val();
        self.lanes_start.next = self.starts_of.q.val();
        self.lanes_step.next = self.steps.q.val();
        self.lanes_lanes.next = bit_cast::<5, 4>(self.last.q.val()) + 1;
        self.lanes_row_bytes.next = self.sum.q.val();
        self.lanes_window.next = self.number.q.val();

        if self.rst.val() {
            self.busy.d.next = false;
            self.given.d.next = false;
            self.writes.d.next = false;
        }
    }
}
