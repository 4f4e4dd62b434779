//! The bot under test.

use reqwest::blocking::Client;
use serde_json::{json, Value};

/// Labels the open issues of a project that have no label.
pub fn triage(api: &str, token: &str, project: &str) -> reqwest::Result<()> {
    let client = Client::new();
    let issues = format!("{api}/projects/{}/issues", project.replace('/', "%2F"));
    let unlabelled: Vec<Value> = client
        .get(format!("{issues}?state=opened&labels=None&per_page=100"))
        .header("private-token", token)
        .send()?
        .error_for_status()?
        .json()?;
    for issue in unlabelled {
        client
            .put(format!("{issues}/{}", issue["iid"]))
            .header("private-token", token)
            .json(&json!({ "labels": "triage" }))
            .send()?
            .error_for_status()?;
    }
    Ok(())
}
