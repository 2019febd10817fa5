//! The driver's VFIO part against a device of QEMU's own.

use std::{fs, path::PathBuf};

use super::{file, guest, images, parts::Parts};
use crate::{Error, cargo, target};

/// Target that the guest's program is built for.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The modules of the guest's kernel.
const MODULES: [&str; 3] = ["iommufd", "vfio_iommu_type1", "vfio-pci"];
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
pub fn run(parts: &Parts) -> Result<(), Error> {
    let mut archive = parts.archive(&MODULES, INIT)?;
    archive.file("bin/test", &static_program("edu")?);
    let initramfs = images()?.join("edu.cpio");
    fs::write(&initramfs, archive.finish()).map_err(file(&initramfs))?;
    guest::boot(parts, "edu", &initramfs, &DEVICES.map(str::to_owned))?.wait()
}

/// Builds an example of the driver without shared libraries, and reads the program.
fn static_program(example: &str) -> Result<Vec<u8>, Error> {
    let flag = "target.x86_64-unknown-linux-gnu.rustflags=[\"-C\", \"target-feature=+crt-static\"]";
    cargo()
        .args(["build", "--package", "drdma-driver", "--example", example])
        .args(["--target", TARGET, "--config", flag])
        .run()?;
    let path: PathBuf = target().join(TARGET).join("debug/examples").join(example);
    fs::read(&path).map_err(file(&path))
}
