//! Sixteen positions of the payload: their requests, their copy of the memory, their bytes.

use array_init::array_init;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

use crate::primitive::{ByteMux, Clashes, Lutram, Pack, Scatter};

/// A quarter of the payload. See the [module](super).
///
/// Beats are numbered modulo 64; at most 32 are at work, and a beat's number modulo 32 is its place in all
/// queues. Every position takes its requests in the order of the beats: a beat in which it has no
/// byte costs it a cycle without a bank. Its byte is in `data` from the 7th cycle after its grant.
///
/// # Inputs
/// `clk`, `rst`; `write`, `valid`, `ram` (the beat `newest` enters); `newest`, `oldest`, `following`;
/// `read_data`; `leave`.
///
/// # Outputs
/// `done`; `read_row`, `read_enable`; `data`; `busy`, `conflict`.
#[derive(LogicBlock)]
pub struct Group {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A beat enters.
    pub write: Signal<In, Bit>,
    /// Its bytes.
    pub valid: Signal<In, Bits<16>>,
    /// Where they lie.
    pub ram: Signal<In, Bits<272>>,
    /// Number of the next beat to enter.
    pub newest: Signal<In, Bits<6>>,
    /// Number of the oldest beat that is not known to be requested.
    pub oldest: Signal<In, Bits<6>>,
    /// The number behind that.
    pub following: Signal<In, Bits<6>>,
    /// All positions have requested their bytes of the beat `oldest`.
    pub done: Signal<Out, Bit>,

    /// For every bank the row to read.
    pub read_row: Signal<Out, Bits<320>>,
    /// The banks to read.
    pub read_enable: Signal<Out, Bits<32>>,
    /// One word a bank, two cycles later.
    pub read_data: Signal<In, Bits<1024>>,

    /// The beat to look at.
    pub leave: Signal<In, Bits<5>>,
    /// Its bytes.
    pub data: Signal<Out, Bits<128>>,

    /// A byte was requested.
    pub busy: Signal<Out, Bit>,
    /// A byte waited for its bank.
    pub conflict: Signal<Out, Bit>,

    // The queues: {valid, ram}.
    requests: [Lutram<18, 5, 1>; 16],
    next: [DFF<Bits<6>>; 16],
    head_valid: DFF<Bits<16>>,
    head_ram: [DFF<Bits<17>>; 16],
    clashes: Clashes<16, 5, 10, 15, 6>,
    grant: Signal<Local, Bits<16>>,
    free: Signal<Local, Bits<16>>,
    loaded: Signal<Local, Bits<16>>,
    waiting: Signal<Local, Bit>,
    bit: [Constant<Bits<16>>; 16],

    // What was granted: b to g are the cycles after the grant.
    b_grant: DFF<Bits<16>>,
    b_lost: DFF<Bits<16>>,
    b_ram: [DFF<Bits<17>>; 16],
    slots: Pack<16, 5, 80>,
    selects: Pack<16, 7, 112>,
    scatter: Scatter<16, 5, 10, 32, 320>,
    b_slots: DFF<Bits<80>>,
    c_row: DFF<Bits<320>>,
    c_enable: DFF<Bits<32>>,
    c_grant: DFF<Bits<16>>,
    c_slots: DFF<Bits<80>>,
    c_selects: DFF<Bits<112>>,
    d_grant: DFF<Bits<16>>,
    d_slots: DFF<Bits<80>>,
    d_selects: DFF<Bits<112>>,
    e_grant: DFF<Bits<16>>,
    e_slots: DFF<Bits<80>>,
    e_selects: DFF<Bits<112>>,
    crossbar: ByteMux<128, 16, 7, 1024, 128>,
    f_grant: DFF<Bits<16>>,
    f_slots: DFF<Bits<80>>,
    g_grant: DFF<Bits<16>>,
    g_slots: DFF<Bits<80>>,

    bytes: [Lutram<8, 5, 1>; 16],
    beat: Pack<16, 8, 128>,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            write: Signal::default(),
            valid: Signal::default(),
            ram: Signal::default(),
            newest: Signal::default(),
            oldest: Signal::default(),
            following: Signal::default(),
            done: Signal::default(),
            read_row: Signal::default(),
            read_enable: Signal::default(),
            read_data: Signal::default(),
            leave: Signal::default(),
            data: Signal::default(),
            busy: Signal::default(),
            conflict: Signal::default(),
            requests: array_init(|_| Lutram::default()),
            next: array_init(|_| DFF::default()),
            head_valid: DFF::default(),
            head_ram: array_init(|_| DFF::default()),
            clashes: Clashes::default(),
            grant: Signal::default(),
            free: Signal::default(),
            loaded: Signal::default(),
            waiting: Signal::default(),
            bit: array_init(|k| Constant::new((1_u16 << k).to_bits())),
            b_grant: DFF::default(),
            b_lost: DFF::default(),
            b_ram: array_init(|_| DFF::default()),
            slots: Pack::default(),
            selects: Pack::default(),
            scatter: Scatter::default(),
            b_slots: DFF::default(),
            c_row: DFF::default(),
            c_enable: DFF::default(),
            c_grant: DFF::default(),
            c_slots: DFF::default(),
            c_selects: DFF::default(),
            d_grant: DFF::default(),
            d_slots: DFF::default(),
            d_selects: DFF::default(),
            e_grant: DFF::default(),
            e_slots: DFF::default(),
            e_selects: DFF::default(),
            crossbar: ByteMux::default(),
            f_grant: DFF::default(),
            f_slots: DFF::default(),
            g_grant: DFF::default(),
            g_slots: DFF::default(),
            bytes: array_init(|_| Lutram::default()),
            beat: Pack::default(),
        }
    }
}

impl Logic for Group {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, head_valid, b_grant, b_lost, b_slots, c_row, c_enable, c_grant, c_slots,
            c_selects, d_grant, d_slots, d_selects, e_grant, e_slots, e_selects, f_grant, f_slots,
            g_grant, g_slots
        );

        // The heads of the queues ask for their banks.
        self.clashes.valid.next = self.head_valid.q.val();
        for k in 0..16 {
            self.clashes.place[k].next = self.head_ram[k].q.val().get_bits::<15>(2);
            self.clashes.age[k].next = self.next[k].q.val();
        }
        self.grant.next = self.head_valid.q.val() & !self.clashes.lose.val();
        self.free.next = !self.head_valid.q.val() | self.grant.val();
        self.b_lost.d.next = self.head_valid.q.val() & self.clashes.lose.val();
        self.busy.next = self.b_grant.q.val().any();
        self.conflict.next = self.b_lost.q.val().any();

        // The next request follows where the head is done with. What has entered is in `requests`
        // in the cycle in which `newest` tells so.
        self.loaded.next = self.head_valid.q.val() & !self.free.val();
        self.waiting.next = false;
        for k in 0..16 {
            self.next[k].clock.next = self.clk.val();
            self.next[k].d.next = self.next[k].q.val();
            self.head_ram[k].clock.next = self.clk.val();
            self.head_ram[k].d.next = self.head_ram[k].q.val();
            self.requests[k].clk.next = self.clk.val();
            self.requests[k].write_enable.next = self.write.val();
            self.requests[k].write_address.next = self.newest.val().get_bits::<5>(0);
            self.requests[k].write_data.next =
                self.ram.val().get_bits::<17>(k * 17).get_bits::<18>(0);
            if self.valid.val().get_bit(k) {
                self.requests[k].write_data.next =
                    self.requests[k].write_data.val().replace_bit(17, true);
            }
            self.requests[k].read_address[0].next = self.next[k].q.val().get_bits::<5>(0);
            if self.free.val().get_bit(k) && (self.next[k].q.val() != self.newest.val()) {
                self.next[k].d.next = self.next[k].q.val() + 1;
                self.head_ram[k].d.next = self.requests[k].read_data[0].val().get_bits::<17>(0);
                if self.requests[k].read_data[0].val().get_bit(17) {
                    self.loaded.next = self.loaded.val() | self.bit[k].val();
                }
            }
            // A position has passed the oldest beat unless that is its next one, or at its head.
            if (self.next[k].q.val() == self.oldest.val())
                || (self.head_valid.q.val().get_bit(k)
                    && (self.next[k].q.val() == self.following.val()))
            {
                self.waiting.next = true;
            }
        }
        self.head_valid.d.next = self.loaded.val();
        self.done.next = !self.waiting.val();

        // The banks.
        self.b_grant.d.next = self.grant.val();
        for k in 0..16 {
            self.b_ram[k].clock.next = self.clk.val();
            self.b_ram[k].d.next = self.head_ram[k].q.val();
            // The head's beat is the one before the next.
            self.slots.parts[k].next = self.next[k].q.val().get_bits::<5>(0) - 1;
            self.selects.parts[k].next = self.b_ram[k].q.val().get_bits::<7>(0);
            self.scatter.place[k].next = self.b_ram[k].q.val().get_bits::<5>(2);
            self.scatter.value[k].next = self.b_ram[k].q.val().get_bits::<10>(7);
        }
        self.b_slots.d.next = self.slots.whole.val();
        self.scatter.valid.next = self.b_grant.q.val();
        self.c_row.d.next = self.scatter.whole.val();
        self.c_enable.d.next = self.scatter.used.val();
        self.read_row.next = self.c_row.q.val();
        self.read_enable.next = self.c_enable.q.val();

        // The words go through the crossbar.
        self.c_grant.d.next = self.b_grant.q.val();
        self.c_slots.d.next = self.b_slots.q.val();
        self.c_selects.d.next = self.selects.whole.val();
        self.d_grant.d.next = self.c_grant.q.val();
        self.d_slots.d.next = self.c_slots.q.val();
        self.d_selects.d.next = self.c_selects.q.val();
        self.e_grant.d.next = self.d_grant.q.val();
        self.e_slots.d.next = self.d_slots.q.val();
        self.e_selects.d.next = self.d_selects.q.val();
        self.crossbar.clk.next = self.clk.val();
        self.crossbar.enable.next = true;
        self.crossbar.data.next = self.read_data.val();
        for k in 0..16 {
            self.crossbar.select[k].next = self.e_selects.q.val().get_bits::<7>(k * 7);
        }
        self.f_grant.d.next = self.e_grant.q.val();
        self.f_slots.d.next = self.e_slots.q.val();
        self.g_grant.d.next = self.f_grant.q.val();
        self.g_slots.d.next = self.f_slots.q.val();

        // The bytes wait for the rest of their beat.
        for k in 0..16 {
            self.bytes[k].clk.next = self.clk.val();
            self.bytes[k].write_enable.next = self.g_grant.q.val().get_bit(k);
            self.bytes[k].write_address.next = self.g_slots.q.val().get_bits::<5>(k * 5);
            self.bytes[k].write_data.next = self.crossbar.result.val().get_bits::<8>(k * 8);
            self.bytes[k].read_address[0].next = self.leave.val();
            self.beat.parts[k].next = self.bytes[k].read_data[0].val();
        }
        self.data.next = self.beat.whole.val();

        if self.rst.val() {
            self.head_valid.d.next = 0.into();
            self.b_grant.d.next = 0.into();
            self.b_lost.d.next = 0.into();
            self.c_enable.d.next = 0.into();
            self.c_grant.d.next = 0.into();
            self.d_grant.d.next = 0.into();
            self.e_grant.d.next = 0.into();
            self.f_grant.d.next = 0.into();
            self.g_grant.d.next = 0.into();
            for k in 0..16 {
                self.next[k].d.next = 0.into();
            }
        }
    }
}
