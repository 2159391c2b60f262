//! What a run has read, and what its calls may do because of that. The rules are in `core::provenance`; this
//! loads what they need.

use std::collections::BTreeMap;

use wakeful_core::conversation::ToolCall;
use wakeful_core::policy::{
    ActionRules, CallFacts, FOREIGN_TARGET, ForeignTargetPolicy, HostDecision, PolicyEffect, PolicyVerdict,
};
use wakeful_core::provenance::{Evidence, ReadText, RunTexts, Sources, TargetVerdict, UntrustedCall};
use wakeful_core::run::{RunInput, RunPhase};
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::step::EffectClass;
use wakeful_ports::model::Model;
use wakeful_ports::tool::{HostPolicy, ToolHost, ToolOutcome};

use crate::Engine;
use crate::hook::HookEffect;
use crate::run::ClaimedRun;
use crate::step::JudgedCall;
use crate::tool_call::Intent;

/// What the targets of an untrusted run's calls are judged with.
#[derive(Debug)]
pub(crate) struct ReadHistory<'a> {
    texts: RunTexts<'a>,
    /// Whether the run has acted since it read untrusted data.
    has_acted: bool,
    /// Whether a person opened the agent's listed hosts to the run.
    has_open_hosts: bool,
    /// The pages that it read because untrusted text links to them, by host.
    linked_reads: BTreeMap<String, u32>,
}

/// A verdict with what follows from the sources of the run.
pub(crate) struct SourcedVerdict {
    pub(crate) verdict: PolicyVerdict,
    pub(crate) evidence: Option<Evidence>,
    pub(crate) linked_site: Option<String>,
}

impl ClaimedRun {
    /// The untrusted sources of the run after an input: those of its state, of the transcript that its requests
    /// contain, and of the results that the input reports.
    pub(crate) fn sources_after(&self, input: &RunInput) -> Sources {
        let mut sources = self.machine.sources.clone();
        match input {
            RunInput::Replied(reply) => {
                sources.join(&self.transcript_sources());
                sources.join(&reply.sources());
            }
            RunInput::Settled { results } => results.iter().for_each(|result| sources.join(&result.sources)),
            RunInput::Admitted { .. }
            | RunInput::AttemptFailed { .. }
            | RunInput::Parked { .. }
            | RunInput::Resumed
            | RunInput::Started { .. }
            | RunInput::Postponed
            | RunInput::Cancelled
            | RunInput::Decided { .. }
            | RunInput::ApprovalExpired { .. } => {}
        }
        sources
    }

    /// The sources of the transcript that the run's state does not cover: those of earlier runs of the thread.
    pub(crate) fn transcript_sources(&self) -> Sources {
        let mut sources = Sources::none();
        for entry in self.thread.iter().flat_map(|thread| &thread.sources) {
            if !self.machine.sources.covers(entry) {
                sources.join(entry);
            }
        }
        sources
    }

    /// What the targets of calls are judged with.
    pub(crate) fn read_history(&self) -> ReadHistory<'_> {
        let mut texts = RunTexts::default();
        if let Some(thread) = &self.thread {
            let files = [&thread.guidance.agent, &thread.guidance.workspace];
            texts.guidance = files
                .into_iter()
                .flatten()
                .map(|file| file.text.as_str())
                .collect();
            texts.guidance.extend(thread.instruction.as_deref());
            let opening = (&thread.opening, &thread.opening_sources);
            let entries = thread.entries.iter().zip(&thread.sources);
            let entries = std::iter::once(opening)
                .chain(entries)
                .map(|(entry, sources)| ReadText {
                    role: entry.role,
                    blocks: &entry.blocks,
                    sources,
                });
            texts.entries = entries.collect();
        }
        ReadHistory {
            texts,
            has_acted: self.machine.has_acted_untrusted,
            has_open_hosts: self.machine.has_open_hosts,
            linked_reads: self.machine.linked_reads.clone(),
        }
    }

    /// Whether an input reports the result of an action that may have changed the workspace.
    pub(crate) fn reports_action(&self, input: &RunInput) -> bool {
        let (RunInput::Settled { results }, RunPhase::Acting { actions, .. }) = (input, &self.machine.phase)
        else {
            return false;
        };
        let mut plain = actions.iter().filter(|action| action.class == EffectClass::Plain);
        plain.any(|action| {
            results
                .iter()
                .any(|result| result.operation_id == action.operation_id)
        })
    }
}

impl ReadHistory<'_> {
    /// The history after an action that may have changed the workspace.
    pub(crate) fn after_action(self, has_acted: bool) -> Self {
        Self {
            has_acted: self.has_acted || has_acted,
            ..self
        }
    }

    /// The history for a call that was counted when it was planned.
    pub(crate) fn of_planned(self) -> Self {
        Self {
            linked_reads: BTreeMap::new(),
            ..self
        }
    }

    /// Counts a page that a call of the same reply reads.
    pub(crate) fn count(&mut self, linked_site: Option<&String>) {
        if let Some(host) = linked_site {
            *self.linked_reads.entry(host.clone()).or_insert(0) += 1;
        }
    }
}

/// How foreign targets of a run are handled, if its calls are judged for them.
fn handling(rules: &ActionRules, facts: &CallFacts) -> Option<ForeignTargetPolicy> {
    let of_files = facts.may_read_untrusted.then_some(rules.untrusted_files);
    let policy = rules.foreign_targets.or(of_files);
    policy.filter(|policy| *policy != ForeignTargetPolicy::Allow)
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// How the targets of a call relate to what the operator named; none in a trusted run.
    pub(crate) fn target_verdict(
        &self,
        call: &JudgedCall<'_>,
        facts: &CallFacts,
        class: EffectClass,
    ) -> Option<TargetVerdict> {
        handling(call.rules, facts)?;
        let Some(history) = call.history else {
            return Some(TargetVerdict::Foreign(Vec::new()));
        };
        let judged = UntrustedCall {
            class,
            input: call.input,
            facts,
            is_confinable: self.tools.sandbox_level() > 0,
            has_acted: history.has_acted || facts.is_workspace_untrusted,
            has_open_hosts: history.has_open_hosts,
            linked_reads: &history.linked_reads,
        };
        Some(judged.judge(&history.texts))
    }

    /// The verdict after the sources of the run. A permission does not apply to a foreign target.
    pub(crate) fn sourced(
        &self,
        call: &JudgedCall<'_>,
        facts: &CallFacts,
        class: EffectClass,
        verdict: PolicyVerdict,
    ) -> SourcedVerdict {
        let unchanged = |verdict, linked_site| SourcedVerdict {
            verdict,
            evidence: None,
            linked_site,
        };
        let Some(policy) = handling(call.rules, facts).filter(|_| verdict.effect != PolicyEffect::Deny)
        else {
            return unchanged(verdict, None);
        };
        match self.target_verdict(call, facts, class) {
            None | Some(TargetVerdict::Named | TargetVerdict::Confined { .. }) => unchanged(verdict, None),
            Some(TargetVerdict::Linked { site }) => unchanged(verdict, Some(site)),
            Some(TargetVerdict::Foreign(names)) => {
                let verdict = verdict.with_foreign_target(policy);
                let evidence = call.history.and_then(|history| history.texts.evidence(&names));
                SourcedVerdict {
                    evidence: evidence
                        .filter(|_| verdict.effect == PolicyEffect::Ask)
                        .map(|evidence| self.evidence_without_keys(evidence)),
                    verdict,
                    linked_site: None,
                }
            }
        }
    }

    fn evidence_without_keys(&self, evidence: Evidence) -> Evidence {
        let clean = |text: String| match self.redacted(text.as_bytes()) {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => text,
        };
        Evidence {
            source: evidence.source,
            before: clean(evidence.before),
            text: clean(evidence.text),
            after: clean(evidence.after),
        }
    }

    /// Whether an action runs like one of a trusted run, and the sandbox scope and the policy on hosts that it
    /// gets. A command of an untrusted run that the operator did not name and that no person approved loses
    /// hosts, ports, secrets and writable folders outside the workspace.
    pub(crate) fn confinement(&self, claimed: &ClaimedRun, intent: &Intent) -> Confinement {
        let rules = claimed.settings.rules(&claimed.machine, &self.policy.defaults());
        let ToolCall { name, input, .. } = &intent.call;
        let facts = self.tools.facts(name, input, &rules.sandbox);
        let history = Some(claimed.read_history().of_planned());
        let judged = JudgedCall {
            agent_id: &claimed.row.agent_id,
            tool: name,
            input,
            rules: &rules,
            hook: &HookEffect::None,
            history: history.as_ref(),
        };
        let verdict = self.target_verdict(&judged, &facts, intent.class);
        let is_named_command = facts.command.is_some() && verdict == Some(TargetVerdict::Named);
        let is_untrusted = (rules.foreign_targets.is_some() || facts.may_read_untrusted) && !is_named_command;
        match verdict {
            Some(TargetVerdict::Confined { has_hosts: true }) => Confinement {
                is_untrusted,
                scope: claimed.settings.sandbox.confined_to_hosts(),
                hosts: self.host_policy(claimed, &intent.call, intent.class),
            },
            Some(TargetVerdict::Confined { has_hosts: false }) => Confinement {
                is_untrusted,
                scope: claimed.settings.sandbox.confined(),
                hosts: HostPolicy::new(|_| HostDecision::Refused {
                    rule: FOREIGN_TARGET.to_owned(),
                }),
            },
            None | Some(TargetVerdict::Named | TargetVerdict::Linked { .. } | TargetVerdict::Foreign(_)) => {
                Confinement {
                    is_untrusted,
                    scope: claimed.settings.sandbox.clone(),
                    hosts: self.host_policy(claimed, &intent.call, intent.class),
                }
            }
        }
    }

    /// The untrusted sources of a result: what the call read, and in an untrusted run what its arguments
    /// repeat.
    pub(crate) fn result_sources(
        &self,
        claimed: &ClaimedRun,
        call: &ToolCall,
        done: &ToolOutcome,
    ) -> Sources {
        let own = self.tools.sources(call, &done.content, &claimed.settings.sandbox);
        own.joined(&claimed.machine.sources_of_call(&call.name))
    }
}

/// What an action may reach because of the sources of its run.
pub(crate) struct Confinement {
    pub(crate) is_untrusted: bool,
    pub(crate) scope: SandboxScope,
    pub(crate) hosts: HostPolicy,
}
