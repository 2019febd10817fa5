//! What README.md shows is what happens.

mod support;

use support::Folder;

const README: &str = include_str!("../../README.md");

/// The first code block of that language whose text contains `word`.
fn block(language: &str, word: &str) -> &'static str {
    README
        .split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'))
        .find(|block| block.contains(word))
        .unwrap_or_else(|| panic!("README.md has no such block with {word}"))
}

#[test]
fn the_job_of_the_readme_does_what_the_readme_says() {
    let job = serde_json::from_str(block("json", "buffers")).unwrap();
    let folder = Folder::new();
    let run = folder.run(&job);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let shown = block("", "$ drdma run");
    assert!(shown.ends_with(&run.stdout), "{}", run.stdout);
    let payloads: Vec<String> = run
        .frames
        .unwrap()
        .iter()
        .map(|frame| drdma_tests::expect::hex(drdma_tests::frame::payload(frame, 0)))
        .collect();
    assert_eq!(payloads, ["0001410809450a0b46", "0e0f48"]);
    let explained = folder.drdma(&["explain", "job.json"]).stdout;
    assert_eq!(String::from_utf8(explained).unwrap(), block("", "bounding boxes: keys"));
}
