//! The reads that would cost least, for comparison with those that the card makes.

use drdma_semantics::{boxes::Settings, memory::Fault, rows::Units};
use drdma_sim::pcie;
use libdrdma::optimizer::{Cheapest, CostTable, Fragment, Limits, Optimizer};

use super::{Cheap, image::Image};

/// Costs of reads if none were measured: a tag is taken for a round trip, and a byte takes its
/// time on the link.
pub fn link_costs() -> CostTable {
    let pcie::Config { tags, latency_ns, link_gbps, .. } = pcie::Config::default();
    CostTable::affine(latency_ns as f64 / tags as f64, 8.0 / link_gbps)
        .expect("a link's times are positive")
}

/// Walks the units of a request's destinations as the card plans them, and plans each window anew.
pub struct Follower<'a> {
    settings: Settings,
    costs: &'a CostTable,
    destinations: Vec<Units>,
    found: Cheap,
}

impl<'a> Follower<'a> {
    /// Starts at the first unit of every destination.
    pub fn new(settings: Settings, costs: &'a CostTable, destinations: Vec<Units>) -> Self {
        Self { settings, costs, destinations, found: Cheap::default() }
    }

    /// Plans the next `counts` units of the destinations. A unit that the card spread over several windows
    /// counts where it ended.
    ///
    /// # Errors
    /// If a bitmap or a pointer cannot be read.
    pub fn window(&mut self, counts: &[u64], image: &Image) -> Result<(), Fault> {
        let (mut unit, mut fragments) = (Vec::new(), Vec::new());
        for (units, count) in self.destinations.iter_mut().zip(counts) {
            for _ in 0..*count {
                if !units.next(image, &mut unit)? {
                    break;
                }
                let fragment = |f: &drdma_semantics::rows::Fragment| Fragment {
                    addr: f.addr,
                    len: f.len.into(),
                };
                fragments.extend(unit.iter().map(fragment));
            }
        }
        let Settings { max_read, window, .. } = self.settings;
        let limits = Limits { max_read, window };
        let plan = Cheapest(self.costs)
            .plan(&fragments, &limits)
            .expect("fragments that were checked, and limits of a card");
        self.found.reads += plan.reads() as u64;
        self.found.read_bytes += plan.bytes();
        self.found.cost_ns += self.costs.plan(&plan);
        Ok(())
    }

    /// Reads and costs of all windows so far.
    pub fn found(&self) -> Cheap {
        self.found
    }
}
