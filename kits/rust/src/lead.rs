use std::fmt;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use crate::members::Members;
use crate::{Decimal, Error};

/// A sales lead, as it is posted.
///
/// It is sent as it stands: the service normalizes and checks, this crate does neither. A field that is `None` is
/// left out. Fields that the service does not know are kept there with the lead; give them with [`set`](Self::set).
///
/// ```
/// use leads::{Decimal, Lead};
///
/// let mut lead = Lead::new("Ada", "Lovelace", "(212) 555-0143");
/// lead.project_area = Some("roof".into());
/// lead.cost = Some(Decimal::from_cents(1250));
/// lead.set("campaign", &"spring")?;
/// # Ok::<(), leads::Error>(())
/// ```
///
/// `Debug` tells which fields there are, and never what they hold. [`Client::post_lead`](crate::Client::post_lead)
/// takes any other type that serializes to such a JSON object, too.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Lead {
    /// Given name. Required by the service.
    pub first_name: Option<String>,
    /// Surname. Required by the service.
    pub last_name: Option<String>,
    /// In any format. Required by the service.
    pub phone: Option<String>,
    /// Its shape is looked at, and whether it can be delivered to is not.
    pub email: Option<String>,
    /// Street line of the job's address.
    pub street_address: Option<String>,
    /// City of the job's address.
    pub city: Option<String>,
    /// Two letters in the United States and Canada, free text elsewhere.
    pub state: Option<String>,
    /// ZIP or postal code.
    pub zip: Option<String>,
    /// ISO 3166 alpha-2; the service takes `US` when it is left out.
    pub country: Option<String>,
    /// Which part of the home: a term of the [`Vocabulary`](crate::Vocabulary), or your own.
    pub project_area: Option<String>,
    /// `replacement`, `repair`, `remodel` or `maintain`.
    pub project_service: Option<String>,
    /// Free text.
    pub project_material: Option<String>,
    /// The homeowner's own words. Line breaks are kept.
    pub project_details: Option<String>,
    /// Your id for the lead. It is recorded; whether a lead is a repeat is told by its idempotency key.
    pub external_id: Option<String>,
    /// What the contact costs, in US dollars, 0.01 to 999.99. Leave it out when it costs nothing.
    pub cost: Option<Decimal>,
    others: Vec<(String, Box<RawValue>)>,
}

/// The names of the fields that the service knows, in its order. Source: SPEC, Lead envelope.
pub(crate) const FIELD_NAMES: [&str; 15] = [
    "first_name",
    "last_name",
    "phone",
    "email",
    "street_address",
    "city",
    "state",
    "zip",
    "country",
    "project_area",
    "project_service",
    "project_material",
    "project_details",
    "external_id",
    COST,
];
const COST: &str = "cost";

impl Lead {
    /// A lead with the three fields that the service requires.
    pub fn new(first_name: impl Into<String>, last_name: impl Into<String>, phone: impl Into<String>) -> Self {
        Self {
            first_name: Some(first_name.into()),
            last_name: Some(last_name.into()),
            phone: Some(phone.into()),
            ..Self::default()
        }
    }

    /// Sets a field that the service does not know, to any value that can be written as JSON. The last one counts.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] when the value cannot be written as JSON, or the field is one of the struct's own.
    pub fn set<T: Serialize + ?Sized>(&mut self, name: impl Into<String>, value: &T) -> Result<&mut Self, Error> {
        let name = name.into();
        if FIELD_NAMES.contains(&name.as_str()) {
            return Err(Error::misconfigured("this field of a lead is one of its own: set it there"));
        }
        let value = serde_json::value::to_raw_value(value)
            .map_err(|_| Error::misconfigured("the field's value cannot be written as JSON"))?;
        self.set_raw(name, value);
        Ok(self)
    }

    fn set_raw(&mut self, name: String, value: Box<RawValue>) {
        match self.others.iter_mut().find(|(each, _)| *each == name) {
            Some((_, old)) => *old = value,
            None => self.others.push((name, value)),
        }
    }

    /// The text fields, in the order of `FIELD_NAMES`.
    fn texts(&self) -> [&Option<String>; 14] {
        [
            &self.first_name,
            &self.last_name,
            &self.phone,
            &self.email,
            &self.street_address,
            &self.city,
            &self.state,
            &self.zip,
            &self.country,
            &self.project_area,
            &self.project_service,
            &self.project_material,
            &self.project_details,
            &self.external_id,
        ]
    }

    fn text_mut(&mut self, name: &str) -> Option<&mut Option<String>> {
        Some(match name {
            "first_name" => &mut self.first_name,
            "last_name" => &mut self.last_name,
            "phone" => &mut self.phone,
            "email" => &mut self.email,
            "street_address" => &mut self.street_address,
            "city" => &mut self.city,
            "state" => &mut self.state,
            "zip" => &mut self.zip,
            "country" => &mut self.country,
            "project_area" => &mut self.project_area,
            "project_service" => &mut self.project_service,
            "project_material" => &mut self.project_material,
            "project_details" => &mut self.project_details,
            "external_id" => &mut self.external_id,
            _ => return None,
        })
    }
}

impl Serialize for Lead {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, text) in FIELD_NAMES.iter().zip(self.texts()) {
            if let Some(text) = text {
                map.serialize_entry(name, text)?;
            }
        }
        if let Some(cost) = &self.cost {
            map.serialize_entry(COST, cost)?;
        }
        for (name, value) in &self.others {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Reads JSON by `serde_json`, and no other format. No error quotes what was read.
impl<'de> Deserialize<'de> for Lead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = || de::Error::custom("not a lead: an object with texts, and a number as its cost");
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let members: Members = serde_json::from_str(raw.get()).map_err(|_| wrong())?;
        let mut lead = Self::default();
        for (name, value) in members.0 {
            if let Some(text) = lead.text_mut(&name) {
                *text = serde_json::from_str(value.get()).map_err(|_| wrong())?;
            } else if name == COST {
                lead.cost = match value.get() {
                    "null" => None,
                    digits => Some(digits.parse().map_err(|_| wrong())?),
                };
            } else {
                lead.set_raw(name, value);
            }
        }
        Ok(lead)
    }
}

// That it leaves fields out is what it is for.
#[allow(clippy::missing_fields_in_debug)]
impl fmt::Debug for Lead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = FIELD_NAMES.iter().zip(self.texts()).filter(|(_, text)| text.is_some());
        let names = texts.map(|(name, _)| *name).chain(self.cost.is_some().then_some(COST));
        f.debug_struct("Lead")
            .field("fields", &names.collect::<Vec<_>>())
            .field("other_fields", &self.others.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Lead;

    #[test]
    fn a_lead_is_written_as_it_was_read_digit_for_digit() {
        let text = concat!(
            r#"{"first_name":"Ada","zip":"\u0000","cost":12.50,"n":12345678901234567890,"#,
            r#""f":0.30000000000000004,"deep":{"x":[1e400, {}]},"__proto__":{"a":1}}"#
        );
        let lead: Lead = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&lead).unwrap(), text);
    }

    #[test]
    fn a_null_is_left_out_where_the_type_says_so_and_kept_elsewhere() {
        let lead: Lead = serde_json::from_str(r#"{"email":null,"cost":null,"own":null}"#).unwrap();
        assert_eq!(serde_json::to_string(&lead).unwrap(), r#"{"own":null}"#);
    }

    #[test]
    fn no_error_of_reading_a_lead_quotes_it() {
        for text in [r#"{"first_name":5551234}"#, r#"{"cost":"5551234"}"#, r#""5551234""#, r#"["5551234"]"#, "5551234"]
        {
            let error = serde_json::from_str::<Lead>(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("5551234"), "{error}");
        }
    }

    #[test]
    fn fields_of_the_struct_cannot_be_set_twice() {
        let mut lead = Lead::new("Ada", "Lovelace", "1");
        assert!(lead.set("cost", &1).is_err());
        lead.set("own", &1).unwrap().set("own", &[2]).unwrap();
        assert!(serde_json::to_string(&lead).unwrap().ends_with(r#""own":[2]}"#));
    }
}
