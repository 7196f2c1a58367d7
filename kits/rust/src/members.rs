use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of a JSON object, each value as its text. Of a name that comes twice, the last counts.
///
/// Reading this way first has three uses: numbers keep their digits, nesting of any depth is skipped without recursion,
/// and the errors of what is read next name no content.
pub(crate) struct Members(pub(crate) Vec<(String, Box<RawValue>)>);

impl Members {
    /// `None` for anything that is not a JSON object.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// A member as a type; `None` when it is not there or is something else.
    pub(crate) fn get<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Option<T> {
        let (_, value) = self.0.iter().rev().find(|(each, _)| each == name)?;
        serde_json::from_str(value.get()).ok()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}
