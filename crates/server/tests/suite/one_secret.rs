//! A place for secrets that keeps only their names.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use wakeful_api::{Secret, SetSecret};
use wakeful_core::problem::Problem;
use wakeful_core::secret::{check_name, check_value};
use wakeful_server::{HostFuture, SecretHost};

#[derive(Clone, Default)]
pub(super) struct SecretNames(Arc<Mutex<BTreeSet<String>>>);

fn secret(name: &str) -> Secret {
    Secret {
        name: name.to_owned(),
        key_handle: format!("keyring:wakeful/secret-{name}"),
        problem: None,
        agents: Vec::new(),
    }
}

impl SecretHost for SecretNames {
    fn list(&self) -> HostFuture<Vec<Secret>> {
        let names = self.0.lock().expect("not poisoned").clone();
        Box::pin(async move { Ok(names.iter().map(|name| secret(name)).collect()) })
    }

    fn set(&self, asked: SetSecret) -> HostFuture<Secret> {
        let name = asked.name.to_string();
        let checked = check_name(&name).and_then(|()| check_value(&asked.value));
        let stored = checked.map(|()| {
            self.0.lock().expect("not poisoned").insert(name.clone());
            secret(&name)
        });
        Box::pin(async move { stored })
    }

    fn remove(&self, name: String) -> HostFuture<Secret> {
        let is_known = self.0.lock().expect("not poisoned").remove(&name);
        Box::pin(async move {
            match is_known {
                true => Ok(secret(&name)),
                false => Err(Problem::new(
                    "secret_unknown",
                    "there is no such secret",
                    "list them",
                )),
            }
        })
    }
}
