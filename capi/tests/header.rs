//! `include/drdma.h` is the header that cbindgen generates from the sources.

use std::{env, fs, path::Path};

#[test]
fn the_header_is_that_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_crate(root)
        .with_config(config)
        .generate()
        .expect("a header")
        .write(&mut made);
    let path = root.join("include/drdma.h");
    if env::var_os("DRDMA_UPDATE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let found = fs::read(&path).unwrap_or_default();
    assert!(found == made, "run this test with DRDMA_UPDATE=1 to make {} anew", path.display());
}
