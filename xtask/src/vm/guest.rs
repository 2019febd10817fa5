//! Booting a guest and waiting for its end.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{self, Child, Stdio},
    thread::{self, JoinHandle},
};

use super::parts::Parts;
use crate::Error;

/// Seconds after which a guest has hung.
const PATIENCE: &str = "300";
/// What a guest prints when its program has ended well.
const PASSED: &str = "guest: exit code 0";

/// A guest that runs.
#[derive(Debug)]
pub struct Guest {
    name: &'static str,
    qemu: Child,
    /// Thread that prints the guest's output; it returns true if the guest passed. Taken when the guest has ended.
    console: Option<JoinHandle<bool>>,
}

/// Boots a guest of one processor, with an IOMMU, `devices` and an initramfs.
pub fn boot(
    parts: &Parts,
    name: &'static str,
    initramfs: &Path,
    devices: &[String],
) -> Result<Guest, Error> {
    let mut qemu = process::Command::new("timeout");
    // In the foreground, so that what ends this program from a terminal ends the guest as well.
    qemu.args(["--foreground", PATIENCE])
        .args(parts.program("usr/bin/qemu-system-x86_64"))
        .arg("-L")
        .arg(parts.debian().join("usr/share/qemu"))
        .arg("-L")
        .arg(parts.debian().join("usr/share/seabios"))
        // KVM is not used: it need not work where the kernel reports it.
        .args(["-accel", "tcg", "-m", "512M"])
        .args(["-M", "q35,kernel-irqchip=split,memory-backend=m"])
        .args(["-object", "memory-backend-memfd,id=m,size=512M,share=on"])
        .args(["-device", "intel-iommu,intremap=on,caching-mode=on"])
        .args(["-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"])
        .args(devices)
        .arg("-kernel")
        .arg(parts.kernel()?)
        .arg("-initrd")
        .arg(initramfs)
        // The kernel's test of its timer fails on a busy machine, and then stops the guest.
        .args(["-append", "console=ttyS0 intel_iommu=on no_timer_check panic=-1 quiet"]);
    start(name, &mut qemu)
}

/// Starts a guest and shows what it prints.
fn start(name: &'static str, qemu: &mut process::Command) -> Result<Guest, Error> {
    let failed = |source| Error::Start { program: "timeout".to_owned(), source };
    let mut qemu = qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let output = qemu.stdout.take().expect("its output is a pipe");
    let console = thread::spawn(move || {
        let mut passed = false;
        // Output that cannot be read counts as missing: the guest has not passed then.
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            println!("{name}: {}", line.trim_end());
            passed |= line.contains(PASSED);
        }
        passed
    });
    Ok(Guest { name, qemu, console: Some(console) })
}

impl Guest {
    /// Waits for the guest's end.
    pub fn wait(mut self) -> Result<(), Error> {
        let failed = |source| Error::Start { program: "timeout".to_owned(), source };
        let status = self.qemu.wait().map_err(failed)?;
        let passed = self.console.take().is_some_and(|console| console.join().unwrap_or(false));
        match passed && status.success() {
            true => Ok(()),
            false => Err(Error::Guest(format!("{} failed ({status})", self.name))),
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.console.is_some() {
            // The guest was not waited for. `timeout` passes the signal on; the guest may have ended already.
            let _ = process::Command::new("kill").arg(self.qemu.id().to_string()).status();
            let _ = self.qemu.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(script: &str) -> Result<(), Error> {
        start("sh", process::Command::new("sh").args(["-c", script]))?.wait()
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
            assert!(error.starts_with("the guest: sh failed ("), "{error}");
        }
        // A guest that is given up is ended.
        let started = std::time::Instant::now();
        let mut hung = process::Command::new("timeout");
        hung.args(["--foreground", "60", "sleep", "60"]);
        drop(start("hung", &mut hung).unwrap());
        assert!(started.elapsed().as_secs() < 30);
        let error = start("x", &mut process::Command::new("/nowhere/timeout"));
        assert!(error.unwrap_err().to_string().starts_with("cannot start timeout: "));
        let error = boot(&Parts::at("/nowhere"), "x", "x.cpio".as_ref(), &[]);
        assert!(error.unwrap_err().to_string().starts_with("/nowhere/kernel/boot: "));
    }
}
