//! The commands for boards, on a tree like sysfs: what is listed, what is bound, what is refused.

mod support;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Output,
    thread,
};

use serde_json::{Value, json};
use support::Folder;

/// A folder with a tree like sysfs, where the driver `vfio-pci` is loaded.
struct Machine(Folder);

impl Machine {
    fn new() -> Self {
        let machine = Self(Folder::new());
        for folder in ["devices", "drivers/vfio-pci"] {
            fs::create_dir_all(machine.bus().join(folder)).unwrap();
        }
        fs::write(machine.bus().join("drivers_probe"), "").unwrap();
        machine
    }

    fn bus(&self) -> PathBuf {
        self.0.file("sys/bus/pci")
    }

    fn device(&self, address: &str, ids: [&str; 2], group: Option<u32>, driver: &str) {
        let folder = self.bus().join("devices").join(address);
        fs::create_dir_all(&folder).unwrap();
        let set = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
        set("vendor", ids[0]);
        set("device", ids[1]);
        set("subsystem_vendor", "0x10ee\n");
        set("subsystem_device", "0x9032\n");
        set("driver_override", "(null)\n");
        set("current_link_width", "8\n");
        set("current_link_speed", "8.0 GT/s PCIe\n");
        set("max_link_width", "16\n");
        set("max_link_speed", "8.0 GT/s PCIe\n");
        if !driver.is_empty() {
            let driver = self.bus().join("drivers").join(driver);
            fs::create_dir_all(&driver).unwrap();
            fs::write(driver.join("unbind"), "").unwrap();
            symlink(driver, folder.join("driver")).unwrap();
        }
        if let Some(group) = group {
            let group = self.0.file(&format!("sys/kernel/iommu_groups/{group}"));
            fs::create_dir_all(group.join("devices")).unwrap();
            symlink(&folder, group.join("devices").join(address)).unwrap();
            symlink(group, folder.join("iommu_group")).unwrap();
        }
    }

    fn card(&self, address: &str, group: Option<u32>, driver: &str) {
        self.device(address, ["0x1234\n", "0x1001\n"], group, driver);
    }

    fn drdma(&self, args: &[&str]) -> (i32, String, String) {
        let output: Output = self.0.drdma(&[args, &["--sysfs", "sys"]].concat());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn read(&self, path: impl AsRef<Path>) -> String {
        fs::read_to_string(self.bus().join(path)).unwrap()
    }
}

#[test]
fn cards_are_listed_with_what_has_to_be_done() {
    let machine = Machine::new();
    machine.card("0000:65:00.0", Some(14), "vfio-pci");
    machine.card("0000:66:00.0", Some(15), "mqnic");
    machine.card("0000:67:00.0", None, "");
    machine.device("0000:01:00.0", ["0x144d\n", "0xa808\n"], Some(3), "nvme");
    let (code, stdout, _) = machine.drdma(&["devices", "--json"]);
    assert_eq!(code, 0);
    let devices: Value = serde_json::from_str(&stdout).unwrap();
    let expected = json!({
        "address": "0000:65:00.0",
        "vendor": 0x1234, "device": 0x1001, "subsystem_vendor": 0x10ee, "subsystem_device": 0x9032,
        "driver": "vfio-pci", "iommu_group": 14,
        "link": {"width": 8, "gigatransfers": 8.0},
        "best_link": {"width": 16, "gigatransfers": 8.0},
        "ready": true, "problem": null, "firmware": null,
    });
    assert_eq!(devices[0], expected);
    let problems: Vec<_> = devices.as_array().unwrap().iter().map(|d| &d["problem"]).collect();
    assert_eq!(
        problems,
        [&json!(null), &json!("not bound to vfio-pci"), &json!("behind no IOMMU")]
    );
    assert_eq!(devices[2]["iommu_group"], json!(null));

    let (code, table, _) = machine.drdma(&["devices"]);
    assert_eq!(code, 0);
    for text in ["0000:65:00.0", "10ee:9032", "x8 8 GT/s (of x16 8 GT/s)", "ready", "mqnic"] {
        assert!(table.contains(text), "{table}");
    }
    assert!(!table.contains("nvme"), "{table}");
    assert!(machine.drdma(&["devices", "--all"]).1.contains("nvme"));
}

#[test]
fn ids_of_the_firmware_are_listed_where_they_can_be_read() {
    let machine = Machine::new();
    machine.card("0000:65:00.0", Some(14), "mqnic");
    let folder = machine.bus().join("devices/0000:65:00.0");
    fs::write(folder.join("enable"), "1\n").unwrap();
    fs::write(folder.join("config"), [0x34, 0x12, 0x01, 0x10, 0x02, 0]).unwrap();
    let mut bar = vec![0; 4096];
    for (offset, word) in [
        (0, u32::MAX),
        (4, 0x100),
        (8, 0x40),
        (0x14, 0x0102_0304),
        (0x24, 0xabcd),
        (0x40, 0xc005),
        (0x4c, 7),
    ] {
        bar[offset..offset + 4].copy_from_slice(&u32::to_le_bytes(word));
    }
    fs::write(folder.join("resource0"), bar).unwrap();
    let (_, table, _) = machine.drdma(&["devices"]);
    assert!(table.contains("Corundum 1.2.3.4, commit 0000abcd, app 00000007"), "{table}");
    let (_, stdout, _) = machine.drdma(&["devices", "--json"]);
    let devices: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(devices[0]["firmware"]["application"], 7);
}

#[test]
fn a_machine_without_cards_or_without_sysfs_says_so() {
    let machine = Machine::new();
    let (code, stdout, stderr) = machine.drdma(&["devices"]);
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert!(stderr.starts_with("There is no card in this machine"), "{stderr}");
    let (code, stdout, _) = machine.drdma(&["devices", "--json"]);
    assert_eq!((code, stdout.as_str()), (0, "[]\n"));
    let output = machine.0.drdma(&["devices", "--sysfs", "nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("error: nowhere/bus/pci/devices: No such file"), "{text}");
}

#[test]
fn what_is_bound_already_is_ready_unless_its_group_is_not() {
    let machine = Machine::new();
    machine.card("0000:65:00.0", Some(14), "vfio-pci");
    let (code, stdout, _) = machine.drdma(&["bind", "65:00.0"]);
    assert_eq!(code, 0);
    assert_eq!(
        stdout,
        "0000:65:00.0 was bound to vfio-pci before (group 14)\n\
         vfio:0000:65:00.0 is ready for whoever may open /dev/vfio/14\n"
    );
    machine.device("0000:65:00.1", ["0x8086\n", "0x1572\n"], Some(14), "i40e");
    let (code, _, stderr) = machine.drdma(&["bind", "65:00.0"]);
    assert_eq!(code, 1);
    let text = "group 14 is not viable: 0000:65:00.1 is still bound to i40e; bind it to vfio-pci";
    assert_eq!(stderr, format!("error: {text}\n"));
    let (_, stdout, _) = machine.drdma(&["devices", "--json"]);
    let devices: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&devices[0]["ready"], &devices[0]["problem"]), (&json!(false), &json!(text)));
}

#[test]
fn json_says_what_was_bound_and_given_back() {
    let machine = Machine::new();
    machine.card("0000:65:00.0", Some(14), "vfio-pci");
    let (code, stdout, _) = machine.drdma(&["bind", "65:00.0", "--json"]);
    let bound: Value = serde_json::from_str(&stdout).unwrap();
    let expected = json!({
        "address": "0000:65:00.0", "before": "vfio-pci", "driver": "vfio-pci", "iommu_group": 14,
        "ready": true,
    });
    assert_eq!((code, bound), (0, expected));

    // A kernel that lets go of the card: it has done so when it is asked to look for another driver.
    let [unbind, probe] =
        ["drivers/vfio-pci/unbind", "drivers_probe"].map(|f| machine.bus().join(f));
    for fifo in [&unbind, &probe] {
        fs::remove_file(fifo).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    let driver = machine.bus().join("devices/0000:65:00.0/driver");
    let kernel = thread::spawn(move || {
        let address = fs::read_to_string(unbind).unwrap();
        fs::remove_file(driver).unwrap();
        (address, fs::read_to_string(probe).unwrap())
    });
    let (code, stdout, stderr) = machine.drdma(&["unbind", "65:00.0", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(kernel.join().unwrap(), ("0000:65:00.0".to_owned(), "0000:65:00.0".to_owned()));
    let unbound: Value = serde_json::from_str(&stdout).unwrap();
    let expected = json!({"address": "0000:65:00.0", "before": "vfio-pci", "driver": null});
    assert_eq!(unbound, expected);

    // The card is bound, but not usable: the exit code and the error are as without JSON.
    let machine = Machine::new();
    machine.card("0000:65:00.0", Some(14), "vfio-pci");
    machine.device("0000:65:00.1", ["0x8086\n", "0x1572\n"], Some(14), "i40e");
    let (code, stdout, stderr) = machine.drdma(&["bind", "65:00.0", "--json"]);
    let bound: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &bound["ready"]), (1, &json!(false)));
    assert!(stderr.starts_with("error: group 14 is not viable"), "{stderr}");
}

/// Plain files bind nothing, so that the command asks, sees that nothing happened, and takes it
/// back.
#[test]
fn a_kernel_that_does_not_bind_is_noticed() {
    let machine = Machine::new();
    machine.card("0000:65:00.0", Some(14), "mqnic");
    let (code, stdout, stderr) = machine.drdma(&["bind", "0000:65:00.0"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert_eq!(
        stderr,
        "error: the kernel did not bind 0000:65:00.0 to vfio-pci (it is bound to mqnic); `dmesg` \
         may tell why\n"
    );
    assert_eq!(machine.read("drivers/mqnic/unbind"), "0000:65:00.0");
    assert_eq!(machine.read("drivers_probe"), "0000:65:00.0");
    assert!(machine.read("devices/0000:65:00.0/driver_override").starts_with('\n'));
}

#[test]
fn what_cannot_be_bound_or_given_back_is_refused() {
    let machine = Machine::new();
    machine.card("0000:65:00.0", None, "mqnic");
    machine.device("0000:01:00.0", ["0x144d\n", "0xa808\n"], Some(3), "nvme");
    for (args, code, text) in [
        (&["bind", "eth0"][..], 2, "`eth0` is no PCI address"),
        (&["unbind", "eth0"], 2, "`eth0` is no PCI address"),
        (&["bind", "66:00.0"], 1, "there is no PCI device 0000:66:00.0"),
        (&["unbind", "66:00.0"], 1, "there is no PCI device 0000:66:00.0"),
        (&["bind", "65:00.0"], 1, "0000:65:00.0 is behind no IOMMU"),
        (&["bind", "01:00.0"], 1, "0000:01:00.0 is 144d:a808, not a Corundum card"),
        (&["unbind", "65:00.0"], 1, "0000:65:00.0 is bound to mqnic, not to vfio-pci"),
    ] {
        let (found, stdout, stderr) = machine.drdma(args);
        assert_eq!((found, stdout.as_str()), (code, ""), "{args:?}");
        assert!(stderr.starts_with(&format!("error: {text}")), "{stderr}");
    }
    machine.card("0000:67:00.0", Some(16), "mqnic");
    fs::remove_dir_all(machine.bus().join("drivers/vfio-pci")).unwrap();
    let (code, _, stderr) = machine.drdma(&["bind", "67:00.0"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("load it with `modprobe vfio-pci`"), "{stderr}");
}

#[test]
fn boards_have_no_simulated_network() {
    let folder = Folder::new();
    let job = json!({
        "buffers": [], "qps": [], "posts": [],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
    });
    fs::write(folder.file("job.json"), job.to_string()).unwrap();
    let device = "vfio:0000:65:00.0";
    for (args, text) in [
        (&["run", "job.json", "--device", device, "--pcap", "out.pcap"][..], "--pcap needs a"),
        (&["run", "job.json", "--device", device, "--wire", "dgram:a,b"], "--wire needs a"),
        (&["run", "job.json", "--device", device, "--record", "r"], "--record needs the device"),
        (&["demo", "--device", device], "the demonstration's peers are simulated"),
        (&["run", "job.json", "--device", "vfio:eth0"], "`vfio:eth0` names no card"),
    ] {
        let output = folder.drdma(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with(&format!("error: {text}")), "{stderr}");
    }
    // No machine has a bus of that domain.
    for args in [&["run", "job.json"][..], &["calibrate"], &["top", "--json"]] {
        let output = folder.drdma(&[args, &["--device", "vfio:dead:65:00.0"]].concat());
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with("error: there is no PCI device dead:65:00.0"), "{stderr}");
    }
}
