//! The C interface, installed: libraries, header, pkg-config file.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{Error, cargo, root, target};

/// `capi --prefix DIR`.
pub fn install(args: &[String]) -> Result<(), Error> {
    let prefix = match args {
        [flag, dir] if flag == "--prefix" => dir,
        _ => return Err(Error::Usage("`capi` needs `--prefix DIR`".to_owned())),
    };
    let folder = env::current_dir().map_err(|source| Error::File { path: ".".into(), source })?;
    let prefix = folder.join(prefix);
    cargo().args(["build", "--release", "--package", "drdma-capi"]).run()?;
    let (built, capi) = (target().join("release"), root().join("capi"));
    for (from, to) in [
        (built.join("libdrdma.so"), "lib/libdrdma.so"),
        (built.join("libdrdma.a"), "lib/libdrdma.a"),
        (capi.join("include/drdma.h"), "include/drdma.h"),
    ] {
        let to = made(prefix.join(to))?;
        fs::copy(&from, &to).map_err(|source| Error::File { path: from, source })?;
    }
    let template = capi.join("drdma.pc.in");
    let text = fs::read_to_string(&template);
    let text = text.map_err(|source| Error::File { path: template, source })?;
    let to = made(prefix.join("lib/pkgconfig/drdma.pc"))?;
    fs::write(&to, filled(&text, &prefix)).map_err(|source| Error::File { path: to, source })
}

/// The path of a file, after its folder was made.
fn made(path: PathBuf) -> Result<PathBuf, Error> {
    let folder = path.parent().expect("a folder");
    fs::create_dir_all(folder).map_err(|source| Error::File { path: folder.to_owned(), source })?;
    Ok(path)
}

fn filled(template: &str, prefix: &Path) -> String {
    template
        .replace("@PREFIX@", &prefix.display().to_string())
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pkg_config_file_names_where_things_are() {
        let text = filled(include_str!("../../capi/drdma.pc.in"), Path::new("/opt/drdma"));
        assert!(text.starts_with("prefix=/opt/drdma\nlibdir=${prefix}/lib\n"), "{text}");
        assert!(text.contains("\nVersion: 0.") && !text.contains('@'), "{text}");
    }

    #[test]
    fn a_prefix_is_needed() {
        let error = install(&["/opt".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("`capi` needs `--prefix DIR`"), "{error}");
    }
}
