//! `cargo xtask vm`: the driver in a guest of QEMU, whose kernel, IOMMU and `vfio-pci` are the real
//! ones, and which needs neither KVM nor modules of this machine.
//!
//! What it takes from Debian (QEMU, busybox, a kernel) goes to `target/vm`, once: about 600 MB.

mod cpio;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{self, Stdio},
};

use cpio::Archive;

use crate::{Error, cargo, root, setup};

/// Fetches a guest's parts into the folder `$1`, as root. QEMU is from the backports, where it is new
/// enough (10.1) to connect to devices outside of it. The kernel's package is unpacked and not
/// installed: no boot loader, no initramfs.
const FETCH: &str = r#"
cd "$1"
# What debootstrap mounts, and leaves mounted if it is interrupted.
umount debian/proc debian/sys 2>/dev/null || true
rm -rf --one-file-system debian kernel
mirror=http://deb.debian.org/debian
debootstrap --variant=minbase trixie debian $mirror
echo "deb $mirror trixie-backports main" > debian/etc/apt/sources.list.d/backports.list
chroot debian apt-get update
install="apt-get install --yes --no-install-recommends"
chroot debian $install --target-release trixie-backports qemu-system-x86
chroot debian $install busybox-static
kernel=$(chroot debian apt-cache depends linux-image-amd64 |
    sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p' | head -n 1)
chroot debian sh -c "cd /root && apt-get download $kernel"
dpkg-deb --extract debian/root/linux-image-*.deb kernel
"#;
/// What the guest's program is built for.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The modules of the guest's kernel, in the order in which they are loaded; what a kernel does not
/// have as a module is built into it.
const MODULES: [&str; 6] =
    ["irqbypass", "iommufd", "vfio", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci"];
/// A device on its own; and behind a bridge, which makes them one IOMMU group, another one and a
/// serial port that the guest's kernel drives.
const DEVICES: [&str; 8] = [
    "-device",
    "edu,addr=1",
    "-device",
    "pcie-pci-bridge,id=bridge,addr=2",
    "-device",
    "edu,bus=bridge,addr=1",
    "-device",
    "pci-serial,bus=bridge,addr=2",
];
/// Seconds after which a guest has hung.
const PATIENCE: &str = "300";
/// What the guest prints when its program has ended well.
const PASSED: &str = "guest: exit code 0";

/// The guest's first program: loads the modules and runs the test.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
for module in /modules/*; do /bin/busybox insmod $module || echo \"guest: $module failed\"; done
echo 4 > /proc/sys/vm/nr_hugepages
/bin/test
echo \"guest: exit code $?\"
/bin/busybox poweroff -f
";

/// Runs the driver's test of VFIO in a guest.
pub fn run() -> Result<(), Error> {
    let vm = Vm { folder: root().join("target/vm") };
    vm.prepare()?;
    let program = static_program("edu")?;
    let initramfs = vm.folder.join("edu.cpio");
    fs::write(&initramfs, vm.archive(&program)?).map_err(file(&initramfs))?;
    vm.boot(&initramfs, &DEVICES)
}

fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::File { path: path.to_owned(), source }
}

/// Builds an example of the driver that needs no libraries, and reads it.
fn static_program(example: &str) -> Result<Vec<u8>, Error> {
    let flag = "target.x86_64-unknown-linux-gnu.rustflags=[\"-C\", \"target-feature=+crt-static\"]";
    cargo()
        .args(["build", "--package", "drdma-driver", "--example", example])
        .args(["--target", TARGET, "--config", flag])
        .run()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    let path = target.join(TARGET).join("debug/examples").join(example);
    fs::read(&path).map_err(file(&path))
}

/// What a guest is made of.
struct Vm {
    folder: PathBuf,
}

impl Vm {
    /// A tree of Debian's with QEMU and busybox.
    fn debian(&self) -> PathBuf {
        self.folder.join("debian")
    }

    /// The kernel's package, unpacked.
    fn kernel(&self) -> PathBuf {
        self.folder.join("kernel")
    }

    /// Fetches what is not there yet.
    fn prepare(&self) -> Result<(), Error> {
        // The last file that is made; what was left half done is made again.
        let done = self.folder.join("done");
        if done.exists() {
            return Ok(());
        }
        setup::install(&["debootstrap", "xz-utils"], "the guest")?;
        fs::create_dir_all(&self.folder).map_err(file(&self.folder))?;
        let folder = self.folder.display().to_string();
        setup::as_root().args(["sh", "-ec", FETCH, "sh", &folder]).run()?;
        fs::write(&done, "").map_err(file(&done))
    }

    /// What the guest has instead of a disk: busybox, modules, and a program to run.
    fn archive(&self, program: &[u8]) -> Result<Vec<u8>, Error> {
        let mut archive = Archive::default();
        for folder in ["bin", "dev", "modules", "proc", "sys"] {
            archive.folder(folder);
        }
        let busybox = self.debian().join("bin/busybox");
        archive.file("bin/busybox", &fs::read(&busybox).map_err(file(&busybox))?);
        archive.file("bin/test", program);
        archive.file("init", INIT.as_bytes());
        let mut files = Vec::new();
        find(&self.kernel(), &mut files)?;
        for (number, module) in MODULES.iter().enumerate() {
            let name = format!("{module}.ko.xz");
            if let Some(path) = files.iter().find(|path| path.ends_with(&name)) {
                // The shell loads them in the order of their names.
                archive.file(&format!("modules/{number}-{module}.ko"), &unpack(path)?);
            }
        }
        Ok(archive.finish())
    }

    /// Boots a guest and waits until its program has ended.
    fn boot(&self, initramfs: &Path, devices: &[&str]) -> Result<(), Error> {
        let debian = self.debian();
        let kernel = entries(&self.kernel().join("boot"))?;
        let is_kernel = |path: &&PathBuf| {
            path.file_name().is_some_and(|n| n.display().to_string().starts_with("vmlinuz"))
        };
        let kernel = kernel.iter().find(is_kernel);
        let kernel = kernel.ok_or_else(|| Error::Guest("its kernel is not there".to_owned()))?;
        let mut qemu = process::Command::new("timeout");
        qemu.arg(PATIENCE)
            // From its tree, with the libraries of that tree.
            .arg(debian.join("lib64/ld-linux-x86-64.so.2"))
            .arg("--library-path")
            .arg(debian.join("usr/lib/x86_64-linux-gnu"))
            .arg(debian.join("usr/bin/qemu-system-x86_64"))
            .arg("-L")
            .arg(debian.join("usr/share/qemu"))
            .arg("-L")
            .arg(debian.join("usr/share/seabios"))
            .args(["-accel", "tcg", "-m", "512M"])
            .args(["-M", "q35,kernel-irqchip=split,memory-backend=m"])
            .args(["-object", "memory-backend-memfd,id=m,size=512M,share=on"])
            .args(["-device", "intel-iommu,intremap=on,caching-mode=on"])
            .args(["-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"])
            .args(devices)
            .arg("-kernel")
            .arg(kernel)
            .arg("-initrd")
            .arg(initramfs)
            .args(["-append", "console=ttyS0 intel_iommu=on panic=-1 quiet"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        watch(&mut qemu)
    }
}

/// Shows what a guest prints, and finds out how it ended.
fn watch(qemu: &mut process::Command) -> Result<(), Error> {
    let start = |source| Error::Start { program: "timeout".to_owned(), source };
    let mut guest = qemu.spawn().map_err(start)?;
    let output = guest.stdout.take().expect("its output is a pipe");
    let mut passed = false;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.map_err(start)?;
        let line = String::from_utf8_lossy(&line);
        println!("{}", line.trim_end());
        passed |= line.contains(PASSED);
    }
    let status = guest.wait().map_err(start)?;
    match passed && status.success() {
        true => Ok(()),
        false => Err(Error::Guest(format!("its test failed ({status})"))),
    }
}

fn unpack(path: &Path) -> Result<Vec<u8>, Error> {
    let start = |source| Error::Start { program: "xz".to_owned(), source };
    let unpacked = process::Command::new("xz").args(["-dc"]).arg(path).output().map_err(start)?;
    match unpacked.status.success() {
        true => Ok(unpacked.stdout),
        false => Err(Error::Guest(format!("{} cannot be unpacked", path.display()))),
    }
}

/// What is in a folder, by name.
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

    fn guest(script: &str) -> Result<(), Error> {
        watch(process::Command::new("sh").args(["-c", script]).stdout(Stdio::piped()))
    }

    #[test]
    fn a_guest_has_passed_if_it_says_so_and_ends_well() {
        assert!(guest("echo booted; echo 'guest: exit code 0'").is_ok());
        for script in [
            "true",
            "echo 'guest: exit code 1'",
            "echo 'guest: exit code 0'; exit 124",
            "kill -9 $$",
        ] {
            let error = guest(script).unwrap_err().to_string();
            assert!(error.starts_with("the guest: its test failed ("), "{error}");
        }
        let error = watch(process::Command::new("/nowhere/timeout").stdout(Stdio::piped()));
        assert!(error.unwrap_err().to_string().starts_with("cannot start timeout: "));
    }

    #[test]
    fn what_cannot_be_unpacked_or_read_is_named() {
        let error = unpack(Path::new("/nowhere/vfio.ko.xz")).unwrap_err().to_string();
        assert!(error.contains("xz"), "{error}");
        let error = entries(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere: "), "{error}");
        let vm = Vm { folder: "/nowhere".into() };
        let error = vm.boot(Path::new("x.cpio"), &[]).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/kernel/boot: "), "{error}");
        assert!(vm.archive(b"").is_err());
    }
}
