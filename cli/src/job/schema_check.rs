//! Checks that a value fits a schema, and that a reader of jobs knows the fields of its schema.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::JobError;

/// The branch of a schema that fits a value: references followed, alternatives tried by the constants
/// and required fields that they have.
fn resolve<'a>(root: &'a Value, schema: &'a Value, value: &Value) -> Vec<&'a Value> {
    if let Some(name) = schema["$ref"].as_str() {
        let mut found = resolve(root, root.pointer(&name[1..]).expect(name), value);
        found.push(schema);
        return found;
    }
    for name in ["oneOf", "anyOf"] {
        if let Some(list) = schema[name].as_array() {
            let fits = |of: &&Value| errors(root, of, value).is_empty();
            let mut found: Vec<_> = list.iter().filter(fits).collect();
            found.truncate(1);
            let mut all: Vec<_> =
                found.into_iter().flat_map(|of| resolve(root, of, value)).collect();
            all.push(schema);
            return all;
        }
    }
    vec![schema]
}

/// The faults of a value, by the keywords of the schema.
pub(crate) fn errors(root: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut wrong = |text: String| found.push(text);
    for name in ["oneOf", "anyOf"] {
        if let Some(list) = schema[name].as_array()
            && !list.iter().any(|of| errors(root, of, value).is_empty())
        {
            wrong(format!("{value} is none of {name}"));
        }
    }
    if let Some(list) = schema["enum"].as_array()
        && !list.contains(value)
    {
        wrong(format!("{value} is not in {list:?}"));
    }
    if schema.get("const").is_some_and(|expected| expected != value) {
        wrong(format!("{value} is not {}", schema["const"]));
    }
    let number = value.as_f64();
    if number.zip(schema["minimum"].as_f64()).is_some_and(|(value, min)| value < min)
        || number.zip(schema["maximum"].as_f64()).is_some_and(|(value, max)| value > max)
    {
        wrong(format!("{value} is out of range"));
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types: Vec<_> = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_number = kind == "integer" && types.contains(&"number");
    if !types.is_empty() && !types.contains(&kind) && !is_number {
        wrong(format!("{value} is no {types:?}"));
    }
    if let Some(list) = value.as_array() {
        let count = list.len() as u64;
        if schema["minItems"].as_u64().is_some_and(|min| count < min)
            || schema["maxItems"].as_u64().is_some_and(|max| count > max)
        {
            wrong(format!("a list of {count}"));
        }
        let items = schema.get("items").filter(|items| items.is_object());
        for value in list {
            found.extend(items.iter().flat_map(|schema| errors(root, schema, value)));
        }
    }
    if let (Some(object), Some(properties)) = (value.as_object(), fields(root, schema)) {
        for (name, value) in object {
            match properties.iter().find(|(known, _)| *known == name) {
                Some((_, schema)) => found.extend(errors(root, schema, value)),
                None => found.push(format!("unknown field {name}")),
            }
        }
        for name in required(root, schema) {
            if !object.contains_key(name) {
                found.push(format!("{name} is missing"));
            }
        }
    } else if let Some(name) = schema["$ref"].as_str() {
        found.extend(errors(root, root.pointer(&name[1..]).expect(name), value));
    }
    found
}

/// All fields that an object may have, those behind a reference included.
fn fields<'a>(root: &'a Value, schema: &'a Value) -> Option<Vec<(&'a String, &'a Value)>> {
    let mut all: Vec<_> = schema["properties"].as_object()?.iter().collect();
    if let Some(name) = schema["$ref"].as_str() {
        all.extend(fields(root, root.pointer(&name[1..])?)?);
    }
    Some(all)
}

fn required<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let own = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut all: Vec<_> = own.collect();
    if let Some(of) = schema["$ref"].as_str().and_then(|name| root.pointer(&name[1..])) {
        all.extend(required(root, of));
    }
    all
}

/// Checks for every object of a job that the fields that the reader names are those of the schema. Returns the
/// number of fields that were compared.
pub(crate) fn same_fields(
    root: &Value,
    job: &Value,
    parse: &dyn Fn(&str) -> Result<(), JobError>,
) -> usize {
    let mut compared = 0;
    let mut pointers = vec![String::new()];
    while let Some(pointer) = pointers.pop() {
        let value = job.pointer(&pointer).unwrap();
        match value {
            Value::Array(list) => {
                pointers.extend((0..list.len()).map(|i| format!("{pointer}/{i}")))
            }
            Value::Object(object) => {
                pointers.extend(object.keys().map(|name| format!("{pointer}/{name}")));
                let mut spoiled = job.clone();
                let object = spoiled.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
                object.insert("nonsense".to_owned(), json!(0));
                let error = parse(&spoiled.to_string()).unwrap_err().to_string();
                let (_, names) = error.split_once("the fields here are ").expect(&error);
                let read: BTreeSet<_> = names.split(", ").flat_map(|n| n.split(" and ")).collect();
                let found = schema_fields(root, job, &pointer);
                // Partitioned destinations have no regions, others no partition.
                let given: BTreeSet<_> = found
                    .iter()
                    .map(String::as_str)
                    .filter(|name| !name.starts_with('$'))
                    .filter(|name| read.contains(name) || !["regions", "partition"].contains(name))
                    .collect();
                // A buffer has one of three sources, and the reader names all.
                let one_of = ["file", "hex", "size"];
                let read: BTreeSet<_> = read
                    .into_iter()
                    .filter(|name| given.contains(name) || !one_of.contains(name))
                    .collect();
                assert_eq!(read, given, "{pointer}");
                compared += 1;
            }
            _ => {}
        }
    }
    compared
}

/// The fields that the schema has for the object at `pointer`.
fn schema_fields(root: &Value, job: &Value, pointer: &str) -> BTreeSet<String> {
    let (mut schemas, mut value) = (vec![root], job);
    for name in pointer.split('/').skip(1) {
        let (schema, next) = match name.parse::<usize>() {
            Ok(index) => (schemas.iter().find_map(|of| of.get("items")), &value[index]),
            Err(_) => (schemas.iter().find_map(|of| of["properties"].get(name)), &value[name]),
        };
        schemas = resolve(root, schema.expect(pointer), next);
        value = next;
    }
    let names = schemas.iter().filter_map(|schema| schema["properties"].as_object());
    names.flat_map(|properties| properties.keys().cloned()).collect()
}
