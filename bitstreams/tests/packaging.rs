//! Packaging for a tree that has Corundum's shape and the ports of the card's own table.

use std::{fs, path::Path, process::Command};

use drdma_bitstreams::{Board, Corundum, FileHash, Manifest, Package, package::MANIFEST, sha256};
use tempfile::TempDir;

const PORTS: &str = include_str!("../../hdl/src/primitive/app_block/ports.csv");
const PARAMETERS: &str = include_str!("../../hdl/src/primitive/app_block/parameters.csv");
const TEMPLATE: &str = "fpga/app/template/rtl/mqnic_app_block.v";
const SHELL: &str = "fpga/common/rtl/mqnic_core.v";
const BOARDS: &str = "fpga/mqnic/Alveo/fpga_100g";
const BUILD: &str = "fpga/mqnic/Alveo/fpga_100g/fpga_AU50_app_drdma";

fn ports() -> Vec<(&'static str, &'static str, &'static str)> {
    let row = |row: &'static str| {
        let mut fields = row.splitn(3, ',');
        let mut next = || fields.next().unwrap().trim_matches('"');
        (next(), next(), next())
    };
    PORTS.lines().skip(1).map(row).collect()
}

fn parameters() -> Vec<(&'static str, &'static str)> {
    let row = |row: &'static str| row.split_once(',').unwrap();
    PARAMETERS.lines().skip(1).map(row).map(|(n, v)| (n, v.trim_matches('"'))).collect()
}

/// A module as the card's, written in another manner.
fn module() -> String {
    let parameters: Vec<_> =
        parameters().iter().map(|(name, value)| format!("parameter {name} = {value}")).collect();
    let ports: Vec<_> = ports()
        .iter()
        .map(|(name, direction, width)| match *width {
            "1" => format!("{direction} wire {name}"),
            width => format!("{direction} wire [{width}-1:0] {name} /* (a comment) */"),
        })
        .collect();
    format!(
        "// module mqnic_app_block #( is below\nmodule mqnic_app_block #\n(\n{}\n)\n(\n{}\n);\nendmodule\n",
        parameters.join(",\n"),
        ports.join(",\n")
    )
}

fn shell() -> String {
    let connect = |name: &&str| format!(".{name}({name})");
    let parameters: Vec<_> = parameters().iter().map(|(name, _)| connect(name)).collect();
    let ports: Vec<_> = ports().iter().map(|(name, ..)| connect(name)).collect();
    format!(
        "generate if (APP_ENABLE) begin : app\n mqnic_app_block #(\n{}\n) app_block_inst (\n{}\n);\nend endgenerate",
        parameters.join(",\n"),
        ports.join(",\n")
    )
}

fn makefile(part: &str) -> String {
    format!(
        "FPGA_PART = {part}\nFPGA_TOP = fpga\n\nSYN_FILES = rtl/fpga.v\nSYN_FILES += rtl/core.v\n\
         \nXDC_FILES = fpga.xdc\nXDC_FILES += placement.xdc\ninclude ../common/vivado.mk\n"
    )
}

const CONFIG: &str = "\
set params [dict create]
set fpga_id [expr 0x4B77093]
dict set params FPGA_ID [format \"32'h%08x\" $fpga_id]
dict set params IF_COUNT \"2\"
dict set params PORTS_PER_IF \"1\"
dict set params TX_RAM_SIZE \"131072\"
dict set params RX_RAM_SIZE \"32768\"
dict set params APP_ID \"32'h00000000\"
dict set params APP_ENABLE \"0\"
dict set params APP_DMA_ENABLE \"1\"
dict set params APP_AXIS_IF_ENABLE \"1\"
dict set params DMA_LEN_WIDTH \"16\"
dict set params RAM_ADDR_WIDTH [expr int(ceil(log([dict get $params TX_RAM_SIZE])/log(2)))]
dict set params AXIL_APP_CTRL_ADDR_WIDTH \"20\"
";

struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.write(TEMPLATE, &module());
        tree.write(SHELL, &shell());
        for (folder, part) in [("fpga_AU50", "xcu50-x"), ("fpga_AU55N", "xcu55n-x")] {
            tree.write(&format!("{BOARDS}/{folder}/Makefile"), &makefile(part));
            tree.write(&format!("{BOARDS}/{folder}/config.tcl"), CONFIG);
        }
        tree
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn package(&self, board: &str, card: &str) -> Result<Package, String> {
        let board: &Board = board.parse().unwrap();
        let corundum = Corundum::open(self.root());
        Package::new(&corundum, board, card, "the map").map_err(|error| error.to_string())
    }

    fn fails(&self) -> String {
        self.package("au50", &module()).unwrap_err()
    }
}

#[test]
fn a_folder_for_the_u50_is_the_boards_own_with_the_cards_values() {
    let tree = Tree::new();
    let package = tree.package("au50", &module()).unwrap();
    let paths: Vec<_> = package.files.keys().map(String::as_str).collect();
    let build = |name: &str| format!("{BUILD}/{name}");
    let expected = [
        "fpga/app/drdma/rtl/mqnic_app_block.v".to_owned(),
        build("Makefile"),
        build("config.tcl"),
        build(MANIFEST),
    ];
    assert_eq!(paths, expected);
    assert_eq!(
        package.files[&build("Makefile")],
        makefile("xcu50-x")
            .replace("core.v\n", "core.v\nSYN_FILES += app/drdma/rtl/mqnic_app_block.v\n")
    );
    let mut config = CONFIG.to_owned();
    for (old, new) in [
        ("IF_COUNT \"2\"", "IF_COUNT \"1\""),
        ("RX_RAM_SIZE \"32768\"", "RX_RAM_SIZE \"131072\""),
        ("APP_ID \"32'h00000000\"", "APP_ID \"32'h4452444d\""),
        ("APP_ENABLE \"0\"", "APP_ENABLE \"1\""),
        ("ADDR_WIDTH \"20\"", "ADDR_WIDTH \"24\""),
    ] {
        config = config.replace(old, new);
    }
    assert_eq!(package.files[&build("config.tcl")], config);
}

#[test]
fn a_folder_for_the_u55c_names_its_fpga_and_not_the_u55ns() {
    let tree = Tree::new();
    let package = tree.package("au55c", &module()).unwrap();
    let build = Corundum::build_folder("au55c".parse().unwrap());
    assert!(build.ends_with("/fpga_AU55N_app_drdma"));
    let makefile = &package.files[&format!("{build}/Makefile")];
    assert!(makefile.starts_with("FPGA_PART = xcu55c-fsvh2892-2L-e\nFPGA_TOP"), "{makefile}");
    let config = &package.files[&format!("{build}/config.tcl")];
    assert!(config.contains("\nset fpga_id [expr 0x4B7D093]\n"), "{config}");
}

#[test]
fn a_manifest_has_the_hashes_of_what_was_written_and_is_read_again() {
    let tree = Tree::new();
    let package = tree.package("au50", &module()).unwrap();
    let out = tempfile::tempdir().unwrap();
    package.write(out.path()).unwrap();
    let manifest = Manifest::read(&out.path().join(BUILD).join(MANIFEST)).unwrap();
    assert_eq!(manifest, package.manifest);
    assert_eq!(manifest.files.len(), 3);
    for file in &manifest.files {
        file.check(&fs::read(out.path().join(&file.path)).unwrap()).unwrap();
    }
    assert_eq!(manifest.abi_hash, format!("{:#018x}", drdma_abi::ABI_HASH));
    assert_eq!(manifest.register_map_sha256, sha256(b"the map"));
    assert_eq!((manifest.board.as_str(), manifest.corundum_commit), ("au50", None));
    // NIST's example of SHA-256 of one block.
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(sha256(b"abc"), expected);
}

#[test]
fn the_commit_of_a_repository_is_found() {
    let tree = Tree::new();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(tree.root()).args(["-c", "user.name=a", "-c", "user.email=b@c"]);
        assert!(command.args(args).output().unwrap().status.success(), "{args:?}");
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&["tag", "v9.1"]);
    let corundum = Corundum::open(tree.root());
    assert_eq!(corundum.commit.as_deref().map(str::len), Some(40));
    assert_eq!(corundum.version.as_deref(), Some("v9.1"));
    assert!(!corundum.is_checked());
}

#[test]
fn a_tree_whose_module_is_another_is_refused_with_all_that_differs() {
    let tree = Tree::new();
    let other = module()
        .replace("input wire rst,\n", "")
        .replace("input wire clk,", "input wire clk,\ninput wire clk_fast,")
        .replace(
            "input wire [3-1:0] s_axil_app_ctrl_awprot",
            "input wire [3:0] s_axil_app_ctrl_awprot",
        )
        .replace("output wire s_axil_app_ctrl_awready", "input wire s_axil_app_ctrl_awready")
        .replace("parameter IF_COUNT = 1", "parameter IF_COUNT = 2,\nparameter NEW_ONE = 5")
        .replace("parameter PORTS_PER_IF = 1,\n", "")
        .replace("PORT_COUNT = IF_COUNT*PORTS_PER_IF", "PORT_COUNT = IF_COUNT*4*PORTS_PER_IF");
    tree.write(TEMPLATE, &other);
    let error = tree.fails();
    let (head, differences) = error.split_once('\n').unwrap();
    assert_eq!(
        head,
        "the card does not fit into this Corundum (commit unknown; checked with 1ca0151b97af):"
    );
    let differences: Vec<_> = differences.lines().map(str::trim).collect();
    assert_eq!(
        differences,
        [
            "Corundum has a port `clk_fast`, and the card has not",
            "port `s_axil_app_ctrl_awprot` has width 4 in Corundum and 3 on the card",
            "port `s_axil_app_ctrl_awready` is an input in Corundum and an output of the card",
            "Corundum has a parameter `NEW_ONE`, and the card has not",
            "parameter `PORT_COUNT` is IF_COUNT*4*PORTS_PER_IF in Corundum and \
             IF_COUNT*PORTS_PER_IF on the card",
            "the card has a port `rst`, and Corundum has not",
            "the card has a parameter `PORTS_PER_IF`, and Corundum has not",
        ]
    );
}

#[test]
fn a_shell_that_connects_what_the_card_lacks_is_refused() {
    let tree = Tree::new();
    tree.write(
        SHELL,
        &shell()
            .replace(".clk(clk)", ".clk(clk),\n.irq(irq)")
            .replace(".IF_COUNT(", ".NEW_ONE(3),\n.IF_COUNT("),
    );
    let error = tree.fails();
    for text in [
        "mqnic_core.v connects parameter `NEW_ONE`, which the card lacks",
        "mqnic_core.v connects port `irq`, which the card lacks",
    ] {
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_tree_that_lacks_something_is_refused_with_its_name() {
    let remove = |path: &str| {
        let tree = Tree::new();
        let path = tree.root().join(path);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
        tree.fails()
    };
    let error = remove(&format!("{BOARDS}/fpga_AU50"));
    assert!(
        error.contains("fpga_100g/fpga_AU50, which Alveo U50 is built in; there are fpga_AU55N"),
        "{error}"
    );
    let error = remove(BOARDS);
    assert!(error.ends_with("there are none at all"), "{error}");
    for path in [TEMPLATE, SHELL, &format!("{BOARDS}/fpga_AU50/config.tcl")] {
        let error = remove(path);
        assert!(
            error.contains(&format!("{path}: ")) && error.contains("a tree of Corundum"),
            "{error}"
        );
    }
    let tree = Tree::new();
    tree.write(TEMPLATE, "module other(); endmodule");
    assert!(tree.fails().ends_with("has no module mqnic_app_block that can be read"));
    let tree = Tree::new();
    tree.write(SHELL, "module mqnic_core(); endmodule");
    assert!(tree.fails().ends_with("has no instance of mqnic_app_block that can be read"));
    let error = Tree::new().package("au50", "module other(); endmodule").unwrap_err();
    assert!(
        error.ends_with("the card's Verilog has no module mqnic_app_block that can be read"),
        "{error}"
    );
}

#[test]
fn a_file_without_a_line_that_must_be_changed_is_refused() {
    let tree = Tree::new();
    let config = CONFIG.replace("dict set params APP_ENABLE", "dict set params APPLICATION");
    tree.write(&format!("{BOARDS}/fpga_AU50/config.tcl"), &config);
    assert_eq!(
        tree.fails(),
        "config.tcl of fpga_AU50 sets no APP_ENABLE, which Alveo U50 needs as `1`"
    );
    let tree = Tree::new();
    tree.write(&format!("{BOARDS}/fpga_AU50/Makefile"), "FPGA_PART = x\n");
    assert!(tree.fails().starts_with("Makefile of fpga_AU50 sets no list SYN_FILES"));
}

#[test]
fn files_that_cannot_be_written_are_named() {
    let tree = Tree::new();
    let package = tree.package("au50", &module()).unwrap();
    tree.write("file", "");
    let error = package.write(&tree.root().join("file")).unwrap_err().to_string();
    assert!(error.contains("file/fpga/app/drdma/rtl/mqnic_app_block.v: "), "{error}");
}

#[test]
fn a_bitstream_is_sealed_if_its_sources_are_those_of_the_manifest() {
    let tree = Tree::new();
    let package = tree.package("au50", &module()).unwrap();
    package.write(tree.root()).unwrap();
    let image = tree.root().join(BUILD).join("fpga.bit");
    fs::write(&image, "a bitstream").unwrap();
    let sources = Manifest::read(&tree.root().join(BUILD).join(MANIFEST)).unwrap();
    let error = sources.check_image(&image, b"a bitstream").unwrap_err().to_string();
    assert!(error.contains("has no image"), "{error}");

    let path = sources.clone().seal(tree.root(), &image).unwrap();
    assert_eq!(path, tree.root().join(BUILD).join("fpga.bit.json"));
    let sealed = Manifest::read(&path).unwrap();
    assert_eq!(sealed.image, Some(FileHash::of("fpga.bit", b"a bitstream")));
    sealed.check_image(&path, b"a bitstream").unwrap();
    let error = sealed.check_image(&path, b"a bitstreaM").unwrap_err().to_string();
    assert!(
        error.starts_with("fpga.bit has SHA-256 ") && error.contains("(11 B), and its"),
        "{error}"
    );

    tree.write("fpga/app/drdma/rtl/mqnic_app_block.v", "changed");
    let error = sources.seal(tree.root(), &image).unwrap_err().to_string();
    assert!(error.starts_with("fpga/app/drdma/rtl/mqnic_app_block.v has SHA-256 "), "{error}");
}

#[test]
fn what_is_no_manifest_is_refused() {
    let tree = Tree::new();
    let path = tree.root().join("m.json");
    let read = || Manifest::read(&path).unwrap_err().to_string();
    assert!(read().contains("m.json: No such file"));
    tree.write("m.json", "{}");
    assert!(read().contains("m.json is no manifest of a bitstream: missing field"));
    let mut manifest = tree.package("au50", &module()).unwrap().manifest;
    manifest.format = 2;
    tree.write("m.json", &manifest.to_json());
    assert!(read().ends_with("m.json has format 2, and format 1 is known here"));
}
