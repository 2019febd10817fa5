//! Which fragments of a beat cannot be read in the same cycle.

use array_init::array_init;
use rust_hdl_core::prelude::*;

/// For every fragment the banks that it needs, and the earlier fragments that need one of them in
/// another row.
///
/// Combinational. A fragment of up to 64 B covers up to 17 words, so never a bank twice. Seen from
/// fragment `m`, fragment `l` starts `distance` words further: `e` banks and `q` rows. They meet in
/// the rows of `m` if `e` is less than the words of `m`, and in the next rows if `e` plus the words
/// of `l` passes 32; that is a clash unless it is the same row, `q` = 0 or `q` = -1.
///
/// # Inputs
/// `ram`: 16 byte addresses; `len`: 16 lengths.
///
/// # Outputs
/// `used`: fragments whose length is not 0. `cover[l]`: banks in the fragment's first row (bits 0 to
/// 31) and in the row after it (32 to 63). `clash[l]`: the fragments before `l` that it clashes with.
#[derive(LogicBlock)]
pub struct Clash {
    /// Byte addresses.
    pub ram: Signal<In, Bits<272>>,
    /// Lengths.
    pub len: Signal<In, Bits<112>>,
    /// Fragments in use.
    pub used: Signal<Out, Bits<16>>,
    /// Banks that are needed.
    pub cover: [Signal<Out, Bits<64>>; 16],
    /// Earlier fragments in the way.
    pub clash: [Signal<Out, Bits<16>>; 16],
    word: [Signal<Local, Bits<15>>; 16],
    words: [Signal<Local, Bits<6>>; 16],
    thermometer: [Signal<Local, Bits<64>>; 16],
    distance: [Signal<Local, Bits<15>>; 256],
    banks: [Signal<Local, Bits<6>>; 256],
    reach: [Signal<Local, Bits<6>>; 256],
    lens: Signal<Local, Bits<113>>,
    meet: [Signal<Local, Bit>; 256],
    one: [Constant<Bits<16>>; 16],
    ones: Constant<Bits<64>>,
}

impl Default for Clash {
    fn default() -> Self {
        Self {
            ram: Signal::default(),
            len: Signal::default(),
            used: Signal::default(),
            cover: array_init(|_| Signal::default()),
            clash: array_init(|_| Signal::default()),
            word: array_init(|_| Signal::default()),
            words: array_init(|_| Signal::default()),
            thermometer: array_init(|_| Signal::default()),
            distance: array_init(|_| Signal::default()),
            banks: array_init(|_| Signal::default()),
            reach: array_init(|_| Signal::default()),
            lens: Signal::default(),
            meet: array_init(|_| Signal::default()),
            one: array_init(|k| Constant::new((1_u16 << k).to_bits())),
            ones: Constant::new(u64::MAX.to_bits()),
        }
    }
}

impl Logic for Clash {
    #[hdl_gen]
    fn update(&mut self) {
        // With a bit to spare, so that every length can be read one bit wider.
        self.lens.next = bit_cast::<113, 112>(self.len.val());
        self.used.next = 0.into();
        for l in 0..16 {
            if self.len.val().get_bits::<7>(l * 7).any() {
                self.used.next = self.used.val() | self.one[l].val();
            }
        }
        for l in 0..16 {
            self.word[l].next = self.ram.val().get_bits::<15>((l * 17) + 2);
            // Words: from the first byte's word to the last byte's.
            self.words[l].next = ((self.lens.val().get_bits::<8>(l * 7) & 0x7f)
                + (self.ram.val().get_bits::<8>(l * 17) & 0x03)
                + 3)
            .get_bits::<6>(2);
            self.thermometer[l].next = !(self.ones.val() << self.words[l].val());
            self.cover[l].next = self.thermometer[l].val() << self.word[l].val().get_bits::<5>(0);
        }
        for l in 0..16 {
            for m in 0..16 {
                self.distance[(l * 16) + m].next = self.word[l].val() - self.word[m].val();
                self.banks[(l * 16) + m].next =
                    self.distance[(l * 16) + m].val().get_bits::<6>(0) & 0x1f;
                self.reach[(l * 16) + m].next =
                    self.banks[(l * 16) + m].val() + self.words[l].val();
                self.meet[(l * 16) + m].next = ((self.banks[(l * 16) + m].val()
                    < self.words[m].val())
                    && (self.distance[(l * 16) + m].val().get_bits::<10>(5) != 0))
                    || ((self.reach[(l * 16) + m].val() > 32)
                        && (self.distance[(l * 16) + m].val().get_bits::<10>(5) != 0x3ff));
            }
        }
        for l in 0..16 {
            self.clash[l].next = 0.into();
            for m in 0..16 {
                if l > m {
                    if self.meet[(l * 16) + m].val() && self.len.val().get_bits::<7>(m * 7).any() {
                        self.clash[l].next = self.clash[l].val() | self.one[m].val();
                    }
                }
            }
        }
    }
}
