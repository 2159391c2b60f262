//! How systems outside wake an agent by an address of its own.

string_enum! {
    /// Whether an external trigger accepts deliveries.
    #[schemars(rename = "ExternalTriggerStatus")]
    pub enum TriggerStatus {
        /// It does.
        Active = "active",
        /// It does not, until it gets another address.
        Revoked = "revoked",
    }
}

string_enum! {
    /// What a delivery does.
    pub enum DeliveryMode {
        /// It wakes the agent; its content is untrusted data, not instructions.
        WakeHint = "wake_hint",
    }
}
