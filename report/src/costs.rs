//! What DMA reads cost on the card that is reported on, measured as `drdma calibrate` does.

use std::{sync::OnceLock, time::Duration};

use drdma_cli::calibrate::{self, Calibration};
use drdma_sim::{
    clock::NS_PER_CYCLE,
    rtl::{self, RtlCard},
    wire::Network,
};
use libdrdma::{Context, MacAddress, Options, optimizer::CostTable};

use crate::rig;

/// Seconds without an end of a measurement after which there is none.
const PATIENCE: Duration = Duration::from_secs(600);
/// Bytes from one read to the next at which they have nothing in common.
const APART: u32 = 4096;
/// Bytes of reads that are tried in one cache line, too.
const SHORT: u32 = 4;

/// The costs, measured once.
///
/// # Errors
/// The card could not be measured.
pub fn measured() -> Result<&'static CostTable, String> {
    static COSTS: OnceLock<Result<CostTable, String>> = OnceLock::new();
    COSTS.get_or_init(measure).as_ref().map_err(Clone::clone)
}

/// The part of the grid of `drdma calibrate` that a table is made of: reads of each length apart from
/// each other, and short ones that share lines. The rest repeats them at other distances.
fn points() -> impl Iterator<Item = (u32, u32)> {
    calibrate::grid()
        .filter(|&(size, stride)| stride == APART && size < APART || size == SHORT && stride < 64)
}

fn measure() -> Result<CostTable, String> {
    let network = Network::new();
    network.add_peer(calibrate::peer());
    let config = rtl::Config { pcie: rig::host(), ..rtl::Config::default() };
    let card = RtlCard::new(config, network).map_err(|error| error.to_string())?;
    let [_, _, mac @ ..] = calibrate::LOCAL.mac.to_be_bytes();
    let options = Options::new(MacAddress(mac), calibrate::LOCAL.ip.into());
    let context = Context::open(Box::new(card), options).map_err(|error| error.to_string())?;
    let points = calibrate::measure_points(&context, NS_PER_CYCLE, PATIENCE, points(), |_| ())
        .map_err(|error| error.to_string())?;
    let calibration =
        Calibration::of("rtl:", NS_PER_CYCLE, points).map_err(|error| error.to_string())?;
    Ok(calibration.costs)
}
