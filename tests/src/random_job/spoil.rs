//! Posts that probably fail.

use serde_json::{Value, json};

use crate::random::Random;

/// Changes a value such that the post probably fails.
pub(super) fn spoil(random: &mut Random, post: &mut Value) {
    match random.range(0..=5) {
        0 => {
            post["row_mask"] = json!("element");
            return;
        }
        1 => {
            post["rows_per_message"] = json!(random.range(100..=u32::MAX.into()));
            return;
        }
        _ => {}
    }
    let numbers = ["offset", "len", "width", "period", "count", "rows"];
    let mut places = Vec::new();
    find(post, String::new(), &numbers, &mut places);
    // Ids of another size cannot be in a request.
    places.retain(|place| place != "/partitioned/ids/width");
    if places.is_empty() {
        return;
    }
    let place = random.pick(&places).clone();
    let small = ["/len", "/width", "/count", "/rows"].iter().any(|end| place.ends_with(end));
    let value = match (small, random.range(0..=3)) {
        (true, 0) => u32::MAX.into(),
        (true, _) => random.skewed(1..=u32::MAX.into()),
        (false, 0) => u64::MAX - random.range(0..=20),
        (false, 1) => (1 << 32) + random.range(0..=100),
        (false, _) => random.skewed(1..=u64::MAX),
    };
    *post.pointer_mut(&place).expect("it was found there") = json!(value);
}

/// The paths of all numbers of those names.
fn find(value: &Value, path: String, names: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                if value.is_u64() && names.contains(&name.as_str()) {
                    found.push(format!("{path}/{name}"));
                }
                find(value, format!("{path}/{name}"), names, found);
            }
        }
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                find(value, format!("{path}/{i}"), names, found);
            }
        }
        _ => {}
    }
}
