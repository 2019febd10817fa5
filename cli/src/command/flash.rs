//! `drdma flash`: what a board boots.

use std::{io::Write, path::PathBuf};

use clap::Args;
use drdma_bitstreams::Board;
use drdma_cli::flash::{DeviceError, FlashDevice, Image, ImageError};
use drdma_driver::flash::{Flash, FlashError, Progress, Stage};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::{Failure, SysfsArguments, create, finish, say};

/// Write a bitstream to a board's flash over PCIe, verify it, or read the flash into a file.
///
/// Only the main segment is written; the board falls back to the golden image if it cannot boot the
/// main one. After an interruption, the same command continues. The board boots the new image when
/// the machine was switched off and on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma flash --device vfio:0000:65:00.0 fpga.bit
  drdma flash --device vfio:0000:65:00.0 --verify fpga.bit
  drdma flash --device vfio:0000:65:00.0 --read backup.bin")]
pub struct Arguments {
    /// The board: vfio:0000:65:00.0; or model:FILE?board=au50, a file that stands for its flash.
    #[arg(long, value_name = "URI")]
    device: String,
    /// The bitstream: a .bit file, or a stream alone (.bin), for which the board must be named.
    #[arg(required_unless_present = "read", conflicts_with = "read")]
    image: Option<PathBuf>,
    /// Name the board: au50 or au55c.
    #[arg(long, value_name = "BOARD")]
    board: Option<String>,
    /// The image's manifest, unless it lies beside it (fpga.bit.json beside fpga.bit).
    #[arg(long, value_name = "FILE", conflicts_with = "read")]
    manifest: Option<PathBuf>,
    /// Write nothing: compare the flash with the image.
    #[arg(long)]
    verify: bool,
    /// Write nothing: read the main segment into this file.
    #[arg(long, value_name = "FILE", conflicts_with = "verify")]
    read: Option<PathBuf>,
    /// Read the golden segment instead.
    #[arg(long, requires = "read", conflicts_with = "image")]
    golden: bool,
    /// Read so many bytes instead of the whole segment.
    #[arg(long, value_name = "BYTES", requires = "read", conflicts_with = "image",
          value_parser = clap::value_parser!(u32).range(1..))]
    length: Option<u32>,
    /// Print JSON instead of text when it is done.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sysfs: SysfsArguments,
}

impl From<ImageError> for Failure {
    fn from(error: ImageError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<FlashError> for Failure {
    fn from(error: FlashError) -> Self {
        match error {
            FlashError::TooLong { .. } | FlashError::NoStart => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error.is_usage() {
            true => Self::Usage(error.to_string()),
            false => Self::Failed(error.to_string()),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let board = arguments.board.as_deref().map(str::parse::<&'static Board>).transpose();
    let board = board.map_err(|error| Failure::Usage(error.to_string()))?;
    // The image is looked at before the board is touched.
    let image = arguments.image.as_deref();
    let image = image.map(|path| Image::read(path, arguments.manifest.as_deref(), board));
    let image = image.transpose()?;
    let mut device = FlashDevice::open(&arguments.sysfs.tree(), &arguments.device)?;
    let result = match &image {
        Some(image) => {
            let checked = device.check(image.board, board.is_some());
            checked.map_err(Failure::from).and_then(|()| write(&mut device, image, arguments))
        }
        None => read(&mut device, arguments),
    };
    // Half a run is kept as well.
    let closed = device.close().map_err(Failure::from);
    result.and(closed)
}

fn write(device: &mut FlashDevice, image: &Image, arguments: &Arguments) -> Result<(), Failure> {
    let title = &image.board.title;
    let report = |line: Value, text: &str| match arguments.json {
        true => say(format_args!("{line:#}\n")),
        false => say(text),
    };
    if !arguments.json {
        say(match &image.manifest {
            Some(manifest) => format!(
                "{title}: D-RDMA {}, Corundum {}, ABI {}\n",
                manifest.version,
                manifest.corundum_commit.as_deref().unwrap_or("of no commit"),
                manifest.abi_hash
            ),
            None => format!("{title}: a bitstream without a manifest; its hash was not checked\n"),
        })?;
    }
    let bytes = image.stream.len();
    let mut line = json!({
        "board": title, "segment": "main", "bytes": bytes,
        "version": image.manifest.as_ref().map(|manifest| &manifest.version),
        "abi_hash": image.manifest.as_ref().map(|manifest| &manifest.abi_hash),
    });
    let mut flash = Flash::open(device)?;
    let bar = Bar::new();
    if arguments.verify {
        flash.verify(&image.stream, &mut |progress| bar.show(progress))?;
        bar.end();
        line["done"] = json!("verified");
        return report(line, &format!("the main segment has this image ({bytes} B)\n"));
    }
    let outcome = flash.write(&image.stream, &mut |progress| bar.show(progress))?;
    bar.end();
    line["done"] = json!("written");
    line["written_bytes"] = json!(outcome.written);
    line["kept_bytes"] = json!(outcome.kept);
    if outcome.written == 0 {
        return report(line, &format!("the main segment has this image already ({bytes} B)\n"));
    }
    let text = format!(
        "{} B written and verified, {} B were right already\n\
         Switch the machine off and on: the board then boots this image.\n",
        outcome.written, outcome.kept
    );
    report(line, &text)
}

fn read(device: &mut FlashDevice, arguments: &Arguments) -> Result<(), Failure> {
    let Some(path) = &arguments.read else { return Ok(()) };
    let mut flash = Flash::open(device)?;
    let layout = flash.layout();
    let segment = if arguments.golden { layout.golden.clone() } else { layout.main.clone() };
    let whole = segment.len() as u32;
    let length = arguments.length.unwrap_or(whole);
    if length > whole {
        let text = format!("the segment has {whole} B, and {length} B are to be read");
        return Err(Failure::Usage(text));
    }
    // Before the minutes that reading may take.
    let mut file = create(path)?;
    let bar = Bar::new();
    let mut bytes = vec![0; length as usize];
    flash.read(segment.start, &mut bytes, &mut |progress| bar.show(progress))?;
    bar.end();
    file.write_all(&bytes).map_err(|error| Failure::file(path, &error))?;
    finish(file, path)?;
    let start = segment.start;
    if arguments.json {
        let segment = if arguments.golden { "golden" } else { "main" };
        let line = json!({
            "done": "read", "segment": segment, "start": start, "bytes": length, "file": path,
        });
        return say(format_args!("{line:#}\n"));
    }
    say(format_args!("{length} B from {start:#010x} on are in {}\n", path.display()))
}

/// A bar on a terminal, nothing elsewhere.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let style = "{msg:8} {wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec}, {eta} left";
        let style = ProgressStyle::with_template(style).expect("the template is in order");
        Self(ProgressBar::new(0).with_style(style))
    }

    fn show(&self, progress: Progress) {
        let Progress { stage, done, total } = progress;
        self.0.set_message(match stage {
            Stage::Survey => "survey",
            Stage::Write => "write",
            Stage::Read => "read",
        });
        self.0.set_length(total as u64);
        self.0.set_position(done as u64);
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}
