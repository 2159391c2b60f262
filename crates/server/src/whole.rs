//! Calls that come to their end also when whoever asked goes away.

use std::future::Future;

use wakeful_runtime::StoreError;

/// Carries a call at the desk through. Between its commit and the look that it leads to, a call that is dropped would leave
/// what it wrote unseen until something else happens.
pub(crate) async fn whole<T: Send + 'static, E: From<StoreError> + Send + 'static>(
    call: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E> {
    match tokio::spawn(call).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The process ends.
            Err(_) => Err(StoreError::Closed.into()),
        },
    }
}
