//! The simulated card against the soft-RoCE of a guest's kernel.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
};

use super::{
    file,
    guest::{self, Guest},
    images,
    parts::{Parts, System},
};
use crate::{Error, cargo, root};

/// The modules of the peer's kernel. rxe asks for its CRC by name when it is loaded.
const PEER_MODULES: [&str; 4] = ["virtio_net", "crc32_generic", "rdma_rxe", "ib_uverbs"];

/// The peer's first program: makes a verbs device of its network card and lets the peer's program
/// talk through a virtual serial port. The program ends when the tests do.
const PEER_INIT: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
for module in /modules/*; do insmod $module || echo \"guest: $module failed\"; done
ip link set lo up
ip link set eth0 mtu 4200 up
ip address add 10.0.0.2/24 dev eth0
arp -s 10.0.0.1 02:00:00:00:00:01
rdma link add rxe0 type rxe netdev eth0
rdma link
# It is numbered with all virtio devices, and can be opened once.
port=$(echo /dev/vport*p1)
peer <> $port >&0
code=$?
for counter in /sys/class/infiniband/rxe0/ports/1/hw_counters/*; do
    echo \"rxe0 ${counter##*/} $(cat $counter)\"
done
echo \"guest: exit code $code\"
poweroff -f
";

/// Runs the tests of the card against the peer in a guest.
pub fn run(parts: &Parts) -> Result<(), Error> {
    let tests = ["test", "--package", "drdma-tests", "--test", "soft_roce"];
    // Before the guest runs: it waits for the tests and not for the compiler.
    cargo().args(tests).arg("--no-run").run()?;
    let sockets = tempfile::tempdir().map_err(file(Path::new("a temporary folder")))?;
    let peer = boot_peer(parts, sockets.path())?;
    let folder = sockets.path().display().to_string();
    let result = cargo()
        .env("DRDMA_LAB", &folder)
        .args(tests)
        .args(["--", "--ignored", "--test-threads=1", "--nocapture"])
        .run();
    // The peer ends when nobody is connected to it any more.
    result.and(peer.wait())
}

/// Boots the guest with the peer. Its sockets are in `folder`: `guest`, its network card, which
/// sends to `guest-remote`; and `peer`, its program.
fn boot_peer(parts: &Parts, folder: &Path) -> Result<Guest, Error> {
    let program = compile_peer(parts)?;
    let mut archive = parts.archive(&PEER_MODULES, PEER_INIT)?;
    let debian = parts.debian();
    parts.add_program(&mut archive, System::Debian, &program, "bin/peer")?;
    parts.add_program(&mut archive, System::Debian, &debian.join("bin/rdma"), "bin/rdma")?;
    let provider = provider(parts)?;
    // libibverbs looks for providers where its package has them.
    let path = format!("usr/lib/x86_64-linux-gnu/libibverbs/{}", name(&provider));
    parts.add_program(&mut archive, System::Debian, &provider, &path)?;
    archive.file("etc/libibverbs.d/rxe.driver", b"driver rxe\n");
    let initramfs = images()?.join("peer.cpio");
    fs::write(&initramfs, archive.finish()).map_err(file(&initramfs))?;

    let path = |name: &str| folder.join(name).display().to_string();
    let (local, remote) = (path("guest"), path("guest-remote"));
    let devices = [
        "-netdev".to_owned(),
        format!(
            "dgram,id=n,local.type=unix,local.path={local},remote.type=unix,remote.path={remote}"
        ),
        "-device".to_owned(),
        "virtio-net-pci,netdev=n,romfile=,mac=02:00:00:00:00:02".to_owned(),
        "-chardev".to_owned(),
        format!("socket,id=c,path={},server=on,wait=off", path("peer")),
        "-device".to_owned(),
        "virtio-serial-pci".to_owned(),
        "-device".to_owned(),
        "virtserialport,chardev=c".to_owned(),
    ];
    guest::boot(parts, "peer", &initramfs, &devices)
}

/// Compiles the peer's program against the headers and libraries of Debian's tree.
fn compile_peer(parts: &Parts) -> Result<PathBuf, Error> {
    let (program, libraries) = (images()?.join("peer"), parts.libraries());
    let mut gcc = process::Command::new("gcc");
    gcc.arg("--sysroot")
        .arg(parts.debian())
        // The compiler's own folders, which are this machine's, come before the tree's otherwise.
        .arg("-B")
        .arg(&libraries)
        .arg("-L")
        .arg(&libraries)
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(root().join("tests/peer/peer.c"))
        .arg("-libverbs");
    let start = |source| Error::Start { program: "gcc".to_owned(), source };
    match gcc.status().map_err(start)?.success() {
        true => Ok(program),
        false => Err(Error::Guest("the peer's program cannot be compiled".to_owned())),
    }
}

/// The part of libibverbs that drives rxe.
fn provider(parts: &Parts) -> Result<PathBuf, Error> {
    let folder = parts.libraries().join("libibverbs");
    let mut files = fs::read_dir(&folder).map_err(file(&folder))?.flatten().map(|f| f.path());
    let provider = files.find(|path| name(path).starts_with("librxe-"));
    provider.ok_or_else(|| Error::Guest(format!("{} has no librxe", folder.display())))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().display().to_string()
}
