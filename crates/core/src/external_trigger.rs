//! External triggers: secret URLs through which external systems wake an agent.

string_enum! {
    /// Whether an external trigger accepts deliveries.
    #[schemars(rename = "ExternalTriggerStatus")]
    pub enum TriggerStatus {
        /// Deliveries are accepted.
        Active = "active",
        /// Deliveries are refused until the path of the trigger is rotated.
        Revoked = "revoked",
    }
}

string_enum! {
    /// The effect of a delivery.
    pub enum DeliveryMode {
        /// It wakes the agent; its content is untrusted data, not instructions.
        WakeHint = "wake_hint",
    }
}
