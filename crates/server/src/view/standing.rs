//! How an agent stands, over the wire.

use wakeful_core::wake::{Control, Lifecycle, Mode};

pub(super) const fn lifecycle(lifecycle: Lifecycle) -> wakeful_api::Lifecycle {
    match lifecycle {
        Lifecycle::Created => wakeful_api::Lifecycle::Created,
        Lifecycle::Active => wakeful_api::Lifecycle::Active,
        Lifecycle::Dormant => wakeful_api::Lifecycle::Dormant,
        Lifecycle::Destroyed => wakeful_api::Lifecycle::Destroyed,
    }
}

pub(super) const fn control(control: Control) -> wakeful_api::Control {
    match control {
        Control::Running => wakeful_api::Control::Running,
        Control::Paused => wakeful_api::Control::Paused,
        Control::Stopped => wakeful_api::Control::Stopped,
    }
}

/// Who may wake an agent, in words of the wire.
#[must_use]
pub const fn mode(mode: Mode) -> wakeful_api::Mode {
    match mode {
        Mode::Autonomous => wakeful_api::Mode::Autonomous,
        Mode::Interactive => wakeful_api::Mode::Interactive,
        Mode::Hybrid => wakeful_api::Mode::Hybrid,
    }
}

/// Who may wake an agent, in words of the engine.
#[must_use]
pub const fn told_mode(mode: wakeful_api::Mode) -> Mode {
    match mode {
        wakeful_api::Mode::Autonomous => Mode::Autonomous,
        wakeful_api::Mode::Interactive => Mode::Interactive,
        wakeful_api::Mode::Hybrid => Mode::Hybrid,
    }
}
