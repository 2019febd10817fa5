//! What a card would do with a job: rows, messages, packets, and the DMA reads that fetch them.

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

/// How to explain.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the card forms bounding boxes for posts that do not say it.
    pub settings: Settings,
    /// Rows from which on the card packs several a cycle (register `COLUMN_MIN_ROWS`).
    pub column_rows: u32,
    /// What reads cost.
    pub costs: CostTable,
    /// Bounding boxes that are listed for each post.
    pub boxes: usize,
}

/// What a card would do with one post.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The post's name.
    pub wr_id: u64,
    /// How it would end if every queue pair it names is ready.
    pub status: &'static str,
    /// Why not well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Bytes of the work request in its ring.
    pub request_bytes: usize,
    /// How it is fetched, if the post says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<Rule>,
    /// What each destination gets.
    pub destinations: Vec<Share>,
    /// Fetching for all destinations together, as the card does it.
    pub together: Fetch,
    /// What that costs, in nanoseconds.
    pub cost_ns: f64,
    /// The reads that cost least, in the same windows.
    pub cheapest: Cheap,
    /// Where the data lie in the first window, and how fast they are gathered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placed>,
    /// Payload bytes sent to all destinations.
    pub sent_bytes: u64,
    /// The first bounding boxes, in the order in which they are read.
    pub boxes: Vec<Read>,
}

/// How a post says that it is fetched.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rule {
    /// The longest read in bytes.
    pub max_read: u32,
    /// The widest gap in bytes that is read through.
    pub merge_threshold: u32,
}

/// What one destination gets.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Share {
    /// Its queue pair.
    pub qp: String,
    /// Rows of its regions.
    pub rows: u64,
    /// Units of the row mask.
    pub units: u64,
    /// Pieces that its payload is gathered from.
    pub fragments: u64,
    /// Messages.
    pub messages: u64,
    /// Packets.
    pub packets: u64,
    /// Payload bytes.
    pub sent_bytes: u64,
    /// Fetching for this destination alone.
    pub alone: Fetch,
}

/// Fetching from host memory.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Fetch {
    /// Windows.
    pub windows: u64,
    /// DMA reads.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
}

/// The reads that a dynamic program finds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Cheap {
    /// DMA reads.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// What they cost, in nanoseconds.
    pub cost_ns: f64,
}

/// One bounding box.
#[derive(Clone, Debug, Serialize)]
pub struct Read {
    /// The buffer that it starts in.
    pub buffer: String,
    /// Where in the buffer.
    pub offset: u64,
    /// Bytes.
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

/// Tells why posts of a job fail.
#[derive(Debug)]
pub struct Judge<'a> {
    job: &'a Job,
    image: Image<'a>,
    requests: Vec<Request>,
}

impl<'a> Judge<'a> {
    /// Of a job.
    pub fn new(job: &'a Job) -> Self {
        let mut image = Image::of(job);
        let requests = job.posts.iter().map(|post| image.request(post)).collect();
        Self { job, image, requests }
    }

    /// Why post `index` ended with `status`, because of the destination of that index: what is wrong
    /// with it as the job has it, if anything is; else what the status means.
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

/// The plan that the library gives a request that brings none.
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

/// A fault while planning; the checks before leave none.
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
        // What stands in the request is one row, gathered from nowhere.
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
    // How rows are gathered whose lengths differ, or that go by columns, no card says yet.
    let plain = (0..admitted.len()).all(|index| stream(request, index, &admitted[index]).is_none());
    if plain {
        let card = placement::Card { settings, column_rows: options.column_rows };
        explanation.placement = Some(placement::placed(request, &all(), &card, image)?);
    }
    explanation.sent_bytes = explanation.destinations.iter().map(|share| share.sent_bytes).sum();
    Ok(())
}

/// The messages of a destination, if their rows must be walked to tell them.
fn stream(request: &Request, index: usize, admitted: &Admitted) -> Option<MessageStream> {
    request.stream(index, &admitted.limits).filter(|_| request.inline.is_none())
}

/// Packets of a destination.
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

/// Units and their fragments.
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
