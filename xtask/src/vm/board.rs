//! A guest with slots, into which the tests plug simulated cards: programs, guests and cards that
//! end in the middle of their work.

use std::fs;

use super::{
    file,
    guest::{self, Guest},
    images,
    lab::{drdma, serial_port, sockets, test},
    parts::{Parts, System},
};
use crate::{Error, build_as_tested, cargo};

/// Name of the file of tests.
const TESTS: &str = "served_card";
/// Number of the guest's slots.
const SLOTS: u32 = 2;
/// Address space that a slot reserves.
const ROOM: &str = "mem-reserve=64M,pref64-reserve=64M";
/// The modules of the guest's kernel.
const MODULES: [&str; 3] = ["iommufd", "vfio_iommu_type1", "vfio-pci"];

/// The guest's first program: a shell that is told what to do through a virtual serial port, where
/// every script comes after a line with its length in bytes.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
for module in /modules/*; do insmod $module || echo \"guest: $module failed\"; done
echo 32 > /proc/sys/vm/nr_hugepages
port=$(echo /dev/vport*p1)
{
    echo ready
    while read -r length; do
        head -c $length > /tmp/script
        . /tmp/script < /dev/null
        echo \"exit $?\"
    done
} <> $port >&0
echo \"guest: exit code 0\"
# Which ends QEMU. To switch the guest off would wait for a card that was torn out.
echo b > /proc/sysrq-trigger
";

/// Runs the tests.
pub fn run(parts: &Parts) -> Result<(), Error> {
    build_as_tested(&["drdma"], TESTS)?;
    cargo().args(["build", "--workspace", "--example", "vectors"]).run()?;
    let sockets = sockets()?;
    let guest = boot(parts, sockets.path())?;
    let program = drdma().display().to_string();
    let cargo = cargo().env("DRDMA_LAB_PROGRAM", &program);
    test(cargo, TESTS, sockets.path()).and(guest.wait())
}

/// Boots the guest. Its shell is at the socket `host` in `folder`, and `qmp` controls it.
fn boot(parts: &Parts, folder: &std::path::Path) -> Result<Guest, Error> {
    let mut archive = parts.archive(&MODULES, INIT)?;
    parts.add_program(&mut archive, System::Host, &drdma(), "bin/drdma")?;
    let vectors = crate::target().join("debug/examples/vectors");
    parts.add_program(&mut archive, System::Host, &vectors, "bin/vectors")?;
    let initramfs = images()?.join("board.cpio");
    fs::write(&initramfs, archive.finish()).map_err(file(&initramfs))?;
    let qmp = folder.join("qmp").display().to_string();
    let mut devices = vec!["-qmp".to_owned(), format!("unix:{qmp},server=on,wait=off")];
    for slot in 0..SLOTS {
        let (chassis, addr) = (slot + 1, slot + 4);
        devices.extend([
            "-device".to_owned(),
            // The port reserves room for the BARs of a card that comes later.
            format!("pcie-root-port,id=slot{slot},chassis={chassis},addr={addr},{ROOM}"),
        ]);
    }
    devices.extend(serial_port(&folder.join("host")));
    guest::boot(parts, "board", &initramfs, &devices)
}
