//! An experiment's requests in the library's words.

use libdrdma::{
    Bitmapped, CompletionQueue, Contiguous, Destination, MemoryRegion, Operation,
    PartitionDestination, Partitioned, PartitionedRegion, PartitionedWorkRequest, PointerMapped,
    ProtectionDomain, QueuePair, RegionError, RowMask, SharedOperation, SharedWorkRequest, Strided,
    WorkRequest,
    optimizer::{CostTable, FetchPlan, Fragment, Limits, Schedule},
};

use super::{REMOTE, RKEY, RunError};
use crate::{
    experiment::{Experiment, Fetched},
    layout::{self, Piece, Place, Region, Requests},
};

/// Posts what the experiment says and waits, while everything is still alive. With `costs`, regions of
/// one destination are posted with the fetch plan or the schedule that suits them best.
///
/// # Errors
/// What the library refuses, or what `wait` says.
pub fn post<'m>(
    experiment: &Experiment,
    pd: &ProtectionDomain,
    cq: &CompletionQueue,
    qps: &mut [QueuePair<'m>],
    memory: &'m [MemoryRegion],
    costs: Option<&CostTable>,
    wait: impl FnOnce() -> Result<(), RunError>,
) -> Result<(), RunError> {
    let tell = |list: &[Region]| {
        list.iter().map(|region| told(region, memory)).collect::<Result<Vec<_>, _>>()
    };
    let rows = experiment.rows_per_message;
    let operation = match experiment.write {
        true => Operation::Write { remote_addr: REMOTE, rkey: RKEY },
        false => Operation::Send,
    };
    match &experiment.requests {
        Requests::Shared(list) => {
            let mut ssq = pd.shared_send_queue(cq).build()?;
            let regions = list.iter().map(|list| tell(list)).collect::<Result<Vec<_>, _>>()?;
            let destinations: Vec<_> = qps
                .iter()
                .zip(&regions)
                .map(|(qp, regions)| Destination::new(qp).remote(REMOTE, RKEY).regions(regions))
                .collect();
            let request = SharedWorkRequest::new(1)
                .operation(shared_operation(experiment))
                .rows_per_message(rows)
                .destinations(&destinations);
            ssq.post_ssq_send(&request)?;
            wait()
        }
        Requests::Partitioned(list) => {
            let mut ssq = pd.shared_send_queue(cq).build()?;
            let region = partitioned(list, memory)?;
            let destinations: Vec<_> = (0..=u8::MAX)
                .zip(&*qps)
                .map(|(id, qp)| PartitionDestination::new(qp, id).remote(REMOTE, RKEY))
                .collect();
            let request = PartitionedWorkRequest::new(1, &region)
                .operation(shared_operation(experiment))
                .rows_per_message(rows)
                .destinations(&destinations);
            ssq.post_ssq_send(&request)?;
            wait()
        }
        Requests::Own(list) => {
            let mut fetched = None;
            let mut regions = tell(list)?;
            match (experiment.fetched, costs) {
                (Fetched::Schedule(buffer), Some(costs)) => {
                    let schedule = schedule(&list[0], memory, costs)?;
                    memory[buffer].store_at(0, schedule.fetch_rows());
                    regions[0] = told_with(&list[0], memory, Some(&memory[buffer]))?;
                    fetched = Some(schedule.plan());
                }
                (_, Some(costs)) => fetched = Some(plan(&regions, memory, costs)?),
                (_, None) => {}
            }
            let mut request =
                WorkRequest::new(1).operation(operation).rows_per_message(rows).regions(&regions);
            if let Some(plan) = fetched {
                request = request.fetch_plan(plan);
            }
            qps[0].post_send(&request)?;
            wait()
        }
        Requests::Lists(lists) => {
            let mut batches: Vec<_> = qps.iter_mut().map(QueuePair::batch).collect();
            for (id, (to, pieces)) in lists.iter().enumerate() {
                let regions = pieces
                    .iter()
                    .map(|piece| told(&Region::Contiguous(*piece), memory))
                    .collect::<Result<Vec<_>, _>>()?;
                let request = WorkRequest::new(id as u64)
                    .operation(operation)
                    .row_mask(RowMask::Element)
                    .regions(&regions);
                batches[*to].post_send(&request)?;
            }
            batches.into_iter().try_for_each(libdrdma::PostGuard::submit)?;
            wait()
        }
    }
}

/// The schedule that an application would find for a bitmap.
fn schedule(
    region: &Region,
    memory: &[MemoryRegion],
    costs: &CostTable,
) -> Result<Schedule, RunError> {
    let Region::Bitmapped { bitmap, rows, columns } = region else {
        return Err(RunError::Refused("only a bitmap has a schedule".to_owned()));
    };
    let column = |(base, width): &(Place, u64)| Fragment {
        addr: memory[base.buffer].addr() + base.offset,
        len: *width,
    };
    let columns: Vec<_> = columns.iter().map(column).collect();
    let mut selected = vec![0; rows.div_ceil(8) as usize];
    memory[bitmap.buffer].read_at(bitmap.offset as usize, &mut selected);
    Schedule::cheapest(&columns, *rows, &selected, costs, &Limits::default())
        .map_err(|error| RunError::Refused(error.to_string()))
}

/// The plan that an application would find.
fn plan(
    regions: &[libdrdma::Region<'_>],
    memory: &[MemoryRegion],
    costs: &CostTable,
) -> Result<FetchPlan, RunError> {
    let memory: Vec<&MemoryRegion> = memory.iter().collect();
    let mut fragments = Vec::new();
    for region in regions {
        fragments.extend(region.fragments(&memory)?);
    }
    FetchPlan::cheapest(&fragments, costs, &Limits::default())
        .map_err(|error| RunError::Refused(error.to_string()))
}

fn shared_operation(experiment: &Experiment) -> SharedOperation {
    if experiment.write { SharedOperation::Write } else { SharedOperation::Send }
}

/// A partitioned region in the library's words.
fn partitioned<'m>(
    list: &layout::Partitioned,
    memory: &'m [MemoryRegion],
) -> Result<PartitionedRegion<'m, u8>, RegionError> {
    let Piece { at, len } = list.ids;
    let region = Partitioned::new(&memory[at.buffer]).offset(at.offset).rows(len);
    list.columns
        .iter()
        .fold(region, |region, (base, width)| {
            region.column(&memory[base.buffer], base.offset, *width)
        })
        .build()
}

/// A region in the library's words.
fn told<'m>(
    region: &Region,
    memory: &'m [MemoryRegion],
) -> Result<libdrdma::Region<'m>, RegionError> {
    told_with(region, memory, None)
}

/// Likewise, with fetch rows if it is bitmapped and there are any.
fn told_with<'m>(
    region: &Region,
    memory: &'m [MemoryRegion],
    fetch_rows: Option<&'m MemoryRegion>,
) -> Result<libdrdma::Region<'m>, RegionError> {
    match region {
        Region::Contiguous(Piece { at, len }) => {
            Contiguous::new(&memory[at.buffer]).offset(at.offset).len(*len).build()
        }
        Region::Strided { base, period, count, pattern } => {
            let region = Strided::new(&memory[base.buffer]).offset(base.offset);
            let region = region.period(*period).count(*count);
            pattern
                .iter()
                .fold(region, |region, (offset, len)| region.extent(*offset, *len))
                .build()
        }
        Region::Bitmapped { bitmap, rows, columns } => {
            let mut region =
                Bitmapped::new(&memory[bitmap.buffer]).offset(bitmap.offset).rows(*rows);
            if let Some(memory) = fetch_rows {
                region = region.fetch_rows(memory, 0);
            }
            columns
                .iter()
                .fold(region, |region, (base, width)| {
                    region.column(&memory[base.buffer], base.offset, *width)
                })
                .build()
        }
        Region::PointerMapped { pointers, target, offsets, len } => {
            PointerMapped::new(&memory[*pointers], &memory[*target])
                .count(offsets.len() as u64)
                .extent(0, *len)
                .build()
        }
    }
}
