//! JSON with the path of every value, so that a message can name the field that is wrong.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::error::{JobError, Problem};

/// 2^63: an integer of this size that was read as a float is below the least `i64` or above the
/// greatest `u64`.
const BEYOND_64_BITS: f64 = 9_223_372_036_854_775_808.0;

/// A field that any object may have, and that is ignored.
const COMMENT: &str = "$comment";
/// The field in which a job says where its schema is; it is for editors.
const SCHEMA: &str = "$schema";

/// A JSON value. Objects keep their entries as they were written, repeated names included.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonVisitor;

        impl<'de> Visitor<'de> for JsonVisitor {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Integer(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Integer(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
                Ok(Json::Float(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(value) = seq.next_element()? {
                    list.push(value);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Json::Object(entries))
            }
        }

        deserializer.deserialize_any(JsonVisitor)
    }
}

impl Json {
    fn describe(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => format!("{value:?}"),
            Self::Text(text) => format!("\"{text}\""),
            Self::List(_) => "a list".to_owned(),
            Self::Object(_) => "an object".to_owned(),
        }
    }
}

/// A value and its path.
#[derive(Clone, Debug)]
pub(crate) struct At<'a> {
    pub path: String,
    json: &'a Json,
}

impl<'a> At<'a> {
    pub fn root(json: &'a Json) -> Self {
        Self { path: String::new(), json }
    }

    pub fn error(&self, problem: Problem) -> JobError {
        let path = if self.path.is_empty() { "job".to_owned() } else { self.path.clone() };
        JobError::Field { path, problem }
    }

    fn wrong_type(&self, expected: &'static str) -> JobError {
        self.error(Problem::Type { expected, found: self.json.describe() })
    }

    pub fn object(&self) -> Result<Fields<'a>, JobError> {
        let Json::Object(entries) = self.json else { return Err(self.wrong_type("an object")) };
        let fields = Fields { at: self.clone(), entries, known: Vec::new() };
        for (i, (name, _)) in entries.iter().enumerate() {
            if entries[..i].iter().any(|(earlier, _)| earlier == name) {
                return Err(fields.child_error(name, Problem::Repeated));
            }
        }
        Ok(fields)
    }

    pub fn list(&self) -> Result<Vec<At<'a>>, JobError> {
        let Json::List(list) = self.json else { return Err(self.wrong_type("a list")) };
        let at = |(i, json)| At { path: format!("{}[{i}]", self.path), json };
        Ok(list.iter().enumerate().map(at).collect())
    }

    /// A list of at most `limit` entries, named `what` in messages.
    pub fn list_up_to(&self, limit: usize, what: &'static str) -> Result<Vec<At<'a>>, JobError> {
        let list = self.list()?;
        if list.len() > limit {
            return Err(self.error(Problem::TooMany { count: list.len(), what, limit }));
        }
        Ok(list)
    }

    pub fn integer(&self, min: u64, max: u64) -> Result<u64, JobError> {
        let value = match self.json {
            &Json::Integer(value) => value,
            // An integer of more than 64 bits was read as a float.
            Json::Float(value) if value.abs() >= BEYOND_64_BITS => {
                // The digits of the integer are lost.
                let (expected, found) = ("an integer of at most 64 bits", "longer".to_owned());
                return Err(self.error(Problem::Type { expected, found }));
            }
            _ => return Err(self.wrong_type("an integer")),
        };
        match u64::try_from(value) {
            Ok(value) if value > max => {
                Err(self.error(Problem::TooLarge { value: value.into(), max }))
            }
            Ok(value) if value >= min => Ok(value),
            _ => Err(self.error(Problem::TooSmall { value, min })),
        }
    }

    /// A number from 0 to 1.
    pub fn probability(&self) -> Result<f64, JobError> {
        let value = match *self.json {
            Json::Integer(value) => value as f64,
            Json::Float(value) => value,
            _ => return Err(self.wrong_type("a number")),
        };
        match (0.0..=1.0).contains(&value) {
            true => Ok(value),
            false => Err(self.error(Problem::Probability(value))),
        }
    }

    pub fn u32(&self, min: u32) -> Result<u32, JobError> {
        Ok(self.integer(min.into(), u32::MAX.into())? as u32)
    }

    pub fn u64(&self, min: u64) -> Result<u64, JobError> {
        self.integer(min, u64::MAX)
    }

    pub fn boolean(&self) -> Result<bool, JobError> {
        match self.json {
            &Json::Bool(value) => Ok(value),
            _ => Err(self.wrong_type("true or false")),
        }
    }

    pub fn text(&self) -> Result<&'a str, JobError> {
        let Json::Text(text) = self.json else { return Err(self.wrong_type("a string")) };
        Ok(text)
    }

    pub fn choice<T: Copy>(&self, choices: &[(&'static str, T)]) -> Result<T, JobError> {
        let text = self.text()?;
        match choices.iter().find(|(name, _)| *name == text) {
            Some((_, value)) => Ok(*value),
            None => Err(self.error(Problem::Choice {
                found: text.to_owned(),
                choices: choices.iter().map(|(name, _)| *name).collect(),
            })),
        }
    }
}

/// The fields of one object. Each is asked for once; [`Fields::finish`] returns an error for all others.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    pub at: At<'a>,
    entries: &'a [(String, Json)],
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    fn child(&self, name: &str) -> String {
        match self.at.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    pub fn child_error(&self, name: &str, problem: Problem) -> JobError {
        JobError::Field { path: self.child(name), problem }
    }

    pub fn optional(&mut self, name: &'static str) -> Option<At<'a>> {
        self.known.push(name);
        let (_, json) = self.entries.iter().find(|(entry, _)| entry == name)?;
        Some(At { path: self.child(name), json })
    }

    /// True if there is a field of that name, which the reader of this object has not asked for.
    pub fn has_unknown(&self, name: &str) -> bool {
        self.entries.iter().any(|(entry, _)| entry == name)
    }

    pub fn required(&mut self, name: &'static str) -> Result<At<'a>, JobError> {
        self.optional(name).ok_or_else(|| self.child_error(name, Problem::Missing))
    }

    pub fn finish(self) -> Result<(), JobError> {
        let is_root = self.at.path.is_empty();
        let known =
            |name: &str| name == COMMENT || name == SCHEMA && is_root || self.known.contains(&name);
        match self.entries.iter().find(|(name, _)| !known(name)) {
            Some((name, _)) => {
                let problem = Problem::Unknown { known: self.known.clone() };
                Err(self.child_error(name, problem))
            }
            None => Ok(()),
        }
    }
}
