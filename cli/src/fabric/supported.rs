//! Checks that the cards of a job support what it asks for.

use drdma_abi::receive::RECEIVE_PLACES;
use libdrdma::{Features, MessageLayout};

use super::{FabricJob, Key, Op, Post, Receive, Send, Step};
use crate::{
    device::Kind,
    job::{JobError, Kind as ElementKind, Problem, Region},
};

/// Checks every node against `features`, the features of the cards of a kind.
///
/// # Errors
/// A card lacks a feature; the message names the field.
pub fn check(job: &FabricJob, features: impl Fn(Kind) -> Features) -> Result<(), JobError> {
    let of_node = job.nodes.iter().map(|node| features(Kind::of(&node.device))).collect();
    let job = Supported { job, of_node };
    for (i, node) in job.job.nodes.iter().enumerate() {
        if !node.srqs.is_empty() {
            job.needs(i, Features::RECEIVES, format!("nodes[{i}].srqs"), "shared receive queue")?;
        }
        if let Some(j) = node.keys.iter().position(|key| key.region.has_kinds()) {
            let path = format!("nodes[{i}].keys[{j}].region");
            let what = "key to a region that is not of fixed columns".to_owned();
            return Err(JobError::Field { path, problem: Problem::Unsupported { what } });
        }
        let described = |key: &Key| !matches!(key.region, Region::Contiguous { .. });
        if let Some(j) = node.keys.iter().position(described) {
            let path = format!("nodes[{i}].keys[{j}].region");
            job.needs(i, Features::DESCRIBED_READS, path, "key to a region with gaps")?;
        }
        let written = |key: &Key| described(key) && key.access.remote_write;
        if let Some(j) = node.keys.iter().position(written) {
            let path = format!("nodes[{i}].keys[{j}].access");
            let what = "WRITE to a key to a region with gaps";
            job.needs(i, Features::DESCRIBED_KEYS, path, what)?;
        }
        if !node.appends.is_empty() {
            job.needs(i, Features::APPENDS, format!("nodes[{i}].appends"), "append region")?;
        }
    }
    for (i, step) in job.job.steps.iter().enumerate() {
        let at = format!("steps[{i}]");
        match step {
            Step::Post { node, post: Post::Send(send) } => job.send(*node, send, &at)?,
            Step::Post { node, post: Post::Receive(receive) } => {
                job.receive(*node, receive, &at)?
            }
            Step::Post { post: Post::GiveBack { .. }, .. } | Step::Wait => {}
        }
    }
    Ok(())
}

struct Supported<'a> {
    job: &'a FabricJob,
    of_node: Vec<Features>,
}

impl Supported<'_> {
    /// Returns an error if a node's card lacks features.
    fn needs(
        &self,
        node: usize,
        needed: Features,
        path: String,
        what: &str,
    ) -> Result<(), JobError> {
        if self.of_node[node].contains(needed) {
            return Ok(());
        }
        // The device is named without its options.
        let device = self.job.nodes[node].device.split('?').next().unwrap_or_default();
        let problem = Problem::Unsupported { what: format!("{what} on {device} yet") };
        Err(JobError::Field { path, problem })
    }

    /// Returns an error if a node's card cannot receive.
    fn receives(&self, node: usize, at: &str) -> Result<(), JobError> {
        let what = format!("way for node \"{}\" to receive", self.job.nodes[node].name);
        self.needs(node, Features::RECEIVES, at.to_owned(), &what)
    }

    /// Returns an error for columns, or a bitmap from a bit on, that a node's card does not support.
    fn kinds<'k>(
        &self,
        node: usize,
        kinds: impl Iterator<Item = &'k ElementKind>,
        first_bit: bool,
        path: &str,
    ) -> Result<(), JobError> {
        if first_bit {
            let what = "bitmap that begins within a byte";
            self.needs(node, Features::BITS, format!("{path}.bitmap"), what)?;
        }
        for kind in kinds {
            let (what, needed) = match kind {
                ElementKind::Fixed => continue,
                ElementKind::Bits { .. } => ("column of bits", Features::BITS),
                ElementKind::Varlen { .. } => ("column of type varlen", Features::VARLEN),
                ElementKind::Views { .. } => ("column of type views", Features::VARLEN),
                ElementKind::Dictionary { .. } => ("column of type dictionary", Features::VARLEN),
            };
            self.needs(node, needed, path.to_owned(), what)?;
        }
        Ok(())
    }

    fn receive(&self, node: usize, receive: &Receive, at: &str) -> Result<(), JobError> {
        self.receives(node, at)?;
        let every_type = self.of_node[node].contains(Features::SCATTERS);
        for (j, region) in receive.regions.iter().enumerate().filter(|_| !every_type) {
            let (what, needed) = match region {
                Region::Contiguous { .. } => continue,
                Region::Strided { .. } => {
                    ("receive into a strided region", Features::STRIDED_RECEIVES)
                }
                _ => {
                    ("receive into a bitmapped or pointer-mapped region", Features::MAPPED_RECEIVES)
                }
            };
            self.needs(node, needed, format!("{at}.regions[{j}]"), what)?;
        }
        // Beside a bitmapped or pointer-mapped region, a granule is a place, and so a header is one.
        let mapped =
            |region: &Region| !matches!(region, Region::Contiguous { .. } | Region::Strided { .. });
        let header = usize::from(receive.regions.iter().any(mapped));
        let places: usize = receive.regions.iter().map(|region| places(region, header)).sum();
        if places > RECEIVE_PLACES && !every_type {
            let what = format!("receive of {places} places, but of {RECEIVE_PLACES}");
            self.needs(node, Features::SCATTERS, format!("{at}.regions"), &what)?;
        }
        match receive.regions.iter().position(Region::has_kinds) {
            Some(j) => {
                let path = format!("{at}.regions[{j}]");
                let what = "way to fill a region that is not of fixed columns".to_owned();
                Err(JobError::Field { path, problem: Problem::Unsupported { what } })
            }
            None => Ok(()),
        }
    }

    fn send(&self, node: usize, send: &Send, at: &str) -> Result<(), JobError> {
        for (j, destination) in send.destinations.iter().enumerate() {
            if destination.to.is_none() {
                continue;
            }
            if send.shared {
                let path = format!("{at}.destinations[{j}].destination");
                let what = "card yet that sends a post_ssq_send as datagrams".to_owned();
                return Err(JobError::Field { path, problem: Problem::Unsupported { what } });
            }
            let what = "address with a request";
            self.needs(node, Features::REQUESTS, format!("{at}.destination"), what)?;
        }
        if send.layout == MessageLayout::Columns {
            let what = "message by columns";
            // The library checks everything else about such a WRITE.
            let addressed = send.destinations.iter().any(|to| !to.remote_columns.is_empty());
            let needed = match addressed {
                true => Features::COLUMN_WRITES,
                false => Features::COLUMN_MESSAGES,
            };
            self.needs(node, needed, format!("{at}.message_layout"), what)?;
        }
        if let Some(region) = &send.partitioned {
            let at = format!("{at}.partitioned");
            if let Some(by) = &region.by {
                let (at, what) = (format!("{at}.partition_by"), "way to make partitions from keys");
                self.needs(node, Features::FIXED_KEYS, at.clone(), what)?;
                if let Some(k) = by.keys.iter().position(|key| !by.is_fixed(key)) {
                    let what = "way to make partitions from such a key";
                    self.needs(node, Features::PARTITIONS, format!("{at}.keys[{k}]"), what)?;
                }
            }
            // A key of fixed width needs no more, bits included.
            let keys =
                region.by.iter().flat_map(|by| by.keys.iter().filter(|key| !by.is_fixed(key)));
            let columns = region.columns.iter().chain(keys.map(|key| &key.column));
            self.kinds(node, columns.map(|column| &column.kind), false, &at)?;
        }
        for (j, destination) in send.destinations.iter().enumerate() {
            for (k, region) in destination.regions.iter().enumerate() {
                let path = match send.shared {
                    true => format!("{at}.destinations[{j}].regions[{k}]"),
                    false => format!("{at}.regions[{k}]"),
                };
                if send.op.is_answered() && region.has_kinds() {
                    let what = "way to fill a region that is not of fixed columns".to_owned();
                    return Err(JobError::Field { path, problem: Problem::Unsupported { what } });
                }
                if send.op.is_answered() && !matches!(region, Region::Contiguous { .. }) {
                    let what = "answer into a region that is not contiguous";
                    self.needs(node, Features::SCATTERS, path.clone(), what)?;
                }
                if let Region::PointerMapped { chase: Some(_), .. } = region {
                    let what = "way to follow chains of records";
                    self.needs(node, Features::CHASE, format!("{path}.chase"), what)?;
                }
                let first = matches!(region, Region::Bitmapped { first: 1.., .. });
                self.kinds(node, region.kinds(), first, &path)?;
            }
        }
        if send.fence {
            self.needs(node, Features::READS, format!("{at}.fence"), "fence")?;
        }
        if send.solicited {
            let what = "solicited request";
            self.needs(node, Features::REQUESTS, format!("{at}.solicited"), what)?;
        }
        if matches!(send.op, Op::SendInvalidate) {
            self.needs(node, Features::REQUESTS, format!("{at}.op"), "SEND that invalidates")?;
        }
        if send.op.is_answered() {
            self.receives(node, at)?;
            let what = match send.op {
                Op::Read => "READ",
                _ => "atomic operation",
            };
            self.needs(node, Features::READS, format!("{at}.op"), what)?;
        }
        for destination in &send.destinations {
            let qp = &self.job.nodes[node].qps[destination.qp];
            let Some(to) = qp.peer.or(destination.to).map(|peer| peer.node) else { continue };
            self.receives(to, at)?;
            let answer = match send.op {
                Op::Read => Features::READ_ANSWERS,
                _ => Features::ATOMIC_ANSWERS,
            };
            if send.op.is_answered() {
                self.needs(to, answer, format!("{at}.op"), "answer to it")?;
            }
        }
        Ok(())
    }
}

/// Number of places that a region of a receive takes, if its header takes `header`.
fn places(region: &Region, header: usize) -> usize {
    match region {
        Region::Contiguous { .. } => 1,
        Region::Strided { pattern, .. } | Region::PointerMapped { pattern, .. } => {
            header + 1 + pattern.len()
        }
        Region::Bitmapped { columns, .. } => header + 1 + columns.len(),
    }
}
