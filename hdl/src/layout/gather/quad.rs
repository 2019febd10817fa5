//! A quad: four positions of the payload, which make their requests together.

use array_init::array_init;
use drdma_emit::prelude::*;

use crate::primitive::{Choose, Classes, Lutram, Pack, QuadMux, Turns};

/// Bits of a request: 4 places, which positions have a byte, their turns, the last turn.
const REQUEST: usize = 82;

/// A sixteenth of the payload. See the [module](super).
///
/// Takes its requests in the order of the beats. Those of a beat are at the head until every one has
/// been granted its bank; in turns, if they need different words of a class of banks. A beat in which it
/// has no byte costs it a cycle without a bank. Its bytes are in `data` from the 7th cycle after their
/// grant.
///
/// # Inputs
/// `clk`, `rst`; `write`, `valid`, `ram` (the beat `newest` enters); `newest`, `oldest`, `following`;
/// `left`, `free`; `read_data`; `leave`.
///
/// # Outputs
/// `waiting`; `pending`, `words`, `age`; `conflict`; `data`.
#[derive(LogicBlock, BlockDefault)]
pub struct Quad {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A beat enters, with the number `newest`.
    pub write: Signal<In, Bit>,
    /// Positions of the beat that have a byte, a bit each.
    pub valid: Signal<In, Bits<4>>,
    /// Places of the bytes in the segmented memory, 17 bits each.
    pub ram: Signal<In, Bits<68>>,
    /// Number of the next beat to enter, modulo 64.
    pub newest: Signal<In, Bits<6>>,
    /// Number of the oldest beat that is not known to be requested, modulo 64.
    pub oldest: Signal<In, Bits<6>>,
    /// The number behind `oldest`, modulo 64.
    pub following: Signal<In, Bits<6>>,
    /// Not all bytes of the beat `oldest` have been granted.
    pub waiting: Signal<Out, Bit>,

    /// Classes of banks of which a word is wanted, a bit each.
    pub pending: Signal<Out, Bits<8>>,
    /// The words that are wanted, 12 bits for each class.
    pub words: Signal<Out, Bits<96>>,
    /// How many beats the head is behind the oldest one; 3 stands for any more.
    pub age: Signal<Out, Bits<2>>,
    /// Wanted words that are not granted in this cycle, a bit for each class.
    pub left: Signal<In, Bits<8>>,
    /// All wanted words are granted in this cycle.
    pub free: Signal<In, Bit>,
    /// A byte waits for its bank or its turn.
    pub conflict: Signal<Out, Bit>,

    /// Words that were read, 32 bits for each bank, three cycles after the grant.
    pub read_data: Signal<In, Bits<1024>>,
    /// Place of the beat whose bytes are at `data`: its number modulo 32.
    pub leave: Signal<In, Bits<5>>,
    /// Bytes of the beat `leave` at the quad's 4 positions.
    pub data: Signal<Out, Bits<32>>,

    // The queue.
    schedule: Turns,
    requests: Lutram<REQUEST, 5, 1>,
    request: Signal<Local, Bits<REQUEST>>,
    next: DFF<Bits<6>>,
    turn: DFF<Bits<2>>,
    turn_end: Signal<Local, Bit>,
    active: Signal<Local, Bits<4>>,
    classes: Classes,
    class_words: Choose<8, 12, 16, 96>,
    #[init(array_init(|k| Constant::new((1_u8 << k).to_bits())))]
    bit: [Constant<Bits<4>>; 4],

    // The head.
    head_pending: DFF<Bits<8>>,
    head_words: DFF<Bits<96>>,
    head_active: DFF<Bits<4>>,
    head_selects: DFF<Bits<20>>,
    head_slot: DFF<Bits<5>>,
    /// The head has later turns.
    head_more: DFF<Bit>,
    head_age: DFF<Bits<2>>,
    selects: Pack<4, 5, 20>,
    load: Signal<Local, Bit>,
    next_lag: Signal<Local, Bits<5>>,
    head_lag: Signal<Local, Bits<5>>,
    next_age: Signal<Local, Bits<2>>,
    kept_age: Signal<Local, Bits<2>>,

    // Granted words: c to g are the cycles after the grant.
    c_granted: DFF<Bits<8>>,
    c_active: DFF<Bits<4>>,
    c_banks: DFF<Bits<16>>,
    c_selects: DFF<Bits<20>>,
    c_slot: DFF<Bits<5>>,
    d_bytes: DFF<Bits<4>>,
    d_banks: DFF<Bits<16>>,
    d_selects: DFF<Bits<20>>,
    d_slot: DFF<Bits<5>>,
    e_bytes: DFF<Bits<4>>,
    e_banks: DFF<Bits<16>>,
    e_selects: DFF<Bits<20>>,
    e_slot: DFF<Bits<5>>,
    f_bytes: DFF<Bits<4>>,
    f_slot: DFF<Bits<5>>,
    g_bytes: DFF<Bits<4>>,
    g_slot: DFF<Bits<5>>,
    banks: Pack<8, 2, 16>,
    crossbar: QuadMux,
    bytes: [Lutram<8, 5, 1>; 4],
    beat: Pack<4, 8, 32>,
}

impl Logic for Quad {
    #[hdl_gen]
    fn update(&mut self) {
        // A beat that has entered is in `requests` in the cycle in which `newest` counts it.
        self.schedule.valid.next = self.valid.val();
        self.requests.write_enable.next = self.write.val();
        self.requests.write_address.next = self.newest.val().get_bits::<5>(0);
        self.requests.write_data.next = bit_cast::<REQUEST, 68>(self.ram.val())
            | (bit_cast::<REQUEST, 4>(self.valid.val()) << 68)
            | (bit_cast::<REQUEST, 8>(self.schedule.turns.val()) << 72)
            | (bit_cast::<REQUEST, 2>(self.schedule.last.val()) << 80);

        // The bytes whose turn it is.
        self.requests.read_address[0].next = self.next.q.val().get_bits::<5>(0);
        self.request.next = self.requests.read_data[0].val();
        self.turn_end.next = self.request.val().get_bits::<2>(80) == self.turn.q.val();
        self.active.next = 0.into();
        for k in 0..4 {
            if self.request.val().get_bit(k + 68)
                && (self.request.val().get_bits::<2>(k * 2 + 72) == self.turn.q.val())
            {
                self.active.next = self.active.val() | self.bit[k].val();
            }
            self.schedule.place[k].next = self.ram.val().get_bits::<15>(k * 17 + 2);
            self.classes.class[k].next = self.request.val().get_bits::<3>(k * 17 + 2);
            self.class_words.value[k].next = self.request.val().get_bits::<12>(k * 17 + 5);
            self.selects.parts[k].next = self.request.val().get_bits::<5>(k * 17);
        }
        self.classes.active.next = self.active.val();
        self.class_words.select.next = self.classes.chosen.val();

        // The next ones follow when all of the head have been granted.
        self.load.next = self.free.val() && (self.next.q.val() != self.newest.val());
        self.head_pending.d.next = self.left.val();
        if self.free.val() {
            self.head_words.d.next = self.class_words.whole.val();
            self.head_active.d.next = self.active.val();
            self.head_selects.d.next = self.selects.whole.val();
            self.head_slot.d.next = self.next.q.val().get_bits::<5>(0);
        }
        if self.load.val() {
            self.head_pending.d.next = self.classes.used.val();
            self.head_more.d.next = !self.turn_end.val();
            if self.turn_end.val() {
                self.turn.d.next = 0.into();
                self.next.d.next = self.next.q.val() + 1;
            } else {
                self.turn.d.next = self.turn.q.val() + 1;
            }
        }
        self.pending.next = self.head_pending.q.val();
        self.words.next = self.head_words.q.val();
        self.conflict.next =
            self.left.val().any() || (self.head_pending.q.val().any() && self.head_more.q.val());

        // A beat has been granted when the next one is at the head, or no beat.
        self.waiting.next = (self.next.q.val() == self.oldest.val())
            || (self.head_pending.q.val().any() && (self.next.q.val() == self.following.val()));

        // The age is of the cycle before, as that of the others is.
        self.next_lag.next =
            self.next.q.val().get_bits::<5>(0) - self.oldest.val().get_bits::<5>(0);
        self.head_lag.next = self.head_slot.q.val() - self.oldest.val().get_bits::<5>(0);
        self.next_age.next = 3.into();
        if !self.next_lag.val().get_bits::<3>(2).any() {
            self.next_age.next = self.next_lag.val().get_bits::<2>(0);
        }
        self.kept_age.next = 3.into();
        if !self.head_lag.val().get_bits::<3>(2).any() {
            self.kept_age.next = self.head_lag.val().get_bits::<2>(0);
        }
        self.head_age.d.next = self.kept_age.val();
        if self.free.val() {
            self.head_age.d.next = self.next_age.val();
        }
        self.age.next = self.head_age.q.val();

        // The bytes of the classes that were granted.
        self.c_granted.d.next = self.head_pending.q.val() & !self.left.val();
        self.c_active.d.next = self.head_active.q.val();
        for c in 0..8 {
            self.banks.parts[c].next = self.head_words.q.val().get_bits::<2>(c * 12);
        }
        self.c_banks.d.next = self.banks.whole.val();
        self.c_selects.d.next = self.head_selects.q.val();
        self.c_slot.d.next = self.head_slot.q.val();
        self.d_bytes.d.next = 0.into();
        for k in 0..4 {
            if self.c_active.q.val().get_bit(k)
                && self
                    .c_granted
                    .q
                    .val()
                    .get_bit(self.c_selects.q.val().get_bits::<3>(k * 5 + 2).index())
            {
                self.d_bytes.d.next = self.d_bytes.d.val() | self.bit[k].val();
            }
        }
        self.d_banks.d.next = self.c_banks.q.val();
        self.d_selects.d.next = self.c_selects.q.val();
        self.d_slot.d.next = self.c_slot.q.val();
        self.e_bytes.d.next = self.d_bytes.q.val();
        self.e_banks.d.next = self.d_banks.q.val();
        self.e_selects.d.next = self.d_selects.q.val();
        self.e_slot.d.next = self.d_slot.q.val();
        self.crossbar.data.next = self.read_data.val();
        self.crossbar.banks.next = self.e_banks.q.val();
        for k in 0..4 {
            self.crossbar.selects[k].next = self.e_selects.q.val().get_bits::<5>(k * 5);
        }
        self.f_bytes.d.next = self.e_bytes.q.val();
        self.f_slot.d.next = self.e_slot.q.val();
        self.g_bytes.d.next = self.f_bytes.q.val();
        self.g_slot.d.next = self.f_slot.q.val();

        // Bytes wait here for the rest of their beat.
        for k in 0..4 {
            self.bytes[k].write_enable.next = self.g_bytes.q.val().get_bit(k);
            self.bytes[k].write_address.next = self.g_slot.q.val();
            self.bytes[k].write_data.next = self.crossbar.result.val().get_bits::<8>(k * 8);
            self.bytes[k].read_address[0].next = self.leave.val();
            self.beat.parts[k].next = self.bytes[k].read_data[0].val();
        }
        self.data.next = self.beat.whole.val();

        if self.rst.val() {
            self.next.d.next = 0.into();
            self.turn.d.next = 0.into();
            self.head_pending.d.next = 0.into();
            self.c_granted.d.next = 0.into();
            self.d_bytes.d.next = 0.into();
            self.e_bytes.d.next = 0.into();
            self.f_bytes.d.next = 0.into();
            self.g_bytes.d.next = 0.into();
            // Registers that are reset, since shift registers would take a LUT a bit.
            self.d_banks.d.next = 0.into();
            self.d_selects.d.next = 0.into();
            self.d_slot.d.next = 0.into();
            self.f_slot.d.next = 0.into();
        }
    }
}
