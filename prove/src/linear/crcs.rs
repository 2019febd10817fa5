//! The CRC blocks against the bit-serial form: a shift register, a bit of data a step.

use drdma_hdl::primitive::{Crc32, FrameCrc32};

use super::{Bit, Linear, Netlist, State};
use crate::{design::Design, property::Mutant};

/// The polynomial of CRC-32, IEEE 802.3 section 3.2.9, lowest power in the highest bit.
const POLYNOMIAL: u32 = 0xedb8_8320;
/// Bytes that the second block is checked with: those of a header with IPv4, UDP, BTH and RETH.
const ONES: [usize; 3] = [0, 5, 18];
/// Bits of that header.
const HEADER: usize = 152;

/// The shift register after `data`, byte by byte, in each the lowest bit first.
fn serial(state: &[Bit], data: &[Bit]) -> Vec<Bit> {
    data.iter().fold(state.to_vec(), |state, bit| {
        let out = state[0].plus(bit);
        let shifted = state[1..].iter().cloned().chain([Bit::constant(false)]);
        let fed = |(i, bit): (usize, Bit)| match POLYNOMIAL >> i & 1 {
            1 => bit.plus(&out),
            _ => bit,
        };
        shifted.enumerate().map(fed).collect()
    })
}

fn ones(bits: usize) -> Vec<Bit> {
    vec![Bit::constant(true); bits]
}

fn inverse(bits: &[Bit]) -> Vec<Bit> {
    bits.iter().map(|bit| bit.plus(&Bit::constant(true))).collect()
}

fn variables(first: usize, bits: usize) -> Vec<Bit> {
    (first..first + bits).map(Bit::variable).collect()
}

fn equal(what: &str, found: &[Bit], expected: &[Bit]) -> Result<(), String> {
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        Some(bit) => Err(format!("{what}: bit {bit} is another function of the data")),
        None if found.len() == expected.len() => Ok(()),
        None => Err(format!("{what}: {} bits, not {}", found.len(), expected.len())),
    }
}

/// The state behind the next edge, with `rst` low and inputs as in `inputs`.
fn step(netlist: &Netlist, registers: &State, inputs: &State) -> Result<State, String> {
    let mut state = registers.clone();
    state.extend(inputs.clone());
    netlist.set_number(&mut state, "rst", 0)?;
    Ok(netlist.step(&state))
}

/// From any state: the CRC of data comes two cycles after them, whatever comes behind.
fn check_header(netlist: &Netlist) -> Result<(), String> {
    let data = variables(1, HEADER);
    let mut inputs = State::new();
    netlist.set(&mut inputs, "in_data", &data)?;
    netlist.set_number(&mut inputs, "in_valid", 1)?;
    let state = step(netlist, &State::new(), &inputs)?;
    let state = step(netlist, &state, &State::new())?;
    let counted: Vec<_> = (0..HEADER)
        .map(|bit| if ONES.contains(&(bit / 8)) { Bit::constant(true) } else { data[bit].clone() })
        .collect();
    let expected = inverse(&serial(&ones(32), &counted));
    equal("out_crc", &netlist.get(&state, "out_crc")?, &expected)?;
    equal("out_valid", &netlist.get(&state, "out_valid")?, &ones(1))
}

/// By induction over the beats of a packet: the first one's state, a beat's step, and the end.
fn check_frame(netlist: &Netlist) -> Result<(), String> {
    // After a reset the next beat is a packet's first.
    let mut reset = State::new();
    netlist.set_number(&mut reset, "rst", 1)?;
    let state = netlist.step(&reset);
    equal("`first` after a reset", &netlist.get(&state, "first")?, &ones(1))?;
    equal(
        "`out_valid` after a reset",
        &netlist.get(&state, "out_valid")?,
        &[Bit::constant(false)],
    )?;
    let (before, data) = (variables(1, 32), variables(33, 512));
    for first in [0, 1] {
        let from = if first == 1 { ones(32) } else { before.clone() };
        let mut registers = State::new();
        netlist.set(&mut registers, "state", &before)?;
        netlist.set_number(&mut registers, "first", first)?;
        // Nothing comes: nothing changes.
        let mut inputs = State::new();
        netlist.set_number(&mut inputs, "in_valid", 0)?;
        let idle = step(netlist, &registers, &inputs)?;
        equal("`state` without a beat", &netlist.get(&idle, "state")?, &before)?;
        let kept = [Bit::constant(first == 1)];
        equal("`first` without a beat", &netlist.get(&idle, "first")?, &kept)?;
        for last in [0, 1] {
            let mut inputs = State::new();
            netlist.set_number(&mut inputs, "in_valid", 1)?;
            netlist.set_number(&mut inputs, "in_last", last)?;
            netlist.set(&mut inputs, "in_data", &data)?;
            let next = step(netlist, &registers, &inputs)?;
            equal("`state` after a beat", &netlist.get(&next, "state")?, &serial(&from, &data))?;
            let ends = [Bit::constant(last == 1)];
            equal("`first` after a beat", &netlist.get(&next, "first")?, &ends)?;
        }
        for count in (2..=62).step_by(4) {
            let (there, behind) = data.split_at(8 * count);
            let mut padded = there.to_vec();
            padded.extend(behind.iter().map(|_| Bit::constant(false)));
            let mut inputs = State::new();
            netlist.set_number(&mut inputs, "in_valid", 1)?;
            netlist.set_number(&mut inputs, "in_last", 1)?;
            netlist.set_number(&mut inputs, "in_count", count as u64)?;
            netlist.set(&mut inputs, "in_data", &padded)?;
            let mut state = step(netlist, &registers, &inputs)?;
            // Whatever comes behind it.
            for _ in 0..2 {
                state = step(netlist, &state, &State::new())?;
            }
            let expected = inverse(&serial(&from, there));
            let what = format!("out_crc of {count} bytes");
            equal(&what, &netlist.get(&state, "out_crc")?, &expected)?;
            equal("out_valid", &netlist.get(&state, "out_valid")?, &ones(1))?;
        }
    }
    // Without a packet's end there is no CRC.
    for (valid, last) in [(0, None), (1, Some(0))] {
        let mut inputs = State::new();
        netlist.set_number(&mut inputs, "in_valid", valid)?;
        if let Some(last) = last {
            netlist.set_number(&mut inputs, "in_last", last)?;
        }
        let mut state = step(netlist, &State::new(), &inputs)?;
        for _ in 0..2 {
            state = step(netlist, &state, &State::new())?;
        }
        let none = [Bit::constant(false)];
        equal("out_valid without an end", &netlist.get(&state, "out_valid")?, &none)?;
    }
    Ok(())
}

fn mutant(design: &Design, name: &str, from: &str, to: &str) -> Mutant {
    Mutant {
        name: name.to_owned(),
        module: design.top.clone(),
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

/// The CRC blocks.
pub fn all() -> Vec<Linear> {
    let header = crate::catalogue::design("crc32", || Crc32::<HEADER>::new(&ONES));
    let frame = crate::catalogue::design("frame_crc32", FrameCrc32::default);
    let text = frame.module("frame_crc32").unwrap_or_default();
    // One of the 512 bits of data in one of the 32 sums.
    let at = text.find("^(in_data & 512'h").map_or(0, |at| at + "^(in_data & 512'h".len());
    let digits = &text[at..at + 128];
    let turned = match digits.strip_prefix('0') {
        Some(rest) => format!("1{rest}"),
        None => format!("0{}", &digits[1..]),
    };
    vec![
        Linear {
            block: format!("primitive/Crc32, {HEADER} bits, 3 bytes as ones"),
            name: "serial".to_owned(),
            claim: "from any state, the CRC two cycles behind the data is that of a bit-serial shift register".to_owned(),
            check: check_header,
            mutants: vec![
                mutant(&header, "a part of the sum is left out", "part0 ^ part1", "part0"),
                mutant(&header, "the CRC comes with any data", "if (valid1) sum", "if (in_valid) sum"),
            ],
            design: header,
        },
        Linear {
            block: "primitive/FrameCrc32".to_owned(),
            name: "serial".to_owned(),
            claim: "for packets of any number of beats and any end of 2, 6, ... 62 bytes, by induction over the beats, the \
                    CRC three cycles behind the last beat is that of a bit-serial shift register over the packet's bytes; \
                    there is none without an end"
                .to_owned(),
            check: check_frame,
            mutants: vec![
                mutant(&frame, "a bit of data counts wrongly in a bit of the CRC", digits, &turned),
                mutant(&frame, "four bytes too few are taken back", "4'd15 - in_count[5:2]", "4'd14 - in_count[5:2]"),
                mutant(&frame, "a packet begins with the state of the one before", "first <= in_last;", "first <= 1'b0;"),
                mutant(&frame, "every beat has a CRC", "valid2 <= valid1 && last1;", "valid2 <= valid1;"),
            ],
            design: frame,
        },
    ]
}
