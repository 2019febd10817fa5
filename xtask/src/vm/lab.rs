//! The simulated card against the soft-RoCE of a guest's kernel.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{self, Child},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{
    file,
    guest::{self, Guest},
    images,
    parts::{Parts, System},
};
use crate::{Error, build_as_tested, built, cargo, command::Command, root};

/// Name of the file of tests.
const TESTS: &str = "soft_roce";
/// Time that building the simulated hardware may take: usually a minute or two.
const BUILD_PATIENCE: Duration = Duration::from_secs(600);

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

/// The modules of the kernel of the guest that has the card.
const HOST_MODULES: [&str; 3] = ["iommufd", "vfio_iommu_type1", "vfio-pci"];

/// PCI address at which that guest sees the card.
const ADDRESS: &str = "0000:00:04.0";

/// The first program of the guest that has the card: binds it to vfio-pci, and runs the jobs that
/// come through a virtual serial port, each after a line with its length in bytes.
const HOST_INIT: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
for module in /modules/*; do insmod $module || echo \"guest: $module failed\"; done
echo 32 > /proc/sys/vm/nr_hugepages
drdma bind $ADDRESS && drdma devices
code=$?
port=$(echo /dev/vport*p1)
{
    echo ready
    while read -r length; do
        head -c $length > /tmp/job.json
        drdma run /tmp/job.json --device vfio:$ADDRESS --timeout 15 --allow-failures
        echo \"exit $?\"
    done
} <> $port >&0
echo \"guest: exit code $code\"
poweroff -f
";

/// Arguments by which cargo runs a file of tests.
fn tests(name: &str) -> [&str; 4] {
    ["test", "--workspace", "--test", name]
}

/// Path of the built command.
pub(super) fn drdma() -> PathBuf {
    built("drdma")
}

/// Runs the tests with the card in this machine: the peer alone is in a guest.
pub fn run(parts: &Parts) -> Result<(), Error> {
    build_as_tested(&[], TESTS)?;
    let sockets = sockets()?;
    let peer = boot_peer(parts, sockets.path())?;
    // The peer ends when the last connection to it is closed.
    test(cargo(), TESTS, sockets.path()).and(peer.wait())
}

/// Runs the tests with the card in a guest: there, it is behind PCI, an IOMMU and vfio-pci, and the
/// command is the one that drives a board. In truth it is served by a process of this machine.
pub fn run_served(parts: &Parts) -> Result<(), Error> {
    build_as_tested(&["drdma"], TESTS)?;
    let sockets = sockets()?;
    let _server = serve(sockets.path())?;
    let peer = boot_peer(parts, sockets.path())?;
    let host = boot_host(parts, sockets.path())?;
    let cargo = cargo().env("DRDMA_LAB_DEVICE", &format!("vfio:{ADDRESS}"));
    // Jobs only describe what the guest's card sends. They have no receives of it, nor destinations of this machine's
    // tests.
    let senders = ["--skip", "receives::", "--skip", "answers::", "--skip", "requests::"];
    test_with(cargo, TESTS, sockets.path(), &senders).and(host.wait()).and(peer.wait())
}

/// Runs a file of tests in the lab of that folder.
pub(super) fn test(cargo: Command, name: &str, folder: &Path) -> Result<(), Error> {
    test_with(cargo, name, folder, &[])
}

/// Like `test`, with options for the program that runs the tests.
fn test_with(cargo: Command, name: &str, folder: &Path, more: &[&str]) -> Result<(), Error> {
    let folder = folder.display().to_string();
    let options = ["--", "--ignored", "--test-threads=1", "--nocapture"];
    cargo.env("DRDMA_LAB", &folder).args(tests(name)).args(options).args(more).run()
}

/// A folder for sockets, whose paths must be short.
pub(super) fn sockets() -> Result<TempDir, Error> {
    tempfile::tempdir().map_err(file(Path::new("a temporary folder")))
}

/// A process that is ended when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves the simulated hardware as a PCI device, whose wire ends at `card-remote`.
fn serve(folder: &Path) -> Result<Server, Error> {
    let socket = folder.join("pci");
    let (local, remote) = (folder.join("card"), folder.join("card-remote"));
    let drdma = drdma();
    let mut command = process::Command::new(&drdma);
    command
        .args(["serve", "--device", "rtl:", "--socket"])
        .arg(&socket)
        .arg("--wire")
        .arg(format!("dgram:{},{}", local.display(), remote.display()));
    let start = |source| Error::Start { program: drdma.display().to_string(), source };
    let mut server = Server(command.spawn().map_err(start)?);
    let started = Instant::now();
    while !socket.exists() {
        if let Some(status) = server.0.try_wait().map_err(start)? {
            return Err(Error::Guest(format!("its card is not served ({status})")));
        }
        if started.elapsed() > BUILD_PATIENCE {
            return Err(Error::Guest("its card is not served: there is no socket".to_owned()));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(server)
}

/// Boots the guest that has the card. Its program is at the socket `host` in `folder`.
fn boot_host(parts: &Parts, folder: &Path) -> Result<Guest, Error> {
    let init = HOST_INIT.replace("$ADDRESS", ADDRESS);
    let mut archive = parts.archive(&HOST_MODULES, &init)?;
    parts.add_program(&mut archive, System::Host, &drdma(), "bin/drdma")?;
    let initramfs = images()?.join("host.cpio");
    fs::write(&initramfs, archive.finish()).map_err(file(&initramfs))?;
    let socket = folder.join("pci").display().to_string();
    // The default time-out of 5 s is short for a simulation, and ends the connection for good.
    let card = format!(
        r#"{{"driver":"vfio-user-pci","addr":"4","x-msg-timeout":600000,"socket":{{"type":"unix","path":"{socket}"}}}}"#
    );
    let mut devices = vec!["-device".to_owned(), card];
    devices.extend(serial_port(&folder.join("host")));
    guest::boot(parts, "host", &initramfs, &devices)
}

/// A virtual serial port that is a socket of this machine.
pub(super) fn serial_port(path: &Path) -> [String; 6] {
    [
        "-chardev".to_owned(),
        format!("socket,id=c,path={},server=on,wait=off", path.display()),
        "-device".to_owned(),
        "virtio-serial-pci".to_owned(),
        "-device".to_owned(),
        "virtserialport,chardev=c".to_owned(),
    ]
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
    // libibverbs looks for providers at the path of its package.
    let path = format!("usr/lib/x86_64-linux-gnu/libibverbs/{}", name(&provider));
    parts.add_program(&mut archive, System::Debian, &provider, &path)?;
    archive.file("etc/libibverbs.d/rxe.driver", b"driver rxe\n");
    let initramfs = images()?.join("peer.cpio");
    fs::write(&initramfs, archive.finish()).map_err(file(&initramfs))?;

    let path = |name: &str| folder.join(name).display().to_string();
    let (local, remote) = (path("guest"), path("guest-remote"));
    let mut devices = vec![
        "-netdev".to_owned(),
        format!(
            "dgram,id=n,local.type=unix,local.path={local},remote.type=unix,remote.path={remote}"
        ),
        "-device".to_owned(),
        "virtio-net-pci,netdev=n,romfile=,mac=02:00:00:00:00:02".to_owned(),
    ];
    devices.extend(serial_port(&folder.join("peer")));
    guest::boot(parts, "peer", &initramfs, &devices)
}

/// Compiles the peer's program against the headers and libraries of Debian's tree.
fn compile_peer(parts: &Parts) -> Result<PathBuf, Error> {
    let (program, libraries) = (images()?.join("peer"), parts.libraries());
    let mut gcc = process::Command::new("gcc");
    gcc.arg("--sysroot")
        .arg(parts.debian())
        // Otherwise the compiler's own folders, which are this machine's, come before the tree's.
        .arg("-B")
        .arg(&libraries)
        .arg("-L")
        .arg(&libraries)
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(root().join("tests/peer/peer.c"))
        .arg(root().join("tests/peer/requests.c"))
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
