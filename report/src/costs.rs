//! Costs of DMA reads on the card that is reported on, measured as `drdma calibrate` does.

use std::{sync::OnceLock, time::Duration};

use drdma_calibrate::{self as calibrate, Calibration};
use drdma_sim::{
    clock::NS_PER_CYCLE,
    rtl::{self, RtlCard},
    wire::Network,
};
use libdrdma::{Context, optimizer::CostTable};

use crate::rig;

/// Time that a measurement may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// The costs, measured once.
///
/// A text, if the card could not be measured.
/// The card could not be measured.
pub fn measured() -> Result<&'static CostTable, String> {
    static COSTS: OnceLock<Result<CostTable, String>> = OnceLock::new();
    COSTS.get_or_init(measure).as_ref().map_err(Clone::clone)
}

fn measure() -> Result<CostTable, String> {
    let network = Network::new();
    network.add_peer(calibrate::peer());
    let cycles_per_progress = calibrate::CYCLES_PER_LOOK;
    let config = rtl::Config { cycles_per_progress, ..rig::card() };
    let card = RtlCard::new(config, network).map_err(|error| error.to_string())?;
    let context =
        Context::open(Box::new(card), calibrate::options()).map_err(|error| error.to_string())?;
    let points = calibrate::measure(&context, NS_PER_CYCLE, PATIENCE, |_| ())
        .map_err(|error| error.to_string())?;
    let calibration =
        Calibration::of("rtl:", NS_PER_CYCLE, points).map_err(|error| error.to_string())?;
    Ok(calibration.costs)
}
