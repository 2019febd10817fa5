//! Identity, limits, settings and counters of a card.

use std::net::Ipv4Addr;

use drdma_abi::{
    register::{
        ABI_HASH_HIGH, ABI_HASH_LOW, ACK_TIMEOUT, ASSEMBLER_WORDS, COLUMN_MIN_ROWS,
        COMPLETION_QUEUES, CONTROL, COUNTERS, IP, MAC_HIGH, MAC_LOW, MAX_READ, MEMORY_REGIONS,
        MERGE_THRESHOLD, QUEUE_PAIRS, SEND_QUEUES, VERSION,
    },
    roce::MTUS,
    work_request::{MAX_DESTINATIONS, MAX_ELEMENTS, MAX_MESSAGE, MAX_REGIONS, MAX_REQUEST_REGIONS},
};
use drdma_driver::{CardError, Device};
use serde::Serialize;
use serde_json::{Map, Value};

/// Identity and state of a card.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// The device's URI.
    pub device: String,
    /// Version of the register map.
    pub version: String,
    /// Hash of all layouts that the card shares with software.
    pub abi_hash: String,
    /// Transports of the card's queue pairs.
    pub transports: [&'static str; 3],
    /// State of the port.
    pub port: Port,
    /// Number of objects of each kind that the card has room for.
    pub limits: Map<String, Value>,
    /// Values of the registers that change how the card works.
    pub settings: Map<String, Value>,
    /// Counters of the card since they were cleared.
    pub counters: Map<String, Value>,
}

/// State of a card's port.
#[derive(Clone, Debug, Serialize)]
pub struct Port {
    /// True if the port takes doorbells and sends.
    pub enabled: bool,
    /// True if a request is under way.
    pub busy: bool,
    /// MAC address.
    pub mac: String,
    /// IPv4 address.
    pub ip: Ipv4Addr,
    /// Path MTUs that are possible, in bytes.
    pub mtus: Vec<u32>,
}

/// Reads the registers of a card.
///
/// # Errors
/// The card failed.
pub fn of(uri: &str, device: &mut Device) -> Result<Info, CardError> {
    let version = device.read(VERSION)?;
    let (low, high) = (device.read(ABI_HASH_LOW)?, device.read(ABI_HASH_HIGH)?);
    let mac = u64::from(device.read(MAC_HIGH)?) << 32 | u64::from(device.read(MAC_LOW)?);
    let [_, _, mac @ ..] = mac.to_be_bytes();
    let limits = [
        ("queue_pairs", u64::from(QUEUE_PAIRS.entries)),
        ("memory_regions", MEMORY_REGIONS.entries.into()),
        ("send_queues", SEND_QUEUES.entries.into()),
        ("completion_queues", COMPLETION_QUEUES.entries.into()),
        ("destinations_per_request", MAX_DESTINATIONS as u64),
        ("regions_per_destination", MAX_REGIONS as u64),
        ("regions_per_request", MAX_REQUEST_REGIONS as u64),
        ("elements_per_region", MAX_ELEMENTS as u64),
        ("message_bytes", MAX_MESSAGE),
    ];
    let mut settings = Map::new();
    for (name, register) in [
        ("max_read", MAX_READ),
        ("merge_threshold", MERGE_THRESHOLD),
        ("ack_timeout", ACK_TIMEOUT),
        ("column_min_rows", COLUMN_MIN_ROWS),
        ("assembler_words", ASSEMBLER_WORDS),
    ] {
        settings.insert(name.to_owned(), device.read(register)?.into());
    }
    let mut counters = Map::new();
    for counter in COUNTERS {
        counters.insert(counter.name.to_lowercase(), device.counter(*counter)?.into());
    }
    Ok(Info {
        device: uri.to_owned(),
        version: format!("{}.{}", version >> 16, version & 0xffff),
        abi_hash: format!("{:#018x}", u64::from(high) << 32 | u64::from(low)),
        transports: ["rc", "uc", "ud"],
        port: Port {
            enabled: device.read(CONTROL)? & 1 == 1,
            busy: device.is_busy()?,
            mac: mac.map(|byte| format!("{byte:02x}")).join(":"),
            ip: device.read(IP)?.into(),
            mtus: MTUS.to_vec(),
        },
        limits: limits.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
        settings,
        counters,
    })
}

/// The information as text, in the form of `ibv_devinfo`.
pub fn render(info: &Info) -> String {
    let Info { device, version, abi_hash, transports, port, limits, settings, counters } = info;
    let mtus: Vec<_> = port.mtus.iter().map(u32::to_string).collect();
    let mut text = format!(
        "{device}\n  version: {version}\n  abi_hash: {abi_hash}\n  transports: {}\n  port:\n    \
         enabled: {}\n    busy: {}\n    mac: {}\n    ip: {}\n    mtus: {}\n",
        transports.join(" "),
        port.enabled,
        port.busy,
        port.mac,
        port.ip,
        mtus.join(" ")
    );
    for (title, values) in [("limits", limits), ("settings", settings), ("counters", counters)] {
        text += &format!("  {title}:\n");
        for (name, value) in values {
            text += &format!("    {name}: {value}\n");
        }
    }
    text
}
