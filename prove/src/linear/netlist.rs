//! A netlist of gates, evaluated with sums of variables.

use std::{cell::RefCell, collections::BTreeMap};

use serde_json::Value;

/// A signal: a sum of variables modulo 2, and perhaps 1 (variable 0); or unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bit {
    /// Sum of variables, a bit for each.
    Sum(Vec<u64>),
    /// Value of which nothing is known.
    Unknown,
}

impl Bit {
    /// The constant 0 or 1.
    pub fn constant(value: bool) -> Self {
        if value { Self::Sum(vec![1]) } else { Self::Sum(Vec::new()) }
    }

    /// Variable `number`, from 1 on.
    pub fn variable(number: usize) -> Self {
        let mut words = vec![0; number / 64 + 1];
        words[number / 64] = 1 << (number % 64);
        Self::Sum(words)
    }

    /// The sum of both signals.
    pub fn plus(&self, other: &Self) -> Self {
        let (Self::Sum(a), Self::Sum(b)) = (self, other) else { return Self::Unknown };
        let word = |words: &[u64], i: usize| words.get(i).copied().unwrap_or(0);
        let mut sum: Vec<_> = (0..a.len().max(b.len())).map(|i| word(a, i) ^ word(b, i)).collect();
        while sum.last() == Some(&0) {
            sum.pop();
        }
        Self::Sum(sum)
    }

    /// The value, if the signal is a constant.
    pub fn value(&self) -> Option<bool> {
        match self {
            Self::Sum(words) if words.is_empty() => Some(false),
            Self::Sum(words) if *words == [1] => Some(true),
            _ => None,
        }
    }

    fn and(&self, other: &Self) -> Self {
        match (self.value(), other.value()) {
            (Some(false), _) | (_, Some(false)) => Self::constant(false),
            (Some(true), _) => other.clone(),
            (_, Some(true)) => self.clone(),
            _ if self == other => self.clone(),
            _ => Self::Unknown,
        }
    }

    fn not(&self) -> Self {
        self.plus(&Self::constant(true))
    }

    fn or(&self, other: &Self) -> Self {
        self.not().and(&other.not()).not()
    }

    /// The signal `a`, or `b` if `choice` is 1.
    fn mux(a: &Self, b: &Self, choice: &Self) -> Self {
        match choice.value() {
            Some(false) => a.clone(),
            Some(true) => b.clone(),
            None if a == b => a.clone(),
            None => Self::Unknown,
        }
    }
}

/// Driver of a net.
#[derive(Clone, Debug)]
enum Driver {
    Input,
    Register(usize),
    Gate(String, Vec<usize>),
}

/// The gates and registers of a module.
#[derive(Clone, Debug)]
pub struct Netlist {
    drivers: BTreeMap<usize, Driver>,
    /// Names of signals and their bits; constants are nets 0 and 1.
    names: BTreeMap<String, Vec<usize>>,
}

/// Values of registers and inputs, by net; nets that are not in it are unknown.
pub type State = BTreeMap<usize, Bit>;

impl Netlist {
    /// Reads module `top` of a file of yosys' `write_json`.
    ///
    /// # Errors
    /// The text is no such file, or has a cell that is neither a gate nor a register.
    pub fn read(text: &str, top: &str) -> Result<Self, String> {
        let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let module = &json["modules"][top];
        let bits = |value: &Value| -> Vec<usize> {
            let bit = |bit: &Value| match bit.as_str() {
                Some(constant) => usize::from(constant == "1"),
                None => bit.as_u64().unwrap_or(0) as usize,
            };
            value.as_array().into_iter().flatten().map(bit).collect()
        };
        let objects = |value: &'_ Value| value.as_object().cloned().unwrap_or_default();
        let mut drivers = BTreeMap::new();
        let mut names = BTreeMap::new();
        for (name, port) in objects(&module["ports"]) {
            if port["direction"] == "input" {
                drivers.extend(bits(&port["bits"]).into_iter().map(|bit| (bit, Driver::Input)));
            }
            names.insert(name, bits(&port["bits"]));
        }
        for (name, net) in objects(&module["netnames"]) {
            names.insert(name, bits(&net["bits"]));
        }
        for (name, cell) in objects(&module["cells"]) {
            let kind = cell["type"].as_str().unwrap_or_default();
            let pin = |pin: &str| bits(&cell["connections"][pin]).first().copied();
            let pins = |pins: &[&str]| pins.iter().filter_map(|p| pin(p)).collect::<Vec<_>>();
            let (output, driver) = match kind {
                "$_DFF_P_" => ("Q", pin("D").map(Driver::Register)),
                "$_NOT_" => ("Y", Some(Driver::Gate(kind.to_owned(), pins(&["A"])))),
                "$_MUX_" => ("Y", Some(Driver::Gate(kind.to_owned(), pins(&["A", "B", "S"])))),
                "$_AND_" | "$_NAND_" | "$_OR_" | "$_NOR_" | "$_XOR_" | "$_XNOR_" | "$_ANDNOT_"
                | "$_ORNOT_" => ("Y", Some(Driver::Gate(kind.to_owned(), pins(&["A", "B"])))),
                _ => return Err(format!("cell {name}: no rule for {kind}")),
            };
            let (Some(net), Some(driver)) = (pin(output), driver) else {
                return Err(format!("cell {name}: a {kind} without its pins"));
            };
            drivers.insert(net, driver);
        }
        Ok(Self { drivers, names })
    }

    /// The nets of signal `name`, lowest bit first.
    ///
    /// # Errors
    /// There is no such signal.
    pub fn nets(&self, name: &str) -> Result<&[usize], String> {
        let nets = self.names.get(name).ok_or_else(|| format!("there is no signal {name}"))?;
        Ok(nets)
    }

    /// Sets the bits of signal `name`; values of bits that are constants are ignored.
    ///
    /// # Errors
    /// There is no such signal.
    pub fn set(&self, state: &mut State, name: &str, bits: &[Bit]) -> Result<(), String> {
        state.extend(self.nets(name)?.iter().copied().zip(bits.iter().cloned()));
        Ok(())
    }

    /// Sets signal `name` to a number.
    ///
    /// # Errors
    /// There is no such signal.
    pub fn set_number(&self, state: &mut State, name: &str, number: u64) -> Result<(), String> {
        let bits: Vec<_> = (0..64).map(|i| Bit::constant(number >> i & 1 == 1)).collect();
        self.set(state, name, &bits)
    }

    /// The bits of signal `name`, given values of registers and inputs.
    ///
    /// # Errors
    /// There is no such signal.
    pub fn get(&self, state: &State, name: &str) -> Result<Vec<Bit>, String> {
        let known = RefCell::new(state.clone());
        Ok(self.nets(name)?.iter().map(|net| self.evaluate(*net, &known)).collect())
    }

    /// The values of the registers after the next edge of the clock.
    pub fn step(&self, state: &State) -> State {
        let known = RefCell::new(state.clone());
        let next = |(net, driver): (&usize, &Driver)| match driver {
            Driver::Register(d) => Some((*net, self.evaluate(*d, &known))),
            _ => None,
        };
        self.drivers.iter().filter_map(next).collect()
    }

    fn evaluate(&self, net: usize, known: &RefCell<State>) -> Bit {
        if net < 2 {
            return Bit::constant(net == 1);
        }
        if let Some(bit) = known.borrow().get(&net) {
            return bit.clone();
        }
        let bit = match self.drivers.get(&net) {
            Some(Driver::Gate(kind, pins)) => {
                let pins: Vec<_> = pins.iter().map(|pin| self.evaluate(*pin, known)).collect();
                match kind.as_str() {
                    "$_NOT_" => pins[0].not(),
                    "$_AND_" => pins[0].and(&pins[1]),
                    "$_NAND_" => pins[0].and(&pins[1]).not(),
                    "$_OR_" => pins[0].or(&pins[1]),
                    "$_NOR_" => pins[0].or(&pins[1]).not(),
                    "$_XOR_" => pins[0].plus(&pins[1]),
                    "$_XNOR_" => pins[0].plus(&pins[1]).not(),
                    "$_ANDNOT_" => pins[0].and(&pins[1].not()),
                    "$_ORNOT_" => pins[0].or(&pins[1].not()),
                    _ => Bit::mux(&pins[0], &pins[1], &pins[2]),
                }
            }
            _ => Bit::Unknown,
        };
        known.borrow_mut().insert(net, bit.clone());
        bit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_equal_if_their_summands_are() {
        let (a, b) = (Bit::variable(1), Bit::variable(100));
        assert_eq!(a.plus(&b).plus(&a), b);
        assert_eq!(a.plus(&a).value(), Some(false));
        assert_eq!(a.plus(&a).not().value(), Some(true));
        assert_eq!(a.plus(&b).value(), None);
    }

    #[test]
    fn what_is_no_sum_is_unknown() {
        let (a, b) = (Bit::variable(1), Bit::variable(2));
        assert_eq!(a.and(&b), Bit::Unknown);
        assert_eq!(a.and(&Bit::constant(true)), a);
        assert_eq!(a.or(&Bit::constant(true)).value(), Some(true));
        assert_eq!(Bit::mux(&a, &b, &Bit::Unknown), Bit::Unknown);
        assert_eq!(Bit::mux(&a, &a, &Bit::Unknown), a);
        assert_eq!(Bit::mux(&a, &b, &Bit::constant(true)), b);
        assert_eq!(Bit::Unknown.and(&Bit::constant(false)).value(), Some(false));
    }

    #[test]
    fn a_cell_without_a_rule_is_named() {
        let text = r#"{"modules": {"t": {"cells": {"c": {"type": "$mem", "connections": {}}}}}}"#;
        let error = Netlist::read(text, "t").expect_err("no rule");
        assert_eq!(error, "cell c: no rule for $mem");
    }
}
