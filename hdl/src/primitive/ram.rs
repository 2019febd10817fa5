//! A memory with one write port, one read port and registered reads.

use drdma_emit::prelude::*;

/// Largest depth of a FIFO that is made of lookup tables by default.
const DISTRIBUTED_DEPTH: usize = 64;
/// Least number of bits of a FIFO that is made of UltraRAM by default.
const ULTRA_BITS: usize = 1 << 20;

/// Kind of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RamStyle {
    /// Block RAM.
    #[default]
    Block,
    /// UltraRAM.
    Ultra,
    /// Lookup tables.
    Distributed,
}

impl RamStyle {
    /// The value of Vivado's `ram_style` attribute.
    pub fn attribute(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Ultra => "ultra",
            Self::Distributed => "distributed",
        }
    }

    /// The kind that suits a FIFO of `depth` beats of `width` bits.
    pub(super) fn for_fifo(width: usize, depth: usize) -> Self {
        match () {
            () if depth <= DISTRIBUTED_DEPTH => Self::Distributed,
            () if width * depth >= ULTRA_BITS => Self::Ultra,
            () => Self::Block,
        }
    }
}

/// A memory of 2^`A` words of `D` bits in `L` lanes; `L` divides `D`. With `L` = `D` / 8 the
/// lanes are bytes.
///
/// A write takes effect at the end of its cycle. A read delivers in the next cycle, and its word holds while
/// `read_enable` is low. A read of the address that is being written delivers the old word. The contents are undefined
/// until written.
///
/// # Inputs
/// `clk`; `write_lanes` (one bit per lane), `write_address`, `write_data`; `read_enable`,
/// `read_address`.
///
/// # Outputs
/// `read_data`.
#[derive(LogicBlock)]
pub struct Ram<const D: usize, const L: usize, const A: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Lanes that are written, one bit each.
    pub write_lanes: Signal<In, Bits<L>>,
    /// Address of the word that is written.
    pub write_address: Signal<In, Bits<A>>,
    /// Value that is written.
    pub write_data: Signal<In, Bits<D>>,
    /// A word is read in this cycle.
    pub read_enable: Signal<In, Bit>,
    /// Address of the word that is read.
    pub read_address: Signal<In, Bits<A>>,
    /// The word that was read last.
    pub read_data: Signal<Out, Bits<D>>,
    _style: RamStyle,
}

impl<const D: usize, const L: usize, const A: usize> Default for Ram<D, L, A> {
    fn default() -> Self {
        Self::new(RamStyle::default())
    }
}

impl<const D: usize, const L: usize, const A: usize> Ram<D, L, A> {
    /// A memory made of `style`.
    ///
    /// # Panics
    /// `L` does not divide `D`.
    pub fn new(style: RamStyle) -> Self {
        assert_eq!(D % L, 0, "Ram: {L} lanes do not divide {D} bits");
        Self {
            clk: Signal::default(),
            write_lanes: Signal::default(),
            write_address: Signal::default(),
            write_data: Signal::default(),
            read_enable: Signal::default(),
            read_address: Signal::default(),
            read_data: Signal::default(),
            _style: style,
        }
    }
}

impl<const D: usize, const L: usize, const A: usize> Logic for Ram<D, L, A> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let (style, depth, lane) = (self._style.attribute(), 1_usize << A, D / L);
        let write = if L == 1 {
            "        if (write_lanes) memory[write_address] <= write_data;".to_owned()
        } else {
            format!(
                "        for (lane = 0; lane < {L}; lane = lane + 1)
            if (write_lanes[lane])
                memory[write_address][lane * {lane} +: {lane}] <= write_data[lane * {lane} +: {lane}];"
            )
        };
        let variable = if L == 1 { "" } else { "    integer lane;\n" };
        Verilog::Custom(format!(
            "    (* ram_style = \"{style}\" *) reg [{}:0] memory [0:{}];
{variable}    always @(posedge clk) begin
{write}
    end
    always @(posedge clk) begin
        if (read_enable) read_data <= memory[read_address];
    end",
            D - 1,
            depth - 1
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Word;
    use drdma_verilated::testbench::Random;

    fn check<const D: usize, const L: usize, const A: usize>(name: &str) {
        let mut model = testing::library(name, Ram::<D, L, A>::default).instance(1);
        let mut random = Random::new(1);
        let mut memory = vec![Word::zero(); 1 << A];
        for (address, word) in memory.iter_mut().enumerate() {
            *word = random.word(D);
            model.set("write_address", address as u64);
            model.set_word("write_data", word);
            model.set_word("write_lanes", &Word::from(u128::MAX).bits(0, L));
            model.cycle();
        }
        let mut expected = None;
        for _ in 0..2000 {
            let (write, data) = (random.below(1 << A) as usize, random.word(D));
            let lanes = random.word(L);
            let read = if random.chance(0.3) { write } else { random.below(1 << A) as usize };
            let enable = random.chance(0.7);
            model.set("write_address", write as u64);
            model.set_word("write_data", &data);
            model.set_word("write_lanes", &lanes);
            model.set("read_address", read as u64);
            model.set("read_enable", enable.into());
            model.cycle();
            if enable {
                expected = Some(memory[read].clone());
            }
            for lane in (0..L).filter(|&lane| lanes.bit(lane)) {
                let part = data.bits(lane * D / L, D / L);
                memory[write].set_bits(lane * D / L, D / L, &part);
            }
            if let Some(expected) = &expected {
                assert_eq!(&model.get_word("read_data"), expected);
            }
        }
    }

    #[test]
    fn reads_deliver_the_old_word_one_cycle_later() {
        check::<64, 8, 4>("ram_bytes");
        check::<40, 1, 5>("ram_words");
        check::<512, 64, 3>("ram_wide");
    }
}
