//! Finds what a person means by an id: every id may be given by a unique prefix.

use wakeful_api::{Hex, LIMIT_MAX, Limit, ListRuns, ListSagas, ListSchedules, ListSources, RunSummary, Text};
use wakeful_core::id::{RuleId, SourceId};
use wakeful_core::key::{Digest, OperationId, RunKey};

use super::Backend;
use crate::failure::Failure;
use crate::show::phrase::short;

/// A kind of thing that has ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdKind {
    /// The noun, also in the error codes `NOUN_unknown` and `NOUN_ambiguous`.
    pub(crate) noun: &'static str,
    /// The command that lists the ids.
    pub(crate) list: &'static str,
}

const RUN: IdKind = IdKind {
    noun: "run",
    list: "wakeful runs list",
};
const SAGA: IdKind = IdKind {
    noun: "operation",
    list: "wakeful saga list",
};
const SUBSCRIPTION: IdKind = IdKind {
    noun: "subscription",
    list: "wakeful subscriptions",
};
const SCHEDULE: IdKind = IdKind {
    noun: "schedule",
    list: "wakeful schedule list",
};
pub(crate) const STEP: IdKind = IdKind {
    noun: "step",
    list: "wakeful runs show RUN --json",
};
const SOURCE: IdKind = IdKind {
    noun: "source",
    list: "wakeful source list",
};

impl IdKind {
    /// The id that was given in full, or the only one that starts with the given text.
    pub(crate) fn pick(self, given: &str, ids: &[String]) -> Result<String, Failure> {
        if ids.iter().any(|id| id == given) {
            return Ok(given.to_owned());
        }
        let matches: Vec<&String> = ids.iter().filter(|id| id.starts_with(given)).collect();
        match matches.as_slice() {
            [id] if !given.is_empty() => Ok((*id).clone()),
            [] | [_] => Err(self.unknown(given)),
            several => Err(self.ambiguous(given, several.iter().map(|id| short(id).to_owned()))),
        }
    }

    pub(crate) fn unknown(self, given: &str) -> Failure {
        let message = format!("there is no {} {given}", self.noun);
        let hint = format!("`{}` shows the ids; a unique prefix is enough", self.list);
        Failure::new(format!("{}_unknown", self.noun), message, hint)
    }

    fn ambiguous(self, given: &str, candidates: impl Iterator<Item = String>) -> Failure {
        let candidates: Vec<String> = candidates.take(CANDIDATES_MAX).collect();
        let message = format!(
            "several {}s begin with {given}: {}",
            self.noun,
            candidates.join(", ")
        );
        let code = format!("{}_ambiguous", self.noun);
        Failure::new(code, message, "give more characters").into_usage()
    }
}

/// Candidates that an ambiguous prefix is reported with.
const CANDIDATES_MAX: usize = 5;

impl Backend {
    /// Finds a run by its key or by the id of one of its decisions or steps, or by a prefix of these. A whole
    /// key is returned even if it is unknown, because some commands accept keys that are not stored.
    pub(crate) async fn find_run(&self, given: &str) -> Result<RunKey, Failure> {
        let hex = given.to_ascii_lowercase();
        let Ok(prefix) = Hex::try_from(hex.clone()) else {
            let message = format!("invalid run key {given:?}");
            let hint = format!("`{}` shows the keys; a unique prefix is enough", RUN.list);
            return Err(Failure::usage("bad_id", message, hint));
        };
        let asked = ListRuns {
            prefix: Some(prefix),
            ..ListRuns::default()
        };
        let whole = Digest::from_hex(&hex);
        let runs = match self.call(asked).await {
            Ok(found) => found.runs,
            // A damaged message must not keep a person from checking its run.
            Err(failure) if failure.code() == "database_corrupt" && whole.is_some() => Vec::new(),
            Err(failure) => return Err(failure),
        };
        let key = |run: &RunSummary| Digest::from_hex(&run.run_key).map(RunKey);
        match runs.as_slice() {
            [run] => key(run).ok_or_else(|| RUN.unknown(&hex)),
            [] => whole.map(RunKey).ok_or_else(|| RUN.unknown(&hex)),
            several => {
                let describe = |run: &RunSummary| {
                    format!("{} ({} of {})", short(&run.run_key), run.status, run.agent_id)
                };
                Err(RUN.ambiguous(&hex, several.iter().map(describe)))
            }
        }
    }

    /// Finds an incomplete write to the journal by a prefix of its operation id.
    pub(crate) async fn find_saga(&self, given: &str) -> Result<OperationId, Failure> {
        let given = given.to_ascii_lowercase();
        if let Some(whole) = Digest::from_hex(&given) {
            return Ok(OperationId(whole));
        }
        let sagas = self.call(ListSagas {}).await?.sagas;
        let ids: Vec<String> = sagas.into_iter().map(|saga| saga.operation_id).collect();
        let found = SAGA.pick(&given, &ids)?;
        Digest::from_hex(&found)
            .map(OperationId)
            .ok_or_else(|| SAGA.unknown(&given))
    }

    /// Finds a schedule by a prefix of its id.
    pub(crate) async fn find_schedule(&self, given: &str) -> Result<Text<RuleId>, Failure> {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let page = self
                .call(ListSchedules {
                    agent_id: None,
                    after,
                    limit: Limit(LIMIT_MAX),
                })
                .await?;
            let listed = page.schedules.into_iter().map(|one| one.schedule_id);
            let mut listed: Vec<String> = listed
                .chain(page.unreadable.into_iter().map(|one| one.schedule_id))
                .collect();
            listed.sort_unstable();
            let is_last = listed.len() < LIMIT_MAX as usize;
            let next = listed.last().cloned();
            ids.extend(listed);
            let Some(next) = next.filter(|_| !is_last) else {
                break;
            };
            after = Some(Text(RuleId::parse(&next)?));
        }
        Ok(Text(RuleId::parse(&SCHEDULE.pick(given, &ids)?)?))
    }

    /// Finds a subscription by a prefix of its id.
    pub(crate) async fn find_subscription(&self, given: &str) -> Result<Text<RuleId>, Failure> {
        // A text that cannot begin an id is a wrong argument and not an unknown subscription.
        RuleId::parse(given)?;
        let all = self.subscriptions(None).await?;
        let ids: Vec<String> = all.into_iter().map(|one| one.subscription_id).collect();
        Ok(Text(RuleId::parse(&SUBSCRIPTION.pick(given, &ids)?)?))
    }

    /// Finds a source by a prefix of its id.
    pub(crate) async fn find_source(&self, given: &str) -> Result<Text<SourceId>, Failure> {
        let sources = self.call(ListSources {}).await?.sources;
        let ids: Vec<String> = sources.into_iter().map(|one| one.source_id).collect();
        Ok(Text(SourceId::parse(&SOURCE.pick(given, &ids)?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_by_a_unique_prefix_only() {
        let ids = ["backup", "backup-db", "news"].map(str::to_owned);
        let pick = |given: &str| SCHEDULE.pick(given, &ids);
        assert_eq!(pick("n").expect("unique"), "news");
        assert_eq!(pick("backup").expect("whole"), "backup");
        let several = pick("ba").expect_err("ambiguous");
        assert_eq!(several.code(), "schedule_ambiguous");
        assert!(several.message().contains("backup, backup-db"), "{several}");
        for missing in ["x", "", "backup-dbs"] {
            assert_eq!(
                pick(missing).expect_err(missing).code(),
                if missing.is_empty() {
                    "schedule_ambiguous"
                } else {
                    "schedule_unknown"
                }
            );
        }
    }
}
