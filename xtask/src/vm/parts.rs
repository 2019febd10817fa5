//! Parts of guests: Debian's QEMU, kernel and libraries, kept outside of the source tree.

use std::{
    collections::HashSet,
    env, fs,
    path::{Path, PathBuf},
    process,
};

use super::{cpio::Archive, file};
use crate::{Error, setup};

/// Environment variable with the folder where the parts are kept.
const CACHE: &str = "DRDMA_VM_CACHE";
/// Fetches a guest's parts into the folder `$1`, as root. QEMU is from the backports, where it is new
/// enough (10.1) to connect to devices outside of it. The kernel's package is unpacked and not
/// installed: no boot loader, no initramfs. Everything is checked against Debian's keys: by
/// debootstrap, which would go on without them, because it is told to, and by apt as always.
const FETCH: &str = r#"
cd "$1"
# What debootstrap mounts, and leaves mounted if it is interrupted.
umount debian/proc debian/sys 2>/dev/null || true
rm -rf --one-file-system debian kernel
mirror=http://deb.debian.org/debian
keys=/usr/share/keyrings/debian-archive-keyring.gpg
debootstrap --force-check-gpg --keyring=$keys --variant=minbase trixie debian $mirror
echo "deb $mirror trixie-backports main" > debian/etc/apt/sources.list.d/backports.list
chroot debian apt-get update
install="apt-get install --yes --no-install-recommends"
chroot debian $install --target-release trixie-backports qemu-system-x86
chroot debian $install busybox-static iproute2 ibverbs-providers libibverbs-dev libc6-dev
kernel=$(chroot debian apt-cache depends linux-image-amd64 |
    sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p' | head -n 1)
chroot debian sh -c "cd /root && apt-get download $kernel"
dpkg-deb --extract debian/root/linux-image-*.deb kernel
rm debian/root/linux-image-*.deb
chroot debian apt-get clean
rm -rf debian/var/lib/apt/lists
"#;
/// Edition of the fetched parts: parts of another edition are fetched anew.
const EDITION: &str = "2: QEMU, kernel, busybox, libibverbs\n";
/// Packages of this machine that fetching needs.
const TOOLS: [&str; 3] = ["debootstrap", "debian-archive-keyring", "xz-utils"];

/// The parts, once they are fetched.
#[derive(Debug)]
pub struct Parts {
    folder: PathBuf,
}

/// System whose libraries a program uses.
#[derive(Clone, Copy, Debug)]
pub enum System {
    /// The system of this machine.
    Host,
    /// The Debian tree.
    Debian,
}

impl Parts {
    /// Fetches the parts that are not there yet.
    pub fn fetch() -> Result<Self, Error> {
        let parts = Self { folder: folder()? };
        // This file is made last; without it the parts are incomplete and fetched again.
        let done = parts.folder.join("done");
        if fs::read_to_string(&done).is_ok_and(|edition| edition == EDITION) {
            eprintln!("The guests' parts are in {}", parts.folder.display());
            return Ok(parts);
        }
        eprintln!("Fetching the guests' parts into {}", parts.folder.display());
        setup::install(&TOOLS, "the guest")?;
        fs::create_dir_all(&parts.folder).map_err(file(&parts.folder))?;
        let path = parts.folder.display().to_string();
        setup::as_root().args(["sh", "-ec", FETCH, "sh", &path]).run()?;
        fs::write(&done, EDITION).map_err(file(&done))?;
        Ok(parts)
    }

    /// Parts in that folder, whether they are there or not.
    #[cfg(test)]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The Debian tree, with QEMU, busybox and libibverbs.
    pub fn debian(&self) -> PathBuf {
        self.folder.join("debian")
    }

    /// The libraries of that tree.
    pub fn libraries(&self) -> PathBuf {
        self.debian().join("usr/lib/x86_64-linux-gnu")
    }

    /// A command line that runs a program of that tree, by its own loader and libraries.
    pub fn program(&self, path: &str) -> Vec<PathBuf> {
        let loader = self.debian().join("lib64/ld-linux-x86-64.so.2");
        vec![loader, "--library-path".into(), self.libraries(), self.debian().join(path)]
    }

    /// Path of the kernel.
    pub fn kernel(&self) -> Result<PathBuf, Error> {
        let is_kernel = |path: &PathBuf| {
            path.file_name().is_some_and(|n| n.display().to_string().starts_with("vmlinuz"))
        };
        let kernel = entries(&self.folder.join("kernel/boot"))?.into_iter().find(is_kernel);
        kernel.ok_or_else(|| Error::Guest("its kernel is not there".to_owned()))
    }

    /// An archive with busybox, the kernel's `modules` with all that they need, in the order in
    /// which they are loaded, and the program that is started first.
    pub fn archive(&self, modules: &[&str], init: &str) -> Result<Archive, Error> {
        let mut archive = Archive::default();
        let busybox = self.debian().join("bin/busybox");
        for folder in ["dev", "proc", "sys", "tmp"] {
            archive.folder(folder);
        }
        archive.file("bin/busybox", &read(&busybox)?);
        archive.file("init", init.as_bytes());
        let mut files = Vec::new();
        find(&self.folder.join("kernel"), &mut files)?;
        let mut loaded = Modules { files, seen: HashSet::new(), in_order: Vec::new() };
        modules.iter().try_for_each(|module| loaded.add(module))?;
        for (number, (name, bytes)) in loaded.in_order.iter().enumerate() {
            // The shell loads them in the order of their names.
            archive.file(&format!("modules/{number:02}-{name}.ko"), bytes);
        }
        Ok(archive)
    }

    /// Adds a program, its libraries and its loader.
    pub fn add_program(
        &self,
        archive: &mut Archive,
        system: System,
        program: &Path,
        path: &str,
    ) -> Result<(), Error> {
        archive.file(path, &read(program)?);
        for (name, library) in self.libraries_of(system, program)? {
            if !archive.contains(&name) {
                archive.file(&name, &read(&library)?);
            }
        }
        Ok(())
    }

    /// The libraries that a program is loaded with and its loader: the paths at which it looks for them, and
    /// their paths here.
    fn libraries_of(
        &self,
        system: System,
        program: &Path,
    ) -> Result<Vec<(String, PathBuf)>, Error> {
        let loader = "lib64/ld-linux-x86-64.so.2";
        let mut command = match system {
            System::Host => process::Command::new(Path::new("/").join(loader)),
            System::Debian => {
                let mut command = process::Command::new(self.debian().join(loader));
                command.arg("--library-path").arg(self.libraries());
                command
            }
        };
        let start = |source| Error::Start { program: loader.to_owned(), source };
        let output = command.arg("--list").arg(program).output().map_err(start)?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Error::Guest(format!("the libraries of {}: {text}", program.display())));
        }
        Ok(libraries(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// The folder where the parts are kept.
fn folder() -> Result<PathBuf, Error> {
    let from = |name: &str, rest: &str| {
        let value = env::var_os(name).filter(|value| !value.is_empty())?;
        Some(PathBuf::from(value).join(rest))
    };
    from(CACHE, "")
        .or_else(|| from("XDG_CACHE_HOME", "drdma/vm"))
        .or_else(|| from("HOME", ".cache/drdma/vm"))
        .ok_or_else(|| Error::Tools(format!("there is no home folder: set {CACHE}")))
}

/// The libraries in a loader's list: lines like `libc.so.6 => /lib/libc.so.6 (0x7f00)`.
fn libraries(list: &str) -> Vec<(String, PathBuf)> {
    let library = |line: &str| {
        let (name, path) = line.split_once(" => ")?;
        let path = path.split(" (").next()?;
        let name = match name.trim().strip_prefix('/') {
            Some(loader) => loader.to_owned(),
            None => format!("lib/{}", name.trim()),
        };
        Some((name, PathBuf::from(path)))
    };
    let mut all: Vec<_> = list.lines().filter_map(library).collect();
    // A loader at the path where it is looked for is listed without an arrow.
    let loader = list.lines().find_map(|line| line.trim().strip_prefix("/lib64/ld-linux"));
    if let Some(loader) = loader.filter(|loader| !loader.contains("=>")) {
        let name = format!("lib64/ld-linux{}", loader.split(" (").next().unwrap_or_default());
        all.push((name.clone(), Path::new("/").join(name)));
    }
    all
}

/// Modules of a kernel, in the order in which they can be loaded.
struct Modules {
    files: Vec<PathBuf>,
    seen: HashSet<String>,
    in_order: Vec<(String, Vec<u8>)>,
}

impl Modules {
    /// Adds a module behind those that it needs. A module that the kernel does not have as a file is built
    /// into it.
    fn add(&mut self, name: &str) -> Result<(), Error> {
        let name = name.replace('-', "_");
        if !self.seen.insert(name.clone()) {
            return Ok(());
        }
        let is_it = |path: &&PathBuf| {
            let file = path.file_name().map(|name| name.display().to_string());
            file.is_some_and(|file| file.replace('-', "_") == format!("{name}.ko.xz"))
        };
        let Some(path) = self.files.iter().find(is_it) else { return Ok(()) };
        let bytes = unpack(path)?;
        for needed in depends(&bytes) {
            self.add(&needed)?;
        }
        self.in_order.push((name, bytes));
        Ok(())
    }
}

/// The names of the modules that a module depends on.
fn depends(module: &[u8]) -> Vec<String> {
    const FIELD: &[u8] = b"\0depends=";
    let Some(at) = module.windows(FIELD.len()).position(|bytes| bytes == FIELD) else {
        return Vec::new();
    };
    let text = module[at + FIELD.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(text);
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn unpack(path: &Path) -> Result<Vec<u8>, Error> {
    let start = |source| Error::Start { program: "xz".to_owned(), source };
    let unpacked = process::Command::new("xz").args(["-dc"]).arg(path).output().map_err(start)?;
    match unpacked.status.success() {
        true => Ok(unpacked.stdout),
        false => Err(Error::Guest(format!("{} cannot be unpacked", path.display()))),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(file(path))
}

/// The files and folders in a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = fs::read_dir(folder).map_err(file(folder))?;
    let mut paths: Vec<_> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// Every file below a folder.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    for path in entries(folder)? {
        match path.is_dir() && !path.is_symlink() {
            true => find(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_unpacked_or_read_is_named() {
        let error = unpack(Path::new("/nowhere/vfio.ko.xz")).unwrap_err().to_string();
        assert!(error.contains("xz"), "{error}");
        let error = entries(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere: "), "{error}");
        let parts = Parts::at("/nowhere");
        let error = parts.kernel().unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/kernel/boot: "), "{error}");
        assert!(parts.archive(&[], "").is_err());
        let mut archive = Archive::default();
        let error = parts.add_program(&mut archive, System::Host, "/nowhere/x".as_ref(), "x");
        assert!(error.unwrap_err().to_string().starts_with("/nowhere/x: "));
        let error = parts.libraries_of(System::Host, "/nowhere/x".as_ref()).unwrap_err();
        assert!(error.to_string().contains("the libraries of /nowhere/x: "), "{error}");
    }

    #[test]
    fn a_loaders_list_is_read() {
        let list = "\tlinux-vdso.so.1 (0x00007f)\n\
                    \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 => /tree/lib64/ld-linux-x86-64.so.2 (0x7)\n";
        let pair = |name: &str, path: &str| (name.to_owned(), PathBuf::from(path));
        let libm = pair("lib/libm.so.6", "/lib/x86_64-linux-gnu/libm.so.6");
        let loader = "lib64/ld-linux-x86-64.so.2";
        assert_eq!(
            libraries(list),
            [libm.clone(), pair(loader, "/tree/lib64/ld-linux-x86-64.so.2")]
        );
        let list = list.replace(" => /tree/lib64/ld-linux-x86-64.so.2", "");
        assert_eq!(libraries(&list), [libm, pair(loader, "/lib64/ld-linux-x86-64.so.2")]);
    }

    #[test]
    fn a_module_says_what_it_needs() {
        let module = b"\x7fELF\0license=GPL\0depends=ib_core,udp_tunnel\0name=rdma_rxe\0";
        assert_eq!(depends(module), ["ib_core", "udp_tunnel"]);
        assert!(depends(b"\0depends=\0").is_empty());
        assert!(depends(b"\x7fELF").is_empty());
    }
}
