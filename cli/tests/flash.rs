//! `drdma flash` on a file that stands for a board's flash.

mod support;

use std::fs;

use drdma_bitstreams::{Board, FileHash, Manifest};
use drdma_driver::flash::Layout;
use drdma_sim::flash::{Array, Booted, boot, sample};
use serde_json::Value;
use support::Folder;

const U50: &str = "xcu50-fsvh2104-2-e";
const IDCODE: u32 = 0x14b7_7093;
const MAIN: u32 = 0x0100_2000;

struct Bench(Folder);

impl Bench {
    /// A flash with a golden image, and a bitstream.
    fn new() -> Self {
        let bench = Self(Folder::new());
        let mut array = Array::default();
        array.put(0, &sample::stream(IDCODE, 200, 1));
        bench.put("flash.bin", &array.dump());
        bench.put("fpga.bit", &sample::bit_file(U50, &sample::stream(IDCODE, 9_000, 2)));
        bench
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.file(name), bytes).unwrap();
    }

    fn get(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.file(name)).unwrap()
    }

    /// Exit code and both outputs of `drdma flash`.
    fn flash(&self, args: &[&str]) -> (i32, String, String) {
        let device = ["flash", "--device", "model:flash.bin"];
        self.drdma(&[&device, args].concat())
    }

    fn drdma(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.0.drdma(args);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// The error of a command that fails with that code, and leaves the flash alone.
    fn refuses(&self, code: i32, args: &[&str]) -> String {
        let before = self.get("flash.bin");
        let (found, _, error) = self.flash(args);
        assert_eq!(found, code, "{error}");
        assert!(self.get("flash.bin") == before, "the flash was changed");
        error.strip_prefix("error: ").unwrap_or(&error).trim_end().to_owned()
    }

    fn booted(&self) -> Booted {
        let layout = Layout::new(0x0100_2012, 1 << 27).unwrap();
        let array = Array::from_dump(&self.get("flash.bin"));
        boot(&array, layout.golden, layout.main, IDCODE & 0x0fff_ffff)
    }

    /// A manifest beside `fpga.bit`, with one field set to another value.
    fn manifest(&self, field: &str, value: Value) {
        let manifest = Manifest {
            format: 1,
            version: "0.1.0".into(),
            board: "au50".into(),
            part: U50.into(),
            corundum_commit: Some("1ca0151b".into()),
            corundum_version: None,
            abi_hash: "0x0123".into(),
            register_map_sha256: String::new(),
            parameters: Default::default(),
            files: Vec::new(),
            image: Some(FileHash::of("fpga.bit", &self.get("fpga.bit"))),
        };
        let mut json: Value = serde_json::from_str(&manifest.to_json()).unwrap();
        json[field] = value;
        self.put("fpga.bit.json", json.to_string().as_bytes());
    }
}

#[test]
fn a_bit_file_is_written_found_to_be_there_verified_and_read_back() {
    let bench = Bench::new();
    assert!(matches!(bench.booted(), Booted::Golden(_)));
    let stream = sample::stream(IDCODE, 9_000, 2);
    let (code, out, error) = bench.flash(&["fpga.bit"]);
    assert_eq!(code, 0, "{error}");
    assert!(
        out.starts_with("Alveo U50: a bitstream without a manifest; its hash was not"),
        "{out}"
    );
    assert!(out.contains(" B written and verified, ") && out.contains("off and on"), "{out}");
    assert!(matches!(bench.booted(), Booted::Main(_)));

    let (code, out, _) = bench.flash(&["fpga.bit"]);
    let text = format!("the main segment has this image already ({} B)\n", stream.len());
    assert!(code == 0 && out.ends_with(&text), "{out}");
    let (code, out, _) = bench.flash(&["--verify", "fpga.bit"]);
    let text = format!("the main segment has this image ({} B)\n", stream.len());
    assert!(code == 0 && out.ends_with(&text), "{out}");

    let length = stream.len().to_string();
    let (code, out, _) = bench.flash(&["--read", "back.bin", "--length", &length]);
    assert_eq!((code, out), (0, format!("{length} B from 0x01002000 on are in back.bin\n")));
    assert_eq!(bench.get("back.bin"), stream);
    let golden = sample::stream(IDCODE, 200, 1);
    let length = golden.len().to_string();
    let (code, ..) = bench.flash(&["--read", "golden.bin", "--golden", "--length", &length]);
    assert_eq!((code, bench.get("golden.bin")), (0, golden));
}

#[test]
fn verification_fails_with_the_place_and_writing_repairs_it() {
    let bench = Bench::new();
    bench.flash(&["fpga.bit"]);
    let mut dump = bench.get("flash.bin");
    dump[MAIN as usize + 5_000] ^= 1;
    bench.put("flash.bin", &dump);
    let error = bench.refuses(1, &["--verify", "fpga.bit"]);
    assert!(error.contains(&format!("at {:#010x} where ", MAIN + 5_000)), "{error}");
    let (code, out, _) = bench.flash(&["fpga.bit"]);
    assert!(code == 0 && out.contains("B were right already"), "{out}");
    assert_eq!(bench.flash(&["--verify", "fpga.bit"]).0, 0);
}

#[test]
fn an_image_for_another_board_is_refused() {
    let bench = Bench::new();
    let part = |part: &str, idcode| {
        bench.put("fpga.bit", &sample::bit_file(part, &sample::stream(idcode, 100, 3)));
    };
    part("xcu55n-fsvh2892-2L-e", IDCODE);
    let error = bench.refuses(2, &["fpga.bit"]);
    assert!(
        error.starts_with("fpga.bit is for xcu55n-fsvh2892-2L-e, and no board has that"),
        "{error}"
    );
    // The image is for the U55C, and the card is a U50.
    part("xcu55c-fsvh2892-2L-e", 0x14b7_d093);
    let error = bench.refuses(2, &["fpga.bit"]);
    assert_eq!(
        error,
        "the image is for Alveo U55C, and the card's registers have board 0x10ee9032 with FPGA \
         0x04b77093 (Alveo U50)"
    );
    let error = bench.refuses(2, &["fpga.bit", "--board", "au50"]);
    assert_eq!(error, "fpga.bit is for Alveo U55C, and the command line for Alveo U50");
    let device = "model:flash.bin?board=au55c";
    assert_eq!(bench.drdma(&["flash", "--device", device, "fpga.bit"]).0, 0);
    // The header says U50, and the stream is for another FPGA.
    part(U50, 0x14b7_d093);
    let error = bench.refuses(2, &["fpga.bit"]);
    let text = "the stream of fpga.bit is for an FPGA with IDCODE 0x04b7d093, and Alveo U50 has";
    assert!(error.starts_with(text), "{error}");
}

#[test]
fn a_stream_alone_needs_a_board_or_a_manifest() {
    let bench = Bench::new();
    bench.put("fpga.bin", &sample::stream(IDCODE, 500, 4));
    let error = bench.refuses(2, &["fpga.bin"]);
    assert!(
        error.starts_with("fpga.bin is no .bit file, so that it does not name its FPGA"),
        "{error}"
    );
    let error = bench.refuses(2, &["fpga.bin", "--board", "au55c"]);
    assert!(error.contains("IDCODE 0x04b77093, and Alveo U55C has 0x04b7d093"), "{error}");
    let error = bench.refuses(2, &["fpga.bin", "--board", "u50"]);
    assert_eq!(error, "there is no board `u50`; there are au50 and au55c");
    assert_eq!(bench.flash(&["fpga.bin", "--board", "au50"]).0, 0);

    bench.manifest(
        "image",
        serde_json::to_value(FileHash::of("x", &bench.get("fpga.bin"))).unwrap(),
    );
    assert_eq!(bench.flash(&["fpga.bin", "--manifest", "fpga.bit.json"]).0, 0);
}

#[test]
fn an_image_that_is_not_the_one_of_its_manifest_is_refused() {
    let bench = Bench::new();
    bench.manifest("image", Value::Null);
    let error = bench.refuses(2, &["fpga.bit"]);
    assert!(error.starts_with("fpga.bit.json has no image: "), "{error}");
    bench.manifest("board", "au55c".into());
    let error = bench.refuses(2, &["fpga.bit"]);
    assert_eq!(error, "fpga.bit is for Alveo U50, and its manifest for Alveo U55C");
    bench.manifest("board", "au99".into());
    assert!(bench.refuses(2, &["fpga.bit"]).starts_with("there is no board `au99`"));
    bench.manifest("format", 7.into());
    assert!(bench.refuses(2, &["fpga.bit"]).starts_with("fpga.bit.json has format 7"));

    bench.manifest("version", "0.1.0".into());
    let (code, out, error) = bench.flash(&["fpga.bit"]);
    assert_eq!(code, 0, "{error}");
    assert!(out.starts_with("Alveo U50: D-RDMA 0.1.0, Corundum 1ca0151b, ABI 0x0123\n"), "{out}");
    let mut bit = bench.get("fpga.bit");
    *bit.last_mut().unwrap() ^= 1;
    bench.put("fpga.bit", &bit);
    let error = bench.refuses(2, &["fpga.bit"]);
    assert!(error.starts_with("fpga.bit has SHA-256 ") && error.contains("; build the"), "{error}");
    let error = bench.refuses(2, &["fpga.bit", "--manifest", "none.json"]);
    assert!(error.starts_with("none.json: No such file"), "{error}");
}

#[test]
fn a_file_that_is_no_bitstream_is_refused() {
    let bench = Bench::new();
    assert!(bench.refuses(2, &["none.bit"]).starts_with("none.bit: No such file"));
    let bit = bench.get("fpga.bit");
    bench.put("fpga.bit", &bit[..bit.len() - 1]);
    assert!(
        bench.refuses(2, &["fpga.bit"]).starts_with("fpga.bit: the file is cut off: field `e`")
    );
    bench.put("fpga.bin", &[0xff; 1000]);
    let error = bench.refuses(2, &["fpga.bin", "--board", "au50"]);
    assert!(error.starts_with("fpga.bin has no configuration stream"), "{error}");
}

#[test]
fn a_device_without_a_flash_and_options_that_do_not_go_together_are_refused() {
    let bench = Bench::new();
    for uri in ["soft:", "vfio", "vfio:eth0", "model:", "model:x?board=au99"] {
        let (code, _, error) = bench.drdma(&["flash", "--device", uri, "fpga.bit"]);
        assert_eq!(code, 2, "{error}");
        assert!(error.starts_with(&format!("error: `{uri}` has no flash: ")), "{error}");
    }
    let card = ["flash", "--device", "vfio:0000:65:00.0", "--sysfs", "none", "fpga.bit"];
    let (code, _, error) = bench.drdma(&card);
    assert!(code == 1 && error.contains("there is no PCI device 0000:65:00.0"), "{error}");
    for args in [
        &[][..],
        &["fpga.bit", "--read", "x"],
        &["--read", "x", "--verify"],
        &["fpga.bit", "--golden"],
        &["fpga.bit", "--length", "5"],
    ] {
        assert!(bench.refuses(2, args).contains("Usage"), "{args:?}");
    }
    let error = bench.refuses(2, &["--read", "x", "--length", "0"]);
    assert!(error.starts_with("invalid value '0' for '--length <BYTES>'"), "{error}");
    let error = bench.refuses(2, &["--read", "x", "--golden", "--length", "16785409"]);
    assert_eq!(error, "the segment has 16785408 B, and 16785409 B are to be read");
    let error = bench.refuses(1, &["--read", "no/x", "--length", "16"]);
    assert!(error.starts_with("cannot write no/x: "), "{error}");
    let (code, _, error) = bench.drdma(&["flash", "--device", "model:no/x", "fpga.bit"]);
    assert!(code == 1 && error.contains("no/x: No such file"), "{error}");
    let (code, _, error) = bench.drdma(&["flash", "--device", "model:.", "fpga.bit"]);
    assert!(code == 1 && error.contains(".: Is a directory"), "{error}");
}

#[test]
fn boards_and_samples_agree() {
    let board: &Board = "au50".parse().unwrap();
    assert_eq!(board.part, U50);
    assert!(board.is(IDCODE));
}

#[test]
fn json_says_what_was_done() {
    let bench = Bench::new();
    bench.manifest("version", "0.1.0".into());
    let bytes = sample::stream(IDCODE, 9_000, 2).len();
    let json = |args: &[&str]| -> Value {
        let (code, out, error) = bench.flash(&[args, &["--json"]].concat());
        assert_eq!(code, 0, "{error}");
        serde_json::from_str(&out).unwrap()
    };
    let written = json(&["fpga.bit"]);
    assert_eq!(written["done"], "written");
    assert_eq!((&written["board"], &written["version"]), (&"Alveo U50".into(), &"0.1.0".into()));
    let sum = |value: &Value| {
        value["written_bytes"].as_u64().unwrap() + value["kept_bytes"].as_u64().unwrap()
    };
    assert!(written["written_bytes"].as_u64().unwrap() > 0, "{written}");
    let again = json(&["fpga.bit"]);
    assert_eq!(again["written_bytes"], 0, "{again}");
    assert_eq!(sum(&written), sum(&again));
    let verified = json(&["--verify", "fpga.bit"]);
    assert_eq!((&verified["done"], &verified["bytes"]), (&"verified".into(), &bytes.into()));
    let read = json(&["--read", "back.bin", "--length", "512"]);
    assert_eq!((&read["done"], &read["start"]), (&"read".into(), &0x0100_2000.into()));
    assert_eq!((&read["bytes"], &read["file"]), (&512.into(), &"back.bin".into()));
}
