//! Intervals for people: a view that fills the terminal.

use std::{collections::VecDeque, io, time::Duration};

use ratatui::{
    DefaultTerminal, Frame,
    crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers},
    layout::{Constraint, Layout, Rect},
    style::{Color, Style, Stylize},
    text::Line,
    widgets::{Block, LineGauge, Paragraph, Row, Sparkline, Table},
};

use super::{Lost, Rates, Show};

/// Intervals that the graph shows, at most.
const HISTORY: usize = 512;

/// Data of the view: the last interval, and the wire's rates in those before.
#[derive(Clone, Debug, Default)]
pub struct View {
    title: String,
    rates: Option<Rates>,
    /// Wire rates in Mb/s, the oldest first.
    history: VecDeque<u64>,
}

impl View {
    /// Makes a view without an interval.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Takes the next interval.
    pub fn push(&mut self, rates: &Rates) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back((rates.wire_gbps * 1000.0) as u64);
        self.rates = Some(rates.clone());
    }

    /// Draws the view.
    pub fn draw(&self, frame: &mut Frame) {
        let block = Block::bordered()
            .title(Line::from(format!(" drdma top  {} ", self.title)).bold())
            .title_bottom(" q quits ");
        let area = block.inner(frame.area());
        frame.render_widget(block, frame.area());
        let Some(rates) = &self.rates else {
            frame.render_widget(Paragraph::new("The first interval is not over."), area);
            return;
        };
        let rows = quantities(rates);
        let [table, cycles, graph] = Layout::vertical([
            Constraint::Length(rows.len() as u16 + 1),
            Constraint::Length(if rates.cycles_percent.is_some() { 6 } else { 1 }),
            Constraint::Min(3),
        ])
        .areas(area);
        let widths = [Constraint::Length(24), Constraint::Length(20), Constraint::Min(20)];
        frame.render_widget(Table::new(rows, widths), table);
        match &rates.cycles_percent {
            Some(lost) => draw_cycles(frame, cycles, lost),
            None => {
                let text = "Rates are by the wall: this device's own clock means nothing.";
                frame.render_widget(Paragraph::new(text), cycles);
            }
        }
        self.draw_graph(frame, graph);
    }

    fn draw_graph(&self, frame: &mut Frame, area: Rect) {
        let peak = self.history.iter().max().copied().unwrap_or(0);
        let title = format!("wire, at most {:.1} Gb/s", peak as f64 / 1000.0);
        let shown = self.history.len().saturating_sub(area.width.into());
        let data: Vec<u64> = self.history.iter().skip(shown).copied().collect();
        let graph = Sparkline::default()
            .block(Block::new().title(title))
            .data(&data)
            .style(Style::new().fg(Color::Cyan));
        frame.render_widget(graph, area);
    }
}

/// A number with a unit in front of which it is at least 1.
fn scaled(value: f64, unit: &str) -> String {
    let (value, prefix) = match value {
        v if v >= 1e9 => (v / 1e9, "G"),
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e3 => (v / 1e3, "k"),
        v => (v, ""),
    };
    format!("{value:.2} {prefix}{unit}")
}

/// Counts and rates, a line each.
fn quantities(rates: &Rates) -> Vec<Row<'static>> {
    let row = |name: &'static str, rate: String, note: String| Row::new([name.into(), rate, note]);
    let size = |bytes: Option<f64>| match bytes {
        Some(bytes) => format!("of {bytes:.0} B"),
        None => String::new(),
    };
    let gbps = |value: f64| format!("{value:.2} Gb/s");
    let mut rows = vec![
        row("payload", gbps(rates.payload_gbps), String::new()),
        row("wire", gbps(rates.wire_gbps), "with headers, preamble, gap and FCS".into()),
        row("packets", scaled(rates.packets_per_s, "/s"), String::new()),
    ];
    if let Some(per_second) = rates.rows_per_s {
        rows.push(row("rows", scaled(per_second, "/s"), String::new()));
    }
    let (data, control) = (rates.data_read_bytes, rates.control_read_bytes);
    rows.extend([
        row("work requests", scaled(rates.work_requests_per_s, "/s"), String::new()),
        row("acknowledgements", scaled(rates.acks_per_s, "/s"), String::new()),
        row("DMA reads of payload", scaled(rates.data_reads_per_s, "/s"), size(data)),
        row("other DMA reads", scaled(rates.control_reads_per_s, "/s"), size(control)),
        row("windows", scaled(rates.windows_per_s, "/s"), String::new()),
        row("dropped packets", rates.receive_dropped.to_string(), "received".into()),
    ]);
    rows
}

/// Draws the activity of the assembler, as bars.
fn draw_cycles(frame: &mut Frame, area: Rect, lost: &Lost) {
    let bars = [
        ("assembling", lost.assembling, Color::Green),
        ("  with a bank conflict", lost.bank_conflict, Color::Yellow),
        ("waiting for the host", lost.waiting_for_host, Color::Red),
        ("stopped by packetizer", lost.stopped_by_packetizer, Color::Magenta),
        ("idle, at least", lost.idle, Color::Gray),
    ];
    let lines = Layout::vertical([Constraint::Length(1); 5]).split(area);
    for ((name, percent, colour), area) in bars.into_iter().zip(lines.iter()) {
        let bar = LineGauge::default()
            .ratio((percent / 100.0).clamp(0.0, 1.0))
            .label(format!("{name:23} {percent:5.1} %"))
            .filled_symbol("█")
            .unfilled_symbol("·")
            .filled_style(Style::new().fg(colour));
        frame.render_widget(bar, *area);
    }
}

/// The terminal, as long as this lives.
#[derive(Debug)]
pub struct Screen {
    terminal: DefaultTerminal,
    view: View,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// There is none, or it cannot be drawn on.
    pub fn new(title: &str) -> io::Result<Self> {
        let mut screen = Self { terminal: ratatui::try_init()?, view: View::new(title) };
        screen.draw()?;
        Ok(screen)
    }

    fn draw(&mut self) -> io::Result<()> {
        self.terminal.draw(|frame| self.view.draw(frame))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

impl Show for Screen {
    fn show(&mut self, rates: &Rates) -> io::Result<bool> {
        self.view.push(rates);
        self.draw()?;
        Ok(true)
    }

    fn go_on(&mut self) -> io::Result<bool> {
        while event::poll(Duration::ZERO)? {
            match event::read()? {
                event if quits(&event) => return Ok(false),
                Event::Resize(..) => self.draw()?,
                _ => {}
            }
        }
        Ok(true)
    }
}

/// True for q, Escape and Ctrl-C.
pub(super) fn quits(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press
        && match key.code {
            KeyCode::Char('q') | KeyCode::Esc => true,
            KeyCode::Char('c') => control,
            _ => false,
        }
}
