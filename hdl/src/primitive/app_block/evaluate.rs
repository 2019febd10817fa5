//! The constant expressions of the tables: numbers, parameters, `+ - * / ?: > $clog2 ( ) **`.

use std::collections::HashMap;

/// Parameter names with their expressions.
pub struct Scope {
    expressions: HashMap<String, String>,
}

impl Scope {
    /// The defaults, with some values replaced.
    pub fn new(defaults: &[(&str, &str)], values: &[(&str, u64)]) -> Self {
        let mut expressions: HashMap<String, String> =
            defaults.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        for (name, value) in values {
            expressions.insert(name.to_string(), value.to_string());
        }
        Self { expressions }
    }

    /// The value of an expression.
    ///
    /// # Panics
    /// If it is not one of the tables' expressions.
    pub fn value(&self, text: &str) -> u64 {
        let mut parser = Parser { scope: self, tokens: tokens(text), at: 0, text };
        let value = parser.choice();
        assert_eq!(parser.at, parser.tokens.len(), "cannot read {text}");
        value
    }
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut word = false;
    for c in text.chars() {
        let joins = c.is_alphanumeric() || "_$'".contains(c);
        let power = c == '*' && tokens.last().is_some_and(|last| last == "*");
        match (joins && word) || power {
            true => tokens.last_mut().expect("a token to join").push(c),
            false if c.is_whitespace() => {}
            false => tokens.push(c.to_string()),
        }
        word = joins;
    }
    tokens
}

struct Parser<'a> {
    scope: &'a Scope,
    tokens: Vec<String>,
    at: usize,
    text: &'a str,
}

impl Parser<'_> {
    fn take(&mut self, token: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|next| next == token);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) {
        assert!(self.take(token), "{token} is missing in {}", self.text);
    }

    fn choice(&mut self) -> u64 {
        let condition = self.comparison();
        if !self.take("?") {
            return condition;
        }
        let yes = self.choice();
        self.expect(":");
        let no = self.choice();
        if condition != 0 { yes } else { no }
    }

    fn comparison(&mut self) -> u64 {
        let left = self.sum();
        if self.take(">") { u64::from(left > self.sum()) } else { left }
    }

    fn sum(&mut self) -> u64 {
        let mut value = self.product();
        loop {
            if self.take("+") {
                value += self.product();
            } else if self.take("-") {
                value -= self.product();
            } else {
                return value;
            }
        }
    }

    fn product(&mut self) -> u64 {
        let mut value = self.power();
        loop {
            if self.take("*") {
                value *= self.power();
            } else if self.take("/") {
                value /= self.power();
            } else {
                return value;
            }
        }
    }

    fn power(&mut self) -> u64 {
        let base = self.atom();
        if self.take("**") { base.pow(self.power() as u32) } else { base }
    }

    fn atom(&mut self) -> u64 {
        if self.take("(") {
            let value = self.choice();
            self.expect(")");
            return value;
        }
        let token = self.tokens.get(self.at).unwrap_or_else(|| panic!("{} ends early", self.text));
        let token = token.clone();
        self.at += 1;
        if token == "$clog2" {
            self.expect("(");
            let value = self.choice();
            self.expect(")");
            return u64::from(value.next_power_of_two().trailing_zeros());
        }
        if let Some(hex) = token.strip_prefix("32'h") {
            return u64::from_str_radix(hex, 16).expect("a hexadecimal number");
        }
        token.parse().unwrap_or_else(|_| {
            let expression = self.scope.expressions.get(&token);
            self.scope.value(expression.unwrap_or_else(|| panic!("no parameter {token}")))
        })
    }
}
