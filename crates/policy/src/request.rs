//! Calls as Cedar requests. Every fact is passed as a value, so no text in it can change a policy.

use cedar_policy::{Context, Entities, Entity, Request, RestrictedExpression};
use wakeful_core::policy::{CallFacts, PolicyQuery, Target};

use crate::names::{EntityNames, ResourceKind};

/// A request with the entity that it is about.
#[derive(Debug)]
pub(crate) struct CallRequest {
    pub(crate) kind: ResourceKind,
    pub(crate) request: Request,
    pub(crate) entities: Entities,
}

/// A fact that policies cannot judge, because it has several spellings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidFact;

/// A target with one spelling: an absolute path without `.` and `..`, a host in lower case without a final
/// dot.
pub(crate) fn normalized(target: &Target) -> Result<Target, InvalidFact> {
    Ok(match target {
        Target::Path { path, access, scope } => Target::Path {
            path: normalized_path(path)?,
            access: *access,
            scope: *scope,
        },
        Target::Host { host, port, scope } => Target::Host {
            host: normalized_host(host)?,
            port: *port,
            scope: *scope,
        },
        Target::Agent { agent_id } => Target::Agent {
            agent_id: agent_id.clone(),
        },
        Target::Secret { name, scope } => Target::Secret {
            name: name.clone(),
            scope: *scope,
        },
    })
}

fn normalized_path(path: &str) -> Result<String, InvalidFact> {
    if !path.starts_with('/') || path.contains('\0') {
        return Err(InvalidFact);
    }
    let mut clean = String::with_capacity(path.len());
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if part == "." || part == ".." {
            return Err(InvalidFact);
        }
        clean.push('/');
        clean.push_str(part);
    }
    Ok(if clean.is_empty() { "/".to_owned() } else { clean })
}

fn normalized_host(host: &str) -> Result<String, InvalidFact> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    // Names of other scripts are written in ASCII before they are resolved.
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']' | '%');
    if host.is_empty() || !host.chars().all(is_part) {
        return Err(InvalidFact);
    }
    Ok(host)
}

/// The requests of a call: one per target, and one without a target if it acts on nothing.
pub(crate) fn requests(
    names: &EntityNames,
    query: &PolicyQuery<'_>,
    targets: &[Target],
    is_registered: bool,
) -> Result<Vec<CallRequest>, String> {
    let context = context(query, is_registered)?;
    let build = |target: Option<&Target>| {
        let (kind, id, attributes) = match target {
            None => (ResourceKind::Call, query.tool.to_owned(), Vec::new()),
            Some(Target::Path { path, access, scope }) => {
                let attributes = vec![
                    ("path", text(path)),
                    ("access", text(access.as_str())),
                    ("scope", text(scope.as_str())),
                ];
                (ResourceKind::Path, path.clone(), attributes)
            }
            Some(Target::Host { host, port, scope }) => {
                let attributes = vec![
                    ("host", text(host)),
                    ("port", RestrictedExpression::new_long(i64::from(*port))),
                    ("scope", text(scope.as_str())),
                ];
                (ResourceKind::Host, host.clone(), attributes)
            }
            Some(Target::Agent { agent_id }) => (ResourceKind::Agent, agent_id.to_string(), Vec::new()),
            Some(Target::Secret { name, .. }) => {
                (ResourceKind::Secret, name.clone(), vec![("name", text(name))])
            }
        };
        let uid = names.resource(kind, &id);
        let attributes = attributes
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let entity = Entity::new(
            uid.clone(),
            attributes.collect(),
            std::collections::HashSet::new(),
        );
        let entity = entity.map_err(|error| error.to_string())?;
        let entities = Entities::from_entities([entity], None).map_err(|error| error.to_string())?;
        let (principal, action) = (names.agent(query.agent_id.as_str()), names.action(query.tool));
        let request = Request::new(principal, action, uid, context.clone(), None);
        Ok(CallRequest {
            kind,
            request: request.map_err(|error| error.to_string())?,
            entities,
        })
    };
    // A secret is not what a call acts on: policies about calls without targets judge it as well.
    let acts_on_nothing = targets
        .iter()
        .all(|target| matches!(target, Target::Secret { .. }));
    // Nor are the hosts that a command asks for: what it does is not limited to them.
    let call = (acts_on_nothing || query.facts.has_requests).then(|| build(None));
    let targets = targets.iter().map(|target| build(Some(target)));
    targets.chain(call).collect()
}

fn context(query: &PolicyQuery<'_>, is_registered: bool) -> Result<Context, String> {
    let rules = query.rules;
    let flag = RestrictedExpression::new_bool;
    let mut pairs = vec![
        ("tool", text(query.tool)),
        ("class", text(query.class.as_str())),
        ("risk", text(query.risk.as_str())),
        ("wake_reason", text(rules.wake_reason.as_str())),
        ("mode", text(rules.mode.as_str())),
        (
            "sandbox_level",
            RestrictedExpression::new_long(i64::from(query.sandbox_level)),
        ),
        ("is_registered", flag(is_registered)),
        ("is_read_only", flag(rules.is_read_only)),
        ("has_untrusted_data", flag(rules.foreign_targets.is_some())),
    ];
    if let CallFacts {
        command: Some(command),
        ..
    } = query.facts
    {
        let fields = [
            ("text", text(&command.text)),
            ("program", text(&command.program)),
            ("is_simple", flag(command.is_simple)),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        let record = RestrictedExpression::new_record(fields).map_err(|error| error.to_string())?;
        pairs.push(("command", record));
    }
    let pairs = pairs.into_iter().map(|(name, value)| (name.to_owned(), value));
    Context::from_pairs(pairs).map_err(|error| error.to_string())
}

fn text(value: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_hosts_with_several_spellings_are_normalized_or_invalid() {
        for path in ["a", "", "/a/../b", "/a/./b", "/..", "/a\0b", "~/a"] {
            assert_eq!(normalized_path(path), Err(InvalidFact), "{path:?}");
        }
        for (path, clean) in [("/", "/"), ("//a///b/", "/a/b"), ("/a/..b", "/a/..b")] {
            assert_eq!(normalized_path(path).as_deref(), Ok(clean));
        }
        for host in ["", ".", "exаmple.com", "ｅvil.com", "a b", "a/b", "a\"b", "a\0"] {
            assert_eq!(normalized_host(host), Err(InvalidFact), "{host:?}");
        }
        for (host, clean) in [("EXAMPLE.com.", "example.com"), ("[::1]", "[::1]")] {
            assert_eq!(normalized_host(host).as_deref(), Ok(clean));
        }
    }
}
