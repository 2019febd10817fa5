//! Queue pairs.

use std::collections::HashMap;

use drdma_abi::roce::{MTUS, TTL, Transport};
use libdrdma::{Resolver, VlanTag};

use super::values::{ip, mac, new_name};
use crate::job::{
    JobError, Problem, Qp,
    json::{At, Fields},
};

/// Queue pair and packet sequence numbers have 24 bits.
pub(crate) const MAX_24: u64 = (1 << 24) - 1;

/// A queue pair whose peer is given by addresses.
pub(super) fn qp(
    at: &At,
    names: &mut HashMap<String, usize>,
    numbers: &mut HashMap<u64, usize>,
    resolver: &dyn Resolver,
) -> Result<Qp, JobError> {
    let mut fields = at.object()?;
    let index = names.len();
    let name = new_name(&fields.required("name")?, "qps", names)?;
    let transport = transport(&mut fields)?;
    let qpn_at = fields.required("qpn")?;
    let qpn = qpn_at.integer(1, MAX_24)?;
    if let Some(other) = numbers.insert(qpn, index) {
        let other = format!("qps[{other}]");
        return Err(qpn_at.error(Problem::Duplicate { value: qpn.to_string(), other }));
    }
    let dest_qpn = fields.required("dest_qpn")?.integer(1, MAX_24)? as u32;
    let start_psn = fields.required("start_psn")?.integer(0, MAX_24)? as u32;
    let mtu = mtu(&mut fields)?;
    let mac_at = fields.optional("dest_mac");
    let dest_ip = ip(&fields.required("dest_ip")?)?;
    let dest_mac = match mac_at {
        Some(at) => mac(&at)?,
        None => resolver
            .resolve(dest_ip.into())
            .map_err(|source| fields.child_error("dest_mac", Problem::Resolve(source)))?
            .to_u64(),
    };
    let vlan = vlan(&mut fields)?;
    let IpFields { dscp, ecn, ttl } = ip_fields(&mut fields)?;
    let qkey = qkey(&mut fields, transport)?;
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
        vlan,
    })
}

/// The 802.1Q tag, if there is one.
fn vlan(fields: &mut Fields) -> Result<Option<VlanTag>, JobError> {
    let Some(at) = fields.optional("vlan") else { return Ok(None) };
    let mut fields = at.object()?;
    let id = fields.required("id")?.integer(1, 4094)? as u16;
    let priority = match fields.optional("priority") {
        Some(at) => at.integer(0, 7)? as u8,
        None => 0,
    };
    fields.finish()?;
    Ok(Some(VlanTag { id, priority }))
}

/// The transport, which every queue pair has.
pub(crate) fn transport(fields: &mut Fields) -> Result<Transport, JobError> {
    fields.required("transport")?.choice(&[
        ("rc", Transport::Rc),
        ("uc", Transport::Uc),
        ("ud", Transport::Ud),
    ])
}

/// The path MTU.
pub(crate) fn mtu(fields: &mut Fields) -> Result<u32, JobError> {
    let at = fields.required("mtu")?;
    let value = at.u64(0)?;
    let found = MTUS.iter().find(|&&mtu| u64::from(mtu) == value);
    found.copied().ok_or_else(|| at.error(Problem::NumberChoice { value, choices: MTUS.to_vec() }))
}

/// Fields of a queue pair's IPv4 headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IpFields {
    pub dscp: u8,
    pub ecn: u8,
    pub ttl: u8,
}

/// The fields of a queue pair's IPv4 headers, or their defaults.
pub(crate) fn ip_fields(fields: &mut Fields) -> Result<IpFields, JobError> {
    let mut byte = |name, least, most, default| match fields.optional(name) {
        Some(at) => Ok::<_, JobError>(at.integer(least, most)? as u8),
        None => Ok(default),
    };
    let (dscp, ecn) = (byte("dscp", 0, 63, 0)?, byte("ecn", 0, 3, 0)?);
    Ok(IpFields { dscp, ecn, ttl: byte("ttl", 1, 255, TTL)? })
}

/// The queue key, which only `ud` has.
pub(crate) fn qkey(fields: &mut Fields, transport: Transport) -> Result<u32, JobError> {
    match (fields.optional("qkey"), transport) {
        (Some(at), Transport::Ud) => at.u32(0),
        (Some(at), _) => {
            let what = "this transport (only ud has one)".to_owned();
            Err(at.error(Problem::Meaningless { what }))
        }
        (None, Transport::Ud) => Err(fields.child_error("qkey", Problem::Missing)),
        (None, _) => Ok(0),
    }
}
