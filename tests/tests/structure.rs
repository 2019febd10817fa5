//! Structure of the workspace: no module imports one that imports it, and the reference card is
//! built without RTL.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Crates whose modules are looked at.
const CRATES: [&str; 6] = ["verilated", "sim", "serve", "cli", "soft", "semantics"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("in the workspace").to_owned()
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("tests") || path.ends_with("cards") => {}
            true => sources(&path, into),
            false if path.ends_with("tests.rs") => {}
            false => into.push(path),
        }
    }
}

/// The top-level modules that a source names as `crate::module`, or in `use crate::{module, ...}`.
fn imports(text: &str) -> BTreeSet<String> {
    let text = text.split("\nmod tests {").next().unwrap_or(text);
    let code: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut found = BTreeSet::new();
    for part in code.join("\n").split("crate::").skip(1) {
        match part.strip_prefix('{') {
            None => found.extend(word(part)),
            Some(list) => {
                let mut depth = 0;
                let mut item = String::new();
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => found.extend(word(&std::mem::take(&mut item))),
                        _ if depth == 0 => item.push(c),
                        _ => {}
                    }
                }
                found.extend(word(&item));
            }
        }
    }
    found
}

fn word(text: &str) -> Option<String> {
    let end = |c: char| !c.is_alphanumeric() && c != '_';
    let word = text.trim().split(end).next()?;
    (!word.is_empty()).then(|| word.to_owned())
}

/// The top-level modules that each top-level module imports.
fn graph(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    sources(source, &mut files);
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let relative = file.strip_prefix(source).unwrap().to_string_lossy().into_owned();
        let module = relative.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        if ["lib", "main"].contains(&module.as_str()) {
            continue;
        }
        let named = imports(&fs::read_to_string(&file).unwrap());
        graph.entry(module).or_default().extend(named);
    }
    let modules: BTreeSet<_> = graph.keys().cloned().collect();
    for (module, named) in &mut graph {
        named.retain(|name| name != module && modules.contains(name));
    }
    graph
}

/// A path from a module back to itself.
fn circle(graph: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn visit(
        graph: &BTreeMap<String, BTreeSet<String>>,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> bool {
        let at = path.last().expect("it starts somewhere").clone();
        for next in &graph[&at] {
            if let Some(start) = path.iter().position(|module| module == next) {
                path.drain(..start);
                return true;
            }
            path.push(next.clone());
            if !done.contains(next) && visit(graph, path, done) {
                return true;
            }
            path.pop();
        }
        done.insert(at);
        false
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|module| {
        let mut path = vec![module.clone()];
        (!done.contains(module) && visit(graph, &mut path, &mut done)).then_some(path)
    })
}

#[test]
fn no_module_imports_one_that_imports_it() {
    for name in CRATES {
        let graph = graph(&root().join(name).join("src"));
        assert!(graph.len() > 1, "{name} has no modules");
        assert_eq!(circle(&graph), None, "in {name}");
    }
}

#[test]
fn a_circle_is_found() {
    let modules = |text: &str| imports(text).into_iter().collect::<BTreeSet<_>>();
    let graph = BTreeMap::from([
        ("a".to_owned(), modules("use crate::{b::{X, Y}, c};\n// crate::a is only named here")),
        ("b".to_owned(), modules("fn f() { crate::c::g() }")),
        ("c".to_owned(), modules("use crate::b;")),
    ]);
    assert_eq!(graph["a"].len(), 2);
    assert_eq!(circle(&graph), Some(vec!["b".to_owned(), "c".to_owned()]));
}

/// The crates that a crate is built from.
fn dependencies(name: &str) -> String {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--prefix", "none", "--edges", "normal,build", "-p", name])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_reference_card_is_built_without_rtl() {
    let rtl = ["drdma-hdl", "drdma-verilated", "rust-hdl-core", "libloading"];
    let has =
        |tree: &str, name: &str| tree.lines().any(|line| line.split(' ').next() == Some(name));
    for name in ["drdma-semantics", "drdma-soft", "libdrdma"] {
        let tree = dependencies(name);
        assert!(has(&tree, name) && has(&tree, "drdma-abi"), "{tree}");
        let found: Vec<_> = rtl.into_iter().filter(|rtl| has(&tree, rtl)).collect();
        assert_eq!(found, Vec::<&str>::new(), "{name} is built from these");
    }
    assert!(has(&dependencies("drdma-sim"), "drdma-hdl"), "what is looked for has another name");
}
