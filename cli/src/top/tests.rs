use std::path::Path;

use drdma_abi::register::{self, REGISTERS, counter};
use drdma_driver::Card;
use drdma_sim::wire::Network;
use ratatui::{
    Terminal,
    backend::TestBackend,
    crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers},
};

use super::*;
use crate::{device, job::Job, run};

const OPTIONS: Options = Options {
    interval: Duration::ZERO,
    count: Some(3),
    clock: Clock::Card(4.0),
    row_bytes: Some(20),
};

fn sample(ms: u64, counters: &[(register::Counter, u64)]) -> Sample {
    let counters = counters.iter().map(|(counter, value)| (counter.name, *value)).collect();
    Sample { at: Duration::from_millis(ms), counters }
}

/// An interval of 250,000 cycles: one millisecond of the card.
fn busy() -> [Sample; 2] {
    let before = sample(500, &[(counter::CYCLES, 1000), (counter::PACKETS, 7)]);
    let after = sample(
        1500,
        &[
            (counter::CYCLES, 251_000),
            (counter::PAYLOAD_BYTES, 11_250_000),
            (counter::FRAME_BYTES, 11_468_000),
            (counter::PACKETS, 3007),
            (counter::DATA_READS, 25_000),
            (counter::DATA_READ_BYTES, 12_500_000),
            (counter::CONTROL_READS, 0),
            (counter::WORK_REQUESTS, 5),
            (counter::ACKS, 1500),
            (counter::WINDOWS, 400),
            (counter::ASSEMBLE_BUSY, 200_000),
            (counter::ASSEMBLE_CONFLICT, 20_000),
            (counter::ASSEMBLE_EMPTY, 25_000),
            (counter::ASSEMBLE_BLOCKED, 12_500),
            (counter::RECEIVE_DROPPED, 2),
        ],
    );
    [before, after]
}

#[test]
fn rates_are_by_the_cards_clock() {
    let [before, after] = busy();
    let rates = Rates::between(&before, &after, &OPTIONS);
    assert_eq!((rates.clock, rates.cycles, rates.packets), ("card", 250_000, 3000));
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    assert!(near(rates.seconds, 0.001));
    assert!(near(rates.payload_gbps, 90.0));
    // 24 B around each frame.
    assert!(near(rates.wire_gbps, (11_468_000.0 + 3000.0 * 24.0) * 8.0 / 1e6));
    assert!(near(rates.packets_per_s, 3e6));
    assert!(near(rates.rows_per_s.unwrap(), 11_250_000.0 / 20.0 * 1e3));
    assert!(near(rates.data_read_bytes.unwrap(), 500.0));
    assert_eq!(rates.control_read_bytes, None);
    let lost = rates.cycles_percent.unwrap();
    let expected = Lost {
        assembling: 80.0,
        bank_conflict: 8.0,
        waiting_for_host: 10.0,
        stopped_by_packetizer: 5.0,
        idle: 5.0,
    };
    assert_eq!(lost, expected);
    assert_eq!(rates.receive_dropped, 2);
}

#[test]
fn cycles_that_count_twice_leave_no_negative_rest() {
    let [before, mut after] = busy();
    for (name, value) in &mut after.counters {
        if *name == counter::ASSEMBLE_EMPTY.name {
            // A fifth of the cycles: some of them are among those that moved payload.
            *value = 50_000;
        }
    }
    let lost = Rates::between(&before, &after, &OPTIONS).cycles_percent.unwrap();
    assert_eq!((lost.assembling, lost.waiting_for_host, lost.idle), (80.0, 20.0, 0.0));
    assert_eq!(lost.stopped_by_packetizer, 5.0);
}

#[test]
fn where_the_card_has_no_clock_rates_are_by_the_wall() {
    let [before, after] = busy();
    let options = Options { clock: Clock::Wall, row_bytes: None, ..OPTIONS };
    let rates = Rates::between(&before, &after, &options);
    assert_eq!((rates.clock, rates.seconds), ("wall", 1.0));
    assert_eq!((rates.packets_per_s, rates.rows_per_s), (3000.0, None));
    assert_eq!(rates.cycles_percent, None);
    let json = serde_json::to_value(&rates).unwrap();
    for absent in ["rows_per_s", "cycles_percent", "control_read_bytes"] {
        assert!(json.get(absent).is_none(), "{absent}");
    }
}

#[test]
fn counters_that_were_cleared_or_stand_still_give_no_nonsense() {
    let [before, after] = busy();
    let cleared = Rates::between(&after, &before, &OPTIONS);
    assert_eq!((cleared.cycles, cleared.packets), (1000, 7));
    let still = Rates::between(&after, &after, &OPTIONS);
    assert_eq!((still.payload_gbps, still.packets_per_s), (0.0, 0.0));
    assert_eq!((still.data_read_bytes, still.cycles_percent), (None, None));
}

/// The text that a view draws.
fn drawn(view: &View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view.draw(frame)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn the_view_shows_rates_and_where_cycles_went() {
    let mut view = View::new("rtl: job.json");
    assert!(drawn(&view, 80, 24).contains("The first interval is not over."));
    let [before, after] = busy();
    view.push(&Rates::between(&before, &after, &OPTIONS));
    let text = drawn(&view, 80, 24);
    for shown in [
        "drdma top  rtl: job.json",
        "90.00 Gb/s",
        "92.32 Gb/s",
        "3.00 M/s",
        "rows                     562.50 M/s",
        "25.00 M/s            of 500 B",
        "assembling               80.0 %",
        "with a bank conflict    8.0 %",
        "waiting for the host     10.0 %",
        "stopped by packetizer     5.0 %",
        "idle, at least            5.0 %",
        "wire, at most 92.3 Gb/s",
        "assembling               80.0 % ██",
        "idle, at least            5.0 % ██····",
        "q quits",
    ] {
        assert!(text.contains(shown), "{shown} is not in\n{text}");
    }
    view.push(&Rates::between(&before, &after, &Options { clock: Clock::Wall, ..OPTIONS }));
    assert!(drawn(&view, 80, 24).contains("Rates are by the wall"));
    // On a terminal that is too small lines are missing, and nothing else happens.
    drawn(&view, 10, 3);
    drawn(&view, 1, 1);
}

#[test]
fn the_keys_that_quit() {
    let press = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
    let none = KeyModifiers::NONE;
    assert!(view::quits(&press(KeyCode::Char('q'), none)));
    assert!(view::quits(&press(KeyCode::Esc, none)));
    assert!(view::quits(&press(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    assert!(!view::quits(&press(KeyCode::Char('c'), none)));
    assert!(!view::quits(&Event::Resize(80, 24)));
}

/// A display that keeps the intervals; it asks to stop, or fails, on demand.
#[derive(Default)]
struct Shown {
    rates: Vec<Rates>,
    fails: bool,
    leaves: bool,
}

impl Show for Shown {
    fn show(&mut self, rates: &Rates) -> io::Result<bool> {
        if self.fails {
            return Err(io::Error::other("no paper"));
        }
        self.rates.push(rates.clone());
        Ok(!self.leaves)
    }
}

fn load() -> (Job, libdrdma::Context, Network) {
    let job = demo();
    let network = Network::new();
    device::add_peers(&job, &network);
    let card = device::open("soft:", &network).unwrap();
    let context = device::set_up(card, job.local).unwrap();
    (job, context, network)
}

#[test]
fn the_load_goes_on_until_enough_was_shown() {
    let (job, context, network) = load();
    let mut shown = Shown::default();
    let options = Options { clock: Clock::Wall, interval: Duration::from_millis(30), ..OPTIONS };
    let mut watch = Watch::new(options, &mut shown);
    run::run_on(&job, &context, Duration::from_secs(9), &mut watch).unwrap();
    assert_eq!(shown.rates.len(), 3);
    assert!(shown.rates.iter().all(|rates| rates.payload_bytes > 0 && rates.seconds >= 0.03));
    // The load was repeated: a pass is 4,096 rows of 22 B.
    let passes = context.counters().unwrap().get(counter::WORK_REQUESTS);
    assert!(passes > 1, "{passes}");
    assert_eq!(device::complaints(&network.errors()), None);
    assert_eq!(row_bytes(&job), Some(22));
}

#[test]
fn nobody_looking_or_no_paper_ends_it() {
    let run = |shown: &mut Shown| {
        let (job, context, _) = load();
        let options = Options { count: None, ..OPTIONS };
        let mut watch = Watch::new(options, shown);
        run::run_on(&job, &context, Duration::from_secs(9), &mut watch)
    };
    let mut shown = Shown { leaves: true, ..Shown::default() };
    run(&mut shown).unwrap();
    assert_eq!(shown.rates.len(), 1);
    let error = run(&mut Shown { fails: true, ..Shown::default() }).unwrap_err().to_string();
    assert!(error.contains("no paper"), "{error}");
}

#[test]
fn wrong_packets_end_it() {
    let job = demo();
    // The network has no peer to take the packets.
    let network = Network::new();
    let context = device::set_up(device::open("soft:", &network).unwrap(), job.local).unwrap();
    let mut shown = Shown::default();
    let mut watch = Watch::new(Options { count: None, ..OPTIONS }, &mut shown).on(&network);
    let error = run::run_on(&job, &context, Duration::from_secs(9), &mut watch).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the card sent wrong packets: frame 0: nobody at"), "{text}");
}

struct Quits;

impl Show for Quits {
    fn show(&mut self, _: &Rates) -> io::Result<bool> {
        panic!("nothing was over");
    }

    fn go_on(&mut self) -> io::Result<bool> {
        Ok(false)
    }
}

#[test]
fn the_user_may_quit_within_an_interval() {
    let (job, context, _) = load();
    let mut quits = Quits;
    let options = Options { interval: Duration::from_secs(99), count: None, ..OPTIONS };
    let mut watch = Watch::new(options, &mut quits);
    run::run_on(&job, &context, Duration::from_secs(9), &mut watch).unwrap();
}

#[test]
fn a_card_that_somebody_else_uses_is_only_read() {
    let mut card = device::open("soft:", &Network::new()).unwrap();
    card.write(register::IP.offset, 7).unwrap();
    card.progress().unwrap();
    struct Guarded(Box<dyn Card>);
    impl Card for Guarded {
        fn read(&mut self, offset: u32) -> Result<u32, CardError> {
            self.0.read(offset)
        }
        fn write(&mut self, offset: u32, _: u32) -> Result<(), CardError> {
            let name = REGISTERS.iter().find(|r| r.offset == offset).map(|r| r.name);
            panic!("{name:?} at {offset:#x} was written");
        }
        fn map(&mut self, _: u64, _: &drdma_driver::DmaMemory) -> Result<(), CardError> {
            panic!("memory was mapped");
        }
        fn unmap(&mut self, _: u64) -> Result<(), CardError> {
            panic!("memory was unmapped");
        }
        fn progress(&mut self) -> Result<(), CardError> {
            self.0.progress()
        }
    }
    let mut device = Device::attach(Box::new(Guarded(card))).unwrap();
    let mut shown = Shown::default();
    watch(&mut device, OPTIONS, &mut shown).unwrap();
    let cycles: Vec<u64> = shown.rates.iter().map(|rates| rates.cycles).collect();
    assert_eq!(cycles, [1024; 3]);
    assert_eq!(device.read(register::IP).unwrap(), 7);
}

#[test]
fn rows_are_known_if_all_are_alike() {
    let job = |mask: &str, regions: &str| {
        let text = format!(
            r#"{{"buffers": [{{"name": "t", "size": 64}}],
                "local": {{"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}},
                "qps": [{{"name": "red", "transport": "rc", "qpn": 17, "dest_qpn": 33,
                          "start_psn": 100, "mtu": 1024, "dest_mac": "02:00:00:00:00:02",
                          "dest_ip": "10.0.0.2"}}],
                "posts": [{{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send",
                            "row_mask": "{mask}", "regions": [{regions}]}}]}}"#
        );
        Job::parse(&text, Path::new(".")).unwrap()
    };
    let strided = |a: u32, b: u32| {
        format!(
            r#"{{"type": "strided", "buffer": "t", "offset": 0, "period": 16, "count": 2,
                 "pattern": [{{"offset": 0, "len": {a}}}, {{"offset": 8, "len": {b}}}]}}"#
        )
    };
    let both = |a: &str, b: &str| format!("{a}, {b}");
    let flat = r#"{"type": "contiguous", "buffer": "t", "offset": 0, "len": 9}"#;
    let pointers = r#"{"type": "pointer_mapped", "pointers": [["t", 0]],
                       "pattern": [{"offset": 0, "len": 9}]}"#;
    let bits = r#"{"type": "bitmapped", "bitmap": {"buffer": "t", "offset": 0}, "rows": 8,
                   "columns": [{"buffer": "t", "offset": 0, "width": 4},
                               {"buffer": "t", "offset": 32, "width": 5}]}"#;
    for regions in [flat, pointers, bits, &strided(4, 5), &both(flat, &strided(1, 8))] {
        assert_eq!(row_bytes(&job("period", regions)), Some(9), "{regions}");
    }
    assert_eq!(row_bytes(&job("period", &both(flat, &strided(1, 1)))), None);
    assert_eq!(row_bytes(&job("element", &both(&strided(4, 4), &strided(3, 3)))), Some(7));
    assert_eq!(row_bytes(&job("element", &both(bits, &strided(3, 3)))), Some(12));
    assert_eq!(row_bytes(&job("element", &strided(4, 5))), None);
    assert_eq!(row_bytes(&job("period", "")), None);
}

#[test]
fn rows_of_a_partitioned_region_are_those_of_its_columns() {
    let job = |mask: &str, other: u32| {
        let text = format!(
            r#"{{"buffers": [{{"name": "t", "size": 64}}],
                "local": {{"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}},
                "qps": [{{"name": "red", "transport": "rc", "qpn": 17, "dest_qpn": 33,
                          "start_psn": 100, "mtu": 1024, "dest_mac": "02:00:00:00:00:02",
                          "dest_ip": "10.0.0.2"}}],
                "posts": [{{"verb": "post_ssq_send", "wr_id": 1, "op": "send",
                            "row_mask": "{mask}",
                            "partitioned": {{
                                "ids": {{"buffer": "t", "offset": 0, "width": 1}}, "rows": 2,
                                "columns": [{{"buffer": "t", "offset": 8, "width": 4}},
                                            {{"buffer": "t", "offset": 16, "width": 5}}]}},
                            "destinations": [{{"qp": "red", "partition": 0}}]}},
                          {{"verb": "post_send", "qp": "red", "wr_id": 2, "op": "send", "regions":
                            [{{"type": "contiguous", "buffer": "t", "offset": 0,
                               "len": {other}}}]}}]}}"#
        );
        Job::parse(&text, Path::new(".")).unwrap()
    };
    for mask in ["period", "element"] {
        assert_eq!(row_bytes(&job(mask, 9)), Some(9));
        assert_eq!(row_bytes(&job(mask, 8)), None);
    }
}

#[test]
fn lines_are_written_until_nobody_reads_them() {
    struct Pipe(io::ErrorKind);
    impl io::Write for Pipe {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let [before, after] = busy();
    let rates = Rates::between(&before, &after, &OPTIONS);
    let mut json = Json(Vec::new());
    assert!(json.show(&rates).unwrap() && json.go_on().unwrap());
    let line = String::from_utf8(json.0).unwrap();
    assert!(line.starts_with(r#"{"time_s":1.5,"clock":"card","seconds":0.001,"cycles":250000,"#));
    assert!(line.ends_with("}\n"));
    assert!(!Json(Pipe(io::ErrorKind::BrokenPipe)).show(&rates).unwrap());
    assert!(Json(Pipe(io::ErrorKind::StorageFull)).show(&rates).is_err());
}
