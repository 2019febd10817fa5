//! Packages and manifests of a board's bitstream, in a Corundum tree.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use drdma_bitstreams::{
    Board, Corundum, Manifest, Package,
    corundum::{CHECKED, MODULE},
    package::MANIFEST,
};

use crate::{Error, command::step, registers, target, verilog_to};

/// The values of options, each of which may be given once, and other arguments.
struct Arguments<'a> {
    options: Vec<(&'a str, &'a str)>,
    left: Vec<&'a str>,
}

impl<'a> Arguments<'a> {
    fn of(args: &'a [String], known: &[&str]) -> Result<Self, Error> {
        let (mut options, mut left) = (Vec::new(), Vec::new());
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            let Some(option) = arg.strip_prefix("--") else {
                left.push(arg);
                continue;
            };
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (option, None),
            };
            if !known.contains(&name) || options.iter().any(|(other, _)| *other == name) {
                return Err(Error::Usage(format!("`{arg}` is not expected here")));
            }
            let value = value.or_else(|| args.next());
            let value = value.ok_or_else(|| Error::Usage(format!("`{arg}` needs a value")))?;
            options.push((name, value));
        }
        Ok(Self { options, left })
    }

    fn get(&self, name: &str) -> Result<&'a str, Error> {
        let found = self.options.iter().find(|(option, _)| *option == name);
        let missing = || Error::Usage(format!("`--{name}` is missing"));
        found.map(|(_, value)| *value).ok_or_else(missing)
    }

    fn board(&self) -> Result<&'static Board, Error> {
        let name = self.get("board")?;
        name.parse().map_err(|error| Error::Usage(format!("{error}")))
    }
}

fn failed(error: impl fmt::Display) -> Error {
    Error::Bitstream(error.to_string())
}

/// `bitstream`: writes the files of a build.
pub fn package(args: &[String]) -> Result<(), Error> {
    let args = Arguments::of(args, &["board", "corundum", "out"])?;
    if let Some(arg) = args.left.first() {
        return Err(Error::Usage(format!("`{arg}` is not expected here")));
    }
    let (board, corundum, out) = (args.board()?, args.get("corundum")?, args.get("out")?);
    let corundum = Corundum::open(Path::new(corundum));
    // The board is looked for before the card is emitted, which takes longer.
    step("Looking for the board in Corundum's tree", || {
        corundum.board_file(board, "Makefile").map_err(failed)
    })?;
    let folder = target().join("bitstream");
    verilog_to(&folder).mute().run()?;
    let path = folder.join(format!("{MODULE}.v"));
    let card = fs::read_to_string(&path).map_err(|source| Error::File { path, source })?;
    let package = step("Comparing the card with Corundum's shell", || {
        Package::new(&corundum, board, &card, &registers::document()).map_err(failed)
    })?;
    let what = format!("Writing the files of the build to {out}");
    step(&what, || package.write(Path::new(out)).map_err(failed))?;
    for path in package.files.keys() {
        println!("{}", PathBuf::from(out).join(path).display());
    }
    if !corundum.is_checked() {
        let commit = corundum.commit.as_deref().unwrap_or("unknown");
        eprintln!("note: this Corundum is of commit {commit}; the card was simulated in {CHECKED}");
    }
    eprintln!(
        "Copy the folder `fpga` over Corundum's (cp -r {out}/fpga {}/), and run `make` in {}.",
        args.get("corundum")?,
        Corundum::build_folder(board)
    );
    Ok(())
}

/// `seal`: writes the manifest of a bitstream.
pub fn seal(args: &[String]) -> Result<(), Error> {
    let args = Arguments::of(args, &["board", "corundum"])?;
    let [image] = args.left[..] else {
        return Err(Error::Usage("`seal` needs one IMAGE".to_owned()));
    };
    let root = Path::new(args.get("corundum")?);
    let path = root.join(Corundum::build_folder(args.board()?)).join(MANIFEST);
    let manifest = Manifest::read(&path).map_err(failed)?;
    let sealed = step("Comparing the build's files with their manifest", || {
        manifest.seal(root, Path::new(image)).map_err(failed)
    })?;
    println!("{}", sealed.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(args: &[&str]) -> Vec<String> {
        args.iter().map(|arg| (*arg).to_owned()).collect()
    }

    #[test]
    fn options_are_read_in_any_order_and_form() {
        let args = strings(&["--out=o", "image", "--board", "au50"]);
        let args = Arguments::of(&args, &["board", "out"]).unwrap();
        assert_eq!((args.get("out").unwrap(), args.board().unwrap().name.as_str()), ("o", "au50"));
        assert_eq!(args.left, ["image"]);
    }

    #[test]
    fn what_is_wrong_on_the_command_line_is_named() {
        for (args, text) in [
            (&["--bord", "au50"][..], "`--bord` is not expected here"),
            (&["--board", "au50", "--board=au50"], "`--board=au50` is not expected here"),
            (&["--board", "au50", "--corundum"], "`--corundum` needs a value"),
            (&["--board", "au51", "--corundum", "c", "--out", "o"], "there is no board `au51`"),
            (&["--board", "au50", "--corundum", "c"], "`--out` is missing"),
            (&["x"], "`x` is not expected here"),
        ] {
            let error = package(&strings(args)).unwrap_err();
            assert!(matches!(error, Error::Usage(_)));
            assert!(error.to_string().starts_with(text), "{error}");
        }
        let error = seal(&strings(&["--board", "au50"])).unwrap_err().to_string();
        assert!(error.starts_with("`seal` needs one IMAGE"), "{error}");
        let args = strings(&["--board", "au50", "--corundum", "/nowhere", "fpga.bit"]);
        let error = seal(&args).unwrap_err().to_string();
        assert!(error.contains("fpga_AU50_app_drdma/drdma-manifest.json: No such file"), "{error}");
        let args = strings(&["--board", "au50", "--corundum", "/nowhere", "--out", "o"]);
        let error = package(&args).unwrap_err().to_string();
        assert!(error.contains("which Alveo U50 is built in"), "{error}");
    }
}
