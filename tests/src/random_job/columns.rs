//! WRITEs by columns that every card sends: of one region a destination, whose rows go into one message a column.

use serde_json::{Value, json};

use super::kinds::destinations;
use crate::random::Random;

/// Elements of the region of such a WRITE, at most, so that what a request has for all its destinations stays
/// below what a card takes.
const MOST: usize = 8;

/// Makes some of the WRITEs such. The random numbers for it leave the rest of the seed's job as it was.
pub(super) fn insert(seed: u64, posts: &mut [Value]) {
    let mut random = Random::new(seed ^ 0x636f_6c75_6d6e);
    for post in posts {
        let write = post["op"].as_str().is_some_and(|op| op.starts_with("write"));
        if write && post["inline"] != true && !random.one_in(3) {
            by_columns(&mut random, post);
        }
    }
}

/// The field with a region's elements, if the region may be sent by columns.
fn elements(region: &Value) -> Option<&'static str> {
    let field = match region["type"].as_str() {
        Some("strided") => "pattern",
        Some("bitmapped") => "columns",
        _ => return None,
    };
    (!has_kinds(region, field)).then_some(field)
}

/// True if some element of the region has a kind, or its bitmap begins within a byte.
fn has_kinds(region: &Value, field: &str) -> bool {
    let elements = region[field].as_array().into_iter().flatten();
    region["bitmap"].get("bit").is_some()
        || elements.into_iter().any(|element| element.get("type").is_some())
}

/// Rows that a region has at most.
fn rows(region: &Value) -> u64 {
    let of = |field: &str| region[field].as_u64();
    of("rows").or_else(|| of("count")).unwrap_or(0)
}

fn by_columns(random: &mut Random, post: &mut Value) {
    let (mut count, mut most) = (MOST, 0);
    if let Some(region) = post.get_mut("partitioned") {
        // Neither kinds nor keys are taken together with columns.
        if has_kinds(region, "columns") || region.get("partition_by").is_some() {
            return;
        }
        let columns = region["columns"].as_array_mut().expect("columns");
        columns.truncate(MOST);
        count = columns.len();
        most = rows(region);
    } else {
        let mut lists: Vec<_> = destinations(post)
            .into_iter()
            .filter_map(|fields| fields.get_mut("regions")?.as_array_mut())
            .collect();
        for list in &mut lists {
            // The first region that may be sent by columns is taken.
            let Some(region) = list.iter().find(|region| elements(region).is_some()).cloned()
            else {
                return;
            };
            **list = vec![region];
        }
        let regions = || lists.iter().map(|list| &list[0]);
        most = regions().map(rows).max().unwrap_or(0).max(most);
        let elements_of = |region: &Value| region[elements(region)?].as_array().map(Vec::len);
        count = regions().filter_map(elements_of).min().unwrap_or(0).min(count);
        for list in lists {
            let field = elements(&list[0]).expect("one that may be");
            list[0][field].as_array_mut().expect("elements").truncate(count);
        }
    }
    if count == 0 {
        return;
    }
    let fields = post.as_object_mut().expect("an object");
    fields.remove("row_mask");
    fields.insert("message_layout".to_owned(), json!("columns"));
    let more = if random.one_in(2) { 0 } else { random.range(0..=1 << 20) };
    fields.insert("rows_per_message".to_owned(), json!(most.max(1) + more));
    for fields in destinations(post) {
        let fields = fields.as_object_mut().expect("an object");
        fields.remove("remote_addr");
        fields.remove("rkey");
        let one = |_| json!({"remote_addr": random.any(), "rkey": random.any() as u32});
        let columns: Vec<Value> = (0..count).map(one).collect();
        fields.insert("remote_columns".to_owned(), json!(columns));
    }
}
