//! Output that cannot be written, and input that never ends.

mod support;

use std::{
    fs::{self, File},
    os::unix::process::CommandExt as _,
    process::{Command, Output, Stdio},
};

use support::{
    Folder,
    jobs::{folder, job},
};

const FULL: &str = "No space left on device (os error 28)";

fn command(folder: &Folder, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drdma"));
    command.args(args).current_dir(folder.file(""));
    command
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Commands that write something to standard output.
fn commands(folder: &Folder) -> Vec<Vec<&'static str>> {
    fs::create_dir_all(folder.file("sys/bus/pci/devices")).unwrap();
    vec![
        vec!["run", "job.json", "--device", "soft:"],
        vec!["explain", "job.json"],
        vec!["explain", "job.json", "--json"],
        vec!["devices", "--json", "--sysfs", "sys"],
        vec!["demo", "--device", "soft:", "--scale-factor", "0.0001", "--pcap", "d.pcap"],
    ]
}

#[test]
fn a_reader_that_has_seen_enough_ends_nothing_badly() {
    let folder = folder(&job());
    for args in commands(&folder) {
        let (read, write) = std::io::pipe().unwrap();
        drop(read);
        let output = command(&folder, &args).stdout(write).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output));
        assert!(!text(&output).contains("panicked"), "{args:?}: {}", text(&output));
    }
}

#[test]
fn a_full_disk_names_what_could_not_be_written() {
    let folder = folder(&job());
    for args in commands(&folder) {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = command(&folder, &args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let text = text(&output);
        let expected = format!("error: cannot write standard output: {FULL}\n");
        assert!(text.ends_with(&expected), "{args:?}: {text}");
    }
    for option in ["--pcap", "--stats"] {
        let args = ["run", "job.json", "--device", "soft:", option, "/dev/full"];
        let output = command(&folder, &args).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{option}");
        assert_eq!(text(&output), format!("error: cannot write /dev/full: {FULL}\n"), "{option}");
    }
    // Messages that cannot be written are no reason to panic, either.
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let args = ["run", "no.json", "--device", "soft:"];
    let status = command(&folder, &args).stdout(full()).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_run_that_is_ended_leaves_no_half_of_a_file() {
    let folder = folder(&job());
    fs::write(folder.file("out.pcap"), "of an earlier run").unwrap();
    let before = fs::read_dir(folder.file("")).unwrap().count();
    // No peer acknowledges the frames on this wire: the run waits.
    let _other = std::os::unix::net::UnixDatagram::bind(folder.file("b.sock")).unwrap();
    let args = [
        "run",
        "job.json",
        "--device",
        "soft:",
        "--wire",
        "dgram:a.sock,b.sock",
        "--pcap",
        "out.pcap",
        "--stats",
        "out.json",
    ];
    let mut child = command(&folder, &args).spawn().unwrap();
    while !folder.file("a.sock").exists() {
        std::thread::yield_now();
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(fs::read(folder.file("out.pcap")).unwrap(), b"of an earlier run");
    assert!(!folder.file("out.json").exists());
    let names: Vec<_> = fs::read_dir(folder.file("")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(
        names.iter().filter(|path| path.extension() != Some("sock".as_ref())).count(),
        before,
        "{names:?}"
    );
}

#[test]
fn input_without_an_end_is_refused() {
    let folder = folder(&job());
    let output = command(&folder, &["run", "/dev/zero", "--device", "soft:"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = "error: the job file /dev/zero is longer than 67108864 B, the limit\n";
    assert_eq!(text(&output), expected);
}

#[test]
fn an_exhausted_table_of_descriptors_is_told() {
    let folder = folder(&job());
    let mut command = command(&folder, &["run", "job.json", "--device", "soft:"]);
    // SAFETY: `setrlimit` may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 3, rlim_max: 3 };
            match libc::setrlimit(libc::RLIMIT_NOFILE, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let output = command.output().unwrap();
    // The loader may not even find its libraries; what the command itself says is what counts.
    let text = text(&output);
    assert!(!output.status.success() && !text.contains("panicked"), "{text}");
    assert!(
        text.contains("Too many open files") || text.contains("cannot open shared object"),
        "{text}"
    );
}
