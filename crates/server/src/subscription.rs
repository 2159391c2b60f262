//! HTTP handlers for subscriptions.

use wakeful_api::{
    CreateSubscription, DeleteSubscription, EditSubscription, ListSubscriptions, PauseSubscription,
    ResumeSubscription, Subscription, SubscriptionList,
};
use wakeful_runtime::rows::SubscriptionRow;

use crate::app::ServedHome;
use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default()
        .add(list)
        .add(create)
        .add(edit)
        .add(delete)
        .add(pause)
        .add(resume)
}

async fn list(call: Call, asked: ListSubscriptions) -> Result<SubscriptionList, ApiError> {
    let (agent, after) = (
        asked.agent_id.map(|agent| agent.0),
        asked.after.map(|after| after.0),
    );
    let found = call
        .open()?
        .subscriptions
        .list(agent, after, asked.limit.0)
        .await?;
    Ok(view::subscriptions(&found, asked.limit.0))
}

async fn create(call: Call, asked: CreateSubscription) -> Result<Subscription, ApiError> {
    let open = call.open()?;
    let made = open.subscriptions.add(view::new_subscription(asked)).await?;
    Ok(with_warnings(&made, &open).await)
}

async fn edit(call: Call, asked: EditSubscription) -> Result<Subscription, ApiError> {
    let open = call.open()?;
    let id = asked.subscription_id.0.clone();
    let edit = view::subscription_edit(asked).map_err(|field| {
        let message = format!("{field} is set and removed in one request");
        ApiError::bad("bad_field", message, "use only one of them")
    })?;
    let edited = open.subscriptions.edit(id, edit).await?;
    Ok(with_warnings(&edited, &open).await)
}

/// A stored subscription, with the words in it that match nothing.
async fn with_warnings(row: &SubscriptionRow, open: &ServedHome) -> Subscription {
    let warnings = match open.journal.categories().await {
        Ok(categories) => {
            let names: Vec<&str> = categories.iter().map(|category| category.name.as_str()).collect();
            row.spec.warnings(&names)
        }
        // The subscription is stored; without the categories, nothing can be said about it.
        Err(_) => Vec::new(),
    };
    Subscription {
        warnings,
        ..view::subscription(row)
    }
}

async fn delete(call: Call, asked: DeleteSubscription) -> Result<Subscription, ApiError> {
    let gone = call.open()?.subscriptions.remove(asked.subscription_id.0).await?;
    Ok(view::subscription(&gone))
}

async fn pause(call: Call, asked: PauseSubscription) -> Result<Subscription, ApiError> {
    let paused = call.open()?.subscriptions.pause(asked.subscription_id.0).await?;
    Ok(view::subscription(&paused))
}

async fn resume(call: Call, asked: ResumeSubscription) -> Result<Subscription, ApiError> {
    let resumed = call.open()?.subscriptions.resume(asked.subscription_id.0).await?;
    Ok(view::subscription(&resumed))
}
