//! The checker of the shell test finds what it is there to find, without a simulator and a Corundum tree.

use std::{path::Path, process::Command};

#[test]
fn the_replay_in_the_shell_finds_wrong_completions_frames_and_stray_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shell-test");
    let output = Command::new("python3")
        .args(["-B", "-m", "unittest", "-v", "test_replay"])
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("python3 (cargo xtask setup installs it): {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    // None that is not run.
    assert!(text.contains("Ran 13 tests") && !text.contains("skipped"), "{text}");
}
