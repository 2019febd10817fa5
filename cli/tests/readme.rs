//! Examples of README.md and docs/job-files.md do what is said there.

mod support;

use support::Folder;

const README: &str = include_str!("../../README.md");
const JOB_FILES: &str = include_str!("../../docs/job-files.md");
const EXAMPLE: &str = include_str!("../../libdrdma/examples/readme.rs");

/// The first code block of that language whose text contains `word`.
fn block(text: &'static str, language: &str, word: &str) -> &'static str {
    text.split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'))
        .find(|block| block.contains(word))
        .unwrap_or_else(|| panic!("there is no such block with {word}"))
}

#[test]
fn the_job_of_the_book_does_what_the_book_says() {
    let job = serde_json::from_str(block(JOB_FILES, "json", "buffers")).unwrap();
    let folder = Folder::new();
    let run = folder.run(&job);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let shown = block(JOB_FILES, "", "$ drdma run");
    assert!(shown.ends_with(&run.stdout), "{}", run.stdout);
    let payloads: Vec<String> = run
        .frames
        .unwrap()
        .iter()
        .map(|frame| drdma_tests::expect::hex(drdma_tests::frame::payload(frame, 0)))
        .collect();
    assert_eq!(payloads, ["0001410809450a0b46", "0e0f48"]);
    let explained = folder.drdma(&["explain", "job.json"]).stdout;
    let shown = block(JOB_FILES, "", "bounding boxes: keys");
    assert_eq!(String::from_utf8(explained).unwrap(), shown);
}

/// The example is built, and run, by libdrdma's tests.
#[test]
fn the_program_of_the_readme_is_an_example_that_is_run() {
    let shown = block(README, "rust", "post_ssq_send");
    let (_, rest) = EXAMPLE.split_once("    // README\n").unwrap();
    let (part, _) = rest.split_once("    // README\n").unwrap();
    let lines = part.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
    assert_eq!(lines.collect::<Vec<_>>(), shown.lines().collect::<Vec<_>>());
}

#[test]
fn the_figures_of_the_readme_are_those_of_the_results() {
    let results = include_str!("../../docs/results.md");
    let figure = results.split("### Figure 11").nth(1).unwrap();
    for (ours, theirs) in [
        ("scatter-gather lists", "SGE lists"),
        ("a copy first", "copy-out"),
        ("described", "D-RDMA"),
    ] {
        let cells = |text: &str, name: &str| -> Vec<String> {
            let row = text.lines().find(|line| line.starts_with(&format!("| {name}")));
            let row = row.unwrap_or_else(|| panic!("no row {name}"));
            row.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let (ours, theirs) = (cells(README, ours), cells(figure, theirs));
        // Gb/s, CPU, limit there; Gb/s, of a core, limit here.
        assert_eq!(ours[2..5], theirs[5..8]);
    }
}

#[test]
fn every_page_is_in_the_books_index() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let index = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    for page in std::fs::read_dir(&docs).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") && name != "SUMMARY.md" {
            assert!(index.contains(&format!("({name})")), "{name} is not in docs/SUMMARY.md");
        }
    }
    let links = index.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for link in links {
        assert!(docs.join(link).is_file(), "docs/SUMMARY.md names {link}");
    }
}
