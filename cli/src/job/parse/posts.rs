//! Posts: fields that all kinds of jobs have, and those of a job for a single card.

use std::collections::HashMap;

use drdma_abi::{
    roce::Transport,
    work_request::{
        MAX_DESTINATIONS, MAX_INLINE, MAX_REGIONS, MAX_REMOTE_COLUMNS, MAX_REQUEST_REGIONS, Opcode,
    },
};

use super::{
    memory::Regions,
    values::{fetch_plan, named},
};
use crate::job::{
    Buffer, Destination, FetchPlan, JobError, MessageLayout, Partitioned, Post, Problem, Qp,
    Region, RowMask,
    json::{At, Fields},
    op_name,
};

/// Settings that every kind of post that sends may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub row_mask: RowMask,
    pub rows_per_message: u32,
    pub layout: MessageLayout,
    pub signaled: bool,
    pub fetch: Option<FetchPlan>,
}

impl Settings {
    /// The settings of a post, or their defaults.
    pub fn of(fields: &mut Fields) -> Result<Self, JobError> {
        let row_mask = match fields.optional("row_mask") {
            Some(at) => at.choice(&[("period", RowMask::Period), ("element", RowMask::Element)])?,
            None => RowMask::Period,
        };
        let rows_per_message = match fields.optional("rows_per_message") {
            Some(at) => at.u32(1)?,
            None => 1,
        };
        let layouts = [("rows", MessageLayout::Rows), ("columns", MessageLayout::Columns)];
        let layout = match fields.optional("message_layout") {
            Some(at) => at.choice(&layouts)?,
            None => MessageLayout::Rows,
        };
        let signaled = fields.optional("signaled").map_or(Ok(true), |at| at.boolean())?;
        let fetch = fields.optional("fetch").map(|at| fetch_plan(&at)).transpose()?;
        Ok(Self { row_mask, rows_per_message, layout, signaled, fetch })
    }
}

/// The immediate data of an operation with such data; else 0.
pub(crate) fn imm(fields: &mut Fields, has_imm: bool, op: &str) -> Result<u32, JobError> {
    match fields.optional("imm") {
        Some(at) if has_imm => at.u32(0),
        Some(at) => Err(meaningless(&at, op)),
        None if has_imm => Err(fields.child_error("imm", Problem::Missing)),
        None => Ok(0),
    }
}

/// The error for a field that the operation does not have.
pub(crate) fn meaningless(at: &At, op: &str) -> JobError {
    at.error(Problem::Meaningless { what: op.to_owned() })
}

/// Contents of a destination: its regions, or its partition of the post's partitioned region.
pub(crate) fn content(
    fields: &mut Fields,
    regions: Regions,
    partitioned: Option<&Partitioned>,
) -> Result<(u16, Vec<Region>), JobError> {
    if let Some(region) = partitioned {
        let max = region.max_id();
        let partition = fields.required("partition")?.integer(0, max.into())? as u16;
        return Ok((partition, Vec::new()));
    }
    let list = fields.required("regions")?.list_up_to(MAX_REGIONS, "regions")?;
    Ok((0, list.iter().map(|at| regions.region(at)).collect::<Result<_, _>>()?))
}

/// Whether the bytes of a post's `regions` stand in the request. They are read when it is posted, so that
/// they must be there.
pub(crate) fn inline(
    fields: &mut Fields,
    regions: &[Region],
    buffers: &[Buffer],
) -> Result<bool, JobError> {
    if !fields.optional("inline").map_or(Ok(false), |at| at.boolean())? {
        return Ok(false);
    }
    let list = fields.required("regions")?;
    let mut bytes = 0;
    for (at, region) in list.list()?.iter().zip(regions) {
        let &Region::Contiguous { base, len } = region else {
            return Err(at.error(Problem::InlineRegion));
        };
        let (end, buffer) = (u128::from(base.offset) + u128::from(len), &buffers[base.buffer]);
        if end > buffer.len() as u128 {
            let (buffer, len) = (buffer.name.clone(), buffer.len());
            return Err(at.error(Problem::Outside { end, buffer, len }));
        }
        bytes += u64::from(len);
    }
    if bytes > MAX_INLINE as u64 {
        return Err(list.error(Problem::InlineBytes { bytes, limit: MAX_INLINE }));
    }
    Ok(true)
}

/// Refuses inline data by columns: they are one row.
pub(crate) fn inline_rows(
    fields: &Fields,
    is_inline: bool,
    layout: MessageLayout,
) -> Result<(), JobError> {
    if is_inline && layout == MessageLayout::Columns {
        let what = "inline data, which are one row".to_owned();
        return Err(fields.child_error("message_layout", Problem::Meaningless { what }));
    }
    Ok(())
}

/// For a WRITE by columns: the target of each column, as `one` reads it; empty without the field.
pub(crate) fn remote_columns<T>(
    fields: &mut Fields,
    is_write: bool,
    op: &str,
    layout: MessageLayout,
    one: impl Fn(&At) -> Result<T, JobError>,
) -> Result<Vec<T>, JobError> {
    let Some(at) = fields.optional("remote_columns") else { return Ok(Vec::new()) };
    if !is_write {
        return Err(meaningless(&at, op));
    }
    if layout != MessageLayout::Columns {
        return Err(meaningless(&at, "messages by rows"));
    }
    let list = at.list_up_to(MAX_REMOTE_COLUMNS, "remote columns")?;
    if list.is_empty() {
        return Err(at.error(Problem::Empty { what: "remote column" }));
    }
    list.iter().map(one).collect()
}

/// The entries of a list of destinations.
pub(crate) fn destination_list<'a>(at: &At<'a>) -> Result<Vec<At<'a>>, JobError> {
    let list = at.list_up_to(MAX_DESTINATIONS, "destinations")?;
    if list.is_empty() {
        return Err(at.error(Problem::Empty { what: "destination" }));
    }
    Ok(list)
}

/// The destinations of a post so far, of which no two have the same queue pair or partition.
#[derive(Debug)]
pub(crate) struct Distinct<'a> {
    list: At<'a>,
    partitioned: bool,
    seen: Vec<(usize, u16)>,
    regions: usize,
}

impl<'a> Distinct<'a> {
    pub fn new(list: At<'a>, partitioned: bool) -> Self {
        Self { list, partitioned, seen: Vec::new(), regions: 0 }
    }

    /// Adds a destination, whose queue pair has that name.
    pub fn add(
        &mut self,
        fields: &Fields,
        qp: usize,
        name: &str,
        partition: u16,
        regions: usize,
    ) -> Result<(), JobError> {
        let other = |index: usize| format!("{}[{index}]", self.list.path);
        if let Some(index) = self.seen.iter().position(|seen| seen.0 == qp) {
            let (value, other) = (format!("queue pair \"{name}\""), other(index));
            return Err(fields.child_error("qp", Problem::Duplicate { value, other }));
        }
        let same = self.seen.iter().position(|seen| seen.1 == partition);
        if let (Some(index), true) = (same, self.partitioned) {
            let (value, other) = (partition.to_string(), other(index));
            return Err(fields.child_error("partition", Problem::Duplicate { value, other }));
        }
        self.seen.push((qp, partition));
        self.regions += regions;
        Ok(())
    }

    /// Refuses more regions than a request has room for.
    pub fn finish(self) -> Result<(), JobError> {
        let count = self.regions;
        if count > MAX_REQUEST_REGIONS {
            let (what, limit) = ("regions of all destinations together", MAX_REQUEST_REGIONS);
            return Err(self.list.error(Problem::TooMany { count, what, limit }));
        }
        Ok(())
    }
}

/// Objects that the posts of a job for one card refer to.
pub(super) struct Posts<'a> {
    pub regions: Regions<'a>,
    pub buffers: &'a [Buffer],
    pub qp_names: &'a HashMap<String, usize>,
    pub qps: &'a [Qp],
}

impl Posts<'_> {
    pub fn post(&self, at: &At) -> Result<Post, JobError> {
        let mut fields = at.object()?;
        let shared =
            fields.required("verb")?.choice(&[("post_send", false), ("post_ssq_send", true)])?;
        let wr_id = fields.required("wr_id")?.u64(0)?;
        let op_at = fields.required("op")?;
        let op = op_at.choice(&Opcode::ALL.map(|op| (op_name(op), op)))?;
        let imm = imm(&mut fields, op.has_imm(), op_name(op))?;
        let settings = Settings::of(&mut fields)?;
        let Settings { row_mask, rows_per_message, layout, signaled, fetch } = settings;
        let mut partitioned = None;
        let mut is_inline = false;
        let destinations = if shared {
            if let Some(at) = fields.optional("partitioned") {
                partitioned = Some(self.regions.partitioned(&at)?);
            }
            let list = fields.required("destinations")?;
            self.destinations(&list, op, layout, partitioned.as_ref())?
        } else {
            let destination = self.destination(&mut fields, op, layout, None)?;
            is_inline = inline(&mut fields, &destination.regions, self.buffers)?;
            inline_rows(&fields, is_inline, layout)?;
            vec![destination]
        };
        fields.finish()?;
        for destination in &destinations {
            let qp = &self.qps[destination.qp];
            if op.is_write() && qp.transport == Transport::Ud {
                let problem = Problem::WriteOnUd { op: op_name(op), qp: qp.name.clone() };
                return Err(op_at.error(problem));
            }
        }
        Ok(Post {
            shared,
            wr_id,
            op,
            imm,
            row_mask,
            rows_per_message,
            layout,
            signaled,
            fetch,
            inline: is_inline,
            partitioned,
            destinations,
        })
    }

    fn destinations(
        &self,
        at: &At,
        op: Opcode,
        layout: MessageLayout,
        partitioned: Option<&Partitioned>,
    ) -> Result<Vec<Destination>, JobError> {
        let mut distinct = Distinct::new(at.clone(), partitioned.is_some());
        let mut destinations = Vec::new();
        for entry in destination_list(at)? {
            let mut fields = entry.object()?;
            let destination = self.destination(&mut fields, op, layout, partitioned)?;
            let Destination { qp, partition, regions, .. } = &destination;
            let name = &self.qps[*qp].name;
            distinct.add(&fields, *qp, name, *partition, regions.len())?;
            fields.finish()?;
            destinations.push(destination);
        }
        distinct.finish()?;
        Ok(destinations)
    }

    /// A destination, with the target of a WRITE.
    fn destination(
        &self,
        fields: &mut Fields,
        op: Opcode,
        layout: MessageLayout,
        partitioned: Option<&Partitioned>,
    ) -> Result<Destination, JobError> {
        let qp = named(&fields.required("qp")?, "queue pair", self.qp_names)?;
        let remote_column = |at: &At| {
            let mut fields = at.object()?;
            let addr = fields.required("remote_addr")?.u64(0)?;
            let column = (addr, fields.required("rkey")?.u32(0)?);
            fields.finish()?;
            Ok(column)
        };
        let is_write = op.is_write();
        let columns = remote_columns(fields, is_write, op_name(op), layout, remote_column)?;
        if !columns.is_empty() {
            for name in ["remote_addr", "rkey"] {
                if let Some(at) = fields.optional(name) {
                    return Err(meaningless(&at, "a post with remote_columns"));
                }
            }
            let (partition, regions) = content(fields, self.regions, partitioned)?;
            let remote_columns = columns;
            return Ok(Destination {
                qp,
                remote_addr: 0,
                rkey: 0,
                remote_columns,
                partition,
                regions,
            });
        }
        let (addr_at, rkey_at) = (fields.optional("remote_addr"), fields.optional("rkey"));
        let remote_addr = match addr_at {
            Some(at) if op.is_write() => at.u64(0)?,
            Some(at) => return Err(meaningless(&at, op_name(op))),
            None if op.is_write() => {
                return Err(fields.child_error("remote_addr", Problem::Missing));
            }
            None => 0,
        };
        let rkey = match rkey_at {
            Some(at) if op.is_write() => at.u32(0)?,
            Some(at) => return Err(meaningless(&at, op_name(op))),
            None if op.is_write() => return Err(fields.child_error("rkey", Problem::Missing)),
            None => 0,
        };
        let (partition, regions) = content(fields, self.regions, partitioned)?;
        let remote_columns = Vec::new();
        Ok(Destination { qp, remote_addr, rkey, remote_columns, partition, regions })
    }
}
