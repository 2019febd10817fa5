//! The two ends of a stream.

use super::{Beat, Random};
use crate::{Direction, Model, PortHandle, Word};
use std::collections::VecDeque;

/// Payload ports of stream `base`: field name, handle, width. A port that is called `base` is its
/// field `base`. Ports of a stream whose base name extends this one (`in_header` of `in`) are not
/// among them.
fn payload(model: &Model, base: &str, direction: Direction) -> Vec<(String, PortHandle, usize)> {
    let ports = model.library().ports();
    let bases = ports.iter().filter_map(|p| p.name.strip_suffix("_valid"));
    let deeper: Vec<_> = bases.filter(|b| b.starts_with(&format!("{base}_"))).collect();
    let mut fields = Vec::new();
    for port in ports.iter().filter(|p| p.direction == direction) {
        let whole = (port.name == base).then_some(base);
        let Some(field) = whole.or(port.name.strip_prefix(&format!("{base}_"))) else { continue };
        let of_other = deeper.iter().any(|b| port.name.starts_with(&format!("{b}_")));
        if field != "valid" && field != "ready" && !of_other {
            let handle = model.port(&port.name).expect("the port is listed");
            fields.push((field.to_owned(), handle, port.width));
        }
    }
    fields
}

fn handle(model: &Model, base: &str, name: &str, direction: Direction) -> Option<PortHandle> {
    let name = format!("{base}_{name}");
    let port = model.library().ports().iter().find(|p| p.name == name)?;
    assert!(port.direction == direction, "{name} is an {:?}", port.direction);
    model.port(&name).ok()
}

/// The end that sends.
pub(super) struct Driver {
    base: String,
    valid: PortHandle,
    ready: Option<PortHandle>,
    fields: Vec<(String, PortHandle, usize)>,
    pub stall: f64,
    queue: VecDeque<Beat>,
    offering: bool,
    pub moved_at: Vec<u64>,
}

impl Driver {
    pub fn new(model: &Model, base: &str) -> Self {
        let valid = handle(model, base, "valid", Direction::Input);
        Self {
            base: base.to_owned(),
            valid: valid.unwrap_or_else(|| panic!("there is no input {base}_valid")),
            ready: handle(model, base, "ready", Direction::Output),
            fields: payload(model, base, Direction::Input),
            stall: 0.0,
            queue: VecDeque::new(),
            offering: false,
            moved_at: Vec::new(),
        }
    }

    pub fn send(&mut self, beat: Beat) {
        for (name, _) in beat.fields() {
            let known = self.fields.iter().any(|(field, ..)| field == name);
            assert!(known, "stream {} has no input `{name}`", self.base);
        }
        self.queue.push_back(beat);
    }

    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    pub fn clear(&mut self, model: &mut Model) {
        self.queue.clear();
        self.offering = false;
        model.set(self.valid, 0);
    }

    pub fn drive(&mut self, model: &mut Model, random: &mut Random) {
        if self.offering {
            return;
        }
        self.offering = !self.queue.is_empty() && !random.chance(self.stall);
        model.set(self.valid, u64::from(self.offering));
        for (name, port, width) in &self.fields {
            if self.offering {
                let zero = Word::zero();
                let beat = self.queue.front().expect("a beat is offered");
                let value = beat.fields().find(|(field, _)| field == name);
                model.set_word(*port, value.map_or(&zero, |(_, value)| value));
            } else {
                // The payload of a beat that is not valid has no meaning, so it is random.
                model.set_word(*port, &random.word(*width));
            }
        }
    }

    pub fn sample(&mut self, model: &Model, cycle: u64) {
        if self.offering && self.ready.is_none_or(|ready| model.get(ready) != 0) {
            self.queue.pop_front();
            self.offering = false;
            self.moved_at.push(cycle);
        }
    }

    pub fn status(&self, model: &Model) -> String {
        let ready = self.ready.map_or(1, |ready| model.get(ready));
        let (base, sent, left) = (&self.base, self.moved_at.len(), self.queue.len());
        format!("{base} sent {sent}, {left} left, ready is {ready}")
    }
}

/// The end that receives.
pub(super) struct Monitor {
    pub base: String,
    valid: PortHandle,
    ready: Option<PortHandle>,
    fields: Vec<(String, PortHandle, usize)>,
    pub stall: f64,
    /// The beat that was offered and not taken in the cycle before.
    waiting: Option<Beat>,
    pub beats: Vec<Beat>,
    pub moved_at: Vec<u64>,
}

impl Monitor {
    pub fn new(model: &Model, base: &str) -> Self {
        let valid = handle(model, base, "valid", Direction::Output);
        Self {
            base: base.to_owned(),
            valid: valid.unwrap_or_else(|| panic!("there is no output {base}_valid")),
            ready: handle(model, base, "ready", Direction::Input),
            fields: payload(model, base, Direction::Output),
            stall: 0.0,
            waiting: None,
            beats: Vec::new(),
            moved_at: Vec::new(),
        }
    }

    pub fn clear(&mut self, model: &mut Model) {
        self.waiting = None;
        if let Some(ready) = self.ready {
            model.set(ready, 0);
        }
    }

    pub fn drive(&mut self, model: &mut Model, random: &mut Random) {
        if let Some(ready) = self.ready {
            model.set(ready, u64::from(!random.chance(self.stall)));
        }
    }

    pub fn sample(&mut self, model: &Model, cycle: u64) {
        let base = &self.base;
        if model.get(self.valid) == 0 {
            let waiting = self.waiting.is_some();
            assert!(!waiting, "{base}_valid fell in cycle {cycle} before the beat was taken");
            return;
        }
        let mut beat = Beat::new();
        for (name, port, _) in &self.fields {
            beat.set(name, model.get_word(*port));
        }
        if let Some(waiting) = &self.waiting {
            assert_eq!(waiting, &beat, "{base} changed in cycle {cycle} before the beat was taken");
        }
        if self.ready.is_none_or(|ready| model.get(ready) != 0) {
            self.waiting = None;
            self.beats.push(beat);
            self.moved_at.push(cycle);
        } else {
            self.waiting = Some(beat);
        }
    }

    pub fn status(&self, model: &Model) -> String {
        let valid = model.get(self.valid);
        format!("{} received {}, valid is {valid}", self.base, self.moved_at.len())
    }
}
