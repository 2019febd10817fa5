//! What a model counts.

use std::fmt::Write;

/// What a point counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// How often some lines run.
    Lines,
    /// How often a bit changes.
    Toggle,
}

/// Something that a model counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The number of its counter.
    pub number: usize,
    /// What it counts.
    pub kind: Kind,
    /// The file of the Verilog.
    pub file: String,
    /// The line on which the signal is declared, or the process, the branch or the case begins.
    pub line: usize,
    /// The signal and the bit; `if`, `else`, `case` or `block`.
    pub what: String,
    /// The lines that run together.
    pub lines: Vec<usize>,
}

/// The call by which Verilator's C++ names a point.
const CALL: &str = "__vlCoverInsert(&(vlSymsp->__Vcoverage[";

/// The points that the C++ names.
pub(super) fn of_cpp(text: &str) -> Vec<Point> {
    // A call may be broken into several lines.
    text.split(CALL).skip(1).filter_map(point).collect()
}

/// `27]), first, "t.v", 19, 4, ".t", "v_line/t", "case", "19-20");`
fn point(call: &str) -> Option<Point> {
    let (number, rest) = call.split_once("])")?;
    let (file, rest) = string(rest)?;
    let line = rest.split(',').nth(1)?.trim();
    let (_, rest) = string(rest)?;
    let (page, rest) = string(rest)?;
    let (what, rest) = string(rest)?;
    let (lines, _) = string(rest)?;
    let kind = match page.split('/').next()? {
        "v_toggle" => Kind::Toggle,
        "v_line" | "v_branch" => Kind::Lines,
        _ => return None,
    };
    Some(Point {
        number: number.trim().parse().ok()?,
        kind,
        file: file.rsplit('/').next().unwrap_or(file).to_owned(),
        line: line.parse().ok()?,
        what: what.to_owned(),
        lines: ranges(lines),
    })
}

/// The next string of a call, and what follows it. No name in it has quotes.
fn string(text: &str) -> Option<(&str, &str)> {
    text.split_once('"')?.1.split_once('"')
}

/// The numbers that `6-8,12` means.
fn ranges(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// The points as text.
pub(super) fn write(points: &[Point]) -> String {
    let mut text = String::new();
    for Point { number, kind, file, line, what, lines } in points {
        let kind = match kind {
            Kind::Lines => "lines",
            Kind::Toggle => "toggle",
        };
        let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
        let lines = lines.join(",");
        let _ = writeln!(text, "{number}\t{kind}\t{file}\t{line}\t{what}\t{lines}");
    }
    text
}

/// What [`write`] wrote; `None` if it is something else.
pub(super) fn read(text: &str) -> Option<Vec<Point>> {
    let read = |line: &str| {
        let mut parts = line.split('\t');
        let point = Point {
            number: parts.next()?.parse().ok()?,
            kind: match parts.next()? {
                "lines" => Kind::Lines,
                "toggle" => Kind::Toggle,
                _ => return None,
            },
            file: parts.next()?.to_owned(),
            line: parts.next()?.parse().ok()?,
            what: parts.next()?.to_owned(),
            lines: ranges(parts.next()?),
        };
        Some(point)
    };
    text.lines().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_from_the_calls_and_from_their_own_text() {
        let calls = r#"
    vlSelf->__vlCoverInsert(&(vlSymsp->__Vcoverage[0]), first, "/a/t.v", 11, 21, ".t", "v_toggle/t", "clk", "");
    vlSelf->__vlCoverInsert(&(vlSymsp->__Vcoverage[344]), first, "/a/t.v", 6, 1,
        ".t", "v_line/t", "block", "6-8,12");
    vlSelf->__vlCoverInsert(&(vlSymsp->__Vcoverage[7]), first, "t.v", 9, 3, ".t", "v_branch/t", "else", "");"#;
        let points = of_cpp(calls);
        let told: Vec<_> = points.iter().map(|p| (p.number, p.kind, p.line, &*p.what)).collect();
        let lines = Kind::Lines;
        let expected =
            [(0, Kind::Toggle, 11, "clk"), (344, lines, 6, "block"), (7, lines, 9, "else")];
        assert_eq!(told, expected);
        assert_eq!(points[1].lines, [6, 7, 8, 12]);
        assert_eq!(points[1].file, "t.v");
        assert_eq!(read(&write(&points)), Some(points));
        assert_eq!(read("1\tlines\tt.v"), None);
    }
}
