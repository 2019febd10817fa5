//! Explains a job: the rows, messages, packets and DMA reads that a card would make of it.

mod cheapest;
mod image;
mod placement;
mod table;
mod verbs;
mod words;

use drdma_abi::{completion::Status, register::MAX_READ, work_request::BLOCK};
use drdma_semantics::{
    boxes::{Planner, Settings, Window},
    checks::{self, Admitted, Posted},
    failure::{Failure, Reason, Which},
    memory::Fault,
    region,
    request::{self, Request},
    rows::Units,
    stream::MessageStream,
};
use libdrdma::optimizer::{CostTable, FetchPlan};
use serde::Serialize;

use crate::job::{Destination, Job, Post, Region};
pub use cheapest::link_costs;
use image::Image;
pub use placement::{Placed, PlacedLane};
pub use table::render;

/// Options of an explanation.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the card forms bounding boxes, for posts without a fetch plan.
    pub settings: Settings,
    /// Rows from which on the card packs several a cycle (register `COLUMN_MIN_ROWS`).
    pub column_rows: u32,
    /// Costs of reads.
    pub costs: CostTable,
    /// Number of bounding boxes that are listed for each post.
    pub boxes: usize,
}

/// What a card would do with one post.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The post's name.
    pub wr_id: u64,
    /// Status with which it would end if every queue pair that it names is ready.
    pub status: &'static str,
    /// Reason for a status other than success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Bytes of the work request in its ring.
    pub request_bytes: usize,
    /// Fetch plan of the post, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<Rule>,
    /// Shares of the destinations.
    pub destinations: Vec<Share>,
    /// Fetching for all destinations together, as the card does it.
    pub together: Fetch,
    /// Cost of the reads, in nanoseconds.
    pub cost_ns: f64,
    /// The reads that cost least, in the same windows.
    pub cheapest: Cheap,
    /// Placement of the data in the first window, and how fast they are gathered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placed>,
    /// Payload bytes sent to all destinations.
    pub sent_bytes: u64,
    /// The first bounding boxes, in the order in which they are read.
    pub boxes: Vec<Read>,
}

/// Fetch plan of a post.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rule {
    /// The longest read in bytes.
    pub max_read: u32,
    /// The widest gap in bytes that is read through.
    pub merge_threshold: u32,
}

/// Share of one destination.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Share {
    /// Name of its queue pair.
    pub qp: String,
    /// Number of rows of its regions.
    pub rows: u64,
    /// Number of units of the row mask.
    pub units: u64,
    /// Number of pieces that its payload is gathered from.
    pub fragments: u64,
    /// Number of messages.
    pub messages: u64,
    /// Number of packets.
    pub packets: u64,
    /// Number of payload bytes.
    pub sent_bytes: u64,
    /// Fetching for this destination alone.
    pub alone: Fetch,
}

/// Fetching from host memory.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Fetch {
    /// Number of windows.
    pub windows: u64,
    /// Number of DMA reads.
    pub reads: u64,
    /// Bytes of the reads.
    pub read_bytes: u64,
}

/// The cheapest reads, found by a dynamic program.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Cheap {
    /// Number of DMA reads.
    pub reads: u64,
    /// Bytes of the reads.
    pub read_bytes: u64,
    /// Cost of the reads, in nanoseconds.
    pub cost_ns: f64,
}

/// One bounding box.
#[derive(Clone, Debug, Serialize)]
pub struct Read {
    /// Name of the buffer that it starts in.
    pub buffer: String,
    /// Offset in the buffer.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
}

/// Explains every post of a job.
pub fn explain(job: &Job, options: &Options) -> Vec<Explanation> {
    let mut image = Image::of(job);
    job.posts
        .iter()
        .enumerate()
        .map(|(index, post)| {
            let mut request = image.request(post);
            if request.fetch.is_none() && options.settings.max_read == MAX_READ.reset {
                request.fetch = long_run(post);
            }
            explain_post(job, &image, index, &request, options)
        })
        .collect()
}

/// Finds the reasons why posts of a job fail.
#[derive(Debug)]
pub struct Judge<'a> {
    job: &'a Job,
    image: Image<'a>,
    requests: Vec<Request>,
}

impl<'a> Judge<'a> {
    /// Makes the judge of a job.
    pub fn new(job: &'a Job) -> Self {
        let mut image = Image::of(job);
        let requests = job.posts.iter().map(|post| image.request(post)).collect();
        Self { job, image, requests }
    }

    /// Why post `index` ended with `status` at destination `destination`: the fault of the post, if the job has one;
    /// else the meaning of the status.
    pub fn why(&self, index: usize, status: Status, destination: u16) -> String {
        let request = &self.requests[index];
        let entry = request::encode(request, 0);
        let posted = posted(&self.job.posts[index], &entry);
        let checked = checks::check_entry(&entry, &posted, &self.image).and_then(|checked| {
            checks::check_contents(&checked, posted.pd, &self.image, &self.image)
        });
        match checked {
            Err(failure) if failure.status == status => words::failure(self.job, index, &failure),
            _ => words::status(self.job, index, status, destination),
        }
    }
}

/// The plan that the library gives a request without one.
fn long_run(post: &Post) -> Option<request::FetchPlan> {
    let [Destination { regions, .. }] = post.destinations.as_slice() else { return None };
    let [Region::Contiguous { len, .. }] = regions.as_slice() else { return None };
    FetchPlan::of_contiguous(*len).map(image::fetch_plan)
}

fn posted(post: &Post, entry: &[u8]) -> Posted {
    Posted {
        position: 0,
        blocks: (entry.len() / BLOCK) as u32,
        owner: (!post.shared).then_some(post.destinations[0].qp as u32),
        pd: 0,
    }
}

fn explain_post(
    job: &Job,
    image: &Image,
    index: usize,
    request: &Request,
    options: &Options,
) -> Explanation {
    let post = &job.posts[index];
    let entry = request::encode(request, 0);
    let mut explanation = Explanation {
        wr_id: post.wr_id,
        status: Status::Success.name(),
        reason: None,
        request_bytes: entry.len(),
        fetch: request.fetch.map(|plan| Rule {
            max_read: 1 << plan.log_max_read,
            merge_threshold: plan.merge_threshold.into(),
        }),
        destinations: Vec::new(),
        together: Fetch::default(),
        cost_ns: 0.0,
        cheapest: Cheap::default(),
        placement: None,
        sent_bytes: 0,
        boxes: Vec::new(),
    };
    let posted = posted(post, &entry);
    let result = checks::check_entry(&entry, &posted, image)
        .and_then(|checked| checks::check_contents(&checked, posted.pd, image, image))
        .and_then(|admitted| {
            plan(job, image, post, request, &admitted, options, &mut explanation)
                .map_err(|fault| unreadable(&fault))
        });
    if let Err(failure) = result {
        explanation.status = failure.status.name();
        explanation.reason = Some(words::failure(job, index, &failure));
    }
    explanation
}

/// The failure that a fault in planning stands for; the checks before leave none.
fn unreadable(fault: &Fault) -> Failure {
    Failure {
        status: Status::LocalProtectionError,
        destination: 0,
        queue_pair: None,
        reason: Reason::Read { region: Which::Own(0), fault: *fault },
    }
}

fn plan(
    job: &Job,
    image: &Image,
    post: &Post,
    request: &Request,
    admitted: &[Admitted],
    options: &Options,
    explanation: &mut Explanation,
) -> Result<(), Fault> {
    let settings = request.settings(options.settings);
    let units = |index: usize, mask| request.units(index, mask, &admitted[index].limits);
    for (index, (destination, admitted)) in post.destinations.iter().zip(admitted).enumerate() {
        let qp = &job.qps[destination.qp];
        // Inline data are one row, and are not gathered.
        let (rows, count, fragments) = match request.inline {
            Some(_) => (1, 1, 0),
            None => {
                let (rows, _) = walk(units(index, region::RowMask::Period), image)?;
                let (count, fragments) = walk(units(index, request.row_mask), image)?;
                (rows, count, fragments)
            }
        };
        let messages = &admitted.messages;
        let packets = packets(request, index, admitted, qp.mtu, image)?;
        let planner = Planner::new(settings, vec![units(index, request.row_mask)])
            .reading(request.destinations[index].fetch_rows());
        explanation.destinations.push(Share {
            qp: qp.name.clone(),
            rows,
            units: count,
            fragments,
            messages: messages.count(),
            packets,
            sent_bytes: messages.bytes() as u64,
            alone: fetch(planner, image, |_| Ok(()))?,
        });
    }
    let all = || -> Vec<Units> {
        (0..admitted.len()).map(|index| units(index, request.row_mask)).collect()
    };
    let names = image.names();
    let mut cheap = cheapest::Follower::new(settings, &options.costs, all());
    let planner = Planner::new(settings, all())
        .reading(request.destinations.iter().flat_map(request::Destination::fetch_rows));
    explanation.together = fetch(planner, image, |window| {
        for read in &window.boxes {
            if explanation.boxes.len() < options.boxes
                && let Some(place) = image.place(read.addr)
            {
                let buffer = names[&place.buffer].to_owned();
                explanation.boxes.push(Read { buffer, offset: place.offset, len: read.len });
            }
        }
        let reads = window.boxes.iter().map(|read| (read.addr, read.len));
        explanation.cost_ns += options.costs.sum(reads);
        cheap.window(&window.units, image)
    })?;
    explanation.cheapest = cheap.found();
    // A card does not say how it gathers rows of different lengths, or by columns.
    let plain = (0..admitted.len()).all(|index| stream(request, index, &admitted[index]).is_none());
    if plain {
        let card = placement::Card { settings, column_rows: options.column_rows };
        explanation.placement = Some(placement::placed(request, &all(), &card, image)?);
    }
    explanation.sent_bytes = explanation.destinations.iter().map(|share| share.sent_bytes).sum();
    Ok(())
}

/// The messages of a destination, if they can be counted only by walking its rows.
fn stream(request: &Request, index: usize, admitted: &Admitted) -> Option<MessageStream> {
    request.stream(index, &admitted.limits).filter(|_| request.inline.is_none())
}

/// Number of packets of a destination.
fn packets(
    request: &Request,
    index: usize,
    admitted: &Admitted,
    mtu: u32,
    image: &Image,
) -> Result<u64, Fault> {
    let of = |len: u128| len.div_ceil(u128::from(mtu)) as u64;
    let messages = &admitted.messages;
    let Some(mut stream) = stream(request, index, admitted) else {
        return Ok((0..messages.count()).map(|i| of(messages.message(i).len)).sum());
    };
    let mut packets = 0;
    while let Some(message) = stream.next(image).map_err(|wrong| wrong.fault())? {
        packets += of(message.len.into()).max(1);
    }
    Ok(packets)
}

/// Number of units, and of their fragments.
fn walk(mut units: Units, image: &Image) -> Result<(u64, u64), Fault> {
    let (mut count, mut fragments, mut unit) = (0, 0, Vec::new());
    while units.next(image, &mut unit)? {
        count += 1;
        fragments += unit.len() as u64;
    }
    Ok((count, fragments))
}

fn fetch(
    mut planner: Planner,
    image: &Image,
    mut each: impl FnMut(&Window) -> Result<(), Fault>,
) -> Result<Fetch, Fault> {
    let mut fetch = Fetch::default();
    while let Some(window) = planner.next_window(image)? {
        fetch.windows += 1;
        fetch.reads += window.boxes.len() as u64;
        fetch.read_bytes += window.read_bytes();
        each(&window)?;
    }
    Ok(fetch)
}
