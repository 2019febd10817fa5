//! Who has to wait where several want different rows of a bank.

use array_init::array_init;
use rust_hdl_core::prelude::*;

/// Compares `N` requests, each for a place of `B` bits of bank and `R` bits of row (`P` = `B` + `R`,
/// the bank lowest), with each other. Of two that want the same bank in different rows the younger
/// loses, or the later one in the order of the ports if they are of the same age.
///
/// `age` counts up modulo 2^`A`: the smaller is the older, and two of them are less than half of
/// that apart.
///
/// Combinational: all pairs at once.
///
/// # Inputs
/// `valid`, `place`, `age`.
///
/// # Outputs
/// `lose`: requests that cannot be served now. Of those that are not valid it tells nothing.
#[derive(LogicBlock)]
pub struct Clashes<const N: usize, const B: usize, const R: usize, const P: usize, const A: usize> {
    /// The requests there are.
    pub valid: Signal<In, Bits<N>>,
    /// What they want.
    pub place: [Signal<In, Bits<P>>; N],
    /// When they came.
    pub age: [Signal<In, Bits<A>>; N],
    /// Those that wait.
    pub lose: Signal<Out, Bits<N>>,
}

impl<const N: usize, const B: usize, const R: usize, const P: usize, const A: usize> Default
    for Clashes<N, B, R, P, A>
{
    fn default() -> Self {
        assert_eq!(P, B + R, "Clashes: {B} bits of bank and {R} of row are not {P}");
        Self {
            valid: Signal::default(),
            place: array_init(|_| Signal::default()),
            age: array_init(|_| Signal::default()),
            lose: Signal::default(),
        }
    }
}

impl<const N: usize, const B: usize, const R: usize, const P: usize, const A: usize> Logic
    for Clashes<N, B, R, P, A>
{
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.lose.connect();
    }

    fn hdl(&self) -> Verilog {
        // Nested conditions, the rarest outermost: a simulator skips what they rule out.
        let (mut ages, mut steps) = (String::new(), String::new());
        for p in 1..N {
            steps.push_str(&format!("        if (valid[{p}]) begin\n"));
            for q in 0..p {
                // The lower bits of a difference are of no interest.
                ages.push_str(&format!("    wire [{}:0] d{p}_{q} = age${p} - age${q};\n", A - 1));
                steps.push_str(&format!(
                    "            if (place${p}[{b}:0] == place${q}[{b}:0]) begin
                if (valid[{q}] && place${p}[{r}:{B}] != place${q}[{r}:{B}]) begin
                    if (d{p}_{q}[{a}]) lose[{q}] = 1'b1;
                    else lose[{p}] = 1'b1;
                end
            end\n",
                    b = B - 1,
                    r = P - 1,
                    a = A - 1
                ));
            }
            steps.push_str("        end\n");
        }
        Verilog::Custom(format!(
            "    /* verilator lint_off UNUSEDSIGNAL */\n{ages}    /* verilator lint_on UNUSEDSIGNAL */
    always @(*) begin
        lose = {N}'d0;\n{steps}    end"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn the_younger_of_two_rows_of_a_bank_loses() {
        let library = testing::library("clashes", Clashes::<6, 2, 3, 5, 4>::default);
        let mut model = library.instance(1);
        let mut random = Random::new(1);
        let mut losers = 0;
        for _ in 0..5000 {
            let (valid, oldest) = (random.below(64), random.below(16));
            let requests: Vec<_> =
                (0..6).map(|_| (random.below(4), random.below(3), random.below(8))).collect();
            model.set("valid", valid);
            for (k, &(bank, row, age)) in requests.iter().enumerate() {
                model.set(format!("place_{k}"), row << 2 | bank);
                model.set(format!("age_{k}"), (oldest + age) % 16);
            }
            model.eval();
            let lose = model.get("lose");
            for (k, &(bank, row, age)) in requests.iter().enumerate() {
                if valid >> k & 1 == 0 {
                    continue;
                }
                let beaten = requests.iter().enumerate().any(|(other, &(b, r, a))| {
                    valid >> other & 1 == 1 && b == bank && r != row && (a, other) < (age, k)
                });
                assert_eq!(lose >> k & 1 == 1, beaten, "{requests:?}, {valid:06b}, {k}");
                losers += u64::from(beaten);
            }
        }
        assert!(losers > 1000);
    }

    #[test]
    #[should_panic(expected = "2 bits of bank and 3 of row are not 6")]
    fn widths_are_checked() {
        let _ = Clashes::<4, 2, 3, 6, 4>::default();
    }
}
