//! Counterexamples that can be read.

use std::{collections::BTreeMap, fs, path::Path};

use crate::{
    property::Property,
    tools::{Outcome, ToolError, run},
};

/// Columns of a trace that are shown, at most: the last ones before the failure.
const CYCLES: usize = 24;

/// Replays abc's counterexample in yosys' simulator, which checks it again, and makes a table of it.
pub(crate) fn replay(property: &Property, cycle: u32, folder: &Path) -> Result<Outcome, ToolError> {
    let replay =
        "read_rtlil flat.il; sim -map model.aim -r trace.aiw -vcd trace.vcd -clock clk prove";
    let said = run("yosys", &["-p", replay], folder)?;
    if !said.contains(" failed.") {
        let output = "abc's counterexample does not fail in yosys' simulator".to_owned();
        let (program, folder) = ("yosys".to_owned(), folder.to_path_buf());
        return Err(ToolError::Failed { program, folder, output });
    }
    let vcd = folder.join("trace.vcd");
    let text =
        fs::read_to_string(&vcd).map_err(|source| ToolError::File { path: vcd.clone(), source })?;
    let mut names: Vec<_> = property.design.ports.iter().map(|p| p.name.clone()).collect();
    names.extend(property.free.iter().map(|(name, _)| name.clone()));
    Ok(Outcome::Fails { cycle, trace: table(&text, &names, cycle as usize + 1), vcd })
}

/// A table of the signals of module `prove` in a waveform, a column a cycle: first `ports`, then what
/// the harness declares. Signals that are always 0 are left out.
fn table(vcd: &str, ports: &[String], cycles: usize) -> String {
    let samples = samples(vcd);
    let first = cycles.saturating_sub(CYCLES);
    let place = |name: &str| ports.iter().position(|port| port == name).unwrap_or(ports.len());
    let mut rows: Vec<_> = samples
        .iter()
        .filter(|(name, _)| *name != "clk")
        .map(|(name, changes)| {
            let at = |cycle: usize| {
                let time = 10 * cycle as u64;
                let before = changes.iter().rev().find(|(at, _)| *at <= time);
                before.map_or_else(|| "x".to_owned(), |(_, value)| hex(value))
            };
            (name.as_str(), (first..cycles).map(at).collect::<Vec<_>>())
        })
        .filter(|(_, values)| values.iter().any(|value| value != "0"))
        .collect();
    rows.sort_by(|a, b| (place(a.0), a.0).cmp(&(place(b.0), b.0)));
    let head = (first..cycles).map(|cycle| cycle.to_string()).collect();
    rows.insert(0, ("cycle", head));
    let label = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..cycles - first)
        .map(|k| rows.iter().map(|(_, values)| values[k].len()).max().unwrap_or(0))
        .collect();
    let line = |(name, values): &(&str, Vec<String>)| {
        let cells = values.iter().zip(&widths).map(|(value, width)| format!(" {value:>width$}"));
        format!("  {name:<label$} {}\n", cells.collect::<String>())
    };
    rows.iter().map(line).collect()
}

/// The changes, (time, bits), of the signals that are directly in the outermost scope.
fn samples(vcd: &str) -> BTreeMap<String, Vec<(u64, String)>> {
    let (mut depth, mut time) = (0, 0);
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut samples: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
    for line in vcd.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        match words.as_slice() {
            ["$scope", ..] => depth += 1,
            ["$upscope", ..] => depth -= 1,
            ["$var", _, _, id, name, ..] => {
                let inner = name.contains('.') || name.starts_with('$') || name.starts_with('\\');
                if depth == 1 && !inner {
                    names.entry((*id).to_owned()).or_default().push((*name).to_owned());
                }
            }
            [word] if word.starts_with('#') => time = word[1..].parse().unwrap_or(time),
            [value, id] if value.starts_with('b') => {
                for name in names.get(*id).into_iter().flatten() {
                    samples.entry(name.clone()).or_default().push((time, value[1..].to_owned()));
                }
            }
            [word] if word.starts_with(['0', '1', 'x', 'z']) => {
                for name in names.get(&word[1..]).into_iter().flatten() {
                    samples.entry(name.clone()).or_default().push((time, word[..1].to_owned()));
                }
            }
            _ => {}
        }
    }
    samples
}

/// Bits in hexadecimal digits, without leading zeros; a digit with an unknown bit is `x`.
fn hex(bits: &str) -> String {
    let padded = format!("{}{bits}", "0".repeat((4 - bits.len() % 4) % 4));
    let digit = |nibble: &[u8]| {
        let nibble = std::str::from_utf8(nibble).unwrap_or("x");
        u8::from_str_radix(nibble, 2).map_or_else(|_| "x".to_owned(), |v| format!("{v:x}"))
    };
    let digits: String = padded.as_bytes().chunks(4).map(digit).collect();
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VCD: &str = "$scope module prove $end\n$var wire 1 n1 clk $end\n$var wire 8 n2 data $end
$var wire 1 n3 valid $end\n$var wire 1 n4 dut.inner $end\n$var wire 1 n5 quiet $end\n$upscope $end
#0\nb00000000 n2\nb1 n3\nb0 n5\nb1 n1\n#5\nb0 n1\n#10\nb11111010 n2\n1n3\nb1 n1\n";

    #[test]
    fn a_trace_has_a_row_a_signal_and_a_column_a_cycle() {
        let ports = ["valid".to_owned(), "data".to_owned()];
        let expected = "  cycle  0  1\n  valid  1  1\n  data   0 fa\n";
        assert_eq!(table(VCD, &ports, 2), expected);
    }

    #[test]
    fn digits_with_unknown_bits_are_x() {
        assert_eq!([hex("1010"), hex("00x0"), hex("0"), hex("10000")], ["a", "x", "0", "10"]);
    }
}
