//! A change of one setting: keep it, restore its default, or set a value.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A change of one setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// Keep the value.
    #[default]
    Keep,
    /// Restore the default.
    Reset,
    /// Set a value.
    Set(T),
}

impl<T> Change<T> {
    #[must_use]
    pub const fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    /// The new value, if one is set.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Reset => None,
        }
    }

    /// A change to this value; no change without one.
    #[must_use]
    pub fn given(value: Option<T>) -> Self {
        value.map_or(Self::Keep, Self::Set)
    }

    /// Converts a value that is set.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Change<U> {
        match self {
            Self::Keep => Change::Keep,
            Self::Reset => Change::Reset,
            Self::Set(value) => Change::Set(convert(value)),
        }
    }

    /// Converts a value that is set, or returns the error.
    pub fn try_map<U, E>(self, convert: impl FnOnce(T) -> Result<U, E>) -> Result<Change<U>, E> {
        self.map(convert).transpose()
    }
}

impl<T, E> Change<Result<T, E>> {
    fn transpose(self) -> Result<Change<T>, E> {
        Ok(match self {
            Self::Keep => Change::Keep,
            Self::Reset => Change::Reset,
            Self::Set(value) => Change::Set(value?),
        })
    }
}

impl<T: Clone + Default> Change<T> {
    pub(super) fn apply(&self, to: &mut T) {
        match self {
            Self::Keep => {}
            Self::Reset => *to = T::default(),
            Self::Set(value) => *to = value.clone(),
        }
    }
}

impl<T: Clone> Change<T> {
    /// Applies the change to a setting whose default is `None`.
    pub fn apply_optional(&self, to: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Reset => *to = None,
            Self::Set(value) => *to = Some(value.clone()),
        }
    }
}

/// On the wire a missing field keeps the value and null restores the default.
impl<T: Serialize> Serialize for Change<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Reset, Self::Set))
    }
}

impl<T: JsonSchema> JsonSchema for Change<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}
