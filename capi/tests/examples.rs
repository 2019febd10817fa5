//! The examples in C and C++: compiled against the header and the library, shared and static, and run on
//! the reference card; under valgrind where that is installed.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Returns the folder of `libdrdma.so` and `libdrdma.a`: Cargo builds them beside this test, which needs the crate.
fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let test = env::current_exe().unwrap();
        let folder = test.parent().unwrap().to_owned();
        for library in ["libdrdma.so", "libdrdma.a"] {
            assert!(folder.join(library).is_file(), "{}: no {library}", folder.display());
        }
        folder
    })
}

/// Compiles an example, and links it with `library`.
fn compile(compiler: &[&str], source: &str, library: &[&str], out: &Path) -> PathBuf {
    let program = out.join("shuffle");
    let source = root().join("examples").join(source);
    run(Command::new(compiler[0])
        .args(&compiler[1..])
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"])
        .arg(format!("-I{}", root().join("include").display()))
        .arg(source)
        .arg("-o")
        .arg(&program)
        .args(library));
    program
}

fn shuffles(compiler: &[&str], source: &str, says: &str) {
    let folder = libraries();
    let (search, archive) = (format!("-L{}", folder.display()), folder.join("libdrdma.a"));
    let shared = [search.as_str(), "-ldrdma"];
    let fixed = [archive.to_str().unwrap(), "-lpthread", "-ldl", "-lm"];
    for library in [&shared[..], &fixed[..]] {
        let out = tempfile::tempdir().unwrap();
        let program = compile(compiler, source, library, out.path());
        let start = |command: &mut Command| {
            command.env("LD_LIBRARY_PATH", folder);
            let output = run(command);
            assert_eq!(String::from_utf8_lossy(&output.stdout), says, "{command:?}");
        };
        start(&mut Command::new(&program));
        if Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success()) {
            let options = ["--quiet", "--error-exitcode=9", "--leak-check=full"];
            let kinds = "--errors-for-leak-kinds=definite,possible";
            start(Command::new("valgrind").args(options).arg(kinds).arg(&program));
        } else {
            eprintln!("there is no valgrind: skipped");
        }
        let output = Command::new(&program).arg("hard:").env("LD_LIBRARY_PATH", folder).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = "open: `hard:` names no card: it must begin with `vfio:`, `soft:` or `rtl:`\n";
        assert_eq!(String::from_utf8_lossy(&output.stderr), text);
    }
}

#[test]
fn a_program_in_c_shuffles() {
    shuffles(
        &["cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L"],
        "shuffle.c",
        "120000 B sent to 4 nodes\n",
    );
}

#[test]
fn a_program_in_cpp_shuffles() {
    shuffles(&["c++", "-std=c++17"], "shuffle.cpp", "80000 B sent to 2 nodes\n");
}
