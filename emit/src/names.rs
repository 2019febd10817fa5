//! Names: array indices in the text of a kernel, and words that Verilog reserves.

/// A loop variable and its value.
pub(super) type Loops = Vec<(String, i64)>;

/// The signal that a kernel's text means: `a[k*4+1]$q` with k = 2 is `a$9$q`.
pub(super) fn resolve(text: &str, loops: &Loops) -> Result<String, String> {
    let text = text.strip_suffix("$next").unwrap_or(text).trim_start_matches('.');
    let mut name = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let close = rest[open..].find(']').ok_or_else(|| format!("`{text}` lacks a `]`"))? + open;
        let index = evaluate(&rest[open + 1..close], loops)?;
        name.push_str(&rest[..open]);
        name.push_str(&format!("${index}"));
        rest = &rest[close + 1..];
    }
    name.push_str(rest);
    Ok(name)
}

/// The value of an index such as `k*4+(j+1)`.
fn evaluate(text: &str, loops: &Loops) -> Result<i64, String> {
    let mut parser = Parser { text: text.as_bytes(), at: 0, loops };
    let value = parser.sum();
    match value {
        Some(value) if parser.at == text.len() => Ok(value),
        _ => {
            Err(format!("the index `{text}` is not made of numbers, loop variables and + - * / %"))
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    loops: &'a Loops,
}

impl Parser<'_> {
    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            match self.text.get(self.at) {
                Some(b'+') => value += self.after_operator(Self::product)?,
                Some(b'-') => value -= self.after_operator(Self::product)?,
                _ => return Some(value),
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.term()?;
        loop {
            match self.text.get(self.at) {
                Some(b'*') => value *= self.after_operator(Self::term)?,
                Some(b'/') => value = value.checked_div(self.after_operator(Self::term)?)?,
                Some(b'%') => value = value.checked_rem(self.after_operator(Self::term)?)?,
                _ => return Some(value),
            }
        }
    }

    fn after_operator(&mut self, operand: fn(&mut Self) -> Option<i64>) -> Option<i64> {
        self.at += 1;
        operand(self)
    }

    fn term(&mut self) -> Option<i64> {
        if self.text.get(self.at) == Some(&b'(') {
            self.at += 1;
            let value = self.sum()?;
            self.at += 1;
            return (self.text.get(self.at - 1) == Some(&b')')).then_some(value);
        }
        let start = self.at;
        let word = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
        while self.text.get(self.at).is_some_and(word) {
            self.at += 1;
        }
        let word = std::str::from_utf8(&self.text[start..self.at]).ok()?;
        match self.loops.iter().rev().find(|(name, _)| name == word) {
            Some((_, value)) => Some(*value),
            None => word.trim_end_matches("usize").trim_end_matches('_').parse().ok(),
        }
    }
}

/// Whether `name` is reserved in (System)Verilog or in C++, where the model is compiled.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.split_ascii_whitespace().any(|word| word == name)
}

const RESERVED: &str = "alias always and assert assign assume automatic before begin bind bins \
    bit break buf byte case cell chandle checker class clocking cmos config const constraint \
    context continue cover cross deassign default defparam design disable dist do edge else end \
    enum event eventually expect export extends extern final first_match for force foreach \
    forever fork function generate genvar global highz0 highz1 if iff ifnone implements import \
    include initial inout input inside instance int integer interconnect interface intersect \
    join large let liblist library local localparam logic longint macromodule matches medium \
    modport module nand negedge nettype new nexttime nmos nor not null or output package packed \
    parameter pmos posedge primitive priority program property protected pull0 pull1 pure rand \
    randc randcase real realtime ref reg reject_on release repeat restrict return scalared \
    sequence shortint shortreal signed small soft solve specify specparam static string strong \
    struct super supply0 supply1 table tagged task this throughout time timeprecision timeunit \
    tran tri trireg type typedef union unique unsigned until untyped use uwire var vectored \
    virtual void wait wand weak while wildcard wire with within wor xnor xor \
    auto bool catch char delete double explicit false float friend goto inline long mutable \
    namespace operator private public register short sizeof switch template throw true try \
    typename using volatile";
