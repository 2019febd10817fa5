//! Workers that a file describes, each at an address of its own, as on hosts. If they are not found, an error says why.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use drdma_datafusion::{
    Cluster, Deployment, Directory, Options,
    directory::{Place, WireAt},
    exchange::Config,
    tpch,
};

use crate::{
    lab::Lab,
    processes::{PROGRAM, ends, turn},
};

/// A process that is ended with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

/// A file of workers, each at an address of its own of this machine, at ports that were free a moment ago.
struct File {
    path: PathBuf,
    directory: Directory,
}

impl File {
    fn new(name: &str, workers: u8) -> Self {
        let place = |worker: u8| {
            let host = IpAddr::V4(Ipv4Addr::new(127, 0, 1, 1 + worker));
            let tcp = [(); 2].map(|()| TcpListener::bind((host, 0)).unwrap());
            let udp = UdpSocket::bind((host, 0)).unwrap();
            let [engine, exchange] = tcp.each_ref().map(|socket| socket.local_addr().unwrap());
            Place { engine, exchange, wire: WireAt::Udp(udp.local_addr().unwrap()) }
        };
        // Workers that are killed leave a directory.
        let directory = Some(env!("CARGO_TARGET_TMPDIR").into());
        let exchange = Config { budget: 1 << 20, directory, ..Config::default() };
        let directory =
            Directory { mtu: 1024, workers: (0..workers).map(place).collect(), exchange };
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hosts-{name}.json"));
        let file = Self { path, directory };
        file.write();
        file
    }

    fn write(&self) {
        fs::write(&self.path, serde_json::to_string(&self.directory).unwrap()).unwrap();
    }

    fn command(&self, number: usize) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("--config").arg(&self.path).arg("--serve").arg(number.to_string());
        command
    }

    fn serve(&self, number: usize) -> Served {
        Served(self.command(number).spawn().unwrap())
    }

    fn options(&self) -> Options {
        let mut options = Options::new(3, &crate::MEMORY);
        options.deployment = Deployment::Hosts(Directory::read(&self.path).unwrap());
        options
    }

    /// The error that starting the cluster returns.
    fn fails(&self) -> String {
        Cluster::start(self.options()).expect_err("refused").to_string()
    }

    /// Waits until all workers are there.
    #[track_caller]
    fn comes_up(&self) {
        let started = Instant::now();
        while Cluster::start(self.options()).is_err() {
            assert!(started.elapsed() < Duration::from_secs(20), "{}", self.fails());
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The message of a worker that ends at once.
#[track_caller]
fn says(mut command: Command) -> String {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    assert!(ends(&mut child), "it serves");
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn workers_of_a_file_are_found_where_it_says() {
    let _turn = turn();
    let file = File::new("found", 3);
    let error = file.fails();
    assert!(error.starts_with("worker 0 (http://127.0.1.1:"), "{error}");
    let Place { engine, .. } = file.directory.workers[0];
    let expected = format!(" is lost: plans at {engine}: Connection refused");
    assert!(error.contains(&expected), "{error}");

    let mut served: Vec<_> = (0..3).map(|number| file.serve(number)).collect();
    file.comes_up();
    let lab = Lab::with(file.options()).shuffling_joins();
    lab.check(tpch::QUERIES[4]);
    assert!(lab.cluster.totals().payload > 0, "rows go by the cards");
    lab.comes_to_rest();
    drop(lab);

    // The error names a lost worker, which may come back.
    drop(served.remove(1));
    let error = file.fails();
    assert!(error.starts_with("worker 1 (http://127.0.1.2:"), "{error}");
    served.push(file.serve(1));
    file.comes_up();
    Lab::with(file.options()).check("select l_returnflag, count(*) from lineitem group by 1");
}

#[test]
fn a_worker_that_is_told_to_end_leaves_nothing() {
    let _turn = turn();
    let file = File::new("ends", 1);
    let directory = file.directory.exchange.directory.clone().unwrap();
    let engine = file.directory.workers[0].engine;
    let scratch = directory.join(format!("drdma-spill-{}-{}", engine.ip(), engine.port()));
    for signal in ["-INT", "-TERM"] {
        let mut served = file.serve(0);
        file.comes_up();
        assert!(scratch.exists());
        let id = served.0.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert!(ends(&mut served.0), "{signal}");
        assert!(!scratch.exists(), "{signal}");
    }
}

#[test]
fn workers_of_another_file_do_not_fit() {
    let _turn = turn();
    let mut file = File::new("other", 1);
    let _served = file.serve(0);
    file.comes_up();
    file.directory.mtu = 4096;
    file.write();
    let error = file.fails();
    assert!(error.ends_with(" does not fit: mtu is 1024 there, 4096 here"), "{error}");
    file.directory.mtu = 1024;
    file.directory.exchange.budget = 5;
    file.write();
    let error = file.fails();
    assert!(error.contains(" does not fit: exchange is {\"budget\":1048576,"), "{error}");
}

#[test]
fn somebody_else_at_a_worker_s_address_is_no_worker() {
    let _turn = turn();
    let file = File::new("else", 1);
    let Place { engine, exchange, .. } = file.directory.workers[0];
    let _engine = TcpListener::bind(engine).unwrap();
    let listener = TcpListener::bind(exchange).unwrap();
    let greets = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.write_all(b"SSH-2.0-OpenSSH\r\n").unwrap();
        connection
    });
    let error = file.fails();
    drop(greets.join().unwrap());
    assert!(error.contains(": it does not say its version, "), "{error}");
    let expected =
        format!(" here: exchanges at {exchange}: a message of 759714643 B: 16777216 are possible");
    assert!(error.ends_with(&expected), "{error}");
}

#[test]
fn a_worker_that_cannot_be_started_says_why() {
    let _turn = turn();
    let mut file = File::new("start", 3);
    let text = says(file.command(3));
    assert!(text.contains("worker 3 was not started: there are 3 workers, from 0 to 2"), "{text}");

    let Place { engine, .. } = file.directory.workers[0];
    let taken = TcpListener::bind(engine).unwrap();
    let text = says(file.command(0));
    assert!(text.contains(&format!("a worker cannot listen at {engine}: Address")), "{text}");
    drop(taken);

    // Reserved addresses, which no host has.
    for (number, place) in (0..).zip(&mut file.directory.workers) {
        let at = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(240, 0, 0, 1 + number)), port);
        *place = Place { engine: at(1), exchange: at(2), wire: WireAt::Udp(at(3)) };
    }
    file.write();
    let text = says(file.command(1));
    assert!(text.contains("a worker cannot listen at 240.0.0.2:1: Cannot assign"), "{text}");

    fs::write(&file.path, "{\"workers\": [{\"engine\": \"one:7000\"}]}").unwrap();
    let text = says(file.command(0));
    assert!(text.contains(": `one:7000` is no address: IP:PORT is expected at line 1"), "{text}");
}
