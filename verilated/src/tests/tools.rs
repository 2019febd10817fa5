use super::*;
use crate::Step;

fn shell(script: &str) -> Vec<(String, Command)> {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    vec![(script.to_owned(), command)]
}

/// Interrupts once a file exists.
struct Until(PathBuf);

impl Watch for Until {
    fn step(&mut self, _: Step) {}
    fn interrupted(&mut self) -> bool {
        self.0.exists()
    }
    fn handles_interrupts(&self) -> bool {
        true
    }
}

#[test]
fn messages_are_returned_and_a_failure_says_which() {
    let dir = tempfile::tempdir().unwrap();
    let silent = |_: &mut dyn Watch, _| {};
    let said = run_all(shell("echo well >&2"), dir.path(), &mut (), silent).unwrap();
    assert_eq!(said, "well\n");
    let mut both = shell("echo bad >&2; exit 3");
    both.extend(shell("true"));
    match run_all(both, dir.path(), &mut (), silent) {
        Err(Error::Compile { what, output }) => {
            assert_eq!((what.as_str(), output.as_str()), ("echo bad >&2; exit 3", "bad\n"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_program_that_is_not_there_and_one_that_does_not_start_differ() {
    let dir = tempfile::tempdir().unwrap();
    let run = |program: &Path| {
        let commands = vec![("it".to_owned(), Command::new(program))];
        run_all(commands, dir.path(), &mut (), |_, _| {}).unwrap_err()
    };
    let missing = run(Path::new("no-such-program-here"));
    assert!(matches!(missing, Error::ToolMissing { .. }), "{missing}");
    let text = dir.path().join("text");
    fs::write(&text, "no program").unwrap();
    let error = run(&text);
    assert!(matches!(error, Error::NotStarted { .. }), "{error}");
    assert!(error.to_string().contains("could not be started: Permission denied"), "{error}");
}

/// Children of the processes are stopped as well: a compiler's driver is not the compiler.
#[test]
fn an_interrupted_build_stops_all_its_processes() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let script =
        format!("(sleep 600 & echo $! > {p}.new; mv {p}.new {p}; wait)", p = pid.display());
    let result = run_all(shell(&script), dir.path(), &mut Until(pid.clone()), |_, _| {});
    assert!(matches!(result, Err(Error::Interrupted)), "{result:?}");
    let sleeper = fs::read_to_string(pid).unwrap();
    let stat = || fs::read_to_string(format!("/proc/{}/stat", sleeper.trim())).unwrap_or_default();
    // A signal takes effect when the process is scheduled, and its parent may not have waited for it yet.
    let gone = |stat: String| stat.is_empty() || stat.contains(") Z");
    for _ in 0..1000 {
        if gone(stat()) {
            return;
        }
        std::thread::sleep(crate::watch::TICK);
    }
    panic!("{}", stat());
}

#[test]
fn another_version_of_a_program_is_another_program() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    for folder in [&first, &second] {
        fs::create_dir(folder).unwrap();
    }
    let path = env::join_paths([&first, &second]).unwrap();
    let seen = || identity("tool".as_ref(), &path);
    let mut all = vec![seen()];
    assert_eq!(all[0], "no tool");
    fs::write(second.join("tool"), "1").unwrap();
    all.push(seen());
    // It is longer, then newer, then another one is found first.
    fs::write(second.join("tool"), "12").unwrap();
    all.push(seen());
    let file = File::options().write(true).open(second.join("tool")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    all.push(seen());
    assert_eq!(all.last(), Some(&seen()));
    fs::write(first.join("tool"), "12").unwrap();
    all.push(seen());
    all.dedup();
    assert_eq!(all.len(), 5, "{all:#?}");
    // A name with a folder is not looked for.
    let named = second.join("tool");
    assert_eq!(identity(named.as_ref(), &path), all[3]);
    assert_eq!(identity("./no/tool".as_ref(), &path), "no ./no/tool");
}
