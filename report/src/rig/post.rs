//! Posts an experiment's requests with the library.

use libdrdma::{
    Bitmapped, CompletionQueue, Contiguous, Destination, KeyType, MemoryRegion, Operation,
    PartitionDestination, PartitionId, PartitionKeys, Partitioned, PartitionedRegion,
    PartitionedWorkRequest, PointerMapped, PostGuard, ProtectionDomain, QueuePair, RegionError,
    RemoteColumn, RowMask, SharedOperation, SharedPostGuard, SharedWorkRequest, Strided, Values,
    WorkRequest,
    optimizer::{CostTable, FetchPlan, Fragment, Limits, Schedule},
};

use super::{CHAIN_END, REMOTE, RKEY, RunError, column_addr};
use crate::{
    experiment::{Experiment, Fetched},
    layout::{self, KindColumn, Piece, Place, Post, Region},
};

/// Blocks of the shared send queue: as many as there can be.
const SHARED_BLOCKS: u32 = 1 << 16;

/// Posts what the experiment says, all of it before the doorbells are rung (one a queue), and waits while
/// everything is still alive. With `costs`, regions of one destination are posted with the fetch plan or
/// the schedule that suits them best.
///
/// # Errors
/// The library refuses a request, or `wait` fails.
pub fn post<'m>(
    experiment: &Experiment,
    pd: &ProtectionDomain,
    cq: &CompletionQueue,
    qps: &mut [QueuePair<'m>],
    memory: &'m [MemoryRegion],
    costs: Option<&CostTable>,
    wait: impl FnOnce() -> Result<(), RunError>,
) -> Result<(), RunError> {
    let own = |post: &Post| matches!(post, Post::Own { .. });
    let (owned, shared): (Vec<_>, Vec<_>) =
        experiment.posts.iter().enumerate().partition(|(_, post)| own(post));
    let mut ssq = match shared.is_empty() {
        true => None,
        false => Some(pd.shared_send_queue(cq).send_blocks(SHARED_BLOCKS).build()?),
    };
    if let Some(ssq) = &mut ssq {
        let mut batch = ssq.batch();
        for (id, post) in shared {
            post_shared(experiment, id as u64, post, qps, memory, &mut batch)?;
        }
        batch.submit()?;
    }
    let mut batches: Vec<_> = qps.iter_mut().map(QueuePair::batch).collect();
    for (id, post) in owned {
        if let Post::Own { to, regions } = post {
            post_own(experiment, id as u64, regions, memory, costs, &mut batches[*to])?;
        }
    }
    batches.into_iter().try_for_each(PostGuard::submit)?;
    wait()
}

fn post_shared<'m>(
    experiment: &Experiment,
    wr_id: u64,
    post: &Post,
    qps: &[QueuePair<'m>],
    memory: &'m [MemoryRegion],
    batch: &mut SharedPostGuard<'_, 'm>,
) -> Result<(), RunError> {
    let operation = match experiment.write {
        true => SharedOperation::Write,
        false => SharedOperation::Send,
    };
    let rows = experiment.rows_per_message;
    let columns: Vec<_> = (0..experiment.columns())
        .map(|column| RemoteColumn { addr: column_addr(column), rkey: RKEY })
        .collect();
    match post {
        Post::Shared(list) => {
            let regions =
                list.iter().map(|list| told_all(list, memory)).collect::<Result<Vec<_>, _>>()?;
            let destinations: Vec<_> = qps
                .iter()
                .zip(&regions)
                .map(|(qp, regions)| {
                    let to = Destination::new(qp).regions(regions);
                    match experiment.by_columns {
                        true => to.remote_columns(&columns),
                        false => to.remote(REMOTE, RKEY),
                    }
                })
                .collect();
            let request = SharedWorkRequest::new(wr_id)
                .operation(operation)
                .row_mask(mask(experiment))
                .rows_per_message(rows)
                .destinations(&destinations);
            batch.post_ssq_send(&request)?;
        }
        Post::Partitioned(list) if list.keys.is_some() => {
            let region = keyed(list, memory)?;
            let destinations: Vec<_> = (0..=u16::from(u8::MAX))
                .zip(qps)
                .map(|(id, qp)| PartitionDestination::new(qp, id).remote(REMOTE, RKEY))
                .collect();
            let request = PartitionedWorkRequest::new(wr_id, &region)
                .operation(operation)
                .rows_per_message(rows)
                .destinations(&destinations);
            batch.post_ssq_send(&request)?;
        }
        Post::Partitioned(list) => {
            let region = partitioned(list, memory)?;
            let destinations: Vec<_> = (0..=u8::MAX)
                .zip(qps)
                .map(|(id, qp)| {
                    let to = PartitionDestination::new(qp, id);
                    match experiment.by_columns {
                        true => to.remote_columns(&columns),
                        false => to.remote(REMOTE, RKEY),
                    }
                })
                .collect();
            let request = PartitionedWorkRequest::new(wr_id, &region)
                .operation(operation)
                .rows_per_message(rows)
                .destinations(&destinations);
            batch.post_ssq_send(&request)?;
        }
        Post::Own { .. } => {}
    }
    Ok(())
}

fn post_own<'m>(
    experiment: &Experiment,
    wr_id: u64,
    list: &[Region],
    memory: &'m [MemoryRegion],
    costs: Option<&CostTable>,
    batch: &mut PostGuard<'_, 'm>,
) -> Result<(), RunError> {
    let operation = match experiment.write {
        true => Operation::Write { remote_addr: REMOTE, rkey: RKEY },
        false => Operation::Send,
    };
    let mut regions = told_all(list, memory)?;
    let fetched = match (&experiment.fetched, costs) {
        (Fetched::Schedule(buffers), Some(costs)) => {
            let buffer = buffers[wr_id as usize];
            let schedule = schedule(&list[0], memory, costs)?;
            memory[buffer].store_at(0, schedule.fetch_rows());
            regions[0] = told_with(&list[0], memory, Some(&memory[buffer]))?;
            Some(schedule.plan())
        }
        (_, Some(costs)) => Some(plan(&regions, memory, costs)?),
        (_, None) => None,
    };
    let mut request = WorkRequest::new(wr_id)
        .operation(operation)
        .row_mask(mask(experiment))
        .rows_per_message(experiment.rows_per_message)
        .regions(&regions);
    if let Some(plan) = fetched {
        request = request.fetch_plan(plan);
    }
    Ok(batch.post_send(&request)?)
}

fn mask(experiment: &Experiment) -> RowMask {
    match experiment.row_mask {
        layout::RowMask::Period => RowMask::Period,
        layout::RowMask::Element => RowMask::Element,
    }
}

/// The schedule that an application would choose for a bitmap.
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

/// The fetch plan that an application would choose.
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

/// A partitioned region as the library has it.
fn partitioned<'m>(
    list: &layout::Partitioned,
    memory: &'m [MemoryRegion],
) -> Result<PartitionedRegion<'m, u8>, RegionError> {
    let Piece { at, len } = list.ids;
    let region = Partitioned::new(&memory[at.buffer]).offset(at.offset).rows(len);
    with_columns(region, list, memory).build()
}

/// A partitioned region with its columns.
fn with_columns<'m, I: PartitionId>(
    region: Partitioned<'m, I>,
    list: &layout::Partitioned,
    memory: &'m [MemoryRegion],
) -> Partitioned<'m, I> {
    let region = list.columns.iter().fold(region, |region, (base, width)| {
        region.column(&memory[base.buffer], base.offset, *width)
    });
    let kinds = kind_columns(&list.kinds, memory);
    kinds
        .into_iter()
        .fold(region, |region, (entries, values)| region.typed_column(entries, 0, values))
}

/// The entries of columns, and the memory that they lead to.
fn kind_columns<'m>(
    columns: &[KindColumn],
    memory: &'m [MemoryRegion],
) -> Vec<(&'m MemoryRegion, Values<'m>)> {
    let of = |column: &KindColumn| match column {
        KindColumn::Text { offsets, data, .. } => {
            vec![(&memory[*offsets], Values::offsets_32(&memory[*data], 0))]
        }
        KindColumn::Bits { columns, .. } => {
            columns.iter().map(|column| (&memory[*column], Values::bits(0))).collect()
        }
    };
    columns.iter().flat_map(of).collect()
}

/// A partitioned region whose ids the card makes from keys, as the library has it.
fn keyed<'m>(
    list: &layout::Partitioned,
    memory: &'m [MemoryRegion],
) -> Result<PartitionedRegion<'m, u16>, RegionError> {
    let Some(layout::Keys { at: Piece { at, .. }, width, partitions }) = list.keys else {
        unreachable!("a region with keys")
    };
    let key = &memory[at.buffer];
    let by = PartitionKeys::murmur3(partitions);
    let by = by.key(key, at.offset, Values::fixed(width), KeyType::Integer);
    with_columns(Partitioned::by(by).rows(list.ids.len), list, memory).build()
}

/// Regions as the library has them.
fn told_all<'m>(
    list: &[Region],
    memory: &'m [MemoryRegion],
) -> Result<Vec<libdrdma::Region<'m>>, RegionError> {
    list.iter().map(|region| told_with(region, memory, None)).collect()
}

/// A region as the library has it, with fetch rows if it is bitmapped and there are any.
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
        Region::BitmappedKinds { bitmap, rows, columns } => {
            let region = Bitmapped::new(&memory[bitmap.buffer]).offset(bitmap.offset).rows(*rows);
            let columns = kind_columns(columns, memory);
            columns
                .into_iter()
                .fold(region, |region, (entries, values)| region.typed_column(entries, 0, values))
                .build()
        }
        Region::PointerMapped { pointers, target, offsets, len } => {
            PointerMapped::new(&memory[*pointers], &memory[*target])
                .count(offsets.len() as u64)
                .extent(0, *len)
                .build()
        }
        Region::Chased { pointers, target, lists, len } => {
            let longest = lists.iter().map(Vec::len).max().unwrap_or(0) as u64;
            PointerMapped::new(&memory[*pointers], &memory[*target])
                .count(lists.len() as u64)
                .extent(layout::POINTER, *len)
                .chase(0, CHAIN_END, longest)
                .build()
        }
    }
}
