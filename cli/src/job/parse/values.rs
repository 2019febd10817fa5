//! Single values: addresses, names, hexadecimal, and a post's settings.

use std::{collections::HashMap, net::Ipv4Addr};

use drdma_abi::work_request::{LOG_MAX_READ, MAX_MERGE_THRESHOLD};

use crate::job::{FetchPlan, JobError, Local, Problem, json::At};

pub(crate) fn local(at: &At) -> Result<Local, JobError> {
    let mut fields = at.object()?;
    let local = Local { mac: mac(&fields.required("mac")?)?, ip: ip(&fields.required("ip")?)? };
    fields.finish()?;
    Ok(local)
}

pub(crate) fn mac(at: &At) -> Result<u64, JobError> {
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

pub(crate) fn ip(at: &At) -> Result<u32, JobError> {
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
pub(crate) fn new_name(
    at: &At,
    list: &str,
    names: &mut HashMap<String, usize>,
) -> Result<String, JobError> {
    let name = at.text()?.to_owned();
    let index = names.len();
    if let Some(other) = names.insert(name.clone(), index) {
        let value = format!("\"{name}\"");
        return Err(at.error(Problem::Duplicate { value, other: format!("{list}[{other}]") }));
    }
    Ok(name)
}

pub(crate) fn hex_bytes(at: &At) -> Result<Vec<u8>, JobError> {
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

pub(crate) fn fetch_plan(at: &At) -> Result<FetchPlan, JobError> {
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

pub(crate) fn named(
    at: &At,
    kind: &'static str,
    names: &HashMap<String, usize>,
) -> Result<usize, JobError> {
    let name = at.text()?;
    let found = names.get(name).copied();
    found.ok_or_else(|| at.error(Problem::NoSuch { kind, name: name.to_owned() }))
}
