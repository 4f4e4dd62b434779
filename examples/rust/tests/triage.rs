use serde_json::{json, Value};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use triage::triage;

/// A GitLab for tests: its addresses and tokens. It ends when this is dropped.
struct Server {
    process: Child,
    started: Value,
}

impl Server {
    fn start() -> Self {
        let command = std::env::var("PM_CLI").unwrap_or("npx --yes pm-api".into());
        let mut words = command.split(' ');
        let mut process = Command::new(words.next().unwrap())
            .args(words)
            .args(["test", "--exit-with-parent", "--seed", "seed.json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Server { process, started: serde_json::from_str(&line).unwrap() }
    }

    fn at(&self, name: &str) -> &str {
        self.started[name].as_str().unwrap()
    }

    /// What differs from these changes since the seed; nothing else may have changed.
    fn differences_from(&self, mut changes: Value) -> Value {
        changes["only"] = json!(true);
        let url = format!("{}changes/expect", self.at("control"));
        let answer = reqwest::blocking::Client::new().post(url).json(&changes).send().unwrap();
        answer.json::<Value>().unwrap()["differences"].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().unwrap();
    }
}

#[test]
fn labels_issues_without_a_label() {
    let server = Server::start();
    let token = server.started["tokens"]["ada"].as_str().unwrap();
    triage(server.at("api"), token, "acme/site").unwrap();
    let expected = json!({ "updated": [{
        "type": "issue",
        "path": "acme/site#1",
        "changes": { "labels": [[], ["triage"]] },
    }] });
    assert_eq!(server.differences_from(expected), json!([]));
}
