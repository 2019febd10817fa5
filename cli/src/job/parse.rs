//! From JSON to a [`Job`], refusing what a card cannot be told.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::Read as _,
    net::Ipv4Addr,
    path::Path,
};

use drdma_abi::{
    register::{MEMORY_REGIONS, QUEUE_PAIRS, SEND_QUEUES},
    roce::{MTUS, TTL, Transport},
    work_request::{
        LOG_MAX_READ, MAX_DESTINATIONS, MAX_ELEMENTS, MAX_MERGE_THRESHOLD, MAX_REGIONS,
        MAX_REQUEST_REGIONS, Opcode,
    },
};

use libdrdma::Resolver;

use super::{
    Buffer, Column, Contents, Destination, Extent, FetchPlan, IdWidth, Job, JobError, Local,
    MAX_BUFFERS, Partitioned, Place, Post, Problem, Qp, Region, RowMask,
    json::{At, Fields, Json},
    op_name,
};

/// Queue pair and packet sequence numbers have 24 bits.
const MAX_24: u64 = (1 << 24) - 1;
/// Memory regions beside the buffers' own: all buffers together, and the pointer arrays.
const EXTRA_REGIONS: usize = 2;

pub(super) fn job(json: &Json, folder: &Path, resolver: &dyn Resolver) -> Result<Job, JobError> {
    let mut fields = At::root(json).object()?;
    let buffers_at = fields.required("buffers")?;
    let local = local(&fields.required("local")?)?;
    let qps_at = fields.required("qps")?;
    let posts_at = fields.required("posts")?;
    fields.finish()?;

    let mut names = HashMap::new();
    let mut buffers = Vec::new();
    let mut left = MAX_BUFFERS;
    let limit = MEMORY_REGIONS.entries as usize - EXTRA_REGIONS;
    for at in buffers_at.list_up_to(limit, "buffers")? {
        let buffer = buffer(&at, folder, &mut names, left)?;
        left -= buffer.len() as u64;
        buffers.push(buffer);
    }

    let (mut qp_names, mut numbers) = (HashMap::new(), HashMap::new());
    let mut qps = Vec::new();
    for at in qps_at.list_up_to(QUEUE_PAIRS.entries as usize, "queue pairs")? {
        qps.push(qp(&at, &mut qp_names, &mut numbers, resolver)?);
    }

    let context = Context { buffers: &names, qp_names: &qp_names, qps: &qps };
    let mut posts = Vec::new();
    for at in posts_at.list()? {
        posts.push(context.post(&at)?);
    }

    let mut last = HashSet::new();
    for (at, post) in posts_at.list()?.iter().zip(&posts).rev() {
        if last.insert(post.queue()) && !post.signaled {
            return Err(at.object()?.child_error("signaled", Problem::NeverSignaled));
        }
    }

    let count = queues(qps.len(), &posts);
    let limit = SEND_QUEUES.entries as usize;
    if count > limit {
        return Err(posts_at.error(Problem::Card { count, what: "send queues", limit }));
    }
    Ok(Job { buffers, local, qps, posts })
}

/// Send queues that a job needs: every queue pair's own, used or not, and one for each set of
/// destinations.
fn queues(qps: usize, posts: &[Post]) -> usize {
    let sets: HashSet<_> = posts.iter().filter(|post| post.shared).map(Post::queue).collect();
    qps + sets.len()
}

fn local(at: &At) -> Result<Local, JobError> {
    let mut fields = at.object()?;
    let local = Local { mac: mac(&fields.required("mac")?)?, ip: ip(&fields.required("ip")?)? };
    fields.finish()?;
    Ok(local)
}

fn mac(at: &At) -> Result<u64, JobError> {
    let text = at.text()?;
    let bytes: Option<Vec<u64>> = text
        .split(':')
        .map(|byte| match byte.len() == 2 && byte.bytes().all(|c| c.is_ascii_hexdigit()) {
            true => u64::from_str_radix(byte, 16).ok(),
            false => None,
        })
        .collect();
    match bytes {
        Some(bytes) if bytes.len() == 6 => {
            let what = match bytes[..] {
                [0, 0, 0, 0, 0, 0] => "no address",
                [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => "the broadcast address",
                [first, ..] if first & 1 == 1 => "a multicast address",
                _ => return Ok(bytes.iter().fold(0, |mac, byte| mac << 8 | byte)),
            };
            Err(at.error(Problem::Address { found: text.to_owned(), what }))
        }
        _ => Err(at.error(Problem::Mac(text.to_owned()))),
    }
}

fn ip(at: &At) -> Result<u32, JobError> {
    let text = at.text()?;
    let ip: Ipv4Addr = text.parse().map_err(|_| at.error(Problem::Ip(text.to_owned())))?;
    let what = match ip {
        ip if ip.is_unspecified() => "no address",
        ip if ip.is_broadcast() => "the broadcast address",
        ip if ip.is_multicast() => "a multicast address",
        ip => return Ok(ip.into()),
    };
    Err(at.error(Problem::Address { found: text.to_owned(), what }))
}

/// A name that no other entry of the same list has.
fn new_name(at: &At, list: &str, names: &mut HashMap<String, usize>) -> Result<String, JobError> {
    let name = at.text()?.to_owned();
    let index = names.len();
    if let Some(other) = names.insert(name.clone(), index) {
        let value = format!("\"{name}\"");
        return Err(at.error(Problem::Duplicate { value, other: format!("{list}[{other}]") }));
    }
    Ok(name)
}

/// A buffer of at most `left` bytes.
fn buffer(
    at: &At,
    folder: &Path,
    names: &mut HashMap<String, usize>,
    left: u64,
) -> Result<Buffer, JobError> {
    let mut fields = at.object()?;
    let name = new_name(&fields.required("name")?, "buffers", names)?;
    let (file, hex, size) =
        (fields.optional("file"), fields.optional("hex"), fields.optional("size"));
    fields.finish()?;
    let found = [&file, &hex, &size].iter().filter(|source| source.is_some()).count();
    let contents = match (found, file, hex, size) {
        (1, Some(file), ..) => {
            let path = folder.join(file.text()?);
            let mut bytes = Vec::new();
            let opened = File::open(&path);
            opened
                .and_then(|file| file.take(left + 1).read_to_end(&mut bytes))
                .map_err(|source| file.error(Problem::File { file: path, source }))?;
            fits(&file, bytes.len() as u64, left)?;
            Contents::Bytes(bytes)
        }
        (1, _, Some(hex), _) => Contents::Bytes(hex_bytes(&hex)?),
        (1, _, _, Some(at)) => {
            let size = at.u64(0)?;
            fits(&at, size, left)?;
            Contents::Zeros(size as usize)
        }
        _ => return Err(at.error(Problem::BufferSource { found })),
    };
    Ok(Buffer { name, contents })
}

fn fits(at: &At, size: u64, left: u64) -> Result<(), JobError> {
    let problem = Problem::TooMuchMemory { size, limit: MAX_BUFFERS, left };
    if size > left { Err(at.error(problem)) } else { Ok(()) }
}

fn hex_bytes(at: &At) -> Result<Vec<u8>, JobError> {
    let text = at.text()?.as_bytes();
    let wrong = |message: String| at.error(Problem::Hex(message));
    if !text.len().is_multiple_of(2) {
        return Err(wrong(format!("it has an odd number of digits, {}", text.len())));
    }
    let digit = |i: usize| {
        let value = char::from(text[i]).to_digit(16);
        value.ok_or_else(|| wrong(format!("the character at {i} is no digit")))
    };
    (0..text.len()).step_by(2).map(|i| Ok((digit(i)? << 4 | digit(i + 1)?) as u8)).collect()
}

fn qp(
    at: &At,
    names: &mut HashMap<String, usize>,
    numbers: &mut HashMap<u64, usize>,
    resolver: &dyn Resolver,
) -> Result<Qp, JobError> {
    let mut fields = at.object()?;
    let index = names.len();
    let name = new_name(&fields.required("name")?, "qps", names)?;
    let transport = fields.required("transport")?.choice(&[
        ("rc", Transport::Rc),
        ("uc", Transport::Uc),
        ("ud", Transport::Ud),
    ])?;
    let qpn_at = fields.required("qpn")?;
    let qpn = qpn_at.integer(1, MAX_24)?;
    if let Some(other) = numbers.insert(qpn, index) {
        let other = format!("qps[{other}]");
        return Err(qpn_at.error(Problem::Duplicate { value: qpn.to_string(), other }));
    }
    let dest_qpn = fields.required("dest_qpn")?.integer(1, MAX_24)? as u32;
    let start_psn = fields.required("start_psn")?.integer(0, MAX_24)? as u32;
    let mtu_at = fields.required("mtu")?;
    let value = mtu_at.u64(0)?;
    let Some(&mtu) = MTUS.iter().find(|&&mtu| u64::from(mtu) == value) else {
        return Err(mtu_at.error(Problem::NumberChoice { value, choices: MTUS.to_vec() }));
    };
    let mac_at = fields.optional("dest_mac");
    let dest_ip = ip(&fields.required("dest_ip")?)?;
    let dest_mac = match mac_at {
        Some(at) => mac(&at)?,
        None => resolver
            .resolve(dest_ip.into())
            .map_err(|source| fields.child_error("dest_mac", Problem::Resolve(source)))?
            .to_u64(),
    };
    if fields.has_unknown("vlan") {
        let what = "VLAN: the card sends Ethernet headers without an 802.1Q tag".to_owned();
        return Err(fields.child_error("vlan", Problem::Unsupported { what }));
    }
    let mut byte = |name, least, most, default| match fields.optional(name) {
        Some(at) => Ok::<_, JobError>(at.integer(least, most)? as u8),
        None => Ok(default),
    };
    let (dscp, ecn) = (byte("dscp", 0, 63, 0)?, byte("ecn", 0, 3, 0)?);
    let ttl = byte("ttl", 1, 255, TTL)?;
    let qkey = match (fields.optional("qkey"), transport) {
        (Some(at), Transport::Ud) => at.u32(0)?,
        (Some(at), _) => {
            let what = "this transport (only ud has one)".to_owned();
            return Err(at.error(Problem::Meaningless { what }));
        }
        (None, Transport::Ud) => return Err(fields.child_error("qkey", Problem::Missing)),
        (None, _) => 0,
    };
    fields.finish()?;
    Ok(Qp {
        name,
        transport,
        qpn: qpn as u32,
        dest_qpn,
        start_psn,
        mtu,
        dest_mac,
        dest_ip,
        qkey,
        dscp,
        ecn,
        ttl,
    })
}

/// What posts refer to.
struct Context<'a> {
    buffers: &'a HashMap<String, usize>,
    qp_names: &'a HashMap<String, usize>,
    qps: &'a [Qp],
}

impl Context<'_> {
    fn post(&self, at: &At) -> Result<Post, JobError> {
        let mut fields = at.object()?;
        let shared =
            fields.required("verb")?.choice(&[("post_send", false), ("post_ssq_send", true)])?;
        let wr_id = fields.required("wr_id")?.u64(0)?;
        let op_at = fields.required("op")?;
        let op = op_at.choice(&Opcode::ALL.map(|op| (op_name(op), op)))?;
        let imm = match fields.optional("imm") {
            Some(at) if op.has_imm() => at.u32(0)?,
            Some(at) => return Err(meaningless(&at, op)),
            None if op.has_imm() => return Err(fields.child_error("imm", Problem::Missing)),
            None => 0,
        };
        let row_mask = match fields.optional("row_mask") {
            Some(at) => at.choice(&[("period", RowMask::Period), ("element", RowMask::Element)])?,
            None => RowMask::Period,
        };
        let rows_per_message = match fields.optional("rows_per_message") {
            Some(at) => at.u32(1)?,
            None => 1,
        };
        let signaled = fields.optional("signaled").map_or(Ok(true), |at| at.boolean())?;
        let fetch = fields.optional("fetch").map(|at| fetch_plan(&at)).transpose()?;
        let mut partitioned = None;
        let destinations = if shared {
            if let Some(at) = fields.optional("partitioned") {
                partitioned = Some(self.partitioned(&at)?);
            }
            self.destinations(&fields.required("destinations")?, op, partitioned.as_ref())?
        } else {
            vec![self.destination(&mut fields, op, None)?]
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
            signaled,
            fetch,
            partitioned,
            destinations,
        })
    }

    fn destinations(
        &self,
        at: &At,
        op: Opcode,
        partitioned: Option<&Partitioned>,
    ) -> Result<Vec<Destination>, JobError> {
        let list = at.list_up_to(MAX_DESTINATIONS, "destinations")?;
        if list.is_empty() {
            return Err(at.error(Problem::Empty { what: "destination" }));
        }
        let mut destinations: Vec<Destination> = Vec::new();
        for entry in list {
            let mut fields = entry.object()?;
            let destination = self.destination(&mut fields, op, partitioned)?;
            if let Some(other) = destinations.iter().position(|d| d.qp == destination.qp) {
                let value = format!("queue pair \"{}\"", self.qps[destination.qp].name);
                let other = format!("{}[{other}]", at.path);
                return Err(fields.child_error("qp", Problem::Duplicate { value, other }));
            }
            let partition = destination.partition;
            let same = destinations.iter().position(|d| d.partition == partition);
            if let (Some(other), Some(_)) = (same, partitioned) {
                let (value, other) = (partition.to_string(), format!("{}[{other}]", at.path));
                return Err(fields.child_error("partition", Problem::Duplicate { value, other }));
            }
            fields.finish()?;
            destinations.push(destination);
        }
        let count = destinations.iter().map(|d| d.regions.len()).sum();
        if count > MAX_REQUEST_REGIONS {
            let (what, limit) = ("regions of all destinations together", MAX_REQUEST_REGIONS);
            return Err(at.error(Problem::TooMany { count, what, limit }));
        }
        Ok(destinations)
    }

    /// A destination: its regions, or of the post's partitioned region its partition.
    fn destination(
        &self,
        fields: &mut Fields,
        op: Opcode,
        partitioned: Option<&Partitioned>,
    ) -> Result<Destination, JobError> {
        let qp = named(&fields.required("qp")?, "queue pair", self.qp_names)?;
        let (addr_at, rkey_at) = (fields.optional("remote_addr"), fields.optional("rkey"));
        let remote_addr = match addr_at {
            Some(at) if op.is_write() => at.u64(0)?,
            Some(at) => return Err(meaningless(&at, op)),
            None if op.is_write() => {
                return Err(fields.child_error("remote_addr", Problem::Missing));
            }
            None => 0,
        };
        let rkey = match rkey_at {
            Some(at) if op.is_write() => at.u32(0)?,
            Some(at) => return Err(meaningless(&at, op)),
            None if op.is_write() => return Err(fields.child_error("rkey", Problem::Missing)),
            None => 0,
        };
        let (mut partition, mut regions) = (0, Vec::new());
        if let Some(region) = partitioned {
            let max = region.width.max_id();
            partition = fields.required("partition")?.integer(0, max.into())? as u16;
        } else {
            let list = fields.required("regions")?.list_up_to(MAX_REGIONS, "regions")?;
            regions = list.iter().map(|at| self.region(at)).collect::<Result<_, _>>()?;
        }
        Ok(Destination { qp, remote_addr, rkey, partition, regions })
    }

    fn partitioned(&self, at: &At) -> Result<Partitioned, JobError> {
        let mut fields = at.object()?;
        let mut ids = fields.required("ids")?.object()?;
        let place = self.place(&mut ids)?;
        let width_at = ids.required("width")?;
        let width = match width_at.u64(0)? {
            1 => IdWidth::One,
            2 => IdWidth::Two,
            value => {
                return Err(width_at.error(Problem::NumberChoice { value, choices: vec![1, 2] }));
            }
        };
        ids.finish()?;
        let rows = fields.required("rows")?.u32(0)?;
        let columns = self.columns(&fields.required("columns")?)?;
        fields.finish()?;
        Ok(Partitioned { ids: place, width, rows, columns })
    }

    fn region(&self, at: &At) -> Result<Region, JobError> {
        #[derive(Clone, Copy)]
        enum Type {
            Contiguous,
            Strided,
            Bitmapped,
            PointerMapped,
        }
        let mut fields = at.object()?;
        let region_type = fields.required("type")?.choice(&[
            ("contiguous", Type::Contiguous),
            ("strided", Type::Strided),
            ("bitmapped", Type::Bitmapped),
            ("pointer_mapped", Type::PointerMapped),
        ])?;
        let region = match region_type {
            Type::Contiguous => {
                let base = self.place(&mut fields)?;
                Region::Contiguous { base, len: fields.required("len")?.u32(1)? }
            }
            Type::Strided => Region::Strided {
                base: self.place(&mut fields)?,
                period: fields.required("period")?.u64(1)?,
                count: fields.required("count")?.u32(0)?,
                pattern: pattern(&fields.required("pattern")?)?,
            },
            Type::Bitmapped => {
                let bits = |at: &At| -> Result<Place, JobError> {
                    let mut fields = at.object()?;
                    let place = self.place(&mut fields)?;
                    fields.finish()?;
                    Ok(place)
                };
                Region::Bitmapped {
                    bitmap: bits(&fields.required("bitmap")?)?,
                    rows: fields.required("rows")?.u32(0)?,
                    columns: self.columns(&fields.required("columns")?)?,
                    fetch_rows: fields.optional("fetch_rows").as_ref().map(bits).transpose()?,
                }
            }
            Type::PointerMapped => Region::PointerMapped {
                pointers: self.pointers(&fields.required("pointers")?)?,
                pattern: pattern(&fields.required("pattern")?)?,
            },
        };
        fields.finish()?;
        Ok(region)
    }

    fn place(&self, fields: &mut Fields) -> Result<Place, JobError> {
        let buffer = named(&fields.required("buffer")?, "buffer", self.buffers)?;
        Ok(Place { buffer, offset: fields.required("offset")?.u64(0)? })
    }

    fn columns(&self, at: &At) -> Result<Vec<Column>, JobError> {
        let list = at.list_up_to(MAX_ELEMENTS, "columns")?;
        if list.is_empty() {
            return Err(at.error(Problem::Empty { what: "column" }));
        }
        let column = |at: &At| {
            let mut fields = at.object()?;
            let base = self.place(&mut fields)?;
            let width = fields.required("width")?.u32(1)?;
            fields.finish()?;
            Ok(Column { base, width })
        };
        list.iter().map(column).collect()
    }

    fn pointers(&self, at: &At) -> Result<Vec<Place>, JobError> {
        let list = at.list_up_to(u32::MAX as usize, "pointers")?;
        let pointer = |at: &At| {
            let pair = at.list()?;
            let [buffer, offset] = pair.as_slice() else {
                let (expected, found) =
                    ("a pair [buffer, offset]", format!("{} values", pair.len()));
                return Err(at.error(Problem::Type { expected, found }));
            };
            Ok(Place { buffer: named(buffer, "buffer", self.buffers)?, offset: offset.u64(0)? })
        };
        list.iter().map(pointer).collect()
    }
}

/// A field that the operation does not have.
fn meaningless(at: &At, op: Opcode) -> JobError {
    at.error(Problem::Meaningless { what: op_name(op).to_owned() })
}

fn fetch_plan(at: &At) -> Result<FetchPlan, JobError> {
    let mut fields = at.object()?;
    let max_read_at = fields.required("max_read")?;
    let max_read = max_read_at.u64(0)?;
    let merge_threshold =
        fields.required("merge_threshold")?.integer(0, MAX_MERGE_THRESHOLD.into())?;
    fields.finish()?;
    let plan = u32::try_from(max_read).ok().map(|max| FetchPlan::new(max, merge_threshold as u32));
    plan.and_then(Result::ok).ok_or_else(|| {
        let choices = LOG_MAX_READ.map(|log| 1 << log).collect();
        max_read_at.error(Problem::NumberChoice { value: max_read, choices })
    })
}

fn pattern(at: &At) -> Result<Vec<Extent>, JobError> {
    let list = at.list_up_to(MAX_ELEMENTS, "extents")?;
    if list.is_empty() {
        return Err(at.error(Problem::Empty { what: "extent" }));
    }
    let extent = |at: &At| {
        let mut fields = at.object()?;
        let extent = Extent {
            offset: fields.required("offset")?.u64(0)?,
            len: fields.required("len")?.u32(1)?,
        };
        fields.finish()?;
        Ok(extent)
    };
    list.iter().map(extent).collect()
}

fn named(at: &At, kind: &'static str, names: &HashMap<String, usize>) -> Result<usize, JobError> {
    let name = at.text()?;
    let found = names.get(name).copied();
    found.ok_or_else(|| at.error(Problem::NoSuch { kind, name: name.to_owned() }))
}
