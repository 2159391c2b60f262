//! The key of a device. It signs heads, so that the past cannot be forged without the key.

use ed25519_dalek::ed25519::signature::Signer as _;
use ed25519_dalek::{SigningKey, VerifyingKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::key::Digest;

/// The secret key of a device. It can only sign; it can be neither displayed nor compared.
pub struct DeviceKey(SigningKey);

impl DeviceKey {
    /// Derives the key from random bytes.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// The public key of the device.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    #[must_use]
    pub fn sign(&self, digest: &Digest) -> Signature {
        Signature(self.0.sign(digest.as_bytes()).to_bytes())
    }
}

impl std::fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceKey({})", self.public().fingerprint())
    }
}

macro_rules! hex_bytes {
    ($(#[$doc:meta])* $name:ident, $length:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name([u8; $length]);

        impl $name {
            /// Wraps stored bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; $length]) -> Self {
                Self(bytes)
            }

            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; $length] {
                &self.0
            }

            /// Parses exactly its lower-case hex digits.
            #[must_use]
            pub fn from_hex(text: &str) -> Option<Self> {
                let bytes = from_hex(text)?;
                bytes.try_into().ok().map(Self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{self}")
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let wrong = || serde::de::Error::custom(concat!("expected ", $length, " bytes in lower-case hex"));
                Self::from_hex(&text).ok_or_else(wrong)
            }
        }
    };
}

hex_bytes! {
    /// The public key of a device.
    PublicKey, 32
}
hex_bytes! {
    /// A signature of a device key.
    Signature, 64
}
hex_bytes! {
    /// The fingerprint by which people compare keys: the first half of the SHA-256 of the public key, 32
    /// hex digits.
    Fingerprint, 16
}

impl PublicKey {
    /// The fingerprint by which people compare the key.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let digest = Digest::of(&self.0);
        let (half, _) = digest.as_bytes().split_at(16);
        Fingerprint(half.try_into().unwrap_or_default())
    }

    /// Whether the signature of the hash is valid. Verification is strict: it rejects malleable signatures
    /// and weak keys.
    #[must_use]
    pub fn has_signed(&self, digest: &Digest, signature: &Signature) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        let key = VerifyingKey::from_bytes(&self.0);
        key.is_ok_and(|key| key.verify_strict(digest.as_bytes(), &signature).is_ok())
    }
}

/// Parses lower-case hex digits, the only accepted spelling.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let byte = |[high, low]: &[u8; 2]| Some((value(*high)? << 4) | value(*low)?);
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    bytes.filter(|_| rest.is_empty())
}
