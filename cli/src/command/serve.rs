//! `drdma serve`: a simulated card as a PCI device of a virtual machine.

use std::{
    fs::File,
    io::{self, BufWriter},
    os::{fd::AsFd as _, unix::net::UnixStream},
    path::PathBuf,
};

use clap::Args;
use drdma_cli::{
    device::{self, Kind},
    interrupt,
};
use drdma_serve::{Event, Function, Server, pci::config::Link};
use drdma_sim::{uri::DeviceUri, wire::Network};
use drdma_soft::port::PortEnd;
use drdma_wire::WireSpec;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    low_level::pipe,
};

use super::{Failure, note};

/// Clock cycles between two looks for work of the client and the wire.
const CYCLES: u64 = 64;

/// Serve a simulated card over vfio-user, as a PCI device of a virtual machine. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma serve --socket /tmp/card --wire dgram:/tmp/a,/tmp/b
  drdma serve --device soft: --socket /tmp/card --wire pcap:card.pcap --once")]
pub struct Arguments {
    /// The card: `rtl:` is the simulated hardware, `soft:` the reference model.
    #[arg(long, value_name = "URI", default_value = "rtl:")]
    device: String,
    /// Where clients connect: the path of a socket.
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// What the card's port is plugged into: `dgram:LOCAL,REMOTE`, a pair of unix datagram sockets
    /// (QEMU's `-netdev dgram`); `tap:NAME`, an interface; `udp:LOCAL,REMOTE[,REMOTE...]`, UDP between
    /// addresses IP:PORT; `none`. And `pcap:FILE`, where the card's
    /// frames are written, beside one of those or alone.
    #[arg(long = "wire", value_name = "WIRE")]
    wires: Vec<WireSpec>,
    /// End when the first client has gone.
    #[arg(long)]
    once: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let link = link(&arguments.device)?;
    let (captures, wires): (Vec<_>, Vec<_>) =
        arguments.wires.iter().partition(|wire| matches!(wire, WireSpec::Pcap(_)));
    if captures.len() > 1 || wires.len() > 1 {
        return Err(Failure::Usage("a card has one port: one wire and one capture".to_owned()));
    }
    let stop = stop_signal().map_err(Failure::failed)?;
    let _held = interrupt::hold().map_err(Failure::failed)?;

    let network = Network::new();
    let uri = match Kind::of(&arguments.device) {
        Kind::Rtl => device::with_option(&arguments.device, "cycles", CYCLES),
        _ => arguments.device.clone(),
    };
    let card = device::open_slot(&uri, &network)?;
    let captured = match captures.first() {
        Some(WireSpec::Pcap(path)) => Some(path),
        _ => None,
    };
    if let Some(path) = captured {
        // Written at once: it may be read while the card is served.
        let file = File::create(path).map_err(|error| Failure::file(path, &error))?;
        network.capture_to(BufWriter::new(file)).map_err(|error| Failure::file(path, &error))?;
    }
    let wire = match wires.first() {
        Some(spec) => spec
            .open()
            .map_err(|error| Failure::Failed(format!("the wire cannot be plugged in: {error}")))?,
        None => None,
    };
    let function = Function::new(card, network.clone(), link, wire.is_some());
    let port = PortEnd::new(network.clone(), wire);
    let mut server =
        Server::bind(&arguments.socket, function, port, Box::new(tell)).map_err(Failure::failed)?;
    note(format_args!("serving {} at {}", arguments.device, arguments.socket.display()));
    let served = server.run(stop.as_fd(), arguments.once);

    if let Some(path) = captured {
        network.flush_capture().map_err(|error| Failure::file(path, &error))?;
    }
    note(format_args!("wire: {}", server.traffic()));
    if server.host_frames() > 0 {
        note(format_args!("{} frames were none of the card's", server.host_frames()));
    }
    served.map_err(Failure::failed)
}

/// The link that a device's options ask for, as configuration space is to report it.
fn link(uri: &str) -> Result<Link, Failure> {
    let usage = |error: drdma_sim::OpenError| Failure::Usage(error.to_string());
    if Kind::of(uri) == Kind::Board {
        let text = format!("{uri} is no simulated card; there are soft: and rtl:");
        return Err(Failure::Usage(text));
    }
    let mut options = uri.parse::<DeviceUri>().map_err(usage)?.into_options();
    let link = Link::default();
    Ok(Link {
        max_read_request: options.take("mrrs").map_err(usage)?.unwrap_or(link.max_read_request),
        max_payload: options.take("mps").map_err(usage)?.unwrap_or(link.max_payload),
        ..link
    })
}

/// A file descriptor that becomes readable when this process is asked to end.
fn stop_signal() -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    pipe::register(SIGINT, write.try_clone()?)?;
    pipe::register(SIGTERM, write)?;
    Ok(read)
}

fn tell(event: Event) {
    match event {
        Event::Connected => note(format_args!("a client has connected")),
        Event::Disconnected { reason } => note(format_args!("the client is gone: {reason}")),
        Event::Refused(text) => note(format_args!("{text}")),
        Event::Fault { count, text } => note(format_args!("DMA fault: {text}; {count} so far")),
        Event::Stopped { count } => {
            note(format_args!("DMA without bus mastering: {count} not made so far"))
        }
        Event::Wire(text) => note(format_args!("the wire failed: {text}")),
        _ => {}
    }
}
